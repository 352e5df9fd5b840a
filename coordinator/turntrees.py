"""The tree as it stood when each turn had ended, noted in the run's own folder, so that turns can be told apart.

An object of the files that differ from the commit is written through a lens, into a store of ours: neither the
repository nor its index hears of it. The list is no fact of the ledger: it goes with the run's folder, nothing is
proven by it, and without it only the changes of all turns together are known.
"""

import asyncio
import json
import logging
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from msgspec import Struct

from coordinator import gitfacts, githelper
from coordinator.api import ChangedFile
from coordinator.gitlens import LISTING, Lens, open_lens
from store.refusal import Refusal

log = logging.getLogger(__name__)

LARGE: Final = 4 * 1024 * 1024
"""Bytes of a file that is left out of what is noted."""
MOST_FILES: Final = 20_000
MOST_BYTES: Final = 256 * 1024 * 1024
"""Of one run; then nothing more is noted."""
PATIENCE: Final = 5.0
"""Seconds that a start waits for what was changed before it to be noted."""
_FOLDER: Final = "trees"


class NotedTree(Struct, frozen=True, kw_only=True):
    turn: int
    """The last one that had ended; 0: the run began."""
    tree: str
    """Name of a tree, or of the commit that it is."""
    left: frozenset[bytes] = frozenset()
    """Files that differed from the commit and were left out."""


def store_of(folder: Path) -> Path:
    """Where the objects of the run with this folder are; need not be there."""
    return folder / _FOLDER / "objects"


def noted(folder: Path) -> tuple[NotedTree, ...]:
    """What was noted, in order of turns; of a turn that was noted twice the first. Blocking."""
    try:
        rows = (folder / _FOLDER / "list").read_text("ascii").splitlines()
    except (OSError, UnicodeDecodeError):
        return ()
    found: dict[int, NotedTree] = {}
    for row in rows:
        try:
            told = json.loads(row)
            left = frozenset(os.fsencode(name) for name in told["left"])
            one = NotedTree(turn=int(told["turn"]), tree=str(told["tree"]), left=left)
        except (ValueError, KeyError, TypeError):
            continue  # half a row, of a console that was killed
        if one.tree.isalnum():
            found.setdefault(one.turn, one)
    return tuple(found[turn] for turn in sorted(found))


async def begin(folder: Path, tree: Path, head: str, *, clean: bool) -> None:
    """Before there is an agent, which waits for it. ``clean``: the tree is known to be as the commit says."""
    if clean:
        await asyncio.to_thread(_append, folder, NotedTree(turn=0, tree=head))
        return
    try:
        async with asyncio.timeout(PATIENCE):
            await note(folder, tree, head, turn=0)
    except TimeoutError:
        log.warning("the tree at the beginning was not noted within %s s", PATIENCE)


async def note(folder: Path, tree: Path, head: str, *, turn: int | None) -> tuple[ChangedFile, ...] | Refusal:
    """Note the tree as it is now, once for each turn, and say what differs from ``head``: a tree is read once for both.

    ``turn`` None: only looked at. That it is not noted is no failure of the run: it is logged.
    """
    before = await asyncio.to_thread(noted, folder)
    if turn is None or any(one.turn == turn for one in before) or await asyncio.to_thread(_weight, folder) > MOST_BYTES:
        return await githelper.changed_files(tree, head)
    try:
        store = await asyncio.to_thread(_furnish, folder)
        async with open_lens(tree, beside=(store,)) as lens:
            if isinstance(lens, Refusal):
                return lens
            differ = await lens.compare(head, githelper.LISTED, limit=LISTING)
            if isinstance(differ, Refusal):
                return differ
            made = await _made(lens, differ.out, store, turn)
            found = await asyncio.to_thread(gitfacts.parse_changes, differ.out, lens.left_out)
    except OSError as problem:
        log.warning("the tree after turn %s was not noted: %s", turn, problem)
        return await githelper.changed_files(tree, head)
    if isinstance(made, Refusal):
        log.warning("the tree after turn %s was not noted: %s", turn, dict(made.facts))
    else:
        await asyncio.to_thread(_append, folder, made)
    return found


async def _made(lens: Lens, differ: bytes, store: Path, turn: int) -> NotedTree | Refusal:
    changes = await asyncio.to_thread(gitfacts.raw_changes, differ, lens.left_out)
    names = [name for change in changes for name in change.names]
    small, large = await asyncio.to_thread(_by_size, lens.tree, names)
    if len(small) > MOST_FILES:
        large, small = large + small[MOST_FILES:], small[:MOST_FILES]
    await asyncio.to_thread(_borrow, store, lens.objects)
    into = {"GIT_OBJECT_DIRECTORY": str(store)}
    for how, some in ((["--add", "--remove", "--replace"], small), (["--force-remove"], large)):
        if some:
            listed = b"".join(one + b"\0" for one in some)
            taken = await lens.run(["update-index", *how, "-z", "--stdin"], input=listed, more=into)
            if isinstance(taken, Refusal):
                return taken
    # A partial clone need not have what did not change.
    tree = await lens.run(["write-tree", "--missing-ok"], more=into)
    return tree if isinstance(tree, Refusal) else NotedTree(turn=turn, tree=tree.line, left=frozenset(large))


def _by_size(tree: Path, names: Iterable[bytes]) -> tuple[list[bytes], list[bytes]]:
    small: list[bytes] = []
    large: list[bytes] = []
    for name in dict.fromkeys(names):
        try:
            size = os.lstat(os.fsencode(tree) + b"/" + name).st_size
        except OSError:
            size = 0  # it is gone, which is a change as well
        (large if size > LARGE else small).append(name)
    return small, large


def _furnish(folder: Path) -> Path:
    store = store_of(folder)
    (store / "info").mkdir(mode=0o700, parents=True, exist_ok=True)
    return store


def _borrow(store: Path, objects: Path) -> None:
    """What did not change is in the repository already."""
    (store / "info" / "alternates").write_bytes(os.fsencode(objects) + b"\n")


def _append(folder: Path, one: NotedTree) -> None:
    row = {"turn": one.turn, "tree": one.tree, "left": sorted(os.fsdecode(name) for name in one.left)}
    try:
        (folder / _FOLDER).mkdir(mode=0o700, parents=True, exist_ok=True)
        with os.fdopen(os.open(folder / _FOLDER / "list", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600), "w") as file:
            file.write(json.dumps(row) + "\n")
    except OSError as problem:
        log.warning("the tree after turn %s was not noted: %s", one.turn, problem)


def _weight(folder: Path) -> int:
    total = 0
    for path, _folders, files in os.walk(folder / _FOLDER):
        total += sum(os.lstat(os.path.join(path, name)).st_size for name in files)  # noqa: PTH118 - many
    return total
