"""Full-text search over turns, the agents' finished texts, tool titles and decisions: filled when a turn ends, off the
hot path. ``reviewing`` looks things up in it.

Filling at ingest halves it (measured). Beside the texts stands which of them are of which run, and which tools a run
called: what a filter asks for in a ledger of a million events must not be counted each time.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from store import events
from store.tx import Tx
from store.vocab import RunId, TurnId

TURN: Final = "turn"
"""Kind of a text that the operator wrote. All others are the event's kind, or the next."""
DECISION: Final = "decision"
"""Kind of what was asked and answered; its number stands where else the event's stands."""
CALL: Final = "tool-started"
"""Kind of a tool's call."""

# One searchable text.
FILL: Final = "INSERT INTO search (text, run, turn, event, kind) VALUES (:text, :run, :turn, :event, :kind)"
# What was just filled, all of one run. Row ids of one transaction follow each other.
FILLED: Final = """
INSERT INTO searched (first, last, run) VALUES (last_insert_rowid() - :count + 1, last_insert_rowid(), :run)
"""
# One more call of a tool.
CALLED: Final = """
INSERT INTO run_tools (run, tool, calls) VALUES (:run, :tool, :calls)
ON CONFLICT (run, tool) DO UPDATE SET calls = calls + excluded.calls
"""
# What was asked in a turn.
ASKED_IN: Final = "SELECT id, title, subject, answer FROM decisions WHERE run = :run AND turn = :turn ORDER BY id"
# Whether a turn has been filled, or a decision never will be with its turn.
TURN_OVER: Final = "SELECT 1 WHERE :turn IS NULL OR EXISTS (SELECT 1 FROM turns WHERE id = :turn AND ended_at NOTNULL)"


def fill(tx: Tx, *, run: RunId, turn: TurnId, text: str) -> None:
    """Make a turn that has ended findable, with all that was said, called and asked in it."""
    found: list[tuple[str, int | None, str]] = [(text, None, TURN)] if text else []
    calls: dict[str, int] = {}
    for event in events.of_turn(tx, turn):
        words, tool = events.searchable(event)
        if words:
            found.append((words, event.id, event.kind))
        if tool and event.kind == CALL:
            calls[tool] = calls.get(tool, 0) + 1
    for id, title, subject, answer in tx.conn.execute(ASKED_IN, {"run": run, "turn": turn}).fetchall():
        found.append((_one(title, subject, *spoken(answer)), id, DECISION))
    _add(tx, run, turn, found)
    tx.conn.executemany(CALLED, [{"run": run, "tool": tool, "calls": calls[tool]} for tool in calls])


def fill_some(
    tx: Tx, *, run: RunId, turn: TurnId, found: Iterable[tuple[str, int | None, str]], calls: Mapping[str, int]
) -> None:
    """Make findable what is told here: text, row id of its event, kind; and how often each tool was called. For who has
    it at hand and would have to read it back for ``fill``."""
    _add(tx, run, turn, found)
    tx.conn.executemany(CALLED, [{"run": run, "tool": tool, "calls": calls[tool]} for tool in calls])


def fill_asked(tx: Tx, *, run: RunId, turn: TurnId | None, decision: int, title: str, subject: str) -> None:
    """Make findable what is asked outside of a turn. Inside of one it comes with the turn."""
    if _over(tx, turn):
        _add(tx, run, turn, [(_one(title, subject), decision, DECISION)])


def fill_answer(tx: Tx, *, run: RunId, turn: TurnId | None, decision: int, answer: str | None) -> None:
    """Make findable what was answered after the turn that asked had ended."""
    if _over(tx, turn):
        _add(tx, run, turn, [(_one(*spoken(answer)), decision, DECISION)])


def spoken(answer: str | None) -> Iterator[str]:
    """The texts in a stored answer, whatever its form is."""
    try:
        left = [json.loads(answer)] if answer else []
    except ValueError:
        return
    while left:
        one = left.pop()
        if isinstance(one, str):
            yield one
        elif isinstance(one, dict):
            left.extend(reversed(one.values()))
        elif isinstance(one, list):
            left.extend(reversed(one))


def _one(*texts: str) -> str:
    """Each text once: a subject often is the title."""
    return "\n".join(dict.fromkeys(text for text in texts if text))


def _over(tx: Tx, turn: TurnId | None) -> bool:
    return tx.conn.execute(TURN_OVER, {"turn": turn}).fetchone() is not None


def _add(tx: Tx, run: RunId, turn: TurnId | None, found: Iterable[tuple[str, int | None, str]]) -> None:
    rows = [
        {"text": text, "run": run, "turn": turn, "event": event, "kind": kind} for text, event, kind in found if text
    ]
    if rows:
        tx.conn.executemany(FILL, rows)
        tx.conn.execute(FILLED, {"run": run, "count": len(rows)})


def expression(words: Iterable[str]) -> str:
    """What is looked for as FTS5 takes it: each item literally, all of them; one that ends with ``*`` as a beginning.

    Quoted, because FTS5 has a language of its own, in which ``-``, ``:`` and ``AND`` are operators.
    """
    wanted = []
    for word in words:
        literal = word.rstrip("*").replace('"', '""').replace("\x00", "")
        if any(letter.isalnum() for letter in literal):
            wanted.append(f'"{literal}"' + "*" * word.endswith("*"))
    return " ".join(wanted)
