"""Waiting for a condition instead of for a time: the only place in the tests where a pause stands."""

import asyncio
import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")

_PAUSE = 0.005


def wait_until(look: Callable[[], T], timeout: float = 10.0, what: str = "") -> T:
    """Look again and again until what is seen is true; returns it.

    Raises:
        AssertionError: it was not seen within ``timeout`` seconds.
    """
    end = time.monotonic() + timeout
    while True:
        seen = look()
        if seen:
            return seen
        assert time.monotonic() < end, f"not seen within {timeout} s: {what or look}"
        time.sleep(_PAUSE)


async def eventually(look: Callable[[], T], timeout: float = 10.0, what: str = "") -> T:
    """As ``wait_until``, without holding the event loop."""
    end = time.monotonic() + timeout
    while True:
        seen = look()
        if seen:
            return seen
        assert time.monotonic() < end, f"not seen within {timeout} s: {what or look}"
        await asyncio.sleep(_PAUSE)
