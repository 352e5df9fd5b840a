"""One admitted run on a ledger of its own: what the tests of the refusing transactions begin from."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from msgspec.structs import replace

from coordinator import recording
from coordinator.recording import Admission, NewTurn, Pools, Proof
from coordinator.terms import Terms, TreeKind
from store import (
    custody,
    decisions,
    turns,
)
from store.db import Ledger, Tx
from store.refusal import Refusal
from store.vocab import (
    AuthorizationId,
    CustodyId,
    CustodyState,
    DecisionKind,
    IncarnationId,
    MicroUsd,
    Millis,
    RefusalReason,
    RunId,
    TurnId,
    TurnResultKind,
    TurnSource,
)
from tests.cli.made import made_terms
from tests.store.scenes import NOON, open_ledger, register

HERE, OTHER = IncarnationId("console-1"), IncarnationId("console-2")
HOLD = CustodyId("hold-1")
SIGNED = made_terms(
    tree_kind=TreeKind.IN_PLACE, budget=MicroUsd(1_000), max_turns=5, expires_at=Millis(NOON + 3_600_000)
)
POOLS = Pools(day=MicroUsd(100_000), day_began=NOON)
ADMITTING = Admission(incarnation=HERE, operator="Ada", max_held_sessions=8, pools=POOLS)


@dataclass
class Scene:
    """One admitted run on a ledger of its own, and what is about to be asked of it."""

    ledger: Ledger
    run: RunId
    proof: Proof | None = None
    turn: NewTurn | None = None
    paused: bool = False
    asker: IncarnationId = HERE
    pools: Pools = POOLS
    late: int = 0
    """Milliseconds by which the question comes later than all else."""

    async def do(self, body: Callable[[Tx], object]) -> object:
        return await self.ledger.transaction(body)  # type: ignore[arg-type]

    async def prove(self) -> custody.Custody | Refusal:
        proof = self.proof
        assert proof is not None
        return await self.ledger.transaction(
            lambda tx: recording.prove(Tx(tx.conn, Millis(tx.now + self.late)), proof, digest_key="k")
        )

    async def record(self) -> turns.Turn | Refusal:
        turn = self.turn
        assert turn is not None
        return await self.ledger.transaction(
            lambda tx: recording.record_turn(
                Tx(tx.conn, Millis(tx.now + self.late)),
                self.run,
                turn,
                digest_key="k",
                paused=self.paused,
                pools=self.pools,
                incarnation=self.asker,
            )
        )

    async def facts(self) -> object:
        """All that the ledger holds, to see that nothing of a refused transaction stands."""

        def look(tx: Tx) -> object:
            tables = ("authorizations", "runs", "custody", "turns", "queued_turns", "decisions", "stops", "attention")
            rows = [tx.conn.execute(f"SELECT * FROM {name} ORDER BY 1").fetchall() for name in tables]
            return rows, tx.conn.execute("SELECT count(*), max(hash) FROM entries").fetchall()

        return await self.ledger.read(look)


def turn(source: TurnSource = TurnSource.BRIEF, text: str = "mend the roof", **more: object) -> NewTurn:
    facts = {"id": TurnId("turn-1"), "preamble": "", "sent": text.encode(), "operator": "Ada", **more}
    return NewTurn(source=source, text=text, **facts)  # type: ignore[arg-type]


async def scene(folder: Path, terms: Terms = SIGNED) -> Scene:
    ledger = await open_ledger(folder / "ledger.db")

    def begin(tx: Tx) -> RunId:
        register(tx, HERE)
        register(tx, OTHER)
        run = recording.admit(tx, ADMITTING, terms=terms, authorization=AuthorizationId("terms-1"), title="roof")
        assert not isinstance(run, Refusal), run
        return run.id

    run = await ledger.transaction(begin)
    assert not isinstance(run, Refusal)
    proof = Proof(
        run=run,
        custody=HOLD,
        incarnation=HERE,
        actual=terms,
        tree=terms.repository,
        nonce="n",
        native_id="conversation-1",
        socket_fits=True,
        max_held_sessions=8,
        brief=turn(),
    )
    return Scene(ledger=ledger, run=run, proof=proof)


async def held(folder: Path, terms: Terms = SIGNED) -> Scene:
    """The same, its hold open, its brief settled: a turn of the operator is about to be recorded."""
    made = await scene(folder, terms)
    assert not isinstance(await made.prove(), Refusal)

    def open_(tx: Tx) -> None:
        custody.move(tx, id=HOLD, expect=[CustodyState.PROPOSED], to=CustodyState.OPEN)
        turns.settle(tx, id=TurnId("turn-1"), result=TurnResultKind.SUCCESS, cost=MicroUsd(10))

    await made.do(open_)
    made.turn = turn(TurnSource.OPERATOR, id=TurnId("turn-2"))
    return made


def other_run(tx: Tx, n: int, *, tree: str = "/elsewhere", in_place: bool = False, native: str | None = None) -> None:
    terms = replace(SIGNED, repository=tree, tree_kind=TreeKind.WORKTREE)
    run = recording.admit(tx, ADMITTING, terms=terms, authorization=AuthorizationId(f"other-{n}"), title="other")
    assert not isinstance(run, Refusal), run
    made = custody.propose(
        tx, id=CustodyId(f"other-{n}"), run=run.id, incarnation=HERE, tree=tree, in_place=in_place, nonce="m",
        native_id=native,
    )  # fmt: skip
    assert not isinstance(made, Refusal), made


def sql(statement: str, **values: object) -> Callable[[Scene], Callable[[Tx], object]]:
    """A state that no function of the store leads to: what the check is for."""
    return lambda made: lambda tx: tx.conn.execute(statement, {"run": made.run, **values}) and None


R = RefusalReason
Break = Callable[[Scene], Callable[[Tx], object] | None]


async def broken(made: Scene, table: dict[RefusalReason, Break], *reasons: RefusalReason) -> None:
    for reason in reversed(reasons):
        body = table[reason](made)
        if body is not None:
            await made.do(body)


def asked(tx: Tx, made: Scene, request: str) -> decisions.Decision:
    return decisions.ask(
        tx, run=made.run, turn=TurnId("turn-1"), kind=DecisionKind.PARK, request=request, generation=1, payload=request,
        title="?", subject="",
    )  # fmt: skip
