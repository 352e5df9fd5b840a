"""Images that a text names: what is said before Enter is what Enter sends, whatever a file is called."""

import pytest
from msgspec.structs import replace

from app.console.app import FootplateApp
from app.console.keys import Where
from app.console.views.attaching import attached_words, images_in, sending_words
from app.console.views.bars import queue_lines
from app.console.views.ink import plain
from app.console.views.start import terms_lines
from app.console.views.transcript_words import Look, turn_header
from app.wording import attached, size_of
from coordinator.api import (
    AttachedView,
    EditQueued,
    ImageProblem,
    ImageSeen,
    LookAtImages,
    Proposal,
    Propose,
    QueuedView,
    Say,
    SessionView,
    StartRun,
)
from store.refusal import Refusal
from store.vocab import ImageType, RefusalReason
from tests.console.driving import alone, settled, typed
from tests.console.opened import console
from tests.fakes.backend import NOW, FakeBackend, make_session, make_snapshot, make_terms, make_turn
from tests.fakes.images import image
from tests.waiting import eventually

SHOT = image("docs/shot.png", side=200)
SHOT_VIEW = AttachedView(name="shot.png", media_type=ImageType.PNG, size=120 * 1024)


def taking(**changes: object) -> SessionView:
    return replace(make_session(), takes_images=True, **changes)  # type: ignore[arg-type]


def status(app: FootplateApp) -> str:
    return plain(app.drive.status.rows[0])


# ------------------------------------------------------------------------------------------------------ names in a text


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("see @shot.png", ("shot.png",)),
        ("see @docs/Shot.PNG, @b.jpg. And (@c.webp)!", ("docs/Shot.PNG", "b.jpg", "c.webp")),
        ('@"my shot.png" and @/tmp/x.gif twice @/tmp/x.gif', ("my shot.png", "/tmp/x.gif")),
        ("mail a@shot.png, @notes.txt @ @.pngx shot.png", ()),
        ("@shot.png\n@two.jpeg", ("shot.png", "two.jpeg")),
        ("@~/Pictures/shot.png", ("~/Pictures/shot.png",)),
        ("@a(1).png", ("a(1).png",)),
    ],
)
def test_which_words_name_an_image(text: str, named: tuple[str, ...]) -> None:
    assert images_in(text) == named


@pytest.mark.parametrize("size", [0, 1, 1023, 1024, 120 * 1024, 1024 * 1024 - 1, 5 * 1024 * 1024])
def test_a_size_is_said_in_its_unit(size: int) -> None:
    expected = {0: "0 bytes", 1: "1 byte", 1023: "1023 bytes", 1024: "1 KiB", 122_880: "120 KiB"}
    assert size_of(size) == expected.get(size, "1024 KiB" if size < 1024 * 1024 else "5.0 MiB")


def test_what_stays_text_is_said_first_and_with_its_reason() -> None:
    seen = {
        "a.png": ImageSeen(name="a.png", size=120 * 1024),
        "b.png": ImageSeen(name="b.png", problem=ImageProblem.LINK),
    }
    assert sending_words(["a.png"], seen) == "sends a.png as an image, 120 KiB"
    assert sending_words(["a.png", "b.png", "c.png", "k.png"], seen, {"k.png"}) == (
        "b.png stays text: a link is not followed; sends a.png as an image, 120 KiB; keeps k.png as it was read; "
        "looking at c.png"
    )


HOSTILE = ["\x1b[2J\x1b]0;title\x07.png", "[bold red]x[/].png", "a\nb\r.png", "\u202etxt.png", "宽" * 200 + ".png"]


@pytest.mark.parametrize("name", HOSTILE, ids=ascii)
def test_a_name_moves_no_cursor_and_is_no_markup(name: str) -> None:
    view = AttachedView(name=name, media_type=ImageType.PNG, size=10)
    turn = replace(make_turn(1), images=(view,))
    lines = turn_header(turn, Look(), waits=False, working=False, so_far=None, target="t")
    header = "".join(text for line in lines for text, *_ in line.runs)
    said = sending_words([name], {name: ImageSeen(name=name, problem=ImageProblem.MISSING)})
    for words in (header, said, sending_words([name], {}), attached_words((view,))):
        assert ".png" in words
        assert all(letter.isprintable() for letter in words), ascii(words)


def test_a_turn_its_line_and_the_terms_say_what_goes_with_them() -> None:
    assert attached((SHOT_VIEW,)) == "with shot.png (image, 120 KiB)"
    turn = replace(make_turn(1), images=(SHOT_VIEW,))
    lines = turn_header(turn, Look(), waits=False, working=False, so_far=None, target="t")
    assert "with shot.png (image, 120 KiB)" in ["".join(text for text, *_ in line.runs) for line in lines]
    waiting = QueuedView(id=1, place=1, text="see @shot.png", images=(SHOT_VIEW,))
    [row] = queue_lines(taking(queued=(waiting,)), 100)
    assert "“see @shot.png” with 1 image" in plain(row)
    proposal = Proposal(terms=make_terms(), preset=None, takes_images=True)
    rows = terms_lines(proposal, NOW, 80, show_added=False, with_it="with shot.png (image, 120 KiB)")
    assert "  with shot.png (image, 120 KiB)" in [plain(row).rstrip() for row in rows]


# -------------------------------------------------------------------------------------------------------- while writing


async def test_where_the_agent_takes_none_it_is_said_to_go_as_its_path() -> None:
    async with console(make_snapshot(make_session())) as (app, pilot, backend):
        await typed(app, pilot, "see @docs/shot.png please")
        assert status(app) == "docs/shot.png is sent as its path, as text: the agent opens it by itself"
        await alone(app, pilot, "enter")
        await eventually(lambda: backend.given(Say))
        assert backend.given(Say)[0].images == () and backend.given(LookAtImages) == []


async def test_what_is_said_before_enter_is_what_enter_sends() -> None:
    async with console(make_snapshot(taking())) as (app, pilot, backend):
        backend.images = {SHOT.name: SHOT}
        await typed(app, pilot, "see @docs/shot.png and @gone.png now")
        await eventually(lambda: "as an image" in status(app))
        assert status(app) == (
            f"gone.png stays text: there is no such file; sends docs/shot.png as an image, {size_of(len(SHOT.data))}"
        )
        assert all(not one.whole for one in backend.given(LookAtImages)), "nothing is read before Enter"
        await alone(app, pilot, "enter")
        await eventually(lambda: backend.given(Say))
        [said] = backend.given(Say)
        assert (said.text, said.images) == ("see @docs/shot.png and @gone.png now", (SHOT,))
        app.drive.composer.set_text("mail a@shot.png or @notes.txt")
        await settled(pilot)
        assert "image" not in status(app)


async def test_one_that_was_announced_and_is_gone_is_not_sent_as_text_unsaid() -> None:
    async with console(make_snapshot(taking())) as (app, pilot, backend):
        backend.images = {SHOT.name: SHOT}
        await typed(app, pilot, "see @docs/shot.png now")
        await eventually(lambda: "as an image" in status(app))
        backend.images = {}
        await alone(app, pilot, "enter")
        await eventually(lambda: status(app).startswith("not sent: docs/shot.png stays text"))
        assert backend.given(Say) == [] and app.drive.composer.text == "see @docs/shot.png now"
        await alone(app, pilot, "enter")
        await eventually(lambda: backend.given(Say))
        assert backend.given(Say)[0].images == ()


async def test_what_stands_in_a_long_paste_names_nothing() -> None:
    async with console(make_snapshot(taking())) as (app, pilot, backend):
        backend.images = {SHOT.name: SHOT}
        composer = app.drive.composer
        long = "a line of a log\n" * 2000 + f"@{SHOT.name} "
        composer.set_text(long)
        await settled(pilot)
        assert "image" not in status(app) and backend.given(LookAtImages) == []
        await alone(app, pilot, "enter")
        await eventually(lambda: backend.given(Say))
        assert f"@{SHOT.name}" in backend.given(Say)[0].text and backend.given(Say)[0].images == ()


async def test_a_backend_that_cannot_look_is_not_asked_again_and_again() -> None:
    async with console(make_snapshot(taking())) as (app, pilot, backend):
        backend.replies[LookAtImages] = Refusal(RefusalReason.NO_SUCH_RUN, {"run": 12})
        await typed(app, pilot, "see @docs/shot.png now")
        await eventually(lambda: "it cannot be read" in status(app))
        for _ in range(20):
            await settled(pilot)
        assert len(backend.given(LookAtImages)) <= 2


# ------------------------------------------------------------------------------------------ the line, and a new session


async def test_a_change_in_the_line_keeps_what_it_names_and_adds_what_is_new() -> None:
    kept, other = replace(SHOT_VIEW, name="kept.png"), replace(SHOT_VIEW, name="other.png")
    waits: tuple[QueuedView, ...] = (QueuedView(id=5, place=1, text="see @kept.png @other.png", images=(kept, other)),)
    waits += (QueuedView(id=6, place=2, text="then push"),)
    backend = FakeBackend(make_snapshot(taking(queued=waits)))
    backend.images = {SHOT.name: SHOT}
    app = FootplateApp(backend)
    async with app.run_test(size=(120, 34)) as pilot:
        await settled(pilot)
        session = app.drive.session
        assert session is not None
        await app.deeds.queueing._begin(session.run, session.queued[0])
        await eventually(lambda: app.drive.composer.text == "see @kept.png @other.png")
        assert "keeps kept.png, other.png as it was read" in status(app)
        app.drive.composer.set_text(f"see @kept.png @{SHOT.name} now")
        await eventually(lambda: f"sends {SHOT.name} as an image" in status(app))
        await alone(app, pilot, "enter")
        await eventually(lambda: backend.given(EditQueued))
        [edit] = backend.given(EditQueued)
        assert (edit.queued, edit.images, edit.keep) == (5, (SHOT,), ("kept.png", SHOT.name))
        asked = {name for one in backend.given(LookAtImages) for name in one.names}
        assert asked == {SHOT.name}, "what the ledger has is not looked for among the files"


async def test_a_brief_takes_its_images_with_it_and_the_terms_say_so() -> None:
    backend = FakeBackend(make_snapshot())
    backend.images = {SHOT.name: SHOT}
    app = FootplateApp(backend)
    async with app.run_test(size=(120, 34)) as pilot:
        await settled(pilot)
        await app.deeds.viewing.view(None)
        app.drive.composer.focus()
        await typed(app, pilot, f"do as @{SHOT.name} shows ")
        await alone(app, pilot, "enter")
        await eventually(lambda: app.drive.focus_place is Where.TERMS)
        shown = [plain(row) for row in app.drive.terms.rows]
        assert any(f"with {SHOT.name} (image, {size_of(len(SHOT.data))})" in row for row in shown), shown
        await eventually(lambda: app.drive.terms.ripe)
        await alone(app, pilot, "enter")
        await eventually(lambda: backend.given(StartRun))
        assert backend.given(StartRun)[0].images == (SHOT,)
        assert len(backend.given(Propose)) == 1
