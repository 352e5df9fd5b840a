"""One run with one of everything that the ledger tells of, ended as a console ends it."""

from store import (
    agentwaits,
    attachments,
    attention,
    authorizations,
    claims,
    commands,
    control_writes,
    custody,
    decisions,
    events,
    evidence,
    imports,
    outcomes,
    queued,
    receipts,
    runs,
    settings,
    stops,
    turns,
)
from store.attachments import NewAttachment
from store.canonical import digest
from store.tx import Tx
from store.vocab import (
    AttentionKind,
    AuthorizationId,
    CommandState,
    CommandVerb,
    CostKnowledge,
    CustodyState,
    DecisionKind,
    EvidenceKind,
    ImageType,
    MicroUsd,
    Millis,
    RunId,
    RunOutcome,
    StopResult,
    TaskState,
    TurnId,
    TurnResultKind,
    TurnSource,
)
from tests.store import inline
from tests.store.scenes import INCARNATION, event, held, later, said


def a_whole_life(tx: Tx, *, tree: str = "/work/tree", at: int = 0) -> RunId:
    """``at``: how far its row ids and times are from those of the one before."""
    run, hold = held(tx, tree=tree)
    id, name = run.id, run.id
    inline.queued(tx, paths=["roof"], budget=1_000)
    task = inline.claimed(tx)
    assert task is not None and task.token is not None
    inline.attempt(tx, task, id)
    custody.stamp(tx, id=hold, boot_id="b", supervisor_pid=7, supervisor_ticks=8, keeper_pid=5, keeper_ticks=6)
    custody.stamp_agent(tx, id=hold, generation=1, agent_pid=9, agent_ticks=10)
    brief = said(tx, id, f"turn-{name}-1", text=f"mend the roof of {name}")
    attachments.add(
        tx, run=id, turn=brief, images=[NewAttachment(name="roof.png", media_type=ImageType.PNG, content=b"\x89PNG")]
    )
    turns.written(tx, id=brief)
    turns.accepted(tx, id=brief)
    told = f'{{"text":"slates for {name}"}}'
    events.append(tx, run=id, rows=[event(1, turn=brief, body=told), event(2, turn=brief), event(3, turn=None)])
    asked = decisions.ask(
        tx, run=id, turn=brief, kind=DecisionKind.QUESTION, request="r1", generation=1, payload='{"q":"why"}',
        title="Why?", subject="the roof",
    )  # fmt: skip
    attention.raise_(tx, run=id, kind=AttentionKind.DECISION, key=str(asked.id), text="Why?")
    decisions.answer(
        tx, id=asked.id, revision=1, payload_hash=asked.payload_hash, answer='{"a":"rain"}', operator="ada"
    )
    control_writes.asked(tx, run=id, id="w1", generation=1, what="answer", length=3, digest="d")
    decisions.deliver(tx, id=asked.id, write_id="w1")
    control_writes.set_state(tx, run=id, id="w1", state="wrote")
    decisions.delivered(tx, id=asked.id)
    attention.clear(tx, run=id, kind=AttentionKind.DECISION, by="footplate")
    waiting = queued.add(tx, run=id, text="and the gutter", operator="ada")
    attachments.add(
        tx, run=id, queued=waiting.id, images=[NewAttachment(name="g.gif", media_type=ImageType.GIF, content=b"GIF89a")]
    )
    queued.withdraw(tx, id=waiting.id)
    _settle(later(tx, 5), brief, cost=30, cumulative=30)
    second = said(later(tx, 6), id, f"turn-{name}-2", source=TurnSource.OPERATOR, text="go on")
    turns.written(tx, id=second)
    _settle(later(tx, 9), second, cost=12, cumulative=42)
    signed = AuthorizationId(run.authorization_id)
    authorizations.amend(tx, id=signed, operator="ada", money=MicroUsd(500), turns=1)
    asked_for = commands.ask(tx, run=id, verb=CommandVerb.STOP, body="{}", operator="bo")
    commands.take(tx, id=asked_for.id, incarnation=INCARNATION)
    commands.finish(tx, id=asked_for.id, state=CommandState.DONE, answer="{}")
    evidence.add(tx, run=id, kind=EvidenceKind.DIFF, content=b"+ slate %d" % name, note="roof.txt")
    settings.put(tx, "admission", "open")
    imports.record(
        tx, agent="claude", identity=f"claude:{name}", path=f"/t/{name}.jsonl", run=id, size=9, mtime=1,
        digest=digest(b"x"), read_to=9,
    )  # fmt: skip
    stops.ask(tx, run=id, reason="stopped", operator="ada")
    stops.order(tx, run=id)
    stops.settle(tx, run=id, result=StopResult.HELD)
    receipts.add(tx, custody=hold, generation=1, run=id, body='{"ended":[]}', remaining=0)
    authorizations.close(tx, id=signed, reason="stopped")
    runs.end(later(tx, 10 + at), id=id, outcome=RunOutcome.INTERRUPTED, reason="stopped")
    outcomes.pending(tx, run=id)
    outcomes.decide(tx, run=id, verdict='{"to":"done"}')
    claims.finish(tx, task=task.id, token=task.token, to=TaskState.DONE)
    outcomes.acknowledge(tx, run=id, counted=True)
    agentwaits.wait(tx, agent=f"agent-{name}", reason="billing", until=None, run=id)
    custody.fence(tx, id=hold, reason="stopped")
    custody.move(tx, id=hold, expect=[CustodyState.FENCING], to=CustodyState.CLOSED)
    return id


def _settle(tx: Tx, turn: TurnId, *, cost: int, cumulative: int) -> None:
    turns.settle(
        tx, id=turn, result=TurnResultKind.SUCCESS, cost=MicroUsd(cost), cost_known=CostKnowledge.REPORTED,
        cumulative=MicroUsd(cumulative), input_tokens=5, output_tokens=6, duration_ms=7,
    )  # fmt: skip


LATER = Millis(1 << 50)
"""After all of it."""
