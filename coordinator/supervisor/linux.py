"""The few calls that Python has no name for. Nothing here decides anything."""

from __future__ import annotations

import ctypes
import os

_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36

# Loaded at import: a child between fork and exec must not import or look up anything.
_libc = ctypes.CDLL(None, use_errno=True)
_prctl = _libc.prctl


def become_subreaper() -> None:
    """From now on orphans below this process become its children, whatever session they made for themselves."""
    if _prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))


def die_with_parent(number: int, parent: int) -> bool:
    """Ask for a signal when the parent thread ends; False when it had ended before the asking."""
    _prctl(_PR_SET_PDEATHSIG, number, 0, 0, 0)
    return os.getppid() == parent
