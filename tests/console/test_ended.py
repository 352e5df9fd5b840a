"""What is said of a run that has ended, and of what can be done next: the same names wherever they stand, and whole."""

import pytest

from app.console.keys import Where
from app.console.options import ConsoleOptions
from app.console.screens.changes import ChangesSheet
from app.console.screens.reading import Details
from app.console.views.actions import Situation, hints, hints_line
from app.console.views.bars import console_title
from app.console.views.details import details_lines
from app.console.views.ending import ended_lines, report_lines
from app.console.views.glyphs import UNICODE
from app.console.views.ink import cells, plain
from app.console.views.lists import strip_line
from app.wording import sentence
from coordinator.api import AttentionView, Propose
from coordinator.custody.types import EndedProcess
from store.refusal import Refusal
from store.vocab import AttentionKind, RefusalReason, RunId, TaskId
from tests.console.driving import alone, settled, typed
from tests.console.opened import console
from tests.console.scenes import checkout, receipt, stopped
from tests.fakes.backend import NOW, make_session, make_snapshot
from tests.waiting import eventually


def process(name: str, step: str, **changes: object) -> EndedProcess:
    values = {"pid": 41190, "name": name, "step": step, "gone_after_ms": 190}
    return EndedProcess(**(values | changes))  # type: ignore[arg-type]


@pytest.mark.parametrize("letters", [True, False])
def test_where_to_go_from_an_end_fits_on_a_small_screen(letters: bool) -> None:
    for width in (77, 58):
        rows = [plain(row).rstrip() for row in ended_lines(stopped(), width, 8, UNICODE, letters=letters)[-2:]]
        assert all(cells(row) <= width for row in rows)
        said = "  ".join(row.strip() for row in rows)
        for words in ("c continue", "d what changed", "B keep or merge", "l stop report", "s new session"):
            assert words in said, width
        assert ("v all sessions" in said) is (letters or width == 77)
        assert said.startswith("c continue" if letters else "Esc, then one of:  c continue")
    mine = " ".join(map(plain, ended_lines(stopped(in_place=True), 77, 8, UNICODE)))
    assert "B keep" not in mine and "d what changed" in mine, "what was done in place has no tree of its own"


def test_the_stop_report_is_where_its_key_leads() -> None:
    headings = [plain(row) for row in details_lines(stopped(), NOW, 76) if plain(row).isupper()]
    assert headings[0] == "STOP REPORT" and headings.count("STOP REPORT") == 1
    at = Situation(snapshot=make_snapshot(stopped()), run=stopped().run, focus=Where.KEYS)
    assert ("l", "stop report") in hints(at)


async def test_from_the_details_what_changed_is_a_key_away() -> None:
    options = ConsoleOptions(home="/home/mara", run=stopped().run)
    async with console(make_snapshot(stopped()), options=options) as (app, pilot, _):
        await alone(app, pilot, "escape")
        await alone(app, pilot, "l")
        assert isinstance(app.screen, Details) and "d what changed" in plain(app.screen.foot_lines.rows[0])
        await alone(app, pilot, "d")
        await eventually(lambda: isinstance(app.screen, ChangesSheet))


async def test_what_can_be_done_about_a_refusal_is_not_cut_off_on_a_small_screen() -> None:
    no_commit = Refusal(RefusalReason.NO_COMMIT, {"path": "/tmp/stranger/nocommit"})
    task = AttentionView(id=1, run=None, kind=AttentionKind.TASK, text="w" * 90, since=NOW, task=TaskId(3))
    async with console(make_snapshot(attention=(task,)), (80, 24)) as (app, pilot, backend):
        backend.replies[Propose] = no_commit
        status = app.drive.status
        assert plain(status.rows[0]).rstrip().endswith("(Q shows the task)") and cells(status.rows[0]) <= 78
        await typed(app, pilot, "mend it")
        await alone(app, pilot, "enter")
        await eventually(lambda: "no commit yet" in app.drive.said.text)
        await settled(pilot)
        assert " ".join(plain(row).strip() for row in status.rows) == sentence(no_commit)
        assert status.size.height == len(status.rows) > 1
        await typed(app, pilot, "!")
        assert status.size.height == 1, "and the room is given back"


def test_a_stop_report_is_a_table() -> None:
    """How each process ended begins in one column, and nothing of it is cut."""
    said = receipt(
        ended=(
            process("sleep 300", "term", own_session=True),
            process("pytest -q tests/checkout/test_a_long_name.py --maxfail 1", "exited", daemonised=True),
        ),
        spared=(process("syncd", ""),),
    )
    for width in (50, 76, 116):
        rows = [plain(row) for row in report_lines(stopped(receipt=said), width)]
        head = next(row for row in rows if "what it was" in row)
        column = head.index("how it ended")
        table = rows[rows.index(head) + 1 :]
        assert all(len(row) <= width and row[column - 1] == " " and row[column] != " " for row in table)
        told = " ".join(row[column:].strip() for row in table)
        assert "ended by itself when asked after 0.19 s, daemonised" in told and "left alone" in told


def test_an_interrupt_and_a_stop_are_told_apart_on_a_small_screen() -> None:
    at = Situation(snapshot=make_snapshot(checkout()), run=RunId(12), focus=Where.COMPOSER)
    row = plain(hints_line(at, 80))
    assert cells(row) == 80
    assert "^C interrupt turn" in row and "^\\ stop session" in row and row.rstrip().endswith("^Q quit")


def test_a_small_screen_says_the_currency_and_gives_its_room_to_the_title() -> None:
    title = "rename every module after what it holds"
    snapshot = make_snapshot(make_session(3, title), make_session(4, "port"))
    assert title in plain(strip_line(snapshot, RunId(3), 78, UNICODE))
    assert "USD" in plain(console_title(snapshot, NOW, 80, "/home/ada", UNICODE))
