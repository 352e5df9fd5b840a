"""What a run changed, as it was kept in the ledger when it ended: the list of files and the diff, put together. Pure.

The diff may have been cut, and either may not have been read: what is missing is told, never guessed.
"""

import re
from collections.abc import Iterator, Sequence
from typing import Final

from coordinator.difftypes import Changes, ChangesFrom, ChangesNote, Diff, FileChange, Remark, TurnSpan
from coordinator.evidence import as_listed
from coordinator.patches import sections
from coordinator.runplace import RunPlace

MOST_FILES: Final = 10_000
"""Listed; of more it is said how many."""
DIFF_LIMIT: Final = 2 * 1024 * 1024
"""Bytes of some files' lines."""

_ROW: Final = re.compile(r"([A-Z?])\t(\d+|-)\t(\d+|-)\t(.*)")


def kept(place: RunPlace, spans: tuple[TurnSpan, ...] = ()) -> Changes:
    """What the ledger has of it: the list of files, with what the diff tells beyond it."""
    remarks: list[Remark] = []
    files: tuple[FileChange, ...] = ()
    if not place.over:
        remarks.append(Remark(what=ChangesNote.GOES_ON))
    elif place.status is None and place.diff is None:
        remarks.append(Remark(what=ChangesNote.NOTHING_KEPT))
    else:
        files = tuple(_kept_files(place))
        if len(files) > MOST_FILES:
            remarks.append(Remark(what=ChangesNote.MORE, count=len(files) - MOST_FILES))
        for piece in (place.status, place.diff):
            if piece is not None and piece.note.startswith("not read"):
                remarks.append(Remark(what=ChangesNote.NOT_READ, text=piece.note.partition(": ")[2]))
        if place.diff is not None and place.diff.note.startswith("cut"):
            remarks.append(Remark(what=ChangesNote.CUT))
    return Changes(
        run=place.run,
        source=ChangesFrom.KEPT,
        tree=str(place.tree),
        base=place.head,
        turn=None,
        files=files[:MOST_FILES],
        turns=spans,
        remarks=tuple(remarks),
    )


def _kept_files(place: RunPlace) -> Iterator[FileChange]:
    text = "" if place.diff is None else place.diff.content.decode("utf-8", "replace")
    patches = {as_listed(one.path): one for one in sections(text)}
    rows = [] if place.status is None else place.status.content.decode("utf-8", "replace").split("\n")
    for row in rows:
        told = _ROW.fullmatch(row)
        if told is None:
            continue
        patch = patches.pop(told[4], None)
        path = told[4] if patch is None else patch.path
        yield FileChange(
            path=path,
            names=(path.encode("utf-8", "replace"),),
            status=told[1],
            added=None if told[2] == "-" else int(told[2]),
            removed=None if told[3] == "-" else int(told[3]),
            was="" if patch is None else patch.was,
        )
    for patch in patches.values():
        yield FileChange(
            path=patch.path,
            names=(patch.path.encode("utf-8", "replace"),),
            status=patch.status,
            added=patch.added,
            removed=patch.removed,
            was=patch.was,
        )


def kept_diff(place: RunPlace, names: Sequence[bytes]) -> Diff:
    if place.diff is None:
        return Diff(patch=b"")
    cut = place.diff.note.startswith("cut")
    if not names:
        return Diff(patch=place.diff.content, cut=cut)
    found = list(sections(place.diff.content.decode("utf-8", "replace")))
    wanted = set(names)
    chosen = [one for one in found if one.path.encode("utf-8", "replace") in wanted]
    patch = "\n".join(one.text.removesuffix("\n") for one in chosen).encode("utf-8", "replace")
    whole = patch + b"\n" if patch else b""
    # Of the last file that it has, the end may be missing.
    return Diff(patch=whole[:DIFF_LIMIT], cut=len(whole) > DIFF_LIMIT or (cut and bool(found) and found[-1] in chosen))
