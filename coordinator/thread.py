"""The coordinator's own thread and loop, so that a screen that stands still stops no hold.

A terminal that nobody reads stops Textual's loop within seconds; here nothing of that is felt. Commands come in through
``call_soon_threadsafe``; what goes out is frozen.
"""

import asyncio
import contextlib
import logging
import threading
from collections.abc import Callable, Coroutine, Sequence
from concurrent.futures import Future, InvalidStateError
from pathlib import Path
from typing import Any, TypeVar

from coordinator.api import CloseAll, Closed, ConsoleSnapshot, FeedEvent, LeaveAll, OperatorCommand, Reply, Terminal
from coordinator.clock import Clock, RealClock
from coordinator.coordinator import Coordinator
from coordinator.house import HouseSettings
from coordinator.ids import Ids, RealIds
from coordinator.profiles import AgentProfile
from store.db import Ledger
from store.refusal import Refusal
from store.vocab import Millis, RefusalReason, RunId

log = logging.getLogger(__name__)

T = TypeVar("T")


class CoordinatorThread:
    """A ``Backend``. Open with ``start``, and ``close`` it on every way out."""

    def __init__(
        self,
        *,
        settings: HouseSettings,
        profiles: Sequence[AgentProfile],
        ledger_path: Path,
        repository: Path | None,
        clock: Clock | None = None,
        ids: Ids | None = None,
    ) -> None:
        self._settings = settings
        self._profiles = profiles
        self._ledger_path = ledger_path
        self._repository = repository
        self._clock = clock or RealClock()
        self._ids = ids or RealIds()
        self._thread = threading.Thread(target=self._run, name="coordinator", daemon=False)
        self._ready: Future[Refusal | None] = Future()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._coordinator: Coordinator | None = None
        self._over: asyncio.Event | None = None
        self._empty = ConsoleSnapshot(now=self._clock.now(), operator=settings.operator)
        self.notes: list[str] = []
        """After ``close``: what a person must be told on the terminal."""
        self.left: dict[RunId, Millis] = {}
        """After ``close``: what stays held, and until when if nobody comes back."""
        self._asked: set[Future[Reply]] = set()
        """Those who wait for an answer: none of them waits for a thread that has ended."""

    def start(self) -> Refusal | None:
        """Begin; a ``Refusal`` says why the ledger cannot be used."""
        self._thread.start()
        return self._ready.result()

    def close(self, *, leave: bool = False) -> Closed:
        """End every hold, or leave them held; wait for the books, end the thread."""
        result = Closed(unsettled=())
        if self._thread.is_alive() and self._loop is not None and self._over is not None:
            try:
                reply = self.submit(LeaveAll() if leave else CloseAll()).result()
                if isinstance(reply, Closed):
                    result = reply
            except Exception:
                log.exception("closing failed; what is held goes back to its keepers")
            finally:
                with contextlib.suppress(RuntimeError):
                    self._loop.call_soon_threadsafe(self._over.set)
        self._thread.join()
        return result

    # ----------------------------------------------------------------------------------------------------- Backend

    def snapshot(self) -> ConsoleSnapshot:
        coordinator = self._coordinator
        return coordinator.snapshot() if coordinator is not None else self._empty

    def submit(self, command: OperatorCommand) -> "Future[Reply]":
        return self._call(lambda coordinator: coordinator.handle(command))

    def subscribe(self, wake: Callable[[], None]) -> Callable[[], None]:
        coordinator = self._coordinator
        if coordinator is None:
            return lambda: None
        wakes = coordinator.snapshots.wakes
        wakes.append(wake)

        def unsubscribe() -> None:
            with contextlib.suppress(ValueError):
                wakes.remove(wake)

        return unsubscribe

    def drain(self, run: RunId) -> tuple[tuple[FeedEvent, ...], int]:
        coordinator = self._coordinator
        return coordinator.house.feed.drain(run) if coordinator is not None else ((), 0)

    def leave(self, run: RunId) -> None:
        if (coordinator := self._coordinator) is not None:
            coordinator.house.feed.leave(run)

    def terminal(self, run: RunId) -> Terminal | None:
        coordinator = self._coordinator
        session = coordinator.sessions.get(run) if coordinator is not None else None
        return None if session is None or session.ended.is_set() else session.ingest.terminal

    def beat(self) -> None:
        loop, coordinator = self._loop, self._coordinator
        if loop is not None and coordinator is not None:
            with contextlib.suppress(RuntimeError):
                loop.call_soon_threadsafe(coordinator.beat)

    # ------------------------------------------------------------------------------------------------------ thread

    def _call(self, make: Callable[[Coordinator], Coroutine[Any, Any, Reply]]) -> "Future[Reply]":
        answer: Future[Reply] = Future()
        loop, coordinator = self._loop, self._coordinator
        if loop is None or coordinator is None:
            answer.set_result(Refusal(RefusalReason.SHUTTING_DOWN))
            return answer

        async def carry_out() -> None:
            try:
                reply = await make(coordinator)
            except Exception as problem:
                log.exception("a command failed")
                if not answer.done():
                    answer.set_exception(problem)
            else:
                if not answer.done():
                    answer.set_result(reply)

        def begin() -> None:
            task = loop.create_task(carry_out())
            self._commands.add(task)
            task.add_done_callback(self._commands.discard)

        self._asked.add(answer)
        answer.add_done_callback(self._asked.discard)
        try:
            loop.call_soon_threadsafe(begin)
        except RuntimeError:
            self._refuse_all()
        if not self._thread.is_alive():
            self._refuse_all()
        return answer

    def _refuse_all(self) -> None:
        for answer in list(self._asked):
            with contextlib.suppress(InvalidStateError):
                answer.set_result(Refusal(RefusalReason.SHUTTING_DOWN))

    def _run(self) -> None:
        try:
            asyncio.run(self._main())
        except BaseException as problem:
            log.exception("the coordinator's thread ended by an error")
            if not self._ready.done():
                self._ready.set_exception(problem)
        finally:
            self._refuse_all()

    async def _main(self) -> None:
        self._commands: set[asyncio.Task[None]] = set()
        self._loop = asyncio.get_running_loop()
        self._over = asyncio.Event()
        ledger = await Ledger.open(
            self._ledger_path,
            now=self._clock.now,
            machine=self._settings.machine,
            ledger_id=self._ids.secret,
        )
        if isinstance(ledger, Refusal):
            self._ready.set_result(ledger)
            return
        try:
            async with Coordinator.opened(
                settings=self._settings,
                profiles=self._profiles,
                ledger=ledger,
                clock=self._clock,
                ids=self._ids,
                repository=self._repository,
            ) as coordinator:
                self._coordinator = coordinator
                self._ready.set_result(None)
                await self._over.wait()
                self.left = coordinator.left
            self.notes = list(coordinator.house.notes)
        finally:
            self._coordinator = None
            await ledger.close()
