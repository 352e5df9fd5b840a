"""Bringing a run's commits to the branch that the operator works on, never half.

First it is tried in the object store alone (``git merge-tree``): a conflict is named, and nothing was touched. Then the
files are written, then the index, then the branch, with a note of the two commits in references of our own
(``NOTES``) from before the first file until the branch moves, in one transaction. Whoever is
killed in between leaves that note, and ``recover`` puts the files back as they were.
"""

import asyncio
import contextlib
import fcntl
import os
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final

from msgspec import Struct

from coordinator import gitfacts, leftwork
from coordinator.gitfacts import RepositoryFacts, dirs_of
from coordinator.githelper import find_repository, run_git
from coordinator.gitlens import LISTING, Lens, open_lens
from coordinator.leftwork import Identity, commit_tree, in_short
from store.refusal import Refusal
from store.vocab import RefusalReason

NOTES: Final = "refs/worktree/footplate/landing"
"""Of one working tree each: another one of the same repository does not see them."""
_LOCK: Final = "footplate-landing.lock"
_LARGEST: Final = 64 * 1024 * 1024

cut: Callable[[str], None] = lambda place: None  # noqa: E731 - a place for a test to be killed at


class Target(Struct, frozen=True, kw_only=True):
    """The repository that the run was begun in, and the branch that is checked out there."""

    facts: RepositoryFacts
    names: str
    """Of that branch, as the operator calls it."""


@asynccontextmanager
async def alone(common_dir: Path) -> AsyncIterator[Refusal | None]:
    """One landing at a time in a repository. The lock goes with the process that has it."""
    path = common_dir / _LOCK
    try:
        handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as problem:
        yield Refusal(RefusalReason.TREE_BUSY, {"tree": str(common_dir), "what": str(problem.strerror).lower()})
        return
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            yield Refusal(RefusalReason.TREE_BUSY, {"tree": str(common_dir), "what": "another merge of Footplate's"})
            return
        yield None
    finally:
        os.close(handle)


# ------------------------------------------------------------------------------------------------------ trying it first


async def merged(lens: Lens, target: Target, tip: str, *, branch: str, message: str, by: Identity) -> str | Refusal:
    """The commit that a merge would come to: the tip itself where nothing else came meanwhile."""
    into = target.facts.head
    if await is_within(target.facts.top, tip, into):
        return Refusal(RefusalReason.NOTHING_TO_LAND, {"target": target.names})
    if await is_within(target.facts.top, into, tip):
        return tip
    tree = await _merge_trees(lens, into, tip, branch=branch, target=target.names)
    if isinstance(tree, Refusal):
        return tree
    return await commit_tree(lens, tree, [into, tip], message, by.variables())


async def picked(lens: Lens, target: Target, tip: str, *, branch: str, by: Identity) -> str | Refusal:
    """The commit that the run's own commits would come to, one by one on top of the target."""
    into = target.facts.head
    ours = await run_git(["rev-list", "--reverse", "--parents", f"{into}..{tip}"], cwd=target.facts.top)
    if isinstance(ours, Refusal):
        return ours
    listed = [line.split() for line in ours.line.split("\n") if line]
    if not listed:
        return Refusal(RefusalReason.NOTHING_TO_LAND, {"target": target.names})
    if any(len(one) != 2 for one in listed):
        return Refusal(RefusalReason.HAS_MERGES, {"branch": branch})
    on = into
    for commit, parent in listed:
        made = await _pick(lens, on, commit, parent, branch=branch, target=target.names, by=by)
        if isinstance(made, Refusal):
            return made
        on = made
    return on if on != into else Refusal(RefusalReason.NOTHING_TO_LAND, {"target": target.names})


async def _pick(
    lens: Lens, on: str, commit: str, parent: str, *, branch: str, target: str, by: Identity
) -> str | Refusal:
    # This git finds the base of a merge by history alone, so three commits with the history that is meant are made.
    base = await commit_tree(lens, f"{parent}^{{tree}}", [], "base", by.variables())
    if isinstance(base, Refusal):
        return base
    sides = []
    for side in (on, commit):
        made = await commit_tree(lens, f"{side}^{{tree}}", [base], "side", by.variables())
        if isinstance(made, Refusal):
            return made
        sides.append(made)
    tree = await _merge_trees(lens, sides[0], sides[1], branch=branch, target=target)
    if isinstance(tree, Refusal):
        return tree
    told = await lens.run(["log", "-1", "--date=raw", "--format=%T%x00%an%x00%ae%x00%ad%x00%B", commit])
    before = await lens.run(["rev-parse", f"{on}^{{tree}}"])
    if isinstance(told, Refusal):
        return told
    if isinstance(before, Refusal):
        return before
    if before.line == tree:
        return on  # its change is there already
    _, name, email, date, words = told.line.split("\0", 4)
    author = {"GIT_AUTHOR_NAME": name or by.name, "GIT_AUTHOR_EMAIL": email, "GIT_AUTHOR_DATE": date}
    return await commit_tree(lens, tree, [on], words, {**by.variables(), **author})


async def _merge_trees(lens: Lens, ours: str, theirs: str, *, branch: str, target: str) -> str | Refusal:
    found = await lens.run(
        ["merge-tree", "--write-tree", "--name-only", "--no-messages", "-z", ours, theirs],
        store=lens.objects,
        timeout=leftwork.SECONDS,
        answers=(0, 1),
    )
    if isinstance(found, Refusal):
        return found
    tree, *files = found.out.split(b"\0")
    if found.code == 0:
        return gitfacts.text(tree)
    named = in_short([name for name in files if name])
    return Refusal(RefusalReason.CONFLICTS, {"branch": branch, "target": target, "files": named})


async def is_within(repository: Path, commit: str, other: str) -> bool:
    """Whether ``other`` has the commit in its history."""
    found = await run_git(["merge-base", "--is-ancestor", commit, other], cwd=repository, answers=(0, 1))
    return not isinstance(found, Refusal) and found.code == 0


# -------------------------------------------------------------------------------------------------------- and doing it


async def land(lens: Lens, target: Target, to: str, *, run: int, message: str) -> Refusal | None:
    """Bring the target's files, index and branch from its commit to another. All of it, or nothing is changed.

    ``lens``: on the target's tree, which was found clean.
    """
    top, into = target.facts.top, target.facts.head
    changes = await _changes(lens, into, to)
    if isinstance(changes, Refusal):
        return changes
    unfit = await leftwork.filtered(lens, [name for change in changes for name in change.names])
    if unfit is not None:
        return unfit
    # Git itself would write over what it ignores.
    in_the_way = await asyncio.to_thread(_there, top, _added(changes))
    if in_the_way:
        return leftwork.refuse_files(top, in_the_way, "are there already, where git ignores them")
    dirs = dirs_of(top)
    assert dirs is not None
    real, index = dirs[0] / "index", Path(lens.environment["GIT_DIR"]) / "target-index"
    seen = await asyncio.to_thread(_copied, real, index)
    noted = await run_git(
        ["update-ref", "--stdin"],
        cwd=top,
        input=f"create {NOTES}/{run}/from {into}\ncreate {NOTES}/{run}/to {to}\n".encode(),
    )
    if isinstance(noted, Refusal):
        return noted
    cut("noted")
    lens.keep_sparse(dirs[0])
    wrote = await lens.run(["read-tree", "-m", "-u", into, to], index=index, timeout=leftwork.SECONDS)
    cut("files-written")
    refused = wrote if isinstance(wrote, Refusal) else await asyncio.to_thread(_put, top, index, seen)
    cut("index-put")
    if refused is None:
        moved = await run_git(
            ["update-ref", "--stdin", "-m", message],
            cwd=top,
            input=f"update HEAD {to} {into}\ndelete {NOTES}/{run}/from\ndelete {NOTES}/{run}/to\n".encode(),
        )
        refused = moved if isinstance(moved, Refusal) else None
    cut("branch-moved")
    if refused is not None:
        await recover(top)
    return refused


def _added(changes: Sequence[gitfacts.RawChange]) -> list[bytes]:
    return [name for change in changes if change.status == "A" for name in change.names]


def _there(top: Path, names: Sequence[bytes]) -> list[bytes]:
    """Those of which there is something on disk, or something that is no folder where their folder would be."""
    root, found = os.fsencode(top) + b"/", []
    for name in names:
        parts = name.split(b"/")
        above = [root + b"/".join(parts[:n]) for n in range(1, len(parts))]
        if os.path.lexists(root + name) or any(os.path.lexists(one) and not os.path.isdir(one) for one in above):  # noqa: PTH112
            found.append(name)
    return found


def _copied(real: Path, to: Path) -> tuple[int, int]:
    seen = leftwork.mark_of(real)
    to.write_bytes(real.read_bytes())
    return seen


def _put(top: Path, index: Path, seen: tuple[int, int]) -> Refusal | None:
    return leftwork.put_index(top, index.read_bytes(), seen=seen)


async def land_bare(target: Target, to: str, *, message: str) -> Refusal | None:
    """Where there are no files, the branch is all."""
    moved = await run_git(["update-ref", "-m", message, "HEAD", to, target.facts.head], cwd=target.facts.top)
    return moved if isinstance(moved, Refusal) else None


# ------------------------------------------------------------------------------------------------- after a cut-off one


async def recover(top: Path) -> Refusal | None:
    """Put back what a landing that was cut off had begun to write. A refusal: someone has worked on it since.

    To be called by who is ``alone``.
    """
    listed = await run_git(["for-each-ref", "--format=%(refname) %(objectname)", f"{NOTES}/"], cwd=top)
    if isinstance(listed, Refusal) or not listed.line:
        return None
    notes: dict[str, dict[str, str]] = {}
    for line in listed.line.split("\n"):
        name, _, commit = line.partition(" ")
        run, _, end = name.removeprefix(f"{NOTES}/").partition("/")
        notes.setdefault(run, {})[end] = commit
    head = await run_git(["rev-parse", "--verify", "HEAD"], cwd=top)
    for run, ends in notes.items():
        began, to = ends.get("from", ""), ends.get("to", "")
        if not isinstance(head, Refusal) and head.line == began and to:
            refused = await _put_back(top, began, to)
            if refused is not None:
                return refused
        gone = "".join(f"delete {NOTES}/{run}/{end}\n" for end in ends)
        dropped = await run_git(["update-ref", "--stdin"], cwd=top, input=gone.encode())
        if isinstance(dropped, Refusal):
            return dropped
    return None


async def cut_off_in(repository: Path) -> bool:
    """Whether a landing left its note there: one question to git, where looking at a repository reads all its files."""
    listed = await run_git(["for-each-ref", "--count=1", f"{NOTES}/"], cwd=repository)
    return not isinstance(listed, Refusal) and bool(listed.line)


async def recover_in(repository: Path) -> Refusal | None:
    """The same for whoever opens a console there; nothing where a landing is just under way."""
    if not await cut_off_in(repository):
        return None
    facts = await find_repository(repository)
    if isinstance(facts, Refusal):
        return None
    async with alone(facts.common_dir) as busy:
        return busy or await recover(facts.top)


async def _put_back(top: Path, began: str, to: str) -> Refusal | None:
    await asyncio.to_thread(leftwork.drop_our_lock, top)
    from_, of_to = await _differing(top, began), await _differing(top, to)
    if isinstance(from_, Refusal):
        return from_
    if isinstance(of_to, Refusal):
        return of_to
    async with open_lens(top) as lens:
        if isinstance(lens, Refusal):
            return lens
        read = await lens.run(["read-tree", began])
        had = await lens.run(["ls-files", "-z"], limit=LISTING)
        if isinstance(read, Refusal):
            return read
        if isinstance(had, Refusal):
            return had
        changes = await _changes(lens, began, to)
        if isinstance(changes, Refusal):
            return changes
        begun = from_ & {name for change in changes for name in change.names}
        begun |= set(await asyncio.to_thread(_there, top, _added(changes)))
        theirs = [name for name in sorted(begun & of_to) if not await _half_written(lens, to, name)]
        if theirs:
            what = f"a merge of Footplate's was cut off, and since then {in_short(theirs)} changed"
            return Refusal(RefusalReason.TREE_BUSY, {"tree": str(top), "what": what})
        known = set(had.out.split(b"\0"))
        back = sorted(begun & known)
        await asyncio.to_thread(_remove, top, begun - known)
        if back:
            written = await lens.run(
                ["checkout-index", "-f", "-z", "--stdin"],
                input=b"".join(one + b"\0" for one in back),
                timeout=leftwork.SECONDS,
            )
            if isinstance(written, Refusal):
                return written
        if lens.sparse:
            away = await _left_out(lens)
            await lens.run(["update-index", "--skip-worktree", "-z", "--stdin"], input=away)
        await lens.run(["update-index", "-q", "--refresh"], answers=(0, 1), timeout=leftwork.SECONDS)
        index = await asyncio.to_thread((Path(lens.environment["GIT_DIR"]) / "index").read_bytes)
    return await asyncio.to_thread(leftwork.put_index, top, index)


async def _left_out(lens: Lens) -> bytes:
    """What its own index keeps off the disk."""
    found = await run_git(["ls-files", "-z", "-t"], cwd=lens.tree, limit=LISTING)
    entries = [] if isinstance(found, Refusal) else found.out.split(b"\0")
    return b"".join(entry[2:] + b"\0" for entry in entries if entry[:1] == b"S")


async def _changes(lens: Lens, one: str, other: str) -> list[gitfacts.RawChange] | Refusal:
    """From one commit to another, file by file: what was renamed is gone and is new."""
    raw = await lens.run(["diff", "--raw", "-z", "--no-renames", one, other], limit=LISTING)
    return raw if isinstance(raw, Refusal) else gitfacts.raw_changes(raw.out)


async def _differing(top: Path, commit: str) -> set[bytes] | Refusal:
    async with open_lens(top) as lens:
        if isinstance(lens, Refusal):
            return lens
        names = await lens.differing(commit)
        return names if isinstance(names, Refusal) else set(names)


async def _half_written(lens: Lens, to: str, name: bytes) -> bool:
    """Whether a file is what a killed git leaves of one that it was writing: none yet, or only its beginning."""
    path = os.fsencode(lens.tree) + b"/" + name
    data = await asyncio.to_thread(_read, path)
    if data is None:
        return True
    whole = await lens.run(["cat-file", "blob", f"{to}:{os.fsdecode(name)}"], limit=_LARGEST)
    return not isinstance(whole, Refusal) and whole.out.startswith(data)


def _read(path: bytes) -> bytes | None:
    try:
        with open(path, "rb") as file:  # noqa: PTH123 - a name is bytes
            return file.read(_LARGEST)
    except OSError:
        return None


def _remove(top: Path, names: set[bytes]) -> None:
    root = os.fsencode(top)
    for name in names:
        path = root + b"/" + name
        with contextlib.suppress(OSError):
            os.unlink(path)  # noqa: PTH108 - a name is bytes
        with contextlib.suppress(OSError):
            while (path := os.path.dirname(path)) != root:  # noqa: PTH120 - likewise
                os.rmdir(path)  # noqa: PTH106 - likewise
