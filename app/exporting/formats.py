"""From a ledger's rows to the bytes of each format. What is asked for is one value; nothing here opens a file.

Redaction is between the rows and everything else, so that no format can go round it.
"""

import tempfile
from collections.abc import Iterator, Sequence
from enum import StrEnum
from pathlib import Path
from typing import IO, Final

from msgspec import Struct, field

from app.console.views.text import copyable
from app.exporting.story import Told, story
from app.wording import plural
from coordinator.review.export import bundle, csv, html, jsonlines, markdown
from coordinator.review.export.blocks import Block, Note
from coordinator.review.export.redacting import Redactor
from store import entries, excerpt, identity
from store.attachments import Attachment
from store.authorizations import Amendment, Authorization
from store.decisions import Decision
from store.evidence import Evidence
from store.queued import QueuedTurn
from store.receipts import StoredReceipt
from store.rows import R
from store.runs import Run, get
from store.stops import Stop
from store.turns import Turn
from store.tx import Tx
from store.vocab import RunId


class Format(StrEnum):
    MARKDOWN = "md"
    HTML = "html"
    JSON_LINES = "jsonl"
    CSV = "csv"
    BUNDLE = "bundle"


SUFFIXES: Final = {Format.BUNDLE: "footplate.tar"}


def name_of(format: Format, run_ids: Sequence[RunId]) -> str:
    """What a file is called that was given no name: ``run-12.html``, ``runs-3-to-12.md``."""
    suffix = SUFFIXES.get(format, format.value)
    if len(run_ids) == 1:
        return f"run-{run_ids[0]}.{suffix}"
    return f"runs-{min(run_ids)}-to-{max(run_ids)}.{suffix}"


class Export(Struct):
    """Some runs of an open ledger, in one format."""

    tx: Tx
    runs: tuple[RunId, ...]
    redactor: Redactor
    _rows: dict[RunId, Run] = field(default_factory=dict)
    """Those that were looked at, redacted: once each, or their places would be counted twice."""

    def write(self, format: Format, out: IO[bytes], beside: Path | None = None) -> None:
        """``beside``: folder for what a bundle is made of meanwhile; None: the temporary one."""
        if format is Format.BUNDLE:
            self._bundle(out, beside)
            return
        pieces = {
            Format.MARKDOWN: self._markdown,
            Format.HTML: self._html,
            Format.JSON_LINES: self._json_lines,
            Format.CSV: self._csv,
        }[format]
        for piece in pieces():
            out.write(piece.encode("utf-8", "replace"))

    # ------------------------------------------------------------------------------------------------------- formats

    def _markdown(self) -> Iterator[str]:
        return markdown.document(self._blocks(), visible=visible)

    def _html(self) -> Iterator[str]:
        return html.document(self._blocks(), title=self._title(), visible=visible)

    def _json_lines(self) -> Iterator[str]:
        newest = entries.newest(self.tx)
        head = (0, "") if newest is None else (newest.seq, newest.hash)
        ledger = identity.of(self.tx).id
        yield jsonlines.begin(ledger=ledger, runs=self.runs, redacted=self.redactor.active, head=head)
        lines = 2
        for run in self.runs:
            for record in excerpt.rows(self.tx, run):
                yield jsonlines.line(self.redactor.record(record))
                lines += 1
        yield jsonlines.end(lines=lines, taken_out=self.redactor.counts)

    def _csv(self) -> Iterator[str]:
        yield csv.header()
        for run in self.runs:
            turns = (self.redactor.record(turn) for turn in excerpt.rows_of(self.tx, run, Turn))
            yield from csv.turns(self._run(run), turns, visible=visible)

    def _bundle(self, out: IO[bytes], beside: Path | None) -> None:
        with tempfile.TemporaryDirectory(prefix=".footplate-export-", dir=beside) as made:
            folder = Path(made)
            readme, page, plain, packed = (folder / name for name in ("readme", "page", "ledger", "packed"))
            with page.open("wb") as written:
                for piece in self._html():
                    written.write(piece.encode("utf-8", "replace"))
            # The page says a part of what the ledger has: counted is what was found in the ledger.
            self.redactor.counts[:] = [0] * len(self.redactor.counts)
            excerpt.write(self.tx, self.runs, plain, self.redactor.row)
            size = bundle.packed(plain, packed)
            readme.write_text(_README.format(runs=_listed(self.runs)), encoding="utf-8")
            files = {bundle.README: readme, bundle.PAGE: page, bundle.LEDGER: packed}
            manifest = bundle.manifest_of(
                self.tx,
                identity.of(self.tx),
                self.runs,
                [bundle.member_of(name, path) for name, path in files.items()],
                ledger_size=size,
                taken_out=self.redactor.counts,
            )
            bundle.write(out, manifest, list(files.values()))

    # ---------------------------------------------------------------------------------------------------------- rows

    def _blocks(self) -> Iterator[Block]:
        for run in self.runs:
            told = self._told(run)
            yield from story(told, (self.redactor.record(event) for event in excerpt.events(self.tx, run)))
        newest = entries.newest(self.tx)
        if newest is not None:
            yield Note(text=f"Exported by Footplate. The ledger's entry {newest.seq} has the hash {newest.hash}.")
        if self.redactor.active:
            places, patterns = sum(self.redactor.counts), len(self.redactor.counts)
            yield Note(
                text=f"{plural(patterns, 'pattern')} taken out by who exported this, in {plural(places, 'place')}."
            )

    def _title(self) -> str:
        if len(self.runs) == 1:
            return self._run(self.runs[0]).title or f"Run {self.runs[0]}"
        return f"Runs {_listed(self.runs)}"

    def _run(self, run: RunId) -> Run:
        if run not in self._rows:
            found = get(self.tx, run)
            assert found is not None, "looked for before anything was written"
            self._rows[run] = self.redactor.record(found)
        return self._rows[run]

    def _told(self, run: RunId) -> Told:
        def every(kind: type[R]) -> tuple[R, ...]:
            return tuple(self.redactor.record(row) for row in excerpt.rows_of(self.tx, run, kind))

        signed = every(Authorization)
        return Told(
            run=self._run(run),
            authorization=signed[0] if signed else None,
            amendments=every(Amendment),
            turns=every(Turn),
            queued=every(QueuedTurn),
            attachments=every(Attachment),
            decisions=every(Decision),
            stops=every(Stop),
            receipts=every(StoredReceipt),
            evidence=every(Evidence),
        )


def visible(text: str) -> str:
    """``copyable``, at once where there is nothing to make visible: most texts of a million are plain."""
    bare = text.replace("\n", "").replace("\t", "")
    return text if bare.isascii() and bare.isprintable() else copyable(text)


def _listed(run_ids: Sequence[RunId]) -> str:
    shown = ", ".join(str(run) for run in run_ids[:20])
    return shown if len(run_ids) <= 20 else f"{shown} and {len(run_ids) - 20} more"


_README: Final = """\
A Footplate bundle: run {runs}.

runs.html       what was asked, said, decided and changed; open it in any browser
ledger.db.gz    the same as a ledger of its own, with every fact and its hash

Check that nothing in it was changed:    footplate verify THIS-FILE
Look through it:                         footplate review THIS-FILE

What such a check proves: every byte of this file is as it was made, and the facts of
each run follow from each other. Who made it could have made up all of it; compare the
last hash of each run (in manifest.json) with one that you were given another way.
"""
