"""The command line as one Typer program. Which commands there are stands here; what each does is in its own file.

Rich markup and pretty tracebacks are off: they cost half of the start, and they read what an agent wrote as markup. A
command imports what it needs when it runs, so that ``COMMAND --help`` loads neither the ledger nor the console.
"""

from collections.abc import Sequence
from typing import Annotated

import typer

from app.cli import (
    caring,
    continuing,
    differing,
    exporting,
    extending,
    helping,
    housekeeping,
    importing,
    looking,
    reviewing,
    rules,
    serving,
    speaking,
    starting,
    sweeping,
    tasks,
    trees,
)
from app.cli.exits import Code, Leave, usage

PROGRAM = typer.Typer(
    name="footplate",
    help="Hold coding agents from one terminal.",
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    add_completion=False,
    no_args_is_help=False,
    context_settings={"help_option_names": ["--help", "-h"]},
)
starting.add_to(PROGRAM)
continuing.add_to(PROGRAM)
speaking.add_to(PROGRAM)
extending.add_to(PROGRAM)
looking.add_to(PROGRAM)
differing.add_to(PROGRAM)
reviewing.add_to(PROGRAM)
exporting.add_to(PROGRAM)
caring.add_to(PROGRAM)
housekeeping.add_to(PROGRAM)
rules.add_to(PROGRAM)
importing.add_to(PROGRAM)
sweeping.add_to(PROGRAM)
trees.add_to(PROGRAM)
tasks.add_to(PROGRAM)
helping.add_to(PROGRAM)
serving.add_to(PROGRAM)


@PROGRAM.callback(invoke_without_command=True)
def _console(
    context: typer.Context,
    repo: Annotated[
        str | None, typer.Option(metavar="DIR", help="Open the console for this repository; else for this folder.")
    ] = None,
) -> int:
    """Hold coding agents from one terminal."""
    if context.invoked_subcommand is not None:
        if repo is not None:
            raise usage(f"--repo before a command is for the console; write it behind {context.invoked_subcommand}.")
        return Code.DONE
    from app.cli.opening import open_console, repository_path

    return open_console(repository=repository_path(repo or "."))


# Typer brings its own click along; its exceptions have no public name.
_UsageProblem: type[Exception] = next(kind for kind in typer.BadParameter.__mro__ if kind.__name__ == "ClickException")


def command_names() -> tuple[str, ...]:
    """Of every command that is shown, in the order of the alphabet."""
    commands = [one.name for one in PROGRAM.registered_commands if not one.hidden]
    groups = [one.name for one in PROGRAM.registered_groups if not one.hidden]
    return tuple(sorted(name for name in (*commands, *groups) if isinstance(name, str)))


def run(arguments: Sequence[str]) -> int:
    """Carry out one command; its exit code.

    Raises:
        Leave: it was refused, or typed wrongly.
    """
    try:
        result = PROGRAM(args=list(arguments), prog_name="footplate", standalone_mode=False)
    except typer.Abort:
        return Code.INTERRUPTED
    except _UsageProblem as problem:
        raise Leave(Code.USAGE, _sentence(problem)) from problem
    return result if isinstance(result, int) else Code.DONE


def _sentence(problem: Exception) -> str:
    said = str(getattr(problem, "format_message", lambda: str(problem))()).strip()
    context = getattr(problem, "ctx", None)
    path = getattr(context, "command_path", "footplate")
    return f"{' '.join(said.split()).rstrip('.')}; {path} --help shows what there is."
