"""What a task's work came to, as one commit under a reference of ours (``refs/footplate/result/<run>``): there begins
a task that needs it.

All of a finished run's own tree is in it, committed or not. The tree, its branch and its index stay as they are; the
reference outlives them, for as long as a discarded tree does: it is a tag, which says by itself when it was made. Where
a lock of git was left on that name it stands beside it (``…/<run>-<tag>``); whoever wants to know asks ``of``.
"""

from pathlib import Path
from typing import Final

from coordinator import leftwork
from coordinator.discarding import made_tag
from coordinator.githelper import find_repository, run_git
from coordinator.treetypes import KEPT
from store.refusal import Refusal
from store.vocab import Millis, RefusalReason, RunId

PLACE: Final = "refs/footplate/result"
_FORMAT: Final = "%(refname)%00%(taggerdate:unix)%00%(objectname)"


async def keep_result(tree: Path, run: RunId, *, now: Millis, title: str = "", operator: str = "") -> str | Refusal:
    """The commit, which stands under its reference from then on; called again, the same where nothing changed.
    ``title``: of the run, the commit's first line.

    Results that are older than they are kept go then. Refused where some of the tree cannot be taken whole
    (``leftwork.collect``), or it is no working tree any more.
    """
    facts = await find_repository(tree)
    if isinstance(facts, Refusal):
        return facts
    if not facts.head:
        return Refusal(RefusalReason.NO_COMMIT, {"path": str(tree)})
    by = await leftwork.identity(tree, operator)
    came = f"What run {run} came to"
    message = f"{leftwork.subject(title, came)}\n\n{came}, kept by Footplate for work that goes on from here.\n"
    work = await leftwork.collect(tree, facts.head, message=message, by=by)
    if isinstance(work, Refusal):
        return work
    before = await of(tree, run)
    if before == work.commit or (before and work.commit != facts.head and await _same(tree, before, work.commit)):
        return before
    tag = await made_tag(tree, f"footplate-result-{run}", work.commit, words=f"of run {run}", by=by, now=now)
    if isinstance(tag, Refusal):
        return tag
    name = f"{PLACE}/{run}"
    kept = await run_git(["update-ref", name, tag], cwd=tree)
    if isinstance(kept, Refusal):
        # A console that was killed over it has left git's lock on the name, and no lock is ours to remove.
        name = f"{PLACE}/{run}-{tag[:12]}"
        kept = await run_git(["update-ref", name, tag], cwd=tree)
    if isinstance(kept, Refusal):
        return kept
    await _drop_older(tree, run, but=name)
    await _let_go(tree, now)
    return work.commit


async def of(repository: Path, run: RunId) -> str:
    """The commit that this run came to, the newest of what was kept of it; '' where none is."""
    newest = ["--sort=-refname", "--sort=-taggerdate", "--count=1", "--format=%(*objectname)"]
    found = await run_git(["for-each-ref", *newest, f"{PLACE}/{run}", f"{PLACE}/{run}-*"], cwd=repository)
    return "" if isinstance(found, Refusal) else found.line


async def _drop_older(repository: Path, run: RunId, *, but: str) -> None:
    """What was kept of the same run before: two tags of one second cannot be told apart by when they were made."""
    listed = await run_git(
        ["for-each-ref", "--format=%(refname)", f"{PLACE}/{run}", f"{PLACE}/{run}-*"], cwd=repository
    )
    for name in () if isinstance(listed, Refusal) else listed.line.split("\n"):
        if name and name != but:
            await run_git(["update-ref", "-d", name], cwd=repository)


async def run_at(repository: Path, commit: str) -> RunId | None:
    """The run that came to this commit, as its reference says; None where none does."""
    found = await run_git(
        ["for-each-ref", "--count=1", f"--points-at={commit}", "--format=%(refname:lstrip=3)", f"{PLACE}/"],
        cwd=repository,
    )
    number = "" if isinstance(found, Refusal) else found.line.partition("-")[0]
    return RunId(int(number)) if number.isdigit() else None


async def _same(tree: Path, one: str, other: str) -> bool:
    """The same files on top of the same commit: what is uncommitted is committed anew each time."""
    told = [await run_git(["log", "-1", "--format=%T %P", commit], cwd=tree) for commit in (one, other)]
    lines = [None if isinstance(found, Refusal) else found.line for found in told]
    return lines[0] is not None and lines[0] == lines[1]


async def _let_go(repository: Path, now: Millis) -> None:
    listed = await run_git(["for-each-ref", f"--format={_FORMAT}", f"{PLACE}/"], cwd=repository)
    for line in () if isinstance(listed, Refusal) else listed.line.split("\n"):
        name, _, rest = line.partition("\0")
        at, _, tag = rest.partition("\0")
        if at.isdigit() and int(at) * 1000 < now - KEPT:
            await run_git(["update-ref", "-d", name, tag], cwd=repository)
