"""``doctor``, ``config``, ``notify``: is the machine fit, what is in force, what tells you."""

from typing import TYPE_CHECKING, Annotated

import typer

from app.cli.options import Json

if TYPE_CHECKING:
    from app.cli.checkup import Finding


def add_to(program: typer.Typer) -> None:
    program.command("doctor")(doctor)
    program.command("config")(config)
    program.command("notify")(notify)


def doctor(
    json: Json = False,
    keys: Annotated[bool, typer.Option("--keys", help="Show what each key you press arrives as.")] = False,
    bundle: Annotated[
        str, typer.Option(metavar="FILE", help="Write what a bug report needs into one text file; - prints it.")
    ] = "",
) -> int:
    """Check this machine: the agents, git, the terminal, folders, the disk; a remedy for each finding."""
    if keys:
        return _keys()
    from app.cli import checkup, printing
    from app.cli.exits import Code

    findings = checkup.examine(ask_terminal=not json and not bundle)
    if bundle:
        return _bundle(bundle, findings)
    bad = any(one.level is checkup.Level.BAD for one in findings)
    if json:
        printing.as_json({"ok": not bad, "findings": findings})
    else:
        for one in findings:
            printing.line(f"{one.level.value:<5} {one.what}: {printing.one_line(one.found, 400)}")
            if one.remedy:
                printing.line(f"      {printing.one_line(one.remedy, 600)}")
    return Code.REFUSED if bad else Code.DONE


def _bundle(target: str, findings: "list[Finding]") -> int:
    """
    Raises:
        Leave: there is a file of that name, or none can be written there.
    """
    import os
    from pathlib import Path

    from app.cli import printing, reportbundle
    from app.cli.exits import Code, Leave
    from app.paths import find
    from app.wording import plural

    text = reportbundle.make(findings, find(), os.environ)
    if target == "-":
        printing.line(text.rstrip("\n"))
        return Code.DONE
    path = Path(target).expanduser()
    try:
        # Never through what is there already, and nobody else's to read.
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    except OSError as problem:
        reason = (problem.strerror or str(problem)).lower()
        raise Leave(Code.REFUSED, f"{target} cannot be made: {reason}; give the name of a new file.") from problem
    with os.fdopen(handle, "w", encoding="utf-8", errors="backslashreplace") as file:
        file.write(text)
    lines = plural(len(text.splitlines()), "line")
    printing.sentence(f"It is in {printing.one_line(str(path))}, {lines}. Nothing was sent.")
    printing.sentence(
        "It has versions, settings, findings, the log and counts, and no text of any conversation. Read it first."
    )
    return Code.DONE


def _keys() -> int:
    """
    Raises:
        Leave: there is no terminal to press keys in.
    """
    from app.cli.keylog import show_keys
    from app.cli.opening import need_a_terminal
    from app.cli.screen import tell_escape_delay
    from app.cli.surroundings import surroundings

    need_a_terminal()
    around = surroundings()
    tell_escape_delay(around.config)
    return show_keys(around.config.keys)


def config(json: Json = False) -> None:
    """The configuration in force, and in which files it lies."""
    from msgspec.structs import asdict

    from app.cli import configwords, printing
    from app.cli.columns import Column
    from app.cli.surroundings import agent_profiles, surroundings

    around = surroundings(as_json=json)
    profiles = agent_profiles(around.paths, around.config, as_json=json)
    paths = {name: str(value) for name, value in asdict(around.paths).items()}
    if json:
        values = asdict(around.config) | {"operator": around.operator}
        printing.as_json({"paths": paths, "config": values, "agents": [one.name for one in profiles]})
        return
    printing.table([(name, printing.one_line(value)) for name, value in paths.items()], (Column(), Column()))
    printing.line()
    for said in configwords.as_written(around.config, operator=around.operator):
        printing.line(printing.one_line(said, 5000))
    printing.line()
    printing.line(f"agents: {', '.join(one.name for one in profiles)}")


def notify(test: Annotated[bool, typer.Option("--test", help="Try every way once.")] = False) -> int:
    """How you are told when you look elsewhere ([notify] in config.toml); --test tries each way once."""
    from app.cli.noticing import show_ways

    return show_ways(test=test)
