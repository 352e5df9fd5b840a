"""Programs with a prompt, held on a real pseudo-terminal: bash and Python, as they are on this machine."""

import asyncio
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from coordinator import ingest
from coordinator.api import Done, Finish, Interrupt, ResizeTerminal, Say, SendKeys, Stop, Terminal
from coordinator.custody import spoolfile
from coordinator.custody.processes import carriers
from coordinator.custody.types import RecordKind
from coordinator.drivers import registry
from coordinator.drivers.base import TRANSIENT, AgentEvent, Start, TerminalDriver, TextBlock
from coordinator.eventcodec import decode, encode
from coordinator.review import checking
from coordinator.review.checking import Beside, Checked
from coordinator.steps import Step
from coordinator.terminals import MOST_PIECES, Resized, Terminal as Shown
from store import custody, events
from store.db import Tx
from store.refusal import Refusal
from store.vocab import CostKnowledge, EndReason, RefusalReason, RunId, RunOutcome, TurnResultKind, TurnState
from tests.coordinator.held import Holding, holding
from tests.coordinator.test_adopt import ROOT, Killed
from tests.waiting import eventually

COMMANDS = {
    "bash": ("echo one $((20 + 22))", "for n in 1 2; do\n\techo line $n\ndone\necho last", "sleep 1000"),
    "python": (
        "print('one', 20 + 22)",
        "for n in (1, 2):\n    print('line', n)\n\nprint('last')",
        "__import__('time').sleep(1000)",
    ),
}


async def said(held: Holding, run: RunId, n: int) -> str:
    """The text of its turn with that number."""
    view = held.view(run)
    assert view is not None
    turn = view.turns[n - 1].id
    rows = await held.coordinator.house.ledger.read(lambda tx: events.page(tx, run, limit=10_000))
    found = [decode(row.kind, row.body) for row in rows if row.turn == turn]
    return "\n".join(one.text.strip("`\n") for one in found if isinstance(one, TextBlock))


async def everything_once(held: Holding, run: RunId) -> None:
    """What a driver that knows nothing finds in the whole spool is what the ledger has, each once; the books verify."""
    house = held.coordinator.house
    row = await house.ledger.read(lambda tx: custody.of_run(tx, run))
    view = held.view(run)
    assert row is not None and view is not None and view.terms is not None
    driver = registry.create("pty", "again")
    assert isinstance(driver, TerminalDriver)
    driver.argv(Start(program="", session="", prompt=view.terms.prompt, quit=view.terms.quit))
    for turn in view.turns:
        driver.turn(turn.id, turn.text)
    expected: list[tuple[int, int, AgentEvent]] = []
    for record in spoolfile.read_spool(house.settings.spool / row.id / "spool"):
        found: Sequence[AgentEvent] = ()
        if record.kind is RecordKind.STDOUT:
            found = driver.feed(record.data)
        elif record.kind is RecordKind.QUIET:
            found = driver.quiet()
        elif record.kind is RecordKind.EXIT:
            found = driver.feed_end()
        ingest.told(driver, record)
        expected += [(record.offset, n, one) for n, one in enumerate(found) if not isinstance(one, TRANSIENT)]
    rows = await house.ledger.read(lambda tx: events.page(tx, run, limit=1_000_000))
    secret = house.redactor.text
    assert [(row.offset, row.n, row.body) for row in rows] == [(o, n, encode(one, secret)[1]) for o, n, one in expected]

    def check(tx: Tx) -> Checked:
        return checking.check(tx, Beside(spool=house.settings.spool), mark=None, noted=None, progress=lambda *_: None)

    checked = await house.ledger.read(check)
    assert checked.difference is None and checked.spools >= 1


async def test_a_secret_that_is_typed_is_kept_from_the_books_and_they_still_agree(tmp_path: Path) -> None:
    secret = "hunter2-and-nobody-guesses-it"
    async with holding(tmp_path, environment={"MY_TOKEN": secret}) as held:
        run = await held.start(f"x={secret}; y=1", agent="bash")
        assert (await held.settled(run, 1)).turns[-1].result is TurnResultKind.SUCCESS
        assert await said(held, run, 1) == "", "its echo is no output"
        await held.do(Say(run=run, text=f'[ "$x" = {secret} ] && echo "the same $x"'))
        assert (await held.settled(run, 2)).turns[-1].result is TurnResultKind.SUCCESS
        assert await said(held, run, 2) == "the same «redacted»"
        await held.do(Stop(run=run))
        await held.until(run, lambda v: v.outcome is not None)
        await held.coordinator.sessions[run].ended.wait()
        await everything_once(held, run)


@pytest.mark.parametrize("agent", ["bash", "python"])
async def test_turns_an_interrupt_and_a_finish(tmp_path: Path, agent: str) -> None:
    first, several, endless = COMMANDS[agent]
    async with holding(tmp_path) as held:
        run = await held.start(first, agent=agent)
        assert (await held.settled(run, 1)).turns[-1].result is TurnResultKind.SUCCESS
        assert await said(held, run, 1) == "one 42"
        await held.do(Say(run=run, text=several))
        assert (await held.settled(run, 2)).turns[-1].result is TurnResultKind.SUCCESS
        assert await said(held, run, 2) == "line 1\nline 2\nlast"
        await held.do(Say(run=run, text=endless))
        await held.until(run, lambda v: v.turns[-1].state is TurnState.ACCEPTED and len(v.turns) == 3)
        assert isinstance(await held.do(Interrupt(run=run, turn=None)), Done)
        assert (await held.settled(run, 3)).turns[-1].result is TurnResultKind.INTERRUPTED
        nonce = held.coordinator.sessions[run].nonce
        assert len(carriers(nonce)) == 1, "only the program itself is left"
        await held.do(Say(run=run, text=first))
        assert (await held.settled(run, 4)).turns[-1].result is TurnResultKind.SUCCESS
        assert await said(held, run, 4) == "one 42"
        view = held.view(run)
        assert view is not None and all(turn.cost is None for turn in view.turns)
        assert {turn.cost_known for turn in view.turns} == {CostKnowledge.UNKNOWN}
        await held.do(Finish(run=run))
        view = await held.until(run, lambda v: v.outcome is not None)
        assert view.outcome is RunOutcome.FINISHED and view.receipt is not None
        assert [step for step, _ in view.receipt.steps] == ["farewell"], "its own word ended it"
        await held.coordinator.sessions[run].ended.wait()
        assert carriers(nonce) == []
        await everything_once(held, run)


async def test_a_stop_in_a_turn_leaves_nothing(tmp_path: Path) -> None:
    async with holding(tmp_path) as held:
        run = await held.start(
            "setsid sh -c 'trap \"\" TERM HUP; echo up > up.txt; sleep 1001' & sleep 1002", agent="bash"
        )
        await eventually(lambda: (held.tree / "up.txt").exists())
        nonce = held.coordinator.sessions[run].nonce
        assert len(carriers(nonce)) >= 3
        await held.do(Stop(run=run))
        view = await held.until(run, lambda v: v.outcome is not None)
        assert (view.outcome, view.reason) == (RunOutcome.INTERRUPTED, EndReason.STOPPED)
        assert view.receipt is not None and not view.receipt.remaining and len(view.receipt.ended) >= 3
        await held.coordinator.sessions[run].ended.wait()
        assert carriers(nonce) == []
        await everything_once(held, run)


def printed(terminal: Terminal) -> bytes:
    return b"".join(piece for piece in terminal.since(0).pieces if isinstance(piece, bytes))


async def test_keys_answer_what_a_program_asks_on_its_screen(tmp_path: Path) -> None:
    async with holding(tmp_path) as held:
        run = await held.start("read -p 'sure? ' x; echo got $x; stty size", agent="bash", max_turns=1)
        terminal = held.coordinator.sessions[run].ingest.terminal
        assert terminal is not None
        await eventually(lambda: printed(terminal).endswith(b"sure? "))
        await eventually(lambda: [one for one in held.coordinator.snapshot().attention if "sure?" in one.text])
        assert isinstance(await held.do(ResizeTerminal(run=run, rows=30, columns=100)), Done)
        assert isinstance(await held.do(SendKeys(run=run, data=b"yes\r")), Done)
        assert (await held.settled(run, 1)).turns[-1].result is TurnResultKind.SUCCESS
        assert await said(held, run, 1) == "sure? yes\ngot yes\n30 100"
        await eventually(lambda: not [one for one in held.coordinator.snapshot().attention if "sure?" in one.text])
        assert Resized(rows=30, columns=100) in terminal.since(0).pieces
        refused = await held.do(SendKeys(run=run, data=b"ls\r"))
        assert isinstance(refused, Refusal) and refused.reason is RefusalReason.BUDGET_EXHAUSTED, "no turn is left"
        await held.do(Finish(run=run))
        await held.until(run, lambda v: v.outcome is not None)
        await held.coordinator.sessions[run].ended.wait()
        await everything_once(held, run)
        other = await held.start("hello")
        await held.settled(other, 1)
        refused = await held.do(SendKeys(run=other, data=b"ls\r"))
        assert isinstance(refused, Refusal) and refused.reason is RefusalReason.NOT_POSSIBLE_FOR_AGENT
        await held.do(Stop(run=other))


@pytest.mark.parametrize("agent", ["bash", "python"])
async def test_the_next_console_carries_on_the_same_turn(tmp_path: Path, agent: str) -> None:
    gate = tmp_path / "gate"
    wait = {
        "bash": f"until [ -e {gate} ]; do sleep 0.05; done; echo through",
        "python": f"import os\nwhile not os.path.exists({str(gate)!r}): pass\n\nprint('through')",
    }[agent]
    first = Killed(tmp_path, wait, agent)
    seen = await asyncio.to_thread(first.until, lambda told: told["turns"] == ["accepted"])
    first.kill()
    assert carriers(seen["nonce"])
    async with holding(tmp_path) as held:
        run = RunId(seen["run"])
        assert held.coordinator.swept.picked_up == (run,)
        terminal = held.coordinator.sessions[run].ingest.terminal
        assert terminal is not None
        await eventually(lambda: wait.splitlines()[0].encode() in printed(terminal))
        gate.touch()
        assert (await held.settled(run, 1)).turns[-1].result is TurnResultKind.SUCCESS
        assert await said(held, run, 1) == "through"
        await held.do(Say(run=run, text=COMMANDS[agent][0]))
        assert (await held.settled(run, 2)).turns[-1].result is TurnResultKind.SUCCESS
        assert await said(held, run, 2) == "one 42"
        await held.do(Finish(run=run))
        view = await held.until(run, lambda v: v.outcome is not None)
        assert view.outcome is RunOutcome.FINISHED
        await held.coordinator.sessions[run].ended.wait()
        assert carriers(seen["nonce"]) == []
        await everything_once(held, run)


STEPS = [
    *((step, 1) for step in (Step.AGENT_STARTED, Step.AGENT_STAMPED, Step.BEFORE_FIRST_BYTE)),
    *((Step.TURN_RECORDED, n) for n in (1, 2)),
    *((step, n) for step in (Step.TURN_BEFORE_WRITE, Step.TURN_AFTER_WRITE) for n in (1, 2, 3)),
    *((step, n) for step in (Step.TURN_ACCEPTED, Step.TURN_SETTLED) for n in (1, 2, 3)),
    *((step, 1) for step in (Step.CONTROL_BEFORE_WRITE, Step.CONTROL_AFTER_WRITE, Step.CONCLUDE_ORDERED)),
]
USUAL = {(Step.TURN_BEFORE_WRITE, 2), (Step.TURN_AFTER_WRITE, 1), (Step.CONTROL_AFTER_WRITE, 1)}


@pytest.mark.parametrize(
    ("step", "nth"), [pytest.param(*one, marks=() if one in USUAL else pytest.mark.soak) for one in STEPS]
)
async def test_a_console_killed_at_a_step(tmp_path: Path, step: Step, nth: int) -> None:
    """What was typed went at most once, and what the books say of it is what the shell did."""
    doomed = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "tests.children.terminal_console", str(tmp_path), step, str(nth), cwd=ROOT
    )
    assert await doomed.wait() == -9
    async with holding(tmp_path) as held:
        run = RunId(1)
        await held.until(run, lambda v: True)
        await held.coordinator.sessions[run].taken_over()
        view = await held.until(run, lambda v: v.outcome is not None or v.in_flight is None or len(v.turns) == 3)
        if view.in_flight is not None and view.outcome is None:
            await held.do(Interrupt(run=run, turn=None))
        await held.until(run, lambda v: v.outcome is not None or v.in_flight is None)
        await held.do(Finish(run=run))
        view = await held.until(run, lambda v: v.outcome is not None)
        await held.coordinator.sessions[run].ended.wait()
        ran = (held.tree / "ran").read_text().split("\n")[:-1] if (held.tree / "ran").exists() else []
        assert len(ran) == len(set(ran)), "nothing was typed twice"
        for turn, did in zip(view.turns, ({"one"}, {"two", "and three"}, {"four"}), strict=False):
            if turn.state is TurnState.SETTLED:
                assert did <= set(ran)
            elif turn.state is TurnState.CANCELLED:
                assert not did & set(ran)
        await everything_once(held, run)


def test_what_is_printed_a_character_at_a_time_is_kept_within_bounds() -> None:
    terminal = Shown()
    for _ in range(3 * MOST_PIECES):
        terminal.put(b"x")
    shown = terminal.since(0)
    assert len(shown.pieces) == MOST_PIECES and shown.skipped
    assert not terminal.since(shown.upto).pieces and not terminal.since(shown.upto - 1).skipped
