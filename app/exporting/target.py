"""Where an export goes: written beside its place and named only when it is whole, over nothing that is there.

A disk that fills up or a Ctrl-C leaves neither half of a file nor a hole where a file was.
"""

import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

STDOUT = "-"


class InTheWay(Exception):
    """Something of that name is there, and nobody said that it may go."""


@contextmanager
def written(path: Path | None, *, force: bool) -> Iterator[IO[bytes]]:
    """The file to write into; None is stdout.

    Raises:
        InTheWay: before anything is written, or, where somebody else made it meanwhile, after.
        OSError: no space, no rights, no such folder.
    """
    if path is None:
        # A buffer of its own: what a full disk left in that of Python would be tried again at exit, with a trace.
        out = os.fdopen(os.dup(sys.stdout.fileno()), "wb", buffering=1 << 18)
        try:
            yield out
            out.flush()
        finally:
            with suppress(OSError):
                out.close()
        return
    if not force and os.path.lexists(path):
        raise InTheWay(str(path))
    if path.is_dir():
        raise IsADirectoryError(21, "it is a folder", str(path))
    handle, name = tempfile.mkstemp(prefix=f".{path.name[:100]}.", suffix=".part", dir=path.parent)  # 0600 by itself
    draft = Path(name)
    try:
        with os.fdopen(handle, "wb", buffering=1 << 18) as out:
            yield out
            out.flush()
            os.fsync(out.fileno())
        _name(draft, path, force)
    finally:
        draft.unlink(missing_ok=True)


def _name(draft: Path, path: Path, force: bool) -> None:
    if force:
        draft.replace(path)
        return
    try:
        path.hardlink_to(draft)
    except FileExistsError:
        raise InTheWay(str(path)) from None
    except OSError:  # a file system without links: a moment in which somebody else's file could be lost
        with suppress(OSError):
            if os.path.lexists(path):
                raise InTheWay(str(path)) from None
        draft.replace(path)
