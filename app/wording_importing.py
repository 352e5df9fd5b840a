"""What an import says: what was read in, what was left alone and why. Reached by the command line only."""

from collections.abc import Sequence
from pathlib import Path

from app.wording_measures import money, plural
from app.wording_tasks import numbers
from coordinator.prices import Prices
from coordinator.review.importing.files import Problem, Trouble
from coordinator.review.importing.importer import Progress, Report
from store.vocab import MicroUsd


def trouble(problem: Problem, path: str) -> str:
    """One sentence for a file that is left out. ``path``: literal already."""
    match problem.trouble:
        case Trouble.EMPTY:
            return f"{path} is empty; there is nothing in it to import."
        case Trouble.UNREADABLE:
            return f"{path} cannot be read: {problem.detail or 'no reason given'}."
        case Trouble.NO_TRANSCRIPT:
            return f"{path} is no transcript of Claude Code or Codex; it was left alone."
        case Trouble.NONE_INSIDE:
            return f"{path} has no transcripts in it (*.jsonl of Claude Code or Codex)."
        case Trouble.REWRITTEN:
            return f"{path} is not what it was when a part of it was imported; nothing more of it is taken."


def progress(now: Progress) -> str:
    part = 100 * now.done // now.total if now.total else 100
    return (
        f"{min(part, 100)}%  {megabytes(now.done)} of {megabytes(now.total)}, "
        f"file {min(now.files + 1, now.of)} of {now.of}, {plural(now.turns, 'turn')}"
    )


def megabytes(size: int) -> str:
    return f"{size / 1e6:.1f} MB"


def summary(report: Report, prices: Prices, *, dry: bool) -> list[str]:
    """What was done, one fact a line."""
    done = "Would import" if dry else "Imported"
    if not report.made:
        lines = ["There is nothing new to import." if report.files else "There is nothing to import."]
    else:
        speed = report.bytes / 1e6 / report.seconds if report.seconds else 0.0
        lines = [
            f"{done} {plural(len(report.made), 'session')} with {plural(report.turns, 'turn')} and "
            f"{plural(report.events, 'event')} from {megabytes(report.bytes)} ({speed:.0f} MB/s)."
        ]
        lines.append(costs(report, prices))
    if report.unchanged:
        lines.append(f"Nothing new in {plural(report.unchanged, 'file')}.")
    if report.held:
        lines.append(held_words(report))
    if report.shared:
        lines.append(f"{plural(report.shared, 'line')} of forked or copied sessions were there already.")
    if report.unknown:
        lines.append(f"{plural(report.unknown, 'line')} of no known kind were kept as they are.")
    if report.torn:
        lines.append(
            f"The last line of {plural(len(report.torn), 'file')} is not whole yet; it waits for the next time."
        )
    return lines


def held_words(report: Report) -> str:
    """Of sessions that are not taken a second time."""
    runs = sorted({run for one in report.held for run in one.runs})
    count = len(report.held)
    return (
        f"{plural(count, 'session')} {'is' if count == 1 else 'are'} here already, held by Footplate as "
        f"{'run' if len(runs) == 1 else 'runs'} {numbers(runs)}."
    )


def costs(report: Report, prices: Prices) -> str:
    source = "your prices.toml" if prices.own else "the built-in list"
    told = f"By {source} of {prices.dated} they cost {money(MicroUsd(report.micro_usd), guess=True)} (an estimate"
    if report.unpriced:
        told += f"; of {plural(report.unpriced, 'turn')} the cost is not known"
    return told + ")."


def interrupted(turns: int) -> str:
    return f"Interrupted after {plural(turns, 'turn')}. What is in stays; the same command goes on from there."


def bad_paths(paths: Sequence[Path]) -> str:
    return f"{paths[0]}: there is no such file or folder."
