"""What a review asks of a ledger: runs by filter and order, money and time, sizes. Read-only, by pages, for a ledger
of a million events.

Statements are put together here, because each field of a filter that is not given must cost nothing and hide no index;
every part of them is a constant, and all values are parameters. ``lookup`` has the full-text search. What a filter
looks like to a person is not known here.
"""

import json
from collections.abc import Iterator, Mapping
from typing import Final, NamedTuple

from msgspec import Struct

from store import search
from store.rows import columns, many
from store.runs import Run
from store.tx import Tx
from store.vocab import Billing, CostKnowledge, EndReason, MicroUsd, Millis, RunId, TaskId, TurnId, TurnState

OPEN: Final = "open"
"""As an outcome: the runs that have none."""
RARE: Final = 20_000
"""Of a word that stands in fewer texts than this, all runs are looked up at once; of another, it is looked into each
run that comes up."""


class Narrowed(Struct, frozen=True, kw_only=True):
    """Which runs. None, or empty: any."""

    words: tuple[str, ...] = ()
    """Each as ``search.expression`` takes it; each must stand somewhere in the run, or in its title."""
    repositories: tuple[str, ...] | None = None
    agent: str | None = None
    """Profile or driver."""
    model: str | None = None
    tool: str | None = None
    outcome: str | None = None
    reason: str | None = None
    cost_min: MicroUsd | None = None
    cost_max: MicroUsd | None = None
    since: Millis | None = None
    until: Millis | None = None
    imported: bool | None = None
    billing: Billing | None = None
    """All but this one."""
    run: RunId | None = None


class Listed(Struct, frozen=True, kw_only=True):
    """A run, and what its turns and decisions come to."""

    run: Run
    turns: int
    cost: MicroUsd | None
    guessed: int
    """Turns whose cost is a guess."""
    unknown: int
    """Turns of which none is known."""
    decisions: int
    task: TaskId | None = None
    """Of the queue, at which it was an attempt."""
    attempt: int = 0
    """Which one; 0: none."""


class Place(NamedTuple):
    """Where a page ended."""

    key: int | str
    run: RunId
    now: Millis
    """Runs that have not ended are as old as they were on the first page."""


_SENT: Final = f"t.state <> '{TurnState.CANCELLED}'"
_COST: Final = f"(SELECT sum(t.cost) FROM turns AS t WHERE t.run = r.id AND {_SENT})"
_TURNS: Final = f"(SELECT count(*) FROM turns AS t WHERE t.run = r.id AND {_SENT})"

CONDITIONS: Final[dict[str, str]] = {
    "repositories": "r.repository IN (SELECT value FROM json_each(:repositories))",
    "agent": "(r.agent = :agent COLLATE NOCASE OR r.driver = :agent COLLATE NOCASE)",
    "model": "instr(lower(r.model), lower(:model)) > 0",
    "tool": "EXISTS (SELECT 1 FROM run_tools AS u WHERE u.run = r.id AND u.tool = :tool)",
    "outcome": f"coalesce(r.outcome, '{OPEN}') = :outcome",
    "reason": "(r.reason = :reason OR substr(r.reason, 1, length(:reason) + 1) = :reason || ':')",
    "cost_min": f"{_COST} >= :cost_min",
    "cost_max": f"{_COST} <= :cost_max",
    "since": "r.created_at >= :since",
    "until": "r.created_at < :until",
    "imported": f"(r.reason IS '{EndReason.IMPORTED}') = :imported",
    "billing": "r.billing <> :billing",
    "run": "r.id = :run",
}
"""A field of ``Narrowed``, and what it asks of ``runs AS r``."""

_TITLE: Final = "instr(lower(r.title), lower(:word_{n})) > 0"
# A word of which all runs are known, and one that is looked for in each run's own texts.
RARE_WORD: Final = f"(r.id IN (SELECT value FROM json_each(:runs_{{n}})) OR {_TITLE})"
COMMON_WORD: Final = f"""(EXISTS (SELECT 1 FROM searched AS g WHERE g.run = r.id AND EXISTS (
  SELECT 1 FROM search WHERE search MATCH :query_{{n}} AND rowid BETWEEN g.first AND g.last)) OR {_TITLE})"""

ORDERS: Final[dict[str, tuple[str, str]]] = {
    "newest": ("r.created_at", "(r.created_at, r.id) < (:key, :id) ORDER BY r.created_at DESC, r.id DESC"),
    "oldest": ("r.created_at", "(r.created_at, r.id) > (:key, :id) ORDER BY r.created_at, r.id"),
    "cost": (f"coalesce({_COST}, -1)", "({sort}, r.id) < (:key, :id) ORDER BY {sort} DESC, r.id DESC"),
    "turns": (_TURNS, "({sort}, r.id) < (:key, :id) ORDER BY {sort} DESC, r.id DESC"),
    "duration": (
        "coalesce(r.ended_at, :now) - r.created_at",
        "({sort}, r.id) < (:key, :id) ORDER BY {sort} DESC, r.id DESC",
    ),
    "repository": (
        "r.repository",
        "r.repository >= :key AND (r.repository > :key OR r.id < :id) ORDER BY r.repository, r.id DESC",
    ),
}
"""An order, what it goes by, and how it goes on after a place."""
_FIRST: Final[dict[str, tuple[int | str, int]]] = {"oldest": (-(1 << 63), -1), "repository": ("", (1 << 63) - 1)}
_FROM_THE_TOP: Final = ((1 << 63) - 1, (1 << 63) - 1)

# Some runs, whole.
ROWS: Final = f"SELECT {columns(Run)} FROM runs WHERE id IN (SELECT value FROM json_each(:runs))"
# What the turns of some runs come to; from the index alone.
SUMS: Final = f"""
SELECT t.run, count(*), sum(t.cost), sum(t.cost_known IS '{CostKnowledge.GUESS}'),
  sum(t.cost_known IS '{CostKnowledge.UNKNOWN}')
FROM turns AS t WHERE t.run IN (SELECT value FROM json_each(:runs)) AND {_SENT} GROUP BY t.run
"""
# How many decisions some runs have.
DECIDED: Final = """
SELECT run, count(*) FROM decisions WHERE run IN (SELECT value FROM json_each(:runs)) GROUP BY run
"""
# Those that were attempts at a task, and which.
ATTEMPTS: Final = "SELECT run, task, n FROM attempts WHERE run IN (SELECT value FROM json_each(:runs))"
# Every repository once, from the index, one step for each.
REPOSITORIES: Final = """
WITH RECURSIVE each_one(name) AS (
  SELECT min(repository) FROM runs
  UNION ALL SELECT (SELECT min(repository) FROM runs WHERE repository > name) FROM each_one WHERE name IS NOT NULL
) SELECT name FROM each_one WHERE name IS NOT NULL
"""
# In which texts a word stands, the newest first.
TEXTS_WITH: Final = "SELECT rowid FROM search WHERE search MATCH :query ORDER BY rowid DESC LIMIT :most"
# Whose texts these are.
RUNS_OF_TEXTS: Final = """
SELECT DISTINCT (SELECT g.run FROM searched AS g WHERE g.first <= one.value ORDER BY g.first DESC LIMIT 1)
FROM json_each(:texts) AS one
"""
CONTINUED_BY: Final = "SELECT id FROM runs WHERE continues = :run AND id > :run ORDER BY id"


def repositories(tx: Tx) -> list[str]:
    return [name for (name,) in tx.conn.execute(REPOSITORIES)]


def conditions(tx: Tx, which: Narrowed) -> tuple[list[str], dict[str, object]]:
    """What to put behind WHERE, and its parameters."""
    asked: list[str] = []
    given: dict[str, object] = {}
    for name, text in CONDITIONS.items():
        value = getattr(which, name)
        if value is not None:
            asked.append(text)
            given[name] = json.dumps(value) if isinstance(value, tuple) else value
    for n, word in enumerate(which.words):
        query = search.expression([word])
        found = None if not query else runs_with(tx, query)
        given[f"word_{n}"] = word.rstrip("*")
        if found is None and query:
            asked.append(COMMON_WORD.format(n=n))
            given[f"query_{n}"] = query
        else:
            asked.append(RARE_WORD.format(n=n))
            given[f"runs_{n}"] = json.dumps(found or [])
    return asked, given


def runs_with(tx: Tx, query: str) -> list[int] | None:
    """The runs in which something stands, or None where it stands in so much that one better looks run by run."""
    texts = [id for (id,) in tx.conn.execute(TEXTS_WITH, {"query": query, "most": RARE})]
    if len(texts) == RARE:
        return None
    return [run for (run,) in tx.conn.execute(RUNS_OF_TEXTS, {"texts": json.dumps(texts)}) if run is not None]


def listing_statement(order: str, asked: list[str]) -> str:
    """Only the keys; the rows of the few that are shown come after: whole rows would be sorted with all in them."""
    sort, goes_on = ORDERS[order]
    where = " AND ".join([*asked, goes_on.format(sort=sort)])
    return f"SELECT r.id, {sort} FROM runs AS r WHERE {where} LIMIT :limit"


def listing(
    tx: Tx, which: Narrowed, *, order: str, limit: int, after: Place | None = None
) -> tuple[list[Listed], Place | None]:
    """A page of runs in an order (``ORDERS``), and where the next begins; None: this was the last."""
    asked, given = conditions(tx, which)
    key, id = (after.key, after.run) if after else _FIRST.get(order, _FROM_THE_TOP)
    now = after.now if after else tx.now
    paged = {"key": key, "id": id, "now": now, "limit": limit + 1}
    found = tx.conn.execute(listing_statement(order, asked), given | paged).fetchall()
    ids = [RunId(id) for id, _ in found[:limit]]
    more = Place(found[limit - 1][1], ids[-1], now) if len(found) > limit else None
    return listed(tx, ids), more


def listed(tx: Tx, ids: list[RunId]) -> list[Listed]:
    """These runs with their sums, in this order."""
    asked = {"runs": json.dumps(ids)}
    rows = {row.id: row for row in many(tx, Run, ROWS, asked)}
    sums = {run: rest for run, *rest in tx.conn.execute(SUMS, asked)}
    decided = dict(tx.conn.execute(DECIDED, asked).fetchall())
    attempts = {run: (task, n) for run, task, n in tx.conn.execute(ATTEMPTS, asked)}
    out = []
    for id in ids:
        turns, cost, guessed, unknown = sums.get(id, (0, None, 0, 0))
        task, n = attempts.get(id, (None, 0))
        out.append(
            Listed(
                run=rows[id],
                turns=turns,
                cost=None if cost is None else MicroUsd(cost),
                guessed=guessed,
                unknown=unknown,
                decisions=decided.get(id, 0),
                task=task,
                attempt=n,
            )
        )
    return out


def continued_by(tx: Tx, run: RunId) -> list[RunId]:
    return [RunId(id) for (id,) in tx.conn.execute(CONTINUED_BY, {"run": run})]


# ------------------------------------------------------------------------------------------------------ money and time


class SpentTurn(NamedTuple):
    """One turn of a sum."""

    run: RunId
    n: int
    turn: TurnId
    began: Millis | None
    """When the agent had it."""
    ended: Millis | None
    recorded: Millis
    cost: MicroUsd | None
    known: str | None
    input_tokens: int | None
    output_tokens: int | None
    cache_read_tokens: int | None
    cache_write_tokens: int | None
    repository: str
    agent: str
    model: str | None


_OF_TURN: Final = """t.run, t.n, t.id,
  coalesce(t.written_at, t.accepted_at, CASE WHEN t.ended_at NOTNULL THEN t.recorded_at END), t.ended_at, t.recorded_at,
  t.cost, t.cost_known, t.input_tokens, t.output_tokens, t.cache_read_tokens, t.cache_write_tokens,
  r.repository, r.agent, r.model"""
_TURN_SINCE: Final = "coalesce(t.ended_at, t.recorded_at) >= :turn_since"
_TURN_UNTIL: Final = "coalesce(t.ended_at, t.recorded_at) < :turn_until"


def spent_statement(asked: list[str]) -> str:
    where = " AND ".join([_SENT, *asked])
    return f"SELECT {_OF_TURN} FROM turns AS t JOIN runs AS r ON r.id = t.run WHERE {where} ORDER BY t.run, t.n"


def waited_statement(asked: list[str]) -> str:
    where = f"d.run IN (SELECT r.id FROM runs AS r WHERE {' AND '.join(asked)})" if asked else "1"
    return f"""SELECT d.run, d.asked_at, coalesce(d.answered_at, d.ended_at) FROM decisions AS d
WHERE {where} ORDER BY d.run, d.id"""


def spent(tx: Tx, which: Narrowed, *, since: Millis | None = None, until: Millis | None = None) -> Iterator[SpentTurn]:
    """The turns of these runs that were sent, those of a time if one is given, run by run."""
    asked, given = conditions(tx, which)
    if since is not None:
        asked.append(_TURN_SINCE)
    if until is not None:
        asked.append(_TURN_UNTIL)
    given |= {"turn_since": since, "turn_until": until}
    for row in tx.conn.execute(spent_statement(asked), given):
        yield SpentTurn(*row)


def waited(tx: Tx, which: Narrowed) -> dict[RunId, list[tuple[Millis, Millis | None]]]:
    """When the operator was awaited in these runs."""
    asked, given = conditions(tx, which)
    found: dict[RunId, list[tuple[Millis, Millis | None]]] = {}
    for run, asked_at, until in tx.conn.execute(waited_statement(asked), given):
        found.setdefault(run, []).append((asked_at, until))
    return found


# --------------------------------------------------------------------------------------------------------------- sizes

# Counted from the ends of the keys where nothing is ever taken out, and from small tables whole.
SIZES: Final[Mapping[str, str]] = {
    "file": "SELECT page_count * page_size FROM pragma_page_count(), pragma_page_size()",
    "free": "SELECT freelist_count * page_size FROM pragma_freelist_count(), pragma_page_size()",
    "runs": "SELECT count(*) FROM runs",
    "live": "SELECT count(*) FROM runs WHERE outcome IS NULL",
    "turns": "SELECT count(*) FROM turns",
    "events": "SELECT sum(events) FROM runs",
    "entries": "SELECT max(seq) FROM entries",
    "evidence": "SELECT count(*) FROM evidence",
    "oldest": "SELECT min(created_at) FROM runs",
    "newest": "SELECT max(created_at) FROM runs",
}


def sizes(tx: Tx) -> dict[str, int | None]:
    return {name: tx.conn.execute(text).fetchone()[0] for name, text in SIZES.items()}
