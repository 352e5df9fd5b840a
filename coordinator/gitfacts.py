"""What git printed and what its files say, as values. Pure text work, and reading of files where git itself is not to
run.

Names in a repository are bytes that an agent chose: tabs, line ends, escapes. Only the NUL-separated forms are
parsed, and what is not UTF-8 stays recognisable through replacement. No process is started here.
"""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

from msgspec import Struct

from coordinator.api import ChangedFile
from coordinator.parkednote import ROOT

EMPTY_TREE: Final = {
    40: "4b825dc642cb6eb9a060e54bf8d69288fbee4904",
    64: "6ef19b41225c5369f1c104d45d8d85efa9b057b53b14b4b9b939dd74decc5321",
}
"""The tree without entries, by the length of the repository's object names."""


class RepositoryFacts(Struct, frozen=True, kw_only=True):
    top: Path
    """Of the working tree; of the repository where it is bare."""
    git_dir: Path
    """Of this working tree."""
    common_dir: Path
    """Shared by all working trees of the repository."""
    head: str
    """'' where there is no commit yet."""
    branch: str
    """'' where HEAD is detached."""
    dirty_files: int
    """-1 where they were not counted, or could not be in time."""
    bare: bool


def text(raw: bytes) -> str:
    return raw.decode("utf-8", "replace")


def parse_config(raw: bytes) -> tuple[tuple[str, str], ...]:
    """``git config --list -z``: key, line end, value. A key without a value stands for *true*."""
    entries = [entry.partition(b"\n") for entry in raw.split(b"\0") if entry]
    return tuple((text(key), text(value) if sep else "true") for key, sep, value in entries)


_PROGRAM_KEYS: Final = {
    "filter": ("clean", "smudge", "process"),
    "diff": ("command", "textconv"),
    "merge": ("driver",),
}


def neutralising(config: tuple[tuple[str, str], ...]) -> tuple[tuple[str, str], ...]:
    """Settings that switch off every program which this configuration names for a class of files."""
    out: dict[str, str] = {}
    for key, _ in config:
        section, _, rest = key.partition(".")
        name, _, variable = rest.rpartition(".")
        if name and variable in _PROGRAM_KEYS.get(section, ()):
            out[key] = ""
        if name and section == "filter":
            out[f"filter.{name}.required"] = "false"
    return tuple(out.items())


class RawChange(Struct, frozen=True, kw_only=True):
    status: str
    """One letter: M, A, D, R, ?"""
    names: tuple[bytes, ...]
    """The name now, and of a renamed file the one before."""
    added: int | None = None
    removed: int | None = None


def raw_changes(raw: bytes, away: frozenset[bytes] = frozenset()) -> list[RawChange]:
    """``git diff --raw [--numstat] -z``: first all raw records, then all counts, joined by the path as it is now.

    ``away``: paths that a sparse checkout left out; that they are missing is no change.
    """
    status: dict[bytes, tuple[str, bytes]] = {}
    counts: dict[bytes, tuple[int | None, int | None]] = {}
    fields = iter(raw.split(b"\0"))
    for head in fields:
        if head.startswith(b":"):
            letter = head.rsplit(b" ", 1)[-1][:1].decode("ascii", "replace")
            path, was = next(fields, b""), b""
            if letter in "RC":
                was, path = path, next(fields, b"")
            status[path] = (letter, was)
        elif head:
            added, _, rest = head.partition(b"\t")
            removed, _, path = rest.partition(b"\t")
            if not path:  # a rename: the two names follow, each behind its own NUL
                next(fields, b"")
                path = next(fields, b"")
            counts[path] = (_count(added), _count(removed))
    out = []
    for path, (letter, was) in status.items():
        added_lines, removed_lines = counts.get(path, (None, None))
        if not of_mailbox(path) and not (letter == "D" and path in away):
            shown = {"C": "A", "T": "M", "X": "?", "U": "M"}.get(letter, letter)
            names = (path, was) if letter == "R" else (path,)
            out.append(RawChange(status=shown, names=names, added=added_lines, removed=removed_lines))
    return out


def parse_changes(raw: bytes, away: frozenset[bytes] = frozenset()) -> tuple[ChangedFile, ...]:
    """The same as values for a screen, in order."""
    return as_files(raw_changes(raw, away))


def as_files(changes: Iterable[RawChange]) -> tuple[ChangedFile, ...]:
    files = (
        ChangedFile(path=text(one.names[0]), status=one.status, added=one.added, removed=one.removed) for one in changes
    )
    return tuple(sorted(files, key=lambda file: file.path))


def _count(digits: bytes) -> int | None:
    return int(digits) if digits.isdigit() else None  # "-" for binary files


def of_mailbox(path: bytes) -> bool:
    root = ROOT.encode()
    return path == root or path.startswith(root + b"/")


# ----------------------------------------------------------------------------------------------------- by reading files


def dirs_of(tree: Path) -> tuple[Path, Path] | None:
    """(git dir, common dir) of a working tree, by reading ``.git``; None where there is none."""
    dot = tree / ".git"
    try:
        if dot.is_dir():
            git_dir = dot
        else:
            said = dot.read_bytes()[:4096].decode("utf-8", "replace").strip()
            if not said.startswith("gitdir: "):
                return None
            git_dir = tree / said.removeprefix("gitdir: ")
        common = git_dir / "commondir"
        return git_dir, (git_dir / common.read_text().strip() if common.is_file() else git_dir)
    except (OSError, UnicodeDecodeError):
        return None


def included(config: str, beside: Path) -> Iterator[Path]:
    """Files that a configuration text includes, whatever the condition."""
    inside = False
    for line in config.splitlines():
        line = line.strip()
        if line.startswith("["):
            inside = line.lower().startswith(("[include]", "[includeif"))
            line = line.partition("]")[2].strip()
        name, found, value = line.partition("=")
        if inside and found and name.strip().lower() == "path":
            path = Path(value.strip().strip('"')).expanduser()
            yield path if path.is_absolute() else beside / path
