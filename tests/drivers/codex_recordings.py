"""Recorded conversations with Codex, played to the driver as a console would. Never changed.

`codex-0.171.0-*` were held by this driver, so what was written then must be what it writes now. `codex-app-server*`
were held by a probe that counted its requests and asked for no mode: the ids of its requests are put into ours, and the
policy that it was answered into the one that this driver asks for, because it would not go on otherwise.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from coordinator.drivers import jsonrpc
from coordinator.drivers.base import AgentEvent, Chosen, QuestionReply, Reply, Start
from coordinator.drivers.codex import CodexDriver
from store.vocab import TurnId

FOLDER = Path(__file__).parent.parent / "data" / "captures" / "others"
HELD = "codex-0.171.0-"
RESUMED = f"{HELD}resumed"
_OURS = {"initialize": "hs-initialize", "thread/start": "hs-thread"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    came: str
    """``out``: written to the agent; ``in``: printed by it."""
    raw: bytes

    @property
    def line(self) -> Any:
        return json.loads(self.raw)


def names() -> list[str]:
    return sorted(path.stem for path in FOLDER.glob("codex-*.jsonl"))


@cache
def steps(name: str) -> tuple[Step, ...]:
    read = [json.loads(line) for line in (FOLDER / f"{name}.jsonl").read_text().splitlines()]
    told = [Step(came=one["dir"], raw=one["line"].encode() + b"\n") for one in read]
    return tuple(told if name.startswith(HELD) else _as_ours(told))


def _as_ours(told: list[Step]) -> Iterator[Step]:
    names: dict[int, str] = {}
    for step in told:
        line = step.line
        if step.came == "out" and "method" in line and "id" in line:
            known = _OURS.get(line["method"])
            turn = f"turn-{turn_id(line['id'])}" if line["method"] == "turn/start" else f"x-{line['id']}"
            names[line["id"]] = line["id"] = known if known and known not in names.values() else turn
        elif step.came == "in" and "method" not in line:
            line["id"] = names[line["id"]]
            if line["id"] == "hs-thread":
                line["result"]["approvalPolicy"] = "untrusted"
        yield Step(came=step.came, raw=json.dumps(line).encode() + b"\n")


def turn_id(number: int) -> TurnId:
    return TurnId(f"00000000-0000-4000-8000-{number:012}")


def start(name: str) -> Start:
    thread = next((s.line["params"]["threadId"] for s in steps(name) if b"thread/resume" in s.raw), "")
    return Start(program="/bin/codex", session=thread, resume=bool(thread), cwd="/home/op/tree")


def begun(name: str) -> CodexDriver:
    driver = CodexDriver("x")
    driver.argv(start(name))
    return driver


@dataclass(slots=True, kw_only=True)
class Played:
    driver: CodexDriver
    events: list[AgentEvent] = field(default_factory=list)
    written: list[bytes] = field(default_factory=list)
    """What the driver wrote, line by line, in its order."""


def play(name: str, driver: CodexDriver | None = None, *, cut: int = 1 << 20, snapshots: bool = False) -> Played:
    """The whole conversation. ``cut``: bytes of one read; ``snapshots``: a new driver takes over after each line."""
    played = Played(driver=driver or begun(name))
    opening = played.driver.opening()
    played.written += [line for write in opening for line in write.data.splitlines(keepends=True)]
    told = steps(name)
    for step, after in zip(told, (*told[1:], None), strict=True):
        if step.came == "out":
            if after is not None and after.came == "out" and b'"turn/interrupt"' in after.raw:
                continue  # the answers that go with an interrupt are in its bytes
            played.written += write(played.driver, step.line).splitlines(keepends=True)
            continue
        for at in range(0, len(step.raw), cut):
            found = played.driver.feed(step.raw[at : at + cut])
            played.events += found
            replies = b"".join(event.data for event in found if isinstance(event, Reply))
            played.written += replies.splitlines(keepends=True)
        if snapshots:
            again = begun(name)
            again.restore(played.driver.snapshot())
            played.driver = again
    return played


def write(driver: CodexDriver, line: Any) -> bytes:
    """What the driver writes where the recording has this line; nothing for what it says by itself."""
    match line:
        case {"id": str(id), "method": "turn/start"} if id.startswith("turn-"):
            said = line["params"]["input"][0]["text"]
            return driver.addressed(driver.turn(TurnId(id.removeprefix("turn-")), said))
        case {"id": str(id), "method": "turn/interrupt" | "thread/loaded/list"} if id.startswith("x-"):
            return driver.interrupt().data
        case {"id": str(id), "method": "thread/settings/update"} if id.startswith("x-"):
            return driver.set_mode("plan").data
        case {"id": id, "result": {"decision": decision}}:
            offer = decision if isinstance(decision, str) else "rule"
            return driver.answer(jsonrpc.key(id), Chosen(offer={"acceptForSession": "session"}.get(offer, offer)))
        case {"id": id, "result": {"answers": answers}}:
            labels = next(iter(answers.values()))["answers"]
            reply = QuestionReply(answers={"Which colour?": tuple(labels[:1])}, note=" ".join(labels[1:]))
            return driver.answer(jsonrpc.key(id), reply)
        case _:
            return b""
