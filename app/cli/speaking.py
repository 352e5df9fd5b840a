"""``say``, ``answer``, ``interrupt``, ``finish`` and ``stop``: to a run that a console holds, from another terminal."""

from typing import TYPE_CHECKING, Annotated

import typer

from app.cli.options import Json, Run

if TYPE_CHECKING:
    from collections.abc import Callable

    from app.cli.elsewhere import Owned
    from app.cli.surroundings import Surroundings
    from coordinator.drivers.base import Answer
    from store.decisions import Decision


def add_to(program: typer.Typer) -> None:
    program.command("say")(say)
    program.command("answer")(answer)
    program.command("interrupt")(interrupt)
    program.command("finish")(finish)
    program.command("stop")(stop)


def say(
    run: Run,
    text: Annotated[str, typer.Argument(metavar="TEXT", help="What to say; - reads it from stdin.")],
    json: Json = False,
) -> None:
    """Say something to a run; while it works, it waits in line."""
    from app.cli import brief, elsewhere, printing
    from app.cli.exits import refused, usage
    from app.cli.surroundings import surroundings
    from app.cli.values import run_id
    from coordinator.api import Say
    from store.refusal import Refusal

    number = run_id(run)
    given = brief.read(None, "-", as_json=json) if text == "-" else None
    said = given.text if given is not None else text
    problem = brief.problem_of(said)
    if isinstance(problem, Refusal):
        raise refused(problem, as_json=json)
    if problem:
        raise usage(problem)
    here = surroundings(as_json=json)
    elsewhere.refuse_inside_a_hold(here.paths, number, "say", as_json=json)
    found = elsewhere.find(here.paths, number, as_json=json)
    command = Say(run=number, text=said, literal=given is not None)
    outcome = elsewhere.ask(here.paths, found, command, here.operator, as_json=json)
    if json:
        printing.as_json({"run": number, **outcome})
    elif outcome.get("queued") is not None:
        printing.line(f"Waits in line of run {number}; it is sent when the turn ends.")
    else:
        printing.line(f"Said to run {number}.")


def answer(
    question: Annotated[str, typer.Argument(metavar="ID", help="The question's number, as ls shows it.")],
    choice: Annotated[
        list[str] | None,
        typer.Argument(metavar="CHOICE...", help="By number or by its words; 1=2 2=1,3 for several questions."),
    ] = None,
    note: Annotated[str, typer.Option(help="A word of yours with it; with --deny, why.")] = "",
    text: Annotated[str | None, typer.Option(help="Your own words as the answer.")] = None,
    allow: Annotated[bool, typer.Option("--allow", help="Allow once; approve a plan.")] = False,
    allow_for_run: Annotated[
        bool, typer.Option("--allow-for-run", help="Allow this and its like in this run.")
    ] = False,
    deny: Annotated[bool, typer.Option("--deny", help="Deny; send a plan back.")] = False,
    json: Json = False,
) -> None:
    """Answer a question of an agent."""
    from app.cli import elsewhere, printing
    from app.cli.surroundings import surroundings
    from app.cli.values import decision_id
    from coordinator.api import AnswerDecision

    number = decision_id(question)
    words = _words(choice or [], allow=allow, allow_for_run=allow_for_run, deny=deny, text=text)
    here = surroundings(as_json=json)
    decision = _decision(here, number, as_json=json)
    elsewhere.refuse_inside_a_hold(here.paths, decision.run, "answer", as_json=json)
    meant = _meant(decision, words, note=note, text=text, as_json=json)
    command = AnswerDecision(
        run=decision.run,
        decision=decision.id,
        revision=decision.revision,
        payload_hash=decision.payload_hash,
        answer=meant,
    )
    outcome = elsewhere.answer_after_the_end(here.paths, command, here.operator, as_json=json)
    if outcome is None:
        found = elsewhere.find(here.paths, decision.run, as_json=json)
        outcome = elsewhere.ask(here.paths, found, command, here.operator, as_json=json)
    if json:
        printing.as_json({"run": decision.run, "decision": number, **outcome})
    else:
        what = printing.one_line(str(outcome.get("note") or ""))
        late = "; it goes to the agent when you continue the run" if outcome.get("rides") else ""
        printing.line(f"Question {number} of run {decision.run} is answered{': ' + what if what else ''}{late}.")


def _words(choice: list[str], *, allow: bool, allow_for_run: bool, deny: bool, text: str | None) -> list[str]:
    from app.cli.exits import usage

    options = [word for word, on in (("allow", allow), ("allow-run", allow_for_run), ("deny", deny)) if on]
    if len(options) + bool(choice) + (text is not None) != 1:
        raise usage("Give one answer: a choice, --text, --allow, --allow-for-run or --deny.")
    return options or choice


def _decision(here: "Surroundings", number: int, *, as_json: bool) -> "Decision":
    from app.cli.exits import refused
    from coordinator.clock import RealClock
    from store import decisions
    from store.db import read_ledger
    from store.refusal import Refusal
    from store.vocab import DecisionId, RefusalReason

    found = None
    if here.paths.ledger.exists():
        with read_ledger(here.paths.ledger, now=RealClock().now) as tx:
            found = decisions.get(tx, DecisionId(number))
    if found is None:
        raise refused(Refusal(RefusalReason.NO_SUCH_DECISION, {"decision": number}), as_json=as_json)
    return found


def _meant(decision: "Decision", words: list[str], *, note: str, text: str | None, as_json: bool) -> "Answer":
    from app.cli import answers
    from app.cli.exits import refused
    from coordinator.decisioncodec import decode_answer, view_parts, words as in_words
    from coordinator.offering import offered
    from store.refusal import Refusal
    from store.vocab import DecisionState, RefusalReason

    asked = view_parts(decision.payload)
    if decision.state is not DecisionState.OPEN and decision.answer is not None:
        facts = {
            "by": decision.answered_by,
            "at": decision.answered_at,
            "answer": in_words(decode_answer(decision.answer), asked),
        }
        raise refused(Refusal(RefusalReason.ALREADY_ANSWERED, facts), as_json=as_json)
    meant = answers.read(
        answers.Asked(kind=decision.kind, questions=asked.questions, rule=asked.rule, offers=offered(asked)),
        words,
        note=note,
        text=text,
    )
    if isinstance(meant, Refusal):
        raise refused(meant, as_json=as_json)
    return meant


def interrupt(run: Run, json: Json = False) -> None:
    """Interrupt the turn that a run works on; the run goes on."""
    from app.cli import elsewhere, printing
    from app.cli.surroundings import surroundings
    from app.cli.values import run_id
    from coordinator.api import Interrupt
    from coordinator.clock import RealClock
    from store import turns
    from store.db import read_ledger

    number = run_id(run)
    here = surroundings(as_json=json)
    elsewhere.refuse_inside_a_hold(here.paths, number, "interrupt", as_json=json)
    found = elsewhere.find(here.paths, number, as_json=json)
    with read_ledger(here.paths.ledger, now=RealClock().now) as tx:
        flying = turns.in_flight(tx, number)
    # Names the turn that is seen now: one that ends meanwhile must not have its successor interrupted for it.
    command = Interrupt(run=number, turn=flying[0].id if flying else None)
    elsewhere.ask(here.paths, found, command, here.operator, as_json=json)
    if json:
        printing.as_json({"run": number, "interrupted": flying[0].n if flying else None})
    else:
        printing.line(f"Interrupting turn {flying[0].n} of run {number}." if flying else f"Interrupting run {number}.")


def finish(run: Run, json: Json = False) -> None:
    """End a run well: its turn is waited for, then the agent is asked to leave."""
    from app.cli import elsewhere, printing
    from app.cli.surroundings import surroundings
    from app.cli.values import run_id
    from coordinator.api import Finish

    number = run_id(run)
    here = surroundings(as_json=json)
    elsewhere.refuse_inside_a_hold(here.paths, number, "finish", as_json=json)
    found = elsewhere.find(here.paths, number, as_json=json)
    elsewhere.ask(here.paths, found, Finish(run=number), here.operator, as_json=json)
    if json:
        printing.as_json({"run": number, "finishing": True})
    else:
        printing.line(f"Run {number} is finishing.")


def stop(
    run: Annotated[str | None, typer.Argument(metavar="[RUN]", help="The run's number.")] = None,
    all_runs: Annotated[bool, typer.Option("--all", help="Every run that is held.")] = False,
    kill: Annotated[bool, typer.Option("--kill", help="At once, without asking the agent.")] = False,
    json: Json = False,
) -> int:
    """Stop a run and everything that it started; works without a console, and from within a run."""
    from app.cli import elsewhere, exits, printing
    from app.cli.exits import Code, usage
    from app.cli.surroundings import surroundings
    from app.cli.values import run_id

    if (run is None) == (not all_runs):
        raise usage("Name one run to stop, or --all.")
    here = surroundings(as_json=json)
    tell = exits.note if json else printing.line
    if run is not None:
        line_held, chosen = False, [elsewhere.find(here.paths, run_id(run), as_json=json)]
    else:
        line_held, chosen = elsewhere.keep_line_back(here.paths), elsewhere.live(here.paths)
    results = [_stop_one(here, found, tell, kill=kill) for found in chosen]
    if json:
        printing.as_json({"stopped": results, "line_held": line_held})
    elif not results:
        printing.line("Nothing is held.")
    if line_held:
        tell("The line of tasks is kept back; footplate queue release lets it go.")
    return Code.DONE if all(result["ok"] for result in results) else Code.UNREACHABLE


def _stop_one(here: "Surroundings", found: "Owned", tell: "Callable[[str], None]", *, kill: bool) -> dict[str, object]:
    """Stop one, say so on the way, and go on to the next whatever came of it: a stop must not wait behind a refusal."""
    from app.cli import elsewhere, exits, printing
    from app.wording import receipt_lines
    from coordinator.api import Stop

    number = found.run.id
    if found.owner is not None:
        try:
            command = Stop(run=number, kill=kill)
            elsewhere.ask(here.paths, found, command, here.operator, once_taken=elsewhere.END_SECONDS)
        except exits.Leave as leave:
            if leave.code is exits.Code.REFUSED:
                exits.note(leave.sentence)
                return {"run": number, "ok": False, "reason": leave.sentence}
            exits.note(f"The console of run {number} did not answer; it is ended without it.")
        else:
            tell(f"Run {number} is ending; footplate show {number} has the stop report.")
            return {"run": number, "ok": True, "by": "console"}
    ended = elsewhere.stop_without_console(here.paths, found, here.operator, kill=kill)
    if ended is None:
        exits.note(f"Run {number} could not be reached; footplate ps shows what is left of it, footplate doctor why.")
        return {"run": number, "ok": False, "reason": "unreachable"}
    lines = receipt_lines(ended.receipt) if ended.receipt else ["Nothing of it was running any more."]
    tell(f"Run {number} was stopped without a console; the next one closes its books.")
    for said in lines:
        tell(printing.one_line(said, 400))
    left = bool(ended.receipt and ended.receipt.remaining)
    return {"run": number, "ok": not left, "by": "keeper", "report": ended.receipt}
