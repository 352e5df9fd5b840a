"""``verify BUNDLE``: what a bundle proves and what it does not, or which of its bytes is not as it was."""

from pathlib import Path

from app.cli import printing
from app.cli.exits import Code, Leave
from app.wording import plural
from coordinator.review.export import bundle
from coordinator.review.export.bundle import NotABundle, Whole
from store.verify import Difference


def check_bundle(named: str, *, as_json: bool) -> int:
    """
    Raises:
        Leave: it cannot be read, or is no bundle.
    """
    shown = printing.one_line(named)
    try:
        found = bundle.check(Path(named).expanduser())
    except NotABundle:
        there = Path(named).expanduser().exists()
        why = f"{shown} is no bundle; footplate export --format bundle makes one." if there else f"No file {shown}."
        raise Leave(Code.REFUSED, why) from None
    except OSError as problem:
        raise Leave(Code.REFUSED, f"{shown} cannot be read: {(problem.strerror or str(problem)).lower()}.") from problem
    if as_json:
        whole = found if isinstance(found, Whole) else None
        difference = found if isinstance(found, Difference) else None
        printing.as_json({"ok": whole is not None, "bundle": named, "difference": difference, "found": whole})
    elif isinstance(found, Difference):
        said = f"{found.where}: {found.what} is {found.found}, and should be {found.expected}"
        printing.line(f"The bundle is not as it was made; the first difference: {printing.one_line(said, 1000)}.")
    else:
        for line in _lines(found):
            printing.line(line)
    return Code.DONE if isinstance(found, Whole) else Code.REFUSED


def _lines(found: Whole) -> list[str]:
    told = found.manifest
    lines = ["The bundle is as it was made: every byte of it."]
    if not told.redacted:
        lines.append(f"All {plural(found.entries, 'fact')} follow from each other, and all else agrees with them.")
    else:
        places = sum(told.taken_out)
        lines += [
            f"Text was taken out of it on purpose, in {plural(places, 'place')}, so that not all can be proven:",
            f"{found.entries - found.unproven} of {plural(found.entries, 'fact')} still have their hashes, and each "
            "names the one before it;",
            "what was taken out, and whether it was that and nothing else, only the whole ledger can tell.",
        ]
    lines += [f"run {head.run}: {plural(head.n, 'fact')}, the last one {head.hash}" for head in told.heads]
    lines.append("Whoever made it could have made up all of it: compare a last hash with one that you know otherwise.")
    return lines
