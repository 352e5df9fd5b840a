"""What is said of a run that has ended, and of what can be done next: the same names wherever they stand, and whole."""

import pytest

from app.console.keys import Where
from app.console.views.actions import Situation, hints, hints_line
from app.console.views.bars import console_title
from app.console.views.details import details_lines
from app.console.views.ending import ended_lines, report_lines
from app.console.views.glyphs import UNICODE
from app.console.views.ink import cells, plain
from app.console.views.lists import strip_line
from coordinator.custody.types import EndedProcess
from store.vocab import RunId
from tests.console.scenes import checkout, receipt, stopped
from tests.fakes.backend import NOW, make_session, make_snapshot


def process(name: str, step: str, **changes: object) -> EndedProcess:
    values = {"pid": 41190, "name": name, "step": step, "gone_after_ms": 190}
    return EndedProcess(**(values | changes))  # type: ignore[arg-type]


@pytest.mark.parametrize("letters", [True, False])
def test_where_to_go_from_an_end_fits_on_a_small_screen(letters: bool) -> None:
    row = plain(ended_lines(stopped(), 77, 8, UNICODE, letters=letters)[-1]).rstrip()
    assert cells(row) <= 77
    for words in ("c continue", "l stop report", "s new session", "v all sessions"):
        assert words in row
    assert row.strip().startswith("c continue" if letters else "Esc, then one of: c continue")


def test_the_stop_report_is_where_its_key_leads() -> None:
    headings = [plain(row) for row in details_lines(stopped(), NOW, 76) if plain(row).isupper()]
    assert headings[0] == "STOP REPORT" and headings.count("STOP REPORT") == 1
    at = Situation(snapshot=make_snapshot(stopped()), run=stopped().run, focus=Where.KEYS)
    assert ("l", "stop report") in hints(at)


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
