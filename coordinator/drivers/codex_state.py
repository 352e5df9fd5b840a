"""All that the codex driver remembers between two lines, in one structure, so that a snapshot cannot forget a part.

Only plain, bounded JSON values may stand here; nothing that decides. What a start told the driver stands in ``Held``
and is told again by ``argv`` on a take-over.
"""

from typing import Any

import msgspec
from msgspec import Struct, field

from coordinator.drivers.base import AgentEvent, Start
from coordinator.prices import Prices, built_in

Out = list[AgentEvent]


class Ask(msgspec.Struct):
    """A request of the agent that waits for the operator."""

    kind: str
    call: str = ""
    turn: str = ""
    answers: dict[str, str] = {}
    """The agent's own options by our name, each with the JSON that is sent back for it."""
    fields: dict[str, list[str]] = {}
    """Of a question: the ids that its text stands for."""
    cancel: str = ""
    """The JSON that answers it when nobody will."""
    answered: bool = False


class Item(msgspec.Struct):
    """A piece of the agent's work that has begun and not ended."""

    type: str
    title: str = ""
    subject: str = ""
    """What an approval of it is about: the command, the diff."""
    paths: list[str] = []
    """Of a change to files: each file that it touches."""
    turn: str = ""
    parent: str = ""
    said: list[str] = []
    """Of a text that streams: what came of it."""
    size: int = 0
    """Characters in these."""
    background: bool = False
    """Its turn is over and it runs on."""


class Flight(msgspec.Struct):
    """One of the agent's own turns: which of ours are in it and what it has used."""

    ours: list[str] = []
    begun: bool = False
    by_agent: bool = False
    tokens: dict[str, list[int]] = {}
    """By model: fresh, read from a cache, put into one, said."""
    text: str = ""
    failure: str = ""
    """The last error in it, as JSON."""


class State(msgspec.Struct):
    rest: bytes = b""
    controls: int = 0
    mode_wanted: str = "ask"
    thread: str = ""
    model: str = ""
    mode: str = ""
    version: str = ""
    models: dict[str, str] = {}
    signed_in: bool | None = None
    ready: bool = False
    sent: list[str] = []
    """Turns written and not settled, in the order of writing."""
    flights: dict[str, Flight] = {}
    """By the agent's own id of the turn, in the order in which they were heard of."""
    settled: list[str] = []
    """The last few settled turns, ours and the agent's ids: late lines about them say nothing new."""
    interrupt_next: bool = False
    """The operator asked for it before the agent had named its turn."""
    asks: dict[str, Ask] = {}
    items: dict[str, Item] = {}
    totals: dict[str, list[int]] = {}
    """What each thread's total was when it was last told."""
    late: dict[str, list[int]] = {}
    """Used after its turn was settled: it counts with the next."""
    agents: dict[str, str] = {}
    """Threads of sub-agents, and the call that began each."""
    set_back: int = 0
    """How often it had to be told again to ask a person."""
    limits: str = ""
    """The account's limits as last told, so that each telling is shown once."""
    resets_at: int | None = None
    """When the limit that was reached is lifted."""


MOST = 500
"""Entries of a table at most: what an agent names without end is forgotten from its oldest on."""


def bound(table: dict[str, Any], most: int = MOST, *, keep: str = "") -> None:
    """Forget the oldest entries beyond so many; never that of ``keep``."""
    while len(table) > most:
        oldest = iter(table)
        first = next(oldest)
        del table[next(oldest) if first == keep else first]


class Held(Struct, kw_only=True):
    """What reading one process needs: what is remembered, and what was told at its start."""

    state: State = field(default_factory=State)
    start: Start | None = None
    prices: Prices = field(default_factory=built_in)
