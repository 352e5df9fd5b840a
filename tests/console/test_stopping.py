"""A stop that takes its time: the console goes on, and the second press is heard. (It once waited for the first.)"""

import time

from app.console.app import FootplateApp
from app.console.options import ConsoleOptions
from app.console.presses import AGAIN
from coordinator.api import Done, Stop
from store.vocab import RunId
from tests.console.driving import burst, typed
from tests.fakes.backend import FakeBackend, make_session, make_snapshot
from tests.waiting import eventually


async def test_the_second_press_is_heard_while_the_first_is_carried_out() -> None:
    backend = FakeBackend(make_snapshot(make_session(12)))
    backend.held_back = {Stop}
    app = FootplateApp(backend, ConsoleOptions())
    async with app.run_test(size=(120, 34)) as pilot:
        burst(app, "ctrl+backslash")
        await eventually(lambda: backend.given(Stop))
        pressed = time.monotonic()
        await typed(app, pilot, "still here")
        assert app.drive.composer.text == "still here"
        await eventually(lambda: time.monotonic() > pressed + AGAIN + 0.1)
        burst(app, "ctrl+backslash")
        await eventually(lambda: len(backend.given(Stop)) == 2)
        assert backend.given(Stop)[1] == Stop(run=RunId(12), kill=True)
        backend.complete(Done())
        backend.complete(Done())
