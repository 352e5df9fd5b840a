"""Every agent but Claude Code itself, held through a whole scene (``scene.py``) and the death of its console."""

import asyncio
import hashlib
from pathlib import Path

import pytest

from coordinator.custody.processes import carriers, name_of
from coordinator.drivers.asks import Allow, QuestionReply
from store.vocab import (
    CostKnowledge,
    DecisionKind,
    DecisionState,
    EndReason,
    RunId,
    RunOutcome,
    TurnResultKind,
    TurnState,
)
from tests.agents import scene
from tests.agents.conftest import installed
from tests.agents.kinds import CLAUDE_ACP_KIND, KINDS, Kind
from tests.coordinator.held import script
from tests.coordinator.test_adopt import Killed
from tests.fakes import main_job
from tests.fakes.accounts import everything_once
from tests.fakes.images import image
from tests.fakes.loopback_model import LoopbackModel
from tests.fakes.loopback_steps import INPUT_TOKENS, OUTPUT_TOKENS
from tests.waiting import eventually

pytestmark = pytest.mark.agents


@pytest.fixture(params=KINDS, ids=str)
def kind(request: pytest.FixtureRequest) -> Kind:
    found: Kind = request.param
    installed(found.pinned, *found.needs)
    return found


async def test_from_the_brief_through_a_killed_console_to_the_stop(
    kind: Kind, loopback: LoopbackModel, tmp_path: Path
) -> None:
    first = Killed(tmp_path, kind.profile, loopback.url, module="tests.children.agent_console")
    seen = await asyncio.to_thread(first.until, lambda said: said["run"], scene.SECONDS)
    first.kill()
    nonce = seen["nonce"]
    assert carriers(nonce), "its agent lives on"

    def living() -> list[str]:
        return [name_of(pid) for pid in carriers(nonce)]

    async with scene.house(tmp_path, kind, loopback.url) as held:
        operator = scene.Operator(held, kind, RunId(seen["run"]))
        assert held.coordinator.swept.picked_up == (operator.run,)
        assert (held.tree / scene.WRITTEN).read_text().strip() == scene.LINE
        assert not (held.tree / "denied.txt").exists()

        await operator.answer(await operator.asked(3), Allow())
        await eventually(lambda: main_job.among([scene.TOOL], living()), scene.SECONDS, "the tool runs")
        await operator.interrupt()
        view = await operator.settled(2)
        assert view.turns[1].result is TurnResultKind.INTERRUPTED, view.turns[1]
        await eventually(
            lambda: not main_job.among([scene.TOOL], living()), scene.SECONDS, "the tool went with its turn"
        )

        await operator.say(scene.texts(kind, held.tree)[2])
        await operator.answer(await operator.asked(4), Allow())
        await eventually(lambda: main_job.among(scene.CHILDREN, living()), scene.SECONDS, "all three run")
        view = await operator.stop()
        assert living() == []
        assert (view.outcome, view.reason) == (RunOutcome.INTERRUPTED, EndReason.STOPPED)
        assert view.receipt is not None and view.receipt.remaining == ()
        assert main_job.among(scene.CHILDREN, [one.name for one in view.receipt.ended]), view.receipt
        assert (held.tree / "allowed.txt").read_text() == "once\ntwice\n"
        assert [turn.state for turn in view.turns] == [TurnState.SETTLED] * 3
        assert {one.state for one in view.decisions} == {DecisionState.DELIVERED}, view.decisions

    everything_once(tmp_path, kind.driver)
    # The conversation as the model has it is the one that the ledger tells, each message once and in its order.
    told = list(scene.texts(kind, tmp_path / "tree"))
    heard = [[text.strip() for text in call.said if text.strip() in told] for call in loopback.calls]
    assert max(heard, key=len) == told


async def test_a_turn_that_fails_one_with_an_image_a_good_end_and_a_run_that_goes_on(
    kind: Kind, loopback: LoopbackModel, tmp_path: Path
) -> None:
    status, failure = kind.failing
    refusing = {"status": status, "type": "some_error", "message": "the model is out"}
    shot = image("shot.png", side=64)
    async with scene.house(tmp_path, kind, loopback.url) as held:
        operator = scene.Operator(held, kind)
        await operator.start("Hello. " + script({"text": "good day"}))
        view = await operator.settled(1)
        nonce = held.coordinator.sessions[operator.run].nonce
        assert view.mode == "ask", "a person is asked, whatever its own default is"
        first = view.turns[0]
        assert (first.result, first.cost_known) == (TurnResultKind.SUCCESS, kind.cost)
        assert (first.cost or 0) > 0 or kind.cost is CostKnowledge.UNKNOWN
        # What the model said of its tokens, or nothing where the agent tells less than all of a turn.
        assert (first.input_tokens, first.output_tokens) in ((INPUT_TOKENS, OUTPUT_TOKENS), (None, None))

        await operator.say("Fail. " + script({"fail": refusing}))
        failed = (await operator.settled(2)).turns[1]
        assert (failed.result, failed.failure) == (TurnResultKind.ERROR, failure)
        assert "the model is out" in failed.failure_text and "{" not in failed.failure_text

        assert view.takes_images
        await operator.say("And this @shot.png? " + script({"text": "noise"}), shot)
        assert (await operator.settled(3)).turns[2].result is TurnResultKind.SUCCESS
        seen = ("image/png", len(shot.data), hashlib.sha256(shot.data).hexdigest())
        assert any(seen in call.images for call in loopback.calls), "the very bytes"
        ended = await operator.finish()
        assert ended.outcome is RunOutcome.FINISHED, ended
        assert carriers(nonce) == []

        await operator.start("What did I say? " + script({"text": "hello"}), after=operator.run)
        view = await operator.settled(1)
        assert view.mode == "ask", "of a conversation that it goes on with too"
        assert (view.native_id == ended.native_id) is kind.resumes
        said = [" ".join(call.said) for call in loopback.calls]
        assert any("Hello. " in one and "What did I say?" in one for one in said), "the model has all of it"
        again = view.turns[0]
        assert again.result is TurnResultKind.SUCCESS
        # Of one that counts over the conversation, and does not say from what it counts, the first is not known.
        assert again.cost_known in (kind.cost, CostKnowledge.UNKNOWN)
        assert (again.cost or 0) <= 2 * (first.cost or 0), "what the run before had cost is none of this one's"
        assert (await operator.stop()).reason == EndReason.STOPPED
    everything_once(tmp_path, kind.driver)
    everything_once(tmp_path, kind.driver, run=2)


@pytest.mark.parametrize("kind", [CLAUDE_ACP_KIND], indirect=True, ids=str)
async def test_a_question_is_asked_and_its_answer_heard(kind: Kind, loopback: LoopbackModel, tmp_path: Path) -> None:
    """As a form of the Agent Client Protocol, which none of the others uses (Codex has its own: `test_codex_plain`)."""
    call = {"name": "AskUserQuestion", "input": {"questions": [main_job.QUESTION]}}
    async with scene.house(tmp_path, kind, loopback.url) as held:
        operator = scene.Operator(held, kind)
        await operator.start("Ask me. " + script({"text": "hm", "tools": [call]}, {"text": "I see"}))
        asked = await operator.asked(1)
        assert asked.kind is DecisionKind.QUESTION
        (question,) = asked.questions
        assert [choice.label for choice in question.choices] == ["Red", "Blue"]
        await operator.answer(asked, QuestionReply(answers={question.text: ("Blue",)}, note="as the sea"))
        view = await operator.settled(1)
        assert view.turns[0].result is TurnResultKind.SUCCESS
        assert [one.state for one in view.decisions] == [DecisionState.DELIVERED]
        assert any("Blue" in call.last and "as the sea" in call.last for call in loopback.calls if call.step == 1)
        await operator.stop()
    everything_once(tmp_path, kind.driver)
