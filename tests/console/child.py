"""The console on a scripted backend, in a terminal of its own; run by the tests of the terminal.

``quiet`` (or nothing): one idle session. ``talk``: one that has said something. ``card``: a turn runs,
and a permission waits. SIGUSR1 puts the focus into the
composer, SIGUSR2 on the card: where the focus is when a sequence comes must not depend on the one before it.
"""

import app.console.before_textual  # noqa: F401, I001  (first: Textual reads its environment at import)

import json
import signal
import sys

from app.console.app import FootplateApp
from app.console.options import ConsoleOptions
from coordinator.api import ConsoleSnapshot, FeedEvent, Group, TranscriptPage
from coordinator.clock import RealClock
from coordinator.drivers.base import TextBlock
from store.vocab import RunId, TurnId
from tests.fakes.backend import FakeBackend, ago, make_decision, make_session, make_snapshot, make_turn

UNASKED = ("Load", "Read", "Save", "Seen")
"""What the console does by itself begins so."""


def scene(name: str) -> ConsoleSnapshot:
    if name == "card":
        return make_snapshot(make_session(1, "busy one", group=Group.NEEDS_YOU, decisions=(make_decision(1, 1),)))
    turns = (make_turn(1, "Say it."),) if name == "talk" else ()
    return make_snapshot(make_session(1, "quiet one", group=Group.IDLE, in_flight=None, turns=turns))


def conversation() -> TranscriptPage:
    words = TextBlock(block="b", text="THE ANSWER to all that was asked stands here, in one line")
    said = FeedEvent(run=RunId(1), turn=TurnId("turn-1"), at=ago(90_000), event=words, key=(1, 0))
    return TranscriptPage(events=(said,), more_before=False)


if __name__ == "__main__":
    backend = FakeBackend(scene(sys.argv[1] if len(sys.argv) > 1 else "quiet"))
    backend.pages[RunId(1)] = conversation() if "talk" in sys.argv else TranscriptPage(events=(), more_before=False)
    console = FootplateApp(backend, ConsoleOptions(now=RealClock().now, escape_twice=True))
    signal.signal(signal.SIGUSR1, lambda *_: console.call_later(console.drive.composer.focus))
    signal.signal(signal.SIGUSR2, lambda *_: console.call_later(console.drive.card.focus_card))
    code = console.run()
    given = [type(one).__name__ for one in backend.commands]
    orders = [name for name in given if not name.startswith(UNASKED)]
    print("sent:", json.dumps(orders))
    print("draft:", json.dumps(console.drive.composer.text))
    if console.broken is not None:
        raise console.broken
    raise SystemExit(code)
