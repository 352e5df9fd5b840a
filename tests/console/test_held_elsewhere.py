"""A session that another console holds: who does, and what can be done from here instead."""

import pytest

from app.console.keys import Where
from app.console.views.actions import Situation, hints, hints_line, why_dead
from app.console.views.ink import cells, plain
from coordinator.api import GONE, Group, Say
from store.vocab import RunId
from tests.console.driving import alone, settled, typed
from tests.console.opened import console
from tests.console.scenes import checkout, make_session
from tests.fakes.backend import make_snapshot
from tests.waiting import eventually

OWNER = "the console of Ada"
THEIRS = make_session(12, "theirs", owner=OWNER, group=Group.WORKING)


def at(focus: Where = Where.COMPOSER, owner: str = OWNER) -> Situation:
    return Situation(snapshot=make_snapshot(make_session(12, "theirs", owner=owner)), run=RunId(12), focus=focus)


def test_no_hint_promises_that_enter_sends() -> None:
    for width in (60, 80, 120, 200):
        said = plain(hints_line(at(), width))
        assert "after this turn" not in said and "later" not in said and "send" not in said
    assert [key for key, _ in hints(at())][:1] != ["Enter"]


@pytest.mark.parametrize(
    ("action", "instead"),
    [
        ("send", 'write to it there, or footplate say 12 "…" in a shell'),
        ("stop", "do it there, or footplate stop 12 in a shell"),
        ("interrupt", "do it there, or footplate interrupt 12 in a shell"),
        ("finish", "do it there, or footplate finish 12 in a shell"),
        ("mode", "do it there"),
    ],
)
def test_each_dead_key_says_who_holds_it_and_what_to_do(action: str, instead: str) -> None:
    assert why_dead(action, at()) == f"12 is held by {OWNER}: {instead}"
    gone = why_dead(action, at(owner=GONE))
    assert gone == f"12 is held by {GONE}: footplate sweep settles what that one has left"


@pytest.mark.parametrize("size", [(60, 24), (80, 24), (120, 34)])
async def test_the_status_says_it_all_the_while_and_enter_sends_nothing(size: tuple[int, int]) -> None:
    async with console(make_snapshot(THEIRS), size) as (app, pilot, backend):
        await app.deeds.viewing.view(RunId(12))
        app.drive.composer.focus()
        await settled(pilot)

        def told() -> str:
            return " ".join(" ".join(plain(row) for row in app.drive.status.rows).split())

        whole = f'12 is held by {OWNER}: write to it there, or footplate say 12 "…" in a shell'
        await eventually(lambda: told() == whole)
        assert app.drive.composer.placeholder == "held by another console"
        await typed(app, pilot, "hello")
        assert told() == whole, "while one writes, too"
        await alone(app, pilot, "enter")
        await settled(pilot)
        assert backend.given(Say) == [] and app.drive.composer.text == "hello" and told() == whole
        assert all(cells(row) <= size[0] for row in app.drive.status.rows)


async def test_of_ones_own_nothing_is_said() -> None:
    async with console(make_snapshot(checkout())) as (app, pilot, _):
        await settled(pilot)
        assert "held by" not in " ".join(plain(row) for row in app.drive.status.rows)
