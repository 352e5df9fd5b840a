"""The recorded conversations, as steps: what the host wrote, what the agent printed. Never changed."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from coordinator.drivers.base import AgentEvent
from coordinator.drivers.claude import ClaudeDriver
from store.vocab import TurnId

FOLDER = Path(__file__).parent.parent / "data" / "claude"


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    came: str
    """``in``: written to the agent; ``out``: printed by it."""
    line: Any

    def raw(self) -> bytes:
        return json.dumps(self.line).encode() + b"\n"


def names() -> list[str]:
    return sorted(path.name for path in FOLDER.glob("*.jsonl") if not path.name.startswith("transcript-"))


@cache
def steps(name: str) -> tuple[Step, ...]:
    lines = (FOLDER / name).read_text().splitlines()
    read = [json.loads(line) for line in lines]
    return tuple(Step(came=r["dir"], line=r["line"]) for r in read if r["dir"] in ("in", "out"))


def user_lines(step: Step) -> Iterator[Any]:
    """User lines with an id that this step wrote; some were written two at once, raw."""
    if step.came != "in" or not isinstance(step.line, dict):
        return
    candidates = [step.line]
    if "_raw" in step.line:
        candidates = []
        for piece in step.line["_raw"].split("\n"):
            try:
                candidates.append(json.loads(piece))
            except ValueError:
                continue
    for line in candidates:
        if isinstance(line, dict) and line.get("type") == "user" and line.get("uuid") and "message" in line:
            yield line


def answers_written(step: Step) -> tuple[str, dict[str, Any]] | None:
    """The request and the body, where the step answered a request of the agent."""
    if step.came != "in" or not isinstance(step.line, dict) or step.line.get("type") != "control_response":
        return None
    response = step.line["response"]
    return response["request_id"], response


def tell(driver: ClaudeDriver, step: Step) -> None:
    """Let the driver know what was written, as its owner would have."""
    for line in user_lines(step):
        content = line["message"]["content"]
        driver.turn(TurnId(line["uuid"]), content if isinstance(content, str) else "")


def replay(name: str) -> list[AgentEvent]:
    driver = ClaudeDriver()
    events: list[AgentEvent] = []
    for step in steps(name):
        tell(driver, step)
        if step.came == "out":
            events += driver.feed(step.raw())
    events += driver.feed_end()
    return events
