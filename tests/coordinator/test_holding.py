"""The main job, with the practice agent as a real process: brief, decisions, turns, interrupt, stop, and the ledger
after."""

from pathlib import Path

from coordinator.api import AnswerDecision, Done, Finish, Interrupt, Said, Say, Stop
from coordinator.custody import spoolfile
from coordinator.custody.processes import carriers, name_of
from coordinator.custody.types import RecordKind
from coordinator.drivers import registry
from coordinator.drivers.base import TRANSIENT, Allow, Deny, QuestionReply
from store import events, evidence
from store.verify import verify
from store.vocab import DecisionState, RunOutcome, TurnResultKind, TurnState
from tests.coordinator.held import bash, holding, script
from tests.waiting import eventually


async def test_a_brief_is_answered_and_the_run_finished(tmp_path: Path) -> None:
    async with holding(tmp_path) as held:
        run = await held.start("say hello " + script({"text": "hello there"}))
        view = await held.until(run, lambda v: v.turns and v.turns[0].state is TurnState.SETTLED)
        assert view.turns[0].result is TurnResultKind.SUCCESS
        assert view.turns[0].cost is not None and view.turns[0].cost > 0
        assert isinstance(await held.do(Finish(run=run)), Done)
        view = await held.until(run, lambda v: v.outcome is not None)
        assert view.outcome is RunOutcome.FINISHED
        assert view.receipt is not None and not view.receipt.remaining


async def test_permission_question_turns_interrupt_and_stop(tmp_path: Path) -> None:
    async with holding(tmp_path) as held:
        brief = "go " + script(
            bash("echo ran > allowed.txt"),
            bash("echo ran > denied.txt"),
            {
                "tools": [
                    {
                        "name": "AskUserQuestion",
                        "input": {
                            "questions": [
                                {
                                    "question": "Which color?",
                                    "header": "Color",
                                    "options": [
                                        {"label": "Red", "description": ""},
                                        {"label": "Blue", "description": ""},
                                    ],
                                    "multiSelect": False,
                                }
                            ]
                        },
                    }
                ]
            },
            {"text": "done"},
        )
        run = await held.start(brief)
        for answer in (
            Allow(),
            Deny(message="not that one"),
            QuestionReply(answers={"Which color?": ("Blue",)}, note="dark"),
        ):
            view = await held.until(run, lambda v: v.decisions and v.decisions[0].state is DecisionState.OPEN)
            asked = view.decisions[0]
            command = AnswerDecision(
                run=run, decision=asked.id, revision=asked.revision, payload_hash=asked.payload_hash, answer=answer
            )
            assert isinstance(await held.do(command), Done)
            await held.until(
                run, lambda v, id=asked.id: any(d.id == id and d.answered_by == "Ada" for d in v.decisions)
            )
        view = await held.until(run, lambda v: v.turns[0].state is TurnState.SETTLED)
        assert (held.tree / "allowed.txt").exists()
        assert not (held.tree / "denied.txt").exists()
        assert {d.state for d in view.decisions} == {DecisionState.DELIVERED}

        assert isinstance(await held.do(Say(run=run, text="again " + script(bash("sleep 60"), {"text": "x"}))), Said)
        view = await held.until(run, lambda v: v.decisions[0].state is DecisionState.OPEN)
        asked = view.decisions[0]
        await held.do(
            AnswerDecision(run=run, decision=asked.id, revision=1, payload_hash=asked.payload_hash, answer=Allow())
        )
        view = await held.until(run, lambda v: v.tools)
        assert isinstance(await held.do(Interrupt(run=run, turn=view.in_flight)), Done)
        view = await held.until(run, lambda v: v.turns[1].state is TurnState.SETTLED)
        assert view.turns[1].result is TurnResultKind.INTERRUPTED

        command = "sleep 300 & (setsid sleep 301 &) ; sleep 302"
        assert isinstance(await held.do(Say(run=run, text="more " + script(bash(command), {"text": "x"}))), Said)
        view = await held.until(run, lambda v: v.decisions[0].state is DecisionState.OPEN)
        asked = view.decisions[0]
        await held.do(
            AnswerDecision(run=run, decision=asked.id, revision=1, payload_hash=asked.payload_hash, answer=Allow())
        )
        session = held.coordinator.sessions[run]
        await eventually(
            lambda: {"sleep 300", "sleep 301", "sleep 302"} <= {name_of(p) for p in carriers(session.nonce)}
        )
        assert isinstance(await held.do(Stop(run=run)), Done)
        view = await held.until(run, lambda v: v.outcome is not None)
        assert view.outcome is RunOutcome.INTERRUPTED and view.reason == "stopped"
        assert view.receipt is not None and not view.receipt.remaining
        assert carriers(session.nonce) == []
        names = " ".join(one.name for one in view.receipt.ended)
        assert "sleep 301" in names
        reported = sum(turn.cost or 0 for turn in view.turns if turn.cost_known == "reported")
        last = max(turn.cumulative or 0 for turn in session.rows.turns)
        assert reported == last


async def test_the_ledger_accounts_for_everything_afterwards(tmp_path: Path) -> None:
    async with holding(tmp_path) as held:
        edit = {"tools": [{"name": "Write", "input": {"file_path": str(held.tree / "new.txt"), "content": "hi\n"}}]}
        run = await held.start("go " + script(edit, {"text": "done"}))
        view = await held.until(run, lambda v: v.decisions)
        asked = view.decisions[0]
        await held.do(
            AnswerDecision(run=run, decision=asked.id, revision=1, payload_hash=asked.payload_hash, answer=Allow())
        )
        await held.until(run, lambda v: v.turns[0].state is TurnState.SETTLED)
        await held.do(Finish(run=run))
        await held.until(run, lambda v: v.outcome is not None)
        session = held.coordinator.sessions[run]
        await session.ended.wait()
        kinds = await held.coordinator.house.ledger.read(lambda tx: [one.kind for one in evidence.of_run(tx, run)])
        assert "diff" in kinds and "status" in kinds
        assert await held.coordinator.house.ledger.read(verify) is None

        # Every event that the agent printed is in the ledger once: a fresh driver over the whole spool finds the same.
        driver = registry.create("rehearsal", "again")
        assert driver is not None
        expected: list[tuple[int, int]] = []
        for record in spoolfile.read_spool(session.folder / "spool"):
            if record.kind is RecordKind.STDOUT:
                found = driver.feed(record.data)
                expected += [(record.offset, n) for n, event in enumerate(found) if not isinstance(event, TRANSIENT)]
        rows = await held.coordinator.house.ledger.read(lambda tx: events.page(tx, run, limit=100_000))
        assert {(row.offset, row.n) for row in rows if row.kind != "stderr"} >= set(expected)
        assert len({(row.offset, row.n) for row in rows}) == len(rows)
