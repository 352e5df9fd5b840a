"""What an operator looks up: what was said before, the files that can be named, what a run changed.

No run hears of any of it, so it works for runs that have ended or that another console holds, and before any start.
"""

import asyncio
from pathlib import Path
from typing import Final

from coordinator import changes, imagefiles
from coordinator.api import (
    ImageProblem,
    ImageSeen,
    ImagesSeen,
    ListFiles,
    LookAtImages,
    ReadChanges,
    ReadDiff,
    ReadSaid,
    ReadSaidBefore,
    Reply,
    SaidBefore,
    SaidOnce,
    TrackedFiles,
)
from coordinator.githelper import run_git
from coordinator.house import House
from coordinator.runplace import place_of
from store import runs, said
from store.refusal import Refusal
from store.vocab import RefusalReason, RunId

MOST_FILES: Final = 50_000
_LISTING: Final = 16 * 1024 * 1024
_SECONDS: Final = 10.0

DeskCommand = ReadSaidBefore | ReadSaid | ListFiles | LookAtImages | ReadChanges | ReadDiff


async def serve(house: House, command: DeskCommand) -> Reply:
    match command:
        case ReadSaidBefore():
            found = await house.ledger.read(lambda tx: said.said_in(tx, command.repository))
            return SaidBefore(
                texts=tuple(
                    SaidOnce(turn=one.turn, at=one.at, text=one.text, whole=one.whole, bytes=one.bytes) for one in found
                )
            )
        case ReadSaid():
            return await house.ledger.read(lambda tx: said.text_of(tx, command.turn) or "")
        case ListFiles():
            return await _files(house, command)
        case LookAtImages():
            return await _images(house, command)
        case ReadChanges() | ReadDiff():
            return await _changed(house, command)


async def _changed(house: House, command: ReadChanges | ReadDiff) -> Reply:
    """Of any run: its own console does not hear of it either."""
    place = await house.ledger.read(lambda tx: place_of(tx, command.run, spool=house.settings.spool))
    if isinstance(place, Refusal):
        return place
    if isinstance(command, ReadChanges):
        return await changes.read(place, command.turn)
    return await changes.diff(place, command.turn, command.names)


async def not_held(house: House, run: RunId) -> Refusal:
    """Why an order for this run finds nobody here."""
    row = await house.ledger.read(lambda tx: runs.get(tx, run))
    if row is None:
        return Refusal(RefusalReason.NO_SUCH_RUN, {"run": run})
    if row.outcome is not None:
        return Refusal(RefusalReason.ALREADY_ENDED, {"run": run})
    return Refusal(RefusalReason.OWNED_BY_ANOTHER, {"run": run, "owner": row.incarnation})


async def _tree(house: House, command: ListFiles | LookAtImages) -> str | Refusal:
    wanted = command.run
    if wanted is None:
        return command.repository
    run = await house.ledger.read(lambda tx: runs.get(tx, wanted))
    return Refusal(RefusalReason.NO_SUCH_RUN, {"run": wanted}) if run is None else run.tree


async def _images(house: House, command: LookAtImages) -> ImagesSeen | Refusal:
    """On a thread, and not waited for without end: a name may lead to a file system that does not answer."""
    tree = await _tree(house, command)
    if isinstance(tree, Refusal):
        return tree
    try:
        async with asyncio.timeout(_SECONDS):
            seen = await asyncio.to_thread(
                imagefiles.look, Path(tree), command.names, house.redactor, whole=command.whole
            )
    except TimeoutError:
        seen = tuple(ImageSeen(name=name, problem=ImageProblem.UNREADABLE) for name in command.names)
    return ImagesSeen(images=seen)


async def _files(house: House, command: ListFiles) -> TrackedFiles | Refusal:
    """Through the held helper, as all of git: an agent may have written the configuration of that tree."""
    tree = await _tree(house, command)
    if isinstance(tree, Refusal):
        return tree
    if not await asyncio.to_thread(Path(tree).is_dir):
        return Refusal(RefusalReason.NOT_A_REPOSITORY, {"path": tree})
    found = await run_git(["ls-files", "-z"], cwd=Path(tree), limit=_LISTING, timeout=_SECONDS, cut_ok=True)
    if isinstance(found, Refusal):
        return found
    paths, more = await asyncio.to_thread(_parsed, found.out, found.cut)
    return TrackedFiles(tree=tree, paths=paths, more=more)


def _parsed(raw: bytes, cut: bool) -> tuple[tuple[str, ...], bool]:
    """Names that can be written in a text. One with a control character, or of other bytes, can not be named."""
    names = raw.split(b"\0")
    if cut:
        names.pop()  # the last one may be a half
    out: dict[str, None] = {}
    for name in names:
        if len(out) >= MOST_FILES:
            return tuple(out), True
        try:
            path = name.decode()
        except UnicodeDecodeError:
            continue
        if path and path.isprintable():
            out[path] = None
    return tuple(out), cut
