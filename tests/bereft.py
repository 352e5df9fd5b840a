"""Root reads every file, and CI is root: without the two capabilities that let it, a file of mode 0 is as unreadable as
for anybody. Per thread, and for what is started meanwhile."""

import ctypes
import os
from collections.abc import Iterator
from contextlib import contextmanager

_VERSION_3 = 0x20080522
_READS_ALL = (1 << 1) | (1 << 2)
"""CAP_DAC_OVERRIDE and CAP_DAC_READ_SEARCH."""
_libc = ctypes.CDLL(None, use_errno=True)
_Header = ctypes.c_uint32 * 2
_Sets = ctypes.c_uint32 * 6
"""Effective, permitted and inheritable, for the lower 32 capabilities and then for the upper."""


@contextmanager
def nothing_above_the_modes() -> Iterator[None]:
    """For the block, the modes of files hold for root too; for others nothing changes."""
    if os.geteuid() != 0:
        yield
        return
    header, before, without = _Header(_VERSION_3, 0), _Sets(), _Sets()
    _done(_libc.capget(header, before))
    without[:] = before[:]
    without[0] &= ~_READS_ALL
    _done(_libc.capset(header, without))
    try:
        yield
    finally:
        _done(_libc.capset(header, before))


def _done(answer: int) -> None:
    if answer != 0:
        raise OSError(ctypes.get_errno(), "capabilities")
