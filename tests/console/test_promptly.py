"""A stop is ordered by the thread that reads its key, though the screen's loop stands still: once, and only where it is
certain which session is meant."""

import threading

from textual import events

from app.console.app import FootplateApp
from app.console.options import ConsoleOptions
from app.console.presses import AGAIN
from app.console.promptly import QUIET
from coordinator.api import Done, Stop
from store.vocab import RunId
from tests.console.driving import quiet, settled
from tests.fakes.backend import FakeBackend, make_session, make_snapshot
from tests.waiting import eventually

STOP, LETTER = ("ctrl+backslash", None), ("a", "a")


def read(app: FootplateApp, key: tuple[str, str | None], *, after: float = 0.0) -> events.Key:
    """As the driver does it, on a thread; the loop, which is this one, does nothing until it has ended.

    ``after``: seconds that the key comes later than it does.
    """
    event = events.Key(*key)
    event.set_sender(app)
    event.time += after
    thread = threading.Thread(target=app.deeds.promptly.read, args=(event,))
    thread.start()
    thread.join()
    return event


def console(*runs: int) -> tuple[FakeBackend, FootplateApp]:
    backend = FakeBackend(make_snapshot(*(make_session(run) for run in runs)))
    backend.held_back = {Stop}
    return backend, FootplateApp(backend, ConsoleOptions())


async def test_a_stop_is_ordered_while_the_screen_stands_still_and_ordered_once() -> None:
    backend, app = console(12)
    async with app.run_test(size=(120, 34)) as pilot:
        await eventually(lambda: app.drive.run_in_view == 12 and not app.deeds.at_work)
        event = read(app, STOP)
        assert backend.given(Stop) == [Stop(run=RunId(12))]
        app.post_message(event)
        await quiet(app)
        await settled(pilot)
        assert len(backend.given(Stop)) == 1
        # The second press kills; that is decided by the screen.
        second = read(app, STOP, after=AGAIN + 0.1)
        assert len(backend.given(Stop)) == 1
        app.post_message(second)
        await eventually(lambda: backend.given(Stop)[1:] == [Stop(run=RunId(12), kill=True)])
        backend.complete(Done())
        backend.complete(Done())


async def test_what_was_typed_before_it_is_done_before_it() -> None:
    backend, app = console(12, 13)
    async with app.run_test(size=(120, 34)) as pilot:
        await eventually(lambda: app.drive.run_in_view is not None and not app.deeds.at_work)
        before = read(app, LETTER)
        # It may change what is in view, and the screen has not come to it.
        read(app, STOP, after=10 * QUIET)
        assert backend.given(Stop) == []
        app.post_message(before)
        await quiet(app)
        await settled(pilot)
        read(app, LETTER, after=20 * QUIET)
        read(app, STOP, after=20 * QUIET + QUIET / 2)
        assert backend.given(Stop) == []


async def test_what_can_bring_no_other_session_into_view_is_not_waited_for() -> None:
    backend, app = console(12, 13)
    async with app.run_test(size=(120, 34)):
        await eventually(lambda: app.drive.run_in_view is not None and not app.deeds.at_work)
        read(app, ("escape", "\x1b"))
        read(app, ("ctrl+p", None))
        read(app, STOP)
        assert len(backend.given(Stop)) == 1
        backend.complete(Done())


async def test_one_press_stops_one_session_whatever_came_into_view_meanwhile() -> None:
    backend, app = console(12, 13)
    async with app.run_test(size=(120, 34)) as pilot:
        await eventually(lambda: app.drive.run_in_view is not None and not app.deeds.at_work)
        meant = app.drive.run_in_view
        assert meant is not None
        event = read(app, STOP)
        await app.deeds.viewing.view(RunId(25 - meant))
        app.post_message(event)
        await quiet(app)
        await settled(pilot)
        assert backend.given(Stop) == [Stop(run=meant)]
        backend.complete(Done())


async def test_with_nothing_in_view_nothing_is_ordered() -> None:
    backend, app = console()
    async with app.run_test(size=(120, 34)):
        read(app, STOP)
        assert backend.given(Stop) == []
