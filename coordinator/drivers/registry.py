"""Drivers by the name that a profile gives. The only place that knows them all; nothing of a protocol belongs here.

Each is imported when the first of it is made: a console holds agents of one or two kinds, and what it takes to start
and to stay is counted.
"""

from collections.abc import Callable, Mapping
from typing import Final

from coordinator.drivers.base import Driver


def _acp(instance: str) -> Driver:
    from coordinator.drivers.acp import AcpDriver

    return AcpDriver(instance)


def _claude(instance: str) -> Driver:
    from coordinator.drivers.claude import ClaudeDriver

    return ClaudeDriver(instance)


def _codex(instance: str) -> Driver:
    from coordinator.drivers.codex import CodexDriver

    return CodexDriver(instance)


def _pty(instance: str) -> Driver:
    from coordinator.drivers.pty import PtyDriver

    return PtyDriver(instance)


def _rehearsal(instance: str) -> Driver:
    from coordinator.drivers.claude import RehearsalDriver

    return RehearsalDriver(instance)


DRIVERS: Final[Mapping[str, Callable[[str], Driver]]] = {
    "acp": _acp,
    "claude": _claude,
    "codex": _codex,
    "pty": _pty,
    "rehearsal": _rehearsal,
}


def create(name: str, instance: str) -> Driver | None:
    """A new driver; None for a name that nobody has. ``instance``: what the ids of its control writes begin with."""
    make = DRIVERS.get(name)
    return None if make is None else make(instance)


def check_prompt(pattern: str) -> None:
    """Whether it can be the prompt of a program on a terminal.

    Raises:
        re.error: it is no pattern.
    """
    if pattern:
        from coordinator.drivers.terminal_echo import Prompt

        Prompt(pattern)
