"""What an operator waits for in a real hold: the coordinator with a real agent process, the console in a real terminal.

Ingest is counted from the first byte of a turn that prints as fast as it can until that turn is settled in the ledger;
it goes the whole way: pipe, keeper process, spool, socket, driver, ledger. A message of many megabytes goes the same
way and is read back whole. The stop is counted from the byte of the key on the terminal until the kernel knows neither
the agent nor its daemon any more.
"""

import asyncio
import os
import pty
import select
import signal
import tempfile
import termios
import threading
import time
from pathlib import Path

import psutil

from coordinator import eventcodec
from coordinator.drivers import base
from coordinator.profiles import AgentProfile, builtin
from store import events, turns
from store.tx import Tx
from store.vocab import Billing, RunId, TurnState
from tests.bench.bench_start import ROOT, around
from tests.bench.figures import PYTHON, Figure, middle, scaled, upper
from tests.bench.fromterminal import pieces
from tests.coordinator.held import holding, repository, script
from tests.waiting import wait_until

LINES = 100_000
MESSAGES = (12, 64)
TORRENT = ROOT / "tests" / "children" / "torrent.py"
ROUNDS = 10
AGAIN = 0.8
"""Seconds after which a second press of the stop key counts."""
STOP = b"\x1c"


# --------------------------------------------------------------------------------------------------------------- ingest


async def ingest(folder: Path) -> list[Figure]:
    practice = builtin({})[1]
    torrent = AgentProfile(
        name="practice",
        driver="rehearsal",
        program=practice.program,
        args=("-I", str(TORRENT)),
        billing=Billing.PRACTICE,
    )
    async with holding(folder, profiles=(torrent,)) as held:
        late: list[float] = []

        async def look() -> None:
            while True:
                begun = time.perf_counter()
                await asyncio.sleep(0.002)  # how late this comes back is what is measured
                late.append(time.perf_counter() - begun - 0.002)

        looking = asyncio.create_task(look(), name="how late the loop is")
        begun = time.perf_counter()
        run = await held.start(f"go {script({'do': 'flood', 'lines': LINES})}")
        await held.until(run, lambda view: view.turns and view.turns[0].state is TurnState.SETTLED, 120.0)
        took = time.perf_counter() - begun
        looking.cancel()
        page = await held.coordinator.house.ledger.read(lambda tx: events.page(tx, run, newest=True))
        assert len(page) == 500
    return [
        Figure(
            name=f"{LINES:,} lines of an agent, from its start to the ledger",
            value=LINES / took,
            unit="events/s",
            note="agent's start included",
        ),
        middle("   how late the coordinator's loop is meanwhile, p50", scaled(late, 1000)),
        upper("   p99", scaled(late, 1000), 0.99),
    ]


async def long_message(folder: Path, megabytes: int) -> list[Figure]:
    """One message, as two chunks and then as one line, as the agents do it; then what the ledger has of it."""
    line = "a word of a long message, and the next of it, line\n"
    count = megabytes * 1_000_000 // len(line)
    async with holding(folder) as held:
        begun = time.perf_counter()
        run = await held.start(f"go {script({'text': line, 'mul': count, 'chunks': 2})}")
        await held.until(run, lambda view: view.turns and view.turns[0].state is TurnState.SETTLED, 120.0)
        took = time.perf_counter() - begun
        rows = await held.coordinator.house.ledger.read(lambda tx: _of_first_turn(tx, run))
    told = [eventcodec.decode(row.kind, row.body) for row in rows]
    texts = [one.text for one in told if isinstance(one, base.TextBlock)]
    kept = sum(len(text) for text in texts if set(text.splitlines()) == {line.rstrip()})
    return [
        Figure(name=f"a message of {megabytes} MB, from its agent's start to the ledger", value=took * 1000),
        Figure(name="   of its bytes missing in the ledger", value=len(line) * count - kept, unit="B", goal=0),
    ]


def _of_first_turn(tx: Tx, run: RunId) -> list[events.Event]:
    return list(events.of_turn(tx, turns.of_run(tx, run)[0].id))


# ------------------------------------------------------------------------------------------------------ the stop key


class Console:
    """``footplate start`` in a terminal of its own, read all the time, with a run that has a daemon."""

    def __init__(self, folder: Path, steps: str) -> None:
        self.pid_file = folder / "daemon"
        tree = repository(folder / "tree")
        brief = steps.replace("PID_FILE", str(self.pid_file))
        arguments = ["-m", "app.main", "start", brief, "--agent", "practice", "--yes", "--no-preamble"]
        self.pid, self.master = pty.fork()
        if self.pid == 0:
            os.chdir(tree)
            os.execve(PYTHON, [PYTHON, *arguments], around(folder / "home"))
        termios.tcsetwinsize(self.master, (36, 120))
        self.seen = bytearray()
        self.last = time.perf_counter()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        for got in pieces(self.master):
            self.seen += got
            self.last = time.perf_counter()

    def tree(self) -> list[int]:
        """The agent and its daemon, when both are there and the screen has come to rest."""
        wait_until(lambda: self.pid_file.is_file() and b"\x1b[?1049h" in self.seen, 30.0, "the daemon, and the screen")
        daemon = psutil.Process(int(self.pid_file.read_text()))
        wait_until(lambda: time.perf_counter() - self.last > 0.3, 30.0, "a screen at rest")
        keeper = daemon.parent()
        assert keeper is not None
        agents = [one.pid for one in keeper.children(recursive=True) if "agent.py" in " ".join(one.cmdline())]
        assert agents, "no agent beside its daemon"
        return [*agents, daemon.pid]

    def press(self) -> float:
        at = time.perf_counter()
        os.write(self.master, STOP)
        return at

    def end(self) -> None:
        os.kill(self.pid, signal.SIGTERM)
        ended = wait_until(lambda: os.waitpid(self.pid, os.WNOHANG)[0], 30.0, "the console's end")
        assert ended == self.pid
        os.close(self.master)


def handles_of(pids: list[int]) -> dict[int, int]:
    """Taken before the key is pressed: afterwards they may be gone sooner than one can look."""
    return {os.pidfd_open(pid): pid for pid in pids}


def reaped(handles: dict[int, int], most: float = 30.0) -> float:
    """When the last of them was no more, not even as a zombie."""
    end = time.perf_counter() + most
    waiting = set(handles)
    while waiting:
        over, _, _ = select.select(list(waiting), [], [], max(0.0, end - time.perf_counter()))
        assert over, f"still alive: {[handles[one] for one in waiting]}"
        waiting -= set(over)
    for handle in handles:
        os.close(handle)
    while any(psutil.pid_exists(pid) for pid in handles.values()):
        assert time.perf_counter() < end, "ended, but not reaped"
    return time.perf_counter()


DAEMON: dict[str, object] = {"do": "daemon", "seconds": 600, "pid_file": "PID_FILE"}
DEAF: dict[str, object] = {"do": "ignore", "what": ["eof", "term", "end_session", "interrupt"]}
SILENT: dict[str, object] = {"do": "silence"}


def one_stop(*, kill: bool) -> float:
    steps = script(DAEMON, DEAF, SILENT) if kill else script(DAEMON, SILENT)
    with tempfile.TemporaryDirectory(prefix="footplate-bench-") as folder:
        console = Console(Path(folder), f"go {steps}")
        try:
            pids = console.tree()
            handles = handles_of(pids)
            pressed = console.press()
            if kill:
                wait_until(lambda: time.perf_counter() - pressed > AGAIN, 5.0)
                assert all(psutil.pid_exists(pid) for pid in pids), "it was to hear nothing but KILL"
                pressed = console.press()
            return (reaped(handles) - pressed) * 1000
        finally:
            console.end()


def measure() -> list[Figure]:
    with tempfile.TemporaryDirectory(prefix="footplate-bench-") as folder:
        figures = asyncio.run(ingest(Path(folder)))
    for megabytes in MESSAGES:
        with tempfile.TemporaryDirectory(prefix="footplate-bench-") as folder:
            figures += asyncio.run(long_message(Path(folder), megabytes))
    asked = [one_stop(kill=False) for _ in range(ROUNDS)]
    killed = [one_stop(kill=True) for _ in range(ROUNDS)]
    return [
        *figures,
        middle("stop key to whole tree reaped, an agent that ends when asked, p50", asked),
        upper("   p95", asked, 0.95),
        middle("second press (kill) to whole tree reaped, a deaf agent, p50", killed),
        upper("   p95", killed, 0.95, goal=30.0),
    ]
