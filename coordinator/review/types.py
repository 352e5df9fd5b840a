"""The frozen values of a review: what a screen, a search, an export or a sum of money is given of a ledger.

They are made in ``reading`` from rows and shown by whoever asked. Nothing here reads, and nothing here decides.
"""

from enum import StrEnum

from msgspec import Struct

from coordinator.dispositions import Disposition
from coordinator.viewtypes import SessionView
from store.vocab import (
    AuthorizationState,
    Billing,
    CostKnowledge,
    CustodyState,
    DecisionId,
    EvidenceKind,
    MicroUsd,
    Millis,
    RunId,
    RunOutcome,
    StopResult,
    StopState,
    TurnId,
)


class RunFilter(Struct, frozen=True, kw_only=True):
    """Which runs, or which hits of a search. All that is given must hold."""

    words: tuple[str, ...] = ()
    """Found anywhere in the run, each of them. A phrase is one item with spaces in it; a ``*`` ends a beginning."""
    repository: str | None = None
    """A whole path, the last parts of one, or a piece of the last part where nothing is called exactly so."""
    agent: str | None = None
    """Name of the profile, or of the driver."""
    model: str | None = None
    """A piece of the model's name."""
    tool: str | None = None
    """A tool that was called in the run; in a search: the tool whose call is the hit."""
    outcome: str | None = None
    """A ``RunOutcome``, or ``open`` for runs that have none."""
    reason: str | None = None
    """Why it ended; ``exited`` is also ``exited:1``."""
    cost_min: MicroUsd | None = None
    cost_max: MicroUsd | None = None
    """Both inclusive. A run of which no cost is known has none, and neither bound lets it through."""
    since: Millis | None = None
    until: Millis | None = None
    """Admitted at or after, before."""
    imported: bool | None = None


class Sort(StrEnum):
    NEWEST = "newest"
    OLDEST = "oldest"
    COST = "cost"
    TURNS = "turns"
    DURATION = "duration"
    REPOSITORY = "repository"


class RunRow(Struct, frozen=True, kw_only=True):
    """One line of the table of runs."""

    run: RunId
    title: str
    agent: str
    driver: str
    billing: Billing
    model: str | None
    repository: str
    branch: str
    created_at: Millis
    ended_at: Millis | None
    outcome: RunOutcome | None
    reason: str
    turns: int
    """Without those that were never sent."""
    cost: MicroUsd | None
    """None: no turn of it has a known cost."""
    cost_known: CostKnowledge
    """``guess``: some of it is one; ``unknown``: some turn has none."""
    decisions: int
    events: int
    imported: bool
    operator: str


class RunsPage(Struct, frozen=True, kw_only=True):
    rows: tuple[RunRow, ...]
    more: object | None = None
    """Where to go on, to be given back as it is; None: this was the last page."""


class AmendmentRow(Struct, frozen=True, kw_only=True):
    at: Millis
    operator: str
    money: MicroUsd | None
    turns: int | None
    expires_at: Millis | None
    working_seconds: int | None


class AuthorizationFacts(Struct, frozen=True, kw_only=True):
    """Who agreed to the run's terms, when, and how they ended. What they say is ``session.terms``."""

    id: str
    state: AuthorizationState
    operator: str
    digest: str
    signed_at: Millis
    expires_at: Millis
    closed_at: Millis | None
    close_reason: str | None
    problem: str = ""
    """Why the terms cannot be read any more; then ``session.terms`` has only what the run itself tells."""


class StopRow(Struct, frozen=True, kw_only=True):
    state: StopState
    reason: str
    operator: str
    asked_at: Millis
    ordered_at: Millis | None
    settled_at: Millis | None
    result: StopResult | None


class ReceiptRow(Struct, frozen=True, kw_only=True):
    generation: int
    at: Millis
    remaining: int
    body: str
    """Canonical JSON, as ``coordinator.custody.receipts`` reads it. The newest is read already: ``session.receipt``."""


class EvidenceRow(Struct, frozen=True, kw_only=True):
    """What was kept; the content by ``reading.evidence``."""

    id: int
    kind: EvidenceKind
    sha256: str
    size: int
    note: str
    at: Millis


class CustodyFacts(Struct, frozen=True, kw_only=True):
    id: str
    state: CustodyState
    epoch: int
    generation: int
    in_place: bool
    tree: str
    native_id: str | None
    boot_id: str
    supervisor_pid: int | None
    keeper_pid: int | None
    agent_pid: int | None
    fence_reason: str | None
    created_at: Millis
    closed_at: Millis | None


class TurnMore(Struct, frozen=True, kw_only=True):
    """What the turn ledger of a review has beside ``TurnView``."""

    id: TurnId
    n: int
    generation: int
    written_at: Millis | None
    accepted_at: Millis | None
    bytes: int
    cumulative: MicroUsd | None
    cache_read_tokens: int | None
    cache_write_tokens: int | None
    events_hash: str | None


class RunPage(Struct, frozen=True, kw_only=True):
    """A run, whole but for its transcript (``reading.feed``) and the content of its evidence."""

    session: SessionView
    """As the live console has it of an ended run, so that the same widgets show it."""
    authorization: AuthorizationFacts
    turns: tuple[TurnMore, ...] = ()
    amendments: tuple[AmendmentRow, ...] = ()
    stops: tuple[StopRow, ...] = ()
    receipts: tuple[ReceiptRow, ...] = ()
    evidence: tuple[EvidenceRow, ...] = ()
    custody: tuple[CustodyFacts, ...] = ()
    """Each hold that the run had, oldest first."""
    became: tuple[Disposition, ...] = ()
    """What was done with its tree once it had ended, oldest first."""
    control_writes: int = 0
    events: int = 0
    continues: RunId | None = None
    continued_by: tuple[RunId, ...] = ()
    imported: bool = False
    imported_from: str = ""
    problems: tuple[str, ...] = ()
    """What of it cannot be read any more, and is left out."""


class SearchHit(Struct, frozen=True, kw_only=True):
    id: int
    """Newer texts have higher ones."""
    run: RunId
    title: str
    agent: str
    repository: str
    turn: TurnId | None
    turn_n: int | None
    event: int | None
    """Row id of the event; None for the operator's own words and for decisions."""
    key: tuple[int, int] | None
    """Of the event, as a transcript takes it (``ReadTranscript.around``)."""
    decision: DecisionId | None
    kind: str
    """``turn``, ``decision``, or the event's kind."""
    at: Millis
    text: str
    """Whole, where it is not very long; else its beginning."""
    snippet: str
    """One piece of the text around the first place."""
    marks: tuple[tuple[int, int], ...] = ()
    """(from, to) in ``snippet``: what was looked for."""


class SearchPage(Struct, frozen=True, kw_only=True):
    hits: tuple[SearchHit, ...]
    """Newest first."""
    more: int | None = None
    """Where to go on (``before``); None: all was looked at. A page may be short, even empty, and still have more: one
    looks at so many texts and no further."""


class SpendBy(StrEnum):
    DAY = "day"
    REPOSITORY = "repository"
    AGENT = "agent"
    MODEL = "model"
    RUN = "run"
    TURN = "turn"
    """Within the runs that are asked for: where the budget went. The key is ``run.n``."""


class SpendRow(Struct, frozen=True, kw_only=True):
    key: str
    """The day (``2026-11-29``), path, name or number that these turns have in common; '' where it is not known."""
    runs: int
    turns: int
    cost: MicroUsd
    guessed: MicroUsd
    """How much of ``cost`` is guessed or estimated."""
    unknown_turns: int
    """Turns of which nothing is known; they are in ``cost`` with nothing."""
    working_ms: int
    """How long turns ran, without the waits for the operator."""
    input_tokens: int
    output_tokens: int
    cache_read_tokens: int
    cache_write_tokens: int


class Sizes(Struct, frozen=True, kw_only=True):
    """How large a ledger is, and what takes the room."""

    file: int
    """Bytes in the database itself."""
    free: int
    """Bytes of it that nothing is in."""
    runs: int
    live: int
    turns: int
    events: int
    entries: int
    evidence: int
    oldest: Millis | None
    newest: Millis | None
    """When the first and the last run were admitted."""
