"""``export``: runs as something that can be sent, read, counted, or checked elsewhere. It changes no ledger."""

from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from app.cli.exits import Leave
    from app.exporting.formats import Export, Format
    from coordinator.review.export.redacting import Redactor
    from store.tx import Tx
    from store.vocab import RunId

FORMATS = ("md", "html", "jsonl", "csv", "bundle")


def add_to(program: typer.Typer) -> None:
    program.command("export")(export)


def export(
    runs: Annotated[list[str] | None, typer.Argument(metavar="RUN…", help="Numbers of runs, as ls shows them.")] = None,
    format: Annotated[str, typer.Option("--format", "-f", help="md, html, jsonl, csv (turns), or bundle.")] = "md",
    output: Annotated[str, typer.Option("--output", "-o", help="The file to write; - prints.")] = "",
    redact: Annotated[
        list[str] | None,
        typer.Option("--redact", help="Take this text out everywhere (re:… is a regular expression); may be repeated."),
    ] = None,
    every: Annotated[
        str | None,
        typer.Option("--all", metavar="FILTER", help='All runs of a filter, such as "repo:orders"; "": all.'),
    ] = None,
    ledger: Annotated[str, typer.Option("--ledger", help="Another ledger, or a bundle.")] = "",
    force: Annotated[bool, typer.Option("--force", help="Write over a file that is there.")] = False,
    schema: Annotated[bool, typer.Option("--schema", help="Show what a JSON line may be, as JSON Schema.")] = False,
) -> None:
    """Runs as Markdown, HTML, JSON lines, a table of turns, or a bundle that verify can check."""
    if schema:
        from app.cli import printing
        from coordinator.review.export import jsonlines

        printing.as_json(jsonlines.schema())
        return
    from app.cli.exits import usage

    if format not in FORMATS:
        raise usage(f"--format {format!r} is none; there are {', '.join(FORMATS[:-1])} and {FORMATS[-1]}.")
    if not runs and every is None:
        raise usage('Which runs? Name their numbers (footplate ls shows them), or take all with --all "".')
    if runs and every is not None:
        raise usage("Name runs or take them by --all, not both.")
    _export(runs or [], format, output, redact or [], every, ledger, force)


def _export(
    named: list[str], format: str, output: str, redact: list[str], every: str | None, ledger: str, force: bool
) -> None:
    from app.cli.ledgerfile import reading
    from app.exporting.formats import Export, Format
    from coordinator.review.export.redacting import Redactor

    numbers = _numbers(named)
    wanted = Format(format)
    _check(redact)
    with ExitStack() as stack:
        tx = stack.enter_context(reading(ledger))
        run_ids = _chosen(tx, numbers, every)
        redactor = stack.enter_context(Redactor(redact))
        _write(Export(tx, run_ids, redactor), wanted, output, force)
        _tell(redactor)


def _numbers(named: list[str]) -> "tuple[RunId, ...]":
    from app.cli.values import run_id

    return tuple(dict.fromkeys(run_id(text) for text in named))


def _check(redact: list[str]) -> None:
    from app.cli.exits import usage
    from coordinator.review.export.redacting import REGULAR, BadPattern, compiled

    bad = compiled(redact)
    if isinstance(bad, BadPattern):
        kind = "regular expression" if redact[bad.n - 1].startswith(REGULAR) else "text"
        raise usage(f"--redact number {bad.n} is no {kind} that can be taken out: {bad.problem}; nothing was saved.")


def _chosen(tx: "Tx", numbers: "tuple[RunId, ...]", every: str | None) -> "tuple[RunId, ...]":
    """
    Raises:
        Leave: no such run, a bad filter, or none that it finds.
    """
    from app.cli.exits import Code, Leave, refused
    from coordinator.review import filters, reading
    from coordinator.review.types import Sort
    from store import runs
    from store.refusal import Refusal
    from store.vocab import RefusalReason

    if every is None:
        for run in numbers:
            if runs.get(tx, run) is None:
                raise refused(Refusal(RefusalReason.NO_SUCH_RUN, {"run": run}))
        return numbers
    wanted = filters.parse(every)
    if isinstance(wanted, Refusal):
        raise refused(wanted, code=Code.USAGE)
    found: list[RunId] = []
    more: object = None
    while True:
        page = reading.runs(tx, wanted, sort=Sort.OLDEST, limit=500, more=more)
        found += [row.run for row in page.rows]
        more = page.more
        if more is None:
            break
    if not found:
        raise Leave(Code.REFUSED, "No run is like that; nothing was saved.")
    return tuple(found)


def _write(made: "Export", format: "Format", output: str, force: bool) -> None:
    """
    Raises:
        Leave: it could not be written, and nothing is there that was not.
    """
    import sys

    from app.cli.exits import Code, Leave, note, usage
    from app.cli.printing import one_line
    from app.exporting.formats import Format, name_of
    from app.exporting.target import STDOUT, InTheWay, written
    from app.wording import plural
    from coordinator.review.export.redacting import TooSlow

    path = None if output == STDOUT else Path(output or name_of(format, made.runs))
    if path is None and format is Format.BUNDLE and sys.stdout.isatty():
        raise usage("A bundle is no text for a terminal; name a file with -o, or send it into one.")
    try:
        with written(path, force=force) as out:
            made.write(format, out, None if path is None else path.parent)
    except InTheWay:
        raise Leave(Code.REFUSED, f"{one_line(str(path))} is there already; add --force to write over it.") from None
    except TooSlow as slow:
        raise Leave(
            Code.REFUSED,
            f"The expressions of --redact did not come to an end on {plural(slow.characters, 'character')}; "
            "make them simpler. Nothing was saved.",
        ) from None
    except OSError as problem:
        if isinstance(problem, BrokenPipeError):
            raise
        where = "stdout" if path is None else str(path)
        raise _not_written(one_line(where), problem) from problem
    if path is not None:
        note(f"Saved: {one_line(str(path))} ({_size(path.stat().st_size)}).")


def _not_written(where: str, problem: OSError) -> "Leave":
    from app.cli.exits import Code, Leave

    said = (problem.strerror or str(problem)).lower()
    return Leave(Code.REFUSED, f"{where} could not be saved: {said}; nothing of it was left behind.")


def _tell(redactor: "Redactor") -> None:
    """How often each pattern was found, by its number: a pattern is what is to be kept secret."""
    from app.cli.exits import note
    from app.wording import plural

    for n, count in enumerate(redactor.counts, 1):
        found = "was found nowhere" if count == 0 else f"was taken out in {plural(count, 'place')}"
        note(f"--redact number {n} {found}.")


def _size(size: int) -> str:
    from app.wording import plural

    if size < 10_000:
        return plural(size, "byte")
    return f"{size / 1000:.0f} kB" if size < 10_000_000 else f"{size / 1e6:.0f} MB"
