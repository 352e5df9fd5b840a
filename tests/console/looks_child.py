"""The console in a terminal of its own, for tests of the bytes it sends. First word: ``rest`` (eight sessions, nobody
waits), ``eight`` (every group) or ``hostile`` (every text of every value attacks the terminal); ``ascii`` may follow.
"""

import app.console.before_textual as before_textual  # noqa: I001  (first: Textual reads its environment at import)

import sys
from msgspec.structs import replace

from app.console.app import FootplateApp
from app.console.options import ConsoleOptions
from coordinator.api import ConsoleSnapshot, Group
from coordinator.clock import RealClock
from tests.console.hostile import HOSTILE, Spoiler
from tests.console.scenes import full
from tests.console.test_hostile_screens import page, stuffed
from tests.fakes.backend import FakeBackend


def at_rest() -> ConsoleSnapshot:
    calm = {Group.NEEDS_YOU: Group.IDLE}
    sessions = tuple(
        replace(one, group=calm.get(one.group, one.group), decisions=(), in_flight=None, tools=())
        for one in full().sessions
    )
    return replace(full(), sessions=tuple(sorted(sessions, key=lambda one: one.group is Group.WORKING)))


if __name__ == "__main__":
    scene = sys.argv[1]
    snapshot = {"rest": at_rest, "eight": full, "hostile": stuffed}[scene]()
    backend = FakeBackend(Spoiler(3, spare=True).spoil(snapshot) if scene == "hostile" else snapshot)
    if scene == "hostile":
        backend.pages[snapshot.sessions[0].run] = page(snapshot, "".join(HOSTILE.values())[:900])
    options = ConsoleOptions(
        now=RealClock().now, no_color=bool(before_textual.AGENT_NO_COLOR), ascii="ascii" in sys.argv, home="/home/mara"
    )
    console = FootplateApp(backend, options)
    console.run()
    if console.broken is not None:
        raise console.broken
