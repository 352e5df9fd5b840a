"""The composer and the start form: what is typed is never lost, and never starts or sends by accident."""

from msgspec.structs import replace
from textual import events

from app.console.app import FootplateApp
from coordinator.api import (
    Propose,
    SaveDraft,
    Say,
    StartRun,
)
from coordinator.terms import TreeKind
from store.refusal import Refusal
from store.vocab import RefusalReason
from tests.console.driving import alone, burst, quiet, settled, typed
from tests.console.opened import console
from tests.console.scenes import full
from tests.fakes.backend import FakeBackend, make_session, make_snapshot
from tests.waiting import eventually

# -------------------------------------------------------------------------------------------------------- the composer


async def test_enter_sends_and_the_text_goes_only_when_it_was_taken() -> None:
    async with console(make_snapshot(make_session())) as (app, pilot, backend):
        backend.replies[Say] = Refusal(RefusalReason.TURN_CAP, {})
        await typed(app, pilot, "go on")
        await alone(app, pilot, "enter")
        await eventually(lambda: app.drive.said.text)
        assert app.drive.composer.text == "go on"
        del backend.replies[Say]
        await alone(app, pilot, "enter")
        await eventually(lambda: app.drive.composer.text == "")
        assert [say.text for say in backend.given(Say)] == ["go on", "go on"]


async def test_pasted_lines_without_brackets_are_one_draft() -> None:
    async with console(make_snapshot(make_session())) as (app, pilot, backend):
        burst(app, "a", "enter", "b", "enter", "enter", "c", "enter")
        await settled(pilot)
        await quiet(app)
        await settled(pilot)
        assert backend.given(Say) == []
        assert app.drive.composer.text == "a\nb\n\nc\n"


async def test_an_enter_that_begins_a_burst_is_a_line_too() -> None:
    async with console(make_snapshot(make_session())) as (app, pilot, backend):
        await typed(app, pilot, "a")
        burst(app, "enter", "b")
        await settled(pilot)
        await quiet(app)
        await settled(pilot)
        assert backend.given(Say) == []
        assert app.drive.composer.text == "a\nb"


async def test_a_paste_is_literal() -> None:
    async with console(make_snapshot(make_session())) as (app, _pilot, _backend):
        app.drive.composer.post_message(events.Paste("one\r\ntwo\x1b[2J\tend"))
        await eventually(lambda: app.drive.composer.text)
        assert app.drive.composer.text == "one\ntwo␛[2J end"


async def test_drafts_are_kept_for_each_session() -> None:
    async with console(full()) as (app, pilot, backend):
        await typed(app, pilot, "for twelve")
        await alone(app, pilot, "escape")
        await alone(app, pilot, "J")
        await eventually(lambda: app.drive.run_in_view == 14)
        assert app.drive.composer.text == ""
        await alone(app, pilot, "i")
        await typed(app, pilot, "for fourteen")
        await alone(app, pilot, "escape")
        await alone(app, pilot, "K")
        await eventually(lambda: app.drive.composer.text == "for twelve")
        await eventually(lambda: backend.drafts.get("run:14") == "for fourteen")
        assert backend.drafts["run:12"] == "for twelve"


async def test_what_is_to_be_done_in_one_repository_is_not_proposed_in_another() -> None:
    drafts: dict[str, str] = {}
    here = make_snapshot()
    assert here.repository is not None
    there = replace(here, repository=replace(here.repository, path="/home/mara/src/other"))
    for snapshot, found in ((here, ""), (there, ""), (here, "mend the shop")):
        backend = FakeBackend(snapshot)
        backend.drafts = drafts
        app = FootplateApp(backend)
        async with app.run_test() as pilot:
            await settled(pilot)
            await eventually(lambda app=app, found=found: app.drive.composer.text == found)  # type: ignore[misc]
            if not drafts:
                await typed(app, pilot, "mend the shop")
                await eventually(lambda: "mend the shop" in drafts.values())
    assert list(drafts.values()) == ["mend the shop"]


async def test_a_draft_of_an_earlier_console_comes_back() -> None:
    backend = FakeBackend(make_snapshot(make_session()))
    backend.drafts["run:12"] = "half a thou"
    app = FootplateApp(backend)
    async with app.run_test():
        await eventually(lambda: app.drive.composer.text == "half a thou")
        assert backend.given(SaveDraft) == []


async def test_a_command_that_is_not_the_agents_is_sent_as_text() -> None:
    async with console(make_snapshot(make_session())) as (app, pilot, backend):
        await typed(app, pilot, "/comp")
        await alone(app, pilot, "tab")
        assert app.drive.composer.text == "/compact "
        await alone(app, pilot, "enter")
        await eventually(lambda: app.drive.composer.text == "")
        await typed(app, pilot, "/etc/hosts")
        await alone(app, pilot, "enter")
        await eventually(lambda: len(backend.given(Say)) == 2)
        assert [say.literal for say in backend.given(Say)] == [False, True]


async def test_history_is_at_the_edge_and_the_draft_comes_back() -> None:
    async with console(make_snapshot(make_session())) as (app, pilot, _backend):
        await typed(app, pilot, "draft")
        await alone(app, pilot, "up")
        assert app.drive.composer.text == "Run it twenty times to be sure."
        await alone(app, pilot, "up")
        assert app.drive.composer.text == "The second, and add a test for the first."
        await alone(app, pilot, "down")
        await alone(app, pilot, "down")
        assert app.drive.composer.text == "draft"


# ------------------------------------------------------------------------------------------------------------ starting


async def test_starting_takes_two_enters_with_the_terms_between() -> None:
    async with console(make_snapshot()) as (app, pilot, backend):
        await typed(app, pilot, "Fix it.")
        await alone(app, pilot, "enter")
        await eventually(lambda: app.focused is app.drive.terms)
        assert backend.given(StartRun) == []
        await pilot.press("enter")
        await quiet(app)
        assert backend.given(StartRun) == [], "an Enter on terms just painted starts nothing"
        await eventually(lambda: app.drive.terms.ripe)
        await alone(app, pilot, "enter")
        await eventually(lambda: backend.given(StartRun))
        assert backend.given(StartRun)[0].terms.instruction == "Fix it."
        await eventually(lambda: app.drive.composer.text == "")
        assert app.drive.run_in_view == 99


async def test_tab_takes_other_terms_and_another_brief_drops_them() -> None:
    async with console(make_snapshot()) as (app, pilot, backend):
        await typed(app, pilot, "Fix it.")
        await alone(app, pilot, "enter")
        await eventually(lambda: app.drive.terms.ripe)
        await alone(app, pilot, "tab")
        await eventually(lambda: len(backend.given(Propose)) == 2)
        assert backend.given(Propose)[1].preset == "overnight"
        await alone(app, pilot, "escape")
        assert app.drive.proposal is None
        assert app.drive.composer.text == "Fix it."


async def test_t_on_the_terms_changes_between_a_tree_of_its_own_and_the_one_at_hand() -> None:
    async with console(make_snapshot()) as (app, pilot, backend):
        await typed(app, pilot, "Fix it.")
        await alone(app, pilot, "enter")
        await eventually(lambda: app.drive.terms.ripe)
        own = app.drive.proposal is not None and app.drive.proposal.terms.tree_kind is TreeKind.WORKTREE
        await alone(app, pilot, "t")
        await eventually(lambda: len(backend.given(Propose)) == 2)
        assert backend.given(Propose)[1].worktree is not own


async def test_a_refused_proposal_keeps_the_brief() -> None:
    async with console(make_snapshot()) as (app, pilot, backend):
        backend.replies[Propose] = Refusal(RefusalReason.AGENT_NOT_FOUND, {"agent": "claude"})
        await typed(app, pilot, "Fix it.")
        await alone(app, pilot, "enter")
        await eventually(lambda: app.drive.said.text)
        assert app.drive.composer.text == "Fix it."
