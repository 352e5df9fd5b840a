"""Draws ``screenshots/`` from the real console: ``python -m tests.pictures [NAME…]``, or ``make screenshots``.

Console, coordinator, keeper processes and practice agent are the real ones, in a scratch repository that is gone
afterwards; nothing is drawn by hand. Only two things are arranged: the time zone, so that it is always a quarter past
nine in the pictures, and the practice agent's script. Font links are taken out: a page that shows the pictures asks no
other host for anything.
"""

import asyncio
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

from msgspec.structs import replace
from textual.containers import VerticalScroll
from textual.pilot import Pilot

from app import config, paths
from app.console.app import FootplateApp
from app.console.options import ConsoleOptions
from app.console.review.app import ReviewApp
from app.console.screens.choose import Choose
from app.console.screens.tasks import TasksSheet
from app.console.screens.taskterms import TaskTerms
from app.console.starting import title_from
from app.wiring import open_backend
from coordinator import rehearsal
from coordinator.api import (
    AddTasks,
    AnswerDecision,
    Backend,
    Finish,
    Group,
    HoldTask,
    NewTask,
    Proposal,
    Propose,
    ProposeSeries,
    Seen,
    SeriesProposals,
    SessionView,
    SignSeries,
    Started,
    StartRun,
    Stop,
    TasksAdded,
    Wishes,
)
from coordinator.clock import RealClock
from coordinator.drivers.base import Allow
from coordinator.profiles import builtin
from coordinator.rehearsal.scratch import make_scratch_repository
from coordinator.terms import TreeKind
from store.refusal import Refusal
from store.vocab import MicroUsd, RunId
from tests.console.changed import lines_there
from tests.console.driving import alone, ripe_card, settled, typed
from tests.console.review.opened import Reviewed
from tests.waiting import eventually

FOLDER = Path(__file__).resolve().parents[1] / "screenshots"
REHEARSAL = Path(rehearsal.__file__).parent
SCRIPT = Path(__file__).resolve().parent / "data" / "pictures.toml"
WIDE, NARROW = (120, 36), (80, 24)
BRIEF = "Fix the flaky test in tests/test_menu.py. Find the cause, do not just retry."
MORNING = 9 * 60 + 14
"""Minutes after midnight that it is in the pictures."""


CELL = 12.2
"""Width of a cell in Textual's pictures."""
_TEXT = re.compile(r'x="([\d.]+)"( y="[\d.]+") textLength="([\d.]+)"([^>]*)>((?:&#160;)*)(.*?)((?:&#160;)*)</text>')


def without_links(svg: str) -> str:
    """A picture that names no host: its fonts are the reader's own."""
    svg = re.sub(r"\s*@font-face\s*\{[^}]*\}", "", svg)
    svg = re.sub(r"<!--.*?-->\s*", "", svg, flags=re.DOTALL)
    svg = svg.replace("Fira Code, monospace", "Fira Code, DejaVu Sans Mono, monospace")
    svg = _TEXT.sub(_without_margins, svg)
    assert str(FOLDER.parent) not in svg.replace("&#160;", " "), "a folder of this machine"
    hosts = [found for found in re.findall(r"https?://[^\s\"')]+", svg) if found != "http://www.w3.org/2000/svg"]
    assert not hosts, hosts
    return svg


def _without_margins(found: "re.Match[str]") -> str:
    """Some viewers drop the blanks around a text and stretch the rest: say where it stands instead."""
    x, y, length, more, before, text, after = found.groups()
    if not text:
        return found.group(0)
    left, right = len(before) // 6, len(after) // 6
    at, long = float(x) + left * CELL, float(length) - (left + right) * CELL
    return f'x="{at:g}"{y} textLength="{long:g}"{more}>{text}</text>'


def it_is_morning() -> None:
    """Choose the time zone in which it is now a quarter past nine."""
    now = time.gmtime()
    ahead = (MORNING - now.tm_hour * 60 - now.tm_min) % 1440
    ahead = ahead - 1440 if ahead > 720 else ahead
    sign = "-" if ahead >= 0 else "+"  # POSIX counts westwards
    os.environ["TZ"] = f"PIC{sign}{abs(ahead) // 60:02d}:{abs(ahead) % 60:02d}"
    time.tzset()


class Album:
    """The console being looked at, and the backend behind it."""

    def __init__(self, app: FootplateApp, pilot: "Pilot[int]", backend: Backend, repository: Path) -> None:
        self.app = app
        self.pilot = pilot
        self.backend = backend
        self.repository = repository

    # -------------------------------------------------------------------------------------------------------- pictures

    async def picture(self, name: str) -> None:
        await settled(self.pilot)
        self.app.take()
        await settled(self.pilot)
        FOLDER.mkdir(exist_ok=True)
        (FOLDER / f"{name}.svg").write_text(without_links(self.app.export_screenshot(title="footplate")))
        print(f"screenshots/{name}.svg", flush=True)

    async def size(self, width: int, height: int) -> None:
        await self.pilot.resize_terminal(width, height)
        await settled(self.pilot)

    async def press(self, *keys: str) -> None:
        for key in keys:
            await alone(self.app, self.pilot, key)

    async def type(self, text: str) -> None:
        await typed(self.app, self.pilot, text)

    async def to_card(self) -> None:
        await self.press("ctrl+o")
        await ripe_card(self.app)

    # -------------------------------------------------------------------------------------------------------- sessions

    def sessions(self) -> tuple[SessionView, ...]:
        return self.backend.snapshot().sessions

    def session(self, run: RunId) -> SessionView:
        return next(one for one in self.sessions() if one.run == run)

    async def until(self, run: RunId, look: Callable[[SessionView], object]) -> None:
        try:
            await eventually(lambda: any(one.run == run and look(one) for one in self.sessions()), 30.0)
        except AssertionError:
            raise AssertionError(f"never seen; last: {self.session(run)}") from None

    async def begin(self, brief: str, title: str, *, budget: MicroUsd | None = None) -> RunId:
        proposal = await self.order(
            Propose(
                instruction=brief,
                repository=str(self.repository),
                agent="practice",
                preset="normal",
                budget=budget,
                worktree=True,
            )
        )
        assert isinstance(proposal, Proposal), proposal
        started = await self.order(StartRun(terms=proposal.terms, title=title))
        assert isinstance(started, Started), started
        return started.run

    async def order(self, command: object) -> object:
        return await asyncio.wrap_future(self.backend.submit(command))  # type: ignore[arg-type]

    async def allow(self, run: RunId) -> None:
        await self.until(run, lambda one: one.group is Group.NEEDS_YOU and one.decisions)
        asked = self.session(run).decisions[0]
        done = await self.order(
            AnswerDecision(
                run=run, decision=asked.id, revision=asked.revision, payload_hash=asked.payload_hash, answer=Allow()
            )
        )
        assert not isinstance(done, Refusal), done

    async def ended_turn(self, run: RunId) -> None:
        await self.until(run, lambda one: one.turns and one.in_flight is None)


@asynccontextmanager
async def house(home: Path) -> AsyncIterator[tuple[Backend, Path]]:
    """A backend on a scratch house, and the scratch repository."""
    source = home / "src"
    source.mkdir(parents=True)
    repository = make_scratch_repository(source / "teashop")
    own = paths.find({"FOOTPLATE_HOME": str(home / ".footplate")})
    environment = {name: os.environ[name] for name in ("PATH", "HOME", "LANG", "TZ") if name in os.environ}
    # The agent's own files lie in the scratch home too, so that no picture names a folder of this machine.
    agent = home / ".local" / "lib" / "practice" / "coordinator" / "rehearsal"
    shutil.copytree(REHEARSAL, agent, ignore=shutil.ignore_patterns("__pycache__"))
    (agent.parent / "__init__.py").touch()
    python = home / ".local" / "bin" / "python3"
    python.parent.mkdir()
    python.symlink_to(Path(sys.executable).resolve())
    profiles = tuple(
        replace(one, program=str(python), args=("-I", str(agent / "agent.py"))) if one.name == "practice" else one
        for one in builtin(environment)
    )
    script = home / ".local" / "share" / "morning.toml"
    script.parent.mkdir()
    shutil.copy(SCRIPT, script)
    told = config.Config(operator="Mara", agent="practice", max_held_sessions=12)
    with open_backend(
        told, own, profiles, environment=environment, repository=repository, practice_script=str(script)
    ) as backend:
        assert not isinstance(backend, Refusal), backend
        await eventually(lambda: backend.snapshot().repository is not None)
        yield backend, repository


async def draw(home: Path) -> None:
    async with house(home) as (backend, repository):
        options = ConsoleOptions(
            repository=str(repository), agent="practice", home=str(home), now=RealClock().now, seen_after=0.2
        )
        app = FootplateApp(backend, options)
        async with app.run_test(size=WIDE) as pilot:
            album = Album(app, pilot, backend, repository)
            await starting(album)
            await driving(album)
            await answering(album)
            await stopping(album)
            await changing(album)
            await waiting(album)
            await lining(album)
        light = ConsoleOptions(repository=str(repository), home=str(home), now=RealClock().now, theme="light")
        app = FootplateApp(backend, light)
        async with app.run_test(size=WIDE) as pilot:
            await looking(Album(app, pilot, backend, repository))


async def starting(album: Album) -> None:
    """The start form, then its terms; what else stands in the list is begun meanwhile."""
    await album.type(BRIEF)
    await album.picture("start")
    await album.press("enter")
    await eventually(lambda: album.app.drive.terms.ripe)
    await album.picture("terms")
    await album.press("t")  # on a tree of its own: what becomes of it is in a picture too
    await eventually(lambda: _on_its_own(album) and album.app.drive.terms.ripe)


def _on_its_own(album: Album) -> bool:
    proposal = album.app.drive.proposal
    return proposal is not None and proposal.terms.tree_kind is TreeKind.WORKTREE


async def others(album: Album) -> None:
    idle = await album.begin("Triage the open issues.", "triage issues")
    await album.ended_turn(idle)
    await album.order(Seen(run=idle))
    renamed = await album.begin("Rename the module menu.", "rename module")
    await album.ended_turn(renamed)
    await album.order(Finish(run=renamed))
    tried = await album.begin("Try the new linter.", "try the new linter")
    await album.allow(tried)
    await album.until(tried, lambda one: one.tools)
    await album.order(Stop(run=tried))
    moving = await album.begin("Move all prices to whole cents.", "move to whole cents")
    await album.allow(moving)
    await album.until(moving, lambda one: one.tools)
    read = await album.begin("Go over the docs.", "docs pass")
    await album.ended_turn(read)
    asks = await album.begin("Bring the dependencies up to date.", "bump dependencies")
    await album.until(asks, lambda one: one.decisions)
    await album.until(renamed, lambda one: one.group is Group.ENDED)
    await album.until(tried, lambda one: one.group is Group.ENDED)


async def driving(album: Album) -> None:
    """Seven sessions, one of them begun here with Enter."""
    await album.press("enter")
    await eventually(lambda: album.app.drive.run_in_view is not None)
    run = in_view(album)
    await album.until(run, lambda one: one.decisions)
    await others(album)
    await album.type("and while you are there, look at the till")
    await album.picture("driving")
    await album.size(*NARROW)
    await album.picture("narrow")
    await album.size(200, 50)
    await album.picture("large")
    await album.size(*WIDE)


async def answering(album: Album) -> None:
    run = in_view(album)
    await album.to_card()
    await album.picture("permission")
    await album.press("1")
    await album.until(run, lambda one: any(each.tool == "Edit" for each in one.decisions if not each.answer))
    await album.to_card()  # the oldest: by now that of another session
    await album.press("2")
    await album.picture("question")
    await album.press("escape")
    await album.app.deeds.viewing.view(run)
    album.app.drive.composer.set_text("")
    await eventually(lambda: album.app.drive.card.ripe)
    await album.press("tab")
    await ripe_card(album.app)
    await album.picture("edit")
    await album.press("1")
    for command in ("tail", "setsid"):
        await album.until(
            run, lambda one, what=command: any(what in each.subject for each in one.decisions if not each.answer)
        )
        await album.allow(run)
    await album.until(run, lambda one: one.group is Group.WORKING and not one.tools)
    await eventually(lambda: any("waiting for it" in row for row in shown(album)))


async def stopping(album: Album) -> None:
    run = in_view(album)
    await album.press("ctrl+backslash")
    await album.until(run, lambda one: one.ending is not None and any(name == "term" for name, _ in one.ending.steps))
    await album.picture("ending")
    await album.until(run, lambda one: one.receipt is not None)
    await album.picture("stopped")
    await album.press("escape", "l")
    await album.picture("stop-report")
    album.app.screen.query_one(VerticalScroll).scroll_end(animate=False)
    await album.picture("details")
    await album.press("escape", "question_mark")
    await album.picture("help")
    await album.press("escape")
    await album.press("ctrl+right_square_bracket")
    await album.picture("stop-all")
    await album.press("escape")


async def changing(album: Album) -> None:
    """What the stopped one changed, and what may become of its tree."""
    await album.press("d")
    await lines_there(album.app)
    await album.picture("changes")
    await album.press("escape", "B")
    await eventually(lambda: isinstance(album.app.screen, Choose))
    await album.picture("disposition")
    await album.press("escape")


async def waiting(album: Album) -> None:
    """One that holds at its budget, and all that waits, in one list."""
    spent = await album.begin("Go over the docs.", "docs, once more", budget=MicroUsd(300_000))
    await album.until(spent, lambda one: one.at_budget)
    await album.app.deeds.viewing.view(spent)
    await eventually(lambda: album.app.drive.card.shown)
    await album.press("tab")
    await ripe_card(album.app)
    await album.picture("budget")
    await album.press("escape", "escape", "a")
    await album.picture("attention")
    await album.press("escape")


async def lining(album: Album) -> None:
    """Tasks in line, one in each of the ways in which they stand; and the terms of the one that has none."""
    wishes = Wishes(agent="practice")
    briefs: tuple[tuple[str, str, dict[str, object]], ...] = (
        ("cents", "Move all prices to whole cents.", {"paths": ("teashop",)}),
        ("docs", "Go over the docs.", {}),
        ("triage", "Triage the open issues.", {"wishes": replace(wishes, attempts=1)}),
        ("linter", "Try the new linter.", {"paths": ("teashop/menu.py",), "priority": 1}),
        ("release", "Release it, once the prices are right.", {"needs": ("cents",)}),
        ("till", "Port the till. Keep its tests as they are.", {"wishes": replace(wishes, budget=MicroUsd(2_000_000))}),
        ("dark", "Draw the menu for dark screens.", {}),
    )
    tasks = tuple(
        NewTask(
            name=name,
            instruction=brief,
            title=title_from(brief),
            repositories=(str(album.repository),),
            **({"wishes": wishes} | more),  # type: ignore[arg-type]
        )
        for name, brief, more in briefs
    )
    added = await album.order(AddTasks(tasks=tasks))
    assert isinstance(added, TasksAdded), added
    *agreed, unsigned, kept_back = added.tasks
    await album.order(HoldTask(task=kept_back, held=True))
    proposed = await album.order(ProposeSeries(tasks=(*agreed, kept_back)))
    assert isinstance(proposed, SeriesProposals) and not proposed.refused, proposed
    done = await album.order(SignSeries(terms=tuple(one.terms for one in proposed.proposals)))
    assert not isinstance(done, Refusal), done
    await eventually(lambda: _counts(album) == (4, 1, 1), 60.0)
    await album.press("Q")
    panel = album.app.screen
    assert isinstance(panel, TasksSheet)
    await eventually(lambda: panel.settled)
    await album.picture("tasks")
    await album.size(*NARROW)
    await album.picture("tasks-narrow")
    await album.size(*WIDE)
    panel.light(unsigned)
    await album.press("s")
    await eventually(lambda: isinstance(album.app.screen, TaskTerms))
    await album.picture("task-terms")
    await album.press("escape", "escape")


def _counts(album: Album) -> tuple[int, int, int]:
    queue = album.backend.snapshot().queue
    return queue.waiting, queue.working, queue.needs_operator


def shown(album: Album) -> list[str]:
    """The rows of the screen, as text."""
    return [strip.text for strip in album.app.screen._compositor.render_strips()]


def in_view(album: Album) -> RunId:
    run = album.app.drive.run_in_view
    assert run is not None
    return run


async def looking(album: Album) -> None:
    other = next(one.run for one in album.sessions() if one.title == "bump dependencies")
    await album.app.deeds.viewing.view(other)
    await album.picture("light")


async def reviewing(home: Path) -> None:
    """The same ledger, looked through when no console is open any more."""
    ledger = paths.find({"FOOTPLATE_HOME": str(home / ".footplate")}).ledger
    app = ReviewApp(ledger, ConsoleOptions(home=str(home), now=RealClock().now))
    async with app.run_test(size=WIDE) as pilot:
        on = Reviewed(app, app.review, pilot)
        await on.still()
        app.review.list.runs.to(len(app.review.list.runs.items) - 1)  # the first of all
        await on.still()
        for name, keys in (
            ("review", ()),
            ("review-facts", ("enter", "tab", "tab")),
            ("review-money", ("tab",)),
            ("review-replay", ("r", *["full_stop"] * 9)),
            ("review-search", ("escape", "escape", "f", *"flaky", "enter", "t")),
        ):
            await on.press(*keys)
            (FOLDER / f"{name}.svg").write_text(without_links(app.export_screenshot(title="footplate")))
            print(f"screenshots/{name}.svg", flush=True)


def main() -> int:
    it_is_morning()
    with tempfile.TemporaryDirectory(prefix="footplate-pictures-") as folder:
        home = Path(folder) / "mara"
        os.environ["HOME"] = str(home)
        try:
            asyncio.run(draw(home))
            asyncio.run(reviewing(home))
        finally:
            # What was left held, as the pictures need it: nobody comes back to these.
            footplate = [sys.executable, "-P", "-m", "app.main", "stop", "--all"]
            own = {"FOOTPLATE_HOME": str(home / ".footplate"), "PYTHONPATH": str(FOLDER.parent)}
            subprocess.run(footplate, env=os.environ | own, check=False)
    return 0


if __name__ == "__main__":
    sys.exit(main())
