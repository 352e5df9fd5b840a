"""``review``, ``search`` and ``spend``: looking back through a ledger, this house's or any other. Nothing is written.

They start no coordinator and need none: what a copy of a ledger says on a plane is what it says here.
"""

import re
import sys
from typing import TYPE_CHECKING, Annotated

import typer

from app.cli.options import Json

if TYPE_CHECKING:
    from coordinator.review.types import RunFilter, SearchHit, SpendBy, SpendRow
    from store.tx import Tx

Ledger = Annotated[str, typer.Option("--ledger", help="Another ledger, or a bundle.")]

GROUPS = ("day", "repository", "agent", "model", "run", "turn")
_FIELD = re.compile(r"([A-Za-z]+):(.*)", re.DOTALL)


def add_to(program: typer.Typer) -> None:
    program.command("review")(review)
    program.command("search")(search)
    program.command("spend")(spend)


# -------------------------------------------------------------------------------------------------------------- review


def review(
    ledger: Annotated[str, typer.Argument(metavar="[LEDGER]", help="Another ledger, or a bundle; else this one.")] = "",
) -> int:
    """Look through all runs: what was asked, said, decided and changed, by whom, and what it cost."""
    from contextlib import ExitStack

    from app.cli.exits import refused
    from app.cli.ledgerfile import ledger_path

    _need_a_terminal()
    with ExitStack() as stack:
        path = ledger_path(ledger, stack)
        from app.cli.screen import run_review
        from app.cli.surroundings import surroundings

        code, refusal = run_review(path, surroundings().config)
        if refusal is not None:
            raise refused(refusal)
        return code


def _need_a_terminal() -> None:
    """
    Raises:
        Leave: stdin or stdout is none.
    """
    import os

    from app.cli.exits import Code, Leave

    if not (sys.stdin.isatty() and sys.stdout.isatty()) or os.environ.get("TERM", "") in ("", "dumb"):
        raise Leave(
            Code.REFUSED,
            "The review needs a terminal that can show it; without one, use footplate search, spend, show or export.",
        )


# -------------------------------------------------------------------------------------------------------------- search


def search(
    words: Annotated[
        list[str], typer.Argument(metavar="WORDS…", help='Words, "a phrase", beginn*, and fields such as repo:orders.')
    ],
    limit: Annotated[int, typer.Option(min=1, max=10_000, help="How many, newest first.")] = 50,
    ledger: Ledger = "",
    json: Json = False,
) -> None:
    """What was said, asked and done in all runs, newest first."""
    from app.cli import printing
    from app.cli.ledgerfile import reading

    wanted = _filter(words, as_json=json)
    with reading(ledger) as tx:
        hits, before = _search(tx, wanted, limit)
        if not hits and (whole := _as_one_line(words, wanted)) is not None:
            hits, before = _search(tx, whole, limit)
        now = tx.now
    if json:
        printing.as_json({"hits": hits, "more": before is not None})
        return
    for hit in hits:
        _print_hit(hit, now)
    if not hits:
        printing.line("Nobody said that in any run.")
    elif before is not None:
        printing.line(f"These are the newest {limit}; --limit shows more.")


def _search(tx: "Tx", wanted: "RunFilter", limit: int) -> "tuple[list[SearchHit], int | None]":
    """The newest, and where the next ones would begin; None where there are no more."""
    from coordinator.review import reading as review_reading

    hits: list[SearchHit] = []
    before: int | None = None
    while len(hits) < limit:
        # A page looks at so many texts and no further: it may be short and still not be the last.
        page = review_reading.search(tx, wanted, limit=limit - len(hits), before=before)
        hits += page.hits
        before = page.more
        if before is None:
            break
    return hits, before


def _as_one_line(words: list[str], wanted: "RunFilter") -> "RunFilter | None":
    """``"repo:shop None"`` in one argument may be a value with a blank, or a whole line of a filter: the second
    reading, where it is another one. A phrase is only that."""
    from coordinator.review import filters
    from store.refusal import Refusal

    if not any(" " in word and _FIELD.fullmatch(word) for word in words):
        return None
    whole = filters.parse(" ".join(words))
    return None if isinstance(whole, Refusal) or whole == wanted else whole


def _print_hit(hit: "SearchHit", now: int) -> None:
    from app.cli import printing
    from app.wording_review import day_or_time, hit_kind

    turn = f" turn {hit.turn_n}" if hit.turn_n is not None else ""
    who = printing.one_line(hit_kind(hit.kind), 20)
    where, width = f"run {hit.run}{turn}  {day_or_time(hit.at, now)}  {who}", printing.columns()
    room = 80 if width is None else min(width - len(where) - 2, 80)
    title = printing.one_line(hit.title, room) if room >= _SHORTEST_TITLE else ""
    printing.line(f"{where}  {title}".rstrip())
    _print_lit(hit.snippet, hit.marks, width)


_SHORTEST_TITLE = 8


def _print_lit(text: str, marks: tuple[tuple[int, int], ...], width: int | None) -> None:
    """The piece, folded to the terminal; what was looked for is bold where one shows it."""
    from app.cli import printing
    from app.console.views.review_rows import marked_text

    begin, end = ("\x1b[1m", "\x1b[0m") if width is not None else ("", "")
    spans = marked_text(text, marks, 400)
    bold = [("strong" in span.ink, letter) for span in spans for letter in span.text]
    at = 0
    for row in printing.wrapped("    " + "".join(letter for _, letter in bold), width, hang=0):
        said, lit = row[: len(row) - len(row.lstrip(" "))], False
        for letter in row.lstrip(" "):
            while bold[at][1] != letter:  # the blank that was broken at
                at += 1
            if bold[at][0] is not lit:
                lit = not lit
                said += begin if lit else end
            said += letter
            at += 1
        printing.line(said + (end if lit else ""))


def _filter(words: list[str], *, as_json: bool = False) -> "RunFilter":
    """
    Raises:
        Leave: it is no filter.
    """
    from app.cli.exits import Code, refused
    from coordinator.review import filters
    from store.refusal import Refusal

    wanted = filters.parse(" ".join(_quoted(word) for word in words))
    if isinstance(wanted, Refusal):
        raise refused(wanted, as_json=as_json, code=Code.USAGE)
    return wanted


def _quoted(word: str) -> str:
    """As it would be typed into a filter: a shell has taken the quotes away."""
    if " " not in word.strip() or '"' in word:
        return word
    field = _FIELD.fullmatch(word)
    if field is not None and " " not in field[1]:
        return f'{field[1]}:"{field[2].strip()}"'
    return f'"{word.strip()}"'


# --------------------------------------------------------------------------------------------------------------- spend


def spend(
    words: Annotated[
        list[str] | None, typer.Argument(metavar="FILTER…", help="Only these runs, such as repo:orders since:2026-11.")
    ] = None,
    by: Annotated[str, typer.Option("--by", help="day, repository, agent, model, run, or turn.")] = "day",
    run: Annotated[str, typer.Option("--run", help="Only this run: where its budget went, with --by turn.")] = "",
    practice: Annotated[bool, typer.Option("--practice", help="The play money of the practice agent too.")] = False,
    csv: Annotated[bool, typer.Option("--csv", help="Answer as a table for a spreadsheet.")] = False,
    ledger: Ledger = "",
    json: Json = False,
) -> None:
    """Money and time: what the turns of all runs cost, and how long they worked."""
    from app.cli import printing
    from app.cli.exits import usage
    from app.cli.ledgerfile import reading
    from app.cli.values import run_id
    from coordinator.review.types import SpendBy

    if by not in GROUPS:
        raise usage(f"--by {by!r} is none; there are {', '.join(GROUPS[:-1])} and {GROUPS[-1]}.")
    if csv and json:
        raise usage("--csv or --json, not both.")
    group = SpendBy(by)
    wanted = _filter(words or [], as_json=json)
    number = run_id(run) if run else None
    with reading(ledger) as tx:
        from coordinator.review import reading as review_reading

        rows = review_reading.spend(tx, group, wanted, run=number, practice=practice)
    if json:
        printing.as_json({"by": by, "rows": rows})
    elif csv:
        _print_csv(rows)
    else:
        _print_spend(rows, group)


def _print_csv(rows: "tuple[SpendRow, ...]") -> None:
    import csv as csv_
    from decimal import Decimal

    from app.console.views.text import copyable
    from coordinator.review.export.csv import literal

    out = csv_.writer(sys.stdout, lineterminator="\r\n")
    out.writerow(
        ("key", "runs", "turns", "cost_usd", "guessed_usd", "unknown_turns", "working_seconds", "input_tokens",
         "output_tokens", "cache_read_tokens", "cache_write_tokens")
    )  # fmt: skip
    for row in rows:
        money = (f"{Decimal(row.cost) / 1_000_000:f}", f"{Decimal(row.guessed) / 1_000_000:f}")
        out.writerow(
            (literal(copyable(row.key)), row.runs, row.turns, *money, row.unknown_turns, row.working_ms // 1000,
             row.input_tokens, row.output_tokens, row.cache_read_tokens, row.cache_write_tokens)
        )  # fmt: skip


_BAR = 62
"""Cells of the longest bar where there is room for all of it."""
_SHORTEST_BAR = 6


def _print_spend(rows: "tuple[SpendRow, ...]", by: "SpendBy") -> None:
    from app.cli import printing
    from app.cli.columns import GAP, Column
    from app.console.views.text import cells, cut_front
    from app.wording import work_time
    from app.wording_review import spend_cost, spend_key, spend_sum

    named = [
        (
            cut_front(printing.one_line(spend_key(row, by), 400), 40),
            spend_cost(row),
            f"{row.turns:,}",
            work_time(row.working_ms),
        )
        for row in rows
    ]
    heads = (by.value, "USD", "turns", "worked")
    others = sum(max(map(cells, column)) + GAP for column in zip(heads, *named, strict=True))
    room, most = min((printing.columns() or 80) - others, _BAR), max((row.cost for row in rows), default=0)
    bars = ["━" * max(round(room * row.cost / most), 1) if row.cost and room >= _SHORTEST_BAR else "" for row in rows]
    shape = (
        Column(head=by.value, least=10, end=True),
        Column(head="USD", right=True),
        Column(),
        Column(head="turns", right=True, goes=1),
        Column(head="worked", right=True, goes=2),
    )
    printing.table([(*row[:2], bar, *row[2:]) for row, bar in zip(named, bars, strict=True)], shape)
    said = spend_sum(rows)
    printing.sentence(said[:1].upper() + said[1:] + ".")
