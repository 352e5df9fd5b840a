"""Two holds never drive one conversation, whatever an agent says of itself: the second is ended, the first named."""

from pathlib import Path

from app import wording
from coordinator.api import Said, Say
from coordinator.custody.processes import carriers
from store import custody, entries, runs
from store.db import Tx
from store.verify import verify
from store.vocab import CustodyState, RunId, RunOutcome
from tests.coordinator.held import Holding, holding, script

HELLO = "go " + script({"text": "hello"})


async def goes_over(held: Holding, run: RunId, into: str) -> None:
    """All that its agent says from the middle of this turn on is said in that conversation."""
    over = script({"do": "conversation", "id": into}, {"text": "I am somebody else now"})
    assert isinstance(await held.do(Say(run=run, text=f"over {over}")), Said)


async def raised(held: Holding, run: RunId) -> list[str]:
    """What a person was told of it, whether or not it is over by now."""

    def told(tx: Tx) -> list[str]:
        return [one.body for one in entries.entries_of(tx, run) if one.kind == "attention.raised"]

    return [body for body in await held.coordinator.house.ledger.read(told) if '"conversation"' in body]


async def test_an_agent_in_a_conversation_that_another_run_holds_is_ended(tmp_path: Path) -> None:
    async with holding(tmp_path) as held:
        ledger = held.coordinator.house.ledger
        first = await held.start(HELLO)
        await held.settled(first)
        second = await held.start(HELLO, tree_kind="worktree")
        await held.settled(second)
        natives = [held.coordinator.sessions[one].live.native_id for one in (first, second)]
        assert natives[0] and natives[1] and natives[0] != natives[1]

        await goes_over(held, second, natives[0])
        view = await held.until(second, lambda v: v.outcome is not None)
        assert (view.outcome, view.reason) == (RunOutcome.INTERRUPTED, f"protocol-error:conversation-of-{first}")
        assert f"the conversation that run {first} holds" in wording.end_reason(view.reason or "")
        told = await raised(held, second)
        assert len(told) == 1 and f"the conversation that run {first} holds" in told[0]
        waits = [one for one in held.coordinator.snapshot().attention if one.run == second and one.kind == "page"]
        assert len(waits) == 1 and f"run {first}" in waits[0].text, "it waits for a person, past the end of its run"
        await held.coordinator.sessions[second].ended.wait()
        assert carriers(held.coordinator.sessions[second].nonce) == []

        row = await ledger.read(lambda tx: runs.get(tx, second))
        assert row is not None and row.native_id == natives[1], "it may go on in its own, never in the other's"
        mine = await ledger.read(lambda tx: custody.of_run(tx, first))
        assert mine is not None and (mine.state, mine.native_id) == (CustodyState.OPEN, natives[0])
        assert isinstance(await held.do(Say(run=first, text=HELLO)), Said), "the first goes on as if nothing were"
        await held.settled(first, 2)
        assert await ledger.read(verify) is None


async def test_one_whose_conversation_is_free_goes_on_in_it(tmp_path: Path) -> None:
    async with holding(tmp_path) as held:
        run = await held.start(HELLO)
        await held.settled(run)
        await goes_over(held, run, "one-that-nobody-holds")
        await held.settled(run, 2)
        assert isinstance(await held.do(Say(run=run, text=HELLO)), Said)
        await held.settled(run, 3)
        view = held.view(run)
        assert view is not None and view.ending is None and view.native_id == "one-that-nobody-holds"
        assert await raised(held, run) == []
