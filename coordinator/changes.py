"""What a run changed: against its base, in one of its turns, or as it was kept when it ended.

Asked by a console, by a command without one, and by a review; so it is told where the run's things are and holds
nothing. Reading is bounded in time and output, and nothing is written but in a folder of our own. What is said of it
to a person stands in ``app``.
"""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from itertools import pairwise
from pathlib import Path
from typing import Final

from msgspec.structs import replace

from coordinator import gitfacts, turntrees
from coordinator.difftypes import Changes, ChangesFrom, ChangesNote, Diff, FileChange, Remark, TurnSpan
from coordinator.gitlens import Lens, literally, open_lens
from coordinator.gitrun import TIMEOUT, GitOutput, git_program
from coordinator.helperprocess import TIMEOUT as TOOK_TOO_LONG
from coordinator.keptchanges import DIFF_LIMIT, MOST_FILES, kept, kept_diff
from coordinator.runplace import RunPlace
from coordinator.turntrees import NotedTree
from store.refusal import Refusal
from store.vocab import RefusalReason

PATCH_LIMIT: Final = 32 * 1024 * 1024
"""Bytes of all files' lines together."""
_LISTING: Final = 32 * 1024 * 1024


# --------------------------------------------------------------------------------------------------------- the files


async def read(place: RunPlace, turn: int | None = None) -> Changes | Refusal:
    """Which files, and what must be known of the list."""
    known = await _noted(place)
    if turn is not None:
        return await _of_turn(place, known, turn)
    if place.over or place.folder is None:
        return kept(place, _spans(place, known))
    return await _of_tree(place, known)


async def _noted(place: RunPlace) -> tuple[NotedTree, ...]:
    return () if place.folder is None else await asyncio.to_thread(turntrees.noted, place.folder)


async def _of_tree(place: RunPlace, known: tuple[NotedTree, ...]) -> Changes | Refusal:
    async with _lens(place) as lens:
        if isinstance(lens, Refusal):
            return lens
        found = await _listed(lens, place.head)
        if isinstance(found, Refusal):
            return found
        files, remarks = _files(found, lens.left_out)
        before = await _changed_before(lens, place, known)
    if before:
        files = tuple(replace(one, before=not before.isdisjoint(one.names)) for one in files)
    marked = sum(one.before for one in files)
    if marked:
        remarks.insert(0, Remark(what=ChangesNote.BEFORE, count=marked))
    if before is None and files:
        remarks.append(Remark(what=ChangesNote.BEFORE_UNKNOWN))
    spans = _spans(place, known)
    if not spans and place.newest > 1:
        remarks.append(Remark(what=ChangesNote.TURNS_UNKNOWN))
    return Changes(
        run=place.run,
        source=ChangesFrom.TREE,
        tree=str(place.tree),
        base=place.head,
        turn=None,
        files=files,
        turns=spans,
        remarks=(*remarks, *await _submodules(place.tree)),
    )


async def _changed_before(lens: Lens, place: RunPlace, known: tuple[NotedTree, ...]) -> frozenset[bytes] | None:
    """Names of what differed from the commit when the run began; None: nobody noted it."""
    first = next((one for one in known if one.turn == 0), None)
    if first is None:
        return frozenset() if place.tree != place.repository else None
    if first.tree == place.head:
        return first.left
    found = await lens.compare_trees(lens.start(place.head), first.tree, (), ["--raw", "-z"], limit=_LISTING)
    if isinstance(found, Refusal):
        return None
    return first.left.union(*(one.names for one in gitfacts.raw_changes(found.out)))


async def _of_turn(place: RunPlace, known: tuple[NotedTree, ...], turn: int) -> Changes | Refusal:
    spans = _spans(place, known)
    between = _between(place, known, turn)
    if between is None:
        remark = Remark(what=ChangesNote.TURNS_UNKNOWN)
        return Changes(
            run=place.run,
            source=ChangesFrom.TURNS,
            tree=str(place.tree),
            base="",
            turn=turn,
            files=(),
            turns=spans,
            remarks=(remark,),
        )
    one, other = between
    async with _lens(place) as lens:
        if isinstance(lens, Refusal):
            return lens
        found = await _listed(lens, one.tree, other.tree if other else None)
        if isinstance(found, Refusal):
            return found
        left = one.left | (other.left if other else frozenset())
        files, remarks = _files(found, lens.left_out | left, left)
    if left:
        remarks.append(Remark(what=ChangesNote.LEFT_OUT, count=len(left)))
    return Changes(
        run=place.run,
        source=ChangesFrom.TURNS if other else ChangesFrom.TREE,
        tree=str(place.tree),
        base="",
        turn=turn,
        files=files,
        turns=spans,
        remarks=(*remarks, *await _submodules(place.tree)),
    )


def _spans(place: RunPlace, known: tuple[NotedTree, ...]) -> tuple[TurnSpan, ...]:
    spans = [TurnSpan(first=one.turn + 1, last=other.turn) for one, other in pairwise(known)]
    if known and not place.over and place.newest > known[-1].turn:
        spans.append(TurnSpan(first=known[-1].turn + 1, last=place.newest, running=place.flying))
    return tuple(spans)


def _between(place: RunPlace, known: tuple[NotedTree, ...], turn: int) -> tuple[NotedTree, NotedTree | None] | None:
    """The states before and after the span that has this turn; None after: the files as they are."""
    for one, other in pairwise(known):
        if one.turn < turn <= other.turn:
            return one, other
    if known and not place.over and known[-1].turn < turn <= place.newest:
        return known[-1], None
    return None


async def _listed(lens: Lens, base: str, other: str | None = None) -> tuple[GitOutput, bool] | Refusal:
    """And whether lines were counted."""
    found: GitOutput | Refusal = await _compared(lens, base, other, ["--raw", "--numstat", "-z"])
    if isinstance(found, GitOutput):
        return found, True
    if found.facts.get("exit") == TOOK_TOO_LONG:
        found = await _compared(lens, base, other, ["--raw", "-z"])
    return (found, False) if isinstance(found, GitOutput) else _said(found, lens.tree)


async def _compared(lens: Lens, base: str, other: str | None, how: Sequence[str]) -> GitOutput | Refusal:
    if other is None:
        return await lens.compare(base, how, limit=_LISTING, cut_ok=True)
    return await lens.compare_trees(lens.start(base), other, (), how, limit=_LISTING, cut_ok=True)


def _files(
    found: tuple[GitOutput, bool], away: frozenset[bytes], left: frozenset[bytes] = frozenset()
) -> tuple[tuple[FileChange, ...], list[Remark]]:
    output, counted = found
    # What was cut ends in the middle of a record.
    raw = output.out[: output.out.rfind(b"\0") + 1] if output.cut else output.out
    changes = [one for one in gitfacts.raw_changes(raw, away) if left.isdisjoint(one.names)]
    changes.sort(key=lambda one: one.names[0])
    remarks = []
    if output.cut or len(changes) > MOST_FILES:
        remarks.append(Remark(what=ChangesNote.MORE, count=-1 if output.cut else len(changes) - MOST_FILES))
    if not counted:
        remarks.append(Remark(what=ChangesNote.UNCOUNTED))
    files = tuple(
        FileChange(
            path=gitfacts.text(one.names[0]),
            names=one.names,
            status=one.status,
            added=one.added,
            removed=one.removed,
            was=gitfacts.text(one.names[1]) if len(one.names) > 1 else "",
        )
        for one in changes[:MOST_FILES]
    )
    return files, remarks


async def _submodules(tree: Path) -> tuple[Remark, ...]:
    there = await asyncio.to_thread((tree / ".gitmodules").is_file)
    return (Remark(what=ChangesNote.SUBMODULES),) if there else ()


@asynccontextmanager
async def _lens(place: RunPlace) -> AsyncIterator[Lens | Refusal]:
    """On the run's tree; where that is gone, on the repository: two states that were noted need no files."""
    there = not place.over or await asyncio.to_thread(place.tree.is_dir)
    store = (turntrees.store_of(place.folder),) if place.folder is not None else ()
    async with open_lens(place.tree if there else place.repository, beside=store) as lens:
        yield lens


def _said(refusal: Refusal, tree: Path) -> Refusal:
    """In the words that a person is told."""
    if refusal.reason is not RefusalReason.GIT_FAILED:
        return refusal
    why = str(refusal.facts.get("stderr", "")) or f"it ended with {refusal.facts.get('exit')}"
    if refusal.facts.get("exit") == TOOK_TOO_LONG:
        why = f"comparing took longer than {TIMEOUT:.0f} s"
    return Refusal(RefusalReason.GIT_FAILED, {**refusal.facts, "problem": why, "path": str(tree)})


# --------------------------------------------------------------------------------------------------------- the lines


async def diff(place: RunPlace, turn: int | None = None, names: Sequence[bytes] = ()) -> Diff | Refusal:
    """The lines of these files, of none of all of them."""
    limit = DIFF_LIMIT if names else PATCH_LIMIT
    how = ["--patch", "--no-color"]
    if turn is None and (place.over or place.folder is None):
        return kept_diff(place, names)
    between = None
    if turn is not None:
        between = _between(place, await _noted(place), turn)
        if between is None:
            return Diff(patch=b"")
    async with _lens(place) as lens:
        if isinstance(lens, Refusal):
            return lens
        base, other = (between[0].tree, between[1]) if between is not None else (place.head, None)
        if other is not None:
            found = await lens.compare_trees(base, other.tree, names, how, limit=limit, cut_ok=True)
        elif names:
            found = await lens.compare_files(base, names, how, limit=limit, cut_ok=True)
        else:
            found = await lens.compare(base, how, limit=limit, cut_ok=True)
    return _said(found, place.tree) if isinstance(found, Refusal) else Diff(patch=found.out, cut=found.cut)


@asynccontextmanager
async def for_tool(
    place: RunPlace, turn: int | None, names: Sequence[bytes]
) -> AsyncIterator[tuple[list[str], dict[str, str]] | Refusal]:
    """The command, and variables, with which the operator's own diff tool shows these files, while the block
    lasts. The tool is named by the operator's configuration; that of the repository, which an agent can write, is not
    read."""
    between = None if turn is None else _between(place, await _noted(place), turn)
    async with _lens(place) as lens:
        if isinstance(lens, Refusal):
            yield lens
            return
        base, other = (between[0].tree, between[1]) if between is not None else (place.head, None)
        if other is None:
            noted = await lens.note_files(base, names)
            if isinstance(noted, Refusal):
                yield _said(noted, place.tree)
                return
        sides = [lens.start(base), *([other.tree] if other else [])]
        arguments = [
            git_program() or "git",
            "-C",
            str(lens.tree),
            "difftool",
            "--no-prompt",
            *sides,
            "--",
            *literally(names),
        ]
        variables = {name: lens.environment[name] for name in ("GIT_DIR", "GIT_WORK_TREE", "GIT_DEFAULT_HASH")}
        yield arguments, {**variables, "GIT_INDEX_FILE": f"{variables['GIT_DIR']}/index"}
