"""Reading in transcripts: megabytes a second on one core, what it takes of memory, and what a live console notices.

The transcripts are made up in the proportions of real ones: mostly tool results, repeated once more as the agent's own
structured result, some prose, a little thinking, much bookkeeping in the newer generation.
"""

import json
import multiprocessing
import resource
import sqlite3
import tempfile
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import msgspec

from coordinator import prices
from coordinator.clock import RealClock
from coordinator.ids import RealIds
from coordinator.review.importing.importer import Importer, Wish
from store.open import connect
from tests.bench.figures import Figure, percentile

SIZE = 100_000_000
"""Bytes of each kind of transcript."""
WORDS = ("the test of an order that expires too early reads a file and says what it found " * 2).split()
CODE = "".join(f"    {n:4d}  value_{n} = compute(order, days={n % 31}, zone='UTC')  # kept\n" for n in range(400))


def prose(number: int, length: int) -> str:
    return " ".join(WORDS[(number * 7 + place * (number % 5 + 1)) % len(WORDS)] for place in range(length))


def claude_lines(session: str, *, newer: bool) -> Iterator[bytes]:
    """One session without end; the caller stops."""
    at = datetime(2026, 11, 1, tzinfo=UTC)
    count = 0

    def line(**more: object) -> bytes:
        nonlocal at, count
        at += timedelta(milliseconds=900)
        count += 1
        told = {
            "parentUuid": f"{session[:8]}-{count - 1:08x}", "isSidechain": False, **more,
            "uuid": f"{session[:8]}-{count:08x}", "timestamp": at.isoformat().replace("+00:00", "Z"),
            "userType": "external", "entrypoint": "cli", "cwd": "/home/op/orders", "sessionId": session,
            "version": "2.1.332" if newer else "2.1.197", "gitBranch": "main",
        }  # fmt: skip
        return json.dumps(told, separators=(",", ":")).encode() + b"\n"

    def answer(message: str, block: dict[str, object]) -> bytes:
        usage = {
            "input_tokens": 12, "cache_creation_input_tokens": 900, "cache_read_input_tokens": 52_000,
            "output_tokens": 310, "service_tier": "standard",
        }  # fmt: skip
        told = {"id": message, "type": "message", "role": "assistant", "model": "claude-opus-4-8", "content": [block]}
        return line(type="assistant", requestId=f"req_{message}", message=told | {"usage": usage})

    turn = 0
    while True:
        turn += 1
        yield line(type="user", message={"role": "user", "content": prose(turn, 30)})
        for call in range(12):
            message, use = f"msg_{turn}_{call}", f"toolu_{turn}_{call}"
            if call % 4 == 0:
                yield answer(message, {"type": "thinking", "thinking": prose(call, 60), "signature": "c2ln" * 80})
            if call % 3 == 0:
                yield answer(message, {"type": "text", "text": prose(turn + call, 45)})
            name = ("Bash", "Read", "Edit", "Grep")[call % 4]
            given = {
                "command": f"python -m pytest tests/test_{call}.py -q",
                "file_path": f"/home/op/orders/src/f{call}.py",
            }
            yield answer(message, {"type": "tool_use", "id": use, "name": name, "input": given})
            cut = (turn * 131 + call * 977) % 9_000 + 300
            output = CODE[:cut]
            result = {"type": "tool_result", "tool_use_id": use, "content": output, "is_error": False}
            told = {"stdout": output, "stderr": "", "interrupted": False}
            yield line(type="user", message={"role": "user", "content": [result]}, toolUseResult=told)
            if newer:
                yield line(type="attachment", attachment={"type": "skill_listing", "content": prose(call, 300)})
                yield line(type="api-request", params={"model": "claude-opus-4-8"}, tail=[CODE[:2_000]], keep=call)
        yield answer(f"msg_{turn}_end", {"type": "text", "text": prose(turn, 80)})


def codex_lines(session: str) -> Iterator[bytes]:
    at = datetime(2026, 11, 1, tzinfo=UTC)

    def line(kind: str, payload: dict[str, object]) -> bytes:
        nonlocal at
        at += timedelta(milliseconds=700)
        return json.dumps({"timestamp": at.isoformat(), "type": kind, "payload": payload}).encode() + b"\n"

    meta = {"id": session, "timestamp": at.isoformat(), "cwd": "/home/op/orders", "cli_version": "0.171.0"}
    yield line("session_meta", meta)
    turn = 0
    while True:
        turn += 1
        yield line("turn_context", {"model": "gpt-5", "approval_policy": "never"})
        content = [{"type": "input_text", "text": prose(turn, 30)}]
        yield line("response_item", {"type": "message", "id": f"u{turn}", "role": "user", "content": content})
        for call in range(10):
            id = f"call_{turn}_{call}"
            arguments = json.dumps({"cmd": f"sed -n 1,200p src/f{call}.py"})
            given = {"type": "function_call", "name": "exec_command", "arguments": arguments, "call_id": id}
            yield line("response_item", given)
            output = "Process exited with code 0\nOutput:\n" + CODE[: (turn * 131 + call * 977) % 9_000 + 300]
            item = {"type": "CommandExecution", "id": id, "aggregated_output": output}
            yield line("event_msg", {"type": "item_completed", "item": item})
            yield line("response_item", {"type": "function_call_output", "call_id": id, "output": output})
            used = {"input_tokens": 40_000, "cached_input_tokens": 39_000, "output_tokens": 200}
            yield line("token_usage_record", {"response_id": f"resp_{turn}_{call}", "usage": used})
        said = [{"type": "output_text", "text": prose(turn, 80)}]
        yield line("response_item", {"type": "message", "id": f"m{turn}", "role": "assistant", "content": said})
        yield line("event_msg", {"type": "task_complete", "turn_id": f"t{turn}", "duration_ms": 9_000})


def write(path: Path, lines: Iterator[bytes], size: int) -> int:
    path.parent.mkdir(parents=True, exist_ok=True)
    done = 0
    with path.open("wb") as file:
        for line in lines:
            done += file.write(line)
            if done >= size:
                break
    return done


def wish(ledger: Path, *paths: Path) -> Wish:
    return Wish(
        paths=paths, ledger=ledger, prices=prices.built_in(), operator="ada", machine="bench", uid=0, environment={}
    )


def _import(ledger: str, path: str, answer: "multiprocessing.Queue[tuple[float, int, int, int]]") -> None:
    """In a process of its own: its memory is measured, and a console in another must wait for it."""
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    begun = time.process_time()
    report = Importer(wish(Path(ledger), Path(path)), RealClock(), RealIds(), lambda _: None).run()
    used = time.process_time() - begun
    after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    answer.put((report.seconds, int(used * 1000), after - before, report.events))


def imported(ledger: Path, path: Path) -> tuple[float, float, float, int]:
    """Seconds, seconds of the processor, megabytes more, events."""
    context = multiprocessing.get_context("spawn")
    queue: multiprocessing.Queue[tuple[float, int, int, int]] = context.Queue()
    child = context.Process(target=_import, args=(str(ledger), str(path), queue))
    child.start()
    seconds, used, grown, events = queue.get(timeout=600)
    child.join(30)
    return seconds, used / 1000, grown / 1024, events


def decoding(path: Path) -> float:
    """Megabytes in a second of the processor, where the lines are decoded and nothing else is done: the yardstick."""
    begun = time.process_time()
    with path.open("rb") as file:
        for line in file:
            msgspec.json.decode(line)
    return path.stat().st_size / 1e6 / (time.process_time() - begun)


def beside(ledger: Path, path: Path) -> list[float]:
    """How long a durable change of somebody else waits meanwhile, in seconds each."""
    context = multiprocessing.get_context("spawn")
    queue: multiprocessing.Queue[tuple[float, int, int, int]] = context.Queue()
    child = context.Process(target=_import, args=(str(ledger), str(path), queue))
    child.start()
    waits = []
    conn = connect(ledger)
    statement = (
        "INSERT INTO settings (name, value, at) VALUES ('bench', '', 0) ON CONFLICT (name) DO UPDATE SET at = at + 1"
    )
    try:
        while child.is_alive() and queue.empty():
            begun = time.perf_counter()
            conn.execute("BEGIN IMMEDIATE")
            conn.execute(statement)
            conn.execute("COMMIT")
            waits.append(time.perf_counter() - begun)
            time.sleep(0.01)  # a console changes something some times a second, not without pause
    except sqlite3.Error:
        waits.append(60.0)
    finally:
        conn.close()
    queue.get(timeout=600)
    child.join(30)
    return waits


def measure() -> list[Figure]:
    figures = []
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        made = {
            "Claude Code 2.1.197": (root / "a/1a2b3c4d-0000-4000-8000-000000000001.jsonl", False),
            "Claude Code 2.1.332": (root / "b/1a2b3c4d-0000-4000-8000-000000000002.jsonl", True),
        }
        for path, newer in made.values():
            write(path, claude_lines(path.stem, newer=newer), SIZE)
        codex = root / "c/rollout-2026-11-01T00-00-00-1a2b3c4d-0000-4000-8000-000000000003.jsonl"
        write(codex, codex_lines(codex.stem[-36:]), SIZE)
        kinds = {name: path for name, (path, _) in made.items()} | {"Codex": codex}
        for name, path in kinds.items():
            seconds, used, grown, events = imported(root / f"{path.parent.name}.db", path)
            size = path.stat().st_size / 1e6
            alone = decoding(path)
            note = f"{size / seconds:.0f} MB/s by the clock, {events / used:,.0f} events/s; only decoding: {alone:.0f}"
            figures.append(
                Figure(name=f"import {name}", value=size / used, unit="MB/core-s", goal=50, at_least=True, note=note)
            )
            figures.append(Figure(name=f"its memory, for {size:.0f} MB", value=grown, unit="MB", goal=60))
        again = time.perf_counter()
        Importer(wish(root / "a.db", root / "a"), RealClock(), RealIds(), lambda _: None).run()
        again = time.perf_counter() - again
        figures.append(Figure(name="the same again, nothing new", value=again * 1000, goal=100))
        live = root / "live.db"
        first = root / "d/1a2b3c4d-0000-4000-8000-000000000004.jsonl"
        write(first, claude_lines(first.stem, newer=False), 1_000_000)
        imported(live, first)
        waits = beside(live, made["Claude Code 2.1.197"][0])
        note = f"{len(waits)} changes, the longest {max(waits) * 1000:.0f} ms"
        p50, p99 = percentile(waits, 0.5) * 1000, percentile(waits, 0.99) * 1000
        figures.append(Figure(name="a live console's change meanwhile, p50", value=p50, goal=20))
        figures.append(Figure(name="the same, p99", value=p99, goal=120, note=note))
    return figures
