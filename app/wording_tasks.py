"""Tasks that wait in line, in words: what is agreed to for their attempts, how one stands, what it has cost.

Pure; the same words on the command line and in the console. Why a task waits, failed or needs the operator is in
``wording_queue``.
"""

import re
from collections.abc import Iterable, Mapping, Sequence

from app.wording_agents import agent_title, mode_words
from app.wording_continuing import moved_word
from app.wording_measures import moment, money, others_words, plural, short_path, work_time
from app.wording_rules import but_for_rules
from coordinator.tasks.tasktypes import SeriesProposal, SeriesTerms, TaskView
from store.vocab import Billing, MicroUsd, Millis, TaskId, TaskState

_STATES = {
    TaskState.QUEUED: "waits",
    TaskState.WORKING: "working",
    TaskState.NEEDS_OPERATOR: "needs you",
    TaskState.DONE: "done",
    TaskState.FAILED: "failed",
    TaskState.STOPPED: "stopped",
}
_COUNTED = {TaskState.NEEDS_OPERATOR: ("needs you", "need you"), TaskState.QUEUED: ("waits", "wait")}
_GLYPHS = {
    TaskState.NEEDS_OPERATOR: ("◆", "!"),
    TaskState.WORKING: ("●", "*"),
    TaskState.QUEUED: ("○", "o"),
    TaskState.DONE: ("✓", "+"),
    TaskState.FAILED: ("■", "#"),
    TaskState.STOPPED: ("■", "#"),
}
EVERYTHING = (".",)
"""The paths of a task that keeps its whole repository to itself."""
_FIELDS = {
    "instruction": "what is to be done",
    "attempts": "attempts",
    "max_turns": "turns of an attempt",
    "working_seconds": "working time of an attempt",
    "run_seconds": "how long an attempt may stand",
    "expires_at": "until when one may begin",
    "in_place": "where it works",
    "uid": "user",
}


def task_state(state: TaskState) -> str:
    return _STATES[state]


def task_glyph(state: TaskState, ascii: bool) -> str:
    return _GLYPHS[state][1 if ascii else 0]


def series_sentence(terms: SeriesTerms, now: Millis) -> str:
    """What one Enter agrees to for all attempts of a task: who, where, how often, until when, for how much, and who is
    asked."""
    model = f" with the model {others_words(terms.model)}" if terms.model else ""
    where = "in place" if terms.in_place else "on a tree of its own"
    often = "in one attempt" if terms.attempts == 1 else f"in at most {plural(terms.attempts, 'attempt')}"
    each = [plural(terms.max_turns, "turn")]
    if terms.working_seconds is not None:
        each.append(f"{work_time(terms.working_seconds * 1000)} of work")
    each.append(work_time(round(terms.run_seconds / 60) * 60_000 or terms.run_seconds * 1000))
    limits = f"{', '.join(each[:-1])} and {each[-1]} {'' if terms.attempts == 1 else 'for each '}until it ends"
    return (
        f"{agent_title(terms.agent)}{model} may work in {short_path(others_words(terms.repository))} {where}, "
        f"{often} begun until {moment(terms.expires_at, now)}, {_money_limit(terms)}, {limits}, "
        f"{mode_words(terms.mode, terms.agent)}{but_for_rules(terms.rules)}."
    )


def _money_limit(terms: SeriesTerms) -> str:
    nominal = " (only nominal)" if terms.billing is Billing.SUBSCRIPTION else ""
    if terms.budget is None:
        return f"with no limit of money{nominal}"
    play = " of play money" if terms.billing is Billing.PRACTICE else nominal
    return f"for at most {money(terms.budget)} USD{play}{'' if terms.attempts == 1 else ' in all'}"


def series_remarks(proposal: SeriesProposal) -> list[str]:
    """What a person should know beside the sentence, one line each; the paths that it keeps are ``keeps``."""
    terms, said = proposal.terms, []
    if terms.setup:
        said.append(f"First it runs, in a new tree: {others_words(terms.setup)}")
    if terms.checks:
        named = ", ".join(f"`{others_words(one)}`" for one in terms.checks)
        said.append(f"When it says that it is finished, it is checked in its tree by: {named}")
    if proposal.before is not None and proposal.moved:
        said.append(f"Not as agreed to before: {', '.join(moved_fields(proposal))}.")
    if proposal.own_rules:
        said.append(f"Its own rules let through: {', '.join(map(others_words, proposal.own_rules))}")
    if proposal.caution:
        said.append(f"{proposal.caution[:1].upper()}{proposal.caution[1:]}.")
    return said


def keeps(terms: SeriesTerms) -> str:
    """``keeps src and docs to itself``; '' for one that keeps nothing."""
    return f"keeps {paths_words(terms.paths)} to itself" if terms.paths else ""


def moved_fields(proposal: SeriesProposal) -> list[str]:
    """Each field that differs from what was agreed to last, with both values where they are short."""
    before, said = proposal.before, []
    for name in proposal.moved:
        words = _FIELDS.get(name) or moved_word(name)
        was, is_ = (_value(name, getattr(terms, name, None)) for terms in (before, proposal.terms))
        said.append(f"{words} (was {was}, is {is_})" if was and is_ else words)
    return said


def _value(name: str, value: object) -> str:
    """'' where the value is nothing for one line."""
    match name, value:
        case "budget", int():
            return money(MicroUsd(value))
        case (("working_seconds" | "run_seconds"), int()):
            return work_time(value * 1000)
        case "in_place", bool():
            return "in place" if value else "a tree of its own"
        case (("attempts" | "max_turns" | "agent" | "model" | "mode" | "repository"), int() | str()):
            return others_words(str(value))
        case "paths", tuple():
            return paths_words(value)
        case _:
            return ""


def paths_words(paths: Sequence[str], most: int = 4) -> str:
    if tuple(paths) == EVERYTHING:
        return "the whole repository"
    told = ", ".join(others_words(one) for one in paths[:most])
    return told if len(paths) <= most else f"{told} and {len(paths) - most} more"


def numbers(tasks: Iterable[int]) -> str:
    """Of tasks or runs: ``3``, ``3, 4 and 9``, ``3–9 and 12``."""
    ids = sorted(set(tasks))
    spans: list[list[int]] = []
    for one in ids:
        if spans and one == spans[-1][1] + 1:
            spans[-1][1] = one
        else:
            spans.append([one, one])
    parts: list[str] = []
    for first, last in spans:
        parts += [str(first), str(last)] if last == first + 1 else [str(first) if first == last else f"{first}–{last}"]
    if len(parts) > 8:
        parts = [*parts[:7], f"{len(ids)} in all"]
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}" if parts else ""


def about_task(task: TaskId, said: str) -> str:
    """A sentence among those of other tasks; one that names its task already stays as it is."""
    return said if re.search(rf"\btask {task}\b", said, re.IGNORECASE) else f"Task {task}: {said}"


def tasks_words(tasks: Sequence[TaskId]) -> str:
    """``Task 3``, ``Tasks 3, 4 and 9``."""
    return f"Task {tasks[0]}" if len(tasks) == 1 else f"Tasks {numbers(tasks)}"


def at_most(terms: Iterable[SeriesTerms]) -> str:
    """What several agreements together may cost; '' where that is no sum of money."""
    paid = [one for one in terms if one.billing is Billing.KEY]
    if not paid:
        return ""
    total = sum(one.budget or 0 for one in paid)
    open_ = sum(one.budget is None for one in paid)
    without = f"; {plural(open_, 'task')} of them without a limit" if open_ else ""
    return f"Together at most {money(MicroUsd(total))} USD{without}."


def counts_line(counts: Mapping[TaskState, int]) -> str:
    """``1 needs you, 2 working, 40 wait, 7 done``; '' where there are none."""
    said = []
    for state in _GLYPHS:
        if count := counts.get(state, 0):
            one, many = _COUNTED.get(state, (_STATES[state], _STATES[state]))
            said.append(f"{count} {one if count == 1 else many}")
    return ", ".join(said)


def task_money(view: TaskView) -> str:
    """``0.84 of 5.00``; only what is known."""
    if view.budget is not None:
        return f"{money(view.spent)} of {money(view.budget)}"
    return money(view.spent) if view.spent or view.runs else ""
