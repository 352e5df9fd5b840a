"""How fast the claude driver reads: streamed deltas (the hot path), the recordings, one line of many megabytes.

Run it by hand: ``python -m tests.bench.bench_driver``. Prints lines a second; nothing is asserted.
"""

import json
import time

from coordinator.drivers.claude import ClaudeDriver
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


def timed(what: str, data: bytes, chunk: int = 65_536) -> None:
    driver = ClaudeDriver()
    began = time.perf_counter()
    events = sum(len(driver.feed(data[i : i + chunk])) for i in range(0, len(data), chunk))
    took = time.perf_counter() - began
    lines = data.count(b"\n")
    rate, speed = lines / took, len(data) / took / 1e6
    print(f"{what:<20}{lines:>9,} lines {events:>9,} events {took * 1000:>8.1f} ms {rate:>11,.0f}/s {speed:>6.0f} MB/s")


def main() -> None:
    timed("deltas", deltas(200_000))
    recorded = b"".join(step.raw() for name in names() for step in steps(name) if step.came == "out")
    timed("recordings", recorded * 5)
    text = {"type": "text", "text": "word " * 1_600_000}
    big = {"type": "assistant", "message": {"id": "m", "model": "x", "content": [text]}}
    timed("one line of 8 MB", json.dumps(big).encode() + b"\n")


if __name__ == "__main__":
    main()
