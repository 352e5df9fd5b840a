"""What can be said of a run that is to begin, as options: ``start`` and ``continue`` take the same words for the same
thing. Declarations only: to show a command's help nothing else is loaded."""

from typing import Annotated

import typer

Preset = Annotated[str | None, typer.Option(help="quick, normal or overnight.")]
Budget = Annotated[str | None, typer.Option(help="Money at most, as 5usd.")]
Turns = Annotated[int | None, typer.Option(help="Turns at most.")]
Work = Annotated[str | None, typer.Option(help="Working time at most, as 90m; waiting for you is none.")]
Expires = Annotated[str | None, typer.Option(help="For how long (2h), or until when today (18:30).")]
Model = Annotated[str | None, typer.Option(help="The agent's model.")]
Mode = Annotated[str | None, typer.Option(help="The agent's mode.")]
Script = Annotated[str, typer.Option(help="The practice agent's script.")]
Plain = Annotated[bool, typer.Option("--plain", help="Without a screen: lines of text, commands from stdin.")]
Json = Annotated[bool, typer.Option("--json", help="With --plain: JSON lines.")]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Start under these terms without asking.")]


def refuse_json_on_a_screen(*, plain: bool, json: bool) -> None:
    """
    Raises:
        Leave: JSON was asked for, and not --plain.
    """
    if json and not plain:
        from app.cli.exits import usage

        raise usage("--json goes with --plain: the console has no JSON.")
