"""The ledger as a command has it that reads and writes beside whatever console is open: one short transaction each."""

from collections.abc import Callable
from typing import TypeVar

from app.paths import Paths
from coordinator.clock import RealClock
from store import runs
from store.db import read_ledger, write_ledger
from store.refusal import Refusal
from store.tx import Tx
from store.vocab import RunId

T = TypeVar("T")
_NEWEST = 200


class Books:
    def __init__(self, paths: Paths) -> None:
        self._paths = paths

    async def read(self, body: Callable[[Tx], T]) -> T:
        with read_ledger(self._paths.ledger, now=RealClock().now) as tx:
            return body(tx)

    async def transaction(self, body: Callable[[Tx], T | Refusal]) -> T | Refusal:
        with write_ledger(self._paths.ledger, now=RealClock().now) as tx:
            return body(tx)


def own_trees(paths: Paths) -> list[RunId]:
    """Runs that have ended and had a tree of their own, the newest first."""
    if not paths.ledger.exists():
        return []
    with read_ledger(paths.ledger, now=RealClock().now) as tx:
        found = runs.listing(tx, limit=_NEWEST)
    return [run.id for run in found if run.outcome is not None and run.tree != run.repository]
