"""Files that an operator names, read as images: never through a link, never anything but a plain file.

An agent writes in the tree that it works in. A name that the operator means as a picture may have become a link to
somewhere else, or a pipe that nobody writes to: what is opened is looked at again by its own handle.
"""

import asyncio
import os
import stat
from collections.abc import Sequence
from pathlib import Path

from msgspec.structs import replace

from coordinator import images
from coordinator.constants import IMAGE_BYTES, IMAGES_BYTES, IMAGES_OF_A_TURN
from coordinator.drivers.base import Capabilities, Image
from coordinator.house import House
from coordinator.images import BEGINNING, problem_of, type_of
from coordinator.imagetypes import ImageProblem, ImageSeen
from coordinator.redaction import Redactor
from store.refusal import Refusal
from store.vocab import RefusalReason

_FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY


class _Unfit(Exception):
    def __init__(self, problem: ImageProblem) -> None:
        super().__init__(problem.value)
        self.problem = problem


async def taken(house: House, can: Capabilities, agent: str, given: tuple[Image, ...]) -> tuple[Image, ...] | Refusal:
    """As the ledger may keep them, before anything is signed or recorded; beside the loop, for they may be large."""
    if not given:
        return ()
    if not can.takes_images:
        return Refusal(RefusalReason.NOT_POSSIBLE_FOR_AGENT, {"what": "take images", "agent": agent})
    return await asyncio.to_thread(images.taken, given, house.redactor)


def look(tree: Path, names: Sequence[str], redactor: Redactor, *, whole: bool) -> tuple[ImageSeen, ...]:
    """Each name once, in its order; what is too many, or too much with those before it, says so. Waits for the disk."""
    seen: list[ImageSeen] = []
    fit, total = 0, 0
    for name in names:
        if fit >= IMAGES_OF_A_TURN:
            seen.append(ImageSeen(name=name, problem=ImageProblem.TOO_MANY))
            continue
        one = _look(tree, name, redactor, whole=whole)
        if one.problem is None and total + one.size > IMAGES_BYTES:
            one = replace(one, problem=ImageProblem.TOO_MUCH, image=None)
        if one.problem is None:
            fit, total = fit + 1, total + one.size
        seen.append(one)
    return tuple(seen)


def _look(tree: Path, name: str, redactor: Redactor, *, whole: bool) -> ImageSeen:
    size = 0
    try:
        handle = _opened(tree, name)
        try:
            found = os.fstat(handle)
            if not stat.S_ISREG(found.st_mode):
                raise _Unfit(ImageProblem.NOT_A_FILE)
            size = found.st_size
            # It is read up to one byte more than it may have: it may grow while it is read.
            data = _read(handle, IMAGE_BYTES + 1 if whole and size <= IMAGE_BYTES else BEGINNING)
        finally:
            os.close(handle)
        size = len(data) if whole and size <= IMAGE_BYTES else size
        problem = problem_of(data[:BEGINNING], size)
        if problem is not None:
            raise _Unfit(problem)
        if whole and redactor.stands_in(data):
            raise _Unfit(ImageProblem.SECRET)
    except _Unfit as unfit:
        return ImageSeen(name=name, size=size, problem=unfit.problem)
    except (FileNotFoundError, NotADirectoryError):
        return ImageSeen(name=name, problem=ImageProblem.MISSING)
    except (OSError, ValueError, RuntimeError):
        # A name with a zero byte, one that cannot be encoded, a home that nobody knows: no file's.
        return ImageSeen(name=name, problem=ImageProblem.UNREADABLE)
    media_type = type_of(data[:BEGINNING])
    image = Image(name=name, media_type=media_type, data=data) if whole and media_type is not None else None
    return ImageSeen(name=name, size=size, image=image)


def _opened(tree: Path, name: str) -> int:
    """A name is meant in the tree; one from the root, or from the operator's home, is a place the operator typed."""
    path = Path(name).expanduser() if name.startswith("~/") else Path(name)
    if path.is_absolute() and ".." not in path.parts:
        if not path.is_relative_to(tree):
            return _open_last(str(path), None)
        path = path.relative_to(tree)
    parts = path.parts
    if ".." in parts:
        raise _Unfit(ImageProblem.OUTSIDE)
    if not parts:
        raise _Unfit(ImageProblem.NOT_A_FILE)
    # Step by step, each by the handle of the one before: nobody can put a link in between meanwhile.
    folder = os.open(tree, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        for part in parts[:-1]:
            _no_link(part, folder)
            below = os.open(part, _FLAGS | os.O_DIRECTORY, dir_fd=folder)
            os.close(folder)
            folder = below
        return _open_last(parts[-1], folder)
    finally:
        os.close(folder)


def _open_last(path: str, folder: int | None) -> int:
    # Looked at first, because to open a device is to use it.
    if not stat.S_ISREG(_no_link(path, folder)):
        raise _Unfit(ImageProblem.NOT_A_FILE)
    return os.open(path, _FLAGS, dir_fd=folder)


def _no_link(path: str, folder: int | None) -> int:
    mode = os.stat(path, dir_fd=folder, follow_symlinks=False).st_mode
    if stat.S_ISLNK(mode):
        raise _Unfit(ImageProblem.LINK)
    return mode


def _read(handle: int, upto: int) -> bytes:
    pieces: list[bytes] = []
    left = upto
    while left > 0 and (piece := os.read(handle, min(left, 1 << 20))):
        pieces.append(piece)
        left -= len(piece)
    return b"".join(pieces)
