"""Launching real supervisors in a test, following their records, and leaving nothing behind whatever the test did."""

import asyncio
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from coordinator.custody import processes
from coordinator.custody.client import Supervisor, kill_by_socket
from coordinator.custody.receipts import receipt_from_facts
from coordinator.custody.types import (
    AgentSpec,
    HoldSpec,
    Ladder,
    ProcessIdentity,
    Receipt,
    RecordKind,
    SpawnFailure,
    SpoolRecord,
)

CHILD = Path(__file__).parent.parent / "children" / "misbehaving.py"
QUICK = Ladder(farewell=0.3, eof=0.3, term=0.3, total=2.0, not_dying=1.0)


def agent(*args: str, **environment: str) -> AgentSpec:
    """One of the misbehaving children."""
    return AgentSpec(
        argv=(sys.executable, "-I", "-S", str(CHILD), *args),
        cwd=Path("/"),
        environment={"PATH": os.environ["PATH"], **environment},
    )


class Hold:
    """A supervisor and all records read from it so far."""

    def __init__(self, spec: HoldSpec, supervisor: Supervisor) -> None:
        self.spec = spec
        self.supervisor = supervisor
        self.records: list[SpoolRecord] = []
        self.reading = asyncio.create_task(self._read(supervisor))
        self._more = asyncio.Event()

    async def _read(self, supervisor: Supervisor) -> None:
        async for record in supervisor.records():
            self.records.append(record)
            self._more.set()
        self._more.set()

    async def attach(self, epoch: int, offset: int | None = None) -> Supervisor:
        """As a new console: from where this one has read to, unless told otherwise."""
        if offset is None:
            offset = self.records[-1].next_offset if self.records else 0
        again = await Supervisor.attach(self.spec.folder, cookie=self.spec.cookie, epoch=epoch, offset=offset)
        assert isinstance(again, Supervisor), again
        self.supervisor = again
        self.reading = asyncio.create_task(self._read(again))
        return again

    async def until(self, look: Callable[["Hold"], object], timeout: float = 15.0) -> None:
        """Until what was read shows it."""
        async with asyncio.timeout(timeout):
            while not look(self):
                assert not (self.reading.done() and not look(self)), f"records over: {[r.kind for r in self.records]}"
                self._more.clear()
                await self._more.wait()

    async def start(self, *args: str, generation: int = 1, **environment: str) -> ProcessIdentity:
        """Start a misbehaving child, and wait until it says that it is ready."""
        environment["WORKER"] = str(self.supervisor.identity.pid)
        started = await self.supervisor.start(generation, agent(*args, **environment))
        assert isinstance(started, ProcessIdentity), started
        if args[0] not in ("count", "inside", "environment", "terminal"):
            await self.until(lambda h: b"ready\n" in h.stdout(generation))
        return started

    def stdout(self, generation: int = 1) -> bytes:
        return b"".join(r.data for r in self.records if r.kind is RecordKind.STDOUT and r.generation == generation)

    def kinds(self) -> list[RecordKind]:
        return [record.kind for record in self.records]

    def all(self, kind: RecordKind) -> list[SpoolRecord]:
        return [record for record in self.records if record.kind is kind]

    async def gone(self, timeout: float = 15.0) -> Receipt:
        """Wait for the end; the receipt."""
        await self.until(lambda h: RecordKind.END in h.kinds(), timeout)
        return receipt_from_facts(self.all(RecordKind.GONE)[-1].facts)

    async def tree(self) -> list[ProcessIdentity]:
        """Everything below the supervisor now."""
        listed = (await self.supervisor.status())["processes"]
        assert isinstance(listed, list)
        found = [processes.identity_of(facts["pid"]) for facts in listed]
        return [identity for identity in found if identity is not None]


class Holds:
    """Makes holds in one test's folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._made: list[HoldSpec] = []

    def spec(self, **changed: object) -> HoldSpec:
        n = len(self._made)
        facts: dict[str, object] = {
            "custody": f"c{n}",
            "run": n,
            "authorization": f"a{n}",
            "folder": self._folder / f"run{n}",
            "cookie": os.urandom(16).hex(),
            "nonce": os.urandom(16).hex(),
            "hold_seconds": 30.0,
            "ladder": QUICK,
            "cgroups": "",
            "linger": 2.0,
        }
        spec = HoldSpec(**{**facts, **changed})  # type: ignore[arg-type]
        self._made.append(spec)
        return spec

    async def launch(self, **changed: object) -> Hold:
        spec = self.spec(**changed)
        supervisor = await Supervisor.launch(spec)
        assert not isinstance(supervisor, SpawnFailure), supervisor
        return Hold(spec, supervisor)

    async def end_all(self) -> list[Path]:
        """End whatever lives; returns the folders where a worker crashed."""
        for spec in self._made:
            if (spec.folder / "s").exists():
                await kill_by_socket(spec.folder, spec.cookie)
            processes.kill_carriers(spec.nonce)
        return [spec.folder / "crash" for spec in self._made if (spec.folder / "crash").exists()]


def gone(identities: Sequence[ProcessIdentity]) -> bool:
    """None of them runs."""
    return not any(processes.is_alive(identity) for identity in identities)
