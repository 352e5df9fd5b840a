"""What a hold's keeper reports of its agent's end, as the records come: for the screen, and for the books' reason.

Nothing is written here and nobody is ended; what follows from an order that was given elsewhere is put into the inbox.
"""

from typing import TYPE_CHECKING

from coordinator import closing, machine, stuck
from coordinator.api import EndingView
from coordinator.custody.types import RecordKind, SpoolRecord
from store.vocab import EndReason, Millis

if TYPE_CHECKING:
    from coordinator.session import HeldSession


def follow(session: "HeldSession", record: SpoolRecord) -> None:
    """Take note of one record; those that are about no end say only that the keeper lives."""
    session.heard_at = Millis(record.at_ms)
    match record.kind:
        case RecordKind.EXIT:
            session.exited_at = session.heard_at if record.generation >= session.generation else None
        case RecordKind.FENCE:
            _fence_seen(session, record)
        case RecordKind.STEP:
            closing.show_step(session, record)
        case RecordKind.GONE if not record.facts.get("restart"):
            session.gone = record
            # With its outcome written before, this is another look: what remained then may be gone by now.
            again = session.rows.run is not None and session.rows.run.outcome is not None
            session.set_deadline(stuck.TIMER, stuck.LOOK if again and record.facts.get("remaining") else None)
        case _:
            pass


def _fence_seen(session: "HeldSession", record: SpoolRecord) -> None:
    # The first reason in the spool wins, whoever gave it (a hold that ran out, another process, this console).
    reason = str(record.facts.get("reason", ""))
    if session.live.ending is None:
        session.live.ending = EndingView(reason=reason, since=Millis(record.at_ms), steps=(("no-new-turns", 0),))
    if reason in (EndReason.FINISHED, EndReason.HANDOFF) and session.stop_reason is None:
        # Only a conclusion orders that, this console's or the one's before it.
        session.concluding = EndReason(reason)
        return
    if session.stop_reason is None:
        session.stop_reason = reason
    if session.state.fencing is None and not session.state.concluding:
        session.inbox.command(machine.FenceAsked(reason=reason))
