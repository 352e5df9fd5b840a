"""What of a line can be opened: files with a line number, addresses of pages. Read from what an agent wrote, so nothing
here is opened, looked up or trusted. Pure.
"""

import re

from msgspec import Struct

_LINK = re.compile(r"https?://[^\s<>\"'`\u27e8\u27e9\u2400-\u2421]+", re.IGNORECASE)
_OPENERS = {")": "(", "]": "[", "}": "{"}
_FILE = re.compile(
    r"(?:[~.]{0,2}/)?(?:[\w@%+,=.-]+/)*[\w@%+,=-][\w@%+,=.-]*\.\w{1,12}|(?:[~.]{0,2}/)(?:[\w@%+,=.-]+/?)+"
)


class FileAt(Struct, frozen=True, kw_only=True):
    path: str
    """As it was written."""
    line: int | None


class Link(Struct, frozen=True, kw_only=True):
    address: str


Target = FileAt | Link


def targets(text: str) -> tuple[Target, ...]:
    """In the order in which they stand; each once."""
    found: dict[Target, int] = {}
    covered: list[tuple[int, int]] = []
    for match in _LINK.finditer(text):
        address = _trimmed(match.group())
        covered.append(match.span())
        found.setdefault(Link(address=address), match.start())
    for match in _FILE.finditer(text):
        if any(low <= match.start() < high for low, high in covered):
            continue
        line = re.match(r":(\d{1,7})", text[match.end() :])
        path = match.group().rstrip(".")
        found.setdefault(FileAt(path=path, line=int(line[1]) if line else None), match.start())
    return tuple(sorted(found, key=lambda target: found[target]))


def _trimmed(address: str) -> str:
    """Without the point or bracket that belongs to the sentence and not to the address."""
    while address:
        last = address[-1]
        opener = _OPENERS.get(last)
        if last not in ".,;:!?" and (opener is None or address.count(opener) >= address.count(last)):
            break
        address = address[:-1]
    return address


_COLON = frozenset({"hx", "helix", "subl", "zed"})
_GOTO = frozenset({"code", "codium", "code-insiders", "cursor", "windsurf"})


def editor_argv(editor: list[str], path: str, line: int | None) -> list[str]:
    """The editor's own way to open a file at a line. ``path`` is absolute, so none is taken for an option."""
    if line is None:
        return [*editor, path]
    name = editor[0].rsplit("/", 1)[-1] if editor else ""
    if name in _GOTO:
        return [*editor, "--goto", f"{path}:{line}"]
    if name in _COLON:
        return [*editor, f"{path}:{line}"]
    return [*editor, f"+{line}", path]
