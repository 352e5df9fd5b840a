"""``queue add``: from what was typed, or from a file, to tasks in line; then their terms, if now."""

import sys
from collections.abc import Sequence
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from app.cli import brief as briefs, printing, rules, taskdesk, taskterms, values
from app.cli.exits import Code, Leave, refused, usage
from app.cli.opening import refuse_inside_a_hold, repository_path
from app.cli.surroundings import surroundings
from app.wording_tasks import tasks_words
from coordinator.api import AddTasks, NewTask, TasksAdded, Wishes
from coordinator.clock import RealClock
from coordinator.terms import PRESETS
from store.refusal import Refusal
from store.vocab import TaskId

_MOST_BYTES = 64 * 1024 * 1024


class Asked(Struct, frozen=True, kw_only=True):
    """As it was typed."""

    text: str | None
    file: str | None
    repositories: tuple[str, ...]
    title: str
    after: tuple[str, ...]
    paths: tuple[str, ...]
    priority: int | None
    wishes: Wishes


def wishes(
    base: Wishes = Wishes(),  # noqa: B008 (frozen)
    *,
    agent: str | None,
    preset: str | None,
    budget: str | None,
    turns: int | None,
    work: str | None,
    expires: str | None,
    attempts: int | None,
    model: str | None,
    mode: str | None,
    in_place: bool | None,
    no_preamble: bool = False,
    rule: Sequence[str] = (),
    script: str = "",
) -> Wishes:
    """What was typed over ``base``: what was not typed stays.

    Raises:
        Leave: one of them cannot be meant.
    """
    names = [one.name for one in PRESETS]
    if preset is not None and preset not in names:
        raise usage(f"--preset {preset!r} is not one of {', '.join(names)}.")
    typed: dict[str, object] = {
        "agent": agent,
        "preset": preset,
        "budget": None if budget is None else values.money(budget),
        "max_turns": values.turns(turns),
        "working_seconds": None if work is None else values.duration_seconds(work, "--work"),
        "expires_seconds": None if expires is None else values.expires_seconds(expires, RealClock().now()),
        "attempts": attempts,
        "model": model,
        "mode": mode,
        "in_place": in_place,
        "preamble": False if no_preamble else None,
        "rules": rules.typed(rule) if rule else None,
        "script": script or None,
    }
    return replace(base, **{name: value for name, value in typed.items() if value is not None})


def add(asked: Asked, *, later: bool, yes: bool, as_json: bool) -> int:
    """
    Raises:
        Leave: nothing was added, and why.
    """
    if later and yes:
        raise usage("--later and --yes exclude each other; give one.")
    tasks = _from_file(asked, as_json=as_json) if asked.file is not None else (_typed(asked, as_json=as_json),)
    keyboard = sys.stdin.isatty() and not as_json and "-" not in (asked.text, asked.file)
    if not (later or yes or keyboard):
        raise Leave(
            Code.REFUSED,
            "Nobody is at the keyboard to agree to the terms; add --yes to agree without being asked, "
            "or --later to leave that for later.",
            machine={"refused": "no-terminal"} if as_json else None,
        )
    here = surroundings(as_json=as_json)
    refuse_inside_a_hold(here, "queue add", as_json=as_json)
    if not here.config.preamble:
        tasks = tuple(replace(one, wishes=replace(one.wishes, preamble=False)) for one in tasks)
    added = taskdesk.done(here, AddTasks(tasks=tasks), TasksAdded, as_json=as_json).tasks
    if not as_json:
        printing.sentence(f"{tasks_words(added)} {'is' if len(added) == 1 else 'are'} in line.")
    if later:
        return _left(added, as_json=as_json)
    return taskterms.agree(here, added, yes=yes, as_json=as_json, added=added)


def _left(added: Sequence[TaskId], *, as_json: bool) -> int:
    if as_json:
        printing.as_json({"added": list(added), "agreed": []})
    else:
        it = f"queue agree {added[0]}" if len(added) == 1 else "queue agree"
        printing.sentence(f"Nothing is begun before you have agreed to the terms: footplate {it} shows them.")
    return Code.DONE


def _typed(asked: Asked, *, as_json: bool) -> NewTask:
    given = briefs.read(None if asked.text == "-" else asked.text, "-" if asked.text == "-" else None, as_json=as_json)
    if given is None:
        raise usage('add what? footplate queue add "what to do", or --file PATH.')
    return NewTask(
        instruction=given.text,
        repositories=_repositories(asked),
        title=asked.title,
        paths=asked.paths,
        needs=values.task_ids(asked.after),
        priority=asked.priority or 0,
        wishes=asked.wishes,
    )


def _repositories(asked: Asked) -> tuple[str, ...]:
    return tuple(dict.fromkeys(str(repository_path(one)) for one in asked.repositories or (".",)))


def _from_file(asked: Asked, *, as_json: bool) -> tuple[NewTask, ...]:
    """What stands beside ``--file`` goes for each task in it that says nothing of its own.

    Raises:
        Leave: it cannot be read, or has a mistake: then nothing is added.
    """
    from coordinator.tasks import queuefile

    if asked.text is not None:
        raise usage("Give the task as text, or tasks with --file; not both.")
    if asked.title or asked.after or asked.paths or asked.priority is not None:
        raise usage("--title, --after, --path and --priority are of one task; in a file each task has its own.")
    name = asked.file or "-"
    path = Path.cwd() if name == "-" else Path(name).expanduser().absolute()
    found = queuefile.parse(
        _read(name, path),
        name="stdin" if name == "-" else name,
        beside=path if name == "-" else path.parent,
        repositories=_repositories(asked),
        base=asked.wishes,
    )
    if isinstance(found, Refusal):
        raise refused(found, as_json=as_json)
    return found


def _read(name: str, path: Path) -> str:
    try:
        if name == "-":
            raw = sys.stdin.buffer.read(_MOST_BYTES + 1)
        else:
            if not path.is_file():
                raise usage(f"{name} is not a file that can be read; name one, or - for stdin.")
            with path.open("rb") as opened:
                raw = opened.read(_MOST_BYTES + 1)
    except OSError as problem:
        raise usage(f"{name} cannot be read: {(problem.strerror or str(problem)).lower()}.") from problem
    if len(raw) > _MOST_BYTES:
        raise usage(f"{name} is larger than 64 MiB; make several files of it.")
    try:
        return raw.decode("utf-8-sig").replace("\r\n", "\n")
    except UnicodeDecodeError as problem:
        raise usage(f"{name} is not valid UTF-8 text; save it as UTF-8 and try again.") from problem
