"""What ends how: the design's table, row by row, and that every end has exactly one verdict which the states allow."""

import pytest
from hypothesis import given, strategies as st
from msgspec.structs import replace

from app.wording import forbidden_in
from app.wording_queue import reason_sentence
from coordinator.constants import RETRY_MOST
from coordinator.tasks.backoff import wait_ms
from coordinator.tasks.tasktypes import TaskReason
from coordinator.tasks.verdict import AgentWaits, Agreed, Ended, Verdict, decide, parse, refused, stored
from store.moves import TASK
from store.refusal import Refusal
from store.vocab import EndReason, FailureKind, Millis, RefusalReason, RunOutcome, TaskState

_Q, _N, _S = TaskState.QUEUED, TaskState.NEEDS_OPERATOR, TaskState.STOPPED
_R = TaskReason
LEFT = Agreed(attempts_left=2)
LAST = Agreed(attempts_left=0)
RESET = Millis(1_790_000_000_000)


def ended(reason: str, outcome: RunOutcome = RunOutcome.INTERRUPTED, **more: object) -> Ended:
    return replace(Ended(outcome=outcome, reason=reason, agreed=LEFT), **more)  # type: ignore[arg-type]


def finished(**more: object) -> Ended:
    return ended("handoff", RunOutcome.FINISHED, **{"traced": True, **more})


def failed(reason: str, **more: object) -> Ended:
    return ended(reason, RunOutcome.FAILED, **more)


# How a run ended; what becomes of the task, whether the attempt is counted, and why.
TABLE: list[tuple[Ended, TaskState, bool, TaskReason | None]] = [
    # Interrupted by what the task has no part in: in line again, uncounted.
    (ended("shutdown", tool_ran=True, uncertain=True), _Q, False, None),
    (ended("storage", tool_ran=True), _Q, False, None),
    (ended("superseded"), _Q, False, None),
    (ended("console-lost"), _Q, False, None),
    (ended("supervisor-lost"), _Q, False, None),
    (ended("orphaned", question_open=True), _Q, False, None),
    (ended("shutdown", agreed=replace(LEFT, used_up="money")), _N, False, _R.SIGN_AGAIN),
    (ended("console-lost", agreed=replace(LEFT, used_up="time")), _N, False, _R.SIGN_AGAIN),
    # Lost at work.
    (ended("console-lost", tool_ran=True), _N, True, _R.CUT_OFF),
    (ended("supervisor-lost", tool_ran=True), _N, True, _R.CUT_OFF),
    (ended("orphaned", tool_ran=True), _N, True, _R.CUT_OFF),
    (ended("orphaned", uncertain=True), _N, True, _R.UNCERTAIN),
    (ended("console-lost", tool_ran=True, uncertain=True), _N, True, _R.UNCERTAIN),
    # The operator's own limits.
    (ended("lapsed"), _N, True, _R.LAPSED),
    (ended("expired"), _N, True, _R.EXPIRED),
    (ended("revoked"), _N, True, _R.REVOKED),
    (ended("budget-exhausted"), _N, True, _R.BUDGET),
    (ended("turn-timeout"), _N, True, _R.TURN_TIMEOUT),
    (ended("restored"), _N, True, _R.RESTORED),
    # Stopped, whatever else is so.
    (ended("stopped", question_open=True, failure=FailureKind.OVERLOADED), _S, False, _R.STOPPED),
    (ended("killed", tool_ran=True, uncertain=True), _S, False, _R.STOPPED),
    # Broke off: again by itself only where no tool ran.
    (failed("exited:1"), _Q, True, None),
    (failed("exited:SIGKILL", tool_ran=True), _N, True, _R.ENDED_EARLY),
    (failed("exited:1", agreed=LAST), _N, True, _R.ATTEMPTS),
    (failed("exited:1", agreed=replace(LEFT, used_up="money")), _N, True, _R.SIGN_AGAIN),
    (failed("exited:1", question_open=True), _Q, True, None),
    (failed("spawn-failed"), _Q, True, None),
    (failed("start-timeout"), _Q, True, None),
    (ended("write-failed"), _Q, True, None),
    (ended("protocol-error:unasked-turn", tool_ran=True), _N, True, _R.ENDED_EARLY),
    (failed("finished", failure=FailureKind.TRANSIENT), _Q, True, None),
    (failed("handoff", failure=FailureKind.OVERLOADED, tool_ran=True), _N, True, _R.ENDED_EARLY),
    # The agent's account: uncounted, and it is the agent that waits.
    (failed("finished", failure=FailureKind.RATE_LIMITED, tool_ran=True), _Q, False, None),
    (failed("exited:1", failure=FailureKind.AUTHENTICATION), _Q, False, None),
    (failed("spawn-failed:authentication"), _Q, False, None),
    (failed("finished", failure=FailureKind.BILLING), _Q, False, None),
    # Failed for good.
    (ended("telemetry", failure=FailureKind.RATE_LIMITED), TaskState.FAILED, True, _R.FAILED),
    (ended("output-flood"), TaskState.FAILED, True, _R.FAILED),
    (ended("malformed-decision", question_open=True), TaskState.FAILED, True, _R.FAILED),
    (failed("finished", failure=FailureKind.CONTEXT_FULL), TaskState.FAILED, True, _R.FAILED),
    (failed("exited:1", failure=FailureKind.MODEL_NOT_FOUND), TaskState.FAILED, True, _R.FAILED),
    (failed("finished"), TaskState.FAILED, True, _R.FAILED),
    (failed("something-of-a-newer-version"), TaskState.FAILED, True, _R.FAILED),
    # Finished.
    (finished(question_open=True, traced=False, check="pytest (exit 1)"), _N, True, _R.QUESTION),
    (finished(traced=False, check="pytest (exit 1)"), _Q, True, None),
    (finished(traced=False, agreed=LAST), _N, True, _R.NOTHING_RECORDED),
    (finished(check="pytest (exit 1)"), _N, True, _R.CHECKS),
    (finished(), TaskState.DONE, True, None),
    (replace(finished(), reason="finished"), TaskState.DONE, True, None),
]


@pytest.mark.parametrize(
    ("how", "to", "counted", "why"), TABLE, ids=[f"{how.reason} to {to} {why or ''}" for how, to, _, why in TABLE]
)
def test_the_table(how: Ended, to: TaskState, counted: bool, why: TaskReason | None) -> None:
    verdict = decide(how)
    assert (verdict.to, verdict.counted, verdict.reason) == (to, counted, why)


def test_what_the_agent_waits_for() -> None:
    limited = decide(failed("finished", failure=FailureKind.RATE_LIMITED, until=RESET))
    assert limited.agent == AgentWaits(failure=FailureKind.RATE_LIMITED, until=RESET)
    assert limited.wait_ms, "nor does it come round at once where that time has passed"
    # Nobody tells when a person signs in: a time that came along is not believed.
    signed_out = decide(failed("exited:1", failure=FailureKind.AUTHENTICATION, until=RESET))
    assert signed_out.agent == AgentWaits(failure=FailureKind.AUTHENTICATION, until=None)
    assert not signed_out.wait_ms, "once they have seen to it, it is begun"


def test_each_try_that_counts_waits_longer_and_never_beyond_the_longest() -> None:
    waits = [decide(failed("exited:1", agreed=Agreed(attempts_left=1, counted=n))).wait_ms for n in range(6)]
    assert waits == [30_000, 120_000, 480_000, 1_800_000, 1_800_000, 1_800_000]
    assert wait_ms(10**9) == RETRY_MOST * 1000 and wait_ms(-1) == 30_000


def _reasons() -> st.SearchStrategy[str]:
    plain = st.sampled_from([str(reason) for reason in (*EndReason, *RefusalReason)])
    behind = st.sampled_from(["", ":1", ":SIGKILL", *(f":{kind}" for kind in FailureKind)])
    return st.one_of(st.builds(lambda name, more: name + more, plain, behind), st.text(max_size=12))


ENDS = st.builds(
    Ended,
    outcome=st.sampled_from(RunOutcome),
    reason=_reasons(),
    agreed=st.builds(
        Agreed,
        attempts_left=st.integers(-1, 3),
        counted=st.integers(0, 50),
        used_up=st.sampled_from(["", "money", "time"]),
    ),
    failure=st.none() | st.sampled_from(FailureKind),
    until=st.none() | st.just(RESET),
    tool_ran=st.booleans(),
    uncertain=st.booleans(),
    question_open=st.booleans(),
    traced=st.booleans(),
    check=st.sampled_from(["", "pytest (exit 1)"]),
)


def _holds(verdict: Verdict) -> None:
    assert verdict.to in TASK[TaskState.WORKING], "a move that the states do not have"
    assert (verdict.reason is None) == (verdict.to in (TaskState.QUEUED, TaskState.DONE)), (
        "said exactly where it is due"
    )
    assert not verdict.wait_ms or verdict.to is TaskState.QUEUED
    assert verdict.agent is None or (not verdict.counted and verdict.to in (TaskState.QUEUED, TaskState.NEEDS_OPERATOR))
    assert parse(stored(verdict)) == verdict, "what is stored is what is carried out"
    if verdict.reason is not None:
        said = reason_sentence(verdict.reason, verdict.detail)
        assert said.endswith(".") and not forbidden_in(said), said


@given(ENDS)
def test_every_end_has_one_verdict_that_the_states_allow(how: Ended) -> None:
    verdict = decide(how)
    _holds(verdict)
    assert decide(how) == verdict
    if verdict.to is TaskState.DONE:
        clean = how.outcome is RunOutcome.FINISHED and how.traced and not (how.question_open or how.check)
        assert clean, "done is only what nothing speaks against"
    if verdict.to is TaskState.QUEUED and verdict.counted:
        assert how.agreed.attempts_left > 0 and not how.agreed.used_up, "nothing is left to begin it under"
        nothing_ran = not how.tool_ran or (how.outcome is RunOutcome.FINISHED and not how.traced)
        assert nothing_ran or how.outcome is RunOutcome.REFUSED


@given(st.sampled_from(RefusalReason), st.sampled_from([LEFT, LAST, replace(LEFT, used_up="money")]))
def test_every_refusal_has_one_verdict_and_costs_no_attempt_unless_a_start_was_tried(
    reason: RefusalReason, agreed: Agreed
) -> None:
    verdict = refused(Refusal(reason, {"path": "/x", "field": "agent", "was": "a", "is": "b"}), agreed)
    _holds(verdict)
    assert verdict.counted == (reason in (RefusalReason.SPAWN_FAILED, RefusalReason.START_TIMEOUT))
    as_run = decide(ended(str(reason), RunOutcome.REFUSED, agreed=agreed))
    assert (as_run.to, as_run.counted, as_run.agent) == (verdict.to, verdict.counted, verdict.agent)


def test_refusals_that_are_told_apart() -> None:
    def of(reason: RefusalReason, **facts: str) -> Verdict:
        return refused(Refusal(reason, facts), LEFT)

    assert of(RefusalReason.SESSION_CAP).to is TaskState.QUEUED
    assert of(RefusalReason.NEVER_STARTED).to is TaskState.QUEUED
    assert of(RefusalReason.STOPPED).to is TaskState.STOPPED
    moved = of(RefusalReason.TERMS_MOVED, field="driver", was="claude", **{"is": "acp"})
    assert (moved.reason, moved.detail) == (TaskReason.SIGN_AGAIN, {"field": "driver", "was": "claude", "is": "acp"})
    missing = of(RefusalReason.AGENT_NOT_FOUND, agent="claude")
    assert missing.agent == AgentWaits(failure=FailureKind.NOT_INSTALLED, until=None)
    no_commit = of(RefusalReason.NO_COMMIT, path="/src/x")
    assert no_commit.reason is TaskReason.REFUSED
    assert reason_sentence(TaskReason.REFUSED, no_commit.detail).startswith(
        "It could not be begun: /src/x has no commit"
    )
    assert of(RefusalReason.SPAWN_FAILED, failure="rate-limited").agent is not None
