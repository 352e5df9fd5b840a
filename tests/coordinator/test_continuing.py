"""A run that goes on from one that has ended: in the agent's own conversation or with an account of it, with what never
arrived, once."""

import asyncio
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from msgspec.structs import replace

from coordinator.api import (
    AnswerDecision,
    DecisionView,
    Done,
    Finish,
    NewConversation,
    Proposal,
    Propose,
    Say,
    SessionView,
    Started,
    StartRun,
    Stop,
)
from coordinator.drivers.base import Allow, QuestionReply
from coordinator.steps import Step
from coordinator.terms import TreeKind
from store import decisions, runs, turns
from store.db import Tx
from store.refusal import Refusal
from store.verify import verify
from store.vocab import (
    DecisionKind,
    DecisionState,
    MicroUsd,
    RefusalReason,
    RunId,
    TurnState,
)
from tests.coordinator.held import Holding, bash, holding, script


def remembering(folder: Path) -> dict[str, str]:
    """Where the practice agent keeps its conversations, as the real one does."""
    return {"CLAUDE_CONFIG_DIR": str(folder / "agent")}


async def proposed(held: Holding, run: RunId, text: str = "", **more: object) -> Proposal:
    reply = await held.do(Propose(instruction=text, repository="", continues=run, preamble=False, **more))  # type: ignore[arg-type]
    assert isinstance(reply, Proposal), reply
    return reply


async def go_on(held: Holding, run: RunId, text: str = "", **more: object) -> tuple[RunId, Proposal]:
    proposal = await proposed(held, run, text, **more)
    started = await held.do(StartRun(terms=proposal.terms))
    assert isinstance(started, Started), started
    return started.run, proposal


async def allow(held: Holding, run: RunId) -> None:
    view = await held.until(run, lambda v: any(one.state is DecisionState.OPEN for one in v.decisions))
    asked = next(one for one in view.decisions if one.state is DecisionState.OPEN)
    command = AnswerDecision(
        run=run, decision=asked.id, revision=asked.revision, payload_hash=asked.payload_hash, answer=Allow()
    )
    assert isinstance(await held.do(command), Done)


async def stopped_over_a_question(held: Holding) -> tuple[RunId, DecisionView]:
    """Run 1, with a question in its mailbox that waits, and a message in its line."""
    note = '{"question": "Red or blue?", "options": [{"label": "Red"}, {"label": "Blue"}]}'
    run = await held.start(
        "paint it " + script(bash(f"mkdir -p .footplate/1 && echo '{note}' > .footplate/1/decision.json"))
    )
    await allow(held, run)
    view = await held.until(run, lambda v: any(one.kind is DecisionKind.PARK for one in v.decisions))
    await held.do(Say(run=run, text="the door too"))
    await held.until(run, lambda v: v.queued)
    await held.do(Stop(run=run))
    await over(held, run)
    return run, next(one for one in view.decisions if one.kind is DecisionKind.PARK)


async def answer(held: Holding, asked: DecisionView) -> None:
    said = await held.do(
        AnswerDecision(
            run=asked.run,
            decision=asked.id,
            revision=asked.revision,
            payload_hash=asked.payload_hash,
            answer=QuestionReply(answers={"Red or blue?": ("Blue",)}),
        )
    )
    assert isinstance(said, Done), said


async def over(held: Holding, run: RunId) -> SessionView:
    view = await held.until(run, lambda v: v.outcome is not None)
    await held.coordinator.sessions[run].ended.wait()
    return view


async def finished(held: Holding, run: RunId) -> SessionView:
    assert isinstance(await held.do(Finish(run=run)), Done)
    return await over(held, run)


async def test_it_goes_on_in_the_agents_own_conversation_and_counts_only_its_own_money(tmp_path: Path) -> None:
    async with holding(tmp_path, environment=remembering(tmp_path)) as held:
        ledger = held.coordinator.house.ledger
        first = await held.start("go " + script({"text": "one", "cost": 0.5}), budget=MicroUsd(2_000_000))
        native = (await held.settled(first)).native_id
        refused = await held.do(Propose(instruction="more", repository="", continues=first))
        assert isinstance(refused, Refusal) and refused.reason is RefusalReason.STILL_HELD
        await finished(held, first)

        second, proposal = await go_on(held, first, "on " + script({"text": "two", "cost": 0.25}))
        assert proposal.continued is not None and proposal.continued.new is None and not proposal.moved
        assert proposal.terms.budget == 2_000_000, "as the run before"
        view = await held.settled(second)
        assert view.native_id == native and view.turns[0].cost == 250_000
        assert f"run {first}" in view.turns[0].preamble
        row = await ledger.read(lambda tx: runs.get(tx, second))
        before = await ledger.read(lambda tx: runs.get(tx, first))
        assert row is not None and before is not None and (row.continues, row.title) == (first, before.title)

        # While it is held nothing else goes on in that conversation.
        beside = await proposed(held, first, worktree=None)
        assert beside.continued is not None
        assert (beside.continued.new, beside.continued.other) == (NewConversation.HELD, second)
        late = replace(proposal.terms, tree_kind=TreeKind.WORKTREE)
        refused = await held.do(StartRun(terms=late))
        assert isinstance(refused, Refusal) and refused.reason is RefusalReason.ALREADY_HELD
        assert refused.facts["run"] == second
        await finished(held, second)
        third = await proposed(held, second)
        assert third.terms.conversation == native
        assert await ledger.read(verify) is None


async def test_without_its_conversation_the_agent_gets_an_account(tmp_path: Path) -> None:
    async with holding(tmp_path) as held:
        first = await held.start("mend the roof " + script({"text": "I looked at the tiles."}, bash("echo tiles")))
        await allow(held, first)
        await held.settled(first)
        await held.do(Say(run=first, text="now the gutter " + script({"text": "The gutter is clean."})))
        await held.settled(first, 2)
        await held.do(Stop(run=first))
        await over(held, first)
        second, proposal = await go_on(held, first, "and the chimney " + script({"text": "ok"}), fresh=True)
        assert proposal.continued is not None
        assert (proposal.continued.new, proposal.continued.turns) == (NewConversation.ASKED, 2)
        view = await held.settled(second)
        told = view.turns[0].preamble
        for part in (
            "mend the roof",
            "now the gutter",
            "The gutter is clean.",
            "echo tiles",
            "the operator stopped it",
        ):
            assert part in told, part
        assert told == proposal.preamble_text == proposal.terms.carried, "what was shown is what went"
        assert view.native_id != proposal.terms.conversation and not proposal.terms.conversation


async def test_what_never_arrived_rides_in_the_next_brief_once(tmp_path: Path) -> None:
    """An answer to a question in the mailbox and messages in the line, whatever the run that takes them up comes to."""
    async with holding(tmp_path, environment=remembering(tmp_path)) as held:
        ledger = held.coordinator.house.ledger
        first, asked = await stopped_over_a_question(held)
        open_still = await proposed(held, first)
        assert "Red or blue?" in open_still.terms.carried and not open_still.terms.answers
        await answer(held, asked)
        row = await ledger.read(lambda tx: decisions.get(tx, asked.id))
        assert row is not None and row.state is DecisionState.UNDELIVERED

        # One that is refused, and one whose agent does not come up, leave both for the next.
        proposal = await proposed(held, first, "go " + script({"text": "one"}))
        assert proposal.terms.answers == (asked.id,) and proposal.terms.unsent == 1
        moved = await held.do(StartRun(terms=replace(proposal.terms, head="0" * 40)))
        assert isinstance(moved, Refusal) and moved.reason is RefusalReason.TERMS_MOVED
        row = await ledger.read(lambda tx: decisions.get(tx, asked.id))
        assert row is not None and row.state is DecisionState.UNDELIVERED
        broken = await held.do(StartRun(terms=replace(proposal.terms, conversation="", script="no-such-script")))
        assert isinstance(broken, Refusal) and broken.reason is RefusalReason.SPAWN_FAILED, broken
        row = await ledger.read(lambda tx: decisions.get(tx, asked.id))
        assert row is not None and (row.state, row.write_id) == (DecisionState.UNDELIVERED, None)

        second, proposal = await go_on(held, RunId(3), "go " + script({"text": "one"}), script="plain")
        assert proposal.continued is not None
        assert (proposal.continued.answers, proposal.continued.unsent) == (1, 2), "the brief of run 3 never went either"
        view = await held.settled(second)
        assert "The answer: Blue" in view.turns[0].preamble and "the door too" in view.turns[0].preamble
        row = await ledger.read(lambda tx: decisions.get(tx, asked.id))
        assert row is not None and (row.state, row.write_id) == (DecisionState.DELIVERED, view.turns[0].id)

        # Nothing of it a second time: not in a run that goes on from the first, nor in terms that were shown before.
        again = await proposed(held, RunId(3), worktree=True)
        assert not again.terms.answers and not again.terms.unsent and "the door too" not in again.terms.carried
        late = replace(proposal.terms, conversation="", tree_kind=TreeKind.WORKTREE)
        refused = await held.do(StartRun(terms=late))
        assert isinstance(refused, Refusal) and refused.reason is RefusalReason.ALREADY_DELIVERED
        for run in (first, RunId(3)):
            late = replace(late, answers=(), continues=run)
            refused = await held.do(StartRun(terms=late))
            assert isinstance(refused, Refusal) and refused.reason is RefusalReason.ALREADY_DELIVERED
        assert await ledger.read(verify) is None


async def test_it_works_in_the_tree_that_the_run_before_had(tmp_path: Path) -> None:
    async with holding(tmp_path, environment=remembering(tmp_path)) as held:
        make = script(bash("echo slate > roof.txt"), {"text": "made"})
        first = await held.start(f"go {make}", tree_kind=TreeKind.WORKTREE)
        await allow(held, first)
        tree = (await held.settled(first)).tree
        await finished(held, first)
        second, proposal = await go_on(held, first, "look " + script({"text": "seen"}))
        assert proposal.terms.tree == tree and proposal.terms.conversation and not proposal.uncommitted
        view = await held.settled(second)
        assert view.tree == tree and (Path(tree) / "roof.txt").exists()
        # One hold at a time in it, whoever asks.
        beside = await proposed(held, first)
        refused = await held.do(StartRun(terms=beside.terms))
        assert isinstance(refused, Refusal) and refused.reason is RefusalReason.TREE_HELD
        await finished(held, second)
        elsewhere = await proposed(held, second, worktree=False)
        assert elsewhere.continued is not None and elsewhere.continued.new is NewConversation.OTHER_TREE
        assert elsewhere.terms.tree_kind is TreeKind.IN_PLACE and elsewhere.moved == ("tree_kind",)


async def test_a_conversation_that_cannot_be_opened_is_not_tried_again_unasked(tmp_path: Path) -> None:
    async with holding(tmp_path, environment=remembering(tmp_path)) as held:
        first = await held.start("go " + script({"text": "one"}))
        native = (await held.settled(first)).native_id
        await finished(held, first)
        for kept in (tmp_path / "agent").rglob(f"{native}*"):
            kept.unlink()
        proposal = await proposed(held, first)
        refused = await held.do(StartRun(terms=proposal.terms))
        assert isinstance(refused, Refusal) and refused.reason is RefusalReason.SPAWN_FAILED
        after = await proposed(held, first)
        assert after.continued is not None
        assert (after.continued.new, after.continued.other) == (NewConversation.FAILED, RunId(2))
        insisting = await proposed(held, first, fresh=False)
        assert insisting.terms.conversation == native
        run, _ = await go_on(held, RunId(2), script({"text": "fresh"}))
        await held.settled(run)


@pytest.mark.parametrize("step", [Step.PROVEN, Step.AGENT_STAMPED, Step.BEFORE_FIRST_BYTE, Step.TURN_AFTER_WRITE])
async def test_a_console_killed_while_it_goes_on_delivers_what_rides_along_once(tmp_path: Path, step: Step) -> None:
    async with holding(tmp_path, environment=remembering(tmp_path)) as held:
        _, asked = await stopped_over_a_question(held)
        await answer(held, asked)
    child = [sys.executable, "-m", "tests.children.continuing_console", str(tmp_path), step.value]
    killed = await asyncio.to_thread(subprocess.run, child, cwd=Path(__file__).parents[2], timeout=60, check=False)
    assert killed.returncode == -signal.SIGKILL
    async with holding(tmp_path, environment=remembering(tmp_path)) as held:
        ledger = held.coordinator.house.ledger
        view = await held.until(
            RunId(2), lambda v: v.outcome is not None or (v.turns and v.turns[0].state is TurnState.SETTLED)
        )
        if view.outcome is not None:
            await held.settled((await go_on(held, RunId(2), "go " + script({"text": "three"})))[0])

        def look(tx: Tx) -> tuple[list[turns.Turn], decisions.Decision | None]:
            went = [turn for run in (2, 3) for turn in turns.of_run(tx, RunId(run)) if turn.state is TurnState.SETTLED]
            return went, decisions.get(tx, asked.id)

        went, row = await ledger.read(look)
        assert len(went) == 1 and went[0].cost, "its own cost, whatever the process counts from"
        assert "The answer: Blue" in went[0].preamble and "the door too" in went[0].preamble
        assert row is not None and (row.state, row.write_id) == (DecisionState.DELIVERED, went[0].id)
        assert await ledger.read(verify) is None


async def test_a_program_with_a_prompt_is_told_nothing_that_it_would_take_for_commands(tmp_path: Path) -> None:
    async with holding(tmp_path) as held:
        first = await held.start("go " + script({"text": "one"}))
        await held.settled(first)
        await finished(held, first)
        proposal = await proposed(held, first, "ls", agent="bash")
        assert proposal.continued is not None and proposal.continued.new is NewConversation.TERMINAL
        assert (proposal.terms.instruction, proposal.terms.carried, proposal.preamble_text) == ("ls", "", "")
        silent = await held.do(Propose(instruction="", repository="", continues=first, agent="bash"))
        assert isinstance(silent, Refusal) and silent.reason is RefusalReason.EMPTY_TURN
