"""Two consoles on one ledger: how long a command of another process takes to reach the one that holds the run.

From before it is asked (a durable row) to when its owner has taken it, and to when the answer can be read; through the
real ledger, the real socket and the real poke. Without the poke the owner would look once a second.
"""

import asyncio
import tempfile
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

from msgspec.structs import replace

from coordinator.api import AnswerDecision, Extend, Revoke, Say, Stop
from coordinator.clock import RealClock
from coordinator.commands import ForAnother, asked_body
from coordinator.drivers.base import Allow
from coordinator.poke import poke
from store import commands, incarnations
from store.db import read_ledger, write_ledger
from store.open import connect
from store.tx import Tx
from store.vocab import RunId, TurnState
from tests.bench.figures import Figure, middle, upper
from tests.coordinator.held import QUICK, Holding, bash, holding, script

ROUNDS = 60
ENDS = ("answer", "revoke", "stop")
"""Asked once each."""
GOAL = 100.0
"""Milliseconds, for say, answer, extend, revoke and stop alike: they go the same way."""


class Asker:
    """As another process does it: connections of its own, nothing shared with the owner."""

    def __init__(self, ledger: Path) -> None:
        self.ledger = ledger
        self.now = RealClock().now

    def socket(self) -> str:
        with read_ledger(self.ledger, now=self.now) as tx:
            return incarnations.not_ended(tx)[0].socket_path

    def ask(self, command: ForAnother, socket: str) -> tuple[float, float]:
        """Milliseconds until it was taken, and until it was answered."""
        verb, run, body = asked_body(command)
        with closing(connect(self.ledger, mode="ro")) as reader:
            begun = time.perf_counter()
            with write_ledger(self.ledger, now=self.now) as tx:
                id = commands.ask(tx, run=run, verb=verb, body=body, operator="Ada").id
            poke(socket)
            look = Tx(reader, self.now())
            taken = self._until(lambda: (row := commands.get(look, id)) is not None and row.taken_at is not None, begun)
            ended = self._until(lambda: (row := commands.get(look, id)) is not None and row.ended_at is not None, begun)
        return taken, ended

    @staticmethod
    def _until(seen: Callable[[], bool], begun: float) -> float:
        while not seen():
            assert time.perf_counter() - begun < 10
        return (time.perf_counter() - begun) * 1000


async def _measured(held: Holding, folder: Path, run: RunId) -> dict[str, list[tuple[float, float]]]:
    asker = Asker(folder / "ledger.db")
    socket = await asyncio.to_thread(asker.socket)
    times: dict[str, list[tuple[float, float]]] = {"say": [], "extend": [], "stop": []}
    for _ in range(ROUNDS):
        times["say"].append(await asyncio.to_thread(asker.ask, Say(run=run, text="later"), socket))
        times["extend"].append(await asyncio.to_thread(asker.ask, Extend(run=run, turns=1), socket))
    times["stop"].append(await asyncio.to_thread(asker.ask, Stop(run=run), socket))
    await held.until(run, lambda view: view.outcome is not None)
    asking = await held.start("go " + script(bash("true"), {"do": "silence"}))
    view = await held.until(asking, lambda view: bool(view.decisions))
    asked = view.decisions[0]
    answer = AnswerDecision(
        run=asking, decision=asked.id, revision=asked.revision, payload_hash=asked.payload_hash, answer=Allow()
    )
    times["answer"] = [await asyncio.to_thread(asker.ask, answer, socket)]
    times["revoke"] = [await asyncio.to_thread(asker.ask, Revoke(run=asking), socket)]
    await held.until(asking, lambda view: view.outcome is not None)
    return times


async def _run(folder: Path) -> dict[str, list[tuple[float, float]]]:
    # The owner's own look is a second apart, as in use: what is measured is the poke.
    async with holding(folder, timing=replace(QUICK, command_poll=1.0)) as held:
        run = await held.start("go " + script({"do": "silence"}))
        await held.until(run, lambda view: view.turns[0].state is TurnState.ACCEPTED)
        return await _measured(held, folder, run)


def measure() -> list[Figure]:
    with tempfile.TemporaryDirectory(prefix="footplate-bench-") as folder:
        times = asyncio.run(_run(Path(folder)))
    taken = [one for of_verb in times.values() for one, _ in of_verb]
    return [
        middle("another process's command reaches its owner, median", taken, goal=GOAL),
        upper("… 95th percentile", taken, 0.95, goal=GOAL),
        middle("say: asked, done and answered, median", [ended for _, ended in times["say"]], goal=GOAL),
        middle("extend: signed and answered, median", [ended for _, ended in times["extend"]], goal=GOAL),
        *(Figure(name=f"{verb}: taken by its owner", value=times[verb][0][0], goal=GOAL) for verb in ENDS),
    ]


if __name__ == "__main__":
    from tests.bench.figures import show

    show("Two consoles on one ledger", measure())
