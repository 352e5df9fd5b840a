"""Whose the working trees are, by the ledger: who works in a repository itself, which ones are not free."""

from typing import Final

from coordinator.agreed import terms_of
from coordinator.terms import TreeKind
from coordinator.treepool import Belonging
from store import custody, runs
from store.tx import Tx
from store.vocab import Millis, RunId

RESTS: Final = Millis(24 * 3_600_000)
"""For how long after its end a run keeps its tree: until then it is likely to be gone on with."""
_NEWEST: Final = 500


def holder(tx: Tx, repository: str) -> RunId | None:
    """The run that works in the repository's own files, if one does. One that is just starting counts."""
    held = next((one.run for one in custody.not_closed(tx) if one.tree == repository), None)
    if held is not None:
        return held
    starting = runs.listing(tx, repository=repository, live_only=True, limit=_NEWEST)
    return next((run.id for run in starting if custody.of_run(tx, run.id) is None and _in_place(tx, run)), None)


def _in_place(tx: Tx, run: runs.Run) -> bool:
    terms = terms_of(tx, run)
    return terms is not None and terms.tree_kind is TreeKind.IN_PLACE


def belonging(tx: Tx) -> Belonging:
    """Trees of runs that are held, that just start, or that ended not long ago."""
    trees, theirs = {one.tree for one in custody.not_closed(tx)}, set[int]()
    for run in runs.listing(tx, limit=_NEWEST):
        if run.ended_at is None or run.ended_at > tx.now - RESTS:
            trees.add(run.tree)
            theirs.add(run.id)
            terms = terms_of(tx, run) if run.ended_at is None else None
            if terms is not None:
                trees.add(terms.tree)
    return Belonging(trees=frozenset(trees - {""}), runs=frozenset(theirs))
