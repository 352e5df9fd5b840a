"""Section 13 of the design: every default duration and bound, in one table. A test holds ladder < conclude < close."""

from msgspec import Struct

from coordinator.custody.types import Ladder

TURN_BYTES = 1024 * 1024
IMAGE_BYTES = 5 * 1024 * 1024
IMAGES_OF_A_TURN = 10
IMAGES_BYTES = 20 * 1024 * 1024
"""Of one turn together: as base64 they are a third larger, and a model takes no request above 32 MB."""
MAILBOX_BYTES = 64 * 1024
REPAIRS_IN_A_ROW = 2
ENDS_SOON = 600.0
"""Seconds before a run's end at which a person is told that it comes; for a short run a part of its time."""
AGREED_SECONDS = 24 * 3600
"""For how long an attempt at a task may be begun under what was agreed to, where nothing else is said."""
RETRY_FIRST = 30.0
RETRY_GROWTH = 4
RETRY_MOST = 1800.0
"""Seconds before a task is tried again: the first wait, by how much each is longer, the longest."""


class Timing(Struct, frozen=True, kw_only=True):
    """Seconds, but where a name says otherwise. Tests shorten them; the configuration may lengthen them."""

    hold_renewal: float = 2.0
    hold_seconds: float = 600.0
    attendance: float = 1800.0
    lapse_grace: float = 600.0
    stalled_after: float = 120.0
    ladder: Ladder = Ladder()
    close_deadline: float = 30.0
    spawn: float = 10.0
    start_timeout: float = 60.0
    write: float = 30.0
    accept: float = 60.0
    interrupt: float = 10.0
    interrupt_ack: float = 3.0
    attach: float = 2.0
    command: float = 5.0
    command_poll: float = 1.0
    turn_timeout: float | None = None
    """Of work, not of waiting for the operator; None: a turn takes as long as it takes."""
