"""Trees of runs that are over and kept nothing, used again: a large repository is not written out for every run.

A tree is taken only where nothing could be lost by it: not one file differs from its commit, none is ignored, its
commit is in some other branch or tag, nobody stands in it, and what the agent could have written beside it (its own
configuration, a merge half made) is not there. It is claimed by being moved to the new run's name, which one of two
can do.
"""

import asyncio
import os
import re
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Final

from msgspec import Struct

from coordinator.custody.processes import working_folder
from coordinator.gitfacts import RepositoryFacts, dirs_of, text
from coordinator.githelper import changed_files, run_git
from coordinator.parkednote import ROOT
from coordinator.supervisor.kernel import kernel
from store.refusal import Refusal

OURS: Final = "refs/heads/footplate"
_OF_RUN: Final = re.compile(r".*?-(\d+)(?:-\d+)?")
_LOOKED_AT: Final = 8
"""Trees that are looked at for one start: each takes a comparison of all its files."""
UNDER_WAY: Final = ("MERGE_HEAD", "CHERRY_PICK_HEAD", "REVERT_HEAD", "BISECT_LOG", "rebase-merge", "rebase-apply")
"""What git keeps in a working tree's folder while something of several steps is half made there."""


class Belonging(Struct, frozen=True, kw_only=True):
    """Trees that are somebody's."""

    trees: frozenset[str] = frozenset()
    runs: frozenset[int] = frozenset()
    """Runs whose trees are theirs wherever they are: one that just starts has told nobody yet."""

    def has(self, tree: Path) -> bool:
        run = _OF_RUN.fullmatch(tree.name)
        return str(tree) in self.trees or (run is not None and int(run[1]) in self.runs)


async def claim(
    facts: RepositoryFacts, *, folder: Path, tree: Path, busy: Callable[[], Awaitable[Belonging]]
) -> str | None:
    """Move a tree that is free to ``tree``: its branch as a whole reference ('': none). None: there is none.

    ``busy`` is asked after the trees are listed: of each that was there its run was known by then.
    """
    listed = await run_git(["worktree", "list", "--porcelain", "-z"], cwd=facts.top)
    if isinstance(listed, Refusal):
        return None
    looked, others = 0, await busy()
    for entry in listed.out.split(b"\0\0"):
        told = dict(part.partition(b" ")[::2] for part in entry.split(b"\0") if part)
        old, head, branch = Path(text(told.get(b"worktree", b""))), text(told.get(b"HEAD", b"")), told.get(b"branch")
        of_ours = _same(old.parent, folder) and (branch is None or text(branch).startswith(OURS))
        if not of_ours or not head or others.has(old) or b"locked" in told or b"prunable" in told:
            continue
        looked += 1
        if looked > _LOOKED_AT:
            return None
        name = text(branch or b"")
        if not await _is_free(facts, old, head, name):
            continue
        moved = await run_git(["worktree", "move", str(old), str(tree)], cwd=facts.top)
        if not isinstance(moved, Refusal):
            return name
    return None


async def _is_free(facts: RepositoryFacts, tree: Path, head: str, branch: str) -> bool:
    dirs = dirs_of(tree)
    if dirs is None or not _same(dirs[1], facts.common_dir) or not _is_plain(dirs[0], facts.git_dir):
        return False
    if await asyncio.to_thread(someone_stands_in, tree):
        return False
    elsewhere = await run_git(
        ["for-each-ref", f"--contains={head}", "--count=3", "--format=%(refname)", "refs/heads", "refs/remotes"],
        cwd=facts.top,
    )
    if isinstance(elsewhere, Refusal) or not set(elsewhere.line.split("\n")) - {branch, ""}:
        return False
    return await changed_files(tree, head) == () and not await ignored_files(tree)


def _same(one: Path, other: Path) -> bool:
    return one.resolve() == other.resolve()


def _is_plain(git_dir: Path, of_repository: Path) -> bool:
    if any(os.path.lexists(git_dir / name) for name in UNDER_WAY):
        return False
    return _text_of(git_dir / "config.worktree") in (b"", _text_of(of_repository / "config.worktree"))


def _text_of(path: Path) -> bytes:
    try:
        return path.read_bytes()[:65536] if path.is_file() else b""
    except OSError:
        return b"?"


def someone_stands_in(tree: Path) -> bool:
    """Whether a process of this user has its working folder there: an operator's shell, say."""
    inside = (str(tree), f"{tree}{os.sep}")
    for pid in kernel.all_pids():
        at = working_folder(pid)
        if at == inside[0] or at.startswith(inside[1]):
            return True
    return False


async def ignored_files(tree: Path) -> tuple[str, ...]:
    """What git ignores there, folders as one: a ``.env`` or a build is someone's work all the same. What could not be
    read counts as one."""
    found = await run_git(["ls-files", "-z", "--others", "--ignored", "--exclude-standard", "--directory"], cwd=tree)
    if isinstance(found, Refusal):
        return ("?",)
    return tuple(text(name) for name in found.out.split(b"\0") if name and not name.startswith(ROOT.encode()))


def never_moved(common_dir: Path, branch: str) -> bool:
    """Whether nothing was ever committed on this branch since it was made, by its own log."""
    try:
        return (common_dir / "logs" / branch).read_bytes().count(b"\n") == 1
    except OSError:
        return False
