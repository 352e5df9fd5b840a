"""The scripted backend over a real ledger file: a run's conversation is read and searched as the coordinator does it,
on a thread of its own, and what comes live is written down before it is told.
"""

from collections.abc import Iterable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

from coordinator import eventcodec, longtexts, transcripts
from coordinator.api import (
    ConsoleSnapshot,
    FeedEvent,
    OperatorCommand,
    ReadTranscript,
    ReadWhole,
    Reply,
    SearchTranscript,
)
from coordinator.drivers import base
from coordinator.feed import Feed
from store import events, turns
from store.events import NewEvent
from store.open import connect
from store.tx import Tx
from store.vocab import Millis, RunId, TurnId
from tests.fakes.backend import NOW, FakeBackend
from tests.store.scenes import admitted, new_ledger, said

READS = (ReadTranscript, SearchTranscript, ReadWhole)


class LedgerBackend(FakeBackend):
    def __init__(self, path: Path, snapshot: ConsoleSnapshot | None = None) -> None:
        super().__init__(snapshot)
        fresh = not path.exists()
        if fresh:
            path.write_bytes(new_ledger())
        self._conn = connect(path)
        self._reader = connect(path)
        self._offsets: dict[RunId, int] = {}
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="ledger")
        self.first_run = admitted(Tx(self._conn, NOW), tree="/work/1").id if fresh else RunId(1)
        self.lanes = Feed()

    def drain(self, run: RunId) -> tuple[tuple[FeedEvent, ...], int]:
        return self.lanes.drain(run)

    def leave(self, run: RunId) -> None:
        self.lanes.leave(run)

    def feed(self, *events: FeedEvent) -> None:
        for event in events:
            self.lanes.put(event.run, [event])
        self._wake()

    def close(self) -> None:
        self._thread.shutdown(wait=True, cancel_futures=True)
        self._conn.close()
        self._reader.close()

    def another_run(self) -> RunId:
        return admitted(Tx(self._conn, NOW), tree=f"/work/{len(self._offsets) + 2}").id

    def keep(self, run: RunId, what: Iterable[base.AgentEvent], turn: TurnId | None = None) -> tuple[FeedEvent, ...]:
        """Written to the ledger; as the feed would tell it."""
        rows: list[NewEvent] = []
        fed: list[FeedEvent] = []
        at = Millis(NOW - 60_000)
        for event in what:
            key: tuple[int, int] | None = None
            if not isinstance(event, base.TRANSIENT):
                self._offsets[run] = self._offsets.get(run, 0) + 100
                key = (self._offsets[run], 0)
                kind, body = eventcodec.encode(event, lambda text: text)
                rows.append(NewEvent(offset=key[0], n=0, turn=turn, at=at, kind=kind, body=body))
            shown, left_at, left_out = longtexts.shortened(event)
            fed.append(FeedEvent(run=run, turn=turn, at=at, event=shown, key=key, left_at=left_at, left_out=left_out))
        self._conn.execute("BEGIN IMMEDIATE")
        events.append(Tx(self._conn, NOW), run=run, rows=rows)
        self._conn.execute("COMMIT")
        return tuple(fed)

    def say(self, run: RunId, what: Sequence[base.AgentEvent], turn: TurnId | None = None) -> None:
        """What an agent says while the console is open."""
        self.feed(*self.keep(run, what, turn))

    def submit(self, command: OperatorCommand) -> "Future[Reply]":
        if not isinstance(command, READS) or type(command) in self.replies:
            return super().submit(command)
        self.commands.append(command)
        return self._thread.submit(self._read, command)

    def _read(self, command: ReadTranscript | SearchTranscript | ReadWhole) -> Reply:
        tx = Tx(self._reader, NOW)
        match command:
            case ReadTranscript():
                return transcripts.page(tx, command)
            case SearchTranscript():
                return transcripts.hits(tx, command)
            case ReadWhole():
                return transcripts.whole(tx, command)

    def turn_in_ledger(self, run: RunId, id: str, text: str) -> None:
        """A turn of the operator's, whose events are kept under its id."""
        tx = Tx(self._conn, NOW)
        turn = said(tx, run, id, text=text)
        turns.written(tx, id=turn)
        turns.uncertain(tx, id=turn)
