"""``footplate start --plain --json`` as a process of its own, driven by its lines of stdin and read by its JSON lines.

It only types and waits for events; what they must be, a test says. It ends the process that it started.
"""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from tests.fakes.accounts import leave_nothing
from tests.waiting import wait_until

ROOT = Path(__file__).resolve().parents[2]
Json = dict[str, Any]


class PlainProcess:
    """Use it as a context manager: it is stopped on the way out, with all that it holds."""

    def __init__(
        self,
        brief: str,
        *,
        repository: Path,
        environment: Mapping[str, str],
        agent: str,
        options: Sequence[str] = ("--in-place",),
    ) -> None:
        self.home = Path(environment["FOOTPLATE_HOME"])
        self.environment = dict(environment)
        self.repository = repository
        mark = os.urandom(3).hex()
        self._out = (repository.parent / f"plain-out-{mark}").open("w+b")
        self._err = (repository.parent / f"plain-err-{mark}").open("w+b")
        arguments = ["start", "--plain", "--json", "--yes", "--agent", agent, "--repo", str(repository)]
        self.process = subprocess.Popen(
            [sys.executable, "-m", "app.main", *arguments, *options, brief],
            cwd=repository,
            env=self.environment,
            stdin=subprocess.PIPE,
            stdout=self._out,
            stderr=self._err,
        )
        self._read_to = 0
        self._events: list[Json] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGCONT)
            self.process.send_signal(signal.SIGTERM)
            try:
                self.process.wait(40)
            finally:
                self.process.kill()
        leave_nothing(self.home)
        for stream in (self.process.stdin, self._out, self._err):
            if stream is not None:
                stream.close()

    # ----------------------------------------------------------------------------------------------------- what it says

    def events(self, name: str | None = None, **facts: object) -> list[Json]:
        with Path(self._out.name).open("rb") as file:
            file.seek(self._read_to)
            data = file.read()
        whole = data[: data.rfind(b"\n") + 1]
        self._read_to += len(whole)
        self._events += [json.loads(line) for line in whole.splitlines()]
        return [
            event
            for event in self._events
            if name in (None, event["event"]) and all(event.get(key) == value for key, value in facts.items())
        ]

    def saw(self, name: str, timeout: float = 30.0, **facts: object) -> Json:
        """The first event of that name with these facts, waited for."""

        return self._wait(lambda: self.events(name, **facts), timeout, f"{name} {facts}")[0]

    def _wait(self, look: Callable[[], list[Json]], timeout: float, what: str) -> list[Json]:
        def or_over() -> list[Json]:
            over = self.process.poll() is not None
            found = look()
            assert found or not over, "the process ended"
            return found

        try:
            return wait_until(or_over, timeout, what)
        except AssertionError as problem:
            raise AssertionError(f"{what}: {problem}; {self.err()}; last: {self.events()[-4:]}") from None

    def err(self) -> str:
        return Path(self._err.name).read_text()

    # ------------------------------------------------------------------------------------------------------- what we do

    def type(self, line: str) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(line.encode() + b"\n")
        self.process.stdin.flush()

    def asked(self, number: int) -> Json:
        """The decision that was asked as the n-th, from 1."""
        return self._wait(lambda: self.events("decision")[number - 1 : number], 30, f"decision {number}")[0]

    def code(self, timeout: float = 40.0) -> int:
        return self.process.wait(timeout)

    def footplate(self, *arguments: str, given: bytes = b"") -> "Ran":
        """Another command on the same house, from another process."""
        return run_footplate(self.environment, *arguments, cwd=self.repository, given=given)


class Ran:
    def __init__(self, done: "subprocess.CompletedProcess[bytes]") -> None:
        self.code = done.returncode
        self.out = done.stdout.decode()
        self.err = done.stderr.decode()


def run_footplate(
    environment: Mapping[str, str], *arguments: str, cwd: Path, given: bytes = b"", timeout: float = 60.0
) -> Ran:
    """``footplate …`` to its end."""
    done = subprocess.run(
        [sys.executable, "-m", "app.main", *arguments],
        cwd=cwd,
        env=dict(environment),
        input=given,
        capture_output=True,
        timeout=timeout,
        check=False,
    )
    return Ran(done)


def house_environment(home: Path, **more: str) -> dict[str, str]:
    """An operator's environment with a house of its own, and the practice agent at full speed."""
    home.parent.mkdir(parents=True, exist_ok=True)
    kept = {name: os.environ[name] for name in ("PATH", "LANG", "TMPDIR") if name in os.environ}
    return {
        **kept,
        "HOME": str(home.parent),
        "PYTHONPATH": str(ROOT),
        "PYTHONUTF8": "1",
        "TERM": "xterm-256color",
        "FOOTPLATE_HOME": str(home),
        "FOOTPLATE_REHEARSAL_PACE": "0",
        **more,
    }
