"""The notes that an agent leaves in its working tree: a question that it stops to ask, and its handoff.

The folder belongs to the agent, so everything in it is hostile until read: a name may be a link out of the tree, a
pipe that blocks its reader, a second name of someone's key. Files are therefore reached through handles of folders
and never through a path, opened without following and without blocking, and must be plain files of ours with one
name. Reading and parsing end in a value in every case; what a note leads to is decided in the machine, not here.
"""

import contextlib
import errno
import hashlib
import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from msgspec import Struct

from coordinator.constants import MAILBOX_BYTES
from coordinator.parkednote import (
    DECISION,
    HANDOFF,
    ROOT,
    Malformed,
    ParkedQuestion,
    decision_of,
    folder_of,
    free_question,
    parse_decision,
    raw_of,
)

__all__ = [
    "DECISION",
    "HANDOFF",
    "ROOT",
    "MailboxRead",
    "Malformed",
    "ParkedQuestion",
    "decision_of",
    "free_question",
    "parse_decision",
    "present",
    "read_mailbox",
    "unlink",
]

_FOLDER: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC


class MailboxRead(Struct, frozen=True, kw_only=True):
    decision: ParkedQuestion | Malformed | None = None
    decision_bytes: bytes | None = None
    """None where nothing is; empty where what is there cannot be read."""
    decision_sha256: str = ""
    """Of what was found, also where it is no file that can be read; '' where nothing is."""
    handoff: str | None = None
    handoff_sha256: str = ""
    handoff_problems: tuple[str, ...] = ()
    """Why a handoff that is there was read in part or not at all."""


class _Found(Struct, frozen=True, kw_only=True):
    data: bytes
    sha256: str
    problem: str = ""


# ------------------------------------------------------------------------------------------------------------- reading


def read_mailbox(tree: Path, run: int) -> MailboxRead:
    """What stands in the run's mailbox now. Never raises for what an agent put there."""
    try:
        with _folder(tree, run) as handle:
            if handle is None:
                return MailboxRead()
            decision, handoff = _look(handle, DECISION), _look(handle, HANDOFF)
    except OSError as problem:
        wrong = f"the folder {folder_of(run)} cannot be read ({_said(problem)})"
        return MailboxRead(
            decision=Malformed(problems=(wrong,)), decision_bytes=b"", decision_sha256=_digest(wrong.encode())
        )
    return MailboxRead(
        decision=_decision(decision),
        decision_bytes=decision.data if decision else None,
        decision_sha256=decision.sha256 if decision else "",
        handoff=_handoff(handoff),
        handoff_sha256=handoff.sha256 if handoff else "",
        handoff_problems=(f"{HANDOFF} {handoff.problem}",) if handoff and handoff.problem else (),
    )


def present(tree: Path, run: int) -> bool:
    """Whether anything is there already: a note, or a folder that is none. Looked at before a spawn."""
    try:
        with _folder(tree, run) as handle:
            return handle is not None and any(_exists(handle, name) for name in (DECISION, HANDOFF))
    except OSError:
        return True


def unlink(tree: Path, run: int, name: str, sha256: str) -> bool:
    """Take a note away, if it is still the one with that digest. False: it is another one, or gone."""
    try:
        with _folder(tree, run) as handle:
            found = None if handle is None else _look(handle, name)
            if handle is None or found is None or found.sha256 != sha256:
                return False
            if stat.S_ISDIR(os.lstat(name, dir_fd=handle).st_mode):
                # A folder of that name may hold the agent's work: put aside, not removed.
                os.rename(name, f"{name}.aside-{sha256[:8]}", src_dir_fd=handle, dst_dir_fd=handle)
            else:
                os.unlink(name, dir_fd=handle)
            return True
    except OSError:
        return False


@contextlib.contextmanager
def _folder(tree: Path, run: int) -> Iterator[int | None]:
    """A handle of the mailbox; None where there is no such folder. Raises OSError where something else has its name."""
    with contextlib.ExitStack() as opened:
        handle = os.open(tree, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        opened.callback(os.close, handle)
        for part in (ROOT, str(run)):
            try:
                handle = os.open(part, _FOLDER, dir_fd=handle)
            except FileNotFoundError:
                yield None
                return
            opened.callback(os.close, handle)
        yield handle


def _exists(handle: int, name: str) -> bool:
    try:
        os.lstat(name, dir_fd=handle)
    except FileNotFoundError:
        return False
    return True


def _look(handle: int, name: str) -> _Found | None:
    try:
        # Looked at before it is opened: to open a device can do something already.
        kind = os.lstat(name, dir_fd=handle)
        if not stat.S_ISREG(kind.st_mode):
            return _strange(kind, "is no plain file")
        file = os.open(name, _FILE, dir_fd=handle)
    except FileNotFoundError:
        return None
    except OSError as problem:
        return _Found(
            data=b"", sha256=_digest(f"{name}:{problem.errno}".encode()), problem=f"cannot be read ({_said(problem)})"
        )
    try:
        facts = os.fstat(file)
        if not stat.S_ISREG(facts.st_mode):
            return _strange(facts, "is no plain file")
        if facts.st_uid != os.geteuid():
            return _strange(facts, "belongs to another user")
        if facts.st_nlink != 1:
            return _strange(facts, "has a second name elsewhere (a hard link)")
        data = _read(file, MAILBOX_BYTES + 1)
    except OSError as problem:
        return _Found(
            data=b"", sha256=_digest(f"{name}:{problem.errno}".encode()), problem=f"cannot be read ({_said(problem)})"
        )
    finally:
        os.close(file)
    if len(data) > MAILBOX_BYTES:
        cut = data[:MAILBOX_BYTES]
        return _Found(data=cut, sha256=_digest(cut), problem=f"is larger than {MAILBOX_BYTES // 1024} KiB")
    return _Found(data=data, sha256=_digest(data))


def _read(file: int, limit: int) -> bytes:
    parts: list[bytes] = []
    left = limit
    while left and (part := os.read(file, left)):
        parts.append(part)
        left -= len(part)
    return b"".join(parts)


def _strange(facts: os.stat_result, problem: str) -> _Found:
    return _Found(data=b"", sha256=_digest(f"{facts.st_mode}:{facts.st_dev}:{facts.st_ino}".encode()), problem=problem)


def _said(problem: OSError) -> str:
    if problem.errno in (errno.ELOOP, errno.ENOTDIR):
        return "it is a link or no folder"
    return os.strerror(problem.errno or 0).lower()


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def _decision(found: _Found | None) -> ParkedQuestion | Malformed | None:
    if found is None:
        return None
    if found.problem:
        return Malformed(problems=(f"{DECISION} {found.problem}",), raw=raw_of(found.data))
    return parse_decision(found.data)


def _handoff(found: _Found | None) -> str | None:
    """A handoff is prose: what is there of it counts, cut or not quite UTF-8."""
    if found is None or (found.problem and not found.data):
        return None
    return found.data.decode("utf-8", "replace").removeprefix("\ufeff")
