"""Where what a run changed is to be read: told from the ledger once, so that nobody who compares needs one."""

from pathlib import Path

from msgspec import Struct

from store import custody, evidence, runs, turns
from store.evidence import Evidence
from store.refusal import Refusal
from store.tx import Tx
from store.vocab import EvidenceKind, RefusalReason, RunId, TurnState


class RunPlace(Struct, frozen=True, kw_only=True):
    """Where what a run changed is to be read."""

    run: RunId
    tree: Path
    repository: Path
    head: str
    """'' where there was no commit."""
    folder: Path | None
    """Where the run's trees were noted; None: nowhere."""
    newest: int
    """The newest turn that may have changed something; 0 for none."""
    flying: bool
    """It runs."""
    over: bool
    status: Evidence | None = None
    diff: Evidence | None = None
    """As they were kept; of a run that is over."""


def place_of(tx: Tx, run: RunId, *, spool: Path | None) -> RunPlace | Refusal:
    """``spool``: None where only what was kept can be read, as in a copy of a ledger."""
    row = runs.get(tx, run)
    if row is None:
        return Refusal(RefusalReason.NO_SUCH_RUN, {"run": run})
    began = [one for one in turns.of_run(tx, run) if one.state is not TurnState.CANCELLED]
    hold = custody.of_run(tx, run)
    kept = dict.fromkeys((EvidenceKind.STATUS, EvidenceKind.DIFF), 0)
    for id, kind, *_ in evidence.listing(tx, run):
        if kind in kept:
            kept[EvidenceKind(kind)] = id
    over = row.outcome is not None
    return RunPlace(
        run=run,
        tree=Path(row.tree),
        repository=Path(row.repository),
        head=row.head,
        folder=spool / hold.id if spool is not None and hold is not None else None,
        newest=max((one.n for one in began), default=0),
        flying=any(one.ended_at is None for one in began) and not over,
        over=over,
        status=evidence.get(tx, kept[EvidenceKind.STATUS]) if over else None,
        diff=evidence.get(tx, kept[EvidenceKind.DIFF]) if over else None,
    )
