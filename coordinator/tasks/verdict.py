"""What becomes of a task when its run ended or was refused: the design's table *What ends how*, row by row. Pure.

The order of ``decide`` is that of the table: interruption, stop, failure, open question, nothing recorded, done. It is
decided once, from facts that were all there, and stored before it is carried out (``stored``, ``parse``); nothing here
looks at a ledger or at a tree.
"""

from collections.abc import Mapping
from typing import Final

import msgspec
from msgspec import Struct, field

from coordinator.tasks.backoff import wait_ms
from coordinator.tasks.tasktypes import TaskReason
from store.canonical import dumps
from store.refusal import Fact, Refusal
from store.vocab import EndReason, FailureKind, Millis, RefusalReason, RunOutcome, TaskState

_E, _F, _R, _T = EndReason, FailureKind, RefusalReason, TaskReason

_GIVEN_BACK: Final = frozenset({_E.SHUTDOWN, _E.STORAGE, _E.SUPERSEDED})
"""Nothing of the task's own was at fault, and what was done is known."""
_LOST: Final = frozenset({_E.CONSOLE_LOST, _E.SUPERVISOR_LOST, _E.ORPHANED})
_MAY_RECUR: Final = frozenset({_E.STORAGE, _E.SUPERVISOR_LOST})
_OPERATORS: Final[dict[str, TaskReason]] = {
    _E.LAPSED: _T.LAPSED,
    _E.EXPIRED: _T.EXPIRED,
    _E.REVOKED: _T.REVOKED,
    _E.BUDGET_EXHAUSTED: _T.BUDGET,
    _E.TURN_TIMEOUT: _T.TURN_TIMEOUT,
    _E.RESTORED: _T.RESTORED,
}
_STOPPED: Final = frozenset({_E.STOPPED, _E.KILLED})
_BROKE_OFF: Final = frozenset({_E.EXITED, _E.SPAWN_FAILED, _E.START_TIMEOUT, _E.WRITE_FAILED, _E.PROTOCOL_ERROR})
_FINISHED: Final = frozenset({_E.FINISHED, _E.AT_REST, _E.HANDOFF})
_PASSING: Final = frozenset({_F.TRANSIENT, _F.OVERLOADED})
"""Failures that another try may not meet."""
_OF_AGENT: Final = frozenset({_F.RATE_LIMITED, _F.AUTHENTICATION, _F.BILLING})
"""Failures of the agent's account: no task of this agent would fare better."""

_LATER: Final = frozenset(
    {
        _R.SHUTTING_DOWN,
        _R.SESSION_CAP,
        _R.POOL_EXHAUSTED,
        _R.PAUSED,
        _R.SUPERSEDED,
        _R.ALREADY_HELD,
        _R.TREE_HELD,
        _R.STILL_HELD,
        _R.FENCING,
        _R.NEVER_STARTED,
        _R.NOT_A_REPOSITORY,
        _R.LEDGER_BUSY,
        _R.STORAGE,
    }
)
"""Refusals that are over by themselves, or with something that says so in the list: the task goes back in line."""
_AT_ONCE: Final = frozenset({_R.SHUTTING_DOWN, _R.SESSION_CAP, _R.NEVER_STARTED})
"""Those of them that are over with what is looked for before anything is claimed, or with the console that met them."""
_AGAIN: Final = frozenset(
    {
        _R.AUTHORIZATION_CLOSED,
        _R.AUTHORIZATION_UNBOUND,
        _R.AUTHORIZATION_SPENT,
        _R.TERMS_UNREADABLE,
        _R.TERMS_MOVED,
        _R.WRONG_RUNNER,
        _R.EXPIRED,
        _R.SERIES_SPENT,
    }
)
"""What would run is not what was agreed to, or nothing of that is left."""
_OF_THE_MOMENT: Final = frozenset({"head", "branch", "program", "agent_version", "tree", "base"})
"""Fields that were found for one attempt and that nobody agreed to for all of them: they moved while it was begun."""
_AGENT_AMISS: Final[dict[RefusalReason, FailureKind]] = {
    _R.AGENT_NOT_FOUND: _F.NOT_INSTALLED,
    _R.AGENT_VERSION: _F.NOT_INSTALLED,
    _R.UNKNOWN_AGENT: _F.NOT_INSTALLED,
    _R.AGENT_SIGNED_OUT: _F.AUTHENTICATION,
    _R.ACCOUNT_SHARED: _F.AUTHENTICATION,
}
_NOT_UP: Final[dict[RefusalReason, EndReason]] = {
    _R.SPAWN_FAILED: _E.SPAWN_FAILED,
    _R.START_TIMEOUT: _E.START_TIMEOUT,
}


class Agreed(Struct, frozen=True, kw_only=True):
    """What is left of the agreement, as it is when the verdict is made."""

    attempts_left: int
    """Attempts that may still be begun, the one that just ended counted as used up."""
    counted: int = 0
    """Attempts that counted since the task was put in line, this one not among them."""
    used_up: str = ""
    """What of it is used up whatever is counted: ``money``, ``time``; '' for nothing."""


class Ended(Struct, frozen=True, kw_only=True):
    """A run that was an attempt and has its outcome."""

    outcome: RunOutcome
    reason: str
    """An ``EndReason``, perhaps with what it was behind a colon; of a refused run a ``RefusalReason``."""
    agreed: Agreed
    failure: FailureKind | None = None
    """Of the last turn, or of the agent's start, where that went wrong."""
    until: Millis | None = None
    """When the agent can be used again, where it told."""
    tool_ran: bool = False
    uncertain: bool = False
    """The outcome of a turn is not known."""
    question_open: bool = False
    traced: bool = False
    """A tool call, a changed file, a decision or a handoff since this attempt's spawn."""
    check: str = ""
    """The first check that says that the work is not finished, as it is told to a person; '' for none."""
    refusal: Mapping[str, Fact] = field(default_factory=dict)
    """The facts of a refused run."""


class AgentWaits(Struct, frozen=True, kw_only=True):
    """No task of this agent is begun for a while."""

    failure: FailureKind
    until: Millis | None
    """None: until the operator says so."""


class Verdict(Struct, frozen=True, kw_only=True):
    """What becomes of the task."""

    to: TaskState
    counted: bool = False
    """Whether the attempt is one of those agreed to."""
    wait_ms: int = 0
    """Of one in line again: how long before it is begun."""
    reason: TaskReason | None = None
    detail: Mapping[str, Fact] = field(default_factory=dict)
    agent: AgentWaits | None = None


def decide(ended: Ended) -> Verdict:
    """What becomes of the task whose run this was. Total: every run has exactly one verdict."""
    if ended.outcome is RunOutcome.REFUSED:
        return _refused_run(ended)
    reason = ended.reason.partition(":")[0]
    # What no console's own end did may come again at once, and none of it is counted.
    wait = wait_ms(0) if reason in _MAY_RECUR else 0
    if reason in _GIVEN_BACK:
        return _in_line(ended.agreed, wait=wait)
    if reason in _LOST:
        if ended.uncertain:
            return Verdict(to=TaskState.NEEDS_OPERATOR, counted=True, reason=_T.UNCERTAIN, detail=_told(ended))
        if ended.tool_ran:
            return Verdict(to=TaskState.NEEDS_OPERATOR, counted=True, reason=_T.CUT_OFF, detail=_told(ended))
        return _in_line(ended.agreed, wait=wait)
    if reason in _OPERATORS:
        return Verdict(to=TaskState.NEEDS_OPERATOR, counted=True, reason=_OPERATORS[reason], detail=_told(ended))
    if reason in _STOPPED:
        return Verdict(to=TaskState.STOPPED, reason=_T.STOPPED)
    if ended.outcome is not RunOutcome.FINISHED or reason not in _FINISHED:
        return _failed(ended, reason)
    if ended.question_open:
        return Verdict(to=TaskState.NEEDS_OPERATOR, counted=True, reason=_T.QUESTION)
    if not ended.traced:
        return _again(ended, last=_T.NOTHING_RECORDED)
    if ended.check:
        return Verdict(to=TaskState.NEEDS_OPERATOR, counted=True, reason=_T.CHECKS, detail={"check": ended.check})
    return Verdict(to=TaskState.DONE, counted=True)


def refused(refusal: Refusal, agreed: Agreed) -> Verdict:
    """What becomes of a task whose attempt could not be begun: at its proposal, its admission or its final proof.

    No agent worked, so no attempt is counted, but where its start was tried and failed.
    """
    reason, facts = refusal.reason, refusal.facts
    if reason in _LATER:
        # At once would be met by the same refusal; the wait does not grow, for nothing of the task's own is at fault.
        return _in_line(agreed, wait=0 if reason in _AT_ONCE else wait_ms(0))
    if reason is _R.STOPPED:
        return Verdict(to=TaskState.STOPPED, reason=_T.STOPPED)
    if reason is _R.TERMS_MOVED and facts.get("field") in _OF_THE_MOMENT:
        return _in_line(agreed, wait=wait_ms(0))
    if reason in _AGAIN:
        told = {name: facts[name] for name in ("field", "was", "is", "what") if name in facts}
        return Verdict(to=TaskState.NEEDS_OPERATOR, reason=_T.SIGN_AGAIN, detail=told)
    if reason is _R.BUDGET_EXHAUSTED:
        return Verdict(to=TaskState.NEEDS_OPERATOR, reason=_T.BUDGET)
    if reason in _AGENT_AMISS:
        return _in_line(agreed, agent=AgentWaits(failure=_AGENT_AMISS[reason], until=None))
    if reason in _NOT_UP:
        told_kind = facts.get("failure")
        failure = _F(str(told_kind)) if told_kind in frozenset(_F) else None
        return _failed(
            Ended(outcome=RunOutcome.FAILED, reason=_NOT_UP[reason], failure=failure, agreed=agreed), _NOT_UP[reason]
        )
    return Verdict(to=TaskState.NEEDS_OPERATOR, reason=_T.REFUSED, detail={**facts, "reason": str(reason)})


def _refused_run(ended: Ended) -> Verdict:
    name = ended.reason.removeprefix("refused:")
    if name in frozenset(_R):
        return refused(Refusal(_R(name), ended.refusal), ended.agreed)
    return Verdict(to=TaskState.NEEDS_OPERATOR, reason=_T.REFUSED, detail={**ended.refusal, "reason": name})


def _failed(ended: Ended, reason: str) -> Verdict:
    """The agent's own account of what went wrong says more than how its process ended; but not where Footplate ended it
    for what it did."""
    asked = reason in _BROKE_OFF or reason in _FINISHED
    failure = (ended.failure or _kind_of(ended.reason)) if asked else None
    if failure in _OF_AGENT:
        assert failure is not None
        until = ended.until if failure is _F.RATE_LIMITED else None
        # A time that has passed already holds nothing back, and nothing that is not counted may go round at once; the
        # operator's word is waited for in any case.
        wait = 0 if until is None else wait_ms(0)
        return _in_line(ended.agreed, wait=wait, agent=AgentWaits(failure=failure, until=until))
    if failure is _F.BUDGET:
        # The agent's own cap is what is left of the budget: the same end, told by the other side.
        return Verdict(to=TaskState.NEEDS_OPERATOR, counted=True, reason=_T.BUDGET)
    if failure in _PASSING or (reason in _BROKE_OFF and failure in (None, _F.UNKNOWN)):
        if ended.tool_ran:
            return Verdict(to=TaskState.NEEDS_OPERATOR, counted=True, reason=_T.ENDED_EARLY, detail=_told(ended))
        return _again(ended, last=_T.ATTEMPTS)
    return Verdict(to=TaskState.FAILED, counted=True, reason=_T.FAILED, detail=_told(ended))


def _kind_of(reason: str) -> FailureKind | None:
    """``spawn-failed:authentication`` says what was wrong; ``exited:1`` does not."""
    kind = reason.partition(":")[2]
    return _F(kind) if kind in frozenset(_F) else None


def _again(ended: Ended, *, last: TaskReason) -> Verdict:
    """Tried again by itself, counted, after a wait that grows; the operator's where no attempt is left."""
    agreed = ended.agreed
    if agreed.attempts_left <= 0:
        return Verdict(to=TaskState.NEEDS_OPERATOR, counted=True, reason=last, detail=_told(ended))
    if agreed.used_up:
        return _sign_again(agreed, counted=True)
    return Verdict(to=TaskState.QUEUED, counted=True, wait_ms=wait_ms(agreed.counted))


def _in_line(agreed: Agreed, *, wait: int = 0, agent: AgentWaits | None = None) -> Verdict:
    """In line again, uncounted; the operator's where nothing of the agreement is left to begin it with."""
    if agreed.used_up:
        return _sign_again(agreed, counted=False, agent=agent)
    return Verdict(to=TaskState.QUEUED, wait_ms=wait, agent=agent)


def _sign_again(agreed: Agreed, *, counted: bool, agent: AgentWaits | None = None) -> Verdict:
    detail: dict[str, Fact] = {"what": agreed.used_up}
    return Verdict(to=TaskState.NEEDS_OPERATOR, counted=counted, reason=_T.SIGN_AGAIN, detail=detail, agent=agent)


def _told(ended: Ended) -> dict[str, Fact]:
    told: dict[str, Fact] = {"reason": ended.reason}
    if ended.failure is not None:
        told["failure"] = str(ended.failure)
    return told


# ------------------------------------------------------------------------------------------------------ as it is stored


def stored(verdict: Verdict) -> str:
    """As the outcome keeps it from before it is carried out."""
    return dumps(msgspec.to_builtins(verdict))


def parse(text: str) -> Verdict:
    """
    Raises:
        ValueError: this is no verdict (``msgspec.ValidationError`` is one).
    """
    return msgspec.json.decode(text.encode(), type=Verdict)
