"""Cut sequences on the real console in a real terminal, with a card that waits: a sample; all of them in ``make soak``.

What each cut becomes is proven under a clock of its own (``test_sequences``); here the same bytes go through the real
reading thread, at the real times.
"""

import json
import os
import random
import re
import signal

import pexpect
import pytest
from textual import events

from app.console.driver import SteadyParser
from app.console.keys import TABLE
from tests.console.test_terminal import Terminal
from tests.console.wire import ALL, GAPS, cuts

BOUND = {key for row in TABLE for key in row.keys}


def means_something(sequence: str) -> bool:
    """A key of the console's own, or a paste: whole, it is to be obeyed."""
    heard = SteadyParser().feed(sequence)
    return any(isinstance(one, events.Paste) or (isinstance(one, events.Key) and one.key in BOUND) for one in heard)


CASES = [(parts, gap) for one in ALL if not means_something(one) for parts in cuts(one) for gap in GAPS]
SAMPLE = 20
"""Of each focus."""


def played(cases: list[tuple[tuple[str, str], float]], focus: signal.Signals) -> tuple[list[str], str]:
    """What was ordered and what stands in the draft, after all of these."""
    terminal = Terminal("card")
    try:
        terminal.until(b"RUN A COMMAND")
        terminal.until(b"allow once")
        terminal.read(0.7)
        for (first, second), gap in cases:
            os.kill(terminal.child.pid, focus)
            terminal.read(0.1)
            os.write(terminal.child.child_fd, first.encode())
            terminal.read(gap)
            os.write(terminal.child.child_fd, second.encode())
            terminal.read(0.12)
        # Whatever lies over the console, the way out works; nothing is chosen on it but to leave.
        terminal.read(3.0)
        os.kill(terminal.child.pid, signal.SIGUSR1)
        os.write(terminal.child.child_fd, b"\x11")
        terminal.until(b"This is held")
        terminal.read(0.7)
        os.write(terminal.child.child_fd, b"1")
        terminal.child.expect(pexpect.EOF)
        said = terminal.all + (terminal.child.before or b"")
    finally:
        terminal.child.close(force=True)
    orders = re.search(rb"sent: (\[.*\])", said)
    draft = re.search(rb'draft: (".*")', said)
    assert orders is not None and draft is not None, said[-500:]
    return json.loads(orders.group(1)), json.loads(draft.group(1))


@pytest.mark.parametrize("focus", [signal.SIGUSR1, signal.SIGUSR2], ids=["writing", "on the card"])
def test_cut_sequences_order_nothing_and_write_nothing(focus: signal.Signals) -> None:
    cases = random.Random(str(focus)).sample(CASES, SAMPLE)
    assert played(cases, focus) == (["LeaveAll"], ""), cases


@pytest.mark.soak
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("focus", [signal.SIGUSR1, signal.SIGUSR2], ids=["writing", "on the card"])
@pytest.mark.parametrize("part", range(8))
def test_every_cut_at_every_gap_on_the_real_console(focus: signal.Signals, part: int) -> None:
    cases = CASES[part::8]
    for at in range(0, len(cases), 40):
        assert played(cases[at : at + 40], focus) == (["LeaveAll"], ""), cases[at : at + 40]
