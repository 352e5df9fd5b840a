"""``queue …``: tasks that wait in line. Declarations only; what a command does is in ``taskadding``, ``taskterms``,
``taskchanging``, ``tasklist`` and ``queuerun``.

All but ``run`` works beside a living console and without one. From within a run only ``ls`` and ``show`` do.
"""

from typing import Annotated

import typer

from app.cli.options import Json
from app.cli.startoptions import Budget, Expires, Mode, Model, Preset, Script, Turns, Work

Task = Annotated[str, typer.Argument(metavar="ID", help="The task's number, as queue ls shows it.")]
Tasks = Annotated[list[str], typer.Argument(metavar="ID...", help="Numbers, also 3-7.")]
SomeTasks = Annotated[list[str] | None, typer.Argument(metavar="[ID...]", help="Numbers, also 3-7.")]
After = Annotated[list[str] | None, typer.Option(metavar="ID", help="Only once this task is done; repeatable.")]
Path = Annotated[
    list[str] | None,
    typer.Option(metavar="PATH", help="Folder or file that no other task works on meanwhile; repeatable."),
]
Priority = Annotated[int | None, typer.Option(min=-1000, max=1000, help="Higher goes first; 0 if not said.")]
Agent = Annotated[str | None, typer.Option(help="Which agent; footplate agents lists them.")]
Attempts = Annotated[int | None, typer.Option(min=1, max=20, help="How often it may be tried; 3 if not said.")]


def add_to(program: typer.Typer) -> None:
    queue = typer.Typer(
        help="Tasks that wait in line: an open console works through them while you are there.",
        rich_markup_mode=None,
        context_settings={"help_option_names": ["--help", "-h"]},
    )
    queue.callback(invoke_without_command=True)(_listed)
    for name, command in (
        ("ls", ls),
        ("show", show),
        ("add", add),
        ("agree", agree),
        ("edit", edit),
        ("hold", hold),
        ("release", release),
        ("retry", retry),
        ("accept", accept),
        ("rm", rm),
        ("run", run),
    ):
        queue.command(name)(command)
    program.add_typer(queue, name="queue")


def _listed(context: typer.Context) -> None:
    """Tasks that wait in line: an open console works through them while you are there."""
    if context.invoked_subcommand is None:
        ls()


def ls(
    live: Annotated[bool, typer.Option("--live", help="Only what is not over.")] = False,
    limit: Annotated[int, typer.Option(min=1, max=20_000, help="How many.")] = 50,
    json: Json = False,
) -> None:
    """What needs you, what is at work, what waits and why, what is over."""
    from app.cli import tasklist
    from app.cli.surroundings import surroundings

    tasklist.list_tasks(surroundings(as_json=json), live=live, limit=limit, as_json=json)


def show(task: Task, json: Json = False) -> None:
    """One task: what is to be done, how it stands, its attempts."""
    from app.cli import tasklist
    from app.cli.surroundings import surroundings
    from app.cli.values import task_id

    tasklist.show_task(surroundings(as_json=json), task_id(task), as_json=json)


def add(
    text: Annotated[
        str | None, typer.Argument(metavar="[TEXT]", help="What is to be done; - reads it from stdin.")
    ] = None,
    repo: Annotated[
        list[str] | None, typer.Option(metavar="DIR", help="The repository; repeatable: a task in each.")
    ] = None,
    title: Annotated[str, typer.Option(help="A short name; else the first words.")] = "",
    after: After = None,
    path: Path = None,
    priority: Priority = None,
    agent: Agent = None,
    preset: Preset = None,
    budget: Annotated[str | None, typer.Option(help="Money at most for all attempts together, as 5usd.")] = None,
    turns: Turns = None,
    work: Work = None,
    expires: Annotated[
        str | None, typer.Option(help="For how long it may still be begun (8h), or until (18:30).")
    ] = None,
    attempts: Attempts = None,
    model: Model = None,
    mode: Mode = None,
    in_place: Annotated[bool, typer.Option("--in-place", help="In your own tree, not in one of its own.")] = False,
    no_preamble: Annotated[
        bool, typer.Option("--no-preamble", help="Send your words without how to leave a note.")
    ] = False,
    rule: Annotated[
        list[str] | None, typer.Option(metavar="RULE", help="One more standing rule: 'allow command pytest'.")
    ] = None,
    script: Script = "",
    file: Annotated[
        str | None, typer.Option(metavar="PATH", help="Many tasks from a TOML or JSON-lines file; - is stdin.")
    ] = None,
    later: Annotated[bool, typer.Option("--later", help="Agree to the terms later: queue agree.")] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Agree to the terms without being asked.")] = False,
    json: Json = False,
) -> int:
    """Put a task in line, under terms that you see first."""
    from app.cli import taskadding

    wished = taskadding.wishes(
        agent=agent,
        preset=preset,
        budget=budget,
        turns=turns,
        work=work,
        expires=expires,
        attempts=attempts,
        model=model,
        mode=mode,
        in_place=in_place,
        no_preamble=no_preamble,
        rule=rule or (),
        script=script,
    )
    asked = taskadding.Asked(
        text=text,
        file=file,
        repositories=tuple(repo or ()),
        title=title,
        after=tuple(after or ()),
        paths=tuple(path or ()),
        priority=priority,
        wishes=wished,
    )
    return taskadding.add(asked, later=later, yes=yes, as_json=json)


def agree(
    tasks: SomeTasks = None,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Agree without being asked.")] = False,
    json: Json = False,
) -> int:
    """See and agree to the terms of tasks in line.

    Without a number: of all whose terms nobody has agreed to.
    """
    from app.cli import elsewhere, taskterms
    from app.cli.surroundings import surroundings
    from app.cli.values import task_ids

    ids = task_ids(tasks or ())
    here = surroundings(as_json=json)
    elsewhere.refuse_inside_a_hold(here.paths, None, "queue agree", as_json=json)
    return taskterms.agree(here, ids, yes=yes, as_json=json)


def edit(
    task: Task,
    text: Annotated[str | None, typer.Option(metavar="TEXT", help="What is to be done; - reads it from stdin.")] = None,
    title: Annotated[str | None, typer.Option(help="Its short name.")] = None,
    after: Annotated[
        list[str] | None, typer.Option(metavar="ID", help="Only once these are done; repeatable; none: at once.")
    ] = None,
    path: Path = None,
    priority: Priority = None,
    agent: Agent = None,
    preset: Preset = None,
    budget: Budget = None,
    turns: Turns = None,
    work: Work = None,
    expires: Expires = None,
    attempts: Attempts = None,
    model: Model = None,
    mode: Mode = None,
    in_place: Annotated[
        bool | None, typer.Option("--in-place/--own-tree", help="In your own tree, or in one of its own.")
    ] = None,
    json: Json = False,
) -> None:
    """Change a task.

    Unless only its needs or its priority change, its terms are to be agreed to again.
    """
    from app.cli import taskchanging

    wished = dict(
        agent=agent,
        preset=preset,
        budget=budget,
        turns=turns,
        work=work,
        expires=expires,
        attempts=attempts,
        model=model,
        mode=mode,
        in_place=in_place,
    )
    taskchanging.edit(
        task, text=text, title=title, after=after, paths=path, priority=priority, wished=wished, as_json=json
    )


def hold(tasks: SomeTasks = None, json: Json = False) -> int:
    """Keep tasks back, or the whole line.

    Without a number the whole line: nothing more is begun, what is at work goes on.
    """
    from app.cli import taskchanging

    return taskchanging.keep_back(tasks or (), held=True, as_json=json)


def release(
    tasks: SomeTasks = None,
    agent: Annotated[
        str | None, typer.Option(metavar="NAME", help="Begin tasks of this agent again: you have seen to it.")
    ] = None,
    json: Json = False,
) -> int:
    """Let tasks go that were kept back, or the whole line."""
    from app.cli import taskchanging

    return taskchanging.keep_back(tasks or (), held=False, agent=agent, as_json=json)


def retry(tasks: Tasks, json: Json = False) -> int:
    """Put tasks in line again that failed, were stopped or need you."""
    from app.cli import taskchanging

    return taskchanging.each("retry", tasks, as_json=json)


def accept(tasks: Tasks, json: Json = False) -> int:
    """Take tasks that need you as done."""
    from app.cli import taskchanging

    return taskchanging.each("accept", tasks, as_json=json)


def rm(tasks: Tasks, json: Json = False) -> int:
    """Take tasks out of the line.

    One that was tried stays on record, as stopped.
    """
    from app.cli import taskchanging

    return taskchanging.each("rm", tasks, as_json=json)


def run(
    json: Annotated[bool, typer.Option("--json", help="JSON lines.")] = False,
) -> int:
    """Work through the line here, without a screen.

    Until nothing is left that could begin: then 0; 3 where what is left needs you; else 1 where a task failed. Lines
    begin with their run; what you type begins with a run's number where several are at work (help lists it).
    """
    from app.cli import queuerun

    return queuerun.run(as_json=json)
