"""Terms: what the operator signs for one run, their digest, and the presets from which they are cut.

Pure. The stored form is canonical JSON; the final proof parses it again and compares field by field, so every field
that matters for what an agent may do or spend stands here and nowhere else.
"""

from enum import StrEnum

from msgspec import Struct

from coordinator import agreedform
from store.canonical import digest
from store.refusal import Refusal
from store.vocab import Billing, DecisionId, MicroUsd, Millis, RunId


class TreeKind(StrEnum):
    IN_PLACE = "in-place"
    WORKTREE = "worktree"


class Terms(Struct, frozen=True, kw_only=True):
    instruction: str
    """The brief, as the operator typed it."""
    preamble: bool
    """Whether Footplate adds how to leave a note (mailbox and handoff)."""
    agent: str
    """Profile name."""
    driver: str
    program: str
    """Absolute path of the agent's binary."""
    agent_version: str
    billing: Billing
    repository: str
    head: str
    """Commit when signed; '' where the repository has none yet."""
    branch: str
    tree_kind: TreeKind
    model: str | None
    mode: str
    """In which a person is asked."""
    budget: MicroUsd | None
    max_turns: int
    working_seconds: int | None
    """For how long turns may run in all, without the time in which the operator is awaited; None: no limit."""
    expires_at: Millis
    attendance_seconds: int
    machine: str
    uid: int
    at_budget: str = "hold"
    """``hold`` or ``fence``."""
    rules: tuple[str, ...] = ()
    """Standing rules, each in its one spelling (``standing.Rule.text``)."""
    script: str = ""
    """Practice agent only."""
    prompt: str = ""
    """Of a program on a terminal: pattern of the line with which it waits for input. Here, because what it printed can
    be read again only by the pattern by which its turns were told apart."""
    quit: str = ""
    """Of a program on a terminal: what ends it when typed."""
    continues: RunId | None = None
    """The run that it goes on from."""
    conversation: str = ""
    """The agent's own conversation in which it goes on; '': a new one."""
    tree: str = ""
    """Absolute path of the tree that the run before had of its own, where it works in that again; '': it does not."""
    setup: str = ""
    """The operator's own command that makes a new tree of this repository ready; '': there is none to run."""
    checks: tuple[str, ...] = ()
    """The operator's own commands that look at what is there once the run is finished, in its tree."""
    check_seconds: int = 0
    """For each of them; 0 where there is none."""
    base: str = ""
    """Commit at which its new tree begins, where that is not ``head``: what a run before it came to."""
    carried: str = ""
    """What Footplate adds to the brief of what came before: an account, answers and messages that never arrived."""
    answers: tuple[DecisionId, ...] = ()
    """The decisions whose answers are in ``carried``."""
    unsent: int = 0
    """How many messages of the operator that were never sent are in ``carried``."""


canonical = agreedform.canonical


def digest_of(stored: str) -> str:
    return digest(stored)


def parse(stored: str) -> Terms | Refusal:
    """Stored terms, read again; ``terms-unreadable`` where they are none of this version."""
    return agreedform.parse(Terms, stored)


def first_difference(signed: Terms, actual: Terms) -> Refusal | None:
    """The first field in which what is about to run differs from what was signed."""
    return agreedform.first_difference(signed, actual)


class Preset(Struct, frozen=True, kw_only=True):
    name: str
    budget: MicroUsd
    max_turns: int
    working_seconds: int
    hours: float


PRESETS: tuple[Preset, ...] = (
    Preset(name="quick", budget=MicroUsd(1_000_000), max_turns=15, working_seconds=20 * 60, hours=1),
    Preset(name="normal", budget=MicroUsd(5_000_000), max_turns=40, working_seconds=60 * 60, hours=2),
    Preset(name="overnight", budget=MicroUsd(20_000_000), max_turns=200, working_seconds=8 * 3600, hours=12),
)
