"""``import``: what operators already have, read into the ledger as runs that nobody held."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from app.cli.options import Json

if TYPE_CHECKING:
    from app.cli.progressline import ProgressLine
    from coordinator.review.importing.importer import Progress, Report


def add_to(program: typer.Typer) -> None:
    program.command("import")(import_)


def import_(
    paths: Annotated[
        list[str],
        typer.Argument(
            metavar="PATH...", help="Transcripts, or folders of them: ~/.claude/projects, ~/.codex/sessions."
        ),
    ],
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say what would be imported, and write nothing.")] = False,
    json: Json = False,
) -> int:
    """Read in the transcripts that Claude Code and Codex keep themselves, as runs marked imported; nothing twice."""
    import os

    from app import wording_importing as wording
    from app.cli import exits, printing
    from app.cli.exits import Code, refused, usage
    from app.cli.opening import refuse_inside_a_hold
    from app.cli.progressline import ProgressLine
    from app.cli.surroundings import surroundings
    from app.wiring import machine_id
    from coordinator import pricefile
    from coordinator.clock import RealClock
    from coordinator.ids import RealIds
    from coordinator.review.importing.importer import Importer, Wish
    from store.refusal import Refusal

    named = [Path(one).expanduser() for one in paths]
    missing = [one for one in named if not os.path.lexists(one)]
    if missing:
        raise usage(printing.one_line(wording.bad_paths(missing), 500))
    around = surroundings(as_json=json)
    if not dry_run:
        refuse_inside_a_hold(around, "import", as_json=json)
        problem = around.paths.ensure()
        if problem is not None:
            raise refused(problem, as_json=json)
    table = pricefile.load(around.paths.config_file.parent / pricefile.NAME)
    if isinstance(table, Refusal):
        raise refused(table, as_json=json)
    wish = Wish(
        paths=tuple(named),
        ledger=around.paths.ledger,
        prices=table,
        operator=around.operator,
        machine=machine_id(),
        uid=os.getuid(),
        environment=dict(os.environ),
        dry=dry_run,
    )
    clock = RealClock()
    shown = ProgressLine(clock.monotonic)
    seen = _Seen(shown)
    importer = Importer(wish, clock, RealIds(), seen.tell)
    try:
        report = importer.run()
    except KeyboardInterrupt:
        shown.wipe()
        exits.note(wording.interrupted(seen.turns))
        return Code.INTERRUPTED
    finally:
        shown.wipe()
    for one in report.problems:
        exits.note(wording.trouble(one, printing.one_line(str(one.path), 500)))
    if json:
        printing.as_json(_as_data(report, dry=dry_run, dated=table.dated))
    else:
        for line in wording.summary(report, table, dry=dry_run):
            printing.line(line)
        _print_runs(report)
    return Code.REFUSED if _went_wrong(report) else Code.DONE


def _went_wrong(report: "Report") -> bool:
    """A file that could not be read, or that was asked for by name and is none; not what else lies in a folder."""
    from coordinator.review.importing.files import Trouble

    return any(one.named or one.trouble in (Trouble.UNREADABLE, Trouble.REWRITTEN) for one in report.problems)


def _print_runs(report: "Report") -> None:
    from app import wording
    from app.cli import printing
    from app.cli.columns import Column
    from store.vocab import MicroUsd

    most = 20
    rows = [
        (
            "–" if one.owner.run is None else str(one.owner.run),
            printing.one_line(one.title, 48),
            one.session.format.agent,
            str(one.counts.turns),
            wording.money_so_far(MicroUsd(one.counts.micro_usd), guess=True, told=not one.counts.unpriced),
            "" if one.continues is None else f"goes on from {one.continues}",
        )
        for one in report.made[:most]
    ]
    shape = (
        Column(head="run", right=True),
        Column(head="title", least=12),
        Column(head="agent", goes=2),
        Column(head="turns", right=True, goes=3),
        Column(head="cost", right=True, goes=1),
        Column(least=12, goes=4),
    )
    printing.table(rows, shape)
    if len(report.made) > most:
        printing.line(f"and {len(report.made) - most} more; footplate ls shows them.")


def _as_data(report: "Report", *, dry: bool, dated: str) -> dict[str, object]:
    return {
        "dry_run": dry,
        "files": report.files,
        "unchanged": report.unchanged,
        "bytes": report.bytes,
        "seconds": round(report.seconds, 3),
        "sessions": len(report.made),
        "turns": report.turns,
        "events": report.events,
        "shared_lines": report.shared,
        "held_already": [
            {"path": str(one.path), "native_id": one.native_id, "runs": list(one.runs)} for one in report.held
        ],
        "unknown_lines": report.unknown,
        "torn": [str(one) for one in report.torn],
        "cost_micro_usd": report.micro_usd,
        "cost_known": "guess",
        "cost_unknown_turns": report.unpriced,
        "prices_dated": dated,
        "runs": [
            {
                "run": one.owner.run,
                "continues": one.continues,
                "agent": one.session.format.agent,
                "native_id": one.session.begun.native_id,
                "title": one.title,
                "path": str(one.session.file.path),
                "turns": one.counts.turns,
                "cost_micro_usd": one.counts.micro_usd,
                "cost_unknown_turns": one.counts.unpriced,
            }
            for one in report.made
        ],
        "problems": [
            {"path": str(one.path), "trouble": one.trouble.value, "named": one.named, "detail": one.detail}
            for one in report.problems
        ],
    }


class _Seen:
    """What was read in so far, shown as it grows."""

    def __init__(self, line: "ProgressLine") -> None:
        self.turns = 0
        self._line = line

    def tell(self, now: "Progress") -> None:
        from app import wording_importing as wording

        self.turns = now.turns
        self._line.paint(lambda: wording.progress(now))
