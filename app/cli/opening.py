"""From what was asked on the command line to a coordinator and its front end: terms shown, Enter taken, run begun.

Nothing is started here that the operator did not see in one sentence, and nothing is built here: ``app.wiring`` does.
"""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from app.cli import exits, printing
from app.cli.calling import Caller
from app.cli.departing import Departure
from app.cli.exits import Code, Leave, refused, usage
from app.cli.plain import PlainSession
from app.cli.plain_inbox import stdin_lines
from app.cli.surroundings import Surroundings, agent_profiles, surroundings
from app.wording import (
    continued_words,
    moved_words,
    remarks,
    rules_leave_open,
    rules_proposed,
    terms_sentence,
    warnings,
)
from app.wording_leaving import stays_held
from coordinator.ancestry import inside_a_hold
from coordinator.api import Backend, Proposal, Propose, Started, StartRun
from coordinator.clock import RealClock
from store.refusal import Refusal
from store.vocab import RunId

DEMO_BRIEF = "The test suite fails now and then. Find out why, and make it dependable."


def repository_path(given: str) -> Path:
    """
    Raises:
        Leave: there is no such folder.
    """
    path = Path(given).expanduser().absolute()
    if not path.is_dir():
        raise usage(f"--repo {given}: there is no such folder.")
    return path


def refuse_inside_a_hold(around: Surroundings, verb: str, *, as_json: bool = False) -> None:
    """
    Raises:
        Leave: an agent would be its own operator.
    """
    if inside_a_hold():
        from app.cli import elsewhere  # a console that may open needs none of it

        elsewhere.refuse_inside_a_hold(around.paths, None, verb, as_json=as_json)


class Opened(Struct, frozen=True):
    backend: Backend
    departure: Departure


@contextmanager
def opened(
    around: Surroundings,
    repository: Path,
    *,
    script: str = "",
    as_json: bool = False,
    leave: bool = True,
    dispatches: bool = True,
) -> Iterator[Opened]:
    """A coordinator of this process, closed on every way out: what it still holds then stays held by its keepers.
    ``dispatches``: whether it begins tasks that wait in line.

    Raises:
        Leave: a configuration file or the ledger cannot be used.
    """
    from app.wiring import open_backend

    profiles = agent_profiles(around.paths, around.config, as_json=as_json)
    held = None
    try:
        with open_backend(
            around.config,
            around.paths,
            profiles,
            repository=repository,
            practice_script=script,
            leave=leave,
            dispatches=dispatches,
        ) as backend:
            if isinstance(backend, Refusal):
                raise refused(backend, as_json=as_json)
            held = backend
            with Departure(backend, leave=leave and around.config.on_disconnect == "hold") as departure:
                yield Opened(backend, departure)
    finally:
        # After the screen is gone: what a person must know, and no screen shows any more.
        if held is not None:
            for said in (*held.notes, *stays_held(held.left.items(), RealClock().now())):
                exits.note(said)


# ------------------------------------------------------------------------------------------------------------- console


def need_a_terminal() -> None:
    """
    Raises:
        Leave: stdin or stdout is none.
    """
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise Leave(
            Code.REFUSED,
            "The console needs a terminal; without one, use footplate start --plain, or footplate ls and show to look.",
        )
    if os.environ.get("TERM", "") in ("", "dumb"):
        raise Leave(
            Code.REFUSED, "This terminal cannot show the console (TERM is dumb or empty); use footplate start --plain."
        )


def open_console(
    *,
    repository: Path,
    agent: str | None = None,
    preset: str | None = None,
    brief: str = "",
    script: str = "",
    leave: bool = True,
    tour: bool = False,
) -> int:
    """The console, on a new session when there is a brief. ``leave``: whether what it holds may outlive it."""
    need_a_terminal()
    around = surroundings()
    refuse_inside_a_hold(around, "open")
    # The demo spends nothing and touches nothing of the operator's, so it begins none of their tasks.
    with opened(around, repository, script=script, leave=leave, dispatches=leave) as here:
        from app.cli.screen import run_console

        return run_console(
            here.backend,
            around.config,
            here.departure,
            repository=repository,
            agent=agent,
            preset=preset,
            brief=brief,
            tour=tour,
        )


def open_console_here() -> int:
    """``footplate`` alone."""
    return open_console(repository=Path.cwd())


def start_in_console(asked: Propose, brief: str | None, *, yes: bool) -> int:
    """``start`` with a screen: terms and Enter on the terminal as it is, then the console on the run that began."""
    need_a_terminal()
    around = surroundings()
    refuse_inside_a_hold(around, "start")
    repository = Path(asked.repository)
    with opened(around, repository, script=asked.script) as here:
        from app.cli.screen import run_console

        backend, run = here.backend, None
        if brief is not None:
            asked = replace(asked, preamble=asked.preamble and around.config.preamble)
            proposal = propose(backend, replace(asked, instruction=brief))
            show_terms(backend, proposal)
            if not yes:
                take_enter()
            run = begin(backend, proposal)
        return run_console(
            backend,
            around.config,
            here.departure,
            repository=repository,
            agent=asked.agent,
            preset=asked.preset,
            run=run,
        )


# --------------------------------------------------------------------------------------------------------------- plain


def hold_plain(
    asked: Propose, brief: str, *, yes: bool, as_json: bool, stdin_is_spent: bool = False, leave: bool = True
) -> int:
    """``start --plain``: held in the foreground until it ends."""
    if not yes and (stdin_is_spent or not sys.stdin.isatty()):
        raise Leave(
            Code.REFUSED,
            "Nobody is at the keyboard to agree to the terms; add --yes to start under them without being asked.",
            machine={"refused": "no-terminal"} if as_json else None,
        )
    around = surroundings(as_json=as_json)
    refuse_inside_a_hold(around, "start", as_json=as_json)
    printing.plain_output()
    asked = replace(asked, preamble=asked.preamble and around.config.preamble)
    with opened(
        around, Path(asked.repository), script=asked.script, as_json=as_json, leave=leave, dispatches=False
    ) as here:
        backend = here.backend
        proposal = propose(backend, replace(asked, instruction=brief), as_json=as_json)
        if not as_json:
            show_terms(backend, proposal)
        if not yes:
            if as_json:
                exits.note(terms_sentence(proposal.terms, backend.snapshot().now))
            take_enter()
        run = begin(backend, proposal, as_json=as_json)
        sentence = terms_sentence(proposal.terms, backend.snapshot().now)
        session = PlainSession(
            backend,
            run,
            as_json=as_json,
            sentence=sentence,
            leave=leave and around.config.on_disconnect == "hold",
            terminal=not stdin_is_spent and sys.stdin.isatty(),
            caller=Caller(around.config.notify, around.paths.notices),
        )
        return session.hold(iter(()) if stdin_is_spent else stdin_lines())


# --------------------------------------------------------------------------------------------------------------- terms


def propose(backend: Backend, asked: Propose, *, as_json: bool = False) -> Proposal:
    """
    Raises:
        Leave: it cannot be started, and why.
    """
    reply = backend.submit(asked).result()
    if isinstance(reply, Proposal):
        return reply
    raise refused(_refusal(reply), as_json=as_json)


def begin(backend: Backend, proposal: Proposal, *, as_json: bool = False) -> RunId:
    """
    Raises:
        Leave: it was not started, and why.
    """
    reply = backend.submit(StartRun(terms=proposal.terms)).result()
    if isinstance(reply, Started):
        return reply.run
    raise refused(_refusal(reply), as_json=as_json)


def _refusal(reply: object) -> Refusal:
    if isinstance(reply, Refusal):
        return reply
    raise TypeError(f"no answer to that command: {type(reply).__name__}")


def show_terms(backend: Backend, proposal: Proposal) -> None:
    """The one sentence that is agreed to, and what a person should know beside it."""
    snapshot = backend.snapshot()
    printing.sentence(printing.one_line(terms_sentence(proposal.terms, snapshot.now), 2000))
    if proposal.continued is not None:
        for said in (*continued_words(proposal.continued), *moved_words(proposal)):
            printing.sentence(printing.one_line(said, 400))
    for said in (*warnings(proposal, snapshot.now), *remarks(proposal)):
        printing.sentence(printing.one_line(f"{said[:1].upper()}{said[1:]}.", 400))
    for said, _ in rules_proposed(proposal):
        printing.sentence(f"  {printing.one_line(said, 400)}")
    if left_open := rules_leave_open(proposal):
        printing.sentence(f"  ({left_open})")
    if proposal.own_rules:
        rules = ", ".join(printing.one_line(rule, 60) for rule in proposal.own_rules)
        printing.sentence(f"Its own rules let through: {rules}")
    if proposal.terms.preamble:
        printing.sentence("Footplate adds to your brief how to leave a note (--no-preamble leaves that out).")


def take_enter(
    asked: str = "Enter starts under these terms, Ctrl-C leaves: ",
    otherwise: str = "Not started: only a bare Enter agrees to the terms.",
) -> None:
    """One bare Enter agrees; anything else does not.

    Raises:
        Leave: the operator did not agree.
    """
    sys.stdout.write("\n".join(printing.wrapped(asked.rstrip(), printing.columns())) + " ")
    sys.stdout.flush()
    # Not through Python's buffer: what comes after this line belongs to the run.
    typed = os.read(0, 4096)
    if typed.strip(b"\r\n") or not typed:
        raise Leave(Code.REFUSED, otherwise)
