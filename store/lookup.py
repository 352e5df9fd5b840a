"""The full-text search: texts with all that is looked for, the newest first, in runs of a kind, by pages.

By row id and never by rank: ranking everything takes a second on a large ledger (measured). A page looks at so many
texts and no further, so that a filter that lets little through never makes a reader wait; it says where it stopped.
"""

import json
from contextlib import closing
from typing import Final

from msgspec import Struct

from store import events, reviewing, search
from store.reviewing import Narrowed
from store.tx import Tx
from store.vocab import DecisionId, Millis, RunId, TurnId

LOOKED: Final = 20_000
"""Texts that one page looks at."""
CHUNK: Final = 1_000
"""And how many of them at once."""
LONG: Final = 100_000
"""Of a longer text SQLite is not asked for the piece that shows the words: it would read all of it word by word."""
PART: Final = 4_000
"""How much of a text comes along."""
PIECE: Final = 24
"""Words of the piece."""
OPENED: Final = "\ufdd0"
CLOSED: Final = "\ufdd1"
"""Around what was looked for. No text has them: they are promised never to be letters; one that does has no marks."""


class Found(Struct, frozen=True, kw_only=True):
    id: int
    run: RunId
    title: str
    agent: str
    repository: str
    turn: TurnId | None
    turn_n: int | None
    event: int | None
    key: tuple[int, int] | None
    decision: DecisionId | None
    kind: str
    at: Millis
    text: str
    """Its beginning, if it is long."""
    snippet: str
    """With ``OPENED`` and ``CLOSED`` around what was looked for."""


# Texts with all the words, newest first; all texts.
MATCHING: Final = """
SELECT rowid, run, event, kind FROM search WHERE search MATCH :query AND rowid < :before ORDER BY rowid DESC
"""
ANY: Final = "SELECT rowid, run, event, kind FROM search WHERE rowid < :before ORDER BY rowid DESC"
# Which of some runs are let through: the conditions come behind it.
AMONG: Final = "SELECT r.id FROM runs AS r WHERE r.id IN (SELECT value FROM json_each(:runs))"
# Calls of one tool among these events.
CALLS_OF: Final = f"""
SELECT id FROM events WHERE id IN (SELECT value FROM json_each(:events)) AND kind = '{search.CALL}'
  AND json_valid(body) AND json_extract(body, '$.name') = :tool COLLATE NOCASE
"""
_OF_TEXT: Final = """search.rowid, search.run, r.title, r.agent, r.repository, search.turn, t.n, search.event, e.offset,
  e.n, search.kind, coalesce(e.at, d.asked_at, t.recorded_at, r.created_at), substr(search.text, 1, :part)"""
_WITH_ITS_PLACE: Final = """search JOIN runs AS r ON r.id = search.run LEFT JOIN turns AS t ON t.id = search.turn
  LEFT JOIN events AS e ON search.kind NOT IN ('turn', 'decision') AND e.id = search.event
  LEFT JOIN decisions AS d ON search.kind = 'decision' AND d.id = search.event"""
# Texts, with the piece that shows the words. In one go from the newest to the oldest of them: where a beginning is
# looked for, FTS5 puts together all words that begin so, each time anew.
HITS: Final = f"""
SELECT {_OF_TEXT},
  CASE WHEN length(search.text) > :long THEN substr(search.text, max(1, instr(lower(search.text), :first) - 80), 240)
  ELSE snippet(search, 0, :opened, :closed, '…', :words) END
FROM {_WITH_ITS_PLACE} WHERE search MATCH :query AND search.rowid BETWEEN :oldest AND :newest
  AND search.rowid + 0 IN (SELECT value FROM json_each(:ids)) ORDER BY search.rowid DESC
"""
# Texts that nothing was looked for in.
PLAIN: Final = f"""
SELECT {_OF_TEXT}, substr(search.text, 1, 240) FROM {_WITH_ITS_PLACE}
WHERE search.rowid IN (SELECT value FROM json_each(:ids)) ORDER BY search.rowid DESC
"""


def find(
    tx: Tx, words: tuple[str, ...], which: Narrowed, *, limit: int = 50, before: int | None = None
) -> tuple[list[Found], int | None]:
    """Texts with all of these words in runs that ``which`` lets through, and where to go on; None: all was looked at.

    A tool narrows to the calls of that tool. ``which.words`` must be empty: here all words stand in one text.
    """
    query = search.expression(words)
    if words and not query:
        return [], None
    taken, more = _let_through(tx, query, which, limit, events.NEWEST_ID if before is None else before)
    if not taken:
        return [], more
    first = words[0].rstrip("*").lower() if words else ""
    piece = {"part": PART, "long": LONG, "first": first, "opened": OPENED, "closed": CLOSED, "words": PIECE}
    span = {"query": query, "ids": json.dumps(taken), "oldest": taken[-1], "newest": taken[0]}
    return [_found(row) for row in tx.conn.execute(HITS if query else PLAIN, piece | span)], more


def _let_through(tx: Tx, query: str, which: Narrowed, limit: int, before: int) -> tuple[list[int], int | None]:
    """Ids of texts, newest first, and where to go on."""
    asked, given = reviewing.conditions(tx, which)
    among = " AND ".join((AMONG, *asked))
    known: dict[int, bool] = {}
    taken: list[int] = []
    looked = 0
    with closing(tx.conn.execute(MATCHING if query else ANY, {"query": query, "before": before})) as texts:
        while rows := texts.fetchmany(max(limit - len(taken), min(looked, CHUNK))):
            looked += len(rows)
            if asked:
                new = {run for _, run, _, _ in rows} - known.keys()
                through = {run for (run,) in tx.conn.execute(among, given | {"runs": json.dumps(list(new))})}
                known |= {run: run in through for run in new}
            kept = [(id, event, kind) for id, run, event, kind in rows if not asked or known[run]]
            if which.tool is not None:
                ids = json.dumps([event for _, event, kind in kept if kind == search.CALL])
                calls = {id for (id,) in tx.conn.execute(CALLS_OF, {"events": ids, "tool": which.tool})}
                kept = [row for row in kept if row[2] == search.CALL and row[1] in calls]
            taken += [id for id, _, _ in kept[: limit - len(taken)]]
            if len(taken) == limit:
                return taken, taken[-1]
            if looked >= LOOKED:
                return taken, rows[-1][0]
    return taken, None


def _found(row: tuple[int, int, str, str, str, str, int, int, int, int, str, int, str, str]) -> Found:
    id, run, title, agent, repository, turn, n, event, offset, event_n, kind, at, text, piece = row
    decided = kind == search.DECISION
    return Found(
        id=id,
        run=RunId(run),
        title=title,
        agent=agent,
        repository=repository,
        turn=None if turn is None else TurnId(turn),
        turn_n=n,
        event=None if decided else event,
        key=None if offset is None else (offset, event_n),
        decision=DecisionId(event) if decided else None,
        kind=kind,
        at=Millis(at),
        text=text,
        snippet=piece,
    )
