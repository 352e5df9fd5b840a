"""A unified diff as git writes it, taken apart into its files. Pure.

Whatever the lines hold: a section begins only with a line that no changed line can be, because each of those has a
sign before it. Names that git quoted are given as they are.
"""

import re
from collections.abc import Iterator

from msgspec import Struct

_ESCAPES = {"a": 7, "b": 8, "t": 9, "n": 10, "v": 11, "f": 12, "r": 13, '"': 34, "\\": 92}
_QUOTED = re.compile(r"\\([0-7]{3}|.)|([^\\]+)", re.DOTALL)


class FilePatch(Struct, frozen=True, kw_only=True):
    path: str
    was: str
    """Its name before; '' where it had none other."""
    status: str
    """M, A, D or R."""
    added: int | None
    removed: int | None
    """None: binary."""
    text: str


def sections(patch: str) -> Iterator[FilePatch]:
    """Each file's part of a diff, in order. What stands before the first is nobody's."""
    rows = patch.split("\n")
    starts = [at for at, row in enumerate(rows) if row.startswith("diff --git ")]
    for start, end in zip(starts, [*starts[1:], len(rows)], strict=False):
        yield _section(rows[start:end])


def _section(rows: list[str]) -> FilePatch:
    head: dict[str, str] = {}
    body = next((at for at, row in enumerate(rows) if row.startswith("@@")), len(rows))
    status, binary = "M", False
    for row in rows[1:body]:
        for lead in ("rename from ", "rename to ", "--- ", "+++ "):
            if row.startswith(lead):
                head[lead] = row.removeprefix(lead)
        if row.startswith(("new file mode", "deleted file mode")):
            status = "A" if row.startswith("new") else "D"
        binary = binary or row.startswith(("Binary files ", "GIT binary patch"))
    if "rename to " in head:
        status, path, was = "R", unquoted(head["rename to "]), unquoted(head.get("rename from ", ""))
    else:
        path, was = _path(head, rows[0]), ""
    return FilePatch(
        path=path,
        was=was,
        status=status,
        added=None if binary else sum(row.startswith("+") for row in rows[body:]),
        removed=None if binary else sum(row.startswith("-") for row in rows[body:]),
        text="\n".join(rows),
    )


def _path(head: dict[str, str], first: str) -> str:
    for lead in ("+++ ", "--- "):
        # A name with a space in it is followed by a tab, so that it can be told from a date.
        name = unquoted(head.get(lead, "").removesuffix("\t"))
        if name[:2] in ("a/", "b/"):
            return name[2:]
    both = first.removeprefix("diff --git ")
    if both.startswith('"'):
        middle = both.find('" ')
        return unquoted(both[: middle + 1] if middle > 0 else both)[2:]
    return both[(len(both) + 1) // 2 :][2:]


def unquoted(name: str) -> str:
    """A name as git quotes it, as it is."""
    if len(name) < 2 or not (name.startswith('"') and name.endswith('"')):
        return name
    out = bytearray()
    for found in _QUOTED.finditer(name[1:-1]):
        escape, plain = found.groups()
        if plain is not None:
            out += plain.encode("utf-8", "surrogateescape")
        elif len(escape) == 3:
            out.append(int(escape, 8) & 0xFF)
        else:
            out += bytes([_ESCAPES[escape]]) if escape in _ESCAPES else escape.encode("utf-8", "replace")
    return out.decode("utf-8", "replace")
