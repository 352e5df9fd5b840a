"""What became of a run's tree, from the run's own chain: for a review, which reads no repository.

``disposing`` writes what was ordered before git is touched and what came of it after; an order that nothing follows was
refused or cut off.
"""

import msgspec
from msgspec import Struct

from coordinator.treetypes import Disposal
from store import entries
from store.tx import Tx
from store.vocab import Millis, RunId

CHAIN = "tree."
"""With this the kinds of these entries begin."""
DONE = {
    Disposal.KEEP: "tree.kept",
    Disposal.MERGE: "tree.merged",
    Disposal.PICK: "tree.picked",
    Disposal.DISCARD: "tree.discarded",
    Disposal.RESTORE: "tree.restored",
}
_HOW = {kind: how for how, kind in DONE.items()}


class Disposition(Struct, frozen=True, kw_only=True):
    how: Disposal
    at: Millis
    operator: str
    done: bool
    """False: it was ordered, and nothing came of it."""
    branch: str = ""
    commit: str = ""
    target: str = ""
    """The branch that it went to, of a merge or pick."""


class _Body(msgspec.Struct):
    operator: str = ""
    how: str = ""
    branch: str = ""
    commit: str = ""
    target: str = ""


def of_run(tx: Tx, run: RunId) -> tuple[Disposition, ...]:
    """Oldest first; what another version wrote and is not understood is passed by."""
    found: list[Disposition] = []
    for entry in entries.beginning(tx, run, CHAIN):
        try:
            body = msgspec.json.decode(entry.body.encode(), type=_Body)
            how = _HOW[entry.kind] if entry.kind in _HOW else Disposal(body.how)
        except (msgspec.DecodeError, ValueError):
            continue
        if entry.kind in _HOW and found and found[-1].how is how and not found[-1].done:
            found.pop()  # what was ordered is what was done
        found.append(
            Disposition(
                how=how,
                at=entry.at,
                operator=body.operator,
                done=entry.kind in _HOW,
                branch=body.branch,
                commit=body.commit,
                target=body.target,
            )
        )
    return tuple(found)
