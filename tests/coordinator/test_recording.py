"""Every *no* of the final proof, on a real ledger: in the design's order, with its facts, rolled back whole.

Each reason has a way here to make it true by itself. Two neighbours of the list are then made true at once, and the
first must be the one that is given.
"""

from collections.abc import Callable
from pathlib import Path

import pytest
from msgspec.structs import replace

from coordinator import settling, terms as terms_
from coordinator.recording import ADMISSION
from coordinator.terms import Terms, TreeKind
from store import (
    authorizations,
    custody,
    settings,
    stops,
    turns,
)
from store.db import Tx
from store.refusal import Refusal
from store.verify import verify
from store.vocab import (
    AuthorizationId,
    Billing,
    CustodyId,
    CustodyState,
    DecisionId,
    Millis,
    RefusalReason,
    RunId,
    TurnSource,
    TurnState,
)
from tests.coordinator.signed import (
    HERE,
    SIGNED,
    Break,
    R,
    Scene,
    broken,
    other_run,
    scene,
    sql,
)


def given(**changes: object) -> Break:
    def change(made: Scene) -> None:
        assert made.proof is not None
        made.proof = replace(made.proof, **changes)  # type: ignore[arg-type]

    return change


def actual(**changes: object) -> Break:
    def change(made: Scene) -> None:
        assert made.proof is not None
        made.proof = replace(made.proof, actual=replace(made.proof.actual, **changes))  # type: ignore[arg-type]

    return change


def full(made: Scene) -> Callable[[Tx], object]:
    assert made.proof is not None
    made.proof = replace(made.proof, max_held_sessions=1)
    return lambda tx: other_run(tx, 1)


def fenced_before(made: Scene) -> Callable[[Tx], object]:
    def fence(tx: Tx) -> None:
        custody.propose(
            tx, id=CustodyId("hold-0"), run=made.run, incarnation=HERE, tree="/t", in_place=False, nonce="m"
        )
        custody.fence(tx, id=CustodyId("hold-0"), reason="stopped")
        custody.move(tx, id=CustodyId("hold-0"), expect=[CustodyState.FENCING], to=CustodyState.CLOSED)

    return fence


UNBIND = "UPDATE authorizations SET state = 'open' WHERE id = 'terms-1'"
SPEND = "UPDATE authorizations SET run = 77 WHERE id = 'terms-1'"
PROOF: dict[RefusalReason, Break] = {
    R.STOPPED: lambda made: lambda tx: stops.ask(tx, run=made.run, reason="stopped", operator="Ada") and None,
    R.SHUTTING_DOWN: lambda made: lambda tx: settings.put(tx, f"{ADMISSION}.{HERE}", "shut") and None,
    R.SOCKET_PATH: given(socket_fits=False),
    R.AUTHORIZATION_CLOSED: lambda made: (
        lambda tx: authorizations.close(tx, id=AuthorizationId("terms-1"), reason="revoked") and None
    ),
    R.AUTHORIZATION_UNBOUND: sql(UNBIND),
    R.AUTHORIZATION_SPENT: sql(SPEND),
    R.TERMS_UNREADABLE: sql("UPDATE authorizations SET terms = '{\"instruction\":1}' WHERE id = 'terms-1'"),
    R.TERMS_MOVED: actual(head="another"),
    R.WRONG_RUNNER: actual(machine="another"),
    R.SESSION_CAP: full,
    R.ALREADY_HELD: lambda made: lambda tx: other_run(tx, 2, native="conversation-1"),
    R.TREE_HELD: lambda made: lambda tx: other_run(tx, 3, tree=SIGNED.repository, in_place=True),
    R.FENCED: fenced_before,
    R.EXPIRED: lambda made: setattr(made, "late", 3_700_000),
}
FACTS: dict[RefusalReason, dict[str, object]] = {
    R.AUTHORIZATION_CLOSED: {"reason": "revoked"},
    R.AUTHORIZATION_SPENT: {"run": 77},
    R.TERMS_MOVED: {"field": "head", "was": SIGNED.head, "is": "another"},
    R.WRONG_RUNNER: {"was": "m 1000", "is": "another 1000"},
    R.SESSION_CAP: {"held": 1, "limit": 1},
    R.ALREADY_HELD: {"run": 2, "native_id": "conversation-1"},
    R.TREE_HELD: {"run": 2, "tree": SIGNED.repository},
    R.FENCED: {"custody": "hold-0", "reason": "stopped"},
    R.EXPIRED: {"at": SIGNED.expires_at},
}


@pytest.mark.parametrize("reason", list(PROOF))
async def test_the_final_proof_refuses_with_facts_and_leaves_nothing(tmp_path: Path, reason: RefusalReason) -> None:
    made = await scene(tmp_path)
    try:
        await broken(made, PROOF, reason)
        before = await made.facts()
        refused = await made.prove()
        assert isinstance(refused, Refusal) and refused.reason is reason, refused
        assert {**refused.facts, **FACTS.get(reason, {})} == dict(refused.facts)
        assert await made.facts() == before, "a refused proof leaves neither custody nor turn nor entry"
    finally:
        await made.ledger.close()


PAIRS = list(zip(list(PROOF), list(PROOF)[1:], strict=False))


@pytest.mark.parametrize(("first", "second"), PAIRS)
async def test_the_final_proof_looks_in_the_designs_order(
    tmp_path: Path, first: RefusalReason, second: RefusalReason
) -> None:
    made = await scene(tmp_path)
    try:
        await broken(made, PROOF, first, second)
        refused = await made.prove()
        assert isinstance(refused, Refusal) and refused.reason is first, refused
    finally:
        await made.ledger.close()


CHANGED: dict[str, object] = {
    "instruction": "burn the roof",
    "preamble": False,
    "agent": "other",
    "driver": "codex",
    "program": "/tmp/claude",
    "agent_version": "0.0.1",
    "billing": Billing.SUBSCRIPTION,
    "repository": "/srv/other",
    "head": "f00",
    "branch": "side",
    "tree_kind": TreeKind.WORKTREE,
    "model": "large",
    "mode": "bypass",
    "budget": None,
    "max_turns": 6,
    "working_seconds": 5,
    "expires_at": Millis(SIGNED.expires_at + 1),
    "attendance_seconds": 9,
    "machine": "other",
    "uid": 0,
    "at_budget": "fence",
    "rules": ("Bash",),
    "setup": "make deps",
    "checks": ("make test",),
    "check_seconds": 60,
    "base": "b05",
    "script": "loop",
    "prompt": "> ",
    "quit": "exit",
    "continues": RunId(7),
    "conversation": "another one",
    "tree": "/srv/trees/other",
    "carried": "You have done nothing yet.",
    "answers": (DecisionId(4),),
    "unsent": 2,
}


def test_every_field_of_the_terms_is_tried() -> None:
    assert set(CHANGED) == set(Terms.__struct_fields__)


@pytest.mark.parametrize("name", list(CHANGED))
async def test_any_field_that_moved_is_named_with_what_was_and_what_is(tmp_path: Path, name: str) -> None:
    made = await scene(tmp_path)
    try:
        await broken(made, {R.TERMS_MOVED: actual(**{name: CHANGED[name]})}, R.TERMS_MOVED)
        refused = await made.prove()
        assert isinstance(refused, Refusal)
        if name in ("machine", "uid"):
            assert refused.reason is R.WRONG_RUNNER and refused.facts["was"] != refused.facts["is"]
        else:
            was, now = str(getattr(SIGNED, name)), str(CHANGED[name])
            assert refused == Refusal(R.TERMS_MOVED, {"field": name, "was": was, "is": now})
    finally:
        await made.ledger.close()


@pytest.mark.parametrize(
    "stored",
    ["", "[]", "null", "{}", '{"surprise": 1}', terms_.canonical(SIGNED)[:-1], terms_.canonical(SIGNED) + " "],
)
async def test_terms_that_were_touched_since_are_unreadable(tmp_path: Path, stored: str) -> None:
    made = await scene(tmp_path)
    try:
        await made.do(sql("UPDATE authorizations SET terms = :terms WHERE id = 'terms-1'", terms=stored)(made))
        refused = await made.prove()
        assert isinstance(refused, Refusal) and refused.reason is R.TERMS_UNREADABLE, refused
        assert refused.facts["problem"]
    finally:
        await made.ledger.close()


async def test_a_stop_is_a_refusal_for_a_run_that_is_over_or_never_was(tmp_path: Path) -> None:
    made = await scene(tmp_path)
    try:
        await made.do(lambda tx: settling.refuse_run(tx, made.run, Refusal(R.GIT_FAILED), "x") and None)
        for run in (made.run, RunId(99)):
            await broken(made, {R.STOPPED: given(run=run)}, R.STOPPED)
            refused = await made.prove()
            assert isinstance(refused, Refusal) and refused.reason is R.STOPPED
        row = await made.ledger.read(lambda tx: authorizations.get(tx, AuthorizationId("terms-1")))
        assert row is not None and row.close_reason == "refused:git-failed"
        again = await made.ledger.transaction(lambda tx: settling.refuse_run(tx, made.run, Refusal(R.STOPPED), ""))
        assert isinstance(again, Refusal) and again.reason is R.ALREADY_ENDED, "a run ends once"
    finally:
        await made.ledger.close()


async def test_what_is_proven_stands_whole(tmp_path: Path) -> None:
    made = await scene(tmp_path)
    try:
        proven = await made.prove()
        assert isinstance(proven, custody.Custody) and proven.state is CustodyState.PROPOSED
        brief = await made.ledger.read(lambda tx: turns.of_run(tx, made.run))
        assert [(one.n, one.source, one.state) for one in brief] == [(1, TurnSource.BRIEF, TurnState.RECORDED)]
        assert await made.ledger.read(verify) is None
        again = await made.prove()
        assert isinstance(again, Refusal) and again.reason is R.ALREADY_HELD, "an authorization starts one run"
    finally:
        await made.ledger.close()
