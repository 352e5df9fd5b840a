"""A plain talker on stream-json, without any driver of ours: what the rehearsal agent and the real ones are tried with.

It only writes lines and keeps those that come; a test says what it expects. It ends the process that it started and
what that one left behind, by their ids: a test that fails leaves no agent's command running.
"""

import contextlib
import json
import os
import signal
import subprocess
import threading
import uuid
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from tests.waiting import wait_until

Json = dict[str, Any]
HELD = ["-p", "--input-format", "stream-json", "--output-format", "stream-json", "--verbose"]
HELD += ["--permission-prompt-tool", "stdio", "--replay-user-messages"]
"""The flags under which an agent is held and asks."""


class Talker:
    def __init__(self, argv: Sequence[str], *, cwd: Path, environment: Mapping[str, str]) -> None:
        self.lines: list[Json] = []
        self.raw: list[bytes] = []
        """Lines that were no JSON objects."""
        self._mark = f"FOOTPLATE_TEST_TALKER={uuid.uuid4()}"
        name, _, value = self._mark.partition("=")
        self.process = subprocess.Popen(
            argv,
            cwd=cwd,
            env={**environment, name: value},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
        self.cwd = cwd
        self.streams = "--include-partial-messages" in argv
        self.stderr = b""
        self._readers = [threading.Thread(target=read, daemon=True) for read in (self._read_out, self._read_err)]
        for reader in self._readers:
            reader.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        with contextlib.suppress(OSError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait(10)
        for pid in marked(self._mark):
            with contextlib.suppress(OSError):
                os.kill(pid, signal.SIGKILL)
        for reader in self._readers:
            reader.join(2)
        for stream in (self.process.stdin, self.process.stdout, self.process.stderr):
            if stream is not None:
                with contextlib.suppress(OSError):
                    stream.close()

    def _read_out(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            try:
                self.lines.append(json.loads(line))
            except ValueError:
                self.raw.append(line)

    def _read_err(self) -> None:
        assert self.process.stderr is not None
        for line in self.process.stderr:
            self.stderr += line

    # ---------------------------------------------------------------------------------------------- saying

    def write(self, data: bytes) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(data)
        self.process.stdin.flush()

    def send(self, line: Json) -> None:
        self.write(json.dumps(line).encode() + b"\n")

    def say(self, text: str, steps: Sequence[Json] | None = None, *, identity: str | None = None, **more: Any) -> str:
        """A user's line, with a directive where steps are given; gives its uuid."""
        identity = identity or str(uuid.uuid4())
        directive = "" if steps is None else f" @@{json.dumps({'steps': list(steps)})}@@"
        message = {"role": "user", "content": text + directive}
        line = {"type": "user", "message": message, "parent_tool_use_id": None, "session_id": "", "uuid": identity}
        self.send(line | more)
        return identity

    def control(self, subtype: str, **fields: Any) -> Json:
        """A control request; gives the body of its answer."""
        identity = self.ask(subtype, **fields)
        return self.acknowledged(identity)

    def ask(self, subtype: str, **fields: Any) -> str:
        identity = f"r_{uuid.uuid4().hex[:8]}"
        self.send({"type": "control_request", "request_id": identity, "request": {"subtype": subtype, **fields}})
        return identity

    def acknowledged(self, identity: str, timeout: float = 20.0) -> Json:
        def look() -> Json | None:
            answers = (line["response"] for line in list(self.lines) if line.get("type") == "control_response")
            return next((one for one in answers if one.get("request_id") == identity), None)

        found = wait_until(look, timeout, f"the answer to {identity}")
        assert found is not None
        return found

    def answer(self, request: Json, response: Json) -> None:
        body = {"subtype": "success", "request_id": request["request_id"], "response": response}
        self.send({"type": "control_response", "response": body})

    def allow(self, request: Json, updated: Json | None = None, **more: Any) -> None:
        self.answer(request, {"behavior": "allow", "updatedInput": updated or request["request"]["input"], **more})

    def close_stdin(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.close()

    # --------------------------------------------------------------------------------------------- hearing

    def all(self, kind: str, subtype: str | None = None) -> list[Json]:
        return [
            line
            for line in list(self.lines)
            if line.get("type") == kind and (subtype is None or line.get("subtype") == subtype)
        ]

    def until(self, look: Callable[[Self], Any], timeout: float = 20.0, what: str = "") -> Any:
        return wait_until(lambda: look(self), timeout, what or f"{look} in {self.kinds()[-12:]} {self.stderr!r}")

    def result(self, number: int = 1, timeout: float = 20.0) -> Json:
        """The result line with this number, counted from one."""
        self.until(lambda talker: len(talker.all("result")) >= number, timeout, f"result {number}")
        return self.all("result")[number - 1]

    def asked(self, number: int = 1, timeout: float = 20.0) -> Json:
        """The agent's own request with this number, counted from one."""
        self.until(lambda talker: len(talker.all("control_request")) >= number, timeout, f"request {number}")
        return self.all("control_request")[number - 1]

    def tool_results(self) -> list[Json]:
        blocks: list[Json] = []
        for line in self.all("user"):
            content = line["message"]["content"]
            if isinstance(content, list):
                blocks += [block for block in content if block.get("type") == "tool_result"]
        return blocks

    def kinds(self) -> list[str]:
        return [":".join(str(line[key]) for key in ("type", "subtype", "state") if key in line) for line in self.lines]

    def left(self, timeout: float = 20.0) -> int:
        """The exit code, once it has gone and all that it said was read."""
        code = self.process.wait(timeout)
        for reader in self._readers:
            reader.join(2)
        return code


def marked(mark: str) -> list[int]:
    """Every process that carries this in its environment: agents start commands in sessions of their own."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if mark.encode() in (folder / "environ").read_bytes().split(b"\0"):
                found.append(int(folder.name))
    return found


def alive(pid: int) -> bool:
    """Whether a process runs; one that has ended and is not yet reaped does not."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return False
    return stat.rpartition(")")[2].split()[0] != "Z"
