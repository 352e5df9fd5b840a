"""Decisions: asked once, answered as shown, delivered at most once."""

from store import (
    canonical,
    decisions,
)
from store.refusal import Refusal
from store.tx import Tx
from store.vocab import (
    DecisionId,
    DecisionKind,
    DecisionState,
    RefusalReason,
    RunId,
    TurnId,
)
from tests.store.scenes import NOON, held, later, said


def asked(
    tx: Tx, run: RunId, kind: DecisionKind = DecisionKind.QUESTION, *, turn: TurnId | None = None, request: str = "r1"
) -> decisions.Decision:
    return decisions.ask(
        tx,
        run=run,
        turn=turn,
        kind=kind,
        request=request,
        generation=1,
        payload=canonical.dumps({"kind": kind, "request": request}),
        title="May I?",
        subject="rm -r build",
    )


def answered(tx: Tx, decision: decisions.Decision) -> decisions.Decision:
    row = decisions.answer(
        tx, id=decision.id, revision=1, payload_hash=decision.payload_hash, answer='"yes"', operator="ada"
    )
    assert not isinstance(row, Refusal)
    return row


def test_the_same_thing_asked_again_is_the_same_decision(tx: Tx) -> None:
    run, _ = held(tx)
    turn = said(tx, run.id)
    first = asked(tx, run.id)
    assert asked(tx, run.id) == first, "also without a turn"
    assert asked(tx, run.id, turn=turn).id != first.id
    assert asked(tx, run.id, request="r2").id != first.id
    assert decisions.by_request(tx, run.id, "r2", 1) == decisions.of_run(tx, run.id)[-1]
    assert decisions.by_request(tx, run.id, "r2", 2) is None


def test_an_answer_names_exactly_what_was_shown(tx: Tx) -> None:
    run, _ = held(tx)
    asking = asked(tx, run.id)
    given = {"answer": '"yes"', "operator": "bo"}
    for revision, payload_hash in ((2, asking.payload_hash), (1, "0" * 64)):
        stale = decisions.answer(tx, id=asking.id, revision=revision, payload_hash=payload_hash, **given)
        assert isinstance(stale, Refusal)
        assert stale.reason is RefusalReason.STALE
    none = decisions.answer(tx, id=DecisionId(99), revision=1, payload_hash="", **given)
    assert isinstance(none, Refusal)
    assert none.reason is RefusalReason.NO_SUCH_DECISION
    answered(tx, asking)
    second = decisions.answer(later(tx, 5), id=asking.id, revision=1, payload_hash=asking.payload_hash, **given)
    assert isinstance(second, Refusal)
    assert second.reason is RefusalReason.ALREADY_ANSWERED
    assert (second.facts["by"], second.facts["at"], second.facts["answer"]) == ("ada", NOON, '"yes"')


def test_a_withdrawn_decision_is_stale(tx: Tx) -> None:
    run, _ = held(tx)
    asking = asked(tx, run.id)
    assert decisions.withdraw(tx, id=asking.id, note="the agent took it back") is not None
    late = decisions.answer(tx, id=asking.id, revision=1, payload_hash=asking.payload_hash, answer="1", operator="ada")
    assert isinstance(late, Refusal)
    assert (late.reason, late.facts["note"]) == (RefusalReason.STALE, "the agent took it back")


def test_an_answer_is_delivered_once(tx: Tx) -> None:
    run, _ = held(tx)
    asking = asked(tx, run.id)
    assert decisions.deliver(tx, id=asking.id, write_id="w1") is None, "not before it is answered"
    answered(tx, asking)
    sent = decisions.deliver(tx, id=asking.id, write_id="w1")
    assert sent is not None
    assert decisions.by_write(tx, run.id, "w1") == [sent]
    assert decisions.deliver(tx, id=asking.id, write_id="w2") is None
    back = decisions.undeliver(tx, id=asking.id)
    assert back is not None
    assert (back.state, back.write_id) == (DecisionState.ANSWERED, None)
    decisions.deliver(tx, id=asking.id, write_id="w3")
    done = decisions.delivered(tx, id=asking.id)
    assert done is not None
    assert done.delivered_at == NOON
    assert decisions.delivered(tx, id=asking.id) is None
    assert decisions.live(tx) == []
    refused = decisions.refused_by_agent(tx, id=asking.id, note="not that way")
    assert refused is not None
    assert (refused.state, refused.note) == (DecisionState.REFUSED_BY_AGENT, "not that way")


def test_what_the_end_of_a_hold_makes_of_each_decision(tx: Tx) -> None:
    run, _ = held(tx)
    found: dict[tuple[DecisionKind, str], DecisionId] = {}
    for kind in DecisionKind:
        for stage in ("open", "answered", "delivering"):
            decision = asked(tx, run.id, kind, request=f"{kind}-{stage}")
            if stage != "open":
                answered(tx, decision)
            if stage == "delivering":
                decisions.deliver(tx, id=decision.id, write_id=f"w{decision.id}")
            found[kind, stage] = decision.id
    moved = decisions.end_of_hold(tx, run.id)
    assert len(moved) == len(found) - 1
    control = {DecisionKind.PERMISSION, DecisionKind.PLAN}
    for (kind, stage), id in found.items():
        decision_now = decisions.get(tx, id)
        assert decision_now is not None
        expected = {
            "open": DecisionState.OPEN if kind is DecisionKind.PARK else DecisionState.WITHDRAWN,
            "answered": DecisionState.WITHDRAWN if kind in control else DecisionState.UNDELIVERED,
            "delivering": DecisionState.UNCERTAIN,
        }[stage]
        assert decision_now.state is expected, (kind, stage)
    assert decisions.end_of_hold(tx, run.id) == []
    rides = decisions.deliver(tx, id=found[DecisionKind.QUESTION, "answered"], write_id="turn-9")
    assert rides is not None, "an undelivered answer may ride a later brief"
    assert decisions.dismiss(tx, id=found[DecisionKind.PARK, "open"], operator="ada") is not None
    assert decisions.dismiss(tx, id=found[DecisionKind.PERMISSION, "open"], operator="ada") is None
