"""What drivers of a protocol of one JSON object a line have in common: cutting lines, the half line at the end, the
turns that were said, the count of control writes, the snapshot.

What a line means belongs to each driver; nothing of one protocol may come in here.
"""

import re
from abc import ABC, abstractmethod
from collections.abc import Container, Sequence
from typing import Final, Generic, Protocol, TypeVar

import msgspec

from coordinator.drivers.base import AgentEvent, Unknown
from coordinator.drivers.json_fields import decode
from coordinator.drivers.lines import LineSplitter
from store.vocab import TurnId

_COMMAND: Final = re.compile(r"\A/(\S+)")


KEPT: Final = 64
"""How many ended things are remembered to recognise late lines."""


class LineState(Protocol):
    """What the state of such a driver has beside its own; a ``msgspec.Struct`` with defaults."""

    rest: bytes
    """The half line that was read last; filled in for a snapshot."""
    controls: int
    """Control writes so far."""
    sent: list[str]
    """Turns written and not settled, in the order of writing."""
    settled: list[str]
    """The last few settled turns (and an agent's own names for them): late lines about them say nothing new."""


S = TypeVar("S", bound=LineState)


class LineDriver(ABC, Generic[S]):
    def __init__(self, instance: str, state: S) -> None:
        """``instance``: unique in the run for each driver made (generation and epoch); ids of writes begin with it."""
        self._instance = instance
        self._state = state
        self._lines = LineSplitter()

    @abstractmethod
    def _read(self, line: bytes, out: list[AgentEvent]) -> None:
        """One line; never raises, whatever it is."""

    def feed(self, data: bytes) -> Sequence[AgentEvent]:
        out: list[AgentEvent] = []
        for line in self._lines.feed(data):
            self._read(line, out)
        return out

    def quiet(self) -> Sequence[AgentEvent]:
        return ()

    def feed_end(self) -> Sequence[AgentEvent]:
        rest = self._lines.take_rest()
        out: list[AgentEvent] = []
        if _is_whole(rest):
            # Only its line end is missing: a result read here is a turn settled.
            self._read(rest, out)
        elif rest.strip():
            out.append(Unknown(raw=rest.decode("utf-8", "replace")))
        return out

    def never_went(self, name: str) -> None:
        if name in self._state.sent:
            self._state.sent.remove(name)

    def snapshot(self) -> bytes:
        self._state.rest = self._lines.rest()
        return msgspec.json.encode(self._state)

    def restore(self, state: bytes) -> None:
        self._state = msgspec.json.decode(state, type=type(self._state))
        self._lines = LineSplitter(self._state.rest)

    def _next(self) -> str:
        """The id of another control write."""
        self._state.controls += 1
        return f"{self._instance}-{self._state.controls}"

    def _remember(self, turn: TurnId) -> None:
        """It is about to be written. One that flies, or is over, and is only made again changes nothing."""
        if turn not in self._state.sent and turn not in self._state.settled:
            self._state.sent.append(turn)


def remember(ring: list[str], item: str) -> None:
    """As the newest of the last few."""
    if item not in ring:
        ring.append(item)
        del ring[:-KEPT]


def command_in(text: str, known: Container[str]) -> str | None:
    """The agent's own command that a text would run, without its slash."""
    found = _COMMAND.match(text)
    return found.group(1) if found and found.group(1) in known else None


def _is_whole(rest: bytes) -> bool:
    try:
        return bool(rest.strip()) and isinstance(decode(rest), dict)
    except (ValueError, RecursionError):
        return False
