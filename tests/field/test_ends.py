"""Stops and crashes as they were met elsewhere: tools that hear nothing, rows ahead of the facts, loops of restarts.

What is tried elsewhere in the tests already is not tried again; ``rows.toml`` says where each kind is.
"""

import asyncio
import json
import os
import signal
import sqlite3
from pathlib import Path

from msgspec.structs import replace

from coordinator.api import AnswerDecision, Done, Said, Say, Stop
from coordinator.custody.processes import carriers, name_of
from coordinator.drivers.base import Allow
from coordinator.profiles import builtin
from store import attention
from store.refusal import Refusal
from store.vocab import AttentionKind, DecisionState, RefusalReason, RunOutcome, TurnState
from tests.coordinator.held import QUICK, bash, holding, script
from tests.coordinator.weather import SILENT, settled, working
from tests.waiting import eventually

STUBBORN = """
(trap '' INT HUP TERM; exec sleep 7601) &
(setsid sh -c 'trap "" HUP TERM; exec sleep 7602' &)
(setsid sh -c 'read line <fifo; echo late >canary' &)
(read answer </dev/tty) 2>/dev/null
exec cat fifo
"""


async def test_a_stop_works_whatever_the_tool_does(tmp_path: Path) -> None:
    """Deaf, in a session of its own, blocked on a pipe, asking a terminal: and nothing is left to write later."""
    async with holding(tmp_path) as held:
        run = await held.start("go " + script(bash("mkfifo fifo\n" + STUBBORN), {"text": "never"}))
        view = await held.until(run, lambda v: v.decisions)
        asked = view.decisions[0]
        answer = AnswerDecision(run=run, decision=asked.id, revision=1, payload_hash=asked.payload_hash, answer=Allow())
        assert isinstance(await held.do(answer), Done)
        nonce = held.coordinator.sessions[run].nonce
        wanted = {"sleep 7601", "sleep 7602", "cat fifo"}
        await eventually(lambda: wanted <= {name_of(pid) for pid in carriers(nonce)})
        assert isinstance(await held.do(Stop(run=run)), Done)
        await settled(held, run)
        ended = held.view(run)
        assert ended is not None and ended.receipt is not None and not ended.receipt.remaining
        assert {"sleep 7601", "sleep 7602"} <= {one.name for one in ended.receipt.ended}
        # The one that waited on the pipe is gone with the rest: nobody reads it any more, so nothing is written.
        assert not (held.tree / "canary").exists()


async def test_no_row_says_ended_before_the_processes_are(tmp_path: Path) -> None:
    """Looked at from outside, with a reader of its own, as often as can be while the stop is carried out."""
    async with holding(tmp_path) as held:
        deaf = script({"do": "ignore", "what": ["eof", "term", "hup", "end_session"]}, {"do": "silence"})
        run = await held.start("go " + deaf)
        await held.until(run, lambda v: v.turns and v.turns[0].state is TurnState.ACCEPTED)
        assert isinstance(await held.do(Say(run=run, text="the operator steers")), Said)
        nonce = held.coordinator.sessions[run].nonce
        ledger = sqlite3.connect(f"file:{tmp_path / 'ledger.db'}?mode=ro", uri=True)
        seen: list[tuple[object, int]] = []

        def over() -> bool:
            (outcome,) = ledger.execute("SELECT outcome FROM runs WHERE id = ?", (run,)).fetchone()
            living = carriers(nonce)  # after the row was read: what lives now lived then
            seen.append((outcome, len(living)))
            return outcome is not None

        stopping = asyncio.ensure_future(held.do(Stop(run=run)))
        await eventually(over)
        ledger.close()
        assert isinstance(await stopping, Done)
        assert any(living for _, living in seen), "it was looked at while the agent still lived"
        assert [living for outcome, living in seen if outcome is not None] == [0]
        await settled(held, run)


async def test_an_agent_that_ends_at_once_is_started_once(tmp_path: Path) -> None:
    """No restarts by themselves, so no loop of them and no log of them; the reason is said, and the tree is free."""
    practice = next(one for one in builtin({}) if one.name == "practice")
    program = "import sys; open('started', 'a').write('x'); sys.stderr.write('No conversation found\\n'); sys.exit(1)"
    async with holding(tmp_path, profiles=(replace(practice, args=("-c", program)),)) as held:
        for attempt in (1, 2):
            refused = await held.try_start("go")
            assert isinstance(refused, Refusal) and refused.reason is RefusalReason.SPAWN_FAILED
            assert "No conversation found" in str(refused.facts["stderr"])
            run = max(view.run for view in held.coordinator.snapshot().sessions)
            row = await settled(held, run)
            assert row.outcome is RunOutcome.FAILED
            assert (held.tree / "started").read_text() == "x" * attempt


async def test_leaving_well_in_the_middle_of_a_turn_is_no_finish(tmp_path: Path) -> None:
    async with holding(tmp_path) as held:
        run = await held.start("go " + script({"text": "so far"}, {"do": "exit", "code": 0}))
        view = await held.until(run, lambda v: v.outcome is not None)
        assert view.outcome not in (None, RunOutcome.FINISHED) and view.reason == "exited:0"
        await settled(held, run)
        assert held.view(run) is not None, "it stays to be seen"


async def test_the_conversation_is_in_the_ledger_before_the_brief_goes(tmp_path: Path) -> None:
    async with holding(tmp_path) as held:
        run = await working(held)
        view = await held.until(run, lambda seen: seen.native_id)
        ledger = sqlite3.connect(f"file:{tmp_path / 'ledger.db'}?mode=ro", uri=True)
        rows = ledger.execute("SELECT seq, kind, body FROM entries WHERE run = ? ORDER BY seq", (run,)).fetchall()
        ledger.close()
        assert view.native_id
        told = [seq for seq, _, body in rows if view.native_id in str(json.loads(body))]
        written = [seq for seq, kind, _ in rows if kind == "turn.written"]
        assert told and written and told[0] < written[0], rows
        await held.do(Stop(run=run, kill=True))


async def test_silence_is_told_and_ends_nothing(tmp_path: Path) -> None:
    async with holding(tmp_path, timing=replace(QUICK, stalled_after=0.3)) as held:
        run = await held.start(SILENT)
        ledger = held.coordinator.house.ledger

        async def stalled() -> bool:
            items = await ledger.read(attention.open_items)
            return any(one.kind is AttentionKind.STALLED and one.run == run for one in items)

        def shown() -> bool:
            items = held.coordinator.snapshot().attention
            return any(one.kind is AttentionKind.STALLED and one.run == run for one in items)

        await eventually(shown)
        assert await stalled(), "and it would be there after a restart"
        view = held.view(run)
        assert view is not None and view.outcome is None and carriers(held.coordinator.sessions[run].nonce)
        await held.do(Stop(run=run, kill=True))


async def test_an_agent_killed_while_it_asks_takes_its_question_along(tmp_path: Path) -> None:
    """The prompt goes at once, a late answer is told so, and the run is closed by nobody's hand."""
    async with holding(tmp_path) as held:
        run = await held.start("go " + script(bash("echo ran > ran.txt"), {"text": "done"}))
        view = await held.until(run, lambda v: v.decisions and v.decisions[0].state is DecisionState.OPEN)
        asked, session = view.decisions[0], held.coordinator.sessions[run]
        assert session.rows.custody is not None and session.rows.custody.agent_pid
        os.kill(session.rows.custody.agent_pid, signal.SIGKILL)
        view = await held.until(run, lambda v: v.outcome is not None)
        assert [one.state for one in view.decisions] in ([], [DecisionState.WITHDRAWN])
        late = await held.do(
            AnswerDecision(run=run, decision=asked.id, revision=1, payload_hash=asked.payload_hash, answer=Allow())
        )
        assert isinstance(late, Refusal) and late.reason in (RefusalReason.STALE, RefusalReason.ALREADY_ENDED), late
        await settled(held, run)
        assert not (held.tree / "ran.txt").exists()


async def test_nothing_that_was_left_to_run_writes_after_the_stop(tmp_path: Path) -> None:
    """It only had to live on for a second. A process of our own, that nobody stops, tells when that second is over."""
    later = "(setsid sh -c 'echo $$ > late.pid; sleep 1; echo late > canary' >/dev/null 2>&1 &) ; exec sleep 7603"
    async with holding(tmp_path) as held:
        run = await held.start("go " + script(bash(later), {"text": "never"}))
        view = await held.until(run, lambda v: v.decisions)
        asked = view.decisions[0]
        answer = AnswerDecision(run=run, decision=asked.id, revision=1, payload_hash=asked.payload_hash, answer=Allow())
        assert isinstance(await held.do(answer), Done)
        await eventually((held.tree / "late.pid").exists)
        clock = await asyncio.create_subprocess_exec("sleep", "1.2")
        assert not (held.tree / "canary").exists()
        assert isinstance(await held.do(Stop(run=run)), Done)
        await settled(held, run)
        await clock.wait()
        assert not (held.tree / "canary").exists()
