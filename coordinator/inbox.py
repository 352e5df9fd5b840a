"""The one queue from which a session's actor takes its inputs: what the operator wants first, then what the agent
printed.

Records are bounded so that a flood is held back at the supervisor's socket (its spool is the buffer); the operator's
lane is never full.
"""

import asyncio
from collections import deque
from typing import Generic, TypeVar

from msgspec import Struct

from coordinator.custody.types import SpoolRecord

C = TypeVar("C")

RECORDS = 2_000
BATCH = 500


class WireLost(Struct, frozen=True):
    """The supervisor's connection ended; what it still had to say is in the spool file."""


class Inbox(Generic[C]):
    def __init__(self) -> None:
        self._commands: deque[C] = deque()
        self._records: deque[SpoolRecord | WireLost] = deque()
        self._some = asyncio.Event()
        self._room = asyncio.Event()
        self._room.set()

    def command(self, command: C) -> None:
        self._commands.append(command)
        self._some.set()

    def nudge(self) -> None:
        """One of its timers was changed by somebody else: look again."""
        self._some.set()

    async def record(self, record: SpoolRecord | WireLost) -> None:
        """Waits while the lane is full."""
        await self._room.wait()
        self._records.append(record)
        self._some.set()
        if len(self._records) >= RECORDS:
            self._room.clear()

    async def wait(self, seconds: float) -> None:
        """Until there is something, at most so long."""
        try:
            async with asyncio.timeout(max(0.0, seconds)):
                await self._some.wait()
        except TimeoutError:
            pass

    def take_command(self) -> C | None:
        if self._commands:
            return self._commands.popleft()
        self._settle()
        return None

    @property
    def commanded(self) -> bool:
        """Something of the operator's waits."""
        return bool(self._commands)

    def take_records(self, most: int = BATCH) -> tuple[list[SpoolRecord], bool]:
        """Some records, and whether the wire was lost behind them."""
        taken: list[SpoolRecord] = []
        lost = False
        while self._records and len(taken) < most:
            record = self._records.popleft()
            if isinstance(record, WireLost):
                lost = True
                break
            taken.append(record)
        if len(self._records) < RECORDS // 2:
            self._room.set()
        self._settle()
        return taken, lost

    def _settle(self) -> None:
        if not self._commands and not self._records:
            self._some.clear()
