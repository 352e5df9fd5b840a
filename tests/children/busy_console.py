"""The console over a ledger with a long history, in a terminal of its own, while sessions stream; run by the benches.

    python -m tests.children.busy_console LEDGER LINES SESSIONS CHUNKS_A_SECOND

What the sessions say is read from bytes by the real driver, on another thread, as a coordinator would: what that costs
the screen is part of what is measured. On SIGUSR1 a message of the size that stands in LEDGER.size arrives as one line.
"""

import app.console.before_textual  # noqa: F401, I001  (first: Textual reads its environment at import)

import json
import signal
import sys
import threading
import time
from pathlib import Path

from app.console.app import FootplateApp
from app.console.options import ConsoleOptions
from coordinator import eventcodec, longtexts
from coordinator.api import FeedEvent, Group
from coordinator.clock import RealClock
from coordinator.drivers import base
from coordinator.drivers.claude import ClaudeDriver
from coordinator.redaction import Redactor
from store.vocab import Millis, RunId, TurnId
from tests.fakes.backend import NOW, make_session, make_snapshot, running_turn
from tests.fakes.ledger_backend import LedgerBackend

LINES_AN_EVENT = 8
STEP = 0.02


def fill(path: Path, lines: int) -> None:
    """A history of so many numbered lines."""
    if path.exists():
        return
    backend = LedgerBackend(path)
    backend.turn_in_ledger(backend.first_run, "turn-3", "Go on.")
    blocks = (
        base.TextBlock(
            block=f"b{at}",
            text="\n".join(f"#{at + n:07d} reads the file and says what it found there" for n in range(LINES_AN_EVENT)),
        )
        for at in range(0, lines, LINES_AN_EVENT)
    )
    batch: list[base.AgentEvent] = []
    for block in blocks:
        batch.append(block)
        if len(batch) == 5_000:
            backend.keep(backend.first_run, batch, TurnId("turn-3"))
            batch.clear()
    backend.keep(backend.first_run, batch, TurnId("turn-3"))
    backend.close()


def line_of(text: str) -> bytes:
    event = {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": text}}
    return json.dumps({"type": "stream_event", "event": event, "session_id": "s", "uuid": "u"}).encode() + b"\n"


PRINTED = [line_of(f"chunk {n:06d} lorem ipsum dolor sit amet cons\n") for n in range(1_000)]
"""Made beforehand: an agent's own work is done by its own process."""


class Stream:
    """One agent's output, read as it comes."""

    def __init__(self, backend: LedgerBackend, run: RunId) -> None:
        self._backend = backend
        self._run = run
        self._driver = ClaudeDriver()
        self._number = 0
        begin = {
            "type": "message_start",
            "message": {"id": f"m{run}", "model": "m", "role": "assistant", "content": []},
        }
        block = {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}}
        for event in (begin, block):
            self._driver.feed(json.dumps({"type": "stream_event", "event": event, "session_id": "s"}).encode() + b"\n")

    def more(self, chunks: int) -> None:
        self._number += chunks
        self.say(self._driver.feed(b"".join(PRINTED[:chunks])))

    def whole(self, raw: bytes, redactor: Redactor) -> None:
        """A line of any size, as the coordinator takes one in: parsed, redacted, written out again."""
        found = [event for at in range(0, len(raw), 65_536) for event in self._driver.feed(raw[at : at + 65_536])]
        for event in found:
            if not isinstance(event, base.TRANSIENT):
                eventcodec.encode(event, redactor.text)
        self.say(found)

    def say(self, found: object) -> None:
        at = Millis(RealClock().now())
        fed = []
        for event in found:  # type: ignore[attr-defined]
            shown, left_at, left_out = longtexts.shortened(event)
            key = None if isinstance(event, base.TRANSIENT) else (1 << 60, self._number)
            turn = TurnId("turn-3")
            fed.append(
                FeedEvent(run=self._run, turn=turn, at=at, event=shown, key=key, left_at=left_at, left_out=left_out)
            )
        self._backend.feed(*fed)


def main(path: Path, lines: int, sessions: int, rate: int) -> int:
    fill(path, lines)
    views = [
        make_session(n + 1, f"session {n + 1}", turns=(running_turn(3, "Go on."),)) for n in range(max(sessions, 1))
    ]
    if not rate:
        views = [make_session(1, "session 1", group=Group.IDLE, in_flight=None, turns=())]
    backend = LedgerBackend(path, make_snapshot(*views))
    streams = [Stream(backend, view.run) for view in views]
    redactor = Redactor(["a secret of this house", "another secret of it"])
    size = path.with_suffix(".size")

    def arrive() -> None:
        text = "a word of a long message\n" * (int(size.read_text()) // 25)
        message = {"role": "assistant", "id": "huge", "content": [{"type": "text", "text": text + "THE END OF IT"}]}
        raw = json.dumps({"type": "assistant", "message": message, "session_id": "s", "uuid": "u"}).encode() + b"\n"
        size.write_text("ready")
        # A stream of its own: half a line of one agent is never followed by another's.
        Stream(backend, views[0].run).whole(raw, redactor)
        size.write_text("done")

    def run() -> None:
        due = time.monotonic()
        while True:
            for stream in streams:
                stream.more(int(rate * STEP))
            due += STEP
            time.sleep(max(0.0, due - time.monotonic()))  # the rate that was asked for

    if rate:
        threading.Thread(target=run, name="agents", daemon=True).start()
    signal.signal(signal.SIGUSR1, lambda *_: threading.Thread(target=arrive, daemon=True).start())
    return FootplateApp(backend, ConsoleOptions(now=lambda: NOW, run=RunId(1))).run() or 0


if __name__ == "__main__":
    where, *numbers = sys.argv[1:]
    sys.exit(main(Path(where), *(int(number) for number in numbers)))
