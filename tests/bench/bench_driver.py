"""How fast the claude driver reads: streamed deltas (the hot path), the recordings, one line of many megabytes; and how
fast secrets are looked for in what it read.

Lines a second; the ledger's own rate is the one with a goal (``bench_store``).
"""

import json
import time

from coordinator.drivers.claude import ClaudeDriver
from coordinator.redaction import Redactor
from tests.bench.figures import Figure
from tests.drivers.recordings import names, steps


def deltas(count: int) -> bytes:
    start = {"type": "stream_event", "event": {"type": "message_start", "message": {"id": "msg_1"}}}
    delta = {
        "type": "stream_event",
        "event": {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "some words "}},
        "session_id": "3822bb39-5687-4eff-94d2-129d25b35013",
        "parent_tool_use_id": None,
        "uuid": "0edeed95-62ca-4951-8fde-b7fdc44e932d",
    }
    return json.dumps(start).encode() + b"\n" + (json.dumps(delta).encode() + b"\n") * count


def timed(what: str, data: bytes, chunk: int = 65_536) -> Figure:
    driver = ClaudeDriver()
    began = time.perf_counter()
    events = sum(len(driver.feed(data[i : i + chunk])) for i in range(0, len(data), chunk))
    took = time.perf_counter() - began
    lines, speed = data.count(b"\n"), len(data) / took / 1e6
    return Figure(name=what, value=lines / took, unit="lines/s", note=f"{events:,} events, {speed:.0f} MB/s")


def redacted() -> list[Figure]:
    """What stands between an agent's text and the ledger: text in which there is nothing to hide, and some that is
    full of what looks like it."""
    known = [f"Zq7-{number}-of-a-secret-that-is-known" for number in range(5)]
    redactor = Redactor(known)
    prose = "It reads what the agent said, and looks for what nobody may read. " * 120_000
    code = "\n".join(
        f"    self.value_{n} = read_it(task-{n % 7}, at='https://example.org/{n}')" for n in range(120_000)
    )
    found = []
    for name, text, goal in (("prose", prose, 100.0), ("code", code, None)):
        best = min(_seconds(redactor, text) for _ in range(3))
        figure = Figure(
            name=f"redaction of {len(text) / 1e6:.0f} MB of {name} without a secret",
            value=len(text) / best / 1e6,
            unit="MB/s",
            goal=goal,
            at_least=True,
        )
        found.append(figure)
    return found


def _seconds(redactor: Redactor, text: str) -> float:
    """Of the processor, so that others on the machine do not count."""
    began = time.process_time()
    assert redactor.text(text) is text
    return time.process_time() - began


def measure() -> list[Figure]:
    recorded = b"".join(step.raw() for name in names() for step in steps(name) if step.came == "out")
    text = {"type": "text", "text": "word " * 1_600_000}
    big = json.dumps({"type": "assistant", "message": {"id": "m", "model": "x", "content": [text]}}).encode() + b"\n"
    began = time.perf_counter()
    timed("", big)
    took = time.perf_counter() - began
    return [
        timed("pieces of streamed text", deltas(200_000)),
        timed("recorded sessions of a real agent", recorded * 5),
        Figure(name="one line of 8 MB", value=took * 1000),
        *redacted(),
    ]
