"""All that the claude driver remembers between two lines, in one structure, so that a snapshot cannot forget a part.

Only plain, bounded JSON values may stand here; nothing that decides.
"""

import msgspec


class Ask(msgspec.Struct):
    """A request of the agent that waits for the operator."""

    kind: str
    tool: str
    call: str
    input_json: str
    """Text, not a tree: the agent's numbers may be larger than a snapshot's."""
    payload_json: str = "[]"
    agent: str = ""
    answered: str = ""
    """``allow``, ``deny`` or ``reply`` once answered."""
    arrived: bool = False
    """The agent repeated the answer; what it made of it is still to come."""


class Task(msgspec.Struct):
    kind: str
    title: str
    call: str = ""
    background: bool = False


class EndedTask(msgspec.Struct):
    kind: str
    title: str
    state: str


class Stream(msgspec.Struct):
    """Where one speaker (the main agent, or a sub-agent by its tool call) is in its current message."""

    message: str = ""
    next: int = 0
    """Index of the next finished block."""
    open: int = -1
    """Index of the block that streams now; -1: none."""


class PlanItem(msgspec.Struct):
    state: str
    text: str


class State(msgspec.Struct):
    rest: bytes = b""
    controls: int = 0
    mode_wanted: str = "default"
    native_id: str = ""
    model: str = ""
    mode: str = ""
    version: str = ""
    abilities: list[str] = []
    commands: dict[str, str] = {}
    sent: list[str] = []
    """Turns written and not settled, in the order of writing."""
    begun: list[str] = []
    """Turns that the agent showed it began, in that order, not settled."""
    guessed: str = ""
    """The begun turn that was taken from order alone, no echo seen yet."""
    settled: list[str] = []
    """The last few settled turns: late lines about them say nothing new."""
    working: bool = False
    by_agent: bool = False
    woken: str = ""
    """Why the agent may begin by itself: a background task ended while it was at rest."""
    cumulative: int | None = None
    """What the process has cost, over all its conversations."""
    carried: int = 0
    """What its earlier conversations cost: the newer generation starts its total again at ``/clear``."""
    cleared: bool = False
    """The conversation changed since the last result."""
    error: str = ""
    """The class that the agent gave to the last failure in this turn."""
    error_status: int | None = None
    limit_reset: int | None = None
    asks: dict[str, Ask] = {}
    tasks: dict[str, Task] = {}
    ended: dict[str, EndedTask] = {}
    """The last few ended tasks and how, so that the same end is told once."""
    background_calls: list[str] = []
    """Tool calls that asked to run in the background; the older generation says it nowhere else."""
    streams: dict[str, Stream] = {}
    context: int | None = None
    windows: dict[str, int] = {}
    speaker: str = ""
    """The model of the last message of the main agent."""
    plan: dict[str, PlanItem] = {}
    plan_calls: dict[str, str] = {}
    """Calls of the task tools in flight: name and input, as JSON."""
