"""``diff``: what a run changed, from a shell, as long as it goes on and after it has ended.

Into a pipe or a file a diff goes byte for byte, so that ``git apply`` takes it; a terminal gets it with everything
made visible that it could obey.
"""

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from app.cli.options import Run

if TYPE_CHECKING:
    from coordinator.api import Changes, Diff, FileChange

Files = Annotated[list[str] | None, typer.Argument(metavar="[FILE]...", help="These alone, as --stat names them.")]


def add_to(program: typer.Typer) -> None:
    program.command("diff")(diff)


def diff(
    run: Run,
    files: Files = None,
    turn: Annotated[int | None, typer.Option("--turn", min=1, help="Only what changed in this turn.")] = None,
    stat: Annotated[bool, typer.Option("--stat", help="The files, with how many lines.")] = False,
    json: Annotated[bool, typer.Option("--json", help="Answer as JSON: the files, and with FILE their lines.")] = False,
) -> None:
    """What a run changed since it began: as the files are now, or as it was kept when the run ended."""
    import asyncio

    from app.cli.exits import Code, Leave, note, refused
    from app.cli.printing import as_json, one_line
    from app.cli.surroundings import surroundings
    from app.cli.values import run_id
    from app.wording_changes import remark
    from coordinator import changes
    from coordinator.clock import RealClock
    from coordinator.runplace import place_of
    from store.db import read_ledger
    from store.refusal import Refusal
    from store.vocab import RefusalReason

    paths, wanted = surroundings(as_json=json).paths, run_id(run)
    missing = Refusal(RefusalReason.NO_SUCH_RUN, {"run": wanted})
    if not paths.ledger.exists():
        raise refused(missing, as_json=json)
    with read_ledger(paths.ledger, now=RealClock().now) as tx:
        place = place_of(tx, wanted, spool=paths.spool)
    if isinstance(place, Refusal):
        raise refused(place, as_json=json)
    found = asyncio.run(changes.read(place, turn))
    if isinstance(found, Refusal):
        raise refused(found, as_json=json)
    if turn is not None and not any(one.first <= turn <= one.last for one in found.turns):
        known = ", ".join(str(one.last) for one in found.turns) or "none"
        raise Leave(Code.REFUSED, f"What run {wanted} changed in turn {turn} is not known; known turns: {known}.")
    chosen = [_named(found, name) for name in files or ()]
    for name, one in zip(files or (), chosen, strict=True):
        if one is None:
            raise Leave(Code.REFUSED, f"{one_line(name)} is not among what run {wanted} changed; see --stat.")
    some = tuple(one for one in chosen if one is not None)
    lines: Diff | None = None
    if not stat and (some or not json):
        names = tuple(name for one in some for name in one.names)
        read = asyncio.run(changes.diff(place, turn, names))
        if isinstance(read, Refusal):
            raise refused(read, as_json=json)
        lines = read
    if json:
        as_json(_told(found, some or found.files) | ({"diff": _text(lines.patch), "cut": lines.cut} if lines else {}))
        return
    for said in found.remarks:
        note(f"{remark(said)}.")
    if lines is None:
        _print_files(found, some or found.files)
    else:
        _write(lines.patch)
        if lines.cut:
            note("It goes on: name a FILE to see more of it, or look into the tree.")


def _named(found: "Changes", name: str) -> "FileChange | None":
    """By its bytes, else as it is shown, which may be all that can be typed of it."""
    import os

    raw = os.fsencode(name)
    by_name = (one for one in found.files if one.names[0] == raw)
    return next(by_name, next((one for one in found.files if one.path == name), None))


def _text(patch: bytes) -> str:
    return patch.decode("utf-8", "replace")


def _told(found: "Changes", some: "tuple[FileChange, ...]") -> dict[str, object]:
    from app.wording_changes import remark

    return {
        "run": found.run,
        "tree": found.tree,
        "base": found.base,
        "from": found.source.value,
        "turn": found.turn,
        "turns": [{"first": one.first, "last": one.last, "running": one.running} for one in found.turns],
        "remarks": [{"what": one.what.value, "count": one.count, "sentence": remark(one)} for one in found.remarks],
        "files": [
            {
                "path": one.path,
                "was": one.was or None,
                "status": one.status,
                "added": one.added,
                "removed": one.removed,
                "changed_before": one.before,
            }
            for one in some
        ],
    }


def _print_files(found: "Changes", some: "tuple[FileChange, ...]") -> None:
    from app.cli.columns import Column
    from app.cli.printing import line, one_line, sentence, table
    from app.wording import plural
    from app.wording_changes import counts, nothing, source, span_of

    if not some:
        if said := nothing(found):
            line(f"{said.capitalize()}.")
        return
    rows = []
    for one in some:
        name = f"{one_line(one.was, 4_000)} -> " if one.was else ""
        mark = "*" if one.before else ""
        rows.append((f"{one.status}{mark}", counts(one.added, one.removed), name + one_line(one.path, 4_000)))
    table(rows, (Column(), Column(right=True), Column(least=20, end=True)))
    added = sum(one.added or 0 for one in some)
    removed = sum(one.removed or 0 for one in some)
    sentence(f"{plural(len(some), 'file')}, +{added} −{removed}; {span_of(found)}, {source(found)}")


def _write(patch: bytes) -> None:
    from app.cli.printing import line, literal_lines

    if not sys.stdout.isatty():
        sys.stdout.flush()
        sys.stdout.buffer.write(patch)
        sys.stdout.buffer.flush()
        return
    text = _text(patch).removesuffix("\n")
    if text:
        for row in literal_lines(text):
            line(row)
