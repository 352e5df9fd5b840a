"""Standing rules at work: what they answer is answered and booked without anybody being asked, once, and only while the
operator is there; all else is put to them."""

import asyncio
import subprocess
import sys
from pathlib import Path

import pytest

from app import wording
from coordinator import machine
from coordinator.api import AnswerDecision, Done, SessionView
from coordinator.clock import RealClock
from coordinator.custody import spoolfile
from coordinator.custody.types import RecordKind, SpoolRecord
from coordinator.drivers.base import Allow
from coordinator.drivers.claude import ClaudeDriver
from coordinator.ids import RealIds
from coordinator.ingest import Batch, Ingest
from coordinator.machine import AttendanceChanged, InFlight, Limits, SessionState
from coordinator.redaction import Redactor
from coordinator.ruling import Rulebook
from store import attention, custody
from store.verify import verify
from store.vocab import (
    AttentionKind,
    CustodyId,
    DecisionState,
    MicroUsd,
    RunId,
    TurnId,
    TurnResultKind,
    TurnSource,
    TurnState,
)
from tests.coordinator.held import Holding, bash, holding, script
from tests.waiting import eventually

ROOT = Path(__file__).parents[2]
RUN = RunId(1)


def settled(view: SessionView) -> bool:
    return view.turns[0].state is TurnState.SETTLED


async def ever_asked(held: Holding, view: SessionView) -> list[bool]:
    """Whether each decision was ever in the operator's queue."""
    ledger, keys = held.coordinator.house.ledger, [str(one.id) for one in view.decisions]
    told = await ledger.read(
        lambda tx: [attention.told(tx, run=view.run, kind=AttentionKind.DECISION, key=key) for key in sorted(keys)]
    )
    return [one is not None for one in told]


async def writes(held: Holding) -> list[str]:
    row = await held.coordinator.house.ledger.read(lambda tx: custody.of_run(tx, RUN))
    assert row is not None
    spool = held.coordinator.house.settings.spool / row.id / "spool"
    ids = [str(one.facts["id"]) for one in spoolfile.read_spool(spool) if one.kind is RecordKind.WRITING]
    return [one for one in ids if one.startswith("answer-")]


async def test_a_rule_answers_and_what_no_rule_covers_is_asked(tmp_path: Path) -> None:
    seen_open: set[int] = set()
    async with holding(tmp_path) as held:

        def look(view: SessionView) -> bool:
            seen_open.update(one.id for one in view.decisions if one.state is DecisionState.OPEN)
            return len(view.decisions) == 5

        run = await held.start(
            "go "
            + script(
                bash("touch made"),
                bash("rm -f made"),
                {"tools": [{"name": "Write", "input": {"file_path": str(held.tree / "src" / "a"), "content": "x"}}]},
                bash("touch again"),
                bash("touch never && rm made"),
                {"text": "done"},
            ),
            rules=("allow command touch", "deny command rm", "allow edit src/**"),
        )
        view = await held.until(run, look)
        by_id = sorted(view.decisions, key=lambda one: one.id)
        assert seen_open == {by_id[4].id}, "no screen ever showed the others as open"
        view = await held.until(run, lambda v: all(d.state is not DecisionState.DELIVERING for d in v.decisions))
        by_id = sorted(view.decisions, key=lambda one: one.id)
        assert [(one.answered_by, one.rule_uses) for one in by_id[:4]] == [
            ("rule: allow command touch", 2),
            ("rule: deny command rm", 1),
            ("rule: allow edit src/**", 1),
            ("rule: allow command touch", 2),
        ]
        assert [one.state for one in by_id] == [DecisionState.DELIVERED] * 4 + [DecisionState.OPEN]
        assert wording.answered(by_id[0]).startswith("answered by rule: allow command touch at ")
        assert await ever_asked(held, view) == [False] * 4 + [True]
        assert (held.tree / "made").exists() and (held.tree / "src" / "a").read_text() == "x"
        waiting = by_id[4]
        answer = AnswerDecision(
            run=run,
            decision=waiting.id,
            revision=waiting.revision,
            payload_hash=waiting.payload_hash,
            answer=Allow(),
        )
        assert isinstance(await held.do(answer), Done)
        await held.until(run, settled)
        assert await held.coordinator.house.ledger.read(verify) is None
        assert len(await writes(held)) == 5


async def test_nobody_answers_while_the_operator_is_away(tmp_path: Path) -> None:
    async with holding(tmp_path) as held:
        (held.tree / "wait.sh").write_text("touch begun; until [ -e go ]; do sleep 0.02; done")
        run = await held.start(
            "go " + script(bash("sh wait.sh"), bash("touch made"), {"text": "done"}),
            rules=("allow command sh wait.sh", "allow command touch"),
        )
        await eventually(lambda: (held.tree / "begun").exists())
        held.coordinator.sessions[run].inbox.command(AttendanceChanged(paused=True))
        await held.until(run, lambda v: v.paused)
        (held.tree / "go").touch()
        view = await held.until(run, lambda v: len(v.decisions) == 2)
        first, second = sorted(view.decisions, key=lambda one: one.id)
        assert first.answered_by == "rule: allow command sh wait.sh"
        assert view.paused and second.state is DecisionState.OPEN
        assert await ever_asked(held, view) == [False, True]


async def test_an_answer_of_a_rule_that_a_console_died_over_goes_once(tmp_path: Path) -> None:
    brief = "go " + script(bash("touch made"), {"text": "done"})
    command = [sys.executable, "-m", "tests.children.ruled_console", str(tmp_path), brief, "allow command touch"]
    done = await asyncio.to_thread(subprocess.run, command, cwd=ROOT, timeout=60, check=False)
    assert done.returncode == -9
    async with holding(tmp_path) as held:
        view = await held.until(RUN, settled)
        assert view.turns[0].result is TurnResultKind.SUCCESS
        (decision,) = view.decisions
        assert (decision.state, decision.answered_by) == (DecisionState.DELIVERED, "rule: allow command touch")
        assert (held.tree / "made").exists() and len(await writes(held)) == 1
        assert await ever_asked(held, view) == [False]
        assert await held.coordinator.house.ledger.read(verify) is None


# --------------------------------------------------------------------------------------------- without any process

SAID = TurnId("said")


def state(**more: object) -> SessionState:
    facts: dict[str, object] = {
        "limits": Limits(budget=MicroUsd(1_000), max_turns=1, working_ms=1_000),
        "ready": True,
        "turns": (InFlight(id=SAID, source=TurnSource.OPERATOR, accepted=True),),
        "turns_used": 1,
    }
    return SessionState(**{**facts, **more})  # type: ignore[arg-type]


def taken(begin: SessionState, *lines: str, sendable: bool = True) -> Batch:
    """What these lines of the agent come to in one batch."""
    ids = RealIds()
    ingest = Ingest(run=RUN, custody=CustodyId("c"), driver=ClaudeDriver("t"), redactor=Redactor(()), ids=ids)
    ingest.rules = Rulebook.of(("allow command touch",), tree="/t", real=str)
    now = RealClock().now()
    records = [
        SpoolRecord(
            kind=RecordKind.STDOUT,
            offset=place,
            next_offset=place + 1,
            at_ms=now,
            generation=1,
            data=line.encode() + b"\n",
        )
        for place, line in enumerate(lines, start=1)
    ]
    batch = ingest.take(begin, records)
    ingest.seal(batch, (lambda data: f"digest of {len(data)}") if sendable else None)
    return batch


ASKS = (
    '{"type":"control_request","request_id":"r1","request":{"subtype":"can_use_tool","tool_name":"Bash",'
    '"tool_use_id":"t1","input":{"command":"touch made"}}}'
)
TAKES_BACK = '{"type":"control_cancel_request","request_id":"r1"}'


def ruled(batch: Batch) -> bool:
    """Answered: then booked right behind the request, and sent; never one without the other."""
    asked = next(one for one in batch.books if isinstance(one, machine.BookDecision))
    answers = [one for one in batch.books if isinstance(one, machine.BookRuled)]
    sent = [one for one in batch.acts if isinstance(one, machine.SendRuled)]
    assert len(answers) == len(sent) == (1 if asked.ruling is not None else 0)
    assert len(batch.books) == len(batch.times)
    if answers:
        assert batch.books[batch.books.index(asked) + 1] == answers[0]
        assert (answers[0].request, answers[0].length) == (sent[0].request, len(sent[0].data))
    return bool(answers)


@pytest.mark.parametrize(
    ("more", "answers"),
    [
        ({}, True),
        ({"turns_used": 40}, True),
        ({"finishing": True}, True),
        ({"paused": True}, False),
        ({"spent": MicroUsd(1_000)}, False),
        ({"worked_ms": 1_000}, False),
        ({"parked": True}, False),
        ({"interrupting": SAID}, False),
        ({"unheard": True}, False),
        ({"turns": ()}, False),
        ({"ready": False}, False),
        ({"fencing": "stopped"}, False),
        ({"concluding": True}, False),
        ({"restarting": True}, False),
        ({"agent_gone": "0"}, False),
    ],
)
def test_when_a_rule_may_answer(more: dict[str, object], answers: bool) -> None:
    assert ruled(taken(state(**more), ASKS)) is answers


def test_what_is_taken_back_in_the_same_breath_is_not_answered() -> None:
    assert ruled(taken(state(), ASKS, TAKES_BACK)) is False
    assert ruled(taken(state(), ASKS, TAKES_BACK.replace("r1", "r2"))) is True


def test_where_nothing_can_be_sent_the_operator_is_asked() -> None:
    assert ruled(taken(state(), ASKS, sendable=False)) is False
