"""The lists of a review, row by row: runs, places of a text, money, and the turns of one run. Pure.

A row is drawn only when it is in view, so that ten thousand of them cost what forty do.
"""

from msgspec import Struct

from app.console.keys import Key, shown
from app.console.views.glyphs import Glyphs
from app.console.views.ink import Line, Span, cells, cut, cut_line, cut_path, literal, one_line, sides
from app.console.views.standing import practice, spent
from app.wording import age, failure_in_short, plural, turn_line, turn_money, turn_source, work_time
from app.wording_review import day_or_time, hit_kind, run_cost, run_end, spend_cost, spend_key
from coordinator.api import TurnView
from coordinator.review.types import RunPage, RunRow, SearchHit, SpendBy, SpendRow
from store.vocab import Millis, RunOutcome, TurnResultKind

WIDE = 100
"""From here on a table has all its columns."""


def lit(row: Line, width: int, ground: str) -> Line:
    """The whole row on a background; '' leaves it as it is."""
    shown = cut_line(row, width)
    if not ground:
        return shown
    return tuple(Span(span.text, f"{span.ink} {ground}") for span in (*shown, Span(" " * (width - cells(shown)))))


def _left(text: str, width: int, ink: str = "text") -> Span:
    shown = cut(text, width)
    return Span(shown + " " * (width - cells(shown)), ink)


def _right(text: str, width: int, ink: str = "text") -> Span:
    shown = cut(text, width)
    return Span(" " * (width - cells(shown)) + shown, ink)


# ---------------------------------------------------------------------------------------------------------------- runs


class _Columns(Struct, frozen=True):
    title: int
    agent: int
    repository: int
    end: int
    full: bool


def _columns(width: int) -> _Columns:
    full = width >= WIDE
    agent, repository, end = (9, 12, 20) if full else (0, 11, 16)
    fixed = 2 + 6 + 1 + repository + 2 + 13 + 8 + 2 + end + (agent + 1 + 7 + 6 if full else 0)
    return _Columns(max(width - fixed, 8), agent, repository, end, full)


def runs_head(width: int) -> Line:
    col = _columns(width)
    row = [_right("run", 8, "grey"), Span(" "), _left("title", col.title, "grey"), Span(" ")]
    if col.full:
        row += [_left("agent", col.agent, "grey"), Span(" ")]
    row += [_left("repository", col.repository, "grey"), _right("began", 13, "grey")]
    if col.full:
        row += [_right("took", 7, "grey"), _right("turns", 6, "grey")]
    row += [_right("cost", 8, "grey"), Span("  "), _left("end", col.end, "grey")]
    return cut_line(tuple(row), width)


def run_line(row: RunRow, width: int, now: Millis, *, marked: bool) -> Line:
    col = _columns(width)
    bad = row.outcome is RunOutcome.FAILED and not row.imported
    end_ink = "blue" if row.imported else "red" if bad else "amber" if row.outcome is None else "grey"
    out: list[Span] = [
        Span("+ " if marked else "  ", "amber strong"),
        _right(str(row.run), 6, "grey"),
        Span(" "),
        _left(one_line(row.title) or "no title", col.title, "bright" if marked else "text"),
        Span(" "),
    ]
    if col.full:
        out += [_left(one_line(row.agent), col.agent), Span(" ")]
    name = one_line(row.repository.rstrip("/").rsplit("/", 1)[-1])
    out += [_left(name, col.repository), _right(day_or_time(row.created_at, now), 13, "grey")]
    if col.full:
        took = age(row.ended_at - row.created_at) if row.ended_at is not None and not row.imported else ""
        out += [_right(took, 7, "grey"), _right(str(row.turns), 6, "grey")]
    out += [_right(run_cost(row), 8), Span("  "), _left(one_line(run_end(row)), col.end, end_ink)]
    return cut_line(tuple(out), width)


# ----------------------------------------------------------------------------------------------------- places of a text


def hits_head(width: int) -> Line:
    return cut_line(
        (_right("run", 8, "grey"), _right("turn", 6, "grey"), Span("  "), _left("when", 14, "grey"),
         _left("who", 10, "grey"), Span("what was said", "grey")),
        width,
    )  # fmt: skip


def hit_line(hit: SearchHit, width: int, now: Millis) -> Line:
    head: Line = (
        _right(str(hit.run), 8, "grey"),
        _right("" if hit.turn_n is None else str(hit.turn_n), 6, "grey"),
        Span("  "),
        _left(day_or_time(hit.at, now), 14, "grey"),
        _left(one_line(hit_kind(hit.kind)), 10, "grey"),
    )
    room = max(width - cells(head), 1)
    return (*head, *cut_line(marked_text(hit.snippet, hit.marks, room), room))


def marked_text(text: str, marks: tuple[tuple[int, int], ...], room: int) -> Line:
    """A piece of text on one row, what was looked for lit; begun late enough that the first place is in view."""
    begin = 0
    if marks and marks[0][0] > max(room - 20, 10):
        begin = max(marks[0][0] - max(room * 2 // 3, 4), 0)
    out: list[Span] = [Span("…", "grey")] if begin else []
    at = begin
    for start, end in marks:
        if start < at:
            continue
        out += [Span(_flat(text[at:start])), Span(_flat(text[start:end]), "amber strong")]
        at = end
    out.append(Span(_flat(text[at : at + 4 * room + 8])))
    return tuple(span for span in out if span.text)


def _flat(text: str) -> str:
    """On one row, with the blanks at its ends: it is a piece of a sentence."""
    words = " ".join(text.split())
    before = " " if text[:1].isspace() and words else ""
    after = " " if text[-1:].isspace() and words else ""
    return literal(f"{before}{words}{after}" if words else " " if text else "")


# --------------------------------------------------------------------------------------------------------------- money


def spend_head(width: int, by: SpendBy) -> Line:
    name, bar = _spend_columns(width, by)
    row = [Span("  "), _left(by.value, name, "grey"), _right("USD", 10, "grey"), Span("  "), _left("", bar)]
    if by is not SpendBy.TURN:
        row += [_right("turns", 8, "grey")]
    if width >= WIDE:
        row += [_right("runs", 7, "grey")] if by is not SpendBy.TURN else []
        row += [_right("worked", 9, "grey"), _right("tokens in, out", 24, "grey")]
    return cut_line(tuple(row), width)


def _spend_columns(width: int, by: SpendBy) -> tuple[int, int]:
    """Of the name and of the bar; a turn is one turn of one run, and has no columns for them."""
    name = 10 if by is SpendBy.TURN else 26 if width >= WIDE else 18
    counts = 0 if by is SpendBy.TURN else 8 + (7 if width >= WIDE else 0)
    return name, max(width - 2 - name - 12 - counts - (34 if width >= WIDE else 0), 6)


def spend_line(row: SpendRow, width: int, by: SpendBy, most: int, glyphs: Glyphs) -> Line:
    """``most``: what the longest bar stands for."""
    name, bar = _spend_columns(width, by)
    long = round((bar - 2) * row.cost / most) if most else 0
    long = max(long, 1) if row.cost else 0
    guessed = -(-long * row.guessed // row.cost) if row.cost else 0
    key = f"turn {row.key.partition('.')[2]}" if by is SpendBy.TURN else spend_key(row, by)
    shown = cut_path(one_line(key), name) if by is SpendBy.REPOSITORY else cut(one_line(key), name)
    out: list[Span] = [
        Span("  "),
        _left(shown, name, "grey" if not row.key else "text"),
        _right(spend_cost(row, most), 10),
        Span("  "),
        Span(glyphs.full * (long - guessed), "blue"),
        Span(glyphs.full * guessed, "amber"),
        Span(" " * (bar - long)),
    ]
    if by is not SpendBy.TURN:
        out += [_right(f"{row.turns:,}", 8, "grey")]
    if width >= WIDE:
        tokens = f"{row.input_tokens + row.cache_read_tokens + row.cache_write_tokens:,} {row.output_tokens:,}"
        out += [_right(f"{row.runs:,}", 7, "grey")] if by is not SpendBy.TURN else []
        out += [_right(work_time(row.working_ms), 9, "grey"), _right(tokens, 24, "grey")]
    return cut_line(tuple(out), width)


# --------------------------------------------------------------------------------------------------------------- turns


WITH_WAITS = "with waits"
"""How long a turn took: what of it went by until the operator answered is in it, and not in what is called worked."""


def turns_head(width: int) -> Line:
    left: Line = (_right("turn", 6, "grey"), Span("  "), _left("began", 14, "grey"), Span("what was asked", "grey"))
    return sides(left, (Span(_turn_figures(width, "tokens in, out", WITH_WAITS, "USD"), "grey"),), width)


def _turn_figures(width: int, tokens: str, took: str, cost: str) -> str:
    return f"{tokens:>24}   {took:>10} {cost:>8}" if width >= WIDE else f"{took:>10} {cost:>8}"


def turn_row(turn: TurnView, width: int, now: Millis) -> Line:
    """One turn: when, what was asked, how it went, what it cost."""
    took = age(turn.duration_ms) if turn.duration_ms is not None else ""
    tokens = ""
    if turn.input_tokens is not None or turn.output_tokens is not None:
        tokens = f"{turn.input_tokens or 0:,} {turn.output_tokens or 0:,}"
    source = turn_source(turn)
    how = turn_line(turn)
    bad = turn.failure is not None or turn.result is TurnResultKind.ERROR
    told = failure_in_short(turn.failure) if turn.failure is not None else how.split(":")[0]
    told = "" if told == "done" else told
    left = (
        _right(str(turn.n), 6, "grey"),
        Span("  "),
        _left(day_or_time(turn.recorded_at, now), 14, "grey"),
        Span(f"{told}  " if told else "", "red" if bad else "amber"),
        Span(f"{source}  " if source else "", "grey"),
        Span(one_line(turn.text), "text"),
    )
    return sides(left, (Span(" " + _turn_figures(width, tokens, took, turn_money(turn)), "grey"),), width)


def run_title(page: RunPage | None, said: str, width: int, right: Line) -> Line:
    """Above the chosen run: its number, its title, and what it was."""
    if page is None:
        return sides((Span(f" {said}", "grey"),), right, width)
    run = page.session
    what = f"  {one_line(run.agent)}, {plural(len(run.turns), 'turn')}, {spent(run)} USD" if width >= WIDE else ""
    kind = "  imported" if page.imported else "  PRACTICE" if practice(run) else ""
    number = f" {run.run} "
    room = width - cells(number) - cells(kind) - cells(what) - cells(right) - 2
    left: Line = (
        Span(number, "grey"),
        Span(cut(one_line(run.title) or "no title", max(room, 8)), "strong bright"),
        Span(kind, "amber"),
        Span(what, "grey"),
    )
    return sides(left, right, width)


# --------------------------------------------------------------------------------------------------------------- hints

_HINTS: dict[str, tuple[str, ...]] = {
    "list": ("review-back", "review-open", "review-filter", "review-texts", "review-spend", "review-part",
             "review-order", "review-mark", "review-export", "review-replay"),
    "run": ("review-back", "review-part", "review-move", "review-open", "review-part-before", "review-replay",
            "review-filter", "review-export"),
    "filter": (),
    "replay": (),
}  # fmt: skip
_TYPED: dict[str, tuple[tuple[str, str], ...]] = {
    "filter": (("Enter", "keep it"), ("Esc", "as it was")),
    "replay": (
        ("Space", "stand, go on"), (".", "next event"), (",", "the one before"), ("r", "faster"), ("Esc", "end it")
    ),
}  # fmt: skip


def review_hints(place: str, width: int, table: tuple[Key, ...]) -> Line:
    """The keys of where the focus is, the way out first; at the right how to leave it all, and where all keys are."""
    rows = {row.action: row for row in table}
    told = [(shown(rows[name]), rows[name].hint) for name in _HINTS[place]] + list(_TYPED.get(place, ()))
    right: Line = ()
    if place != "filter":
        leave = (Span(f"{shown(rows['quit'])} ", "blue"), Span("quit ", "grey")) if "quit" in rows else ()
        right = (Span("? ", "blue"), Span("keys  ", "grey"), *leave)
    out: list[Span] = [Span(" ")]
    for key, words in told:
        part = (Span(f"{key} ", "blue"), Span(f"{words}  ", "grey"))
        if cells(tuple(out)) + cells(part) + cells(right) + 2 > width:
            break
        out.extend(part)
    gap = max(width - cells(tuple(out)) - cells(right), 0)
    return (*out, Span(" " * gap), *right)
