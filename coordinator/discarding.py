"""Discarding what a run left so that it can be restored: all of it goes to a reference of our own first
(``refs/footplate/discarded/<run>``), and only then do its tree and its branch go.

The reference is a tag that says by itself when it was, which branch it was and where the tree stood, so that neither a
lost ledger nor another one is needed to restore it.
"""

import asyncio
import json
import secrets
import shutil
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Final

from msgspec import Struct

from coordinator import landing, leftwork, worktree
from coordinator.gitfacts import RepositoryFacts
from coordinator.githelper import run_git
from coordinator.leftwork import Identity, Work
from coordinator.treetypes import KEPT, Disposal, Disposed
from store.refusal import Refusal
from store.vocab import Millis, RefusalReason, RunId

PLACE: Final = "refs/footplate/discarded"
_GOING: Final = ".going-"
_FORMAT: Final = "%(refname)%00%(objectname)%00%(*objectname)%00%(taggerdate:unix)%00%(contents:subject)"


class PutAway(Struct, frozen=True, kw_only=True):
    name: str
    """Of its reference."""
    run: RunId
    tag: str
    commit: str
    at: Millis
    branch: str
    tree: str
    """Where its tree stood; '': it had none any more."""


async def listing(top: Path) -> list[PutAway]:
    """All that can be restored in this repository. What is no note of ours is passed by."""
    found = await run_git(["for-each-ref", f"--format={_FORMAT}", f"{PLACE}/"], cwd=top)
    lines = [] if isinstance(found, Refusal) else found.line.split("\n")
    return [one for one in map(_read, lines) if one is not None]


def _read(line: str) -> PutAway | None:
    try:
        name, tag, commit, at, words = line.split("\0")
        told = json.loads(words)
        return PutAway(
            name=name,
            run=RunId(int(name.removeprefix(f"{PLACE}/").partition("-")[0])),
            tag=tag,
            commit=commit,
            at=Millis(int(at) * 1000),
            branch=str(told["branch"]),
            tree=str(told["tree"]),
        )
    except (ValueError, KeyError, TypeError):
        return None


async def of(top: Path, run: RunId) -> PutAway | None:
    """The newest of this run."""
    return next((one for one in await listing(top) if one.name == f"{PLACE}/{run}"), None)


async def checked_out(top: Path, branch: str, *, but: Path | None) -> str:
    """Another tree that is on this branch; '' where there is none."""
    if not branch:
        return ""
    found = await run_git(["for-each-ref", "--format=%(worktreepath)", f"refs/heads/{branch}"], cwd=top)
    at = "" if isinstance(found, Refusal) else found.line
    return "" if at == str(but) or not at or worktree.is_free(Path(at)) else at


async def discard(
    facts: RepositoryFacts,
    run: RunId,
    *,
    tree: Path | None,
    path: str,
    branch: str,
    commit: str,
    by: Identity,
    now: Millis,
    count: int,
    still: Callable[[], Awaitable[tuple[Work, int] | Refusal]],
) -> Disposed | Refusal:
    """``commit``: all that it left. ``still``: collects that once more, to see that the tree may go."""
    top = facts.top
    before = await of(top, run)
    if before is not None and (
        await _same(top, before.commit, commit) or await landing.is_within(top, commit, before.commit)
    ):
        put_away = before.commit  # one that was cut off: that has all of it already
    else:
        put_away = commit
        words = json.dumps({"branch": branch, "tree": path})
        tag = await made_tag(top, f"footplate-discarded-{run}", commit, words=words, by=by, now=now)
        if isinstance(tag, Refusal):
            return tag
        place = f"{PLACE}/{run}"
        orders = f"create {place} {tag}\n"
        if before is not None:
            # A ledger that was restored gives out a run's number again: what is there may be another's work.
            orders = f"create {place}-{before.tag[:12]} {before.tag}\nupdate {place} {tag} {before.tag}\n"
        written = await run_git(["update-ref", "--stdin"], cwd=top, input=orders.encode())
        if isinstance(written, Refusal):
            return written
    landing.cut("put-away")
    if tree is not None:
        again = await still()
        if isinstance(again, Refusal):
            return again
        if not await _same(top, again[0].commit, commit):
            return leftwork.refuse_files(tree, [], "changed meanwhile")
        # Out of its place at once: of a folder half removed, what is missing would count as the run's own doing.
        moved = await asyncio.to_thread(_aside, tree)
        if moved is not None:
            return moved
    landing.cut("tree-aside")
    if path and worktree.is_free(Path(path)):
        # Git still lists it, and keeps its branch for it.
        await run_git(["worktree", "remove", "--force", path], cwd=top)
        await asyncio.to_thread(_sweep, Path(path).parent)
    landing.cut("tree-removed")
    left = await _drop_branch(top, branch, put_away)
    landing.cut("branch-dropped")
    await let_go(top, now)
    return Disposed(
        run=run,
        how=Disposal.DISCARD,
        branch=branch,
        commit=put_away,
        committed=count,
        left=left,
        until=Millis(now + KEPT),
    )


def _aside(tree: Path) -> Refusal | None:
    try:
        tree.rename(tree.with_name(f"{_GOING}{tree.name}-{secrets.token_hex(4)}"))
    except OSError as problem:
        what = str(problem.strerror).lower()
        return Refusal(RefusalReason.TREE_BUSY, {"tree": str(tree), "what": what})
    return None


def _sweep(folder: Path) -> None:
    """What stands aside is in its reference already. What cannot be removed now is tried again the next time."""
    for one in folder.glob(f"{_GOING}*"):
        shutil.rmtree(one, ignore_errors=True)


async def _same(top: Path, one: str, other: str) -> bool:
    """The same files on top of the same commit: what is left uncommitted is committed anew each time."""
    if one == other:
        return True
    told = [await run_git(["log", "-1", "--format=%T %P", commit], cwd=top) for commit in (one, other)]
    lines = [None if isinstance(one, Refusal) else one.line for one in told]
    return lines[0] is not None and lines[0] == lines[1]


async def made_tag(top: Path, tag: str, commit: str, *, words: str, by: Identity, now: Millis) -> str | Refusal:
    """A tag's object, which says by itself when it was made. No reference names it yet."""
    name = "".join(letter for letter in by.name if letter not in "<>\n")
    email = "".join(letter for letter in by.email if letter not in "<>\n ")
    text = f"object {commit}\ntype commit\ntag {tag}\ntagger {name} <{email}> {now // 1000} +0000\n\n{words}\n"
    made = await run_git(["mktag"], cwd=top, input=text.encode("utf-8", "replace"))
    return made if isinstance(made, Refusal) else made.line


async def _drop_branch(top: Path, branch: str, commit: str) -> str:
    """Unless it has what the discarded commit has not: then it stays, and is told."""
    if not branch:
        return ""
    tip = await run_git(["rev-parse", "-q", "--verify", f"refs/heads/{branch}"], cwd=top, answers=(0, 1))
    if isinstance(tip, Refusal) or not tip.line:
        return ""
    if not await landing.is_within(top, tip.line, commit):
        return branch
    gone = await run_git(["update-ref", "-d", f"refs/heads/{branch}", tip.line], cwd=top)
    return branch if isinstance(gone, Refusal) else ""


async def let_go(top: Path, now: Millis) -> list[RunId]:
    """Drop what was discarded longer ago than it is kept."""
    gone = []
    for one in await listing(top):
        if one.at < now - KEPT:
            dropped = await run_git(["update-ref", "-d", one.name, one.tag], cwd=top)
            if not isinstance(dropped, Refusal):
                gone.append(one.run)
    return gone


async def restore(facts: RepositoryFacts, run: RunId, away: PutAway) -> Disposed | Refusal:
    """Its branch again, and its tree where the place is free; only then is the note of it dropped."""
    top = facts.top
    branch = await _branch_again(top, run, away)
    if isinstance(branch, Refusal):
        return branch
    landing.cut("branch-again")
    tree, path = "", Path(away.tree)
    if away.tree and path.parent.is_dir():
        made = await worktree.at_branch(facts, path, branch, away.commit)
        if isinstance(made, Refusal):
            return made
        tree = away.tree
    landing.cut("tree-again")
    dropped = await run_git(["update-ref", "-d", away.name, away.tag], cwd=top)
    if isinstance(dropped, Refusal):
        return dropped
    return Disposed(run=run, how=Disposal.RESTORE, branch=branch, commit=away.commit, tree=tree)


async def _branch_again(top: Path, run: RunId, away: PutAway) -> str | Refusal:
    name = away.branch or f"footplate/{run}"
    for _ in range(2):
        there = await run_git(["rev-parse", "-q", "--verify", f"refs/heads/{name}"], cwd=top, answers=(0, 1))
        if isinstance(there, Refusal):
            return there
        if there.line == away.commit:
            return name
        if not there.line:
            made = await run_git(["update-ref", f"refs/heads/{name}", away.commit, "0" * len(away.commit)], cwd=top)
            return made if isinstance(made, Refusal) else name
        free = await worktree.free_branch(top, run)
        if isinstance(free, Refusal):
            return free
        name = free
    return Refusal(RefusalReason.BRANCH_IN_USE, {"branch": name})
