"""Waiting for descriptors: one callback for reading, one for writing each. No timers: the worker has those."""

from __future__ import annotations

import selectors
from collections.abc import Callable

Callback = Callable[[], object]


class Loop:
    """A selector whose two directions are set apart; a pty master has both."""

    def __init__(self) -> None:
        self._selector = selectors.DefaultSelector()
        self._callbacks: dict[int, list[Callback | None]] = {}

    def reader(self, fd: int, callback: Callback | None) -> None:
        """Call back while there is something to read; None: no longer."""
        self._set(fd, 0, callback)

    def writer(self, fd: int, callback: Callback | None) -> None:
        """Call back while there is room to write; None: no longer."""
        self._set(fd, 1, callback)

    def forget(self, fd: int) -> None:
        """Before it is closed."""
        if self._callbacks.pop(fd, None) is not None:
            self._selector.unregister(fd)

    def _set(self, fd: int, which: int, callback: Callback | None) -> None:
        known = self._callbacks.get(fd)
        if known is None:
            if callback is None:
                return
            known = self._callbacks[fd] = [None, None]
            known[which] = callback
            self._selector.register(fd, selectors.EVENT_WRITE if which else selectors.EVENT_READ)
            return
        if known[which] is callback:
            return
        had = known[which] is not None
        known[which] = callback
        if had and callback is not None:
            return
        events = (selectors.EVENT_READ if known[0] else 0) | (selectors.EVENT_WRITE if known[1] else 0)
        if events:
            self._selector.modify(fd, events)
        else:
            self.forget(fd)

    def wait(self, timeout: float | None) -> None:
        """Wait for the next readiness, and call back."""
        for key, mask in self._selector.select(timeout):
            for which, event in ((0, selectors.EVENT_READ), (1, selectors.EVENT_WRITE)):
                known = self._callbacks.get(key.fd)  # an earlier callback may have forgotten it
                callback = known[which] if known is not None and mask & event else None
                if callback is not None:
                    callback()
