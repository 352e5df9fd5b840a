"""What must hold when a run is over, however it came to its end: the design's invariants, looked at from outside.

Three witnesses that know nothing of each other are compared: the ledger (what we say), the spool (what the keeper
process noted) and the agent's own diary (what it heard and said: ``children/noting_agent.py``). Nothing here drives.
"""

import json
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from coordinator.custody import spoolfile
from coordinator.custody.processes import carriers, is_alive
from coordinator.custody.types import ProcessIdentity, RecordKind, SpoolRecord
from coordinator.drivers import registry
from coordinator.drivers.base import TRANSIENT
from store import (
    authorizations,
    bookcheck,
    control_writes,
    custody,
    decisions,
    entries,
    events,
    queued,
    receipts,
    runs,
    stops,
    turns,
)
from store.db import Ledger, Tx
from store.verify import verify
from store.vocab import (
    AuthorizationId,
    AuthorizationState,
    CostKnowledge,
    CustodyState,
    DecisionKind,
    DecisionState,
    QueuedTurnState,
    RunId,
    RunOutcome,
    TurnId,
    TurnState,
)
from tests.waiting import eventually

FAREWELL = "The operator ended the session."
"""What a farewell says to requests that are open, or whose answer was not seen to arrive: no answer of the operator."""
ENDED_TURNS = {TurnState.SETTLED, TurnState.CANCELLED, TurnState.UNCERTAIN}
ARRIVED = {DecisionState.DELIVERED, DecisionState.UNCERTAIN, DecisionState.REFUSED_BY_AGENT}
NOT_SENT = {DecisionState.OPEN, DecisionState.UNDELIVERED, DecisionState.WITHDRAWN, DecisionState.DISMISSED}


@dataclass(frozen=True, slots=True, kw_only=True)
class Diary:
    """What the agent itself noted, over all its lives in this tree."""

    turns: Counter[str] = field(default_factory=Counter)
    """User lines heard, by our id."""
    answers: Counter[str] = field(default_factory=Counter)
    """Answers heard, by the request's id."""
    said: bytes = b""

    @classmethod
    def of(cls, tree: Path) -> "Diary":
        turns: Counter[str] = Counter()
        answers: Counter[str] = Counter()
        heard = tree.parent / "heard"
        for line in heard.read_bytes().splitlines() if heard.exists() else []:
            told = json.loads(json.loads(line)["line"] or "{}")
            if told.get("type") == "user":
                turns[str(told.get("uuid"))] += 1
            elif told.get("type") == "control_response" and FAREWELL not in line.decode():
                answers[str(told["response"]["request_id"])] += 1
        said = tree.parent / "said"
        return cls(turns=turns, answers=answers, said=said.read_bytes() if said.exists() else b"")


async def check(ledger: Ledger, spool: Path, tree: Path, *, output_lost: bool = False) -> None:
    """All of them, for every run in the ledger. ``output_lost``: the worker was killed, and what stood in the pipe to
    it went with it."""
    assert await ledger.read(verify) is None
    assert await ledger.read(lambda tx: next(bookcheck.unsound(tx), None)) is None
    listed = await ledger.read(lambda tx: runs.listing(tx, limit=1000))
    diary = Diary.of(tree)
    for run in listed:
        await ledger.read(lambda tx, run=run: _books(tx, run))  # type: ignore[misc]
        held = await ledger.read(lambda tx, run=run: custody.of_run(tx, run.id))  # type: ignore[misc]
        if held is None:
            continue
        await _nothing_lives(held, spool / held.id)
        file = spool / held.id / "spool"
        records = list(spoolfile.read_spool(file)) if file.exists() else []
        await ledger.read(lambda tx, run=run, records=records: _delivered_once(tx, run.id, records, diary))  # type: ignore[misc]
        await ledger.read(lambda tx, run=run, records=records: _events_once(tx, run.id, records))  # type: ignore[misc]
        await ledger.read(lambda tx, run=run, records=records: _costs(tx, run.id, records))  # type: ignore[misc]
        if len(listed) == 1:
            _nothing_lost(records, diary, output_lost=output_lost)
    assert not await ledger.read(custody.not_closed), "a tree or a conversation is still taken"


# -------------------------------------------------------------------------------------------------------------- books


def _books(tx: Tx, run: runs.Run) -> None:
    assert run.outcome is not None and run.reason, run
    kinds = Counter(entry.kind for entry in entries.entries_of(tx, run.id))
    assert kinds["run.ended"] == 1, kinds
    signed = authorizations.get(tx, AuthorizationId(run.authorization_id))
    assert signed is not None and signed.state is AuthorizationState.CLOSED, signed
    assert signed.run == run.id
    holders = [one.id for one in runs.listing(tx, limit=1000) if one.authorization_id == signed.id]
    assert holders == [run.id], "an authorization starts one run"
    held = custody.of_run(tx, run.id)
    if held is None:
        assert run.outcome is RunOutcome.REFUSED
    else:
        assert held.state is CustodyState.CLOSED and held.closed_at is not None
    assert [turn for turn in turns.of_run(tx, run.id) if turn.state not in ENDED_TURNS] == []
    assert turns.in_flight(tx, run.id) == []
    assert queued.waiting(tx, run.id) == []
    assert stops.open_of(tx, run.id) is None
    _receipts_once(tx, run.id, held)
    for decision in decisions.of_run(tx, run.id):
        park = decision.kind is DecisionKind.PARK
        assert decision.state in (NOT_SENT | ARRIVED) - (set() if park else {DecisionState.OPEN}), decision
    _each_moved_once(tx, run.id)


def _receipts_once(tx: Tx, run: RunId, held: custody.Custody | None) -> None:
    """One for each process that was started under the hold, and none for the same one twice."""
    kept = [one.generation for one in receipts.of_run(tx, run)]
    assert kept == sorted(set(kept)), kept
    if held is not None and held.agent_pid is not None:
        assert kept[: held.generation] == list(range(1, held.generation + 1)), (kept, held.generation)


def _each_moved_once(tx: Tx, run: RunId) -> None:
    """No terminal state was entered twice, or left."""
    ended: dict[tuple[str, str], str] = {}
    terminal = {
        "turn": {str(one) for one in ENDED_TURNS},
        "queued": {str(one) for one in QueuedTurnState if one is not QueuedTurnState.WAITING},
        "custody": {str(CustodyState.CLOSED)},
        "authorization": {str(AuthorizationState.CLOSED)},
    }
    for entry in entries.entries_of(tx, run):
        noun, _, verb = entry.kind.partition(".")
        body: dict[str, Any] = json.loads(entry.body)
        state = body.get("state")
        if noun in terminal and state is not None:
            key = (noun, str(body.get("id")))
            assert key not in ended, f"{key} was {ended[key]} and then {entry.kind}"
            if state in terminal[noun]:
                ended[key] = verb


# ---------------------------------------------------------------------------------------------------------- processes


async def _nothing_lives(held: custody.Custody, folder: Path) -> None:
    assert carriers(held.nonce) == [], "a process of the run is alive"
    if held.agent_pid is not None and held.agent_ticks is not None:
        agent = ProcessIdentity(boot_id=held.boot_id, pid=held.agent_pid, start_ticks=held.agent_ticks)
        assert not is_alive(agent), "the agent is alive"
    # Keeper and worker have written their last word; they are let go a moment after the books are closed.
    for pid, ticks in ((held.supervisor_pid, held.supervisor_ticks), (held.keeper_pid, held.keeper_ticks)):
        if pid is not None and ticks is not None:
            identity = ProcessIdentity(boot_id=held.boot_id, pid=pid, start_ticks=ticks)
            await eventually(lambda identity=identity: not is_alive(identity), 3, "keeper or worker gone")  # type: ignore[misc]
    await eventually(lambda: not spoolfile.spool_is_locked(folder), 3, "the spool let go")


# ----------------------------------------------------------------------------------------------------------- delivery


def _writes(records: list[SpoolRecord]) -> Counter[str]:
    """Ids of which at least a byte may have gone."""
    begun: Counter[str] = Counter()
    for record in records:
        id = str(record.facts.get("id", ""))
        if record.kind is RecordKind.WRITING:
            begun[id] += 1
        elif record.kind is RecordKind.WRITE_FAILED and record.facts.get("written") == 0:
            begun[id] -= 1
    return +begun


def _delivered_once(tx: Tx, run: RunId, records: list[SpoolRecord], diary: Diary) -> None:
    begun = _writes(records)
    assert all(count == 1 for count in begun.values()), f"an id was written twice: {begun}"
    known = {turn.id for turn in turns.of_run(tx, run)}
    known |= {write.id for write in control_writes.of_run(tx, run)}
    unknown = {id for id in begun if id not in known and not id.startswith("farewell")}
    assert not unknown, f"written and in no ledger: {unknown}"
    for turn in turns.of_run(tx, run):
        heard = diary.turns[turn.id]
        assert heard <= 1, f"turn {turn.n} was heard {heard} times"
        if turn.state is TurnState.CANCELLED:
            assert begun[turn.id] == heard == 0, "cancelled, and yet it went"
        if turn.state is TurnState.SETTLED and turn.digest:
            assert begun[turn.id] == heard == 1, turn
    carried: dict[int, set[str]] = {}
    for entry in entries.entries_of(tx, run):
        if entry.kind == "decision.delivering":
            body = json.loads(entry.body)
            carried.setdefault(body["id"], set()).add(str(body["write_id"]))
    for decision in decisions.of_run(tx, run):
        sent = sum(begun[write] for write in carried.get(decision.id, set()))
        assert sent <= 1, f"the answer to {decision.title} was sent {sent} times"
        if decision.kind is not DecisionKind.PARK:
            heard = diary.answers[decision.request]
            assert heard <= 1, f"the answer to {decision.title} was heard {heard} times"
        else:
            heard = max((diary.turns[write] for write in carried.get(decision.id, set())), default=0)
        if decision.state in (DecisionState.DELIVERED, DecisionState.REFUSED_BY_AGENT):
            assert sent == heard == 1, decision
        elif decision.state in NOT_SENT:
            assert sent == heard == 0, decision
    ran = _ran(tx, run)
    assert ran <= 1, f"the tool ran {ran} times"


def _ran(tx: Tx, run: RunId) -> int:
    """How often the command ran that was allowed once."""
    row = runs.get(tx, run)
    assert row is not None
    ran = Path(row.tree) / "ran.txt"
    return len(ran.read_text().splitlines()) if ran.exists() else 0


# ------------------------------------------------------------------------------------------------------------- events


def _events_once(tx: Tx, run: RunId, records: list[SpoolRecord]) -> None:
    """The ledger's events are what fresh drivers find in the whole spool, each once, in its order."""
    row = runs.get(tx, run)
    assert row is not None
    driver = registry.create(row.driver, "again")
    assert driver is not None
    said = {turn.id: turn.text for turn in turns.of_run(tx, run)}
    generation = 1
    expected: list[tuple[int, int]] = []
    for record in records:
        if record.generation > generation:
            generation = record.generation
            driver = registry.create(row.driver, "again")
            assert driver is not None
        if record.kind is RecordKind.WRITING and (id := TurnId(str(record.facts["id"]))) in said:
            # An agent that names no turn is understood only by one who knows what was sent.
            driver.turn(id, said[id])
            continue
        if record.kind is RecordKind.STDOUT:
            found = driver.feed(record.data)
        elif record.kind is RecordKind.EXIT:
            found = driver.feed_end()
        else:
            continue
        expected += [(record.offset, n) for n, event in enumerate(found) if not isinstance(event, TRANSIENT)]
    rows = events.page(tx, run, limit=1_000_000)
    keys = [(row.offset, row.n) for row in rows if row.kind != "stderr"]
    assert keys == expected, f"doubled, missing or out of order: {set(keys) ^ set(expected)}"


def _nothing_lost(records: list[SpoolRecord], diary: Diary, *, output_lost: bool) -> None:
    """What the agent knows to have said is in the spool, byte for byte."""
    kept = b"".join(record.data for record in records if record.kind is RecordKind.STDOUT)
    if output_lost:
        assert diary.said.startswith(kept) or kept.startswith(diary.said)
        return
    assert kept.startswith(diary.said), "the agent said something that was not kept"
    assert kept[len(diary.said) :].count(b"\n") <= 1, "more was kept than the agent said"


# -------------------------------------------------------------------------------------------------------------- money


def _costs(tx: Tx, run: RunId, records: list[SpoolRecord]) -> None:
    """The turns' own costs come to the agent's own total, for each of its processes; one that resumes a conversation
    may count on from the one before, and says so when it is asked."""
    told: dict[int, int] = {}
    began: dict[int, int] = {}
    text: dict[int, bytes] = {}
    for record in records:
        if record.kind is RecordKind.STDOUT:
            text[record.generation] = text.get(record.generation, b"") + record.data
    for generation, data in text.items():
        for line in data.splitlines():
            if b'"total_cost_usd"' not in line:
                continue
            said = _whole(line)
            if said.get("type") == "result":
                told[generation] = round(said["total_cost_usd"] * 1_000_000)
            elif said.get("type") == "control_response" and generation > 1 and generation not in told:
                began[generation] = round(said["response"]["response"]["session"]["total_cost_usd"] * 1_000_000)
    of_run = turns.of_run(tx, run)
    for generation, total in told.items():
        own = sum(
            turn.cost or 0
            for turn in of_run
            if turn.generation == generation and turn.cost_known in (CostKnowledge.REPORTED, CostKnowledge.MERGED)
        )
        since = began.get(generation, 0)
        assert own == total - since, f"generation {generation}: the agent counts {total} from {since}, the turns {own}"
    spend = turns.spend(tx, run)
    assert spend.money == sum(turn.cost or 0 for turn in of_run)


def _whole(line: bytes) -> dict[str, Any]:
    try:
        told: dict[str, Any] = json.loads(line)
    except ValueError:
        return {}  # cut off by a kill
    return told
