"""Exporting from the review: which form, under which name, and then written beside everything else."""

import asyncio
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

from app.console import workers
from app.console.screens.choose import Choose, Row
from app.console.screens.fields import Field, Fields
from app.console.views.ink import one_line
from app.exporting.formats import Export, Format, name_of
from app.exporting.target import InTheWay, written
from app.wording import plural, sentence, size_of
from coordinator.review.export.redacting import Redactor
from coordinator.review.source import reading_for_review
from store.faults import LedgerFault
from store.vocab import Millis, RunId

if TYPE_CHECKING:
    from app.console.review.screen import Review

WORDS: Final = {
    Format.MARKDOWN: "Markdown: to read anywhere",
    Format.HTML: "HTML: for any browser, nothing is loaded from elsewhere",
    Format.JSON_LINES: "JSON lines: for programs",
    Format.CSV: "a table of the turns",
    Format.BUNDLE: "a bundle: the ledger's own rows, which footplate verify can check",
}


def begin(review: "Review", runs: tuple[RunId, ...]) -> None:
    """Ask for the form, then for the name."""
    what = f"run {runs[0]}" if len(runs) == 1 else plural(len(runs), "run")
    rows = tuple(Row(value=form.value, label=words) for form, words in WORDS.items())

    def chosen(value: str | None) -> None:
        if value is not None:
            form = Format(value)
            field = Field(name="path", label="file", value=str(Path.cwd() / name_of(form, runs)))
            review.app.push_screen(Fields(f"Export {what}", (field,)), lambda values: named(form, values))

    def named(form: Format, values: dict[str, str] | None) -> None:
        if values is not None and values["path"].strip():
            path = Path(values["path"].strip()).expanduser()
            review.say(f"exporting {what} …", "grey")
            workers.begin(review, partial(_export, review, runs, form, path), group="export")

    review.app.push_screen(Choose(f"Export {what} as", rows), chosen)


async def _export(review: "Review", runs: tuple[RunId, ...], form: Format, path: Path) -> None:
    # A connection of its own: a long export lets the list go on being read.
    said = await asyncio.to_thread(_write, review.path, review.clock, runs, form, path)
    review.say(said, "grey" if said.startswith("written") else "amber")


def _write(ledger: Path, now: Callable[[], Millis], runs: tuple[RunId, ...], form: Format, path: Path) -> str:
    try:
        with (
            reading_for_review(ledger, now=now) as (tx, _),
            Redactor([]) as redactor,
            written(path, force=False) as out,
        ):
            Export(tx, runs, redactor).write(form, out, path.parent)
        return f"written: {one_line(str(path))} ({size_of(path.stat().st_size)})"
    except InTheWay:
        return f"{one_line(str(path))} is there already: x again, with another name"
    except LedgerFault as fault:
        return sentence(fault.refusal)
    except OSError as problem:
        return f"{one_line(str(path))} could not be written: {(problem.strerror or str(problem)).lower()}"
