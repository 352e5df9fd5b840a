"""What a review shows of a ledger that a real coordinator wrote, held against what the live console shows of it."""

from datetime import UTC
from pathlib import Path

from msgspec.structs import replace

from coordinator.api import AnswerDecision, Done, Extend, Finish, ReadTranscript, ReadWhole, Rename, Said, Say, Stop
from coordinator.drivers import base
from coordinator.drivers.base import Allow, Deny
from coordinator.review import filters, reading
from coordinator.review.source import reading_for_review
from coordinator.review.types import RunFilter, RunPage, SearchHit, Sort, SpendBy
from coordinator.snapshots import past_view
from coordinator.viewtypes import SessionView
from store import decisions, events, runs, turns
from store.refusal import Refusal
from store.tx import Tx
from store.verify import verify
from store.vocab import (
    CostKnowledge,
    DecisionKind,
    DecisionState,
    EvidenceKind,
    MicroUsd,
    Millis,
    RefusalReason,
    RunId,
    RunOutcome,
    StopResult,
    TurnId,
    TurnResultKind,
    TurnSource,
    TurnState,
)
from tests.coordinator.held import Holding, bash, holding, script
from tests.store.scenes import NOON, Ticks, admitted, event, in_memory, later, said

LIVE_ONLY = {"models", "modes", "commands", "own_screen", "last_event_at", "changed", "changes_known",
             "context_used", "context_size", "plan", "background", "processes", "ending", "status", "handoff",
             "tools", "mode", "finishing", "takes_images"}  # fmt: skip
"""Of a session that this console held until a moment ago there is more, as its agent told it; no ledger has it."""


def wanted(line: str) -> RunFilter:
    found = filters.parse(line, zone=UTC)
    assert isinstance(found, RunFilter), found
    return found


async def answered(held: Holding, run: RunId, answer: Allow | Deny) -> None:
    view = await held.until(run, lambda v: v.decisions and v.decisions[0].state is DecisionState.OPEN)
    asked = view.decisions[0]
    command = AnswerDecision(
        run=run, decision=asked.id, revision=asked.revision, payload_hash=asked.payload_hash, answer=answer
    )
    assert isinstance(await held.do(command), Done)
    await held.until(run, lambda v: any(one.id == asked.id and one.answered_by for one in v.decisions))


async def worked(folder: Path) -> dict[str, SessionView]:
    """Two runs: one finished after a permission, a denial, an extension; one stopped in its turn. As the console shows
    them at its end."""
    async with holding(folder) as held:
        new = {"file_path": str(held.tree / "new.txt"), "content": "hi\n"}
        write: dict[str, object] = {"tools": [{"name": "Write", "input": new}]}
        brief = "mend the checkout " + script(write, bash("echo wombat"), {"text": "the **expiry** is mended"})
        first = await held.start(brief)
        await answered(held, first, Allow())
        await answered(held, first, Deny(message="no marsupials here"))
        await held.until(first, lambda v: v.turns[0].state is TurnState.SETTLED)
        assert isinstance(await held.do(Extend(run=first, money=MicroUsd(1_000_000), turns=3)), Done)
        assert isinstance(await held.do(Rename(run=first, title="Checkout, mended")), Done)
        assert isinstance(await held.do(Say(run=first, text="thanks " + script({"text": "gladly"}))), Said)
        await held.until(first, lambda v: len(v.turns) == 2 and v.turns[1].state is TurnState.SETTLED)
        assert isinstance(await held.do(Finish(run=first)), Done)
        await held.until(first, lambda v: v.outcome is not None)
        second = await held.start("wait " + script(bash("sleep 60"), {"text": "late"}))
        await answered(held, second, Allow())
        await held.until(second, lambda v: v.tools)
        assert isinstance(await held.do(Stop(run=second)), Done)
        await held.until(second, lambda v: v.outcome is not None)
        for run in (first, second):
            await held.coordinator.sessions[run].ended.wait()
        shown = {"finished": held.view(first), "stopped": held.view(second)}
        assert all(shown.values())
        return {name: view for name, view in shown.items() if view is not None}


def page_of(tx: Tx, run: RunId) -> RunPage:
    found = reading.run_page(tx, run)
    assert isinstance(found, RunPage), found
    return found


async def test_a_run_is_shown_as_the_live_console_showed_it(tmp_path: Path) -> None:
    live = await worked(tmp_path)
    with reading_for_review(tmp_path / "ledger.db", now=Ticks()) as (tx, salvaged):
        assert salvaged is None and verify(tx) is None
        for view in live.values():
            page = page_of(tx, view.run)
            assert page.session == past_view(tx, view.run), "as a console shows a run that it did not hold"
            differ = {one for one in SessionView.__struct_fields__ if getattr(page.session, one) != getattr(view, one)}
            assert differ <= LIVE_ONLY
            assert len(page.turns) == len(page.session.turns) and page.events == events.count(tx, view.run)
        finished, stopped = (page_of(tx, live[name].run) for name in ("finished", "stopped"))
        [amendment] = finished.amendments
        assert (amendment.money, amendment.turns, amendment.operator) == (1_000_000, 3, "Ada")
        assert finished.authorization.operator == "Ada" and finished.authorization.problem == ""
        assert finished.authorization.close_reason == "finished"
        kinds = [one.kind for one in finished.evidence]
        assert EvidenceKind.DIFF in kinds and EvidenceKind.STATUS in kinds
        diff = reading.evidence(tx, next(one.id for one in finished.evidence if one.kind is EvidenceKind.DIFF))
        assert diff is not None and b"new.txt" in diff.content
        [stop] = stopped.stops
        assert (stop.result, stop.operator) == (StopResult.HELD, "Ada")
        assert [one.remaining for one in stopped.receipts] == [0] and stopped.session.receipt is not None
        assert [one.closed_at is not None for one in stopped.custody] == [True]
        assert finished.control_writes > 0 and not finished.imported and finished.problems == ()


async def test_its_conversation_its_table_its_search_and_its_sums(tmp_path: Path) -> None:
    live = await worked(tmp_path)
    finished, stopped = live["finished"], live["stopped"]
    with reading_for_review(tmp_path / "ledger.db", now=Ticks()) as (tx, _):
        # the table
        page = reading.runs(tx)
        assert [row.run for row in page.rows] == [stopped.run, finished.run] and page.more is None
        row = page.rows[1]
        assert (row.title, row.turns, row.decisions, row.outcome) == ("Checkout, mended", 2, 2, RunOutcome.FINISHED)
        assert row.cost == finished.budget.spent and row.cost_known is CostKnowledge.REPORTED
        assert row.events == events.count(tx, finished.run)
        first = reading.runs(tx, limit=1, sort=Sort.OLDEST)
        assert [one.run for one in first.rows] == [finished.run] and first.more is not None
        again = reading.runs(tx, limit=1, sort=Sort.OLDEST, more=first.more)
        assert [one.run for one in again.rows] == [stopped.run] and again.more is None
        for line, found in {
            "repo:tree outcome:finished": [finished.run],
            "repo:nowhere": [],
            "tool:bash": [stopped.run, finished.run],
            "tool:Write": [finished.run],
            "wombat": [finished.run],
            "checkout mended": [finished.run],
            "agent:practice outcome:interrupted reason:stopped": [stopped.run],
            "imported:yes": [],
        }.items():
            assert [one.run for one in reading.runs(tx, wanted(line)).rows] == found, line
        # the conversation
        feed = reading.feed(tx, ReadTranscript(run=finished.run))
        said_so = [one for one in feed.events if isinstance(one.event, base.TextBlock)]
        assert [one.event.text for one in said_so] == ["the **expiry** is mended", "gladly"]  # type: ignore[union-attr]
        assert said_so[0].key is not None
        assert reading.whole(tx, ReadWhole(run=finished.run, key=said_so[0].key)) == "the **expiry** is mended"
        # the search
        hit = only(tx, "expiry")
        assert (hit.kind, hit.run, hit.turn_n, hit.key) == ("text", finished.run, 1, said_so[0].key)
        assert [hit.snippet[a:b] for a, b in hit.marks] == ["expiry"]
        around = reading.feed(tx, ReadTranscript(run=hit.run, around=hit.key, limit=2))
        assert hit.key in [one.key for one in around.events]
        answer = only(tx, "marsupials")
        assert (answer.kind, answer.run) == ("decision", finished.run)
        assert answer.decision in [one.id for one in page_of(tx, finished.run).session.decisions]
        assert [one.text for one in reading.search(tx, wanted("tool:Bash repo:tree outcome:finished")).hits] == [
            "echo wombat"
        ]
        # the sums: play money only where it is asked for
        assert reading.spend(tx, SpendBy.AGENT) == ()
        [sum_] = reading.spend(tx, SpendBy.AGENT, practice=True)
        assert (sum_.key, sum_.runs, sum_.turns) == ("practice", 2, 3)
        assert sum_.cost == finished.budget.spent + stopped.budget.spent
        by_run = {one.key: one for one in reading.spend(tx, SpendBy.RUN, practice=True)}
        for view in live.values():
            assert by_run[str(view.run)].working_ms == view.budget.working_ms
        by_turn = reading.spend(tx, SpendBy.TURN, run=finished.run)
        assert [one.key for one in by_turn] == [f"{finished.run}.1", f"{finished.run}.2"]
        assert sum(one.cost for one in by_turn) == finished.budget.spent
        sizes = reading.sizes(tx)
        assert (sizes.runs, sizes.live, sizes.turns) == (2, 0, 3)
        assert sizes.file == (tmp_path / "ledger.db").stat().st_size


def only(tx: Tx, line: str) -> SearchHit:
    """The one hit beside the brief, in which the practice agent's whole script stands."""
    page = reading.search(tx, wanted(line))
    hits = [hit for hit in page.hits if hit.kind != "turn"]
    assert page.more is None and len(hits) == 1, page
    return hits[0]


def test_what_cannot_be_read_any_more_is_named_and_the_rest_shown() -> None:
    with in_memory() as tx:
        run = admitted(tx)
        turn = said(tx, run.id)
        events.append(tx, run=run.id, rows=[event(1, body="no json"), event(2, kind="of-tomorrow", body="{}")])
        for request in ("r1", "r2"):
            decisions.ask(
                tx, run=run.id, turn=turn, kind=DecisionKind.PARK, request=request, generation=1, payload="{}",
                title="?", subject="",
            )  # fmt: skip
        page = page_of(tx, run.id)
        assert page.authorization.problem and page.session.terms is not None
        assert page.session.terms.repository == run.repository and page.session.budget.limit is None
        assert page.session.decisions == () and len(page.problems) == 2 and page.problems[0].startswith("decision ")
        feed = reading.feed(tx, ReadTranscript(run=run.id))
        assert [type(one.event) for one in feed.events] == [base.Unknown, base.Unknown]
        assert page.session.owner == "the console of ada", "it has not ended in this ledger"
        missing = reading.run_page(tx, RunId(99))
        assert isinstance(missing, Refusal) and missing.reason is RefusalReason.NO_SUCH_RUN


def test_a_repository_is_meant_by_its_path_its_last_parts_or_a_piece_of_the_last() -> None:
    every = ("/home/ada/src/orders", "/home/ada/src/orders-api", "/srv/orders", "/srv/Billing")
    named = reading.repositories_named
    assert named("orders", every) == ("/home/ada/src/orders", "/srv/orders")
    assert named("src/orders", every) == ("/home/ada/src/orders",)
    assert named("/srv/orders/", every) == ("/srv/orders",)
    assert named("bill", every) == ("/srv/Billing",)
    assert named("order", every) == every[:3]
    assert named("srv", every) == named("nothing", every) == ()


def test_money_and_time_by_what_turns_have_in_common() -> None:
    with in_memory() as tx:
        hour = 3_600_000
        made = []
        for n, agent in enumerate(("claude", "codex")):
            run = admitted(tx, tree=f"/work/{n}", agent=agent).id
            made.append(run)
            for place in range(2):
                begin = later(tx, (n * 2 + place) * 20 * hour)
                turn = turns.record(
                    begin, id=TurnId(f"t{n}{place}"), run=run, source=TurnSource.OPERATOR, generation=1, text="x",
                    preamble="", bytes=1, digest="d", operator="ada",
                )  # fmt: skip
                assert isinstance(turn, turns.Turn)
                turns.written(begin, id=turn.id)
                decisions.ask(
                    later(begin, 1_000), run=run, turn=turn.id, kind=DecisionKind.PERMISSION, request=f"r{place}",
                    generation=1, payload=f'{{"n":{place}}}', title="?", subject="",
                )  # fmt: skip
                asked = decisions.of_run(tx, run)[-1]
                decisions.withdraw(later(begin, 4_000), id=asked.id, note="")
                turns.settle(
                    later(begin, 10_000), id=turn.id, result=TurnResultKind.SUCCESS,
                    cost=None if place else MicroUsd(100 * (n + 1)),
                    cost_known=CostKnowledge.UNKNOWN if place else CostKnowledge.GUESS, input_tokens=7,
                )  # fmt: skip
        runs.learn(tx, id=made[0], model="m1")
        days = reading.spend(tx, SpendBy.DAY, zone=UTC)
        assert [(one.key, one.turns, one.cost) for one in days] == [
            ("2023-11-14", 1, 100), ("2023-11-15", 1, 0), ("2023-11-16", 1, 200), ("2023-11-17", 1, 0),
        ]  # fmt: skip
        by_agent = reading.spend(tx, SpendBy.AGENT)
        assert [(one.key, one.cost, one.guessed, one.unknown_turns) for one in by_agent] == [
            ("codex", 200, 200, 1), ("claude", 100, 100, 1),
        ]  # fmt: skip
        assert [one.working_ms for one in by_agent] == [14_000, 14_000] and by_agent[0].input_tokens == 14
        assert [one.key for one in reading.spend(tx, SpendBy.MODEL)] == ["", "m1"]
        assert [one.key for one in reading.spend(tx, SpendBy.REPOSITORY)] == ["/work/repository"]
        turn_rows = reading.spend(tx, SpendBy.TURN, run=made[1])
        assert [(one.key, one.cost, one.working_ms) for one in turn_rows] == [("2.1", 200, 7_000), ("2.2", 0, 7_000)]
        late = RunFilter(since=Millis(NOON + 30 * hour), until=Millis(NOON + 50 * hour))
        assert [one.key for one in reading.spend(tx, SpendBy.TURN, late)] == ["2.1"], "the turns' own time"
        assert reading.spend(tx, SpendBy.RUN, replace(late, model="m1")) == ()
