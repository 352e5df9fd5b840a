"""Every key and every row of the command list, in every state and at three sizes: each does something, or says in a
sentence why it does not; nothing breaks, nothing runs over its row, and no word of the code is on the screen."""

from collections.abc import Hashable

import pytest
from textual.pilot import Pilot

from app.console.app import FootplateApp
from app.console.keys import TABLE, Where, canonical
from app.console.screens.reading import Details
from app.console.views.actions import holds, offers
from app.console.views.ink import plain
from app.wording import forbidden_in
from coordinator.api import FeedEvent, ReadTranscript, SaveDraft, TranscriptPage
from coordinator.drivers import base
from store.vocab import Millis, RunId
from tests.console.driving import burst, settled
from tests.console.hostile import faults, screen_rows, widgets_of
from tests.console.opened import console
from tests.console.states import STATES
from tests.console.transcript.conversation import asked, result
from tests.fakes.backend import FakeBackend
from tests.sampling import sampled
from tests.waiting import eventually

SIZES = ((80, 24), (120, 34), (200, 50))
AT_EVERY_SIZE = ("no-session", "working", "permission", "ended", "beside")
BY_ITSELF = (ReadTranscript, SaveDraft)
"""Commands that are no answer to a key."""
TWICE = frozenset({("stop-all", "stop-all"), ("away", "away")})
"""Done already in this state; the repeats of a held key are none that count."""
SETTLES = 8
OUTSIDE = frozenset({"editor", "copy", "mouse"})
"""They lead out of the console, to the terminal or to a clipboard; tests of their own press them."""
NOTHING_TO_SEE = frozenset(
    {"redraw", "seen", "pin", "release", "scroll", "turn", "card-back", "to-keys", "interrupt-escape"}
)
"""What they lead to is a command, or the very screen that is there."""


def page(run: RunId) -> TranscriptPage:
    """What makes rows of Footplate's own in a conversation: tools, retries, limits, questions, background, endings."""
    told: list[base.AgentEvent] = [
        base.TextBlock(block="a", text="# Said\n\nWith `code`:\n\n```python\nx = 1\n```\n"),
        base.ToolStarted(call="c", name="Bash", title="make", input={"command": "make"}),
        base.ToolFinished(call="c", ok=False, output="no\n" * 20),
        base.RetryNotice(attempt=1, of=3, wait_seconds=2.0, why="overloaded"),
        base.LimitNotice(status="warning", kind="five_hour"),
        base.BackgroundChanged(tasks=(base.BackgroundTask(id="1", kind="shell", title="watch", state="failed"),)),
        base.Notice(text="compacted"),
        base.Unknown(raw="{}"),
        base.ProtocolFault(what="half a line"),
        asked(subject="make", title="Run a command?"),
        base.DecisionWithdrawn(request="r1"),
        result(),
    ]
    return TranscriptPage(
        events=tuple(
            FeedEvent(run=run, turn=None, at=Millis(1_799_999_000_000), event=event, key=(number * 10, 0))
            for number, event in enumerate(told, 1)
        )
    )


def seen(app: FootplateApp, backend: FakeBackend) -> Hashable:
    """All by which a key can be told to have done something."""
    orders = sum(not isinstance(one, BY_ITSELF) for one in backend.commands)
    rows = tuple(plain(row) for widget in widgets_of(app) for row in widget.rows)
    view = app.drive.transcript
    return (
        orders, rows, type(app.screen), app.focused, app.drive.focus_place, app.drive.composer.text,
        app.drive.composer.cursor_location, view.scroll_offset, view.current_line(), len(view.lines), app.drive.zoomed,
        app.theme, app.return_code, app.drive.run_in_view,
    )  # fmt: skip


async def back(app: FootplateApp, pilot: "Pilot[int]", backend: FakeBackend, name: str, run: RunId | None) -> None:
    """Into the state as it was: the sheet away, the session back, the focus in the keys or where the state has it."""
    while app.screen is not app.drive:
        app.pop_screen()
    if app.drive.searching:
        app.drive.end_search()
    app.deeds.searching.clear()
    backend.push(STATES[name].snapshot())
    app.take()
    if app.drive.run_in_view != run:
        await app.deeds.viewing.view(run)
    app.drive.hush()
    app.drive.focus_keys()
    await settled(pilot)


async def changed(app: FootplateApp, pilot: "Pilot[int]", backend: FakeBackend, before: Hashable) -> None:
    """Until it is seen that something was done, or for as long as it could take."""
    for _ in range(SETTLES):
        await settled(pilot)
        if not app.screen_stack or seen(app, backend) != before:
            break
    # A screen that came is looked at when it has been laid out, which takes its time on a machine at work.
    await eventually(lambda: not app.screen_stack or app.screen._compositor.size == app.size)


def check(app: FootplateApp, what: str) -> None:
    assert faults(app) == [], what
    rows = screen_rows(app)
    if not isinstance(app.screen, Details):
        for row in rows:
            assert forbidden_in(row) == [], f"{what}: {row}"


WALKS = [
    (name, size)
    for at, name in enumerate(STATES)
    for number, size in enumerate(SIZES)
    if name in AT_EVERY_SIZE or number == at % 3
]
"""All of it takes minutes: every state at one of the sizes, those that differ most at all three."""


@pytest.mark.parametrize(
    ("name", "size"), sampled(WALKS, every=4), ids=lambda part: part if isinstance(part, str) else str(part[0])
)
async def test_every_key_does_something_or_says_why_not(name: str, size: tuple[int, int]) -> None:
    scene = STATES[name]
    silent: list[str] = []
    async with console(scene.snapshot(), size, scene.options) as (app, pilot, backend):
        for session in backend.snapshot().sessions:
            backend.pages[session.run] = page(session.run)
        await app.deeds.viewing.view(app.drive.run_in_view)
        if scene.act is not None:
            await scene.act(app, pilot, backend)
        await settled(pilot)
        check(app, "as it is")
        run = app.drive.run_in_view
        # Quit last: where nothing is held it ends the walk.
        for row in sorted(TABLE, key=lambda row: canonical(row.action) == "quit"):
            if row.action in OUTSIDE or row.where not in (Where.ANYWHERE, Where.KEYS):
                continue
            for key in row.keys if row.inner else row.keys[:1]:
                if row.where is Where.KEYS:
                    await back(app, pilot, backend, name, run)
                before = seen(app, backend)
                burst(app, key)
                await changed(app, pilot, backend, before)
                what = f"{row.action} by {key}"
                if app._exit:
                    assert canonical(row.action) == "quit" and not holds(backend.snapshot()), what
                    return
                check(app, what)
                if (
                    seen(app, backend) == before
                    and row.action not in NOTHING_TO_SEE
                    and (row.action, name) not in TWICE
                ):
                    silent.append(what)
        assert silent == []


@pytest.mark.parametrize("name", sampled(STATES, every=3))
async def test_every_row_of_the_command_list_is_alive_or_has_a_reason(name: str) -> None:
    scene = STATES[name]
    async with console(scene.snapshot(), SIZES[list(STATES).index(name) % 3], scene.options) as (app, pilot, backend):
        if scene.act is not None:
            await scene.act(app, pilot, backend)
        run = app.drive.run_in_view
        for offer in sorted(offers(app.drive.situation(), app.table), key=lambda offer: offer.action == "quit"):
            if offer.dead is not None:
                assert sentence_like(offer.dead) and forbidden_in(offer.dead) == [], offer
            if offer.action in OUTSIDE:
                continue
            await back(app, pilot, backend, name, run)
            before = seen(app, backend)
            await app.deeds.do(offer.action)
            await changed(app, pilot, backend, before)
            if app._exit:
                assert offer.action == "quit" and not holds(backend.snapshot())
                return
            check(app, offer.action)
            if offer.dead is not None:
                # Said in the very words of the list; under a sheet, on the sheet.
                said = " ".join(seen(app, backend)[1])  # type: ignore[index]
                assert offer.dead.split(":")[0][:30] in said or canonical(offer.action) == "stop-all", offer
            elif offer.action not in NOTHING_TO_SEE and (offer.action, name) not in TWICE:
                assert seen(app, backend) != before, offer


def sentence_like(reason: str) -> bool:
    words = reason.split()
    return len(words) >= 3 and not reason.endswith((" ", ":", ",")) and "_" not in reason and reason.isprintable()


def test_what_is_walked_through_is_every_state_of_the_contract() -> None:
    groups = {session.group for scene in STATES.values() for session in scene.snapshot().sessions}
    assert len(groups) == 5
    kinds = {one.kind for scene in STATES.values() for s in scene.snapshot().sessions for one in s.decisions}
    assert len(kinds) == 4
