"""``continue``: a new run that goes on from one that has ended, under terms that are shown first."""

from typing import Annotated

import typer

from app.cli.options import Run
from app.cli.startoptions import (
    Budget,
    Expires,
    Json,
    Mode,
    Model,
    Plain,
    Preset,
    Script,
    Turns,
    Work,
    Yes,
    refuse_json_on_a_screen,
)


def add_to(program: typer.Typer) -> None:
    program.command("continue")(continue_)


def continue_(
    run: Run,
    text: Annotated[str | None, typer.Argument(metavar="[TEXT]", help="How to go on; - reads it from stdin.")] = None,
    fresh: Annotated[
        bool | None,
        typer.Option("--fresh/--resume", help="A new conversation with an account of the run, or its own again."),
    ] = None,
    agent: Annotated[str | None, typer.Option(help="Another agent; it gets an account of the run.")] = None,
    preset: Preset = None,
    budget: Budget = None,
    turns: Turns = None,
    work: Work = None,
    expires: Expires = None,
    model: Model = None,
    mode: Mode = None,
    no_preamble: Annotated[
        bool, typer.Option("--no-preamble", help="Send your words without how to leave a note.")
    ] = False,
    script: Script = "",
    plain: Plain = False,
    json: Json = False,
    yes: Yes = False,
) -> int:
    """Go on from a run that has ended, in a new run under new terms."""
    from pathlib import Path

    from msgspec.structs import replace

    from app.cli import brief as briefs, opening
    from app.cli.starting import propose_from
    from app.cli.values import run_id

    refuse_json_on_a_screen(plain=plain, json=json)
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
