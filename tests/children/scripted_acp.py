"""An agent of the Agent Client Protocol that says and does what its message tells it; standard library only.

    python tests/children/scripted_acp.py [NOTES]

The directive in the message is the one that the pretended model reads (``tests.fakes.loopback_steps``), so one text
drives agents of both kinds. A tool is a command, which it asks for before it runs it. In NOTES, if given, stands a line
for each thing asked and each answer: what its console did with it, as the agent saw it.
"""

import itertools
import json
import os
import queue
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from tests.fakes.loopback_steps import OUTER, Json, pieces, step_of

OPTIONS = (
    {"optionId": "yes", "name": "Allow once", "kind": "allow_once"},
    {"optionId": "ever", "name": "Always allow", "kind": "allow_always"},
    {"optionId": "no", "name": "Reject", "kind": "reject_once"},
)


class Agent:
    """One conversation at a time; what comes from the console is read by a thread of its own."""

    def __init__(self, notes: Path | None) -> None:
        self._notes = notes
        self._ids = itertools.count(1)
        self._lock = threading.Lock()
        self._answers: queue.Queue[Json] = queue.Queue()
        self._cancelled = threading.Event()
        self._prompts: queue.Queue[Json | None] = queue.Queue()

    def note(self, line: str) -> None:
        if self._notes is not None:
            with self._notes.open("a") as file:
                file.write(line + "\n")

    def send(self, **told: Any) -> None:
        line = json.dumps({"jsonrpc": "2.0", **told}).encode() + b"\n"
        with self._lock:
            sys.stdout.buffer.write(line)
            sys.stdout.buffer.flush()

    def update(self, session: str, what: str, **told: Any) -> None:
        self.send(method="session/update", params={"sessionId": session, "update": {"sessionUpdate": what, **told}})

    def read(self) -> None:
        for line in sys.stdin.buffer:
            message = json.loads(line)
            match message.get("method"):
                case "initialize":
                    self.send(
                        id=message["id"], result={"protocolVersion": 1, "agentCapabilities": {}, "authMethods": []}
                    )
                case "session/new":
                    self.send(id=message["id"], result={"sessionId": f"conversation-{os.getpid()}"})
                case "session/prompt":
                    self._cancelled.clear()
                    self._prompts.put(message)
                case "session/cancel":
                    self._cancelled.set()
                    self._answers.put({})
                case None:
                    self._answers.put(message.get("result") or {})
                case _ if "id" in message:
                    self.send(id=message["id"], error={"code": -32601, "message": "no such method"})
        self._prompts.put(None)

    def work(self) -> None:
        while (message := self._prompts.get()) is not None:
            params = message["params"]
            text = "".join(block.get("text", "") for block in params["prompt"])
            self.turn(params["sessionId"], text)
            reason = "cancelled" if self._cancelled.is_set() else "end_turn"
            self.send(id=message["id"], result={"stopReason": reason})

    def turn(self, session: str, text: str) -> None:
        found = OUTER.findall(text)
        steps = json.loads(found[-1]).get("steps", []) if found else [{"text": "ok"}]
        for number in range(len(steps)):
            step = step_of(found[-1], number).step if found else steps[number]
            for piece, slow in pieces(step):
                if self._cancelled.is_set():
                    return
                self.update(session, "agent_message_chunk", content={"type": "text", "text": piece})
                if slow:
                    time.sleep(slow)  # the pace that was asked for
            for tool in step.get("tools", ()):
                self.tool(session, tool["input"])

    def tool(self, session: str, given: Mapping[str, Any]) -> None:
        call, command = f"call-{next(self._ids)}", str(given["command"])
        shown = {"toolCallId": call, "title": command, "kind": "execute", "rawInput": dict(given)}
        self.update(session, "tool_call", status="pending", **shown)
        self.note("asked")
        params = {"sessionId": session, "toolCall": shown | {"status": "pending"}, "options": OPTIONS}
        self.send(id=f"ask-{next(self._ids)}", method="session/request_permission", params=params)
        outcome = self._answers.get().get("outcome", {})
        chosen = outcome.get("optionId", outcome.get("outcome", "nothing"))
        self.note(f"answered {chosen}")
        allowed = chosen in ("yes", "ever")
        if allowed:
            process = subprocess.Popen(["sh", "-c", command], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
            while process.poll() is None and not self._cancelled.is_set():
                time.sleep(0.02)  # a tool that works
            if process.poll() is None:
                process.send_signal(signal.SIGKILL)
        self.update(session, "tool_call_update", toolCallId=call, status="completed" if allowed else "failed")


def main() -> None:
    agent = Agent(Path(sys.argv[1]) if len(sys.argv) > 1 else None)
    threading.Thread(target=agent.read, daemon=True).start()
    agent.work()


if __name__ == "__main__":
    main()
