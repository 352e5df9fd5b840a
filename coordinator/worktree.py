"""The working tree that a run gets: the repository as it stands, or a tree of its own on its own branch.

A tree with changes is never removed by us, whatever ended the run: work that nobody has looked at is not ours to
lose. The tree is filled through a lens, so that no filter or hook of the repository runs before a person signed for
anything. Merging and discarding are the operator's and do not belong here.
"""

import asyncio
import contextlib
import os
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Final

from msgspec import Struct

from coordinator import leftwork, treepool
from coordinator.gitfacts import RepositoryFacts, dirs_of, text
from coordinator.githelper import changed_files, find_repository, run_git
from coordinator.gitlens import open_lens
from coordinator.parkednote import ROOT
from coordinator.terms import TreeKind
from store.refusal import Refusal
from store.vocab import RefusalReason

FILLING: Final = 300.0
"""Seconds for writing a tree's files: a large repository takes its time, and nobody is held yet."""
_TRIES: Final = 20
_EXCLUDED: Final = f"/{ROOT}/"


class PreparedTree(Struct, frozen=True, kw_only=True):
    tree: Path
    branch: str
    """'' where HEAD is detached."""
    head: str
    kind: TreeKind
    repository: Path
    """Top of the repository that it was made from."""


async def prepare(
    facts: RepositoryFacts,
    *,
    kind: TreeKind,
    run: int,
    folder: Path,
    head: str,
    busy: Callable[[], Awaitable[treepool.Belonging]] | None = None,
) -> PreparedTree | Refusal:
    """In place, or ``folder/<repository>-<run>`` on branch ``footplate/<run>`` at ``head``.

    ``busy`` tells which trees are somebody's; one of the others may be used again. None: it is made anew.
    """
    if facts.bare and kind is TreeKind.IN_PLACE:
        return Refusal(RefusalReason.NOT_A_REPOSITORY, {"path": str(facts.top), "stderr": "it is bare: no files in it"})
    ignore_mailbox(facts.common_dir)
    if kind is TreeKind.IN_PLACE:
        return PreparedTree(tree=facts.top, branch=facts.branch, head=facts.head, kind=kind, repository=facts.top)
    if not head:
        return Refusal(RefusalReason.NO_COMMIT, {"path": str(facts.top)})
    tree = _free(folder, f"{facts.top.name.removesuffix('.git')}-{run}")
    branch = await free_branch(facts.top, run)
    if isinstance(branch, Refusal):
        return branch
    if busy is not None and (old := await treepool.claim(facts, folder=folder, tree=tree, busy=busy)) is not None:
        again_ = await _turn_to(facts, tree, branch, head, old)
        return again_ if again_ is not None else _own(facts, tree, branch, head)
    made = await run_git(
        ["worktree", "add", "--no-checkout", "--no-track", "-b", branch, str(tree), head], cwd=facts.top
    )
    if isinstance(made, Refusal):
        return made
    _keep_patterns(facts, tree)
    filled = await _fill(tree, head)
    if isinstance(filled, Refusal):
        await _take_away(facts.top, tree, branch)
        return filled
    return _own(facts, tree, branch, head)


def _own(facts: RepositoryFacts, tree: Path, branch: str, head: str) -> PreparedTree:
    return PreparedTree(tree=tree, branch=branch, head=head, kind=TreeKind.WORKTREE, repository=facts.top)


async def _turn_to(facts: RepositoryFacts, tree: Path, branch: str, head: str, old: str) -> Refusal | None:
    """A tree that was claimed, on a branch of its new run. The old branch goes where nothing was ever put on it."""
    steps = (
        ["update-ref", "-m", "footplate: a tree used again", f"refs/heads/{branch}", head, "0" * len(head)],
        ["symbolic-ref", "HEAD", f"refs/heads/{branch}"],
    )
    for step in steps:
        done = await run_git(step, cwd=tree)
        if isinstance(done, Refusal):
            return done
    _keep_patterns(facts, tree)
    filled = await _fill(tree, head)
    if isinstance(filled, Refusal):
        return filled
    if old and treepool.never_moved(facts.common_dir, old):
        await run_git(["update-ref", "-d", old], cwd=facts.top)
    return None


async def at_branch(facts: RepositoryFacts, tree: Path, branch: str, head: str) -> Refusal | None:
    """A tree for a branch that is there, and that no other tree has. One that was not written to its end is so now."""
    if not is_free(tree):
        begun = await find_repository(tree)
        if isinstance(begun, Refusal) or begun.top != tree or (begun.branch, begun.head) != (branch, head):
            return None
        changed = await changed_files(tree, head)
        missing = not isinstance(changed, Refusal) and changed and all(one.status == "D" for one in changed)
        return await _fill(tree, head) if missing else None
    made = await run_git(["worktree", "add", "--no-checkout", str(tree), branch], cwd=facts.top)
    if isinstance(made, Refusal):
        return made
    _keep_patterns(facts, tree)
    return await _fill(tree, head)


def _keep_patterns(facts: RepositoryFacts, tree: Path) -> None:
    """A sparse checkout stays one: git copies its patterns only where it keeps them for each tree apart."""
    dirs, patterns = dirs_of(tree), facts.git_dir / "info" / "sparse-checkout"
    with contextlib.suppress(OSError):
        if dirs is not None and not facts.bare and patterns.is_file():
            ours = dirs[0] / "info" / "sparse-checkout"
            ours.parent.mkdir(exist_ok=True)
            ours.write_bytes(patterns.read_bytes())


async def again(facts: RepositoryFacts, tree: Path) -> PreparedTree | Refusal:
    """A tree that a run before had of its own, as it stands now. ``facts``: of the repository that it belongs to."""
    found = await find_repository(tree)
    if isinstance(found, Refusal):
        return found
    if found.top != tree or found.common_dir != facts.common_dir:
        return Refusal(RefusalReason.NOT_A_REPOSITORY, {"path": str(tree)})
    ignore_mailbox(facts.common_dir)
    kind = TreeKind.WORKTREE
    return PreparedTree(tree=tree, branch=found.branch, head=found.head, kind=kind, repository=facts.top)


async def release(prepared: PreparedTree) -> str:
    """``removed`` where it is exactly as it was made, else ``kept``. A tree in place is always kept."""
    if prepared.kind is TreeKind.IN_PLACE:
        return "kept"
    now = await run_git(["rev-parse", "--verify", "HEAD"], cwd=prepared.tree)
    changed = await changed_files(prepared.tree, prepared.head)
    if isinstance(now, Refusal) or now.line != prepared.head or changed != ():
        return "kept"
    if await treepool.ignored_files(prepared.tree):
        return "kept"
    return "removed" if await _take_away(prepared.repository, prepared.tree, prepared.branch) else "kept"


async def _fill(tree: Path, head: str) -> Refusal | None:
    """With an index of our own that is put there when all is written: a git that is killed leaves no lock behind."""
    async with open_lens(tree) as lens:
        if isinstance(lens, Refusal):
            return lens
        dirs = dirs_of(tree)
        assert dirs is not None
        index = Path(lens.environment["GIT_DIR"]) / "tree-index"
        await asyncio.to_thread(_copy, dirs[0] / "index", index)
        filled = await lens.fill(head, index, git_dir=dirs[0], timeout=FILLING)
        if isinstance(filled, Refusal):
            return filled
        return await asyncio.to_thread(lambda: leftwork.put_index(tree, index.read_bytes()))


def _copy(index: Path, to: Path) -> None:
    with contextlib.suppress(FileNotFoundError):
        to.write_bytes(index.read_bytes())


async def _take_away(repository: Path, tree: Path, branch: str) -> bool:
    removed = await run_git(["worktree", "remove", "--force", str(tree)], cwd=repository)
    if isinstance(removed, Refusal):
        return False
    await run_git(["branch", "-D", "--", branch], cwd=repository)  # at the head that it was made from: nothing is lost
    return True


def _free(folder: Path, name: str) -> Path:
    """A restored ledger may give out a run's number again; the older tree stays what it is."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    names = [name, *(f"{name}-{n}" for n in range(2, _TRIES))]
    return next((folder / free for free in names if not os.path.lexists(folder / free)), folder / name)


def is_free(tree: Path) -> bool:
    """Whether nothing is at this path, and its folder is there."""
    return tree.parent.is_dir() and not os.path.lexists(tree)


async def free_branch(repository: Path, run: int) -> str | Refusal:
    """``footplate/7``; ``footplate-7`` where a branch ``footplate`` leaves no room for it; one number more where it is
    taken."""
    listed = await run_git(
        ["for-each-ref", "--format=%(refname:lstrip=2)", "refs/heads/footplate", "refs/heads/footplate*"],
        cwd=repository,
    )
    if isinstance(listed, Refusal):
        return listed
    taken = set(listed.line.split("\n"))
    name = f"footplate-{run}" if "footplate" in taken else f"footplate/{run}"
    # A branch can be a folder of others too: footplate/7/x leaves no room for footplate/7.
    full = taken | {"/".join(parts[:n]) for one in taken for parts in [one.split("/")] for n in range(2, len(parts))}
    return next(free for free in (name, *(f"{name}-{n}" for n in range(2, len(full) + 3))) if free not in full)


async def submodules(top: Path, head: str) -> tuple[str, ...]:
    """Folders that are repositories of their own by this commit: in a new tree they are empty."""
    listed = await run_git(
        ["config", "-z", "--blob", f"{head}:.gitmodules", "--get-regexp", r"^submodule\..*\.path$"],
        cwd=top,
        answers=(0, 1, 128),
    )
    if isinstance(listed, Refusal):
        return ()
    return tuple(text(one.partition(b"\n")[2]) for one in listed.out.split(b"\0") if one)


def ignore_mailbox(common_dir: Path) -> None:
    """Keep the mailbox out of every status, through the file that is never committed. Idempotent; best effort."""
    path = common_dir / "info" / "exclude"
    with contextlib.suppress(OSError):
        path.parent.mkdir(exist_ok=True)
        before = path.read_text("utf-8", "surrogateescape") if path.is_file() else ""
        if _EXCLUDED in before.splitlines():
            return
        gap = "" if not before or before.endswith("\n") else "\n"
        with path.open("a", encoding="utf-8") as file:
            file.write(f"{gap}{_EXCLUDED}\n")
