"""KILL of the console at a sample of the named steps, with agents whose handshake has several and whose requests are
of JSON-RPC; then the next console, to the end.

The whole matrix is tried on the practice agent (``tests/faults/test_matrix.py``); what these have of their own is the
handshake that a console may leave half done, and answers that must come out the same from whoever gives them.
"""

import asyncio
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from coordinator.custody.processes import carriers
from coordinator.custody.types import RecordKind
from coordinator.steps import Step
from store import runs
from store.vocab import DecisionState, EndReason, RunOutcome, TurnResultKind
from tests.agents import scene
from tests.agents.conftest import installed
from tests.agents.kinds import CLAUDE_ACP_KIND, CODEX_KIND, KINDS, Kind
from tests.fakes.accounts import everything_once, hold_of
from tests.fakes.loopback_model import LoopbackModel
from tests.fakes.plain_process import ROOT

pytestmark = pytest.mark.agents

KILLED = -9
STEPS = (
    Step.AGENT_STAMPED,
    Step.HANDSHAKE_SENT,
    Step.AGENT_READY,
    Step.LIVE,
    Step.TURN_AFTER_WRITE,
    Step.TURN_ACCEPTED,
    Step.DECISION_ASKED,
    Step.ANSWER_COMMITTED,
    Step.CONTROL_AFTER_WRITE,
    Step.TURN_SETTLED,
)
"""From each the next console goes on as if nothing had been."""
EACH_TIME = [(CODEX_KIND, Step.HANDSHAKE_SENT), (CODEX_KIND, Step.ANSWER_COMMITTED)]
EACH_TIME += [(CODEX_KIND, Step.TURN_AFTER_WRITE), (CLAUDE_ACP_KIND, Step.CONTROL_AFTER_WRITE)]
SOAK = [(kind, step) for kind in KINDS for step in STEPS if (kind, step) not in EACH_TIME]


@pytest.mark.parametrize(
    ("kind", "step"), [*EACH_TIME, *(pytest.param(*one, marks=pytest.mark.soak) for one in SOAK)], ids=str
)
async def test_a_console_killed_at_a_step(kind: Kind, step: Step, loopback: LoopbackModel, tmp_path: Path) -> None:
    installed(kind.pinned, *kind.needs)
    child = [sys.executable, "-m", "tests.children.agent_console", str(tmp_path), kind.profile, loopback.url, step]
    died = await asyncio.to_thread(subprocess.run, child, cwd=ROOT, timeout=90, check=False)
    assert died.returncode == KILLED
    async with scene.house(tmp_path, kind, loopback.url) as held:
        (run,) = await held.coordinator.house.ledger.read(runs.listing)
        view = await scene.Operator(held, kind, run.id).to_the_end()
    assert (view.outcome, view.reason) == (RunOutcome.INTERRUPTED, EndReason.STOPPED)
    assert [turn.result for turn in view.turns] == [TurnResultKind.SUCCESS], view.turns
    assert [one.state for one in view.decisions] == [DecisionState.DELIVERED], view.decisions
    assert (held.tree / scene.RAN).read_text() == "once\n"
    heard = [call.step for call in loopback.calls if scene.once(kind) in map(str.strip, call.said)]
    assert heard.count(1) == 1, "each answer of the model was asked for once"
    hold = hold_of(tmp_path)
    assert carriers(hold.nonce) == []
    written = Counter(str(one.facts["id"]) for one in hold.spool() if one.kind is RecordKind.WRITING)
    assert all(times == 1 for times in written.values()), written
    everything_once(tmp_path, kind.driver)
