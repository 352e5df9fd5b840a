"""The console on a scripted backend, in a terminal of its own; run by the tests of the terminal."""

import app.console.before_textual  # noqa: F401, I001  (first: Textual reads its environment at import)

from app.console.app import FootplateApp
from app.console.options import ConsoleOptions
from coordinator.api import Group
from coordinator.clock import RealClock
from tests.fakes.backend import FakeBackend, make_session, make_snapshot

if __name__ == "__main__":
    idle = make_session(1, "quiet one", group=Group.IDLE, in_flight=None, turns=())
    backend = FakeBackend(make_snapshot(idle))
    code = FootplateApp(backend, ConsoleOptions(now=RealClock().now)).run()
    print(
        "sent:", [type(one).__name__ for one in backend.commands if type(one).__name__ in ("Say", "Interrupt", "Stop")]
    )
    raise SystemExit(code)
