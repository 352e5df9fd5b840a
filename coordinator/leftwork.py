"""All that a tree has beyond its commit, as one commit more: by plumbing, with an index of our own, so that no hook, no
filter and no index of theirs has a say in it.

What cannot be taken whole this way is refused by name, for whoever removes a tree afterwards relies on it. Which branch
the commit goes to is decided elsewhere; here only a tree's own branch and index can be put on it (``settle``).
"""

import asyncio
import fcntl
import os
from collections.abc import Collection, Iterable
from pathlib import Path
from typing import Final

from msgspec import Struct

from coordinator import gitfacts
from coordinator.githelper import run_git
from coordinator.gitlens import LISTING, Lens, open_lens
from coordinator.treepool import UNDER_WAY
from store.refusal import Fact, Refusal
from store.vocab import RefusalReason

SECONDS: Final = 300.0
"""For one command of git that reads or writes many files."""
_GITLINK: Final = b"160000"
CHECKING: Final = "footplate-checks.lock"
"""Held beside a tree's index while checks run in it."""
CHECKED: Final = "a check runs in it"
OUR_INDEX: Final = "footplate-index"
"""Beside an index, on its way to be one. A lock that is this very file is ours."""


class Identity(Struct, frozen=True, kw_only=True):
    """By whom commits are made."""

    name: str
    email: str

    def variables(self) -> dict[str, str]:
        ours = {"GIT_COMMITTER_NAME": self.name, "GIT_COMMITTER_EMAIL": self.email}
        return {**ours, "GIT_AUTHOR_NAME": self.name, "GIT_AUTHOR_EMAIL": self.email}


async def identity(repository: Path, operator: str) -> Identity:
    """As git knows the operator in this repository, else by the name that they go under here."""
    told = []
    for key in ("user.name", "user.email"):
        found = await run_git(["config", "--get", key], cwd=repository, answers=(0, 1))
        told.append("" if isinstance(found, Refusal) else found.line.strip())
    plain = "".join(letter for letter in operator if letter.isprintable() and letter not in "<>") or "operator"
    return Identity(name=told[0] or plain, email=told[1] or "operator@localhost")


def subject(title: str, otherwise: str) -> str:
    """The first line of a commit's message: a run's title, without the mark that says it was cut."""
    return " ".join(title.removesuffix("…").split()) or otherwise


class Work(Struct, frozen=True, kw_only=True):
    commit: str
    """The tip itself where nothing was left."""
    index: bytes
    """A tree's index for that commit, as its files are; b'' where it needs no other."""


async def collect(tree: Path, tip: str, *, message: str, by: Identity) -> Work | Refusal:
    """A commit on ``tip`` of everything in the tree that git does not ignore. No reference is moved.

    Refused where some of it cannot be taken: files that a program of the repository stores, repositories within it.
    """
    under_way = await asyncio.to_thread(busy_with, tree)
    if under_way is not None:
        return under_way
    async with open_lens(tree) as lens:
        if isinstance(lens, Refusal):
            return lens
        names = await lens.differing(tip)
        if isinstance(names, Refusal):
            return names
        unfit = await _unfit(lens, names)
        if unfit is not None:
            return unfit
        if not names:
            return Work(commit=tip, index=b"")
        return await _commit(lens, tip, names, message, by)


async def _commit(lens: Lens, tip: str, names: list[bytes], message: str, by: Identity) -> Work | Refusal:
    steps = [(["update-index", "--add", "--remove", "--replace", "-z", "--stdin"], names)]
    if lens.left_out:
        steps.append((["update-index", "--skip-worktree", "-z", "--stdin"], sorted(lens.left_out)))
    for args, some in steps:
        done = await lens.run(args, input=_lines(some), store=lens.objects, timeout=SECONDS)
        if isinstance(done, Refusal):
            return done
    await lens.run(["update-index", "-q", "--refresh"], answers=(0, 1), timeout=SECONDS)
    left = await lens.run(["ls-files", "-z", "--others", "--modified", "--exclude-standard"], limit=LISTING)
    if isinstance(left, Refusal):
        return left
    # Written to meanwhile, or too much of it: who removes the tree must not believe that it has everything.
    missed = [one for one in left.out.split(b"\0") if one and not gitfacts.of_mailbox(one) and one not in lens.left_out]
    if missed:
        return refuse_files(lens.tree, missed, "were still changing, or are too many")
    made = await lens.run(["write-tree"], store=lens.objects)
    if isinstance(made, Refusal):
        return made
    commit = await commit_tree(lens, made.line, [tip], message, by.variables())
    if isinstance(commit, Refusal):
        return commit
    index = await asyncio.to_thread((Path(lens.environment["GIT_DIR"]) / "index").read_bytes)
    return Work(commit=commit, index=index)


async def commit_tree(
    lens: Lens, tree: str, parents: Collection[str], message: str, by: dict[str, str]
) -> str | Refusal:
    of = [part for parent in parents for part in ("-p", parent)]
    made = await lens.run(
        ["commit-tree", tree, *of], store=lens.objects, more=by, input=message.encode("utf-8", "replace") or b"\n"
    )
    return made if isinstance(made, Refusal) else made.line


async def _unfit(lens: Lens, names: list[bytes]) -> Refusal | None:
    others = await lens.run(["ls-files", "-z", "--others", "--exclude-standard"], limit=LISTING)
    if isinstance(others, Refusal):
        return others
    inside = [name for name in others.out.split(b"\0") if name.endswith(b"/") and not gitfacts.of_mailbox(name[:-1])]
    if inside:
        return refuse_files(lens.tree, inside, "are repositories of their own")
    links = await lens.run(["ls-files", "-z", "-s"], limit=LISTING)
    if isinstance(links, Refusal):
        return links
    linked = [entry.partition(b"\t")[2] for entry in links.out.split(b"\0") if entry.startswith(_GITLINK)]
    filled = await asyncio.to_thread(_not_empty, lens.tree, linked)
    if filled:
        return refuse_files(lens.tree, filled, "are submodules with files in them")
    return await filtered(lens, names)


def _not_empty(tree: Path, names: Iterable[bytes]) -> list[bytes]:
    found = []
    for name in names:
        try:
            if os.listdir(os.fsencode(tree) + b"/" + name):  # noqa: PTH208 - a name is bytes
                found.append(name)
        except OSError:
            continue
    return found


async def filtered(lens: Lens, names: Collection[bytes]) -> Refusal | None:
    """Whether git would pass some of these through a program (large files, encryption) that is not run by us."""
    if not names:
        return None
    told = await lens.run(["check-attr", "-z", "--stdin", "filter"], input=_lines(names), limit=LISTING)
    if isinstance(told, Refusal):
        return told
    parts = told.out.split(b"\0")
    found = [
        name for name, value in zip(parts[::3], parts[2::3], strict=False) if value not in (b"unspecified", b"unset")
    ]
    return refuse_files(lens.tree, found, "are stored by a program that the repository names") if found else None


def refuse_files(tree: Path, names: Collection[bytes], why: str) -> Refusal:
    return Refusal(RefusalReason.NOT_OURS_TO_WRITE, {"tree": str(tree), "files": in_short(names), "why": why})


def in_short(names: Collection[bytes], most: int = 5) -> str:
    told = ", ".join(gitfacts.text(name) for name in list(names)[:most])
    return told if len(names) <= most else f"{told} and {len(names) - most} more"


def _lines(names: Iterable[bytes]) -> bytes:
    return b"".join(name + b"\0" for name in names)


def busy_with(tree: Path) -> Refusal | None:
    """Why nothing of ours may be written in this tree just now: a merge half made, a lock. Blocking."""
    dirs = gitfacts.dirs_of(tree)
    if dirs is None:
        return Refusal(RefusalReason.NOT_A_REPOSITORY, {"path": str(tree)})
    facts: dict[str, Fact] = {"tree": str(tree)}
    found = next((name for name in (*UNDER_WAY, "index.lock") if os.path.lexists(dirs[0] / name)), None)
    if found is not None:
        return Refusal(RefusalReason.TREE_BUSY, {**facts, "what": str(dirs[0] / found)})
    return Refusal(RefusalReason.TREE_BUSY, {**facts, "what": CHECKED}) if _is_held(dirs[0] / CHECKING) else None


def _is_held(lock: Path) -> bool:
    """Whether a process has it; what is no file of ours is none."""
    try:
        handle = os.open(lock, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        return False
    finally:
        os.close(handle)
    return False


async def settle(tree: Path, work: Work, tip: str) -> Refusal | None:
    """Put the tree's own branch on the commit. The index first: cut off between the two, all of it is merely staged."""
    if work.commit == tip:
        return None
    refused = await asyncio.to_thread(put_index, tree, work.index)
    if refused is not None:
        return refused
    moved = await run_git(
        ["update-ref", "-m", "footplate: what the run left uncommitted", "HEAD", work.commit, tip], cwd=tree
    )
    return moved if isinstance(moved, Refusal) else None


def put_index(tree: Path, index: bytes, *, seen: tuple[int, int] | None = None) -> Refusal | None:
    """Make it the tree's index, under git's own lock. ``seen``: what the index was like (``mark_of``) when it was read;
    another by now is a refusal. Blocking."""
    dirs = gitfacts.dirs_of(tree)
    assert dirs is not None
    ours, lock, real = dirs[0] / OUR_INDEX, dirs[0] / "index.lock", dirs[0] / "index"
    try:
        with ours.open("wb") as file:
            file.write(index)
            file.flush()
            os.fsync(file.fileno())
        os.link(ours, lock)
    except OSError as problem:
        ours.unlink(missing_ok=True)
        what = f"{lock}: {(problem.strerror or str(problem)).lower()}"
        return Refusal(RefusalReason.TREE_BUSY, {"tree": str(tree), "what": what})
    if seen is not None and mark_of(real) != seen:
        lock.unlink()
        ours.unlink()
        return Refusal(RefusalReason.TREE_BUSY, {"tree": str(tree), "what": "its index changed meanwhile"})
    lock.replace(real)
    ours.unlink()
    return None


def mark_of(path: Path) -> tuple[int, int]:
    """By which a file is known to be the same that it was."""
    try:
        found = path.stat()
    except OSError:
        return (0, 0)
    return found.st_ino, found.st_mtime_ns


def drop_our_lock(tree: Path) -> None:
    """A lock that a killed console of ours left: known by being one file with what it was made of. Blocking."""
    dirs = gitfacts.dirs_of(tree)
    if dirs is None:
        return
    ours, lock = dirs[0] / OUR_INDEX, dirs[0] / "index.lock"
    if ours.exists() and lock.exists() and ours.samefile(lock):
        lock.unlink()
    ours.unlink(missing_ok=True)
