"""A ledger of as many events as are asked for, as a year of work would leave it: ``python -m tests.bench.bigledger PATH
[EVENTS]``.

Made through the store's own functions, so that its chains, hashes, sums and search rows are what the product writes and
``verify`` accepts it; only durability is left out. The same number makes the same ledger.
"""

import atexit
import functools
import random
import shutil
import sqlite3
import sys
import tempfile
import time
from contextlib import closing
from itertools import accumulate
from pathlib import Path
from typing import Final

from coordinator import decisioncodec, eventcodec
from coordinator.drivers import base
from coordinator.terms import Terms, TreeKind, canonical, digest_of
from store import (
    authorizations,
    custody,
    decisions,
    events,
    evidence,
    identity,
    incarnations,
    migrate,
    receipts,
    runs,
    stops,
    turns,
)
from store.canonical import dumps
from store.events import NewEvent
from store.open import connect
from store.tx import Tx
from store.vocab import (
    AuthorizationId,
    Billing,
    CostKnowledge,
    CustodyId,
    CustodyState,
    DecisionKind,
    EndReason,
    EvidenceKind,
    IncarnationId,
    MicroUsd,
    Millis,
    RunId,
    RunOutcome,
    StopResult,
    TurnId,
    TurnResultKind,
    TurnSource,
)

MILLION: Final = 1_000_000
EVENTS_OF_TURN: Final = 25
TURNS_OF_RUN: Final = 8
LARGEST: Final = 10
"""One run has a tenth of everything: pages of it must cost what those of a small one do."""
AT_ONCE: Final = 200
"""Turns of one transaction. A million events in one would be spilled from the cache and read back, over and over."""
CACHE_KIB: Final = 400_000
BEGAN: Final = 1_735_732_800_000
"""The first of January 2025, at noon."""
CONSOLE: Final = IncarnationId("console-1")
OPERATORS: Final = ("ada", "bo", "cy")
AGENTS: Final = (("claude", "claude", Billing.KEY), ("codex", "codex", Billing.SUBSCRIPTION))
PRACTICE: Final = ("practice", "rehearsal", Billing.PRACTICE)
REPOSITORIES: Final = tuple(f"/home/ada/src/{name}" for name in ("orders", "billing", "site", "ledger", "orders-api"))
TOOLS: Final = (("Bash", "command"), ("Read", "path"), ("Edit", "path"), ("Grep", "pattern"))
RARE: Final = "quokka"
"""A word that stands in one text of about ten thousand."""
ENDS: Final = (
    (RunOutcome.FINISHED, EndReason.FINISHED),
    (RunOutcome.FINISHED, EndReason.HANDOFF),
    (RunOutcome.INTERRUPTED, EndReason.STOPPED),
    (RunOutcome.INTERRUPTED, EndReason.BUDGET_EXHAUSTED),
    (RunOutcome.FAILED, "exited:1"),
)


class Writer:
    """Words by how often people use them, and the texts that agents make of them."""

    def __init__(self, chance: random.Random) -> None:
        self.chance = chance
        letters = "bcdfghklmnprstvw", "aeiou"
        self._words = ["the", "test", "expires", "retry", "cart"] + [
            "".join(chance.choice(letters[n % 2]) for n in range(chance.randint(4, 9))) for _ in range(3_000)
        ]
        self._weights = list(accumulate(1 / (place + 3) for place in range(len(self._words))))

    def text(self, least: int, most: int) -> str:
        found = self.chance.choices(self._words, cum_weights=self._weights, k=self.chance.randint(least, most))
        if self.chance.random() < 0.0001:
            found.append(RARE)
        return " ".join(found)


@functools.cache
def made(count: int = MILLION) -> Path:
    """One of that size, made once in a process and deleted when it ends: two benches look at the same. Copy it to write
    into it."""
    folder = Path(tempfile.mkdtemp(prefix="footplate-bench-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return make(folder / "ledger.db", count)


def make(path: Path, count: int = MILLION) -> Path:
    """Write a ledger with that many events (a few more: turns are whole)."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.touch(mode=0o600)
    with closing(connect(path)) as conn:
        conn.execute("PRAGMA synchronous = OFF")
        conn.execute("PRAGMA wal_autocheckpoint = 20000")
        conn.execute(f"PRAGMA cache_size = -{CACHE_KIB}")
        migrate.migrate(conn)
        _fill(conn, count)
        conn.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    return path


def _fill(conn: sqlite3.Connection, count: int) -> None:
    chance = random.Random(count)
    writer = Writer(chance)
    begin = Tx(conn, Millis(BEGAN))
    conn.execute("BEGIN IMMEDIATE")
    identity.create(begin, id="ledger-big", machine="machine-1", digest_key="key")
    incarnations.register(
        begin, id=CONSOLE, boot_id="boot-1", pid=100, start_ticks=5, machine="machine-1", uid=1000,
        lock_path="/run/lock", socket_path="/run/socket", operator="ada",
    )  # fmt: skip
    conn.execute("COMMIT")
    left, number, at = count, 0, BEGAN
    while left > 0:
        conn.execute("BEGIN IMMEDIATE")
        for _ in range(20):
            number += 1
            at += chance.randint(60_000, 10_000_000)
            rounds = (
                max(1, count // LARGEST // EVENTS_OF_TURN) if number == 3 else chance.randint(1, 2 * TURNS_OF_RUN - 1)
            )
            left -= _Run(conn, writer, number, at).write(rounds)
            if left <= 0:
                break
        conn.execute("COMMIT")


class _Run:
    """One run, from its terms to its stop report."""

    def __init__(self, conn: sqlite3.Connection, writer: Writer, number: int, at: int) -> None:
        self._conn = conn
        self._writer = writer
        self._chance = writer.chance
        self._number = number
        self._at = at
        self._offset = 0
        self._told = 0
        """What its agent told as its total."""

    def _tx(self, later: int = 0) -> Tx:
        self._at += later
        return Tx(self._conn, Millis(self._at))

    def write(self, rounds: int) -> int:
        chance = self._chance
        agent, driver, billing = PRACTICE if chance.random() < 0.05 else chance.choice(AGENTS)
        repository = REPOSITORIES[min(int(chance.expovariate(1)), len(REPOSITORIES) - 1)]
        brief = self._writer.text(5, 40)
        operator = chance.choice(OPERATORS)
        terms = canonical(_terms(brief, agent, driver, billing, repository, self._at))
        authorization = AuthorizationId(f"terms-{self._number}")
        tx = self._tx()
        authorizations.sign(
            tx, id=authorization, terms=terms, digest=digest_of(terms), operator=operator,
            expires_at=Millis(self._at + 7_200_000),
        )  # fmt: skip
        run = runs.admit(
            tx, title=brief[:60], agent=agent, driver=driver, billing=billing, repository=repository,
            tree=repository, branch="main", authorization_id=authorization, incarnation=CONSOLE, operator=operator,
        ).id  # fmt: skip
        authorizations.bind(tx, id=authorization, run=run)
        hold = CustodyId(f"hold-{self._number}")
        custody.propose(
            tx, id=hold, run=run, incarnation=CONSOLE, tree=repository, in_place=True, nonce="n", native_id=None
        )
        custody.move(tx, id=hold, expect=[CustodyState.PROPOSED], to=CustodyState.OPEN)
        runs.learn(self._tx(900), id=run, native_id=f"conversation-{self._number}", model=f"model-{self._number % 3}")
        total = 0
        for n in range(1, rounds + 1):
            total += self._turn(run, n, brief if n == 1 else self._writer.text(3, 30), operator)
            if n % AT_ONCE == 0:
                self._conn.execute("COMMIT")
                self._conn.execute("BEGIN IMMEDIATE")
        self._end(run, authorization, hold, operator)
        return total

    def _turn(self, run: RunId, n: int, text: str, operator: str) -> int:
        chance = self._chance
        id = TurnId(f"turn-{self._number}-{n}")
        turns.record(
            self._tx(5_000), id=id, run=run, source=TurnSource.BRIEF if n == 1 else TurnSource.OPERATOR, generation=1,
            text=text, preamble="", bytes=len(text), digest="d", operator=operator,
        )  # fmt: skip
        turns.written(self._tx(5), id=id)
        turns.accepted(self._tx(40), id=id)
        rows = self._events(id, chance.randint(EVENTS_OF_TURN // 2, EVENTS_OF_TURN * 3 // 2))
        events.append(self._tx(), run=run, rows=rows)
        if chance.random() < 0.3:
            self._decision(run, id, operator)
        cost, at = MicroUsd(int(chance.lognormvariate(11, 1))), self._tx(chance.randint(1_000, 90_000))
        guessed = chance.random() < 0.02
        self._told = (0 if n == 1 else self._told) + (0 if guessed else cost)
        turns.settle(
            at, id=id, result=TurnResultKind.SUCCESS, cost=cost,
            cost_known=CostKnowledge.GUESS if guessed else CostKnowledge.REPORTED,
            cumulative=None if guessed else MicroUsd(self._told),
            input_tokens=chance.randint(100, 9_000), output_tokens=chance.randint(50, 4_000),
            cache_read_tokens=chance.randint(0, 90_000), cache_write_tokens=chance.randint(0, 9_000),
            duration_ms=chance.randint(900, 90_000),
        )  # fmt: skip
        return len(rows)

    def _events(self, turn: TurnId, count: int) -> list[NewEvent]:
        found: list[base.AgentEvent] = [base.TurnAccepted(turn=turn)]
        while len(found) < count:
            block = f"b{self._offset}-{len(found)}"
            if self._chance.random() < 0.3:
                found.append(base.TextBlock(block=block, text=self._writer.text(5, 80)))
                continue
            tool, field = self._chance.choice(TOOLS)
            title = self._writer.text(1, 6)
            found.append(base.ToolStarted(call=block, name=tool, input={field: title}, title=title))
            found.append(base.ToolFinished(call=block, ok=True, output=self._writer.text(2, 60)))
        rows = []
        for event in found:
            self._offset += 1
            self._at += self._chance.randint(50, 900)
            kind, body = eventcodec.encode(event, lambda text: text)
            rows.append(NewEvent(offset=self._offset * 300, n=0, turn=turn, at=Millis(self._at), kind=kind, body=body))
        return rows

    def _decision(self, run: RunId, turn: TurnId, operator: str) -> None:
        command = self._writer.text(2, 8)
        asked = base.DecisionAsked(
            request=f"r{self._offset}", kind=DecisionKind.PERMISSION, title="Run a command?", tool="Bash",
            input={"command": command}, subject=command,
        )  # fmt: skip
        decision = decisions.ask(
            self._tx(), run=run, turn=turn, kind=asked.kind, request=asked.request, generation=1,
            payload=decisioncodec.payload(asked), title=asked.title, subject=command,
        )  # fmt: skip
        answer = base.Deny(message="not now") if self._chance.random() < 0.2 else base.Allow()
        decisions.answer(
            self._tx(self._chance.randint(900, 60_000)), id=decision.id, revision=1,
            payload_hash=decision.payload_hash, answer=decisioncodec.encode_answer(answer), operator=operator,
        )  # fmt: skip
        decisions.deliver(self._tx(1), id=decision.id, write_id=f"w{self._offset}")
        decisions.delivered(self._tx(30), id=decision.id)

    def _end(self, run: RunId, authorization: AuthorizationId, hold: CustodyId, operator: str) -> None:
        outcome, reason = self._chance.choice(ENDS)
        tx = self._tx(4_000)
        if reason is EndReason.STOPPED:
            stops.ask(tx, run=run, reason=reason, operator=operator)
        custody.move(tx, id=hold, expect=[CustodyState.OPEN], to=CustodyState.CONCLUDING)
        tx = self._tx(2_000)
        body = dumps(
            {"reason": str(reason), "agent_exit": "0", "steps": [["asked", 3], ["gone", 190]], "total_ms": 190}
        )
        receipts.add(tx, custody=hold, generation=1, run=run, body=body, remaining=0)
        diff = f"--- a/{self._number}\n+++ b/{self._number}\n+{self._writer.text(20, 200)}\n".encode()
        evidence.add(tx, run=run, kind=EvidenceKind.DIFF, content=diff, note="at the end")
        if reason is EndReason.STOPPED:
            stops.settle(tx, run=run, result=StopResult.HELD)
        decisions.end_of_hold(tx, run)
        custody.move(tx, id=hold, expect=[CustodyState.CONCLUDING], to=CustodyState.CLOSED)
        authorizations.close(tx, id=authorization, reason=str(reason))
        runs.end(tx, id=run, outcome=outcome, reason=str(reason))


def _terms(brief: str, agent: str, driver: str, billing: Billing, repository: str, at: int) -> Terms:
    return Terms(
        instruction=brief, preamble=True, agent=agent, driver=driver, program=f"/usr/bin/{agent}",
        agent_version="1.0.0", billing=billing, repository=repository, head="a1b2c3d4e5f6", branch="main",
        tree_kind=TreeKind.IN_PLACE, model=None, mode="default", budget=MicroUsd(5_000_000), max_turns=40,
        working_seconds=3600, expires_at=Millis(at + 7_200_000), attendance_seconds=1800, machine="machine-1", uid=1000,
    )  # fmt: skip


if __name__ == "__main__":
    begun = time.perf_counter()
    made = make(Path(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else MILLION)
    print(f"{made}: {made.stat().st_size / MILLION:,.0f} MB in {time.perf_counter() - begun:.0f} s")
