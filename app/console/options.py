"""What the console is told at birth by the wiring. Values only; no defaults are read from files here."""

import time
from collections.abc import Callable, Mapping
from pathlib import Path

from msgspec import Struct, field

from app.notices.items import NoticeSettings
from store.vocab import Millis, RunId


class ConsoleOptions(Struct, frozen=True, kw_only=True):
    repository: str = "."
    """Where a new session would work."""
    ascii: bool = False
    theme: str = "dark"
    """One of ``app.themes``."""
    no_color: bool = False
    """NO_COLOR is set: bold, underlined and reversed, and no colour."""
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
    notify: NoticeSettings = field(default_factory=NoticeSettings)
    told_file: Path | None = None
    """Where it is noted what the operator was told of; None: nothing is told outside the screen."""
    ledger: Path | None = None
    """The file that a review opens; None: there is none to open."""
    spool: Path | None = None
    """Where runs have their folders; None: turns cannot be told apart by a diff tool."""
    tour: bool = False
    """The six keys are shown at the start: they were asked for."""
    toured: Path | None = None
    """Where it is noted that they were shown; None: they are not shown by themselves."""
    to_get: tuple[tuple[str, str], ...] = ()
    """Where no agent is on this machine: agents, and the command that gets each."""
    now: Callable[[], Millis] | None = None
    """Wall clock for ages; None: they stand as in the snapshot."""
    monotonic: Callable[[], float] = time.monotonic
    seen_after: float = 1.0
    away_after: float = 600.0
    """Seconds without a key after which the operator is taken to be away."""
