"""The card where a run is at a limit: which one, what one key adds, what was typed instead. Pure.

Nothing is lost there, and nothing is decided by waiting: the card says what may be done about it.
"""

from enum import StrEnum

from app.console.views.card import Face, Option
from app.console.views.ink import Span, literal, one_line, wrap
from app.wording import clock, money, plural, work_time
from coordinator.api import Extend, SessionView
from store.vocab import MicroUsd

HOUR = 3600


class Limit(StrEnum):
    """What is used up, or about to be."""

    MONEY = "money"
    TURNS = "turns"
    WORK = "work"
    WORK_IN_TURN = "work-in-turn"
    """Working time too, but its turn goes on."""
    END = "end"


def limit_of(session: SessionView) -> Limit:
    """The one that the card is about; several are asked about one after the other."""
    budget = session.budget
    if session.past_work:
        return Limit.WORK_IN_TURN
    if not session.at_budget:
        return Limit.END
    if budget.limit is not None and budget.spent >= budget.limit:
        return Limit.MONEY
    if budget.turns >= budget.max_turns:
        return Limit.TURNS
    worked_up = budget.working_limit_ms is not None and budget.working_ms >= budget.working_limit_ms
    return Limit.WORK if worked_up else Limit.MONEY


def extension(session: SessionView) -> Extend:
    """What one key adds: as much again as was agreed at first, or an hour before an end."""
    terms, budget, run = session.terms, session.budget, session.run
    match limit_of(session):
        case Limit.MONEY:
            first = (terms.budget if terms is not None else None) or budget.limit
            return Extend(run=run, money=first or MicroUsd(1_000_000))
        case Limit.TURNS:
            return Extend(run=run, turns=terms.max_turns if terms is not None else budget.max_turns)
        case Limit.WORK | Limit.WORK_IN_TURN:
            seconds = (terms.working_seconds if terms is not None else None) or (budget.working_limit_ms or 0) // 1000
            return Extend(run=run, working_seconds=seconds or HOUR)
        case Limit.END:
            return Extend(run=run, seconds=HOUR)


def _added(command: Extend) -> str:
    if command.money is not None:
        return money(command.money)
    if command.turns is not None:
        return plural(command.turns, "turn")
    if command.working_seconds is not None:
        return f"{work_time(command.working_seconds * 1000)} of work"
    return "1 hour"


def limit_face(session: SessionView, width: int) -> Face:
    """At a limit, and shortly before an end time."""
    budget, which = session.budget, limit_of(session)
    worked = f"{work_time(budget.working_ms)} of {work_time(budget.working_limit_ms or 0)} worked"
    head, third, rest = f"{session.run} holds at its budget", "finish", "Nothing is lost, nothing runs."
    match which:
        case Limit.MONEY:
            words = f"{money(budget.spent, guess=budget.guessed)} of {money(budget.limit)}. {rest}"
        case Limit.TURNS:
            words = f"{budget.turns} of {plural(budget.max_turns, 'turn')}. {rest}"
        case Limit.WORK:
            words = f"{worked}. {rest}"
        case Limit.WORK_IN_TURN:
            head, third = f"{session.run} is past its working time", "interrupt"
            words = f"{worked}, and its turn goes on. Let it end, and it holds."
        case Limit.END:
            head = f"{session.run} ends soon"
            words = f"Its terms end at {clock(budget.expires_at)}; then it is ended by Footplate."
    return Face(
        head=head,
        body=tuple((Span(row, "text"),) for row in wrap(literal(words), width)),
        facts=(),
        options=(
            Option(key="1", label=f"extend by {_added(extension(session))}", verb="extend"),
            Option(key="2", label="extend by … hours" if which is Limit.END else "extend by …", verb="extend-by"),
            Option(key="3", label=third, verb=third),
            Option(key="4", label="stop", verb="stop"),
        ),
    )


_ASKED = {
    Limit.MONEY: ("USD to add", "5.00"),
    Limit.TURNS: ("turns to add", "10"),
    Limit.WORK: ("minutes of work to add", "30"),
    Limit.WORK_IN_TURN: ("minutes of work to add", "30"),
    Limit.END: ("hours to add", "1.5"),
}


def asked_for(session: SessionView) -> str:
    """What *extend by …* wants typed."""
    return _ASKED[limit_of(session)][0]


def typed_extension(session: SessionView, text: str) -> Extend | str:
    """What was typed after *extend by …*; a sentence where it is no amount."""
    which, run = limit_of(session), session.run
    try:
        value = float(text.strip())
    except ValueError:
        value = 0.0
    whole = which is not Limit.TURNS or value.is_integer()
    if not 0 < value < 100_000 or not whole:
        return f"{one_line(text) or 'nothing'} is no amount: write it as {_ASKED[which][1]}"
    match which:
        case Limit.MONEY:
            return Extend(run=run, money=MicroUsd(round(value * 1_000_000)))
        case Limit.TURNS:
            return Extend(run=run, turns=round(value))
        case Limit.WORK | Limit.WORK_IN_TURN:
            return Extend(run=run, working_seconds=round(value * 60))
        case Limit.END:
            return Extend(run=run, seconds=round(value * HOUR))
