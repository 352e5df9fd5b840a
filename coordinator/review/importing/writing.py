"""What is to be written, until it is a transaction's worth: short ones, so that a live console is not kept waiting.

The lock is held only while rows go in; reading and parsing are done before. Which facts these are is not known here.
"""

from collections.abc import Callable, Sequence
from typing import Final

from msgspec import Struct

from store import imported
from store.bulk import BulkLedger
from store.tx import Tx
from store.vocab import RunId

ROWS: Final = 400
"""Of events, in one transaction; with their keys, texts and indexes some 30 ms on a slow disk."""
CHARACTERS: Final = 1_500_000
"""Of events' bodies, in one transaction."""
CHECKPOINT_EVERY: Final = 64
"""Transactions after which the WAL is brought into the file."""

Step = Callable[[Tx], None]


class Owner(Struct, eq=False):
    """Who read a line: a session, whose run has a number once it is written."""

    run: RunId | None = None


class Writer:
    """Collects steps; with no ledger (a dry run) they are forgotten, and what they would have made known is kept."""

    def __init__(self, ledger: BulkLedger | None, look: Callable[[], Tx | None], written: Callable[[], None]) -> None:
        self._ledger = ledger
        self._look = look
        self._written = written
        self._steps: list[Step] = []
        self._fresh: dict[int, tuple[Owner, int]] = {}
        self._looked: dict[int, tuple[RunId, int]] = {}
        self._committed = False
        self._weight = 0.0
        self._commits = 0

    @property
    def dry(self) -> bool:
        return self._ledger is None

    def look_up(self, keys: Sequence[int]) -> None:
        """Ask the ledger about lines that are to be taken next."""
        if self._committed:
            self._fresh.clear()  # the ledger has them now
            self._committed = False
        tx = self._look() if keys else None
        self._looked = {} if tx is None else dict(imported.known(tx, keys))

    def known(self, key: int) -> tuple[Owner | RunId, int] | None:
        """Where a line that was asked about was read in from: by whom, or into which run; and the place in its file."""
        return self._fresh.get(key) or self._looked.get(key)

    def knows_now(self, key: int, owner: Owner, place: int) -> None:
        self._fresh.setdefault(key, (owner, place))

    def weighs(self, *, rows: int, characters: int) -> bool:
        """Count what is to come; whether it is a transaction's worth."""
        self._weight += rows / ROWS + characters / CHARACTERS
        return self._weight >= 1

    def step(self, step: Step) -> None:
        if self._ledger is not None:
            self._steps.append(step)

    def commit(self) -> None:
        """
        Raises:
            LedgerBusy, StorageFault: with the refusal to show; nothing of this transaction stands.
        """
        steps, self._steps, self._weight = self._steps, [], 0.0
        if self._ledger is not None:
            if steps:

                def carry_out(tx: Tx) -> None:
                    for step in steps:
                        step(tx)

                self._ledger.write(carry_out)
                self._commits += 1
                if self._commits % CHECKPOINT_EVERY == 0:
                    self._ledger.checkpoint()
            self._committed = True
        self._written()
