"""The queue, in sentences: why a task waits, why it needs the operator or is over, each with what to do. Pure; reached
by the console and the command line alike.

Templates as in ``wording_templates``. Every *no* about a task is in ``wording_taskrefusals``; what is agreed to, and
the rows of a list, are in ``wording_tasks``.
"""

from collections.abc import Mapping
from typing import Final

from app.wording_endings import end_reason
from app.wording_failures import failure, failure_in_short
from app.wording_measures import clock, moment
from app.wording_refusals import sentence
from app.wording_templates import filled
from coordinator.tasks.tasktypes import AgentWait, TaskReason, Waits
from store.refusal import Fact, Refusal
from store.vocab import FailureKind, RefusalReason

_T, _W = TaskReason, Waits

_WAITS: Final[dict[Waits, str]] = {
    _W.HELD: "You keep it back; let it go when it may begin.",
    _W.NEED_FAILED: (
        "It waits for {task:task|a task} that failed or was stopped; try that one again, or let this one go without it."
    ),
    _W.NEED: "It waits until {task:task|another task} is done[, and {more} more].",
    _W.RESERVED: "It waits for {task:task|a task} at work[ ({run:run})] that has {path|the same files} to itself.",
    _W.SIGNING: "Nobody has agreed to its terms yet; look at them, and start it under them.",
    _W.EDITED: "It was changed after you agreed to its terms; look at what is different, and agree again.",
    _W.SPENT: "What you agreed to is used up[: its {what}]; look at new terms for it, and agree to those.",
    _W.AGENT: (
        "{agent|Its agent} cannot be used just now[: {why}][, until {until}]; "
        "when you have seen to it, say so (footplate queue release --agent {agent|AGENT})."
    ),
    _W.LATER: "It is tried again[ at {at}]; its last attempt came to nothing.",
    _W.REPOSITORY: "{path|Its repository} is not there; put it back, or take the task out of the line.",
    _W.ENDING: "Something of its last attempt is still being ended[ ({run:run})]; it begins after that.",
    _W.QUEUE_HELD: "The whole line is kept back[, {why}]; let it go when work may begin.",
    _W.AWAY: "Nothing is begun while you are away; any key in the console says that you are back.",
    _W.SLOT: (
        "As many runs are held as you allow[ ({held} of {limit})]; it begins when one of them ends, or with a higher "
        "max_held_sessions."
    ),
    _W.CONSOLE: "No console is open that would begin it; open one with footplate.",
    _W.NEXT: "It begins next.",
}

_REASONS: Final[dict[TaskReason, str]] = {
    _T.SIGN_AGAIN: (
        "It needs new terms[: what you agreed to is used up, its {what}]"
        "[: the {field:field} was {was|empty} and is {is|empty}]; look at them, and agree to those."
    ),
    _T.QUESTION: "It stopped to ask you[ (question {decision})]; answer, and it goes on.",
    _T.CUT_OFF: (
        "It was cut off while the agent worked, so what it did may be half done; look at what changed, then try it "
        "again or take it as done."
    ),
    _T.UNCERTAIN: (
        "Its outcome is unknown: the agent was cut off in the middle of a turn; look at what changed, then try it "
        "again or take it as done."
    ),
    _T.LAPSED: "It was ended because you were away too long; try it again when you are there.",
    _T.EXPIRED: "Its end time passed before the work was done; try it again under new terms, or take it as done.",
    _T.REVOKED: "You took its terms back; try it again under new terms, or take it out of the line.",
    _T.BUDGET: ("Its budget is used up before the work was done; agree to new terms with more, or take it as done."),
    _T.TURN_TIMEOUT: "A turn took longer than you allow; try it again, or raise turn_timeout_minutes.",
    _T.RESTORED: "The ledger was put back from a copy while it worked; look at what changed, then try it again.",
    _T.ENDED_EARLY: (
        "Its agent ended before the work was done[: {failure:failure}]; look at what changed, then try it again or "
        "take it as done."
    ),
    _T.CHECKS: (
        "Its agent says it is finished, but {what|a check failed}; look at what the check printed, then try it again "
        "or take it as done."
    ),
    _T.NOTHING_RECORDED: (
        "Its last attempt said something at most, and left nothing: no tool, no file, no note; read what it said, then "
        "take it as done or say more clearly what is to be done, and try it again."
    ),
    _T.ATTEMPTS: (
        "Each attempt that you agreed to ended before the work was done[: {failure:failure}]; see to what is wrong, "
        "then agree to new terms."
    ),
    _T.REFUSED: "It could not be begun: {refusal}",
    _T.FAILED: "It failed: {end}",
    _T.STOPPED: "You stopped it; try it again if you still want it.",
    _T.GIVEN_UP: "You took it out of the line; try it again if you still want it.",
}
_KEPT_BACK: Final = {
    "operator": "as you said",
    "stop-all": "since you stopped everything",
    "restored": "because the ledger was put back from a copy",
}
"""Why the whole line is kept back, a ``KeptBack``, as it goes on from there."""


def waits_sentence(waits: Waits, facts: Mapping[str, Fact], now: int | None = None) -> str:
    """Why a task in line is not begun, and what would let it begin. ``now``: Unix milliseconds; where it is given, a
    time on another day is told with its day."""
    told: dict[str, Fact] = {**facts, "why": _why(waits, facts)}
    for name in ("at", "until"):
        at = facts.get(name)
        if isinstance(at, int):
            told[name] = clock(at) if now is None else moment(at, now)
    return filled(_WAITS[waits], told)


def reason_sentence(reason: TaskReason, detail: Mapping[str, Fact]) -> str:
    """Why a task needs the operator, failed or was stopped, and what to do."""
    told = dict(detail)
    match reason:
        case TaskReason.REFUSED:
            told["refusal"] = _refusal(detail)
        case TaskReason.CHECKS:
            told["what"] = f"the check {check}" if (check := detail.get("check")) else None
        case TaskReason.FAILED:
            told["end"] = f"{_end(detail)}."
        case TaskReason.ENDED_EARLY | TaskReason.ATTEMPTS | TaskReason.NOTHING_RECORDED:
            told["failure"] = _kind(detail.get("failure"))
        case _:
            pass
    return filled(_REASONS[reason], told)


def line_held_words(why: str) -> str:
    """Why the whole line is kept back. ``why``: a ``KeptBack``."""
    return filled(
        "The whole line is kept back[, {why}]; nothing is begun until you let it go.", {"why": kept_back_words(why)}
    )


def agent_wait_words(wait: AgentWait, now: int) -> str:
    """Why no task of an agent is begun, and until when."""
    until = moment(wait.until, now) if wait.until is not None else None
    end = "." if until else "; see to it, then let them go."
    facts: dict[str, Fact] = {"agent": wait.agent, "why": _short(wait.reason), "until": until}
    return filled("Tasks of {agent} wait[: {why}][, until {until}]" + end, facts)


def kept_back_words(why: str) -> str:
    """Why the whole line is kept back, after *kept back*: ``as you said``; '' for what is not known here."""
    return _KEPT_BACK.get(why, "")


def _why(waits: Waits, facts: Mapping[str, Fact]) -> str:
    why = str(facts.get("why") or "")
    return kept_back_words(why) if waits is Waits.QUEUE_HELD else _short(why)


def _short(kind: str) -> str:
    if kind == RefusalReason.POOL_EXHAUSTED:
        return "the budget of the day or the month has too little left"
    return failure_in_short(FailureKind(kind)) if _kind(kind) else ""


def _kind(value: Fact) -> str:
    return str(value) if value in frozenset(FailureKind) else ""


def _end(detail: Mapping[str, Fact]) -> str:
    kind = _kind(detail.get("failure"))
    if kind:
        return failure(FailureKind(kind))
    return end_reason(str(detail["reason"])) if detail.get("reason") else "look at its last words, then try it again"


def _refusal(detail: Mapping[str, Fact]) -> str:
    name = str(detail.get("reason") or "")
    if name not in frozenset(RefusalReason):
        return "look at its last run, then try it again."
    facts = {key: value for key, value in detail.items() if key != "reason"}
    return sentence(Refusal(RefusalReason(name), facts))
