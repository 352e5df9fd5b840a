"""The working tree that a run gets: the repository as it stands, or a tree of its own on its own branch.

A tree with changes is never removed by us, whatever ended the run: work that nobody has looked at is not ours to
lose. The tree is filled through a lens, so that no filter or hook of the repository runs before a person signed for
anything. Merging and discarding are the operator's and do not belong here.
"""

import contextlib
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from coordinator.gitfacts import RepositoryFacts, dirs_of
from coordinator.githelper import changed_files, look_at_repository, run_git
from coordinator.gitlens import open_lens
from coordinator.parkednote import ROOT
from coordinator.terms import TreeKind
from store.refusal import Refusal
from store.vocab import RefusalReason

FILLING: Final = 300.0
"""Seconds for writing a tree's files: a large repository takes its time, and nobody is held yet."""
_TRIES: Final = 20
_EXCLUDED: Final = f"/{ROOT}/"


@dataclass(frozen=True, slots=True, kw_only=True)
class PreparedTree:
    tree: Path
    branch: str
    """'' where HEAD is detached."""
    head: str
    kind: TreeKind
    repository: Path
    """Top of the repository that it was made from."""


async def prepare(
    facts: RepositoryFacts, *, kind: TreeKind, run: int, folder: Path, head: str
) -> PreparedTree | Refusal:
    """In place, or ``folder/<repository>-<run>`` on branch ``footplate/<run>`` at ``head``."""
    if facts.bare and kind is TreeKind.IN_PLACE:
        return Refusal(RefusalReason.NOT_A_REPOSITORY, {"path": str(facts.top), "stderr": "it is bare: no files in it"})
    ignore_mailbox(facts.common_dir)
    if kind is TreeKind.IN_PLACE:
        return PreparedTree(tree=facts.top, branch=facts.branch, head=facts.head, kind=kind, repository=facts.top)
    if not head:
        return Refusal(RefusalReason.NO_COMMIT, {"path": str(facts.top)})
    tree = _free(folder, f"{facts.top.name.removesuffix('.git')}-{run}")
    branch = await _free_branch(facts.top, f"footplate/{run}")
    if isinstance(branch, Refusal):
        return branch
    made = await run_git(
        ["worktree", "add", "--no-checkout", "--no-track", "-b", branch, str(tree), head], cwd=facts.top
    )
    if isinstance(made, Refusal):
        return made
    filled = await _fill(tree, head)
    if isinstance(filled, Refusal):
        await _take_away(facts.top, tree, branch)
        return filled
    return PreparedTree(tree=tree, branch=branch, head=head, kind=kind, repository=facts.top)


async def again(facts: RepositoryFacts, tree: Path) -> PreparedTree | Refusal:
    """A tree that a run before had of its own, as it stands now. ``facts``: of the repository that it belongs to."""
    found = await look_at_repository(tree)
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
    if await _holds_ignored_files(prepared.tree):
        return "kept"
    return "removed" if await _take_away(prepared.repository, prepared.tree, prepared.branch) else "kept"


async def _holds_ignored_files(tree: Path) -> bool:
    """A ``.env`` or a build that the agent made is ignored by git and yet someone's work."""
    found = await run_git(["ls-files", "-z", "--others", "--ignored", "--exclude-standard", "--directory"], cwd=tree)
    if isinstance(found, Refusal):
        return True
    return any(name and not name.startswith(ROOT.encode()) for name in found.out.split(b"\0"))


async def _fill(tree: Path, head: str) -> Refusal | None:
    async with open_lens(tree) as lens:
        if isinstance(lens, Refusal):
            return lens
        dirs = dirs_of(tree)
        assert dirs is not None
        filled = await lens.fill(head, dirs[0] / "index", timeout=FILLING)
        return filled if isinstance(filled, Refusal) else None


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


async def _free_branch(repository: Path, name: str) -> str | Refusal:
    listed = await run_git(["for-each-ref", "--format=%(refname:short)", f"refs/heads/{name}*"], cwd=repository)
    if isinstance(listed, Refusal):
        return listed
    taken = set(listed.line.split("\n"))
    return next(free for free in (name, *(f"{name}-{n}" for n in range(2, len(taken) + 3))) if free not in taken)


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
