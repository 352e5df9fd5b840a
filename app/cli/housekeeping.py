"""``verify``, ``prune``, ``backup``: is the ledger whole, what of it may go, and a copy that is."""

import re
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from app.cli.options import Json

if TYPE_CHECKING:
    from collections.abc import Callable

    from app.cli.surroundings import Surroundings
    from app.paths import Paths
    from coordinator.housekeeping import Places, Plan, Pruned
    from coordinator.ledgermark import Mark
    from coordinator.review.checking import Beside, Checked
    from store.verify import Noted

_DAY_MS = 86_400_000
_LONGEST_DAYS = 36_500


def add_to(program: typer.Typer) -> None:
    program.command("verify")(verify)
    program.command("prune")(prune)
    program.command("backup")(backup)


# -------------------------------------------------------------------------------------------------------------- verify


def verify(
    what: Annotated[str, typer.Argument(metavar="[LEDGER|BUNDLE]", help="Another ledger, or a bundle.")] = "",
    noted: Annotated[
        str, typer.Option(metavar="SEQ:HASH", help="An entry that you wrote down: it must still be there.")
    ] = "",
    json: Json = False,
) -> int:
    """Check that the ledger is whole, or a bundle: every fact's hash, and that all else agrees with the facts."""
    head = _noted(noted)
    path = Path(what).expanduser() if what else None
    if path is not None and not path.is_dir() and not _is_ledger(path):
        from app.cli.bundlecheck import check_bundle

        return check_bundle(what, as_json=json)
    from app.cli import printing
    from app.cli.exits import Code
    from app.cli.ledgerfile import ledger_path
    from app.paths import find
    from coordinator import ledgermark

    with ExitStack() as stack:
        paths = find()
        if not what and not paths.ledger.exists():
            if json:
                printing.as_json({"ok": True, "ledger": None, "difference": None})
            else:
                printing.line("There is no ledger yet, so there is nothing to check.")
            return Code.DONE
        ledger = ledger_path(what, stack)
        beside, mark = _beside(ledger, paths)
        checked = _check(ledger, beside, ledgermark.read(mark) if mark is not None else None, head)
    if json:
        seen = {"seq": checked.mark_seq, "of_this_ledger": checked.of_this_ledger}
        printing.as_json(
            {
                "ok": checked.difference is None,
                "ledger": str(ledger),
                "difference": checked.difference,
                "noted": None if checked.mark_seq is None else seen,
                "pruned": checked.pruned,
                "spools": checked.spools,
                "notes": checked.notes,
            }
        )
    else:
        _tell_checked(checked)
    return Code.DONE if checked.difference is None else Code.REFUSED


def _noted(text: str) -> "Noted | None":
    if not text:
        return None
    from app.cli.exits import usage
    from store.verify import Noted

    found = re.fullmatch(r"([0-9]{1,15}):([0-9a-f]{64})", text.strip())
    if found is None:
        raise usage("--noted is a number, a colon and the 64 letters of a hash, as footplate backup tells them.")
    return Noted(seq=int(found[1]), hash=found[2])


def _is_ledger(path: Path) -> bool:
    """By its first bytes; what is no bundle and no ledger is refused as the one or the other by who opens it."""
    from coordinator.review.export import bundle

    try:
        with path.open("rb") as file:
            return file.read(16) == b"SQLite format 3\x00" or (not bundle.is_bundle(path) and path.suffix == ".db")
    except OSError:
        return False


def _beside(ledger: Path, paths: "Paths") -> "tuple[Beside, Path | None]":
    """What lies with a ledger: ours where the paths say, that of another house in its folder, with a lone file none."""
    from coordinator.review.checking import Beside

    if ledger == paths.ledger:
        return Beside(spool=paths.spool, evidence=paths.evidence), paths.mark
    if ledger.name != paths.ledger.name:
        return Beside(), None
    spool, evidence = ledger.parent / paths.spool.name, ledger.parent / paths.evidence.name
    there = Beside(spool=spool if spool.is_dir() else None, evidence=evidence if evidence.is_dir() else None)
    return there, ledger.parent / paths.mark.name


def _check(ledger: Path, beside: "Beside", mark: "Mark | None", head: "Noted | None" = None) -> "Checked":
    from coordinator.clock import RealClock
    from coordinator.review import checking
    from store.db import read_ledger

    clock = RealClock()
    share = _Share("checked", clock.monotonic)
    try:
        with read_ledger(ledger, now=clock.now) as tx:
            return checking.check(tx, beside, mark=mark, noted=head, progress=share.tell)
    finally:
        share.wipe()


def _tell_checked(checked: "Checked") -> None:
    from app import wording_housekeeping as wording
    from app.cli import printing

    if checked.difference is not None:
        said = printing.one_line(wording.difference(checked.difference), 1000)
        printing.line(f"The ledger is not whole; the first difference: {said}.")
        return
    printing.line("The ledger is whole.")
    for stone in checked.pruned[-20:]:
        printing.line(f"Pruned by {printing.one_line(stone.operator, 60)}: {wording.pruned_line(stone)}.")
    if len(checked.pruned) > 20:
        printing.line(f"And {len(checked.pruned) - 20} more before; --json has all of them.")
    for note in checked.notes:
        printing.line(f"Note: {printing.one_line(note)}.")
    if checked.mark_seq is not None and not checked.of_this_ledger:
        printing.line("The note beside it is of another ledger, so it says nothing of this one.")


# --------------------------------------------------------------------------------------------------------------- prune


def prune(
    older_than: Annotated[
        str, typer.Option(metavar="AGE", help="Runs that ended longer ago: 90d, 12w. Without it, only raw output goes.")
    ] = "",
    dry_run: Annotated[bool, typer.Option("--dry-run", help="List what would go, and change nothing.")] = False,
    keep_evidence: Annotated[
        bool, typer.Option("--keep-evidence", help="Write what was found in their trees to files before they go.")
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Without asking.")] = False,
    json: Json = False,
) -> int:
    """Drop whole runs that ended long ago, and raw output that is no longer needed; a tombstone stays for each run."""
    from app import wording_housekeeping as wording
    from app.cli import exits, opening, printing
    from app.cli.exits import Code
    from app.cli.surroundings import surroundings
    from coordinator import housekeeping, ledgermark
    from coordinator.review.checking import Beside

    days = _days(older_than)
    here = surroundings(as_json=json)
    if not dry_run:
        opening.refuse_inside_a_hold(here, "prune", as_json=json)
    if not here.paths.ledger.exists():
        printing.as_json({"runs": [], "spools": []}) if json else printing.line(
            "There is no ledger yet, so there is nothing to prune."
        )
        return Code.DONE
    places = _places(here.paths)
    # A ledger that is not whole is evidence of what happened to it: nothing of it is thrown away.
    beside = Beside(spool=here.paths.spool, evidence=here.paths.evidence)
    checked = _check(here.paths.ledger, beside, ledgermark.read(here.paths.mark))
    if checked.difference is not None:
        said = printing.one_line(wording.difference(checked.difference), 1000)
        raise exits.Leave(
            Code.REFUSED,
            f"The ledger is not whole, so nothing of it is dropped; the first difference: {said}.",
            machine={"refused": "not-whole", "difference": said} if json else None,
        )
    planned = _plan(here, places, days)
    sized = housekeeping.sizes(places)
    if json and (dry_run or planned.nothing):
        printing.as_json({"dry_run": dry_run, "sizes": sized} | _as_data(planned))
        return Code.DONE
    if not json:
        _list(planned, days)
        printing.line(f"On the disk: {wording.sizes_line(sized)}.")
    if planned.nothing:
        printing.line("There is nothing to prune.")
        return Code.DONE
    if dry_run:
        printing.line(f"Would go: {wording.plan_sum(planned)}. Nothing was changed.")
        return Code.DONE
    if not yes:
        _ask(wording.plan_sum(planned), as_json=json)
    done = _carry_out(here, places, planned, keep_evidence=keep_evidence)
    after = housekeeping.sizes(places)
    freed = sized.ledger.bytes + sized.spool.bytes - after.ledger.bytes - after.spool.bytes
    for problem in done.problems:
        exits.note(printing.one_line(problem))
    if json:
        printing.as_json({"dry_run": False, "done": done, "freed": freed, "sizes": after})
    else:
        for line in wording.done_lines(done, freed):
            printing.line(line)
    return Code.DONE if not done.problems else Code.REFUSED


def _days(text: str) -> int | None:
    from app.cli.exits import usage

    if not text:
        return None
    found = re.fullmatch(r"([0-9]{1,5})\s*([dw])", text.strip().lower())
    days = 0 if found is None else int(found[1]) * (7 if found[2] == "w" else 1)
    if not 1 <= days <= _LONGEST_DAYS:
        raise usage(f"--older-than {text!r} is no age in days or weeks; write it as 90d or 12w.")
    return days


def _places(paths: "Paths") -> "Places":
    from coordinator.housekeeping import Places

    return Places(
        ledger=paths.ledger,
        spool=paths.spool,
        evidence=paths.evidence,
        worktrees=paths.worktrees,
        mark=paths.mark,
    )


def _plan(here: "Surroundings", places: "Places", days: int | None) -> "Plan":
    from coordinator import housekeeping
    from coordinator.clock import RealClock
    from coordinator.house import periods
    from store.db import read_ledger
    from store.vocab import Millis

    clock = RealClock()
    with read_ledger(here.paths.ledger, now=clock.now) as tx:
        return housekeeping.plan(
            tx,
            places,
            before=None if days is None else Millis(tx.now - days * _DAY_MS),
            spools_before=Millis(tx.now - here.config.spool_days * _DAY_MS),
            month_began=periods(tx.now)[1],
        )


def _list(planned: "Plan", days: int | None) -> None:
    from app import wording_housekeeping as wording
    from app.cli import printing
    from app.cli.columns import Column
    from app.wording import plural

    if planned.runs:
        printing.line(f"Runs that ended more than {plural(days or 0, 'day')} ago:")
        printing.table(
            [(*wording.going_row(one), printing.one_line(one.run.title, 48)) for one in planned.runs],
            # Run, day, outcome, turns, events, size, title.
            (Column(right=True), Column(), *(Column(goes=n) for n in (2, 3, 4, 1)), Column(least=12)),
        )
    for reason in dict.fromkeys(reason for _, reason in planned.kept):
        printing.line(wording.kept_line(reason, [run.id for run, why in planned.kept if why is reason]))
    for spool in planned.spools:
        printing.line(printing.one_line(wording.spool_line(spool)))


def _as_data(planned: "Plan") -> dict[str, object]:
    return {
        "runs": [
            {
                "run": one.run.id,
                "title": one.run.title,
                "ended_at": one.run.ended_at,
                "outcome": one.run.outcome,
                "weight": one.weight,
                "spools": [{"folder": str(spool.folder), "bytes": spool.bytes} for spool in one.spools],
            }
            for one in planned.runs
        ],
        "kept": [{"run": run.id, "why": why.value} for run, why in planned.kept],
        "spools": [{"run": one.run, "folder": str(one.folder), "bytes": one.bytes} for one in planned.spools],
    }


def _ask(what: str, *, as_json: bool) -> None:
    import sys

    from app.cli import opening
    from app.cli.exits import Code, Leave

    if as_json or not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise Leave(
            Code.REFUSED,
            "Nobody is at the keyboard to agree to it; look with --dry-run, and add --yes.",
            machine={"refused": "no-terminal"} if as_json else None,
        )
    opening.take_enter(f"Enter drops {what} for good, Ctrl-C leaves: ", "Nothing was dropped: only a bare Enter does.")


def _carry_out(here: "Surroundings", places: "Places", planned: "Plan", *, keep_evidence: bool) -> "Pruned":
    from app.wiring import machine_id
    from coordinator import housekeeping
    from coordinator.clock import RealClock
    from coordinator.house import periods
    from coordinator.ids import RealIds
    from store.bulk import BulkLedger
    from store.open import Opening

    clock = RealClock()
    opening = Opening(
        path=places.ledger,
        now=clock.now,
        machine=machine_id(),
        ledger_id=RealIds().secret,
        live_elsewhere=lambda: housekeeping.console_lives(places.ledger, clock.now),
    )
    share = _Share("dropped", clock.monotonic)
    try:
        with BulkLedger.opened(opening) as ledger:
            return housekeeping.carry_out(
                ledger,
                places,
                planned,
                operator=here.operator,
                month_began=periods(clock.now())[1],
                keep_evidence=keep_evidence,
                tell=share.tell,
            )
    finally:
        share.wipe()


# -------------------------------------------------------------------------------------------------------------- backup


def backup(
    file: Annotated[str, typer.Argument(metavar="FILE", help="Where the copy goes.")],
    force: Annotated[bool, typer.Option("--force", help="Replace a file of that name.")] = False,
    json: Json = False,
) -> int:
    """Copy the ledger to one file, also while a console works, and check the copy."""
    from app import wording_housekeeping as wording
    from app.cli import printing
    from app.cli.exits import Code, Leave
    from app.paths import find
    from coordinator.clock import RealClock
    from store.backup import back_up
    from store.verify import Difference

    paths, target = find(), Path(file).expanduser().absolute()
    shown = printing.one_line(file)
    if not paths.ledger.exists():
        raise Leave(Code.REFUSED, "There is no ledger yet, so there is nothing to copy.")
    if target.is_dir():
        raise Leave(Code.REFUSED, f"{shown} is a folder; name the file that the copy is to be.")
    if not target.parent.is_dir():
        raise Leave(Code.REFUSED, f"There is no folder {printing.one_line(str(target.parent))}.")
    taken = Leave(Code.REFUSED, f"{shown} is there already; --force replaces it.")
    if target.exists() and (not force or target.samefile(paths.ledger)):
        raise taken if not force else Leave(Code.REFUSED, f"{shown} is the ledger itself.")
    if Path(f"{target}-wal").exists():
        raise Leave(Code.REFUSED, f"{shown} is a ledger that somebody has open; choose another name.")
    clock = RealClock()
    share = _Share("copied", clock.monotonic)
    try:
        made = back_up(paths.ledger, target, now=clock.now, replace=force, progress=share.tell)
    except FileExistsError:
        raise taken from None
    finally:
        share.wipe()
    if isinstance(made, Difference):
        said = printing.one_line(wording.difference(made), 1000)
        raise Leave(
            Code.REFUSED,
            f"No copy was made, for the ledger is not whole; the first difference: {said}.",
            machine={"refused": "not-whole", "difference": said} if json else None,
        )
    if json:
        printing.as_json({"file": str(target), "bytes": made.bytes, "seq": made.seq, "hash": made.hash})
    else:
        printing.line(f"{shown}: {wording.size(made.bytes)}, whole.")
        printing.line(f"Its newest entry, for footplate verify {shown} --noted: {made.seq}:{made.hash}")
    return Code.DONE


class _Share:
    """How much of it is done, in per cent."""

    def __init__(self, what: str, monotonic: "Callable[[], float]") -> None:
        from app.cli.progressline import ProgressLine

        self._what = what
        self._line = ProgressLine(monotonic, after=0.5)
        self.wipe = self._line.wipe

    def tell(self, done: int, of: int) -> None:
        self._line.paint(lambda: f"{min(99, 100 * done // of) if of else 0}% {self._what}")
