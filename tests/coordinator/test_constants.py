"""Section 13 of the design as the code has it, the order among its values, and words for every no and every end."""

import pytest

from app.console.views.standing import SILENT_FROM
from app.wording_endings import end_reason, outcome
from app.wording_refusals import sentence
from coordinator import constants, gitrun, mailbox
from coordinator.constants import Timing
from coordinator.custody.types import HoldSpec, Ladder
from store import moves
from store.refusal import Refusal
from store.vocab import CustodyState, EndReason, RefusalReason, RunOutcome

MIB = 1024 * 1024
TIMING = Timing()
TOLD = {
    "hold_renewal": 2,
    "hold_seconds": 600,
    "attendance": 30 * 60,
    "lapse_grace": 10 * 60,
    "stalled_after": 2 * 60,
    "close_deadline": 30,
    "spawn": 10,
    "start_timeout": 60,
    "write": 30,
    "accept": 60,
    "interrupt": 10,
    "interrupt_ack": 3,
    "attach": 2,
    "command": 5,
    "command_poll": 1,
    "turn_timeout": None,
}


@pytest.mark.parametrize("name", list(TOLD))
def test_each_default_is_the_designs(name: str) -> None:
    assert getattr(TIMING, name) == TOLD[name]


def test_the_ladder_ends_before_a_close_gives_up() -> None:
    ladder = TIMING.ladder
    assert (ladder.farewell, ladder.eof, ladder.term, ladder.total) == (5, 2, 3, 15)
    assert ladder.farewell + ladder.eof + ladder.term <= ladder.total
    assert ladder.farewell + ladder.eof + ladder.term + ladder.not_dying <= ladder.total
    assert ladder.total < TIMING.close_deadline


def test_what_is_renewed_is_renewed_many_times_before_it_runs_out() -> None:
    # A request to a supervisor that does not answer holds the actor up for `command`, a busy ledger for five seconds.
    assert TIMING.hold_renewal + TIMING.command + 5 < TIMING.hold_seconds / 10
    assert TIMING.interrupt_ack < TIMING.interrupt
    assert TIMING.stalled_after * 1000 > SILENT_FROM
    assert TIMING.lapse_grace < TIMING.attendance
    assert TIMING.spawn < TIMING.start_timeout


def test_sizes() -> None:
    needed = {
        "custody": "c",
        "run": 1,
        "authorization": "a",
        "folder": None,
        "cookie": "",
        "nonce": "",
        "hold_seconds": 1,
    }
    spec = HoldSpec(**needed)  # type: ignore[arg-type]
    assert gitrun.TIMEOUT == 20
    assert (spec.line_limit, spec.spool_limit, spec.chunk_limit) == (128 * MIB, 4096 * MIB, MIB // 4)
    assert (constants.TURN_BYTES, constants.MAILBOX_BYTES, constants.REPAIRS_IN_A_ROW) == (MIB, 64 * 1024, 2)
    assert mailbox.MAILBOX_BYTES is constants.MAILBOX_BYTES
    assert set(Ladder.__struct_fields__) == {"farewell", "eof", "term", "total", "not_dying"}


def test_every_no_and_every_end_has_words_of_its_own() -> None:
    said = {reason: sentence(Refusal(reason)) for reason in RefusalReason}
    ends = {reason: end_reason(reason) for reason in EndReason}
    for reason, words in {**said, **ends}.items():
        assert words and reason.value != words, reason
    assert end_reason("exited:7") != end_reason("exited:SIGKILL"), "the code or signal is said"
    assert len({outcome(one) for one in RunOutcome}) == len(RunOutcome)


def test_every_hold_can_be_forced_to_its_end() -> None:
    for state in CustodyState:
        reached, left = {state}, [state]
        while left:
            new = moves.CUSTODY[left.pop()] - reached
            reached |= new
            left += new
        assert CustodyState.CLOSED in reached
        assert state in (CustodyState.FENCING, CustodyState.CLOSED) or CustodyState.FENCING in moves.CUSTODY[state]
