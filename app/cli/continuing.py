"""``continue``: a new run that goes on from one that has ended, under terms that are shown first."""

from typing import Annotated

import typer


def add_to(program: typer.Typer) -> None:
    program.command("continue")(continue_)


def continue_(
    run: Annotated[str, typer.Argument(metavar="RUN", help="The run's number, as ls shows it.")],
    text: Annotated[str | None, typer.Argument(metavar="[TEXT]", help="How to go on; - reads it from stdin.")] = None,
    fresh: Annotated[
        bool | None,
        typer.Option("--fresh/--resume", help="A new conversation with an account of the run, or its own again."),
    ] = None,
    agent: Annotated[str | None, typer.Option(help="Another agent; it gets an account of the run.")] = None,
    preset: Annotated[str | None, typer.Option(help="quick, normal or overnight.")] = None,
    budget: Annotated[str | None, typer.Option(help="Money at most, as 5usd.")] = None,
    turns: Annotated[int | None, typer.Option(help="Turns at most.")] = None,
    work: Annotated[str | None, typer.Option(help="Working time at most, as 90m; waiting for you is none.")] = None,
    expires: Annotated[str | None, typer.Option(help="For how long (2h), or until when today (18:30).")] = None,
    model: Annotated[str | None, typer.Option(help="The agent's model.")] = None,
    mode: Annotated[str | None, typer.Option(help="The agent's mode.")] = None,
    no_preamble: Annotated[
        bool, typer.Option("--no-preamble", help="Send your words without how to leave a note.")
    ] = False,
    script: Annotated[str, typer.Option(help="The practice agent's script.")] = "",
    plain: Annotated[
        bool, typer.Option("--plain", help="Without a screen: lines of text, commands from stdin.")
    ] = False,
    json: Annotated[bool, typer.Option("--json", help="With --plain: JSON lines.")] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Start under these terms without asking.")] = False,
) -> int:
    """Go on from a run that has ended, in a new run under new terms."""
    from dataclasses import replace
    from pathlib import Path

    from app.cli import brief as briefs, opening
    from app.cli.exits import usage
    from app.cli.starting import propose_from
    from app.cli.values import run_id

    if json and not plain:
        raise usage("--json goes with --plain: the console has no JSON.")
    from_stdin = text == "-"
    given = briefs.read(None if from_stdin else text, "-" if from_stdin else None, as_json=json)
    asked = replace(
        propose_from(
            repository=Path.cwd(),
            agent=agent,
            preset=preset,
            budget=budget,
            turns=turns,
            work=work,
            expires=expires,
            model=model,
            mode=mode,
            worktree=None,
            preamble=not no_preamble,
            script=script,
        ),
        continues=run_id(run),
        fresh=fresh,
    )
    words = "" if given is None else given.text
    if plain:
        return opening.hold_plain(asked, words, yes=yes, as_json=json, stdin_is_spent=from_stdin)
    return opening.start_in_console(asked, words, yes=yes)
