"""The terms of tasks before they are agreed to, whole: every part of what is agreed, and what differs from before as
old → new. Pure.
"""

from collections.abc import Callable

from app.console.views.ink import EMPTY, Line, Span, literal, one_line, wrap
from app.wording import agent_title, mode_words, moment, money, plural, rule_words, sentence, short_path, work_time
from app.wording_tasks import at_most
from coordinator.api import SeriesProposal, SeriesProposals, SeriesTerms
from store.vocab import Billing, Millis

LABEL = 14
_Telling = Callable[[SeriesTerms, Millis], str]


def heading_words(proposals: SeriesProposals) -> str:
    count = len(proposals.proposals)
    if count == 1:
        attempts = proposals.proposals[0].terms.attempts
        return f"AGREE TO THESE TERMS FOR {plural(attempts, 'ATTEMPT', 'ATTEMPTS')}?"
    return f"AGREE TO THE TERMS OF {count} TASKS?"


def terms_rows(proposals: SeriesProposals, now: Millis, width: int, home: str | None = None) -> tuple[Line, ...]:
    """Every task with all of its terms; then those that cannot be agreed to now, and why."""
    rows: list[Line] = []
    for proposal in proposals.proposals:
        if rows:
            rows.append(EMPTY)
        rows += _of_one(proposal, now, width, home)
    if len(proposals.proposals) > 1 and (together := at_most(one.terms for one in proposals.proposals)):
        rows += [EMPTY, *((Span(row, "bright"),) for row in wrap(together, width))]
    for task, refusal in proposals.refused:
        if rows:
            rows.append(EMPTY)
        words = f"not task {task}: {sentence(refusal)}"
        rows += [(Span(row, "amber"),) for row in wrap(literal(words), width)]
    return tuple(rows)


def _of_one(proposal: SeriesProposal, now: Millis, width: int, home: str | None) -> list[Line]:
    terms, before = proposal.terms, proposal.before
    name = one_line(proposal.title) or "no title"
    rows: list[Line] = [
        (Span(f"task {terms.task}  " if not number else " " * len(f"task {terms.task}  "), "grey"),
         Span(piece, "bright strong"))
        for number, piece in enumerate(wrap(name, width - len(f"task {terms.task}  ")))
    ]  # fmt: skip
    if proposal.caution:
        caution = literal(f"{proposal.caution[:1].upper()}{proposal.caution[1:]}.")
        rows += [(Span(row, "amber"),) for row in wrap(caution, width)]
    moved = set(proposal.moved)
    if before is not None and not moved:
        rows += [(Span(row, "grey"),) for row in wrap("the same as was agreed to before", width)]
    if "instruction" in moved and before is not None:
        rows += _block("was", before.instruction, width, "grey")
        rows += _block("to do", terms.instruction, width, "amber")
    else:
        rows += _block("to do", terms.instruction, width, "text")
    for label, names, tell in _rows(home):
        said = tell(terms, now)
        was = tell(before, now) if before is not None and moved & set(names) else said
        if said != was:
            said = f"{was or 'nothing'} → {said or 'nothing'}"
            rows += _block(label, said, width, "amber")
        elif said:
            rows += _block(label, said, width, "text")
    if moved & {"machine", "uid"}:
        rows += _block("runs", "on another machine, or as another user, than before", width, "amber")
    if proposal.own_rules:
        rules = ", ".join(one_line(rule) for rule in proposal.own_rules)
        rows += _block("lets through", f"by its own rules: {rules}", width, "grey")
    return rows


def _block(label: str, text: str, width: int, ink: str) -> list[Line]:
    out: list[Line] = []
    for number, piece in enumerate(wrap(literal(text, newlines=True), max(width - LABEL, 20))):
        out.append((Span((label if not number else "").ljust(LABEL), "grey"), Span(piece, ink)))
    return out


def _rows(home: str | None) -> tuple[tuple[str, tuple[str, ...], _Telling], ...]:
    """Label, the fields of the terms that it tells, and how."""
    return (
        ("agent", ("agent", "driver", "billing", "script"), lambda terms, now: _agent(terms, home)),
        ("model", ("model",), lambda terms, now: terms.model or ""),
        ("mode", ("mode",), lambda terms, now: mode_words(terms.mode, terms.agent)),
        ("where", ("repository", "in_place"), lambda terms, now: _where(terms, home)),
        ("its paths", ("paths",), lambda terms, now: kept_paths(terms.paths)),
        ("attempts", ("attempts",), lambda terms, now: f"{terms.attempts} at most"),
        ("money", ("budget", "billing"), _money),
        ("then", ("at_budget",), _at_budget),
        ("each attempt", ("max_turns", "working_seconds", "run_seconds"), _limits),
        ("begins", ("expires_at",), lambda terms, now: f"until {moment(terms.expires_at, now)}"),
        ("while away", ("attendance_seconds",), _away),
        ("rules", ("rules",), lambda terms, now: "\n".join(rule_words(one) for one in terms.rules)),
        ("set-up", ("setup",), lambda terms, now: f"run first in a new tree: {terms.setup}" if terms.setup else ""),
        ("checks", ("checks",), lambda terms, now: "\n".join(terms.checks)),
        ("added to it", ("preamble",), _added),
    )  # fmt: skip


def _agent(terms: SeriesTerms, home: str | None) -> str:
    paid = {Billing.SUBSCRIPTION: ", by subscription", Billing.KEY: ", by key"}.get(terms.billing, "")
    playing = f", playing {short_path(terms.script, home)}" if terms.script else ""
    return f"{agent_title(terms.agent)}{paid}{playing}"


def _where(terms: SeriesTerms, home: str | None) -> str:
    path = short_path(terms.repository, home)
    return f"in place in {path}" if terms.in_place else f"in {path}, on a tree of its own"


def kept_paths(paths: tuple[str, ...]) -> str:
    """What a task keeps for itself while it works."""
    if not paths:
        return ""
    if paths == (".",):
        return "all of the repository: no other task works in it meanwhile"
    return f"{', '.join(one_line(path) for path in paths)}: no other task works there meanwhile"


def _money(terms: SeriesTerms, now: Millis) -> str:
    if terms.budget is None:
        return "no limit"
    kind = {Billing.SUBSCRIPTION: " (only nominal)", Billing.PRACTICE: " of play money"}.get(terms.billing, "")
    return f"{money(terms.budget)} USD{kind} at most{' for all attempts together' if terms.attempts > 1 else ''}"


def _at_budget(terms: SeriesTerms, now: Millis) -> str:
    if terms.budget is None:
        return ""
    return "it is ended" if terms.at_budget == "fence" else "it holds and asks you"


def _limits(terms: SeriesTerms, now: Millis) -> str:
    work = f"{work_time(terms.working_seconds * 1000)} of work and " if terms.working_seconds is not None else ""
    return f"{plural(terms.max_turns, 'turn')}, {work}{work_time(terms.run_seconds * 1000)} in all, at most"


def _away(terms: SeriesTerms, now: Millis) -> str:
    return f"it pauses when you are away for {work_time(terms.attendance_seconds * 1000)}"


def _added(terms: SeriesTerms, now: Millis) -> str:
    return "how to leave you a note" if terms.preamble else "nothing: it is not told how to leave a note"
