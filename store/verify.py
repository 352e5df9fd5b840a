"""Recomputing the ledger: every chain, every row that the entries tell of, and the hashes of events and evidence.

Names the first difference and stops there: after one the rest is no evidence of anything. A chain that a forger has
recomputed as a whole, and a tail that is lost, show only against a head noted elsewhere (``noted``). A run that was
pruned is told from one that was lost by its tombstone. Entries come one by one and a run at a time is laid out, so that
a ledger of a million events takes no more room than its largest run. Whether what the rows say makes sense is looked at
in ``bookcheck``.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from typing import Any, Final

from msgspec import Struct

from store import dependencies, events, moves, pruning
from store.agentwaits import StoredWait
from store.attachments import Attachment
from store.attempts import Attempt
from store.attention import AttentionItem
from store.authorizations import Amendment, Authorization
from store.canonical import digest, loads
from store.commands import Command
from store.control_writes import ControlWrite
from store.custody import Custody
from store.decisions import Decision
from store.entries import CHAIN, LAST_SEQ, LEDGER_CHAIN, PRUNED, Entry, at_seq, facts_of, hash_of
from store.evidence import Evidence
from store.identity import Identity
from store.imports import Import
from store.incarnations import Incarnation
from store.operations import Operation
from store.outcomes import Outcome
from store.pruning import Tombstone
from store.queued import QueuedTurn
from store.receipts import StoredReceipt
from store.rows import Record, columns, from_row, names, number, one
from store.runs import Run
from store.series import Series
from store.settings import Setting
from store.stops import Stop
from store.tasks import Task
from store.turns import Turn
from store.tx import Tx
from store.vocab import RunId, TurnId

NOUNS: Final[dict[str, type[Record]]] = {
    "ledger": Identity,
    "incarnation": Incarnation,
    "setting": Setting,
    "authorization": Authorization,
    "amendment": Amendment,
    "run": Run,
    "custody": Custody,
    "turn": Turn,
    "queued": QueuedTurn,
    "decision": Decision,
    "control": ControlWrite,
    "stop": Stop,
    "receipt": StoredReceipt,
    "evidence": Evidence,
    "attachment": Attachment,
    "attention": AttentionItem,
    "command": Command,
    "import": Import,
    "task": Task,
    "series": Series,
    "operation": Operation,
    "attempt": Attempt,
    "outcome": Outcome,
    "agent-wait": StoredWait,
}
"""What stands before the dot of an entry's kind, and the table that it tells of."""
NO_ROW: Final = frozenset({"command.inside-a-hold"})
"""Kinds that look as if they told of a row and do not: what was tried, and refused before there was one."""
GONE: Final = frozenset({"task.removed", "agent-wait.over"})
"""Kinds after which there is no row any more, until another tells of a new one."""

# Everything, in the order in which it was written.
ALL_ENTRIES: Final = f"SELECT {columns(Entry)} FROM entries ORDER BY seq"
# All rows of each table that the entries tell of; one of them; how many there are.
ALL_ROWS: Final[dict[str, str]] = {noun: f"SELECT {columns(row)} FROM {row.TABLE}" for noun, row in NOUNS.items()}
ONE_ROW: Final[dict[str, str]] = {
    noun: f"{ALL_ROWS[noun]} WHERE {' AND '.join(f'{name} = :{name}' for name in row.KEY)}"
    for noun, row in NOUNS.items()
}
COUNTS: Final[dict[str, str]] = {noun: f"SELECT count(*) FROM {row.TABLE}" for noun, row in NOUNS.items()}
EVENTS: Final = "SELECT count(*) FROM events WHERE run = :run"
MOVES: Final[dict[str, Mapping[Any, frozenset[Any]]]] = {
    "authorization": moves.AUTHORIZATION,
    "custody": moves.CUSTODY,
    "turn": moves.TURN,
    "queued": moves.QUEUED,
    "decision": moves.DECISION,
    "stop": moves.STOP,
    "command": moves.COMMAND,
    "task": moves.TASK,
    "series": moves.SERIES,
    "operation": moves.OPERATION,
    "outcome": moves.OUTCOME,
}
"""Nouns whose states, as the entries tell them one after the other, are moves that there are."""
STEP: Final = 2_000
"""After so many entries it is said how far the work is."""

Key = tuple[object, ...]
Facts = dict[str, object]
Told = dict[str, dict[Key, Facts]]
Progress = Callable[[int, int], None]
"""How many entries were looked at, of how many; each is looked at twice."""


class Difference(Struct, frozen=True, kw_only=True):
    where: str
    """``entry 17 (run 3, n 5)``, ``turn 4f0c…``."""
    what: str
    """What differs, by name: ``hash``, ``state``, ``events`` …"""
    expected: str
    found: str


class Noted(Struct, frozen=True, kw_only=True):
    """A head that was written down outside the ledger."""

    seq: int
    hash: str


def _unheard(_done: int, _of: int) -> None:
    pass


def verify(
    tx: Tx, noted: Noted | None = None, *, excerpt: bool = False, progress: Progress = _unheard
) -> Difference | None:
    """The first difference between what the ledger says and what can be computed, or None.

    ``excerpt``: the chains of some runs only, whole, and single entries of the ledger's own (``store.excerpt``). Those
    hang together with nothing there, and the key of the digests is not told; all else holds for a part as well.
    """
    if noted is not None and (difference := noted_head(tx, noted)) is not None:
        return difference
    return next(_Verifying(tx, excerpt, progress).differences(), None)


def noted_head(tx: Tx, noted: Noted) -> Difference | None:
    """Whether the ledger still has the entry that was written down elsewhere."""
    entry = at_seq(tx, noted.seq)
    found = "no such entry" if entry is None else entry.hash
    stone = pruning.covering(tx, noted.seq) if entry is None else None
    if stone is not None:
        # Only the last of what was pruned is known by its hash; of the others, that they are gone on purpose.
        found = stone.hash if noted.seq == stone.last else noted.hash
    if found == noted.hash:
        return None
    return Difference(where=f"entry {noted.seq}", what="noted head", expected=noted.hash, found=found)


def _where(entry: Entry) -> str:
    return f"entry {entry.seq} (run {entry.run}, n {entry.n})"


class _Verifying:
    def __init__(self, tx: Tx, excerpt: bool, progress: Progress) -> None:
        self._tx = tx
        self._excerpt = excerpt
        self._progress = progress
        self._stones = {stone.run: stone for stone in pruning.tombstones(tx)}
        self._heads: dict[int, tuple[int, str]] = {}
        self._own: Told = {noun: {} for noun in NOUNS}
        """What the ledger's own chain tells, and what of it no run's chain went on with."""
        self._seen = dict.fromkeys(NOUNS, 0)
        self._done = 0
        self._of = 2 * number(tx, LAST_SEQ, {}) if tx.conn.execute(LAST_SEQ).fetchone() else 0

    def differences(self) -> Iterator[Difference]:
        yield from self._chains()
        for chain in sorted(self._heads):
            yield from self._chain(chain)
        yield from self._rows(self._own)
        yield from self._untold()

    def _entries(self, statement: str, parameters: dict[str, object]) -> Iterator[Entry]:
        with closing(self._tx.conn.execute(statement, parameters)) as rows:
            for row in rows:
                self._done += 1
                if self._done % STEP == 0:
                    self._progress(self._done, self._of)
                yield from_row(Entry, row)

    # ------------------------------------------------------------------------------------------------------ the chains

    def _chains(self) -> Iterator[Difference]:
        place, left = 1, sum(stone.n for stone in self._stones.values())
        farthest = max((stone.last for stone in self._stones.values()), default=0)
        for entry in self._entries(ALL_ENTRIES, {}):
            if place < entry.seq <= place + left and entry.seq <= farthest + 1:
                left -= entry.seq - place  # they went with runs that were pruned
                place = entry.seq
            yield from self._link(entry, place)
            place += 1
        if left and not self._excerpt:
            total = sum(stone.n for stone in self._stones.values())
            expected, found = f"{total} gone with runs that were pruned", f"{total - left}"
            yield Difference(where="the ledger", what="entries", expected=expected, found=found)

    def _link(self, entry: Entry, place: int) -> Iterator[Difference]:
        n, prev = self._heads.get(entry.run, (0, ""))
        hash = hash_of(
            prev=entry.prev, seq=entry.seq, run=entry.run, n=entry.n, at=entry.at, kind=entry.kind, body=entry.body
        )
        for what, expected, found in (
            ("seq", place, entry.seq),
            ("n", n + 1, entry.n),
            ("prev", prev, entry.prev),
            ("hash", hash, entry.hash),
        ):
            if self._excerpt and (what == "seq" or (entry.run == LEDGER_CHAIN and what != "hash")):
                continue
            if expected != found:
                yield Difference(where=_where(entry), what=what, expected=str(expected), found=str(found))
        if entry.run in self._stones:
            yield Difference(where=_where(entry), what="entry", expected="none: its run was pruned", found="one")
        self._heads[entry.run] = (entry.n, entry.hash)
        if entry.kind == "run-head":
            yield from self._run_head(entry)

    def _run_head(self, entry: Entry) -> Iterator[Difference]:
        body = loads(entry.body)
        stone = self._stones.get(body["run"])
        n, hash = self._heads.get(body["run"], (0, ""))
        if stone is not None:
            n, hash = (stone.n, stone.hash) if body["n"] >= stone.n else (body["n"], body["hash"])
        if (n, hash) != (body["n"], body["hash"]):
            expected = f"{body['n']} {body['hash']}"
            yield Difference(where=_where(entry), what="run head", expected=expected, found=f"{n} {hash}")

    # ---------------------------------------------------------------------------------- the rows that they tell of

    def _chain(self, chain: int) -> Iterator[Difference]:
        """Every row of one run is what its entries, laid one over the other, make of it; and so are its events."""
        told: Told = {noun: {} for noun in NOUNS} if chain != LEDGER_CHAIN else self._own
        ended: list[Facts] = []
        for entry in self._entries(CHAIN, {"run": chain}):
            noun = entry.kind.partition(".")[0]
            if noun in NOUNS and entry.kind not in NO_ROW:
                body: Facts = loads(entry.body)
                key = tuple(body[name] for name in NOUNS[noun].KEY)
                facts = told[noun].get(key)
                if facts is None:
                    facts = told[noun].setdefault(key, self._own[noun].pop(key, {}))
                yield from _move(noun, key, facts, body)
                facts.update(body)
                if entry.kind in GONE:
                    del told[noun][key]
                if "events_through" in body or "loose_through" in body:
                    ended.append(body)
            elif entry.kind == PRUNED and entry.run == LEDGER_CHAIN:
                self._bury(self._stones[loads(entry.body)["run"]])
        if chain == LEDGER_CHAIN:
            return
        yield from self._rows(told)
        for body in ended:
            yield from self._events(body)
        for (run,) in told["run"]:
            counted = number(self._tx, EVENTS, {"run": run})
            kept = number(self._tx, events.COUNT, {"run": run})
            if counted != kept:
                yield Difference(where=f"run {run}", what="events", expected=str(kept), found=str(counted))

    def _bury(self, stone: Tombstone) -> None:
        """What the ledger's own chain told of a run went with it."""
        self._own["authorization"].pop((stone.authorization,), None)
        signed = self._own["amendment"]
        for key in [key for key, facts in signed.items() if facts.get("authorization_id") == stone.authorization]:
            del signed[key]

    def _rows(self, told: Told) -> Iterator[Difference]:
        for noun, rows in told.items():
            kind = NOUNS[noun]
            tracked = tuple(name for name in names(kind) if name not in kind.UNTRACKED)
            for key, expected in rows.items():
                where = " ".join((noun, *map(str, key)))
                try:
                    row: Record | None = one(self._tx, kind, ONE_ROW[noun], dict(zip(kind.KEY, key, strict=True)))
                except ValueError as problem:  # a word that is none of ours
                    yield Difference(where=where, what="row", expected="one that can be read", found=str(problem))
                    continue
                if row is None:
                    yield Difference(where=where, what="row", expected="one", found="none")
                    continue
                self._seen[noun] += 1
                for name, value in facts_of(row, tracked).items():
                    if self._excerpt and name == "digest_key_sha256":
                        continue
                    if expected.get(name) != value:
                        yield Difference(where=where, what=name, expected=str(expected.get(name)), found=str(value))
                yield from _content(where, row)
                if isinstance(row, Task):
                    yield from self._needs(where, row, expected)

    def _needs(self, where: str, task: Task, told: Facts) -> Iterator[Difference]:
        """What it waits for is told with the task, and lies in a table without rows of its own."""
        found = [*dependencies.needs_of(self._tx, task.id)]
        if told.get("needs") != found:
            yield Difference(where=where, what="needs", expected=str(told.get("needs")), found=str(found))

    def _untold(self) -> Iterator[Difference]:
        """Rows that no entry tells of: only where there are more than were found is it looked for which."""
        for noun, kind in NOUNS.items():
            if number(self._tx, COUNTS[noun], {}) == self._seen[noun]:
                continue
            keys: set[Key] = set()
            for entry in self._entries(ALL_ENTRIES, {}):
                if entry.kind.partition(".")[0] == noun and entry.kind not in NO_ROW:
                    body = loads(entry.body)
                    key = tuple(body[name] for name in kind.KEY)
                    (keys.discard if entry.kind in GONE else keys.add)(key)
            stones = {stone.authorization for stone in self._stones.values()}
            with closing(self._tx.conn.execute(ALL_ROWS[noun])) as rows:
                for cells in rows:
                    row = from_row(kind, cells)
                    key = tuple(getattr(row, name) for name in kind.KEY)
                    if key not in keys or (noun == "authorization" and key[0] in stones):
                        where = " ".join((noun, *map(str, key)))
                        yield Difference(where=where, what="row", expected="none", found="one that no entry tells of")
            yield Difference(where=noun, what="rows", expected=str(self._seen[noun]), found="another number")

    def _events(self, body: Facts) -> Iterator[Difference]:
        """Events against the hashes that ended turns and runs carry."""
        if "events_through" in body:
            turn, through = TurnId(str(body["id"])), int(str(body["events_through"]))
            seen = events.digest_of_turn(self._tx, turn, through=through)
            where, expected, count = f"turn {turn}", body["events_hash"], body["events_count"]
        else:
            run, through = RunId(int(str(body["id"]))), int(str(body["loose_through"]))
            seen = events.digest_of_loose(self._tx, run, through=through)
            where, expected, count = f"run {run}", body["loose_hash"], body["loose_count"]
        if seen.events_hash != expected:
            found = f"{seen.events_hash} ({seen.events_count} events)"
            yield Difference(where=where, what="events", expected=f"{expected} ({count} events)", found=found)


def _move(noun: str, key: Key, facts: Facts, body: Facts) -> Iterator[Difference]:
    before, after = facts.get("state"), body.get("state")
    if noun not in MOVES or before is None or after is None or before == after:
        return
    there = MOVES[noun].get(before, frozenset())
    if after not in there:
        allowed = ", ".join(sorted(there)) or "none: it was final"
        where = " ".join((noun, *map(str, key)))
        yield Difference(where=where, what="move", expected=f"from {before}: {allowed}", found=str(after))


def _content(where: str, row: Record) -> Iterator[Difference]:
    """Evidence and images against their own digests."""
    if isinstance(row, Evidence) or (isinstance(row, Attachment) and not row.dropped):
        found = digest(row.content)
        if found != row.sha256 or len(row.content) != row.size:
            expected = f"{row.sha256} ({row.size} bytes)"
            yield Difference(where=where, what="sha256", expected=expected, found=f"{found} ({len(row.content)} bytes)")
