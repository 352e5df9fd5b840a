"""Which agents are signed in, as the outcomes in a ledger tell."""

from store import runs, signins, turns
from store.signins import SignIn
from store.tx import Tx
from store.vocab import EndReason, FailureKind, Millis, RunId, RunOutcome, TurnResultKind
from tests.store.scenes import NOON, admitted, in_memory, later, said


def turned_out(tx: Tx, agent: str, n: int, failure: FailureKind | None, *, end: EndReason | None = None) -> RunId:
    """A run of one turn, ``n`` seconds after noon."""
    at = later(tx, n * 1000)
    run = admitted(at, agent=agent, tree=f"/work/{n}").id
    turn = said(at, run, f"turn-{n}")
    kind = TurnResultKind.SUCCESS if failure is None else TurnResultKind.ERROR
    assert turns.settle(at, id=turn, result=kind, failure=failure) is not None
    if end is not None:
        runs.end(at, id=run, outcome=RunOutcome.FINISHED, reason=end)
    return run


def test_the_newest_outcome_that_tells_counts() -> None:
    with in_memory() as tx:
        assert signins.known(tx) == {}
        turned_out(tx, "claude", 1, FailureKind.AUTHENTICATION)
        turned_out(tx, "codex", 2, None)
        turned_out(tx, "gemini", 3, FailureKind.OVERLOADED)
        assert signins.known(tx) == {
            "claude": SignIn(signed_in=False, at=Millis(NOON + 1000)),
            "codex": SignIn(signed_in=True, at=Millis(NOON + 2000)),
        }, "an overloaded service says nothing about who is signed in"
        turned_out(tx, "claude", 4, None)
        turned_out(tx, "codex", 5, FailureKind.AUTHENTICATION)
        turned_out(tx, "gemini", 6, None, end=EndReason.IMPORTED)
        assert {name: told.signed_in for name, told in signins.known(tx).items()} == {"claude": True, "codex": False}


def test_a_start_that_was_refused_for_want_of_a_sign_in_counts_too() -> None:
    with in_memory() as tx:
        for n, failure in ((1, FailureKind.AUTHENTICATION), (2, FailureKind.MODEL_NOT_FOUND)):
            run = admitted(tx, agent=f"agent-{n}", tree=f"/work/{n}").id
            runs.end(tx, id=run, outcome=RunOutcome.FAILED, reason=f"{EndReason.SPAWN_FAILED}:{failure}")
        assert signins.known(tx) == {"agent-1": SignIn(signed_in=False, at=NOON)}


def test_what_is_long_past_tells_nothing() -> None:
    with in_memory() as tx:
        turned_out(tx, "claude", 1, FailureKind.AUTHENTICATION)
        for n in range(signins.NEWEST_RUNS):
            admitted(tx, agent="codex", tree=f"/work/later-{n}")
        assert signins.known(tx) == {}
