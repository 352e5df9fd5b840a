"""Paths that a task reserves in its repository: one spelling each, and whether two of them overlap.

A reservation is a promise between tasks, so what it means must not hang on how it was typed, on a link, or on whether
the file is there yet. Only ``normalise`` looks at the file system; the rest is text.
"""

import os
from collections.abc import Iterable, Sequence
from pathlib import Path, PurePosixPath
from typing import Final

from store.canonical import storable
from store.refusal import Refusal
from store.vocab import RefusalReason

ALL: Final = "."
"""The whole repository."""
MOST: Final = 200
_LONGEST: Final = 1024


def normalise(given: Sequence[str], repository: Path) -> tuple[str, ...] | Refusal:
    """Paths as they are kept: relative to the repository, sorted, none within another. Nothing given: nothing reserved.

    ``path-outside`` (path, why) for one that leaves the repository as written, or through a link.
    """
    if len(given) > MOST:
        return _no(given[MOST], f"at most {MOST} paths can be reserved")
    top = Path(os.path.realpath(repository))
    found: list[str] = []
    for path in given:
        one = _spelled(path, repository, top)
        if isinstance(one, Refusal):
            return one
        real = _followed(path, one, top)
        if isinstance(real, Refusal):
            return real
        found.append(real)
    return tuple(widest(found))


def _spelled(path: str, repository: Path, top: Path) -> str | Refusal:
    """One path in its one spelling, as text. What the shell made absolute is taken back below the repository."""
    if not path.strip():
        return _no(path, "it is empty")
    if len(path) > _LONGEST or "\0" in path or storable(path) != path or any(ord(sign) < 32 for sign in path):
        return _no(path[:80], "it is too long, or has signs in it that no path here may have")
    plain = PurePosixPath(os.path.normpath(path))
    if plain.is_absolute():
        below = next((plain.relative_to(root) for root in (repository, top) if plain.is_relative_to(root)), None)
        if below is None:
            return _no(path, f"it is not below {repository}")
        plain = below
    if plain.parts[:1] == ("..",):
        return _no(path, f"it leaves {repository}")
    return str(plain)


def _followed(given: str, path: str, top: Path) -> str | Refusal:
    """With all links followed, so that two names of one folder are one reservation; it need not be there yet."""
    try:
        real = Path(os.path.realpath(top / path))
    except (OSError, ValueError):
        return _no(given, "it cannot be followed")
    if not real.is_relative_to(top):
        return _no(given, f"a link leads from it to {real}")
    return real.relative_to(top).as_posix()


def widest(paths: Iterable[str]) -> list[str]:
    """Sorted, without those that lie within another one."""
    kept: list[str] = []
    # By its parts, so that what is within a folder comes right after it ("a", "a/b", "a.txt").
    for path in sorted(set(paths), key=lambda one: () if one == ALL else tuple(one.split("/"))):
        if not kept or not within(path, kept[-1]):
            kept.append(path)
    return kept


def within(path: str, folder: str) -> bool:
    """Whether ``path`` is ``folder`` or lies in it; both as they are kept."""
    return folder == ALL or path == folder or path.startswith(f"{folder}/")


def overlap(ours: Iterable[str], theirs: Sequence[str]) -> str | None:
    """The first of ``ours`` that another task's paths touch; None: they are apart. Who reserves nothing touches
    nothing."""
    return next((path for path in ours if any(within(path, one) or within(one, path) for one in theirs)), None)


def _no(path: str, why: str) -> Refusal:
    return Refusal(RefusalReason.PATH_OUTSIDE, {"path": path, "why": why})
