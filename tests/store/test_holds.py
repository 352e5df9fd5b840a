"""Incarnations, authorizations, runs and custody: who may hold what, and what each call leaves alone."""

import pytest

from store import (
    authorizations,
    custody,
    incarnations,
    runs,
)
from store.moves import ForbiddenMove
from store.refusal import Refusal
from store.tx import Tx
from store.vocab import (
    AuthorizationId,
    AuthorizationState,
    CustodyId,
    CustodyState,
    IncarnationId,
    MicroUsd,
    Millis,
    RefusalReason,
    RunId,
    RunOutcome,
)
from tests.store.scenes import INCARNATION, NOON, admitted, held, register

OTHER = IncarnationId("console-2")


def test_an_incarnation_ends_once(tx: Tx) -> None:
    register(tx, OTHER)
    assert [one.id for one in incarnations.not_ended(tx)] == [INCARNATION, OTHER]
    ended = incarnations.end(tx, OTHER)
    assert ended is not None
    assert ended.ended_at == NOON
    assert incarnations.end(tx, OTHER) is None
    assert [one.id for one in incarnations.not_ended(tx)] == [INCARNATION]


def test_an_authorization_starts_one_run(tx: Tx) -> None:
    run = admitted(tx)
    signed = authorizations.get(tx, run.authorization_id)
    assert signed is not None
    assert (signed.state, signed.run) == (AuthorizationState.BOUND, run.id)
    assert authorizations.bind(tx, id=signed.id, run=RunId(99)) is None
    closed = authorizations.close(tx, id=signed.id, reason="refused:tree-held")
    assert closed is not None
    assert (closed.closed_at, closed.close_reason) == (NOON, "refused:tree-held")
    assert authorizations.close(tx, id=signed.id, reason="later") is None
    assert authorizations.bind(tx, id=signed.id, run=run.id) is None
    assert authorizations.not_closed(tx) == []


def test_an_amendment_adds_and_leaves_the_signed_terms_alone(tx: Tx) -> None:
    run = admitted(tx)
    before = authorizations.get(tx, run.authorization_id)
    authorizations.amend(tx, id=run.authorization_id, operator="ada", money=MicroUsd(5))
    authorizations.amend(tx, id=run.authorization_id, operator="bo", turns=3, expires_at=Millis(NOON + 9))
    authorizations.amend(tx, id=run.authorization_id, operator="cy", working_seconds=60)
    found = [
        (one.operator, one.money, one.turns, one.expires_at, one.working_seconds)
        for one in authorizations.amendments(tx, run.authorization_id)
    ]
    assert found == [("ada", 5, None, None, None), ("bo", None, 3, NOON + 9, None), ("cy", None, None, None, 60)]
    assert authorizations.get(tx, run.authorization_id) == before
    with pytest.raises(LookupError):
        authorizations.amend(tx, id=AuthorizationId("nobody's"), operator="ada", turns=1)


def test_a_run_takes_steps_and_then_one_outcome(tx: Tx) -> None:
    run = admitted(tx)
    assert (run.step, run.head, run.outcome, run.events) == ("admitted", "", None, 0)
    prepared = runs.set_step(tx, id=run.id, step="prepared", head="c0ffee", tree="/elsewhere")
    assert prepared is not None
    assert (prepared.step, prepared.head, prepared.tree, prepared.branch) == (
        "prepared",
        "c0ffee",
        "/elsewhere",
        "main",
    )
    assert runs.live_count(tx) == 1
    ended = runs.end(tx, id=run.id, outcome=RunOutcome.FAILED, reason="exited:1", detail="no such file")
    assert ended is not None
    assert (ended.outcome, ended.reason, ended.ended_at) == (RunOutcome.FAILED, "exited:1", NOON)
    assert runs.end(tx, id=run.id, outcome=RunOutcome.FINISHED, reason="x") is None
    assert runs.set_step(tx, id=run.id, step="live") is None
    assert runs.live_count(tx) == 0
    assert runs.get(tx, run.id) == ended


def test_what_a_run_learns_is_added_to_what_it_knows(tx: Tx) -> None:
    run = admitted(tx)
    runs.learn(tx, id=run.id, native_id="n1", model="m1")
    learned = runs.learn(tx, id=run.id, mode="ask")
    assert learned is not None
    assert (learned.native_id, learned.model, learned.mode) == ("n1", "m1", "ask")
    runs.rename(tx, id=run.id, title="half an emoji \ud83d")
    renamed = runs.pin(tx, id=run.id, pinned=True)
    assert renamed is not None
    assert (renamed.title, renamed.pinned) == ("half an emoji \ufffd", True)
    assert runs.rename(tx, id=RunId(99), title="x") is None


def test_listing_is_newest_first_by_pages(tx: Tx) -> None:
    made = [admitted(tx, tree=f"/t{number}").id for number in range(5)]
    runs.end(tx, id=made[1], outcome=RunOutcome.REFUSED, reason="stopped")
    assert [one.id for one in runs.listing(tx, limit=2)] == [made[4], made[3]]
    assert [one.id for one in runs.listing(tx, limit=9, before=made[3])] == [made[2], made[1], made[0]]
    assert made[1] not in [one.id for one in runs.listing(tx, live_only=True)]
    assert len(runs.listing(tx, repository="/work/repository")) == 5
    assert len(runs.listing(tx, repository="/work/repository", live_only=True)) == 4
    assert runs.listing(tx, repository="/elsewhere") == []


def proposal(tx: Tx, run: RunId, **changes: object) -> custody.Custody | Refusal:
    given: dict[str, object] = {
        "id": CustodyId(f"hold-{run}-{changes}"),
        "run": run,
        "incarnation": INCARNATION,
        "tree": "/work/tree",
        "in_place": True,
        "nonce": "n",
    }
    return custody.propose(tx, **(given | changes))  # type: ignore[arg-type]


def test_a_run_a_tree_and_a_conversation_are_held_once(tx: Tx) -> None:
    first, _ = held(tx, native_id="conversation")
    second = admitted(tx)
    again = proposal(tx, first.id)
    assert isinstance(again, Refusal)
    assert (again.reason, again.facts["run"]) == (RefusalReason.ALREADY_HELD, first.id)
    tree = proposal(tx, second.id)
    assert isinstance(tree, Refusal)
    assert (tree.reason, tree.facts["run"]) == (RefusalReason.TREE_HELD, first.id)
    talk = proposal(tx, second.id, tree="/other", native_id="conversation")
    assert isinstance(talk, Refusal)
    assert (talk.reason, talk.facts["run"]) == (RefusalReason.ALREADY_HELD, first.id)
    assert not isinstance(proposal(tx, second.id, tree="/other"), Refusal)


def test_a_closed_hold_is_in_nobodys_way(tx: Tx) -> None:
    run, id = held(tx, native_id="conversation")
    custody.fence(tx, id=id, reason="stopped")
    closed = custody.move(tx, id=id, expect=[CustodyState.FENCING], to=CustodyState.CLOSED)
    assert closed is not None
    assert closed.closed_at == NOON
    again = proposal(tx, run.id, native_id="conversation")
    assert not isinstance(again, Refusal)
    assert custody.of_run(tx, run.id) == again
    assert custody.not_closed(tx) == [again]


def test_a_conversation_learned_later_is_held_once_too(tx: Tx) -> None:
    first, one = held(tx, native_id="conversation")
    _, two = held(tx, tree="/other")
    refused = custody.set_native(tx, id=two, native_id="conversation")
    assert isinstance(refused, Refusal)
    assert refused.facts["run"] == first.id
    named = custody.set_native(tx, id=two, native_id="its own")
    assert not isinstance(named, Refusal)
    assert named.native_id == "its own"
    assert not isinstance(custody.set_native(tx, id=one, native_id="conversation"), Refusal)


def test_a_move_is_guarded_by_state_and_owner(tx: Tx) -> None:
    register(tx, OTHER)
    _, id = held(tx)
    expect = [CustodyState.OPEN]
    assert custody.move(tx, id=id, expect=expect, to=CustodyState.CONCLUDING, incarnation=OTHER) is None
    assert custody.move(tx, id=id, expect=[CustodyState.PROPOSED], to=CustodyState.OPEN) is None
    assert custody.move(tx, id=id, expect=expect, to=CustodyState.CONCLUDING, incarnation=INCARNATION) is not None
    with pytest.raises(ForbiddenMove):
        custody.move(tx, id=id, expect=[CustodyState.OPEN], to=CustodyState.CLOSED)
    with pytest.raises(ForbiddenMove, match="reason"):
        custody.move(tx, id=id, expect=[CustodyState.CONCLUDING], to=CustodyState.FENCING)


def test_seizing_is_compare_and_set_with_a_higher_epoch(tx: Tx) -> None:
    register(tx, OTHER)
    _, id = held(tx)
    seized = custody.seize(tx, id=id, expect_incarnation=INCARNATION, incarnation=OTHER)
    assert seized is not None
    assert (seized.incarnation, seized.epoch) == (OTHER, 2)
    assert custody.seize(tx, id=id, expect_incarnation=INCARNATION, incarnation=OTHER) is None


def test_a_fence_keeps_its_first_reason(tx: Tx) -> None:
    _, id = held(tx)
    fenced = custody.fence(tx, id=id, reason="stopped")
    assert fenced is not None
    assert (fenced.state, fenced.fence_reason) == (CustodyState.FENCING, "stopped")
    assert custody.fence(tx, id=id, reason="lapsed") == fenced
    custody.move(tx, id=id, expect=[CustodyState.FENCING], to=CustodyState.CLOSED)
    assert custody.fence(tx, id=id, reason="killed") is None
    found = custody.get(tx, id)
    assert found is not None
    assert found.fence_reason == "stopped"


def test_an_agent_is_not_stamped_on_a_hold_that_is_ending(tx: Tx) -> None:
    _, id = held(tx)
    stamped = custody.stamp(tx, id=id, boot_id="b", supervisor_pid=1, supervisor_ticks=2, keeper_pid=3, keeper_ticks=4)
    assert stamped is not None
    agent = custody.stamp_agent(tx, id=id, generation=2, agent_pid=7, agent_ticks=8)
    assert agent is not None
    assert (agent.keeper_pid, agent.generation, agent.agent_pid) == (3, 2, 7)
    custody.fence(tx, id=id, reason="stopped")
    assert custody.stamp_agent(tx, id=id, generation=3, agent_pid=9, agent_ticks=9) is None


def test_the_ingested_offset_goes_forward_only(tx: Tx) -> None:
    _, id = held(tx)
    custody.ingested(tx, id=id, offset=100, driver_state=b"s", driver_offset=80)
    found = custody.ingested(tx, id=id, offset=150)
    assert found is not None
    assert (found.ingested, found.driver_state, found.driver_offset) == (150, b"s", 80)
    assert custody.ingested(tx, id=id, offset=149) is None
