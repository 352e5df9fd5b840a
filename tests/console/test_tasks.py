"""The tasks in line, by keyboard and mouse: what each key asks for, what it says where it does nothing, and what of a
paste or of a hasty Enter is never taken for an agreement."""

import pytest
from msgspec.structs import replace
from rich.cells import cell_len

from app.console.app import FootplateApp
from app.console.options import ConsoleOptions
from app.console.screens.changes import ChangesSheet
from app.console.screens.queue import Queue
from app.console.screens.taskform import TaskForm
from app.console.screens.tasks import TasksSheet
from app.console.screens.taskterms import TaskTerms
from app.console.views.ink import plain
from app.console.views.taskform import edited, fields_of, new_fields, new_task, touches_terms
from app.console.views.tasks import OF_A_TASK, VERBS, why_dead_of
from app.console.views.taskwords import short_words
from app.wording import forbidden_in
from coordinator.api import (
    AcceptTask,
    AddTasks,
    Done,
    EditTask,
    Group,
    HoldLine,
    HoldTask,
    NewTask,
    OperatorCommand,
    ProposeSeries,
    QueueView,
    ReadQueue,
    ReleaseAgent,
    RemoveTask,
    Reply,
    RetryTask,
    SeriesProposals,
    SignSeries,
    TaskReason,
    Waits,
    Wishes,
)
from store.refusal import Refusal
from store.vocab import MicroUsd, RefusalReason, RunId, RunOutcome, TaskId, TaskState
from tests.console.driving import alone, burst, quiet, settled, typed
from tests.console.hostile import HOSTILE, Spoiler, faults, screen_rows
from tests.console.opened import console
from tests.console.tasks import (
    ALL,
    FRESH_TERMS,
    HELD,
    INSTRUCTION,
    NEEDS,
    NEXT,
    OTHER_TERMS,
    REPOSITORY,
    STOPPED,
    SUMMARY,
    TASKS,
    UNSIGNED,
    make_queue,
    make_series,
    make_task,
    opened_tasks,
    panel,
    proposing,
    shown,
    with_tasks,
)
from tests.fakes.backend import NOW, FakeBackend, make_session, make_snapshot
from tests.waiting import eventually

SIZES = ((80, 24), (120, 40), (200, 50))
COMMANDS = (AcceptTask, EditTask, HoldLine, HoldTask, ProposeSeries, ReleaseAgent, RemoveTask, RetryTask)
SOME = (NEEDS, TASKS[9], STOPPED)
"""What the keys differ most for: one that needs the operator, one in line whose agent is not begun, one that is over
and whose session is not in the list."""


def foot(app: FootplateApp) -> str:
    return " ".join(plain(row) for row in panel(app).foot_lines.rows)


def given(backend: FakeBackend) -> list[OperatorCommand]:
    return [one for one in backend.commands if isinstance(one, COMMANDS)]


def sheet_foot(app: FootplateApp) -> str:
    assert isinstance(app.screen, TaskForm | TaskTerms)
    return " ".join(plain(row) for row in app.screen.foot_lines.rows)


async def ripe_terms(app: FootplateApp) -> TaskTerms:
    await eventually(lambda: isinstance(app.screen, TaskTerms) and app.screen.ripe)
    assert isinstance(app.screen, TaskTerms)
    return app.screen


@pytest.mark.parametrize("task", SOME, ids=lambda task: f"{task.id}")
async def test_every_key_does_something_or_says_why_not(task) -> None:  # type: ignore[no-untyped-def]
    async with console(with_tasks(), (120, 40)) as (app, pilot, backend):
        await opened_tasks(queue=HELD)(app, pilot, backend)
        for key, verb in VERBS.items():
            sheet = panel(app)
            sheet.lit, before = task.id, len(given(backend))
            sheet.marked.clear()
            burst(app, key)
            for _ in range(2):
                await settled(pilot)
            dead = why_dead_of(verb, task, HELD)
            assert faults(app) == [], key
            if dead is not None:
                assert dead[:40] in foot(app) and forbidden_in(dead) == [], key
                assert len(dead.split()) > 3 and len(given(backend)) == before, key
            else:
                said = sheet._said and any(words in foot(app) for words in ("x again", "not in the list"))
                assert said or len(given(backend)) > before or app.screen is not sheet or sheet.marked, key
            while isinstance(app.screen, TaskForm | TaskTerms):
                app.pop_screen()
            if app.screen is app.drive:
                assert app.screen is app.drive and app.drive.run_in_view == task.runs[-1]
                await opened_tasks(queue=HELD)(app, pilot, backend)


async def test_the_orders_are_those_of_the_task_that_is_lit() -> None:
    async with console(with_tasks(), (120, 40)) as (app, pilot, backend):
        await opened_tasks()(app, pilot, backend)
        for key, lit, order in (
            ("h", NEXT, HoldTask(task=NEXT.id, held=True)),
            ("h", TASKS[6], HoldTask(task=TASKS[6].id, held=False)),
            ("plus", NEXT, EditTask(task=NEXT.id, revision=1, priority=3)),
            ("minus", UNSIGNED, EditTask(task=UNSIGNED.id, revision=1, priority=-1)),
            ("y", NEEDS, AcceptTask(task=NEEDS.id)),
            ("r", TASKS[11], RetryTask(task=TASKS[11].id)),
            ("H", NEXT, HoldLine(held=True)),
            ("s", UNSIGNED, ProposeSeries(tasks=(UNSIGNED.id,))),
            ("S", NEXT, ProposeSeries(tasks=())),
        ):
            panel(app).lit = lit.id
            burst(app, key)
            await eventually(lambda order=order: order in given(backend), what=key)  # type: ignore[misc]
        panel(app).lit = NEXT.id
        burst(app, "x")
        await settled(pilot)
        burst(app, "j", "x")  # another key between: it asks anew, of another one
        await settled(pilot)
        assert backend.given(RemoveTask) == []
        burst(app, "x")
        await eventually(lambda: backend.given(RemoveTask) == [RemoveTask(task=UNSIGNED.id)])
        backend.replies[RetryTask] = Refusal(RefusalReason.TASK_WORKING, {"task": 8})
        panel(app).lit = TASKS[11].id
        burst(app, "r")
        await eventually(lambda: "8" in foot(app) and "again" not in foot(app).split("/")[0][:10])


async def test_the_lit_one_stays_lit_and_the_list_is_read_when_it_changed() -> None:
    async with console(with_tasks(), (80, 24)) as (app, pilot, backend):
        await opened_tasks("j", "j", "j")(app, pilot, backend)
        assert panel(app).lit == UNSIGNED.id
        read = len(backend.given(ReadQueue))
        backend.change(today=MicroUsd(5))
        app.take()
        await settled(pilot)
        assert len(backend.given(ReadQueue)) == read  # nothing of the line changed
        ended = [replace(one, state=TaskState.DONE, waits=None) if one.id in (15, 12) else one for one in TASKS]
        backend.tasks = make_queue(*ended)
        backend.change(queue=replace(SUMMARY, stamp=4))
        app.take()
        await eventually(lambda: panel(app).view == backend.tasks)
        assert panel(app).lit == UNSIGNED.id and len(backend.given(ReadQueue)) == read + 1
        row = next(plain(row) for row in panel(app).list.rows if any("on-sel" in span.ink for span in row))
        assert " 16 " in row
        backend.tasks = make_queue(*(one for one in ended if one.id != 16))
        backend.change(queue=replace(SUMMARY, stamp=5))
        app.take()
        await eventually(lambda: panel(app).view == backend.tasks)
        assert panel(app).lit == 17  # its neighbour


async def test_a_task_is_added_by_one_enter_that_is_no_line_of_a_paste_and_agreed_to_by_another() -> None:
    async with console(with_tasks(), (80, 24)) as (app, pilot, backend):
        await opened_tasks("a")(app, pilot, backend)
        proposing(backend, FRESH_TERMS)
        await quiet(app)
        burst(app, *"one", "enter", *"two", "enter")  # a terminal without bracketed paste
        await settled(pilot)
        await quiet(app)
        await settled(pilot)
        form = app.screen
        assert isinstance(form, TaskForm) and backend.given(AddTasks) == []
        assert form.text.text == "one\ntwo\n"
        await alone(app, pilot, "tab")
        burst(app, *"a title", "enter")
        await settled(pilot)
        await quiet(app)
        assert backend.given(AddTasks) == [] and "Enter alone" in sheet_foot(app)
        backend.replies[AddTasks] = Refusal(RefusalReason.NO_SUCH_TASK, {"task": 77})
        await alone(app, pilot, "enter")
        await eventually(lambda: len(backend.given(AddTasks)) == 1)
        await eventually(lambda: "77" in sheet_foot(app))
        assert form.text.text == "one\ntwo\n"  # it stays
        await alone(app, pilot, "escape")
        assert app.screen is panel(app)
        del backend.replies[AddTasks]
        await alone(app, pilot, "a")
        assert isinstance(app.screen, TaskForm) and app.screen.text.text == "one\ntwo\n"  # nothing typed is lost
        await alone(app, pilot, "enter")
        terms = await ripe_terms(app)
        added = backend.given(AddTasks)[-1].tasks
        assert added == (
            NewTask(
                instruction="one\ntwo",
                repositories=(REPOSITORY,),
                title="a title",
                wishes=Wishes(),
            ),
        )
        assert backend.given(ProposeSeries) == [ProposeSeries(tasks=(TaskId(99),))]
        terms._scroll(1000)
        await settled(pilot)
        burst(app, "x", "enter")  # not alone
        await quiet(app)
        await settled(pilot)
        assert backend.given(SignSeries) == []
        await alone(app, pilot, "enter")
        await eventually(lambda: backend.given(SignSeries) == [SignSeries(terms=(FRESH_TERMS.terms,))])
        assert app.screen is panel(app)
        await alone(app, pilot, "a")
        assert isinstance(app.screen, TaskForm) and app.screen.text.text == ""


async def test_terms_are_agreed_to_only_when_all_of_them_were_seen_for_half_a_second() -> None:
    long = replace(OTHER_TERMS, terms=make_series(12, instruction="\n".join(f"step {n}" for n in range(60))))
    async with console(with_tasks(), (80, 24)) as (app, pilot, backend):
        await opened_tasks(proposals=())(app, pilot, backend)
        proposing(backend, long)
        burst(app, "s")
        await eventually(lambda: isinstance(app.screen, TaskTerms) and app.screen._painted_at is not None)
        burst(app, "enter")
        await settled(pilot)
        assert "too soon" in sheet_foot(app)
        terms = await ripe_terms(app)
        await alone(app, pilot, "enter")
        assert "more below" in sheet_foot(app) and backend.given(SignSeries) == []
        while not terms.seen:
            await alone(app, pilot, "pagedown")
        backend.replies[SignSeries] = Refusal(RefusalReason.STALE, {"task": 12})
        await alone(app, pilot, "enter")
        await eventually(lambda: backend.given(SignSeries) == [SignSeries(terms=(long.terms,))])
        await eventually(lambda: isinstance(app.screen, TasksSheet) and panel(app)._said)
        assert "agreed" not in foot(app)


async def test_marked_ones_are_agreed_to_together_and_what_cannot_be_is_said() -> None:
    async with console(with_tasks(), (120, 40)) as (app, pilot, backend):
        await opened_tasks("j", "j", "space", "space", proposals=())(app, pilot, backend)
        proposing(backend, FRESH_TERMS, OTHER_TERMS, refused=True)
        await alone(app, pilot, "s")
        terms = await ripe_terms(app)
        assert backend.given(ProposeSeries) == [ProposeSeries(tasks=(NEXT.id, UNSIGNED.id))]
        said = "\n".join(plain(row) for row in terms.text.rows)
        assert "not task 22:" in said and "sonnet → opus" in said and "Together at most 10.00" in said
        assert forbidden_in(said) == []
        backend.replies[SignSeries] = Done()
        terms._scroll(1000)
        await alone(app, pilot, "enter")
        await eventually(
            lambda: backend.given(SignSeries) == [SignSeries(terms=(FRESH_TERMS.terms, OTHER_TERMS.terms))]
        )
        await eventually(lambda: not panel(app).marked)


async def test_what_waits_of_a_task_leads_to_it() -> None:
    async with console(with_tasks(), (120, 40)) as (app, pilot, backend):
        backend.tasks = ALL
        await alone(app, pilot, "ctrl+o")  # the task has waited longest
        await shown(app)
        assert panel(app).lit == NEEDS.id
        await alone(app, pilot, "ctrl+o")  # from there on to the next
        assert app.screen is app.drive and app.drive.run_in_view == 12
        for key in ("escape", "escape", "a"):
            await alone(app, pilot, key)
        assert isinstance(app.screen, Queue)
        rows = [plain(row) for row in app.screen.list.rows]
        assert "task 12" in rows[0] and "fix flaky checkout: it was cut off at work" in rows[0]
        await alone(app, pilot, "x")
        assert "seen to" in " ".join(plain(row) for row in app.screen.foot_lines.rows)
        await alone(app, pilot, "enter")
        await shown(app)
        assert panel(app).lit == NEEDS.id


async def test_by_mouse_a_row_is_lit_and_then_opened() -> None:
    async with console(with_tasks(), (120, 40)) as (app, pilot, backend):
        await opened_tasks()(app, pilot, backend)
        at = next(n for n, row in enumerate(panel(app).list.rows) if " 14 " in plain(row))
        await pilot.click("#tasks-list", offset=(10, at))
        assert panel(app).lit == 14
        await pilot.click("#tasks-list", offset=(10, at))
        await eventually(lambda: app.screen is app.drive)
        assert app.drive.run_in_view == 14


@pytest.mark.parametrize("size", SIZES, ids=lambda size: str(size[0]))
async def test_whatever_stands_in_a_task_is_text_and_stays_in_its_row(size: tuple[int, int]) -> None:
    at = SIZES.index(size)
    both = SeriesProposals(
        proposals=(OTHER_TERMS, FRESH_TERMS),
        refused=((TaskId(3), Refusal(RefusalReason.NOT_A_REPOSITORY, {"path": "/x"})),),
    )
    async with console(with_tasks(), size) as (app, pilot, backend):
        await opened_tasks()(app, pilot, backend)
        for first in range(at, len(HOSTILE), 7):
            spoiler = Spoiler(first, spare=first % 2 == 0)
            spoiled = spoiler.spoil(HELD)
            assert isinstance(spoiled, QueueView)
            backend.tasks = spoiled
            proposals = spoiler.spoil(both)

            def reply(command: OperatorCommand, proposals: SeriesProposals = proposals) -> Reply:
                return proposals

            backend.replies[ProposeSeries] = reply
            panel(app).lit = TASKS[first % len(TASKS)].id
            panel(app).look()
            await eventually(lambda spoiled=spoiled: panel(app).view is spoiled)  # type: ignore[misc]
            await settled(pilot)
            assert faults(app) == [], first
            screen_rows(app)
            panel(app).lit = NEXT.id
            for key, kind in (("e", TaskForm), ("s", TaskTerms)):
                burst(app, key)
                await eventually(lambda kind=kind: isinstance(app.screen, kind))  # type: ignore[misc]
                await settled(pilot)
                assert faults(app) == [], (first, key)
                screen_rows(app)
                app.pop_screen()
                await settled(pilot)


async def test_a_filter_narrows_and_escape_shows_all_again() -> None:
    async with console(with_tasks(), (80, 24)) as (app, pilot, backend):
        await opened_tasks("slash")(app, pilot, backend)
        await typed(app, pilot, "14")
        assert [one.id for one in panel(app).tasks] == [14]
        await alone(app, pilot, "enter")
        assert app.focused is None and panel(app).lit == 14
        await alone(app, pilot, "escape")
        assert len(panel(app).tasks) == len(TASKS) and panel(app).lit == 14
        await alone(app, pilot, "escape")
        assert app.screen is app.drive and not isinstance(app.screen, ChangesSheet)


async def test_one_whose_agent_asks_stands_where_it_needs_you_and_is_come_to_first() -> None:
    working = make_task(20, "asks", TaskState.WORKING, runs=(RunId(12),))
    other = make_task(21, "works", TaskState.WORKING, runs=(RunId(13),))
    done = make_task(22, "done", TaskState.DONE, runs=(RunId(7),), ended_at=NOW)
    over = make_session(7, "done", group=Group.ENDED, outcome=RunOutcome.FINISHED, task=TaskId(22))
    asks = make_session(12, "asks", group=Group.NEEDS_YOU, task=TaskId(20))
    snapshot = make_snapshot(over, asks, make_session(13, "works", task=TaskId(21)))
    options = ConsoleOptions(home="/home/mara", run=RunId(7))
    async with console(snapshot, (120, 34), options=options) as (app, pilot, backend):
        backend.replies[ReadQueue] = QueueView(
            tasks=(other, working, done), counts={TaskState.WORKING: 2, TaskState.DONE: 1}
        )
        await alone(app, pilot, "escape")
        await alone(app, pilot, "Q")
        await eventually(lambda: isinstance(app.screen, TasksSheet) and panel(app).settled)
        await settled(pilot)
        rows = [plain(row) for row in panel(app).list.rows]
        said = [row.split("  ")[0].strip() for row in rows]
        assert "NEEDS YOU 1" in said and "WORKING 1" in said
        first = rows[said.index("NEEDS YOU 1") + 1]
        assert "◆ 20 asks" in first and "session 12 asks you" in first
        assert "Its agent asks you" in " ".join(plain(row) for row in panel(app).facts.rows)
        assert panel(app).lit == 20, "not the one that is done, whose session was in view"
        assert "1 needs you · 1 at work" in plain(panel(app).head_lines.rows[0])


# ---------------------------------------------------------------------------------------------------------------- pure


def test_every_dead_key_has_a_sentence_and_no_live_one_lacks_a_task() -> None:
    for verb in OF_A_TASK:
        assert why_dead_of(verb, None, ALL)
        for task in TASKS:
            dead = why_dead_of(verb, task, ALL)
            assert dead is None or (str(task.id) in dead or "agent" in dead), (verb, task.state)


def test_every_way_to_stand_has_its_few_words() -> None:
    asked = [replace(NEXT, waits=waits) for waits in Waits]
    asked += [
        replace(NEEDS, reason=reason, state=state) for reason in TaskReason for state in (NEEDS.state, TaskState.FAILED)
    ]
    for task in asked:
        said = short_words(task, NOW).text
        assert said and cell_len(said) <= 22 and "{" not in said and forbidden_in(said) == [], task


def values_of(task=NEEDS) -> dict[str, str]:  # type: ignore[no-untyped-def]
    return {"instruction": task.instruction} | {one.name: one.value for one in fields_of(task)}


def test_of_a_task_that_is_edited_only_what_differs_is_sent() -> None:
    before = values_of()
    assert edited(before, NEEDS) == "nothing was changed: Esc goes back"
    moved = edited(before | {"priority": "+2", "needs": "9, 14"}, NEEDS)
    assert moved == EditTask(task=NEEDS.id, revision=1, priority=2, needs=(TaskId(9), TaskId(14)))
    assert isinstance(moved, EditTask) and not touches_terms(moved)
    other = edited(before | {"budget": "7.5", "instruction": "Do it."}, NEEDS)
    assert isinstance(other, EditTask) and touches_terms(other)
    assert other.wishes == replace(NEEDS.wishes, budget=MicroUsd(7_500_000)) and other.instruction == "Do it."
    assert other.paths is None and other.title is None and other.needs is None
    precise = replace(NEEDS, wishes=replace(NEEDS.wishes, budget=MicroUsd(1_234_567)))
    assert edited(values_of(precise), precise) == "nothing was changed: Esc goes back"


@pytest.mark.parametrize(
    ("field", "text"),
    [
        ("instruction", " \n"), ("repository", " ; "), ("needs", "9 x"), ("priority", "soon"), ("attempts", "0"),
        ("attempts", ""), ("turns", "-1"), ("budget", "much"), ("budget", "0"), ("budget", "inf"), ("tree", "old"),
    ],
)  # fmt: skip
def test_a_mistake_in_the_form_is_a_sentence_that_names_the_field(field: str, text: str) -> None:
    values = {"instruction": INSTRUCTION} | {one.name: one.value for one in new_fields(REPOSITORY)}
    assert isinstance(new_task(values, Wishes(), "t"), NewTask)
    said = new_task(values | {field: text}, Wishes(), "t")
    name = {"instruction": "say", "needs": "after", "budget": "money"}.get(field, field)
    assert isinstance(said, str) and said.startswith(name) and forbidden_in(said) == []
