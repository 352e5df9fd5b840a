"""An answer that the ledger has and the agent has not, when the next console comes: sent once where the very same bytes
can be made again, else never, and the operator is told."""

import asyncio
import subprocess
import sys
from pathlib import Path

import pytest

from app import wording
from coordinator.api import Done, Interrupt, Say
from coordinator.custody import spoolfile
from coordinator.custody.types import RecordKind
from store import attention, control_writes, custody
from store.verify import verify
from store.vocab import AttentionKind, DecisionState, RunId, TurnResultKind, TurnState
from tests.coordinator.held import Holding, holding, script
from tests.waiting import wait_until

ROOT = Path(__file__).parents[2]
RUN = RunId(1)
SECRET = "zzq-hunter2-4711-not-to-be-kept"
ENVIRONMENT = {"DEPLOY_TOKEN": SECRET}
BRIEF = "go " + script({"ask": "Which word?", "options": ["near", "far"]}, {"text": "thanks"})


def leave_unsent(folder: Path, answer: str) -> None:
    """A console that is killed between the commit of this answer and its first byte."""
    arguments = [str(folder), BRIEF, answer, f"DEPLOY_TOKEN={SECRET}"]
    done = subprocess.run(
        [sys.executable, "-m", "tests.children.answering_console", *arguments], cwd=ROOT, timeout=60, check=False
    )
    assert done.returncode == -9


async def spool_of(held: Holding) -> Path:
    row = await held.coordinator.house.ledger.read(lambda tx: custody.of_run(tx, RUN))
    assert row is not None
    return held.coordinator.house.settings.spool / row.id / "spool"


def written(spool: Path) -> list[str]:
    """Every write of an answer of which a byte may have gone."""
    ids = [str(one.facts["id"]) for one in spoolfile.read_spool(spool) if one.kind is RecordKind.WRITING]
    return [one for one in ids if one.startswith("answer-")]


async def test_the_same_bytes_can_be_made_again_and_go_once(tmp_path: Path) -> None:
    await asyncio.to_thread(leave_unsent, tmp_path, "near")
    async with holding(tmp_path, environment=ENVIRONMENT) as held:
        view = await held.until(RUN, lambda v: v.turns[0].state is TurnState.SETTLED)
        assert view.turns[0].result is TurnResultKind.SUCCESS
        assert view.decisions[0].state is DecisionState.DELIVERED
        assert len(written(await spool_of(held))) == 1
        asked = await held.coordinator.house.ledger.read(lambda tx: control_writes.of_run(tx, RUN))
        answers = [one for one in asked if one.what == "answer"]
        assert len(answers) == 2 and len({(one.length, one.digest) for one in answers}) == 1


@pytest.mark.parametrize("answer", [SECRET, f"it is {SECRET}, keep it well"])
async def test_what_was_redacted_is_another_answer_and_never_goes(tmp_path: Path, answer: str) -> None:
    await asyncio.to_thread(leave_unsent, tmp_path, answer)
    async with holding(tmp_path, environment=ENVIRONMENT) as held:
        ledger = held.coordinator.house.ledger
        view = await held.until(RUN, lambda v: v.decisions and v.decisions[0].state is DecisionState.UNCERTAIN)
        spool = await spool_of(held)
        assert written(spool) == [], "not one byte of it, nor of its redacted form"
        cancelled = [one.facts["id"] for one in spoolfile.read_spool(spool) if one.kind is RecordKind.CANCELLED]
        assert cancelled == [f"answer-{view.decisions[0].id}-1"], "and what was to go never can"
        (page,) = [one for one in await ledger.read(attention.open_items) if one.kind is AttentionKind.PAGE]
        assert page.run == RUN and "Which word?" in page.text and "interrupt it" in page.text
        assert any(one.text == page.text for one in held.coordinator.snapshot().attention), "it is on the screen"
        # The agent still waits, and the operator has a way on.
        assert view.turns[0].state is TurnState.ACCEPTED
        assert wording.decision_state(view.decisions[0]) == (
            "not sent: it could not be made again exactly; say it anew"
        ), "what is known is said, not that nobody knows"
        assert isinstance(await held.do(Interrupt(run=RUN, turn=view.turns[0].id)), Done)
        await held.until(RUN, lambda v: v.turns[0].result is TurnResultKind.INTERRUPTED)
        await held.do(Say(run=RUN, text="anew " + script({"text": "yes"})))
        await held.until(RUN, lambda v: len(v.turns) == 2 and v.turns[1].state is TurnState.SETTLED)
        view = held.view(RUN) or view
        assert view.decisions[0].state is DecisionState.UNCERTAIN and written(spool) == []
        assert await ledger.read(verify) is None
    kept = [tmp_path / name for name in ("ledger.db", "ledger.db-wal") if (tmp_path / name).exists()]
    assert kept and not [one for one in kept if SECRET.encode() in one.read_bytes()]
    wait_until(lambda: not spoolfile.spool_is_locked(spool.parent), 30)
