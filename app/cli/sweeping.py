"""``sweep``: settle what a console that is gone has left, and close by hand what cannot be settled by itself."""

from typing import TYPE_CHECKING, Annotated

import typer

from app.cli.options import Json

if TYPE_CHECKING:
    from app.cli.surroundings import Surroundings
    from coordinator.passing import Passed
    from coordinator.stuck import Stuck
    from store.vocab import RunId


def add_to(program: typer.Typer) -> None:
    program.command("sweep")(sweep)


def sweep(
    settle: Annotated[
        str | None, typer.Option(metavar="RUN", help="Close this run's books, though its end cannot be proven.")
    ] = None,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="With --settle: without asking.")] = False,
    json: Json = False,
) -> int:
    """Settle what consoles that are gone have left; what is held and lives on stays as it is."""
    from app.cli import elsewhere, exits, opening, printing
    from app.cli.surroundings import surroundings
    from app.cli.values import run_id

    number = None if settle is None else run_id(settle)
    here = surroundings(as_json=json)
    elsewhere.refuse_inside_a_hold(here.paths, number, "sweep", as_json=json)
    if not here.paths.ledger.exists():
        if number is not None:
            elsewhere.find(here.paths, number, as_json=json)
        _tell_nothing(as_json=json)
        return exits.Code.DONE
    if number is None:
        return _tell(here, _pass_by(here, as_json=json), as_json=json)
    stuck = _known_stuck(here, number)
    if stuck is None:
        # Before anybody signs for what cannot be settled, it is tried once more: a later look may help.
        exits.note(f"Trying once more to bring run {number} to its end first …")
        stuck = _look(here, number, _pass_by(here, as_json=json), as_json=json)
    if stuck is None:
        said = (
            f"The books of run {number} could be closed after all; footplate show {number} has the report of its end."
        )
        printing.as_json({"run": number, "settled": "by itself"}) if json else printing.sentence(said)
        return exits.Code.DONE
    for said in _facts(stuck):
        exits.note(said) if json else printing.sentence(said)
    if not yes:
        _need_a_person(as_json=json)
        opening.take_enter(
            f"Enter closes the books of run {number} over your name, Ctrl-C leaves: ",
            "Nothing was closed: only a bare Enter does it.",
        )
    _settle(here, stuck, as_json=json)
    if json:
        printing.as_json({"run": number, "settled": "by operator", "operator": here.operator, "found": stuck.found})
    else:
        printing.sentence(f"The books of run {number} are closed over the name of {printing.one_line(here.operator)}.")
    return exits.Code.DONE


def _pass_by(here: "Surroundings", *, as_json: bool) -> "Passed":
    import asyncio
    import os

    from app import logs
    from app.cli.exits import refused
    from app.cli.surroundings import agent_profiles
    from app.wiring import house_settings
    from coordinator.clock import RealClock
    from coordinator.ids import RealIds
    from coordinator.passing import pass_by
    from store.refusal import Refusal

    problem = here.paths.ensure()
    if problem is not None:
        raise refused(problem, as_json=as_json)
    profiles = agent_profiles(here.paths, here.config, as_json=as_json)
    logs.keep(here.paths.logs, os.environ, *(dict(one.env) for one in profiles))
    passed = asyncio.run(
        pass_by(
            settings=house_settings(here.config, here.paths, os.environ),
            profiles=profiles,
            ledger_path=here.paths.ledger,
            clock=RealClock(),
            ids=RealIds(),
        )
    )
    if isinstance(passed, Refusal):
        raise refused(passed, as_json=as_json)
    return passed


# ------------------------------------------------------------------------------------------------------------ one stuck


def _known_stuck(here: "Surroundings", run: "RunId") -> "Stuck | None":
    """One of which the last look said so, and whose keeper is as mute as it was: asking it again takes only time."""
    import asyncio

    from coordinator.clock import RealClock
    from coordinator.custody.client import read_cookie, status_by_socket
    from coordinator.incarnation import gone_by_id
    from coordinator.stuck import Stuck, look
    from store.db import read_ledger

    with read_ledger(here.paths.ledger, now=RealClock().now) as tx:
        found = look(tx, here.paths.spool, run, gone_by_id(tx))
    if not isinstance(found, Stuck) or not found.told or not found.keeper_alive:
        return None
    folder = here.paths.spool / found.held.id
    answered = asyncio.run(status_by_socket(folder, read_cookie(folder) or ""))
    return found if answered is None else None


def _look(here: "Surroundings", run: "RunId", passed: "Passed", *, as_json: bool) -> "Stuck | None":
    """What is known of it; None: it was settled a moment ago.

    Raises:
        Leave: it is not stuck, and what it is instead.
    """
    from app.cli.exits import Code, Leave, refused
    from coordinator.clock import RealClock
    from coordinator.incarnation import gone_by_id
    from coordinator.stuck import look
    from store.db import read_ledger
    from store.refusal import Refusal
    from store.vocab import RefusalReason

    with read_ledger(here.paths.ledger, now=RealClock().now) as tx:
        found = look(tx, here.paths.spool, run, gone_by_id(tx))
    if not isinstance(found, Refusal):
        return found
    if run in passed.settled and found.reason is RefusalReason.ALREADY_ENDED:
        return None
    sentences = {
        RefusalReason.IN_FLIGHT: f"Run {run} is held and can be ended: footplate stop {run} does that.",
        RefusalReason.FENCING: f"Run {run} is being ended by its console just now; look again with footplate ls.",
    }
    sentence = sentences.get(found.reason)
    if sentence is None:
        raise refused(found, as_json=as_json)
    machine: dict[str, object] = {"refused": found.reason.value, "facts": dict(found.facts), "sentence": sentence}
    raise Leave(Code.REFUSED, sentence, machine=machine if as_json else None)


def _facts(stuck: "Stuck") -> list[str]:
    """What a person must have seen before closing it."""
    from app import wording
    from app.cli.printing import one_line

    run, held = stuck.run, stuck.held
    said = [f"Run {run.id}, {one_line(run.title)}, in {one_line(wording.short_path(run.tree))}"]
    said.append(f"is ending ({one_line(wording.end_reason(stuck.reason))}), and its end could not be proven.")
    if stuck.keeper_alive:
        said.append("Its keeper process is alive and does not answer, or still tries to end what is left.")
    if stuck.found:
        said.append("Alive, or not seen gone:")
        said += [f"  {one.pid}  {one_line(one.name, 200)}" for one in stuck.found]
    else:
        said.append("Nothing that belongs to it is seen on this machine.")
    said.append(
        f"Closing its books frees {'its tree' if held.in_place else 'its conversation'} and touches no process: "
        "end them by hand; footplate ps goes on showing what is left."
    )
    return said


def _need_a_person(*, as_json: bool) -> None:
    import sys

    from app.cli.exits import Code, Leave

    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise Leave(
            Code.REFUSED,
            "Nobody is at the keyboard to answer for it; add --yes to close it without being asked.",
            machine={"refused": "no-terminal"} if as_json else None,
        )


def _settle(here: "Surroundings", stuck: "Stuck", *, as_json: bool) -> None:
    from app.cli.exits import refused
    from coordinator.clock import RealClock
    from coordinator.stuck import settle
    from store.db import write_ledger
    from store.refusal import Refusal

    with write_ledger(here.paths.ledger, now=RealClock().now) as tx:
        closed = settle(tx, stuck, spool=here.paths.spool, operator=here.operator)
        if isinstance(closed, Refusal):
            raise refused(closed, as_json=as_json)  # and so the transaction is rolled back


# ------------------------------------------------------------------------------------------------------------- the rest


def _tell_nothing(*, as_json: bool) -> None:
    from app.cli import printing

    if as_json:
        printing.as_json({"settled": [], "living": [], "unsettled": [], "not_started": [], "unknown": 0})
    else:
        printing.sentence("There is no ledger yet, so there is nothing to settle.")


def _tell(here: "Surroundings", passed: "Passed", *, as_json: bool) -> int:
    from app.cli import elsewhere, exits, printing
    from app.cli.exits import Code
    from app.wording_leaving import lives_on, runs_named
    from coordinator.clock import RealClock

    swept, now = passed.swept, RealClock().now()
    stuck = _stuck_elsewhere(here, passed)
    if as_json:
        printing.as_json(
            {
                "settled": passed.settled,
                "living": [{"run": run, "until": until} for run, until in swept.living],
                "unsettled": stuck,
                "not_started": swept.refused,
                "unknown": len(swept.strays),
            }
        )
        return Code.UNREACHABLE if stuck else Code.DONE
    for said in passed.notes:
        exits.note(said)
    for run in passed.settled:
        printing.sentence(f"Run {run} has ended, and its books are closed; footplate show {run} has the report.")
    for run, until in swept.living:
        printing.sentence(lives_on(run, until, now))
    if swept.refused:
        printing.sentence(f"Never started, and closed: {runs_named(swept.refused)}.")
    if swept.strays:
        count = len(swept.strays)
        printing.sentence(f"{count} of a ledger that is not this one: ended, and noted in what waits for you.")
    for run in stuck:
        printing.sentence(
            f"The end of run {run} cannot be proven; footplate sweep --settle {run} shows why, and closes it by hand."
        )
    if not (passed.settled or swept.living or swept.refused or swept.strays or stuck):
        owned = [one for one in elsewhere.live(here.paths) if one.owner is not None]
        printing.sentence("Nothing to settle." + (f" Held by a console: {len(owned)}." if owned else ""))
    return Code.UNREACHABLE if stuck else Code.DONE


def _stuck_elsewhere(here: "Surroundings", passed: "Passed") -> "list[RunId]":
    """Those that this look could not help, and those of a living console that it could not help either."""
    from coordinator.clock import RealClock
    from coordinator.incarnation import gone_by_id
    from coordinator.stuck import Stuck, look
    from store import custody
    from store.db import read_ledger
    from store.vocab import CustodyState

    with read_ledger(here.paths.ledger, now=RealClock().now) as tx:
        ending = [one.run for one in custody.not_closed(tx) if one.state is CustodyState.FENCING]
        found = {run for run in ending if isinstance(look(tx, here.paths.spool, run, gone_by_id(tx)), Stuck)}
    return sorted(found | {run for run in passed.unsettled if run in ending})
