"""What is asked of git about a repository, as values: where it is, what changed in it, how it is configured.

Comparing goes through a lens (``gitlens``), so an agent that rewrites its configuration, its index flags or its
replace references changes nothing of what is seen. What this costs is said in the README: files behind a filter (LFS,
encryption) are seen as they are on disk, and submodules are not looked into. How git is run at all is ``gitrun``.
"""

import asyncio
import hashlib
import os
import stat
from pathlib import Path
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from coordinator import gitfacts
from coordinator.api import ChangedFile
from coordinator.gitfacts import RepositoryFacts
from coordinator.gitlens import open_lens
from coordinator.gitrun import GitOutput, run_git
from store.refusal import Refusal
from store.vocab import RefusalReason

__all__ = [
    "ConfigReading",
    "GitOutput",
    "RepositoryFacts",
    "changed_files",
    "diff_text",
    "find_repository",
    "look_at_repository",
    "read_config",
    "run_git",
]


LISTED: Final = ("--raw", "--numstat", "-z")
"""How a comparison is asked for of which ``gitfacts.parse_changes`` makes a list."""


async def look_at_repository(path: Path) -> RepositoryFacts | Refusal:
    """The repository that this folder is in, and how many of its files differ from its commit: all of them are read."""
    facts = await find_repository(path)
    if isinstance(facts, Refusal) or facts.bare:
        return facts
    return replace(facts, dirty_files=await _count_dirty(facts.top, facts.head))


async def find_repository(path: Path) -> RepositoryFacts | Refusal:
    """The repository that this folder is in, for whoever need not know what differs: with 50,000 files that takes a
    second. No commit is a fact, not a refusal."""
    asked = ("--is-bare-repository", "--absolute-git-dir", "--git-common-dir")
    found = await asyncio.gather(*(run_git(["rev-parse", "--path-format=absolute", ask], cwd=path) for ask in asked))
    lines: list[str] = []
    for answer in found:
        if isinstance(answer, Refusal):
            return _no_repository(path, answer)
        lines.append(answer.line)
    bare, git_dir, common_dir = lines[0] == "true", Path(lines[1]), Path(lines[2])
    top = git_dir
    if not bare:
        shown = await run_git(["rev-parse", "--show-toplevel"], cwd=path)
        if isinstance(shown, Refusal):
            return _no_repository(path, shown)
        top = Path(shown.line)
        if not _inside(path, top):
            # core.worktree can point anywhere; nobody signs for a tree that is not the one in front of them.
            why = f"its configuration names another working tree: {top}"
            return Refusal(RefusalReason.NOT_A_REPOSITORY, {"path": str(path), "stderr": why})
    head, branch = await asyncio.gather(
        run_git(["rev-parse", "-q", "--verify", "HEAD^{commit}"], cwd=path),
        run_git(["symbolic-ref", "-q", "--short", "HEAD"], cwd=path),
    )
    commit = "" if isinstance(head, Refusal) else head.line
    return RepositoryFacts(
        top=top,
        git_dir=git_dir,
        common_dir=common_dir,
        head=commit,
        branch="" if isinstance(branch, Refusal) else branch.line,
        dirty_files=0 if bare else -1,
        bare=bare,
    )


def _inside(path: Path, top: Path) -> bool:
    return path.resolve().is_relative_to(top.resolve())


def _no_repository(path: Path, refusal: Refusal) -> Refusal:
    said = str(refusal.facts.get("stderr", ""))
    if refusal.facts.get("exit") == "128" or not path.is_dir():
        return Refusal(RefusalReason.NOT_A_REPOSITORY, {"path": str(path), "stderr": said})
    return refusal


async def _count_dirty(top: Path, head: str) -> int:
    found = await changed_files(top, head)
    return -1 if isinstance(found, Refusal) else len(found)


async def changed_files(tree: Path, base: str) -> tuple[ChangedFile, ...] | Refusal:
    """What differs between a commit ('' for none) and the files as they are, new ones included; the mailbox never."""
    async with open_lens(tree) as lens:
        found = lens if isinstance(lens, Refusal) else await lens.compare(base, LISTED)
        if isinstance(found, Refusal):
            return found
        away = lens.left_out if not isinstance(lens, Refusal) else frozenset[bytes]()
        return await asyncio.to_thread(gitfacts.parse_changes, found.out, away)


async def diff_text(tree: Path, base: str, *, limit: int = 4 * 1024 * 1024) -> GitOutput | Refusal:
    """The same as a unified diff; ``cut`` says that it goes on past the limit."""
    async with open_lens(tree) as lens:
        if isinstance(lens, Refusal):
            return lens
        return await lens.compare(base, ["--patch", "--no-color"], limit=limit, cut_ok=True)


# ------------------------------------------------------------------------------------------------------ configuration

_CONFIG_FILE: Final = 1024 * 1024
_MOST_FILES: Final = 64


class ConfigReading(Struct, frozen=True, kw_only=True):
    """Everything by which git could be made to run something here: two of them tell what an agent changed."""

    files: tuple[tuple[str, str], ...]
    """Path and text, in order. Hooks that are no text stand as their digest."""


def read_config(tree: Path) -> ConfigReading:
    """By reading files, without git: configuration and what it includes, the user's own too, attributes, hooks."""
    found: dict[str, str] = {}
    dirs = gitfacts.dirs_of(tree)
    waiting = [Path("~/.gitconfig").expanduser(), _xdg() / "git" / "config"]
    if dirs is not None:
        git_dir, common = dirs
        waiting += [common / "config", common / "config.worktree", git_dir / "config.worktree"]
        for path in (common / "info" / "attributes", *_hooks(common)):
            _take(path, found)
    while waiting and len(found) < _MOST_FILES:
        path = waiting.pop(0)
        text = None if str(path) in found else _take(path, found)
        if text is not None:
            waiting += gitfacts.included(text, path.parent)
    return ConfigReading(files=tuple(sorted(found.items())))


def _xdg() -> Path:
    return Path(os.environ.get("XDG_CONFIG_HOME") or "~/.config").expanduser()


def _hooks(common: Path) -> list[Path]:
    try:
        return sorted(path for path in (common / "hooks").iterdir() if path.suffix != ".sample")[:_MOST_FILES]
    except OSError:
        return []


def _take(path: Path, found: dict[str, str]) -> str | None:
    """Read it into ``found``; never blocks, never follows a name into a device or a pipe."""
    try:
        file = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
    except OSError:
        return None
    with os.fdopen(file, "rb") as handle:
        if not stat.S_ISREG(os.fstat(handle.fileno()).st_mode):
            return None
        data = handle.read(_CONFIG_FILE)
    try:
        text = data.decode()
    except UnicodeDecodeError:
        text = f"(no text, sha256 {hashlib.sha256(data).hexdigest()})"
    found[str(path)] = text
    return text
