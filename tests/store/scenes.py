"""What the tests of the store begin from: a ledger in memory or in a file, a run under custody, a turn."""

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from functools import cache
from pathlib import Path

from store import authorizations, custody, identity, incarnations, migrate, runs, turns
from store.db import Ledger
from store.events import NewEvent
from store.refusal import Refusal
from store.runs import Run
from store.tx import Tx
from store.vocab import (
    AuthorizationId,
    Billing,
    CustodyId,
    CustodyState,
    IncarnationId,
    Millis,
    RunId,
    TurnId,
    TurnSource,
)

INCARNATION = IncarnationId("console-1")
NOON = Millis(1_700_000_000_000)


class Ticks:
    """A clock that moves by one millisecond at each look."""

    def __init__(self) -> None:
        self.at = int(NOON)

    def __call__(self) -> Millis:
        self.at += 1
        return Millis(self.at)


def counted(prefix: str) -> Callable[[], str]:
    made = iter(range(1, 1_000_000))
    return lambda: f"{prefix}-{next(made)}"


async def open_ledger(path: Path, **more: object) -> Ledger:
    ids = counted("secret")
    ledger = await Ledger.open(path, now=Ticks(), machine="machine-1", ledger_id=ids, **more)  # type: ignore[arg-type]
    assert not isinstance(ledger, Refusal), ledger
    return ledger


@cache
def new_ledger() -> bytes:
    """One with nothing in it but a console, made once: the scripts take longer than most tests of a rule."""
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as conn:
        migrate.migrate(conn)
        tx = Tx(conn, NOON)
        identity.create(tx, id="ledger-1", machine="machine-1", digest_key="key")
        register(tx)
        return conn.serialize()


@contextmanager
def in_memory() -> Iterator[Tx]:
    """A whole ledger without a disk, for tests of rules rather than of durability."""
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as conn:
        conn.deserialize(new_ledger())
        conn.execute("PRAGMA foreign_keys = ON")
        conn.execute("PRAGMA recursive_triggers = ON")
        yield Tx(conn, NOON)


def register(tx: Tx, id: IncarnationId = INCARNATION) -> None:
    incarnations.register(
        tx,
        id=id,
        boot_id="boot-1",
        pid=100,
        start_ticks=5,
        machine="machine-1",
        uid=1000,
        lock_path="/run/lock",
        socket_path="/run/socket",
        operator="ada",
    )


def admitted(
    tx: Tx, *, tree: str = "/work/tree", incarnation: IncarnationId = INCARNATION, agent: str = "claude"
) -> Run:
    """A run, its authorization signed and bound."""
    authorization = AuthorizationId(f"terms-{runs.live_count(tx)}-{len(runs.listing(tx))}")
    authorizations.sign(
        tx, id=authorization, terms='{"budget":1}', digest="abc", operator="ada", expires_at=Millis(NOON + 1000)
    )
    run = runs.admit(
        tx,
        title="mend the roof",
        agent=agent,
        driver="claude",
        billing=Billing.KEY,
        repository="/work/repository",
        tree=tree,
        branch="main",
        authorization_id=authorization,
        incarnation=incarnation,
        operator="ada",
    )
    assert authorizations.bind(tx, id=authorization, run=run.id) is not None
    return run


def held(tx: Tx, *, tree: str = "/work/tree", native_id: str | None = None) -> tuple[Run, CustodyId]:
    """A run under an open hold."""
    run = admitted(tx, tree=tree)
    id = CustodyId(f"hold-{run.id}")
    proposed = custody.propose(
        tx, id=id, run=run.id, incarnation=INCARNATION, tree=tree, in_place=True, nonce="n", native_id=native_id
    )
    assert not isinstance(proposed, Refusal), proposed
    assert custody.move(tx, id=id, expect=[CustodyState.PROPOSED], to=CustodyState.OPEN) is not None
    return run, id


def said(
    tx: Tx, run: RunId, id: str = "turn-1", *, source: TurnSource = TurnSource.BRIEF, text: str = "mend it"
) -> TurnId:
    turn = turns.record(
        tx,
        id=TurnId(id),
        run=run,
        source=source,
        generation=1,
        text=text,
        preamble="",
        bytes=len(text),
        digest="d",
        operator="ada",
    )
    assert not isinstance(turn, Refusal), turn
    return turn.id


def event(offset: int, *, turn: str | None = "turn-1", kind: str = "text", body: str = '{"text":"done"}') -> NewEvent:
    return NewEvent(offset=offset, n=0, turn=None if turn is None else TurnId(turn), at=NOON, kind=kind, body=body)


def later(tx: Tx, millis: int) -> Tx:
    return Tx(tx.conn, Millis(tx.now + millis))
