"""Mailbox and handoff, through the practice agent: a park is asked, answered in a turn, repaired when malformed."""

from pathlib import Path

import pytest

from coordinator.api import AnswerDecision, Done, Say
from coordinator.drivers.base import QuestionReply
from store.refusal import Refusal
from store.vocab import DecisionKind, DecisionState, RefusalReason, RunId, RunOutcome, TurnSource, TurnState
from tests.coordinator.held import holding, script

PARK = {
    "question": "Which database?",
    "options": [{"label": "sqlite"}, {"label": "postgres"}],
    "recommendation": "sqlite",
}


def mailbox(run: int, **what: object) -> dict[str, object]:
    return {"do": "mailbox", "folder": f".footplate/{run}", **what}


async def test_a_park_waits_and_its_answer_rides_in_a_turn(tmp_path: Path) -> None:
    async with holding(tmp_path) as held:
        run = await held.start("go " + script(mailbox(1, decision=PARK), {"text": "I wait for you"}))
        view = await held.until(run, lambda v: any(d.kind is DecisionKind.PARK for d in v.decisions))
        park = view.decisions[0]
        assert park.state is DecisionState.OPEN and park.questions[0].text == "Which database?"
        assert not (held.tree / ".footplate/1/decision.json").exists()
        said = await held.do(Say(run=run, text="meanwhile " + script({"text": "ok"})))
        assert not isinstance(said, Refusal)  # it waits in the line, it is not lost
        reply = QuestionReply(answers={"Which database?": ("sqlite",)}, note="for now")
        command = AnswerDecision(
            run=run, decision=park.id, revision=park.revision, payload_hash=park.payload_hash, answer=reply
        )
        assert isinstance(await held.do(command), Done)
        again = await held.do(command)
        assert isinstance(again, Refusal) and again.reason is RefusalReason.ALREADY_ANSWERED
        view = await held.until(run, lambda v: len(v.turns) == 3 and all(t.state is TurnState.SETTLED for t in v.turns))
        answer = view.turns[1]
        assert answer.source is TurnSource.ANSWER
        assert "sqlite" in answer.text and "for now" in answer.text and "Ada" in answer.text
        assert view.turns[2].source is TurnSource.OPERATOR
        assert {d.state for d in view.decisions} == {DecisionState.DELIVERED}


async def test_a_malformed_park_is_repaired_and_then_put_as_it_is(tmp_path: Path) -> None:
    async with holding(tmp_path) as held:
        run = await held.start("go " + script(mailbox(1, decision="{not json"), {"text": "hm"}))
        view = await held.until(run, lambda v: len(v.turns) >= 2)
        assert view.turns[1].source is TurnSource.REPAIR
        assert "decision.json" in view.turns[1].text


async def test_a_handoff_ends_the_run_as_finished(tmp_path: Path) -> None:
    async with holding(tmp_path) as held:
        run = await held.start("go " + script(mailbox(1, handoff="all done, look at x"), {"text": "bye"}))
        view = await held.until(run, lambda v: v.outcome is not None)
        assert view.outcome is RunOutcome.FINISHED and view.reason == "handoff"
        assert view.handoff.startswith("all done")


@pytest.mark.parametrize("present", ["file", "symlink", "fifo"])
async def test_a_mailbox_that_is_there_before_the_start_refuses_it(tmp_path: Path, present: str) -> None:
    async with holding(tmp_path) as held:
        box = held.tree / ".footplate" / "1"
        box.mkdir(parents=True)
        place = box / "decision.json"
        match present:
            case "file":
                place.write_text("{}")
            case "symlink":
                place.symlink_to("/etc/passwd")
            case _:
                import os

                os.mkfifo(place)
        refused = await held.try_start("go " + script({"text": "x"}))
        assert isinstance(refused, Refusal) and refused.reason is RefusalReason.MAILBOX_PRESENT
        view = await held.until(RunId(1), lambda v: v.outcome is not None)
        assert view.outcome is RunOutcome.REFUSED and not view.turns
