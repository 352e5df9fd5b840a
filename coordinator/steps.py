"""The named steps of a hold's life at which a crash is tried: one list, so that the tests can try them all.

A step is a place between two things that must not be torn apart unseen: a commit and the bytes that follow it, bytes
and the commit that follows them. ``reach`` is called there and costs one comparison; only a test installs a hook. What
a crash at a step must come to is in the tests (``tests/faults``), never here.
"""

from collections.abc import Callable, Sequence
from enum import StrEnum

from coordinator import machine


class Step(StrEnum):
    """In the order of a run's life. New ones go where they belong; the fault matrix takes each up by itself."""

    # Admission, tree, proof.
    ADMITTED = "admitted"
    TREE_PREPARED = "tree-prepared"
    PROVEN = "proven"
    # Spawn.
    SUPERVISOR_STARTED = "supervisor-started"
    SUPERVISOR_STAMPED = "supervisor-stamped"
    AGENT_STARTED = "agent-started"
    AGENT_STAMPED = "agent-stamped"
    BEFORE_HANDSHAKE = "before-handshake"
    HANDSHAKE_SENT = "handshake-sent"
    AGENT_READY = "agent-ready"
    BEFORE_FIRST_BYTE = "before-first-byte"
    LIVE = "live"
    # A turn.
    TURN_RECORDED = "turn-recorded"
    TURN_BEFORE_WRITE = "turn-before-write"
    TURN_AFTER_WRITE = "turn-after-write"
    TURN_ACCEPTED = "turn-accepted"
    # A decision.
    DECISION_ASKED = "decision-asked"
    ANSWER_COMMITTED = "answer-committed"
    CONTROL_BEFORE_WRITE = "control-before-write"
    CONTROL_AFTER_WRITE = "control-after-write"
    DECISION_RESOLVED = "decision-resolved"
    # Settlement and what comes of it.
    TURN_SETTLED = "turn-settled"
    MAILBOX_READ = "mailbox-read"
    MAILBOX_BOOKED = "mailbox-booked"
    MAILBOX_UNLINKED = "mailbox-unlinked"
    PARK_ANSWERS_SENT = "park-answers-sent"
    # The line.
    QUEUED = "queued"
    QUEUE_TAKEN = "queue-taken"
    QUEUE_SENT = "queue-sent"
    # The end: stop and fence.
    BEFORE_ORDER = "before-order"
    ORDERED = "ordered"
    BEFORE_FENCE_BOOKED = "before-fence-booked"
    FENCE_BOOKED = "fence-booked"
    # The end: conclude.
    CONCLUDE_BEGUN = "conclude-begun"
    CONCLUDE_BOOKED = "conclude-booked"
    CONCLUDE_ORDERED = "conclude-ordered"
    # Gone.
    GONE_SEEN = "gone-seen"
    BEFORE_CLOSED = "before-closed"
    CLOSED = "closed"
    SUPERVISOR_ENDED = "supervisor-ended"
    # Extension, with a restart in place.
    EXTENSION_SIGNED = "extension-signed"
    RESTART_ORDERED = "restart-ordered"
    OLD_GONE = "old-gone"
    OLD_RECEIPT_KEPT = "old-receipt-kept"
    NEXT_STARTED = "next-started"
    # Sweep and re-adoption.
    SEIZED = "seized"
    BEFORE_ATTACH = "before-attach"
    ATTACHED = "attached"
    CATCHING_UP = "catching-up"
    TAKEN_BACK = "taken-back"
    CAUGHT_UP = "caught-up"
    SPOOL_TAKEN_IN = "spool-taken-in"
    # A task of the queue: its claim, and what becomes of it when its run has ended.
    QUEUE_BEGUN = "queue-begun"
    QUEUE_CLAIMED = "queue-claimed"
    QUEUE_ADMITTED = "queue-admitted"
    QUEUE_PENDING = "queue-pending"
    QUEUE_DECIDED = "queue-decided"
    QUEUE_CARRIED_OUT = "queue-carried-out"
    QUEUE_ACKNOWLEDGED = "queue-acknowledged"


Hook = Callable[[Step], None]

_hook: Hook | None = None

_OF_BOOKS: dict[type, Step] = {
    machine.BookReady: Step.AGENT_READY,
    machine.BookAccepted: Step.TURN_ACCEPTED,
    machine.BookDecision: Step.DECISION_ASKED,
    machine.BookResolved: Step.DECISION_RESOLVED,
    machine.BookSettled: Step.TURN_SETTLED,
}


def install(hook: Hook | None) -> None:
    """For a test: called at each step from now on."""
    global _hook
    _hook = hook


def reach(step: Step) -> None:
    """The step was reached: what stands before it in the code is done, what stands after it is not."""
    if _hook is not None:
        _hook(step)


def committed(books: Sequence[machine.Book]) -> None:
    """A batch of the agent's output is in the ledger, and nothing was done about it yet."""
    if _hook is None:
        return
    for book in books:
        step = _OF_BOOKS.get(type(book))
        if step is not None:
            _hook(step)
