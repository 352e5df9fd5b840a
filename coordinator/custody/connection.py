"""One connection to a supervisor, on the coordinator's loop: requests with answers, and spool records under credit.

The supervisor sends spool bytes only as far as this side has given credit, so a consumer that stands still holds a
window of records and no more, while answers keep coming past them. What a verb means is in ``client``.
"""

import asyncio
import os
import socket
from collections import deque
from pathlib import Path

import msgspec

from coordinator.custody.spoolfile import to_record
from coordinator.custody.types import SpoolRecord
from coordinator.supervisor import peers, spoolformat, wireformat

WINDOW = 4 * 1024 * 1024
READ = 16 * 1024
"""Bytes that are read in one go: asyncio's own 256 KB are a thousand pieces of a stream, and eight holds read in turn
before anything else is done. A transport has no public way to say so."""

Answer = dict[str, object]


class Lost(ConnectionError):
    """The supervisor does not answer on this connection any more."""


class Connection(asyncio.Protocol):
    """Frames to answers and records."""

    def __init__(self) -> None:
        self._frames = wireformat.FrameReader(decode=msgspec.json.decode)
        self._transport: asyncio.Transport | None = None
        self._waiting: dict[int, asyncio.Future[Answer]] = {}
        self._next = 0
        self._decoder = spoolformat.Decoder()
        self._undecoded: deque[bytes] = deque()
        """Spool bytes as they came. They become records when somebody wants one: what is read from eight supervisors in
        one round of the loop must cost next to nothing, or every order waits for it."""
        self._records: deque[SpoolRecord] = deque()
        self._arrived = asyncio.Event()
        self._queued = 0
        self._granted = 0
        self._room = asyncio.Event()
        self._room.set()
        self.refusal: str | None = None
        self.lost = False
        self.why_lost = ""

    # --------------------------------------------------------------------------------------------- asyncio's callbacks

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        transport.max_size = READ  # type: ignore[attr-defined]

    def data_received(self, data: bytes) -> None:
        try:
            for head, body in self._frames.feed(data):
                self._take(head, body)
        except wireformat.BrokenFrame as error:
            self.drop(f"broken frame: {error}")

    def pause_writing(self) -> None:
        self._room.clear()

    def resume_writing(self) -> None:
        self._room.set()

    def connection_lost(self, exc: Exception | None) -> None:
        self._fail(str(exc) if exc is not None else self.why_lost or "closed")

    # --------------------------------------------------------------------------------------------------------- incoming

    def _take(self, head: Answer, body: bytes) -> None:
        if "spool" in head:
            self._undecoded.append(body)
            self._arrived.set()
            return
        number = head.get("re")
        if number is None:
            self.refusal = str(head.get("why"))
            return
        waiting = self._waiting.pop(number, None) if isinstance(number, int) else None
        if waiting is not None and not waiting.done():
            waiting.set_result(head)

    def _fail(self, why: str) -> None:
        self.lost = True
        self.why_lost = why
        self._room.set()
        self._arrived.set()
        for waiting in self._waiting.values():
            if not waiting.done():
                waiting.set_exception(Lost(why))
        self._waiting.clear()

    def drop(self, why: str) -> None:
        """Close at once."""
        self.why_lost = why
        if self._transport is not None:
            self._transport.abort()

    # --------------------------------------------------------------------------------------------------------- outgoing

    async def ask(self, verb: str, body: bytes = b"", **facts: object) -> Answer:
        """Send a request, wait for its answer.

        Raises:
            Lost: the connection went away before it came.
        """
        if self.lost or self._transport is None:
            raise Lost(self.why_lost)
        self._next += 1
        number = self._next
        answer: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
        self._waiting[number] = answer
        try:
            self._transport.write(wireformat.frame({"verb": verb, "n": number, **facts}, body))
            if not self._room.is_set():
                await self._room.wait()
            return await answer
        finally:
            self._waiting.pop(number, None)
            if answer.done() and not answer.cancelled():
                answer.exception()  # looked at: a caller that was cancelled leaves nothing for the loop to complain of

    def expect_from(self, offset: int) -> int:
        """Before ``attach``: where the spool bytes will begin; returns the first credit."""
        self._decoder = spoolformat.Decoder(offset)
        self._granted = offset + WINDOW
        return self._granted

    def _grant(self) -> None:
        # A record that is only here in part does not count: one that is longer than the window must still come.
        if self._undecoded:
            return  # it will come to them, and then it is known what stands in whole records
        upto = self._decoder.offset + self._decoder.pending + WINDOW - self._queued
        if upto - self._granted >= WINDOW // 4 and not self.lost and self._transport is not None:
            self._granted = upto
            self._transport.write(wireformat.frame({"verb": "credit", "n": None, "upto": upto}))

    def _decode(self, data: bytes) -> None:
        for record in self._decoder.feed(data):
            self._records.append(to_record(record))
            self._queued += record.next_offset - record.offset
        if self._decoder.broken is not None:
            self.drop(self._decoder.broken)

    async def next_record(self) -> SpoolRecord | None:
        """The next one; None when there will be none."""
        while not self._records:
            if self._undecoded:
                self._decode(self._undecoded.popleft())
                continue
            if self.lost:
                return None
            self._arrived.clear()
            self._grant()
            await self._arrived.wait()
        record = self._records.popleft()
        self._queued -= record.next_offset - record.offset
        self._grant()
        return record


async def connect(folder: Path, timeout: float) -> Connection:
    """A connection to the supervisor of a spool folder, however long its path is.

    Raises:
        OSError: nobody listens, or not in time.
    """
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC | os.O_NOFOLLOW)
    sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    sock.setblocking(False)
    loop = asyncio.get_running_loop()
    try:
        async with asyncio.timeout(timeout):
            await loop.sock_connect(sock, peers.address(handle, str(folder)))
            _, connection = await loop.create_unix_connection(Connection, sock=sock)
            return connection
    except BaseException:
        sock.close()
        raise
    finally:
        os.close(handle)
