"""What is told of a process, on whichever system: the words that ``linux`` and ``darwin`` answer in."""

from __future__ import annotations

CUSTODY_VARIABLE = "FOOTPLATE_CUSTODY"
_NAME_LENGTH = 200


class Stat:
    """What the kernel says of a process, as far as it is needed."""

    __slots__ = ("parent", "pid", "session", "state", "threads", "ticks")

    def __init__(self, pid: int, state: str, parent: int, session: int, ticks: int, threads: int) -> None:
        self.pid = pid
        self.state = state
        self.parent = parent
        self.session = session
        """0: not told."""
        self.ticks = ticks
        """When it started, in the system's own unit: with the boot's id and the pid it names one process for ever."""
        self.threads = threads

    @property
    def dead(self) -> bool:
        """A zombie runs nothing: it only waits for its parent to look."""
        return self.state in "ZX"


def mark(nonce: str) -> bytes:
    """What stands in the environment of whoever carries it."""
    return f"{CUSTODY_VARIABLE}={nonce}".encode()


def shown(text: str) -> str:
    """A command line for a person: one line, at most 200 characters, no control characters."""
    return "".join(c if c.isprintable() else "�" for c in text)[:_NAME_LENGTH]
