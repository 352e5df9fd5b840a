"""Transcripts as tests need them, an import of them, and all that a ledger then says."""

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from coordinator import prices
from coordinator.clock import RealClock
from coordinator.ids import RealIds
from coordinator.prices import Prices
from coordinator.review.importing.importer import Importer, Report, Wish
from store.db import read_ledger
from store.verify import Difference, verify

DATA = Path(__file__).resolve().parents[2] / "data" / "transcripts"
SESSION = "1a2b3c4d-0000-4000-8000-000000000001"
OTHER = "1a2b3c4d-0000-4000-8000-000000000002"
Lines = list[dict[str, Any]]


def wish(ledger: Path, *paths: Path, dry: bool = False, table: Prices | None = None) -> Wish:
    return Wish(
        paths=paths, ledger=ledger, prices=table or prices.built_in(), operator="ada", machine="machine-1", uid=1000,
        environment={"HOME": "/home/op", "MY_TOKEN": "verysecretvalue1"}, dry=dry,
    )  # fmt: skip


def imported(ledger: Path, *paths: Path, dry: bool = False, table: Prices | None = None) -> Report:
    return Importer(wish(ledger, *paths, dry=dry, table=table), RealClock(), RealIds(), lambda _: None).run()


def told(ledger: Path, statement: str) -> list[tuple[Any, ...]]:
    with read_ledger(ledger, now=RealClock().now) as tx:
        return tx.conn.execute(statement).fetchall()


def difference(ledger: Path) -> Difference | None:
    with read_ledger(ledger, now=RealClock().now) as tx:
        return verify(tx)


def content(ledger: Path) -> dict[str, list[tuple[Any, ...]]]:
    """Everything that the files say, and nothing that depends on when or in how many steps it was read."""
    statements = {
        "runs": "SELECT id, title, agent, model, mode, repository, branch, created_at, ended_at, outcome, reason,"
        " detail, native_id, continues, events FROM runs ORDER BY id",
        "turns": "SELECT run, n, id, state, source, text, recorded_at, ended_at, result, subtype, failure, cost,"
        " cost_known, input_tokens, output_tokens, cache_read_tokens, cache_write_tokens, duration_ms,"
        " events_hash FROM turns ORDER BY run, n",
        "events": "SELECT run, offset, n, turn, at, kind, body FROM events ORDER BY run, offset, n",
        "search": "SELECT run, turn, kind, text FROM search ORDER BY run, turn, kind, text",
        "tools": "SELECT run, tool, calls FROM run_tools ORDER BY run, tool",
        "imports": "SELECT identity, run, size, digest, read_to FROM imports ORDER BY identity",
        "keys": "SELECT key, run, place FROM import_keys ORDER BY key",
        "cut off": "SELECT import FROM import_reading",
    }
    return {name: told(ledger, statement) for name, statement in statements.items()}


def costs(ledger: Path, run: int) -> list[int | None]:
    return [cost for (cost,) in told(ledger, f"SELECT cost FROM turns WHERE run = {run} ORDER BY n")]


# -------------------------------------------------------------------------------------------------- made-up transcripts


class Talk:
    """A session of Claude Code, line by line."""

    def __init__(self, session: str = SESSION) -> None:
        self.session = session
        self.lines: Lines = []

    def line(self, **more: Any) -> "Talk":
        number = len(self.lines)
        at = f"2026-11-01T10:{number // 60:02d}:{number % 60:02d}.000Z"
        told = {
            "uuid": f"uuid-{number}", "parentUuid": None, "isSidechain": False, "timestamp": at,
            "sessionId": self.session, "cwd": "/home/op/orders", "gitBranch": "main", "version": "2.1.197",
        }  # fmt: skip
        self.lines.append(told | more)
        return self

    def says(self, text: str) -> "Talk":
        return self.line(type="user", message={"role": "user", "content": text})

    def answers(self, message: str, *blocks: dict[str, Any], model: str = "claude-opus-4-8", **usage: Any) -> "Talk":
        """One line for each block, each with the whole usage, as the agent writes them."""
        for block in blocks:
            content = {"id": message, "role": "assistant", "model": model, "content": [block]}
            self.line(type="assistant", requestId="req-1", message=content | ({"usage": usage} if usage else {}))
        return self

    def calls(self, call: str, output: str = "ok", message: str = "") -> "Talk":
        use = {"type": "tool_use", "id": call, "name": "Bash", "input": {"command": f"echo {call}"}}
        self.answers(message or f"msg-{call}", use, input_tokens=100, output_tokens=10)
        result = {"type": "tool_result", "tool_use_id": call, "content": output}
        return self.line(type="user", message={"role": "user", "content": [result]})

    def write(self, folder: Path) -> Path:
        return write(folder / f"{self.session}.jsonl", self.lines)


def words(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}


def write(path: Path, lines: Iterable[object]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"".join(one if isinstance(one, bytes) else json.dumps(one).encode() + b"\n" for one in lines))
    return path


def conversation(session: str = SESSION, turns: int = 4) -> Talk:
    talk = Talk(session)
    for turn in range(turns):
        talk.says(f"Question {turn} about orders")
        talk.answers(f"msg-{turn}", words(f"Answer {turn}"), words("and more"), input_tokens=1000, output_tokens=100)
        for call in range(3):
            talk.calls(f"call-{turn}-{call}", f"output {turn} {call}")
    return talk


class Cut(BaseException):
    """The import ends here, as if it had been killed: nothing of it may be needed that was not committed."""


def cut_after(commits: int) -> Iterator[None]:
    """To be asked at each commit."""
    for _ in range(commits):
        yield
    raise Cut
