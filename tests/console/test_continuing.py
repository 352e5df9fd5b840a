"""An ended session is continued from its own view: by a key or by writing, its terms shown first, started by their
Enter."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from msgspec.structs import replace
from textual.pilot import Pilot
from textual.widgets import Input

from app.console.app import FootplateApp
from app.console.keys import Where
from app.console.options import ConsoleOptions
from app.console.screens.fields import Fields
from app.console.views.actions import Situation, why_dead
from app.console.views.ending import ended_lines
from app.console.views.glyphs import Glyphs
from app.console.views.ink import plain
from coordinator.api import AttentionView, Propose, StartRun
from store.vocab import AttentionKind, CustodyState, DecisionId, DecisionKind, RunId
from tests.console.driving import alone, settled, typed
from tests.console.opened import answers, console, on_card
from tests.console.scenes import QUESTION, checkout, ripe_terms, stopped
from tests.console.states import checked
from tests.fakes.backend import FakeBackend, make_snapshot
from tests.waiting import eventually

OVER = RunId(7)


@asynccontextmanager
async def on_the_ended_one(**changes: object) -> AsyncIterator[tuple[FootplateApp, "Pilot[int]", FakeBackend]]:
    options = ConsoleOptions(home="/home/mara", run=OVER)
    async with console(make_snapshot(stopped(**changes), checkout()), options=options) as opened:
        assert opened[0].drive.run_in_view == OVER
        yield opened


async def shown(app: FootplateApp, backend: FakeBackend, n: int = 1) -> Propose:
    await eventually(lambda: len(backend.given(Propose)) == n and app.drive.terms.proposal is not None)
    await ripe_terms(app)
    return backend.given(Propose)[-1]


async def test_c_and_two_enters_go_on_without_a_word() -> None:
    async with on_the_ended_one() as (app, pilot, backend):
        await alone(app, pilot, "enter")
        assert "say how to go on" in app.drive.said.text and not backend.given(Propose), "not by a stray Enter"
        await alone(app, pilot, "escape")
        await alone(app, pilot, "c")
        assert app.drive.focus_place is Where.COMPOSER
        await alone(app, pilot, "enter")
        asked = await shown(app, backend)
        assert (asked.continues, asked.instruction, asked.agent, asked.fresh) == (OVER, "", None, None)
        said = " ".join(word for row in app.drive.terms.rows for word in plain(row).split())
        assert "It goes on from 7 in the agent's own conversation." in said and "1 answer of yours" in said
        await alone(app, pilot, "enter")
        await eventually(lambda: backend.given(StartRun))
        started = backend.given(StartRun)[0]
        assert started.terms.continues == OVER and started.title == "", "it keeps its title"


async def test_the_terms_are_for_what_is_written_and_for_the_session_in_view() -> None:
    async with on_the_ended_one() as (app, pilot, backend):
        await typed(app, pilot, "now the docs")
        await alone(app, pilot, "enter")
        assert (await shown(app, backend)).instruction == "now the docs"
        await alone(app, pilot, "escape")
        await eventually(lambda: app.drive.proposal is None)
        await alone(app, pilot, "enter")
        await shown(app, backend, 2)
        app.drive.composer.focus()
        await typed(app, pilot, "!")
        await eventually(lambda: app.drive.proposal is None)
        await alone(app, pilot, "enter")
        await shown(app, backend, 3)
        # Another session in view: neither shown nor started there.
        await app.deeds.viewing.view(RunId(12))
        await settled(pilot)
        assert app.drive.terms.proposal is None
        await app.deeds.viewing.view(None)
        await settled(pilot)
        assert app.drive.terms.proposal is None and not backend.given(StartRun)


async def test_on_a_small_screen_the_terms_their_keys_and_the_text_are_whole() -> None:
    options = ConsoleOptions(home="/home/mara", run=OVER)
    async with console(checked(), (80, 24), options) as (app, pilot, backend):
        await typed(app, pilot, "now the docs")
        await alone(app, pilot, "enter")
        await shown(app, backend)
        await settled(pilot)
        drive = app.drive
        assert "every field" in " ".join(map(plain, drive.terms.rows))
        for part in (drive.terms, drive.composer):
            whole = drive.get_widget_by_id("centre").content_region.contains_region(part.region)
            assert whole and part.size.height, part
        assert drive.terms.size.height == len(drive.terms.rows)


async def test_the_form_chooses_the_conversation() -> None:
    async with on_the_ended_one() as (app, pilot, backend):
        await typed(app, pilot, "again")
        await alone(app, pilot, "enter")
        await shown(app, backend)
        await alone(app, pilot, "e")
        form = await eventually(lambda: app.screen if isinstance(app.screen, Fields) else None)
        assert form is not None
        field = form.query_one("#field-conversation", Input)
        assert field.value == "its own" and form.query_one("#field-title", Input).value == "fix it"
        field.value = "new"
        await alone(app, pilot, "enter")
        await eventually(lambda: len(backend.given(Propose)) == 2)
        assert (backend.given(Propose)[1].fresh, backend.given(Propose)[1].continues) == (True, OVER)


async def test_a_question_that_outlived_its_session_is_answered_on_its_card() -> None:
    park = replace(QUESTION, id=DecisionId(8), run=OVER, kind=DecisionKind.PARK, questions=QUESTION.questions[1:])
    waits = AttentionView(id=1, run=OVER, kind=AttentionKind.DECISION, text="?", since=park.asked_at, decision=park.id)
    snapshot = make_snapshot(stopped(decisions=(park,)), attention=(waits,))
    async with console(snapshot, options=ConsoleOptions(home="/home/mara", run=OVER)) as (app, pilot, backend):
        await on_card(app, pilot)
        assert app.drive.decision_in_view == park.id
        await alone(app, pilot, "1")

        await eventually(lambda: answers(backend))
        assert (answers(backend)[0].run, answers(backend)[0].decision) == (OVER, park.id)


def test_the_key_says_why_it_is_dead() -> None:
    def why(session: object) -> str | None:
        snapshot = make_snapshot(session)  # type: ignore[arg-type]
        return why_dead("continue", Situation(snapshot=snapshot, run=snapshot.sessions[0].run, focus=Where.KEYS))

    assert why(stopped()) is None
    assert why(checkout()) == "12 has not ended: just write to it"
    assert "Run 7 is ending" in (why(stopped(custody=CustodyState.FENCING)) or "")
    said = " ".join(map(plain, ended_lines(stopped(), 80, 12, Glyphs())))
    assert "c continue" in said
