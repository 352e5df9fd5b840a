"""What the console is told at birth by the wiring. Values only; no defaults are read from files here."""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from store.vocab import Millis, RunId


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsoleOptions:
    repository: str = "."
    """Where a new session would work."""
    ascii: bool = False
    theme: str = "dark"
    """``dark`` or ``light``."""
    agent: str | None = None
    """Profile that a new session starts with; None: the configured one."""
    preset: str | None = None
    brief: str = ""
    """Text that the start form begins with (``footplate start "…"``)."""
    run: RunId | None = None
    """In view at the start (``footplate start "…"``); None: what waits longest."""
    preamble: bool = True
    """Whether a new session's brief gets what Footplate adds to it, until the operator says otherwise."""
    announce: bool = False
    """Changes of state are printed as lines as well."""
    home: str = ""
    """Shown as ``~`` in paths."""
    keymap: Mapping[str, str] = field(default_factory=dict)
    """Action id to key, from the configuration."""
    escape_twice: bool = False
    """Esc Esc within a second interrupts; never over ssh."""
    now: Callable[[], Millis] | None = None
    """Wall clock for ages; None: they stand as in the snapshot."""
    monotonic: Callable[[], float] = time.monotonic
    seen_after: float = 1.0
