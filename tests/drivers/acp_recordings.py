"""Recorded conversations with agents on the Agent Client Protocol, told again as if this project had held them.

Another host recorded them, which numbered its requests: here they have the ids that the driver gives, and the steps of
the handshake that it did not take are answered as those agents answer them. Never changed otherwise.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from coordinator.drivers.acp import AcpDriver
from coordinator.drivers.base import AgentEvent, Chosen, QuestionReply, Reply, Start
from store.vocab import TurnId

FOLDER = Path(__file__).parent.parent / "data" / "acp"
Json = dict[str, Any]
OURS = {"initialize": "hs-initialize", "session/new": "hs-session", "session/set_mode": "hs-mode"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    came: str
    """``in``: written to the agent; ``out``: printed by it."""
    line: Json

    def raw(self) -> bytes:
        return json.dumps(self.line).encode() + b"\n"


def names() -> list[str]:
    return sorted(path.stem for path in FOLDER.glob("*.jsonl"))


@cache
def steps(name: str) -> tuple[Step, ...]:
    rows = [json.loads(row) for row in (FOLDER / f"{name}.jsonl").read_text().splitlines()]
    ids: dict[int, str] = {}
    # One has a single mode, in which nobody is asked: it is asked for no other.
    sets_mode = name.startswith("fast-agent") or any(row["line"].get("method") == "session/set_mode" for row in rows)
    found: list[Step] = []
    for row in rows:
        line = dict(row["line"])
        if row["dir"] == "in" and "method" in line and "id" in line:
            ids[line["id"]] = OURS.get(line["method"], f"turn-t{line['id']}")
            line["id"] = ids[line["id"]]
        elif row["dir"] == "out" and "method" not in line:
            line["id"] = ids[line["id"]]
        found.append(Step(came=row["dir"], line=line))
        if line.get("id") == "hs-session" and "result" in line and not sets_mode:
            found.append(Step(came="out", line={"jsonrpc": "2.0", "id": "hs-mode", "result": {}}))
    return tuple(found)


def started(instance: str = "fp", **more: Any) -> AcpDriver:
    driver = AcpDriver(instance)
    driver.argv(Start(program="/bin/agent", session="", cwd="/home/op/x", **more))
    return driver


def tell(driver: AcpDriver, step: Step) -> bytes | None:
    """Let the driver write what the host wrote; what it wrote, or None where a host of its own mind wrote otherwise."""
    line = step.line
    if step.came != "in":
        return None
    if line.get("method") == "session/prompt":
        return driver.addressed(
            driver.turn(TurnId(line["id"].removeprefix("turn-")), line["params"]["prompt"][0]["text"])
        )
    if line.get("method") == "session/cancel":
        return driver.interrupt().data
    result = line.get("result")
    if "method" not in line and isinstance(result, dict):
        id = line["id"]
        name = f"#{id}" if isinstance(id, int) else id
        outcome = result.get("outcome")
        if isinstance(outcome, dict) and outcome.get("outcome") == "selected":
            return driver.answer(name, Chosen(offer=outcome["optionId"]))
        if result.get("action") == "accept":
            return driver.answer(name, QuestionReply(answers={"Which colour?": ("Red",)}))
    return None


@dataclass(slots=True)
class Told:
    events: list[AgentEvent] = field(default_factory=list)
    replies: dict[str, bytes] = field(default_factory=dict)

    def of(self, *kinds: type) -> list[Any]:
        return [event for event in self.events if isinstance(event, kinds)]


def replay(name: str, driver: AcpDriver | None = None) -> Told:
    driver = driver or started()
    told = Told()
    for step in steps(name):
        tell(driver, step)
        if step.came == "out":
            told.events += driver.feed(step.raw())
    told.events += driver.feed_end()
    told.replies = {event.id: event.data for event in told.events if isinstance(event, Reply)}
    return told


def printed() -> Iterator[Json]:
    """One line of each kind that any of them printed."""
    seen: set[str] = set()
    for name in names():
        for step in steps(name):
            update = step.line.get("params", {}).get("update", {}) if step.came == "out" else {}
            key = " ".join(
                map(
                    str,
                    (step.line.get("method"), update.get("sessionUpdate"), update.get("status"), step.line.get("id")),
                )
            )
            if step.came == "out" and (key not in seen):
                seen.add(key)
                yield step.line
