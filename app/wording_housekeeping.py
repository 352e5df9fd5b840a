"""What ``verify``, ``prune`` and ``backup`` say. Reached by the command line only."""

from collections.abc import Sequence
from datetime import datetime

from app.wording_measures import plural, short_path
from coordinator.housekeeping import Going, OldSpool, Plan, Pruned, Sizes
from store.pruning import Kept, Tombstone
from store.verify import Difference

WHY_KEPT = {
    Kept.HELD: "its end is not through",
    Kept.ATTENTION: "something of it waits for you",
    Kept.DECISION: "a question of it is open, or an answer of yours did not surely arrive",
    Kept.COMMAND: "something is being done to it",
    Kept.PINNED: "it is pinned",
    Kept.IMPORTING: "its import is not finished",
    Kept.MONTH: "what it cost counts in this month's money",
    Kept.TASK: "it is an attempt at a task that is not over, or may be tried again",
    Kept.CONTINUED: "a run that stays goes on from it",
}


def size(count: int) -> str:
    """Bytes as disks are sold."""
    if count < 1000:
        return plural(count, "byte")
    amount, unit = count / 1000, "kB"
    for larger in ("MB", "GB", "TB"):
        if amount < 999.5:
            break
        amount, unit = amount / 1000, larger
    return f"{amount:.1f} {unit}" if amount < 99.5 else f"{amount:.0f} {unit}"


def day(ms: int) -> str:
    return datetime.fromtimestamp(ms / 1000).astimezone().strftime("%Y-%m-%d")


def difference(found: Difference) -> str:
    return f"{found.where}: {found.what} is {found.found}, and should be {found.expected}"


def pruned_line(stone: Tombstone) -> str:
    """What a tombstone tells. ``operator`` is made literal by the caller."""
    counts = f"{plural(stone.turns, 'turn')}, {plural(stone.events, 'event')}"
    kept = f"; {plural(len(stone.kept), 'file')} kept" if stone.kept else ""
    return f"run {stone.run} ({stone.outcome}, ended {day(stone.ended_at)}, {counts}) on {day(stone.at)}{kept}"


def sizes_line(found: Sizes) -> str:
    return (
        f"ledger {size(found.ledger.bytes)}, raw output {size(found.spool.bytes)} ({found.spool.parts}), "
        f"kept files {size(found.evidence.bytes)}, worktrees {size(found.worktrees.bytes)} ({found.worktrees.parts})"
    )


def going_row(one: Going) -> tuple[str, ...]:
    spooled = sum(spool.bytes for spool in one.spools)
    return (
        str(one.run.id),
        day(one.run.ended_at or 0),
        str(one.run.outcome),
        plural(one.weight.turns, "turn"),
        plural(one.weight.events, "event"),
        f"about {size(one.weight.bytes)}" + (f", raw output {size(spooled)}" if spooled else ""),
    )


def kept_line(reason: Kept, ids: Sequence[int]) -> str:
    numbers = ", ".join(map(str, ids[:20])) + (f" and {len(ids) - 20} more" if len(ids) > 20 else "")
    return f"Kept: run {numbers} ({WHY_KEPT[reason]})."


def spool_line(one: OldSpool) -> str:
    return f"Raw output of run {one.run}: {short_path(str(one.folder))}, {size(one.bytes)}."


def plan_sum(planned: Plan) -> str:
    held = sum(one.weight.bytes for one in planned.runs)
    spooled = sum(spool.bytes for one in planned.runs for spool in one.spools)
    spools = sum(len(one.spools) for one in planned.runs) + len(planned.spools)
    spooled += sum(one.bytes for one in planned.spools)
    said = []
    if planned.runs:
        said.append(f"{plural(len(planned.runs), 'run')} (about {size(held)} in the ledger)")
    if spools:
        said.append(f"the raw output of {plural(spools, 'run')} ({size(spooled)})")
    return " and ".join(said) or "nothing"


def done_lines(done: Pruned, freed: int) -> list[str]:
    said = [plural(len(done.runs), "run")] if done.runs or not done.spools else []
    if done.spools:
        said.append(f"the raw output of {plural(len(done.spools), 'run')}")
    lines = [f"Pruned: {' and '.join(said)}."]
    words = {kept.value: said for kept, said in WHY_KEPT.items()}
    lines += [f"Run {id} stayed: {words.get(why, 'it is gone')}." for id, why in done.refused]
    if freed > 0:
        lines.append(f"The disk has {size(freed)} back.")
    if done.runs and not done.shrunk:
        lines.append("The ledger's file keeps its size, and the room in it is used again.")
    return lines
