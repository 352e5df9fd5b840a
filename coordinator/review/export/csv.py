"""Turns as CSV (RFC 4180), for a spreadsheet: one line a turn, money in dollars, times in UTC.

A cell that a spreadsheet would take for a formula begins with an apostrophe, which is how they mark text themselves.
"""

import csv
import io
from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, datetime
from typing import Final

from store.runs import Run
from store.turns import Turn
from store.vocab import MicroUsd, Millis

COLUMNS: Final = (
    *("run", "title", "agent", "model", "repository", "branch", "turn", "source", "operator", "state", "result"),
    *("subtype", "failure", "failure_text", "recorded_at", "accepted_at", "ended_at", "duration_ms", "cost_usd"),
    *("cost_known", "cumulative_usd", "input_tokens", "output_tokens", "cache_read_tokens", "cache_write_tokens"),
    "text",
)
_FORMULA: Final = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")
"""Also the wide forms, which some spreadsheets read as the narrow ones."""

Visible = Callable[[str], str]


def header() -> str:
    return _written(COLUMNS)


def turns(run: Run, rows: Iterable[Turn], *, visible: Visible) -> Iterator[str]:
    def told(text: str | None) -> str:
        return literal(visible((text or "").replace("\r\n", "\n")))

    for turn in rows:
        yield _written(
            (
                *(run.id, told(run.title), told(run.agent), told(run.model), told(run.repository), told(run.branch)),
                *(turn.n, turn.source.value, told(turn.operator), turn.state.value, turn.result or ""),
                *(told(turn.subtype), turn.failure or "", told(turn.failure_text)),
                *(moment(turn.recorded_at), moment(turn.accepted_at), moment(turn.ended_at), _number(turn.duration_ms)),
                *(dollars(turn.cost), turn.cost_known or "", dollars(turn.cumulative)),
                *(_number(turn.input_tokens), _number(turn.output_tokens)),
                *(_number(turn.cache_read_tokens), _number(turn.cache_write_tokens), told(turn.text)),
            )
        )


def literal(cell: str) -> str:
    """A cell that stays text, whatever it begins with. Blanks before do not help: they are looked behind."""
    return f"'{cell}" if cell.startswith(_FORMULA) or cell.lstrip().startswith(_FORMULA) else cell


def dollars(micro: MicroUsd | None) -> str:
    """Exact: no cost is rounded on its way into a sum."""
    if micro is None:
        return ""
    sign = "-" if micro < 0 else ""
    return f"{sign}{abs(micro) // 1_000_000}.{abs(micro) % 1_000_000:06d}"


def moment(at: Millis | None) -> str:
    if at is None:
        return ""
    try:
        return datetime.fromtimestamp(at / 1000, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    except (ValueError, OverflowError, OSError):
        return str(at)  # a clock that stood in another age: its number says at least that


def _number(value: int | None) -> str:
    return "" if value is None else str(value)


def _written(cells: Iterable[object]) -> str:
    out = io.StringIO()
    csv.writer(out, lineterminator="\r\n").writerow(cells)
    return out.getvalue()
