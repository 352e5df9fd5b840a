"""Drivers by the name that a profile gives. The only place that knows them all; nothing of a protocol belongs here."""

from collections.abc import Callable, Mapping
from typing import Final

from coordinator.drivers.acp import AcpDriver
from coordinator.drivers.base import Driver
from coordinator.drivers.claude import ClaudeDriver, RehearsalDriver
from coordinator.drivers.codex import CodexDriver
from coordinator.drivers.pty import PtyDriver

DRIVERS: Final[Mapping[str, Callable[[str], Driver]]] = {
    "acp": AcpDriver,
    "claude": ClaudeDriver,
    "codex": CodexDriver,
    "pty": PtyDriver,
    "rehearsal": RehearsalDriver,
}


def create(name: str, instance: str) -> Driver | None:
    """A new driver; None for a name that nobody has. ``instance``: what the ids of its control writes begin with."""
    make = DRIVERS.get(name)
    return None if make is None else make(instance)
