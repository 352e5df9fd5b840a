"""What is said to a person about states and terms; the same words in the console, in ``--plain`` and in ``ls``.

Pure, and without Textual: a screen decides where a word stands, never which word it is. Money and time are in
``wording_measures``, the sentences for a *no* in ``wording_refusals``, those for an ending in ``wording_endings``,
those for what goes wrong in an agent in ``wording_failures``, agents themselves in ``wording_agents``; all are reached
from here.
"""

import re

from app.wording_agents import (
    agent_title as agent_title,
    cost_words as cost_words,
    mode_words as mode_words,
    remarks as remarks,
    signed_in_words as signed_in_words,
    warnings as warnings,
    why_not as why_not,
)
from app.wording_continuing import (
    continued_words as continued_words,
    moved_word as moved_word,
    moved_words as moved_words,
)
from app.wording_endings import (
    end_reason as end_reason,
    how_ended as how_ended,
    outcome as outcome,
    receipt_lines as receipt_lines,
    stop_step as stop_step,
    where_it_stood as where_it_stood,
)
from app.wording_failures import failure as failure, failure_in_short as failure_in_short, sign_in as sign_in
from app.wording_images import attached as attached, image_problem as image_problem, size_of as size_of
from app.wording_measures import (
    age as age,
    clock as clock,
    clock_seconds as clock_seconds,
    coarse_age as coarse_age,
    memory as memory,
    moment as moment,
    money as money,
    money_so_far as money_so_far,
    noun as noun,
    plural as plural,
    seconds as seconds,
    short_command as short_command,
    short_commit as short_commit,
    short_path as short_path,
    work_time as work_time,
)
from app.wording_refusals import sentence as sentence, trouble_words as trouble_words
from app.wording_rules import (
    but_for_rules as but_for_rules,
    by_rule as by_rule,
    rule_words as rule_words,
    rules_leave_open as rules_leave_open,
    rules_proposed as rules_proposed,
    rules_used as rules_used,
)
from coordinator.api import DecisionView, Group, TurnView
from coordinator.terms import Terms, TreeKind
from store.vocab import (
    AttentionKind,
    Billing,
    CostKnowledge,
    CustodyState,
    DecisionKind,
    DecisionState,
    Millis,
    TurnResultKind,
    TurnSource,
    TurnState,
)

_IN_CODE_ONLY = """
authorization authorizations authorized unauthorized custody supervisor fence fenced fences fencing attendance
lapse lapsed park parked mailbox handoff delivered undelivered withdrawn uncertain recorded written accepted settled
settles settlement page paged receipt receipts sweep swept re-adopt re-adopted orphan orphaned telemetry marginal
cumulative rehearsal evidence disposition stalled signed lease nonce cookie spool incarnation claim claimed
"""
FORBIDDEN_WORDS: frozenset[str] = frozenset(_IN_CODE_ONLY.split()) | {"held session", "held sessions", "repair turn"}
"""The left column of the table of words: said in code, in ``--json``, in details and in doctor, never to a person."""

_ALLOWED_PHRASES = ("not delivered", "signed in", "signed out", "footplate sweep", "\n  sweep  ")
"""What a person knows by another meaning, and the name of a command."""
_LONGEST_FIRST = sorted(map(re.escape, FORBIDDEN_WORDS), key=len, reverse=True)
_FORBIDDEN = re.compile(r"(?<![\w-])(?:" + "|".join(_LONGEST_FIRST) + r")(?![\w-])", re.IGNORECASE)


def forbidden_in(text: str) -> list[str]:
    """The words of ``text`` that belong in the code only; for the tests over every screen and sentence."""
    for phrase in _ALLOWED_PHRASES:
        text = re.sub(re.escape(phrase), "", text, flags=re.I)
    return [found.group(0) for found in _FORBIDDEN.finditer(text)]


def turn_money(turn: TurnView) -> str:
    """The cost of one turn, as it is known."""
    match turn.cost_known:
        case CostKnowledge.MERGED:
            return "·"
        case CostKnowledge.GUESS:
            return money(turn.cost, guess=True)
        case CostKnowledge.REPORTED:
            return money(turn.cost)
        case _:
            return money(None)


# --------------------------------------------------------------------------------------------------- states, in words

_TURN_STATES = {
    TurnState.RECORDED: "saved",
    TurnState.WRITTEN: "sent",
    TurnState.ACCEPTED: "working",
    TurnState.SETTLED: "done",
    TurnState.CANCELLED: "not sent",
    TurnState.UNCERTAIN: "outcome unknown: the agent was cut off",
}

_TURN_SOURCES = {
    TurnSource.BRIEF: "brief",
    TurnSource.OPERATOR: "",
    TurnSource.ANSWER: "answer",
    TurnSource.REPAIR: "asked it to write its question again",
    TurnSource.AGENT: "by itself (background task ended)",
}

_TURN_RESULTS = {
    TurnResultKind.SUCCESS: "done",
    TurnResultKind.ERROR: "ended with an error",
    TurnResultKind.INTERRUPTED: "interrupted",
}

_DECISION_KINDS = {
    DecisionKind.PERMISSION: "permission",
    DecisionKind.QUESTION: "question",
    DecisionKind.PLAN: "plan",
    DecisionKind.PARK: "stopped to ask you",
}

_CUSTODY = {
    CustodyState.PROPOSED: "starting",
    CustodyState.OPEN: "held",
    CustodyState.RESTARTING: "starting the agent again",
    CustodyState.CONCLUDING: "finishing",
    CustodyState.FENCING: "ending",
    CustodyState.CLOSED: "ended",
}

_ATTENTION = {
    AttentionKind.DECISION: "asks you",
    AttentionKind.STALLED: "silent",
    AttentionKind.BUDGET: "at its budget",
    AttentionKind.ENDS_SOON: "ends soon",
    AttentionKind.CRASHED: "the agent broke off",
    AttentionKind.PAGE: "needs a person",
    AttentionKind.TASK: "task",
}


def turn_state(state: TurnState) -> str:
    return _TURN_STATES[state]


def turn_source(view: TurnView) -> str:
    """Why there is this turn: ``brief``, ``answer`` …; '' for one that the operator simply said."""
    return _TURN_SOURCES[view.source]


def turn_line(view: TurnView) -> str:
    """How one turn stands, in a word or two: its state, or how it ended."""
    if view.state is TurnState.SETTLED and view.result is not None:
        return _TURN_RESULTS[view.result]
    return _TURN_STATES[view.state]


def decision_kind(kind: DecisionKind) -> str:
    return _DECISION_KINDS[kind]


def decision_state(view: DecisionView) -> str:
    """How one decision stands, with who answered and when."""
    match view.state:
        case DecisionState.OPEN:
            return "waits for you"
        case DecisionState.ANSWERED | DecisionState.DELIVERING:
            return f"{answered(view)}, on its way"
        case DecisionState.DELIVERED:
            return f"answer received {clock(view.delivered_at)}" if view.delivered_at is not None else "answer received"
        case DecisionState.UNCERTAIN:
            return f"not sent: {view.note}; say it anew" if view.note else "outcome unknown: the agent was cut off"
        case DecisionState.UNDELIVERED:
            if view.kind in (DecisionKind.QUESTION, DecisionKind.PARK):
                return "not delivered, kept for the next run"
            return "not delivered"
        case DecisionState.WITHDRAWN:
            return "no longer asked"
        case DecisionState.REFUSED_BY_AGENT:
            return (
                f"the agent did not take the answer: {view.note}" if view.note else "the agent did not take the answer"
            )
        case DecisionState.DISMISSED:
            return "put aside"


def answered(view: DecisionView) -> str:
    """``answered by Ada at 09:31:02 (allow once)``: told to whoever comes second, too."""
    who = view.answered_by or "someone"
    when = f" at {clock_seconds(view.answered_at)}" if view.answered_at is not None else ""
    what = f" ({view.answer})" if view.answer else ""
    return f"answered by {who}{when}{what}"


def custody_state(state: CustodyState) -> str:
    return _CUSTODY[state]


def attention_kind(kind: AttentionKind) -> str:
    return _ATTENTION[kind]


_GLYPHS = {
    Group.NEEDS_YOU: ("◆", "!"),
    Group.YOUR_MOVE: ("◇", ">"),
    Group.WORKING: ("●", "*"),
    Group.IDLE: ("○", "o"),
    Group.ENDED: ("■", "#"),
}


def group_glyph(group: Group, ascii: bool) -> str:
    return _GLYPHS[group][1 if ascii else 0]


# -------------------------------------------------------------------------------------------------------------- terms


def terms_sentence(terms: Terms, now: Millis) -> str:
    """What the operator accepts with one Enter, whole: who, where, until when, for how much, and who is asked."""
    where = short_path(terms.repository)
    if terms.tree:
        tree = f"on its tree {short_path(terms.tree)}"
    elif terms.tree_kind is TreeKind.WORKTREE:
        tree = f"on a new tree from {short_commit(terms.base or terms.head)}" if terms.head else "on a new tree"
    else:
        tree = f"in place on {terms.branch}" if terms.branch else "in place, on no branch"
    nominal = " (only nominal)" if terms.billing is Billing.SUBSCRIPTION else ""
    limits = [plural(terms.max_turns, "turn")]
    if terms.budget is not None:
        play = " of play money" if terms.billing is Billing.PRACTICE else nominal
        limits.insert(0, f"{money(terms.budget)} USD{play}")
    if terms.working_seconds is not None:
        limits.append(f"{work_time(terms.working_seconds * 1000)} of work")
    most = f"{', '.join(limits[:-1])} and {limits[-1]}" if len(limits) > 1 else limits[0]
    unlimited = "" if terms.budget is not None else f", with no limit of money{nominal}"
    model = f" with the model {terms.model}" if terms.model else ""
    return (
        f"{agent_title(terms.agent)}{model} may work in {where} {tree} until {moment(terms.expires_at, now)}, "
        f"for at most {most}{unlimited}, {mode_words(terms.mode, terms.agent)}"
        f"{but_for_rules(terms.rules)}."
    )
