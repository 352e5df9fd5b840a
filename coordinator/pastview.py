"""A run as the ledger alone tells it: the one view of what is not held here, for the live console and for a review.

Pure given a ``Tx``: whether the console that owns a run still lives is asked by whoever may ask the system.
"""

import msgspec

from coordinator import views
from coordinator.api import SessionView
from coordinator.custody.receipts import receipt_from_facts
from coordinator.recording import effective_limits
from coordinator.rows import SessionRows
from coordinator.terms import Terms
from store.db import Tx


def past_session(tx: Tx, rows: SessionRows, terms: Terms) -> SessionView:
    """
    Raises:
        AssertionError: there is no such run, or its terms were never signed.
    """
    assert rows.run is not None and rows.authorization is not None
    receipt = None
    if rows.receipt:
        receipt = receipt_from_facts(msgspec.json.decode(rows.receipt.encode()))
    return views.session_view(
        rows,
        terms=terms,
        limits=effective_limits(tx, rows.authorization, terms),
        live=None,
        state=None,
        capabilities=None,
        receipt=receipt,
        now=rows.run.ended_at or tx.now,
    )
