"""``ls``, ``attention``, ``show``, ``ps``, ``budget`` and ``agents``: reading only.

They work beside a living console, from within a run, and where there is no ledger at all.
"""

from typing import TYPE_CHECKING, Annotated

import typer

from app.cli.options import Json, Run

if TYPE_CHECKING:
    from app.cli.overview import RunLine


def add_to(program: typer.Typer) -> None:
    program.command("ls")(ls)
    program.command("attention")(attention)
    program.command("show")(show)
    program.command("ps")(ps)
    program.command("budget")(budget)
    program.command("agents")(agents)


def ls(
    live: Annotated[bool, typer.Option("--live", help="Only what has not ended.")] = False,
    here: Annotated[bool, typer.Option("--here", help="Only runs in this repository.")] = False,
    limit: Annotated[int, typer.Option(min=1, max=10_000, help="How many, newest first.")] = 50,
    json: Json = False,
) -> None:
    """Runs, and what waits for you."""
    from app.cli import overview, printing
    from app.cli.surroundings import surroundings

    around = surroundings(as_json=json)
    lines = overview.read(around.paths, live_only=live, here=here, limit=limit)
    if json:
        printing.as_json({"runs": lines})
        return
    if not lines:
        printing.sentence("No runs yet. Start one with footplate start, or try footplate demo.")
        return
    _print_runs(lines, ascii=around.config.ascii)
    for one in lines:
        for question in one.questions:
            printing.line()
            printing.sentence(
                f"question {question.id} of run {one.run} ({question.kind}, {question.waiting}): {question.title}"
            )
            for said in printing.literal_lines(question.subject)[:6]:
                printing.line(f"    {said}")
            printing.sentence(
                f"  answer with: footplate answer {question.id} CHOICE   (footplate show {one.run} has all of it)"
            )


def _print_runs(lines: "list[RunLine]", *, ascii: bool) -> None:
    from app.cli import printing
    from app.cli.columns import Column
    from app.wording import group_glyph

    shape = (
        Column(),
        Column(head="run", right=True),
        Column(head="title", least=12),
        Column(head="agent", least=8, goes=3),
        Column(head="how it stands", least=13),
        Column(head="spent", right=True, goes=1),
        Column(head="turns", right=True, goes=4),
        Column(head="ago", right=True, goes=2),
    )
    rows = [
        (
            group_glyph(one.group, ascii),
            str(one.run),
            one.title,
            one.agent,
            one.standing,
            one.money,
            one.turns,
            one.when,
        )
        for one in lines
    ]
    printing.table(rows, shape)


def attention(json: Json = False) -> None:
    """What waits for you, over all runs, oldest first."""
    from app.cli import attentionlist, printing
    from app.cli.surroundings import surroundings

    lines = attentionlist.read(surroundings(as_json=json).paths)
    if json:
        printing.as_json({"attention": lines})
    else:
        attentionlist.print_lines(lines)


def show(
    run: Run,
    transcript: Annotated[bool, typer.Option("--transcript", help="All that was said and done.")] = False,
    json: Json = False,
) -> None:
    """One run: its terms, turns, questions, what changed, its stop report."""
    from app.cli import printing, report
    from app.cli.surroundings import surroundings
    from app.cli.values import run_id

    around = surroundings(as_json=json)
    found = report.read(around.paths, run_id(run), transcript=transcript, as_json=json)
    if json:
        printing.as_json(found)
    else:
        report.print_run(found)


def ps(json: Json = False) -> None:
    """The processes of every run that is held, with memory and age."""
    from app.cli import printing, processes
    from app.cli.surroundings import surroundings

    around = surroundings(as_json=json)
    found = processes.read(around.paths)
    if json:
        printing.as_json(found)
    else:
        processes.print_found(found)


def budget(json: Json = False) -> None:
    """Money: limits, spent, reserved and left; today, this month, by agent, and for every run that is held."""
    from app.cli import budgets, printing
    from app.cli.surroundings import agent_profiles, surroundings

    around = surroundings(as_json=json)
    profiles = agent_profiles(around.paths, around.config, as_json=json)
    found = budgets.read(around.paths, around.config, tuple(one.name for one in profiles))
    if json:
        printing.as_json(found)
    else:
        budgets.print_budgets(found)


def agents(json: Json = False) -> None:
    """Which agents can be run here, what they can do, and how to get the others."""
    import os

    from app.cli import agentlist, printing
    from app.cli.surroundings import agent_profiles, surroundings
    from coordinator.clock import RealClock

    around = surroundings(as_json=json)
    found = agentlist.read(
        agent_profiles(around.paths, around.config, as_json=json),
        os.environ,
        cache=around.paths.runtime / "versions.json",
        ledger=around.paths.ledger,
    )
    if json:
        printing.as_json({"agents": found})
    else:
        agentlist.print_agents(found, RealClock().now())
