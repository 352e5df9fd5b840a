"""Whatever stands in a value that the screen is given: no byte of it is obeyed, nothing breaks, nothing runs over its
row. Each string of the table comes into each field of each value, in every state and at three sizes."""

import pytest
from msgspec.structs import replace

from app.console.options import ConsoleOptions
from coordinator.api import (
    AttachedView,
    ConsoleSnapshot,
    FeedEvent,
    OperatorCommand,
    Proposal,
    Propose,
    RepositoryView,
    SaidOnce,
    Say,
    TranscriptPage,
)
from coordinator.checktypes import CheckState, CheckView
from store.refusal import Refusal
from store.vocab import ImageType, RefusalReason, TurnId
from tests.console.driving import alone, burst, settled
from tests.console.hostile import HOSTILE, Spoiler, faults, screen_rows, texts_of
from tests.console.opened import console
from tests.console.scenes import PROCESSES, QUESTION, checkout, crowd_of_waits, ripe_terms, terms
from tests.console.states import OFFERED, STATES
from tests.console.transcript.test_hostile import EVENTS
from tests.fakes.backend import FakeBackend, make_snapshot
from tests.sampling import sampled
from tests.waiting import eventually

SIZES = ((80, 24), (120, 34), (200, 50))
STILL = tuple(name for name, scene in STATES.items() if scene.act is None)
LED_TO = tuple(name for name, scene in STATES.items() if scene.act is not None)
HOME = ConsoleOptions(home="/home/mara")


def stuffed() -> ConsoleSnapshot:
    """Every field of every value has something in it."""
    busy = checkout(
        processes=PROCESSES,
        status="retrying in 4 s",
        handoff="see the note",
        detail="it broke off",
        own_screen=(("config", "open it there"),),
        receipt=STATES["ended-left"].snapshot().sessions[0].receipt,
        ending=STATES["ending"].snapshot().sessions[0].ending,
        tools=STATES["working"].snapshot().sessions[0].tools,
        decisions=(QUESTION, OFFERED, *checkout().decisions),
        checks=(CheckView(command="pytest -q", state=CheckState.FAILED, detail="exit 1"),),
    )
    image = AttachedView(name="shot.png", media_type=ImageType.PNG, size=10)
    busy = replace(busy, turns=(replace(busy.turns[0], images=(image,)), *busy.turns[1:]))
    refused = Refusal(RefusalReason.NO_COMMIT, {"path": "/home/mara"})
    return replace(
        crowd_of_waits(),
        sessions=(
            replace(busy, terms=replace(busy.terms, rules=("Bash(git:*)",), checks=("make test",))),
            *crowd_of_waits().sessions[1:],
        ),
        repository=RepositoryView(path="/x", branch="main", head="a1", dirty_files=0, problem=refused),
        storage_trouble=Refusal(RefusalReason.STORAGE, {"path": "/x/ledger.db", "problem": "database or disk is full"}),
    )


def page(snapshot: ConsoleSnapshot, said: str) -> TranscriptPage:
    """Everything that an agent can tell, each with this text."""
    session = snapshot.sessions[0]
    told = [event for make in EVENTS.values() for event in make(said)]
    return TranscriptPage(
        events=tuple(
            FeedEvent(run=session.run, turn=session.turns[0].id, at=snapshot.now, event=event, key=(number * 10, 0))
            for number, event in enumerate(told, 1)
        )
    )


def test_each_field_of_each_value_is_tried() -> None:
    """One that comes new is tried too, or this fails until there is something in it."""
    spoiler = Spoiler()
    spoiler.spoil(stuffed())
    assert set(texts_of(ConsoleSnapshot)) - spoiler.seen == set()


@pytest.mark.parametrize("size", SIZES, ids=lambda size: str(size[0]))
@pytest.mark.parametrize("name", sampled(STILL, every=3))
async def test_in_what_is_shown(name: str, size: tuple[int, int]) -> None:
    snapshot = STATES[name].snapshot()
    strings = tuple(HOSTILE.values())
    # At the middle size every string comes by every field; at the others each comes by somewhere.
    goes = range(len(strings)) if size == SIZES[1] else range(0, len(strings), 6)
    async with console(Spoiler().spoil(snapshot), size, STATES[name].options) as (app, pilot, backend):
        for first in goes:
            backend.push(Spoiler(first, spare=first % 2 == 0).spoil(snapshot))
            app.take()
            app.drive.transcript.flush()
            await pilot.pause()
            assert faults(app) == [], first
            screen_rows(app)


@pytest.mark.parametrize("name", sampled(LED_TO, every=2))
async def test_in_what_is_led_to(name: str) -> None:
    scene = STATES[name]
    at = LED_TO.index(name)
    spoiled = Spoiler(at * 3, spare=True).spoil(scene.snapshot())
    async with console(spoiled, SIZES[at % 3], scene.options) as (app, pilot, backend):
        assert scene.act is not None
        await scene.act(app, pilot, backend)
        for first in (at, at + 7, at + 14):
            backend.push(Spoiler(first, spare=first % 2 == 0).spoil(scene.snapshot()))
            app.take()
            await settled(pilot)
            assert faults(app) == []
            screen_rows(app)


@pytest.mark.parametrize("name", sampled(HOSTILE, every=2))
async def test_in_all_that_an_agent_tells(name: str) -> None:
    snapshot = make_snapshot(checkout())
    async with console(snapshot, SIZES[len(name) % 3]) as (app, pilot, _):
        view = app.drive.transcript
        view.show(snapshot.sessions[0], page(snapshot, HOSTILE[name]))
        await alone(app, pilot, "escape")
        for _ in range(200):
            await pilot.pause()
            screen_rows(app)
            if view.scroll_offset.y == 0:
                break
            view.action_page_up()
        assert view.scroll_offset.y == 0


@pytest.mark.parametrize("name", sampled(HOSTILE, every=4))
async def test_in_what_is_answered_said_and_typed(name: str) -> None:
    """Refusals, what was said before, files, the start form, a search, a filter, a paste: each with the same string."""
    said = HOSTILE[name]
    snapshot = Spoiler(spare=True).spoil(make_snapshot(checkout(decisions=())))
    async with console(snapshot, SIZES[len(name) % 3]) as (app, pilot, backend):
        backend.said = (SaidOnce(turn=TurnId("t"), at=backend.snapshot().now, text=said, whole=True, bytes=1),)
        backend.files = (said, f"src/{said}.py")

        def refused(command: OperatorCommand) -> Refusal:
            return Refusal(RefusalReason.NO_COMMIT, {"path": said, "why": said})

        async def look() -> None:
            await settled(pilot)
            assert faults(app) == []
            screen_rows(app)

        backend.replies[Say] = refused
        app.drive.composer.put_pasted(said + "x")
        await look()
        await alone(app, pilot, "enter")
        await look()
        app.drive.composer.set_text("")
        await alone(app, pilot, "ctrl+r")
        await look()
        await alone(app, pilot, "escape")
        app.drive.composer.put_pasted("@")
        await look()
        await alone(app, pilot, "escape")
        for key in ("F", "slash"):
            await alone(app, pilot, "escape")
            await alone(app, pilot, key)
            burst(app, *(letter for letter in said[:12] if letter.isprintable()))
            await look()
            await alone(app, pilot, "escape")


@pytest.mark.parametrize("name", sampled(HOSTILE, every=4))
async def test_in_the_terms_of_a_new_session(name: str) -> None:
    at = list(HOSTILE).index(name)
    async with console(make_snapshot(), SIZES[at % 3]) as (app, pilot, backend):
        plainest = FakeBackend()

        def proposal(command: OperatorCommand) -> Proposal:
            assert isinstance(command, Propose)
            made: Proposal = Spoiler(at).spoil(plainest._propose(command))
            return made

        backend.replies[Propose] = proposal
        await terms(app, pilot, backend)
        await ripe_terms(app)
        assert faults(app) == []
        screen_rows(app)
        await alone(app, pilot, "r")
        await settled(pilot)
        assert faults(app) == []
        screen_rows(app)
        await alone(app, pilot, "escape")
        await ripe_terms(app)
        await alone(app, pilot, "a")
        await settled(pilot)
        assert faults(app) == []
        screen_rows(app)
        await alone(app, pilot, "e")
        await eventually(lambda: app.screen is not app.drive and app.screen.size == app.size)
        await settled(pilot)
        assert faults(app) == []
        screen_rows(app)
