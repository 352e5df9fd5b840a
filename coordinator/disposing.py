"""What becomes of the tree and branch of a run that has ended: kept, merged, picked, discarded, restored.

The operator's alone, and only once nothing of the run is held. What was ordered is in the run's chain before git is
touched, what came of it after; how things stand is git's to say, so that a cut-off order can be given again. Commits
are made in ``leftwork``, the target is written in ``landing``.
"""

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from coordinator import discarding, dispositions, landing, leftwork, recording, treepool, treesinuse
from coordinator.gitfacts import RepositoryFacts
from coordinator.githelper import changed_files, find_repository, run_git
from coordinator.gitlens import open_lens
from coordinator.landing import Target
from coordinator.leftwork import Identity, Work
from coordinator.tasks import result
from coordinator.treetypes import Disposal, Disposed, DisposeOfTree, LookAtTree, TreeView
from store import custody, entries, runs
from store.refusal import Refusal
from store.tx import Tx
from store.vocab import Millis, RefusalReason, RunId

T = TypeVar("T")


class Books(Protocol):
    """The ledger, as a console or a command has it."""

    async def read(self, body: Callable[[Tx], T]) -> T: ...

    async def transaction(self, body: Callable[[Tx], T | Refusal]) -> T | Refusal: ...


class Left(Struct, frozen=True, kw_only=True):
    """What an ended run left, as the ledger and git have it."""

    run: runs.Run
    facts: RepositoryFacts
    """Of the repository that it was begun in."""
    tree: Path | None
    """None: it is not there any more."""
    branch: str
    """'' likewise."""
    tip: str
    """The tree's commit; without one that of the branch; '' without either."""
    holder: RunId | None
    """The run that works in the repository itself now."""


async def find(books: Books, run: RunId) -> Left | Refusal:
    """Refused where there is nothing to dispose of, or somebody works in it."""

    def ended(tx: Tx) -> tuple[runs.Run, RunId | None] | Refusal:
        row = recording.goes_on_from(tx, run)
        if isinstance(row, Refusal):
            return row
        if row.tree == row.repository:
            return Refusal(RefusalReason.NO_TREE_OF_ITS_OWN, {"run": run, "repository": row.repository})
        others = [one.run for one in custody.not_closed(tx) if one.tree == row.tree]
        others += [one.id for one in runs.listing(tx, live_only=True, limit=500) if one.tree == row.tree]
        if others:
            return Refusal(RefusalReason.TREE_HELD, {"run": others[0], "tree": row.tree})
        return row, treesinuse.holder(tx, row.repository)

    found = await books.read(ended)
    if isinstance(found, Refusal):
        return found
    row, holder = found
    facts = await find_repository(Path(row.repository))
    if isinstance(facts, Refusal):
        return facts
    tree: Path | None = Path(row.tree)
    branch, tip = row.branch, await _commit_of(facts.top, f"refs/heads/{row.branch}")
    its = await find_repository(Path(row.tree))
    if isinstance(its, Refusal) or str(its.top) != row.tree or its.common_dir != facts.common_dir:
        tree = None
    else:
        tip = its.head
    if tree is None and not tip:
        branch = ""
    return Left(run=row, facts=facts, tree=tree, branch=branch, tip=tip, holder=holder)


async def _commit_of(top: Path, name: str) -> str:
    found = await run_git(["rev-parse", "-q", "--verify", f"{name}^{{commit}}"], cwd=top, answers=(0, 1))
    return "" if isinstance(found, Refusal) else found.line


async def ordered(
    books: Books, command: LookAtTree | DisposeOfTree, *, operator: str, now: Callable[[], Millis]
) -> TreeView | Disposed | Refusal:
    """A command of the operator about a run's tree."""
    if isinstance(command, LookAtTree):
        return await look(books, command.run)
    return await dispose(books, command.run, command.how, operator=operator, now=now, ignored=command.ignored)


async def look(books: Books, run: RunId) -> TreeView | Refusal:
    left = await find(books, run)
    if isinstance(left, Refusal):
        return left
    put_away = await discarding.of(left.facts.top, run)
    changed = () if left.tree is None else await changed_files(left.tree, left.tip)
    count = -1 if isinstance(changed, Refusal) else len(changed)
    since = f"{left.run.head}..{left.tip}"
    counted = await run_git(["rev-list", "--count", since], cwd=left.facts.top) if left.tip else None
    commits = 0 if counted is None or isinstance(counted, Refusal) else int(counted.line)
    below, of = (0, None) if not left.tip else await _built_on(left)
    landed = bool(left.tip) and count == 0 and await landing.is_within(left.facts.top, left.tip, left.facts.head)
    return TreeView(
        run=run,
        title=left.run.title,
        repository=left.run.repository,
        tree="" if left.tree is None else str(left.tree),
        branch=left.branch,
        target=left.facts.branch,
        changed=count,
        commits=commits,
        built_on=below,
        built_on_run=of,
        landed=landed and commits > 0,
        ignored=() if left.tree is None else await treepool.ignored_files(left.tree),
        discarded_at=None if put_away is None else put_away.at,
    )


async def _built_on(left: Left) -> tuple[int, RunId | None]:
    """How many commits below the run's own the target does not have, and the run that left them, where that is told: a
    task that needs another one begins at what that one came to, and brings it along."""
    top, since = left.facts.top, left.run.head
    counted = await run_git(["rev-list", "--count", f"{left.facts.head}..{since}"], cwd=top)
    count = 0 if isinstance(counted, Refusal) or not counted.line.isdigit() else int(counted.line)
    return count, await result.run_at(top, since) if count else None


async def dispose(
    books: Books, run: RunId, how: Disposal, *, operator: str, now: Callable[[], Millis], ignored: bool = False
) -> Disposed | Refusal:
    """Carry it out. A refusal has changed nothing but what the operator can see: nothing is ever half done."""
    left = await find(books, run)
    if isinstance(left, Refusal):
        return left
    async with landing.alone(left.facts.common_dir) as busy:
        refused = busy or await landing.recover(left.facts.top)
        if refused is not None:
            return refused
        if left.tree is not None:
            await asyncio.to_thread(leftwork.drop_our_lock, left.tree)
        by = await leftwork.identity(left.facts.top, operator)
        put_away = await discarding.of(left.facts.top, run)
        if how is Disposal.RESTORE:
            if put_away is None:
                return Refusal(RefusalReason.NOT_DISCARDED, {"run": run})
        elif left.tree is None and not left.tip:
            if put_away is not None:
                return Refusal(RefusalReason.ALREADY_DISCARDED, {"run": run, "at": put_away.at})
            return Refusal(RefusalReason.TREE_GONE, {"run": run, "tree": left.run.tree})
        await _note(books, run, "tree.asked", operator, how=how.value)
        match how:
            case Disposal.KEEP:
                done: Disposed | Refusal = await _keep(left, by)
            case Disposal.MERGE | Disposal.PICK:
                done = await _land(left, by, how)
            case Disposal.DISCARD:
                done = await _discard(left, by, now(), ignored=ignored)
            case Disposal.RESTORE:
                assert put_away is not None
                done = await discarding.restore(left.facts, run, put_away)
        if isinstance(done, Refusal):
            return done
        facts: dict[str, Any] = {"branch": done.branch, "commit": done.commit, "target": done.target}
        await _note(books, run, dispositions.DONE[how], operator, **facts)
        return done


async def _note(books: Books, run: RunId, kind: str, operator: str, **facts: object) -> None:
    def note(tx: Tx) -> None:
        if not entries.is_pruned(tx, run):
            entries.append(tx, run, kind, {"operator": operator, **facts})

    await books.transaction(note)


def _words(left: Left) -> str:
    return (
        f"{leftwork.subject(left.run.title, 'work')}\n\nWhat run {left.run.id} of {left.run.agent} had not committed.\n"
    )


async def _collected(left: Left, by: Identity) -> tuple[Work, int] | Refusal:
    """All that the run left as one commit, and how many files of it were in none."""
    if left.tree is None:
        return Work(commit=left.tip, index=b""), 0
    changed = await changed_files(left.tree, left.tip)
    if isinstance(changed, Refusal):
        return changed
    work = await leftwork.collect(left.tree, left.tip, message=_words(left), by=by)
    return work if isinstance(work, Refusal) else (work, len(changed))


async def _keep(left: Left, by: Identity) -> Disposed | Refusal:
    found = await _collected(left, by)
    if isinstance(found, Refusal):
        return found
    work, count = found
    if left.tree is not None:
        refused = await leftwork.settle(left.tree, work, left.tip)
        if refused is not None:
            return refused
    tree = "" if left.tree is None else str(left.tree)
    return Disposed(
        run=left.run.id, how=Disposal.KEEP, branch=left.branch, commit=work.commit, committed=count, tree=tree
    )


async def _target(left: Left) -> Target | Refusal:
    """The repository itself, where something may be written into it."""
    facts = left.facts
    if not facts.branch:
        return Refusal(RefusalReason.NO_BRANCH, {"tree": str(facts.top)})
    if left.holder is not None:
        return Refusal(RefusalReason.TREE_HELD, {"run": left.holder, "tree": str(facts.top)})
    if facts.bare:
        return Target(facts=facts, names=facts.branch)
    under_way = await asyncio.to_thread(leftwork.busy_with, facts.top)
    if under_way is not None:
        return under_way
    changed = await changed_files(facts.top, facts.head)
    if isinstance(changed, Refusal):
        return changed
    if changed:
        named = leftwork.in_short([one.path.encode("utf-8", "replace") for one in changed])
        return Refusal(RefusalReason.TARGET_DIRTY, {"tree": str(facts.top), "files": named})
    return Target(facts=facts, names=facts.branch)


async def _land(left: Left, by: Identity, how: Disposal) -> Disposed | Refusal:
    # What a cut-off landing put back may stand between what was looked at and now.
    facts = await find_repository(left.facts.top)
    if isinstance(facts, Refusal):
        return facts
    left = replace(left, facts=facts)
    target = await _target(left)
    if isinstance(target, Refusal):
        return target
    found = await _collected(left, by)
    if isinstance(found, Refusal):
        return found
    work, count = found
    at = left.tree if facts.bare else facts.top
    if at is None:
        return Refusal(RefusalReason.TREE_GONE, {"run": left.run.id, "tree": left.run.tree})
    words = f"Merge branch '{left.branch}'\n\n{left.run.title}\n"
    said = f"footplate: {how} of run {left.run.id}"
    async with open_lens(at) as lens:
        if isinstance(lens, Refusal):
            return lens
        if how is Disposal.MERGE:
            to = await landing.merged(lens, target, work.commit, branch=left.branch, message=words, by=by)
        else:
            to = await landing.picked(lens, target, work.commit, branch=left.branch, by=by)
        if isinstance(to, Refusal):
            return to
        if left.tree is not None:
            refused = await leftwork.settle(left.tree, work, left.tip)
            if refused is not None:
                return refused
        if facts.bare:
            refused = await landing.land_bare(target, to, message=said)
        else:
            refused = await landing.land(lens, target, to, run=left.run.id, message=said)
    if refused is not None:
        return refused
    tree = "" if left.tree is None else str(left.tree)
    return Disposed(
        run=left.run.id, how=how, branch=left.branch, commit=to, target=target.names, committed=count, tree=tree
    )


async def _discard(left: Left, by: Identity, now: Millis, *, ignored: bool) -> Disposed | Refusal:
    if left.tree is not None and not ignored and (kept := await treepool.ignored_files(left.tree)):
        named = leftwork.in_short([one.encode("utf-8", "replace") for one in kept])
        return Refusal(RefusalReason.IGNORED_FILES, {"tree": str(left.tree), "files": named})
    elsewhere = await discarding.checked_out(left.facts.top, left.branch, but=left.tree)
    if elsewhere:
        return Refusal(RefusalReason.BRANCH_IN_USE, {"branch": left.branch, "tree": elsewhere})
    found = await _collected(left, by)
    if isinstance(found, Refusal):
        return found
    return await discarding.discard(
        left.facts,
        left.run.id,
        tree=left.tree,
        path=left.run.tree,
        branch=left.branch,
        commit=found[0].commit,
        by=by,
        now=now,
        count=found[1],
        still=lambda: _collected(left, by),
    )
