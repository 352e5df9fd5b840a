"""An answer in the books, whoever gave it: the operator, or a standing rule that they signed.

For one that goes by the control channel the decision, the bytes and that they are on their way are one transaction, so
that a console which dies at any point leaves it proven sent, or proven not. Whether it may be given at all is decided
before; sending it comes after.
"""

from store import attention, control_writes, decisions
from store.db import Tx
from store.refusal import Refusal
from store.vocab import AttentionKind, RefusalReason


def given(
    tx: Tx, asked: decisions.Decision, *, answer: str, by: str, revision: int, payload_hash: str
) -> decisions.Decision | Refusal:
    """Answered; where the answer goes with a later turn, that is all. ``answer``: encoded and redacted.

    Refused as ``stale`` or ``already-answered`` where it was given to something else than stands there now.
    """
    answered = decisions.answer(
        tx, id=asked.id, revision=revision, payload_hash=payload_hash, answer=answer, operator=by
    )
    if not isinstance(answered, Refusal):
        attention.clear(tx, run=asked.run, kind=AttentionKind.DECISION, key=str(asked.id), by=by)
    return answered


def on_its_way(
    tx: Tx, answered: decisions.Decision, *, generation: int, length: int, digest: str
) -> decisions.Decision | Refusal:
    """The bytes of an answer by the control channel, under the id by which the keeper writes them at most once."""
    write_id = f"answer-{answered.id}-{answered.revision}"
    control_writes.asked(
        tx, run=answered.run, id=write_id, generation=generation, what="answer", length=length, digest=digest
    )
    return decisions.deliver(tx, id=answered.id, write_id=write_id) or Refusal(RefusalReason.STALE)
