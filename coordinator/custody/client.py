"""The console's half of one hold: the supervisor's verbs as coroutines.

Nothing here decides when something is to be written, held or ended; it says what the supervisor answered, and where the
answer did not come, that it did not (``Lost``, ``WriteOutcome.LOST``), never a guess.
"""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Self

from coordinator.custody.connection import Answer, Connection, Lost, connect
from coordinator.custody.launching import launch_process
from coordinator.custody.types import (
    AgentSpec,
    HoldSpec,
    ProcessIdentity,
    RecordKind,
    SpawnFailure,
    SpoolRecord,
    WriteOutcome,
    WriteProof,
)
from coordinator.supervisor.wireformat import WIRE_VERSION

__all__ = ["Lost", "Supervisor", "fence_by_socket", "kill_by_socket", "read_cookie", "status_by_socket"]

_STOP_TIMEOUT = 2.0


def _identity(facts: object) -> ProcessIdentity:
    assert isinstance(facts, dict)
    return ProcessIdentity(boot_id=str(facts["boot_id"]), pid=int(facts["pid"]), start_ticks=int(facts["start_ticks"]))


def read_cookie(folder: Path) -> str | None:
    """The cookie that the supervisor left in its folder for a later console or a ``stop``."""
    try:
        return (folder / "cookie").read_text()
    except OSError:
        return None


async def _greeted(folder: Path, cookie: str, timeout: float) -> Connection | SpawnFailure:
    """A connection that has shown the cookie."""
    connection: Connection | None = None
    try:
        async with asyncio.timeout(timeout):
            connection = await connect(folder, timeout)
            said = await connection.ask("hello", v=WIRE_VERSION, cookie=cookie)
    except (OSError, TimeoutError) as error:
        refusal = connection.refusal if connection is not None else None
        if connection is not None:
            connection.drop("refused")
        return SpawnFailure(what=refusal or "no-answer", detail=str(error) or "nobody answered in time")
    if not said.get("ok"):
        connection.drop("refused")
        return SpawnFailure(what=str(said.get("why")))
    return connection


class Supervisor:
    """The console's half of one hold. All methods are coroutines on the coordinator's loop."""

    def __init__(self, folder: Path, cookie: str, connection: Connection, facts: Answer) -> None:
        self._folder = folder
        self._cookie = cookie
        self._connection = connection
        self.identity = _identity(facts["worker"])
        self.keeper_identity = _identity(facts["keeper"])
        self.facts: Answer = facts
        """What ``attach`` was answered: generation, agent_alive, ending, gone, epoch, spool_size."""

    @classmethod
    async def launch(cls, spec: HoldSpec, *, timeout: float = 10.0) -> "Self | SpawnFailure":
        """Start the process, wait for its ready line, attach with epoch 1 from offset 0."""
        ready = await launch_process(spec, timeout)
        if isinstance(ready, SpawnFailure):
            return ready
        attached = await cls.attach(spec.folder, cookie=spec.cookie, epoch=1, offset=0, timeout=timeout)
        if isinstance(attached, SpawnFailure):  # told as failed, so nothing of it may live on
            await kill_by_socket(spec.folder, spec.cookie)
        return attached

    @classmethod
    async def attach(
        cls, folder: Path, *, cookie: str, epoch: int, offset: int, timeout: float = 2.0
    ) -> "Self | SpawnFailure":
        """Take over with a higher epoch, reading the spool from a record's beginning."""
        connection = await _greeted(folder, cookie, timeout)
        if isinstance(connection, SpawnFailure):
            return connection
        upto = connection.expect_from(offset)
        try:
            async with asyncio.timeout(timeout):
                said = await connection.ask("attach", epoch=epoch, offset=offset, upto=upto)
        except (OSError, TimeoutError) as error:
            connection.drop("not attached")
            return SpawnFailure(what="no-answer", detail=str(error) or "nobody answered in time")
        if not said.get("ok"):
            connection.drop("not attached")
            return SpawnFailure(what=str(said.get("why")), detail=str(said.get("detail", "")))
        return cls(folder, cookie, connection, said)

    @property
    def lost(self) -> bool:
        """The connection is gone; the supervisor may live on."""
        return self._connection.lost

    async def start(
        self, generation: int, agent: AgentSpec, *, timeout: float = 10.0
    ) -> ProcessIdentity | SpawnFailure:
        """Start the agent, at most once per generation, and only when none is alive."""
        terminal = list(agent.terminal) if agent.terminal is not None else None
        try:
            async with asyncio.timeout(timeout):
                said = await self._connection.ask(
                    "start",
                    generation=generation,
                    argv=list(agent.argv),
                    cwd=str(agent.cwd),
                    environment=dict(agent.environment),
                    terminal=terminal,
                    quiet_ms=agent.quiet_ms,
                )
        except (Lost, TimeoutError) as error:
            return SpawnFailure(what="no-answer", detail=str(error) or f"not in {timeout:g} s")
        if not said.get("ok"):
            return SpawnFailure(what=str(said.get("why")), detail=str(said.get("detail", "")))
        return _identity(said)

    async def records(self) -> AsyncIterator[SpoolRecord]:
        """From the offset on, live; ends after ``end``, or when the connection is lost (``lost`` is then true)."""
        while (record := await self._connection.next_record()) is not None:
            yield record
            if record.kind is RecordKind.END:
                return

    async def write(self, id: str, data: bytes) -> WriteOutcome:
        """Send bytes to the agent, at most once per id. ``wrote`` means the last byte is in its pipe."""
        try:
            said = await self._connection.ask("write", data, id=id)
        except Lost:
            return WriteOutcome.LOST
        if not said.get("ok"):
            return WriteOutcome.LOST  # not attached (any more): nothing was taken
        return WriteOutcome(str(said["outcome"]))

    async def wrote(self, id: str) -> WriteProof:
        """What is provable of that id.

        Raises:
            Lost: ask the spool (``spoolfile.proof_of_write``) once its lock is free.
        """
        return WriteProof(str((await self._connection.ask("wrote", id=id))["state"]))

    async def cancel(self, id: str) -> bool:
        """Whether nothing was sent for it, and never will be.

        Raises:
            Lost: not known.
        """
        return bool((await self._connection.ask("cancel", id=id)).get("cancelled"))

    async def farewell(self, data: bytes, *, pause: float | None = None) -> None:
        """The bytes that end this agent well just now.

        ``pause``: seconds of silence after its answer, and its input ends all the same; None: the ladder's own time.

        Raises:
            Lost: the connection is gone.
        """
        facts = {} if pause is None else {"pause_ms": round(pause * 1000)}
        await self._connection.ask("farewell", data, **facts)

    async def fence(self, reason: str, *, restart: bool = False) -> None:
        """Order the ending; the records tell how it goes.

        With ``restart`` only the agent and its tree end: after ``gone`` the hold goes on for the next generation.

        Raises:
            Lost: the order could not be given, on this connection or on a new one.
        """
        try:
            await self._connection.ask("fence", reason=reason, restart=restart)
        except Lost:
            if restart or not await fence_by_socket(self._folder, self._cookie, reason):
                raise

    async def kill(self) -> None:
        """Order the ending from its last step on, also when a gentler one is under way.

        Raises:
            Lost: as ``fence``.
        """
        try:
            await self._connection.ask("kill", reason="killed")
        except Lost:
            if not await kill_by_socket(self._folder, self._cookie):
                raise

    async def hold(self, remaining: float, *, reason: str, expires_at_ms: int | None) -> None:
        """Renew: so much longer, then fence with this reason.

        Raises:
            Lost: the connection is gone.
        """
        await self._connection.ask("hold", remaining=remaining, reason=reason, expires_at_ms=expires_at_ms)

    async def resize(self, rows: int, columns: int) -> None:
        """Of the agent's terminal, where it has one.

        Raises:
            Lost: the connection is gone.
        """
        await self._connection.ask("resize", rows=rows, columns=columns)

    async def status(self) -> dict[str, object]:
        """generation, agent_alive, processes, ending, step, gone, epoch, attached, spool_size, hold_remaining.

        Raises:
            Lost: the connection is gone.
        """
        return await self._connection.ask("status")

    async def end(self) -> None:
        """After ``gone`` was ingested: the supervisor may exit."""
        try:
            await self._connection.ask("end")
        except Lost:
            pass  # it went by itself
        self._connection.drop("ended")

    async def detach(self) -> None:
        """Drop the connection; the supervisor lives on, and counts its hold down."""
        self._connection.drop("detached")


async def _order(folder: Path, cookie: str, verb: str, reason: str, timeout: float) -> bool:
    connection = await _greeted(folder, cookie, timeout)
    if isinstance(connection, SpawnFailure):
        return False
    try:
        async with asyncio.timeout(timeout):
            return bool((await connection.ask(verb, reason=reason)).get("ok"))
    except (OSError, TimeoutError):
        return False
    finally:
        connection.drop("order given")


async def fence_by_socket(folder: Path, cookie: str, reason: str, *, timeout: float = _STOP_TIMEOUT) -> bool:
    """Order the ending without taking the attachment over: for a stop by another process. False: nobody answered."""
    return await _order(folder, cookie, "fence", reason, timeout)


async def status_by_socket(folder: Path, cookie: str, *, timeout: float = _STOP_TIMEOUT) -> Answer | None:
    """What ``status`` says, without taking the attachment over. None: nobody answered."""
    connection = await _greeted(folder, cookie, timeout)
    if isinstance(connection, SpawnFailure):
        return None
    try:
        async with asyncio.timeout(timeout):
            return await connection.ask("status")
    except (OSError, TimeoutError):
        return None
    finally:
        connection.drop("looked")


async def kill_by_socket(folder: Path, cookie: str, *, timeout: float = _STOP_TIMEOUT) -> bool:
    """As ``fence_by_socket``, from the last step on."""
    return await _order(folder, cookie, "kill", "killed", timeout)
