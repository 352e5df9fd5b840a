"""``extend`` and ``revoke``: more of what was agreed to, or none of it any more.

What is added is shown in one sentence and agreed to with one Enter, as the terms were: it is agreed to in the same way.
"""

from typing import TYPE_CHECKING, Annotated

import typer

from app.cli.options import Json, Run

if TYPE_CHECKING:
    from app.cli.surroundings import Surroundings
    from coordinator.api import Extend
    from coordinator.recording import EffectiveLimits
    from coordinator.terms import Terms
    from store.vocab import Millis, RunId


def add_to(program: typer.Typer) -> None:
    program.command("extend")(extend)
    program.command("revoke")(revoke)


def extend(
    run: Run,
    money: Annotated[str | None, typer.Option(help="So much more money, as 5usd.")] = None,
    turns: Annotated[int | None, typer.Option(help="So many more turns.")] = None,
    work: Annotated[str | None, typer.Option(help="So much more working time, as 30m.")] = None,
    until: Annotated[str | None, typer.Option(help="So much longer (2h), or until when (18:30).")] = None,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Without asking.")] = False,
    json: Json = False,
) -> None:
    """Give a run more money, more turns, more working time or a later end."""
    from app.cli import elsewhere, printing, values
    from app.cli.surroundings import surroundings

    number = values.run_id(run)
    micro = None if money is None else values.money(money, "--money")
    more = values.turns(turns)
    longer = None if work is None else values.duration_seconds(work, "--work")
    here = surroundings(as_json=json)
    elsewhere.refuse_inside_a_hold(here.paths, number, "extend", as_json=json)
    found = elsewhere.find(here.paths, number, as_json=json)
    terms, limits, now = _agreed(here, number, as_json=json)
    command = _command(number, limits, now, money=micro, turns=more, work=longer, until=until)
    said = _sentence(command, terms, limits, now)
    _agree(said, yes=yes, as_json=json)
    # The agent may have to be started again for it, and that takes as long as its end and its start do.
    outcome = elsewhere.ask(
        here.paths, found, command, here.operator, as_json=json, once_taken=elsewhere.RESTART_SECONDS
    )
    if json:
        added = {
            "money_micro_usd": command.money,
            "turns": command.turns,
            "working_seconds": command.working_seconds,
            "seconds": command.seconds,
        }
        printing.as_json({"run": number, "added": added, "sentence": said, **outcome})
    else:
        note = printing.one_line(str(outcome.get("note") or ""))
        again = ", and its agent was started again in the same conversation" if "again" in note else ""
        printing.sentence(f"Run {number} is extended{again}.")


def _agreed(here: "Surroundings", run: "RunId", *, as_json: bool) -> "tuple[Terms, EffectiveLimits, Millis]":
    """What is in force now: the terms, with all that was added since.

    Raises:
        Leave: they are not in force, or cannot be read.
    """
    from app.cli.exits import refused
    from coordinator.clock import RealClock
    from coordinator.recording import effective_limits
    from coordinator.terms import parse
    from store import authorizations, runs
    from store.db import read_ledger
    from store.refusal import Refusal
    from store.vocab import AuthorizationId, AuthorizationState, RefusalReason

    with read_ledger(here.paths.ledger, now=RealClock().now) as tx:
        row = runs.get(tx, run)
        signed = authorizations.get(tx, AuthorizationId(row.authorization_id)) if row is not None else None
        if signed is None or signed.state is not AuthorizationState.BOUND:
            reason = signed.close_reason if signed is not None else None
            raise refused(Refusal(RefusalReason.AUTHORIZATION_CLOSED, {"reason": reason}), as_json=as_json)
        terms = parse(signed.terms)
        if isinstance(terms, Refusal):
            raise refused(terms, as_json=as_json)
        return terms, effective_limits(tx, signed, terms), tx.now


def _command(
    run: "RunId",
    limits: "EffectiveLimits",
    now: "Millis",
    *,
    money: int | None,
    turns: int | None,
    work: int | None,
    until: str | None,
) -> "Extend":
    import re

    from app.cli import values
    from app.cli.exits import usage
    from app.wording import moment
    from coordinator.api import Extend
    from store.vocab import MicroUsd

    if money is None and turns is None and work is None and until is None:
        raise usage("Extend by what? Give --money 5usd, --turns 10, --work 30m or --until 2h.")
    if money is not None and limits.budget is None:
        raise usage(f"Run {run} has no limit of money; leave --money out.")
    if work is not None and limits.working_seconds is None:
        raise usage(f"Run {run} has no limit of working time; leave --work out.")
    seconds = None
    if until is not None and re.fullmatch(r"\d{1,2}:\d{2}", until.strip()):
        # A time of day is the new end; a length of time is added to the old one.
        end = now + values.expires_seconds(until, now, "--until") * 1000
        seconds = round((end - limits.expires_at) / 1000)
        if seconds <= 0:
            raise usage(f"Run {run} goes on until {moment(limits.expires_at, now)} already; --until must lie later.")
    elif until is not None:
        seconds = values.duration_seconds(until, "--until")
    added = None if money is None else MicroUsd(money)
    return Extend(run=run, money=added, turns=turns, working_seconds=work, seconds=seconds)


def _sentence(command: "Extend", terms: "Terms", limits: "EffectiveLimits", now: "Millis") -> str:
    from app.wording_leaving import extension_sentence

    return extension_sentence(
        command,
        agent=terms.agent,
        budget=limits.budget,
        max_turns=limits.max_turns,
        working_seconds=limits.working_seconds,
        expires_at=limits.expires_at,
        now=now,
    )


def _agree(said: str, *, yes: bool, as_json: bool) -> None:
    """
    Raises:
        Leave: the operator did not agree, or is not there to.
    """
    import sys

    from app.cli import exits, opening, printing
    from app.cli.exits import Code, Leave

    if as_json:
        exits.note(said)
    else:
        printing.sentence(said)
    if yes:
        return
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise Leave(
            Code.REFUSED,
            "Nobody is at the keyboard to agree to it; add --yes to extend without being asked.",
            machine={"refused": "no-terminal"} if as_json else None,
        )
    opening.take_enter("Enter extends it so, Ctrl-C leaves: ", "Not extended: only a bare Enter agrees to it.")


def revoke(run: Run, json: Json = False) -> None:
    """Take a run's terms back: it ends, and all that it started."""
    from app.cli import elsewhere, printing
    from app.cli.surroundings import surroundings
    from app.cli.values import run_id
    from coordinator.api import Revoke

    number = run_id(run)
    here = surroundings(as_json=json)
    elsewhere.refuse_inside_a_hold(here.paths, number, "revoke", as_json=json)
    found = elsewhere.find(here.paths, number, as_json=json)
    elsewhere.ask(here.paths, found, Revoke(run=number), here.operator, as_json=json)
    if json:
        printing.as_json({"run": number, "revoked": True})
    else:
        printing.sentence(
            f"The terms of run {number} are taken back; it is ending, footplate show {number} has the report."
        )
