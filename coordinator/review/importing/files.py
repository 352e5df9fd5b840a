"""Which files there are to read in: found under what the operator named, told apart by what stands in them, in an order
in which a session comes before what was forked off it.

A file is opened here for its head and its tail only. What is none, empty or cannot be read is a value with a reason;
the rest goes on.
"""

import os
import stat
from collections.abc import Callable, Iterator, Sequence
from enum import StrEnum
from pathlib import Path
from typing import Final

from msgspec import Struct

from coordinator.review.importing.claude import ClaudeFormat
from coordinator.review.importing.codex import CodexFormat
from coordinator.review.importing.said import Beginning, Ending, Format

FORMATS: Final[tuple[Format, ...]] = (CodexFormat(), ClaudeFormat())
PEEK: Final = 256 * 1024
"""Bytes of the head, and of the tail, that are looked at before a file is read."""
SUFFIX: Final = ".jsonl"
_HELPERS: Final = "subagents"
_HELPER: Final = "agent-"


class Trouble(StrEnum):
    """Why a file is not read in."""

    EMPTY = "empty"
    UNREADABLE = "unreadable"
    NO_TRANSCRIPT = "no-transcript"
    NONE_INSIDE = "none-inside"
    """A folder without any."""
    REWRITTEN = "rewritten"
    """It is not the file any more of which a part was read in."""


class Problem(Struct, frozen=True, kw_only=True):
    path: Path
    trouble: Trouble
    named: bool
    """The operator named this very file or folder."""
    detail: str = ""


class Found(Struct, frozen=True, kw_only=True):
    """A session's file."""

    path: Path
    size: int
    mtime: int
    """Nanoseconds."""
    named: bool = False


class Session(Struct, frozen=True, kw_only=True):
    """A session's file, looked into."""

    file: Found
    format: Format
    begun: Beginning
    ended: Ending

    @property
    def identity(self) -> str:
        return f"{self.format.agent}:{self.begun.native_id}"


def find(named: Sequence[Path]) -> tuple[list[Found], list[Problem]]:
    """All files of sessions under these, each once; helpers' files are read with their session's."""
    found: dict[tuple[int, int], Found] = {}
    problems: list[Problem] = []
    for path in named:
        if path.is_dir():
            before = len(found)
            inside = False
            for one in _walk(path, problems):
                inside = True
                _take(one, named=False, found=found, problems=problems)
            if not inside and len(found) == before:
                problems.append(Problem(path=path, trouble=Trouble.NONE_INSIDE, named=True))
        else:
            _take(path, named=True, found=found, problems=problems)
    return list(found.values()), problems


def _walk(folder: Path, problems: list[Problem]) -> Iterator[Path]:
    def failed(error: OSError) -> None:
        where = Path(error.filename or folder)
        problems.append(Problem(path=where, trouble=Trouble.UNREADABLE, named=False, detail=_why(error)))

    for place, folders, names in os.walk(folder, onerror=failed):
        folders.sort()
        here = Path(place)
        for name in sorted(names):
            if name.endswith(SUFFIX) and not _is_helper(here / name):
                yield here / name


def _is_helper(path: Path) -> bool:
    """Whether the session that it helped lies where it should; a helper alone is a session like any other."""
    if path.parent.name == _HELPERS:
        return path.parent.parent.with_suffix(SUFFIX).exists()
    if not path.name.startswith(_HELPER):
        return False
    try:  # an older generation put it beside the session
        with path.open("rb") as file:
            head = ClaudeFormat().beginning([file.readline(PEEK)], "")
    except OSError:
        return False
    return bool(head.native_id) and (path.parent / f"{head.native_id}{SUFFIX}").exists()


def _take(path: Path, *, named: bool, found: dict[tuple[int, int], Found], problems: list[Problem]) -> None:
    try:
        told = path.stat()
    except OSError as error:
        problems.append(Problem(path=path, trouble=Trouble.UNREADABLE, named=named, detail=_why(error)))
        return
    if not stat.S_ISREG(told.st_mode):
        problems.append(Problem(path=path, trouble=Trouble.NO_TRANSCRIPT, named=named))
    elif told.st_size == 0:
        problems.append(Problem(path=path, trouble=Trouble.EMPTY, named=named))
    else:
        one = Found(path=path.absolute(), size=told.st_size, mtime=told.st_mtime_ns, named=named)
        found.setdefault((told.st_dev, told.st_ino), one)


def look_into(file: Found) -> Session | Problem:
    try:
        with file.path.open("rb") as opened:
            head = opened.read(PEEK)
            opened.seek(max(0, file.size - PEEK))
            tail = opened.read(PEEK)
    except OSError as error:
        return Problem(path=file.path, trouble=Trouble.UNREADABLE, named=file.named, detail=_why(error))
    first = head.splitlines(keepends=True)
    first = first[:-1] if len(head) == PEEK and len(first) > 1 else first
    for format in FORMATS:
        if format.recognises(first):
            last = tail.splitlines()
            last = last[1:] if file.size > PEEK else last
            begun = format.beginning(first, file.path.stem)
            return Session(file=file, format=format, begun=begun, ended=format.ending(last))
    return Problem(path=file.path, trouble=Trouble.NO_TRANSCRIPT, named=file.named)


def in_order(files: Sequence[Found], look: Callable[[Found], Session | Problem]) -> list[Session | Problem]:
    """A forked file is begun later than the one it copies; where both say the same time, it is touched first or last
    by chance, and then the one that was read first has the shared part."""
    looked = [(one, look(one)) for one in files]

    def began(pair: tuple[Found, Session | Problem]) -> tuple[int, int, str]:
        file, one = pair
        at = one.begun.began if isinstance(one, Session) else None
        return (file.mtime // 1_000_000 if at is None else at, file.mtime, str(file.path))

    return [one for _, one in sorted(looked, key=began)]


def helper_file(session: Path, agent: str) -> Path | None:
    """Where the helper of that name wrote what it did; the name is the agent's own and may be anything."""
    if not agent or "/" in agent or "\0" in agent:
        return None
    name = f"{_HELPER}{agent}{SUFFIX}"
    for path in (session.with_suffix("") / _HELPERS / name, session.parent / name):
        try:
            if path.is_file():
                return path
        except OSError:  # longer than any name can be
            return None
    return None


def helpers_of(session: Path) -> list[tuple[str, Path]]:
    """All helpers that wrote beside a session: name and file."""
    folder = session.with_suffix("") / _HELPERS
    try:
        paths = sorted(folder.glob(f"{_HELPER}*{SUFFIX}"))
    except OSError:
        return []
    return [(path.stem.removeprefix(_HELPER), path) for path in paths if path.is_file()]


def _why(error: OSError) -> str:
    return (error.strerror or str(error)).lower()
