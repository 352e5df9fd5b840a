"""What was agreed to for a run, as its ledger has it, for whoever goes by it without having it checked again: the final
proof before a start and the proof before a turn say why terms cannot be read, and stand in ``recording``."""

from coordinator.terms import Terms, parse
from store import authorizations, runs
from store.tx import Tx


def terms_of(tx: Tx, run: runs.Run) -> Terms | None:
    """None: they are not there, or another version wrote them."""
    signed = authorizations.get(tx, run.authorization_id)
    terms = parse(signed.terms) if signed is not None else None
    return terms if isinstance(terms, Terms) else None
