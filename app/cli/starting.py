"""``footplate`` alone, ``start`` and ``demo``: what opens a coordinator in this process."""

from typing import TYPE_CHECKING, Annotated

import typer

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

if TYPE_CHECKING:
    from pathlib import Path

    from coordinator.api import Propose


def add_to(program: typer.Typer) -> None:
    program.callback(invoke_without_command=True)(console)
    program.command("start")(start)
    program.command("demo")(demo)
    program.command("tour")(tour)


def console(context: typer.Context) -> None:
    """Hold coding agents from one terminal."""
    if context.invoked_subcommand is not None:
        return
    from app.cli.opening import open_console_here

    raise typer.Exit(open_console_here())


def start(
    brief: Annotated[str | None, typer.Argument(metavar="[BRIEF]", help="What the agent is to do.")] = None,
    brief_file: Annotated[
        str | None, typer.Option(metavar="PATH", help="Read the brief from a file; - is stdin.")
    ] = None,
    agent: Annotated[str | None, typer.Option(help="Which agent; footplate agents lists them.")] = None,
    repo: Annotated[str, typer.Option(metavar="DIR", help="The repository to work in.")] = ".",
    preset: Preset = None,
    budget: Budget = None,
    turns: Turns = None,
    work: Work = None,
    expires: Expires = None,
    model: Model = None,
    mode: Mode = None,
    worktree: Annotated[bool, typer.Option("--worktree", help="On a new tree beside yours.")] = False,
    in_place: Annotated[bool, typer.Option("--in-place", help="In your own tree.")] = False,
    no_preamble: Annotated[
        bool, typer.Option("--no-preamble", help="Send your brief without how to leave a note.")
    ] = False,
    rule: Annotated[
        list[str] | None, typer.Option(metavar="RULE", help="One more standing rule: 'allow command pytest'.")
    ] = None,
    no_rules: Annotated[bool, typer.Option("--no-rules", help="Without the standing rules that are kept.")] = False,
    script: Script = "",
    plain: Plain = False,
    json: Json = False,
    yes: Yes = False,
) -> int:
    """Start a run under terms that you see first."""
    from msgspec.structs import replace

    from app.cli import brief as briefs, opening, rules
    from app.cli.exits import usage

    if worktree and in_place:
        raise usage("--worktree and --in-place exclude each other; give one.")
    refuse_json_on_a_screen(plain=plain, json=json)
    asked = propose_from(
        repository=opening.repository_path(repo),
        agent=agent,
        preset=preset,
        budget=budget,
        turns=turns,
        work=work,
        expires=expires,
        model=model,
        mode=mode,
        worktree=True if worktree else False if in_place else None,
        preamble=not no_preamble,
        script=script,
    )
    asked = replace(asked, more_rules=rules.typed(rule or ()), rules=() if no_rules else None)
    given = briefs.read(brief, brief_file, as_json=json)
    if plain:
        if given is None:
            raise usage('--plain needs a brief: footplate start --plain "what to do", or --brief-file PATH.')
        return opening.hold_plain(asked, given.text, yes=yes, as_json=json, stdin_is_spent=brief_file == "-")
    return opening.start_in_console(asked, None if given is None else given.text, yes=yes)


def propose_from(
    *,
    repository: "Path",
    agent: str | None,
    preset: str | None,
    budget: str | None,
    turns: int | None,
    work: str | None,
    expires: str | None,
    model: str | None,
    mode: str | None,
    worktree: bool | None,
    preamble: bool,
    script: str,
) -> "Propose":
    """Everything that was typed, read before anything is opened: a typing mistake must not cost a wait."""
    from app.cli import values
    from app.cli.exits import usage
    from coordinator.api import Propose
    from coordinator.clock import RealClock
    from coordinator.terms import PRESETS

    names = [one.name for one in PRESETS]
    if preset is not None and preset not in names:
        raise usage(f"--preset {preset!r} is not one of {', '.join(names)}.")
    return Propose(
        instruction="",
        repository=str(repository),
        agent=agent,
        preset=preset,
        budget=None if budget is None else values.money(budget),
        max_turns=values.turns(turns),
        working_seconds=None if work is None else values.duration_seconds(work, "--work"),
        expires_seconds=None if expires is None else values.expires_seconds(expires, RealClock().now()),
        model=model,
        mode=mode,
        worktree=worktree,
        preamble=preamble,
        script=script,
    )


def demo(
    plain: Annotated[bool, typer.Option("--plain", help="Without a screen.")] = False,
    json: Json = False,
) -> int:
    """Try it with the practice agent, in a scratch repository: no account, no money, nothing of yours is touched."""
    import tempfile
    from pathlib import Path

    from app.cli import opening
    from coordinator.rehearsal.scratch import make_scratch_repository

    refuse_json_on_a_screen(plain=plain, json=json)
    with tempfile.TemporaryDirectory(prefix="footplate-demo-", ignore_cleanup_errors=True) as folder:
        repository = make_scratch_repository(Path(folder) / "shop")
        if plain:
            asked = propose_from(
                repository=repository,
                agent="practice",
                preset="quick",
                budget=None,
                turns=None,
                work=None,
                expires=None,
                model=None,
                mode=None,
                worktree=None,
                preamble=True,
                script="demo",
            )
            # Its repository goes with this process, so nothing of it may stay.
            return opening.hold_plain(asked, opening.DEMO_BRIEF, yes=True, as_json=json, leave=False)
        return opening.open_console(
            repository=repository, agent="practice", brief=opening.DEMO_BRIEF, script="demo", leave=False
        )


def tour() -> int:
    """Open the console here and begin with the six keys that do most of it."""
    from pathlib import Path

    from app.cli import opening

    return opening.open_console(repository=Path.cwd(), tour=True)
