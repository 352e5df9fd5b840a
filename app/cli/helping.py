"""``help TOPIC`` and ``completion SHELL``: what is read once, to know how to go on.

A topic is a text file in ``topics``; the list of topics is the list of those files. Nothing that a topic says is said
by a second text: where there is a table already (the keys), the topic ends with it.
"""

from pathlib import Path
from typing import Annotated

import typer

TOPICS = Path(__file__).parent / "topics"


def add_to(program: typer.Typer) -> None:
    program.command("help")(help_)
    program.command("completion")(completion)


def topics() -> tuple[str, ...]:
    """The names of all topics, in the order of the alphabet."""
    return tuple(sorted(path.stem for path in TOPICS.glob("*.txt")))


def help_(
    topic: Annotated[str, typer.Argument(metavar="[TOPIC]", help="A topic, or a command.")] = "",
) -> int:
    """More on one topic: agents, budgets, files, keys, queue, rules, safety; or on one command."""
    from app.cli import printing
    from app.cli.exits import Code, usage
    from app.cli.help_text import TOP

    if not topic:
        printing.line(TOP.rstrip("\n"))
        return Code.DONE
    there = topics()
    if topic not in there:
        from app.cli import program

        if topic in program.command_names():
            return program.run([topic, "--help"])
        raise usage(f"There is no help on {topic!r}; there is on {', '.join(there)}, and on every command.")
    text = (TOPICS / f"{topic}.txt").read_text(encoding="utf-8").rstrip("\n")
    for row in _keys(text) if topic == "keys" else [text]:
        printing.line(row)
    return Code.DONE


def _keys(text: str) -> list[str]:
    """The six of the tour, the topic, and the table of keys, with the operator's own in it, as the console shows it."""
    from textwrap import wrap

    from app.config import load
    from app.console.keymap import with_keymap
    from app.console.views.actions import help_lines
    from app.console.views.tour import short_lines
    from app.paths import find
    from store.refusal import Refusal

    config = load(find())
    table, _ = with_keymap({} if isinstance(config, Refusal) else config.keys)
    rows = ["".join(span.text for span in row).rstrip() for row in help_lines(79, table)]
    # The keys inside of a card, a form or a list mean what stands beside them there, and stay.
    names = " ".join(one.action for one in table if not one.inner)
    named = wrap(names, 79, initial_indent="  ", subsequent_indent="  ", break_on_hyphens=False)
    rows += ["", "ACTIONS THAT CAN HAVE ANOTHER KEY", *named]
    return ["Six keys do most of it:", "", *short_lines(table), "", text, "", *rows]


def completion(
    shell: Annotated[str, typer.Argument(metavar="SHELL", help="bash, zsh or fish.")],
    words: Annotated[
        list[str] | None, typer.Argument(metavar="[-- WORD...]", help="A line to complete; the script asks so.")
    ] = None,
) -> int:
    """Print what makes your shell complete commands, options, runs and agents at Tab; its first lines say where to."""
    from app.cli import completing, printing
    from app.cli.exits import Code, usage

    script = completing.SCRIPTS.get(shell)
    if script is None:
        raise usage(f"There is no completion for {shell!r}; there is for {', '.join(completing.SCRIPTS)}.")
    if words is None:
        printing.line(script.rstrip("\n"))
        return Code.DONE
    for line in completing.lines(shell, words):
        printing.line(line)
    return Code.DONE
