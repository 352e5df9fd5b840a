"""Images that go with a turn: in the ledger before a byte of them, sent once as they were when they were accepted, by
whichever console comes to it."""

import asyncio
import subprocess
import sys
from hashlib import sha256
from pathlib import Path

import pytest

from coordinator.api import (
    Done,
    EditQueued,
    Image,
    ReadTranscript,
    ReleaseQueue,
    Said,
    Say,
    SessionView,
    Stop,
    TranscriptPage,
)
from coordinator.custody import spoolfile
from coordinator.custody.types import RecordKind
from coordinator.drivers.base import Capabilities, TextBlock
from coordinator.recording import keyed_digest
from coordinator.steps import Step
from store import attachments, custody, turns
from store.refusal import Refusal
from store.verify import verify
from store.vocab import ImageType, RefusalReason, RunId, TurnId, TurnState
from tests.children.image_console import ASKING, BRIEF, IMAGES, SAID, answer
from tests.coordinator.held import Holding, holding
from tests.fakes.images import image

ROOT = Path(__file__).parents[2]
RUN = RunId(1)


async def seen_by_the_agent(held: Holding, turn: TurnId) -> list[str]:
    """What the practice agent said of the images that it was sent with this turn."""
    page = await held.do(ReadTranscript(run=RUN))
    assert isinstance(page, TranscriptPage)
    texts = [one.event.text for one in page.events if one.turn == turn and isinstance(one.event, TextBlock)]
    return [text for text in texts if text.startswith("I was sent")]


def told(images: tuple[Image, ...]) -> list[str]:
    count = "an image" if len(images) == 1 else f"{len(images)} images"
    listed = (f"{one.media_type}, {len(one.data)} bytes, SHA-256 {sha256(one.data).hexdigest()}" for one in images)
    return [f"I was sent {count}: " + "; ".join(listed)]


async def writes_of(held: Holding, turn: TurnId) -> list[tuple[str, int]]:
    """Digest and length of every write of this turn of which a byte may have gone."""
    row = await held.coordinator.house.ledger.read(lambda tx: custody.of_run(tx, RUN))
    assert row is not None
    records = spoolfile.read_spool(held.coordinator.house.settings.spool / row.id / "spool")
    began = [one.facts for one in records if one.kind is RecordKind.WRITING and one.facts["id"] == turn]
    return [(str(one["sha256"]), int(str(one["length"]))) for one in began]


async def sent_once_as_recorded(held: Holding, view: SessionView, text: str, images: tuple[Image, ...]) -> None:
    turn = next(one for one in view.turns if one.text == text)
    ledger, house = held.coordinator.house.ledger, held.coordinator.house
    row = await ledger.read(lambda tx: turns.get(tx, turn.id))
    kept = await ledger.read(lambda tx: attachments.of_turn(tx, turn.id))
    assert row is not None and [(one.name, one.content) for one in kept] == [(one.name, one.data) for one in images]
    driver = held.coordinator.sessions[RUN].driver
    whole = f"{row.text}\n\n{row.preamble}" if row.preamble else row.text
    data = driver.turn(turn.id, whole, images)
    assert (row.bytes, row.digest) == (len(data), keyed_digest(house.digest_key, data))
    assert await writes_of(held, turn.id) == [(sha256(data).hexdigest(), len(data))], "once, and these very bytes"
    assert await seen_by_the_agent(held, turn.id) == told(images)
    assert await ledger.read(verify) is None


async def at_rest(held: Holding, count: int) -> SessionView:
    return await held.until(RUN, lambda v: len(v.turns) == count and v.turns[-1].state is TurnState.SETTLED)


# ------------------------------------------------------------------------------------------------------ while all lives


async def test_they_go_with_a_turn_and_the_turn_shows_them(tmp_path: Path) -> None:
    async with holding(tmp_path) as held:
        await held.start(BRIEF)
        await at_rest(held, 1)
        assert isinstance(await held.do(Say(run=RUN, text=SAID, images=IMAGES)), Said)
        view = await at_rest(held, 2)
        await sent_once_as_recorded(held, view, SAID, IMAGES)
        assert view.takes_images
        shown = [(one.name, one.media_type, one.size) for one in view.turns[1].images]
        assert shown == [(one.name, ImageType.PNG, len(one.data)) for one in IMAGES]
        assert view.turns[0].images == ()
        await held.do(Stop(run=RUN))
    async with holding(tmp_path) as held:
        past = await held.until(RUN, lambda v: v.outcome is not None)
        assert [len(turn.images) for turn in past.turns] == [0, 2], "and of a run that has ended"


async def test_twenty_megabytes_go_through_every_pipe(tmp_path: Path) -> None:
    large = tuple(image(f"{n}.png", side=1300, seed=n) for n in range(4))
    assert all(4_900_000 < len(one.data) < 5 * 1024 * 1024 for one in large)
    async with holding(tmp_path) as held:
        await held.start(BRIEF)
        await at_rest(held, 1)
        assert isinstance(await held.do(Say(run=RUN, text=SAID, images=large)), Said)
        view = await held.until(RUN, lambda v: len(v.turns) == 2 and v.turns[-1].state is TurnState.SETTLED, 60)
        await sent_once_as_recorded(held, view, SAID, large)


async def test_what_waits_in_line_keeps_them_and_an_edit_drops_what_it_does_not_name(tmp_path: Path) -> None:
    shot, other, new = image("shot.png"), image("other.png", seed=2), image("new.png", seed=3)
    async with holding(tmp_path) as held:
        ledger = held.coordinator.house.ledger
        await held.start(ASKING)
        await held.until(RUN, lambda v: v.decisions)
        queued = await held.do(Say(run=RUN, text="see @shot.png @other.png", images=(shot, other)))
        assert isinstance(queued, Said) and queued.queued is not None
        id = queued.queued
        view = await held.until(RUN, lambda v: v.queued)
        assert [one.name for one in view.queued[0].images] == ["shot.png", "other.png"]

        assert await held.do(EditQueued(run=RUN, queued=id, text="see @shot.png @other.png, well")) == Done()
        assert len(await ledger.read(lambda tx: attachments.of_queued(tx, id))) == 2, "who names none to keep keeps all"
        changed = EditQueued(
            run=RUN, queued=id, text="see @shot.png @new.png", images=(new,), keep=("shot.png", "new.png")
        )
        assert await held.do(changed) == Done()
        view = await held.until(RUN, lambda v: v.queued and v.queued[0].text == "see @shot.png @new.png")
        assert [one.name for one in view.queued[0].images] == ["shot.png", "new.png"]
        assert await ledger.read(verify) is None
        left = await ledger.read(
            lambda tx: tx.conn.execute("SELECT name, length(content) FROM attachments WHERE dropped = 1").fetchall()
        )
        assert left == [("other.png", 0)], "that it was there is known; its bytes are gone"

        await answer(held, RUN)
        view = await at_rest(held, 2)
        await sent_once_as_recorded(held, view, "see @shot.png @new.png", (shot, new))


async def test_an_edit_that_would_make_too_many_changes_nothing(tmp_path: Path) -> None:
    async with holding(tmp_path) as held:
        ledger = held.coordinator.house.ledger
        await held.start(ASKING)
        await held.until(RUN, lambda v: v.decisions)
        seven = tuple(image(f"{n}.png", seed=n) for n in range(7))
        queued = await held.do(Say(run=RUN, text="seven", images=seven))
        assert isinstance(queued, Said) and queued.queued is not None
        reply = await held.do(EditQueued(run=RUN, queued=queued.queued, text="more", images=seven))
        assert isinstance(reply, Refusal) and reply.reason is RefusalReason.TOO_MANY_IMAGES
        view = await held.until(RUN, lambda v: v.queued)
        assert view.queued[0].text == "seven" and len(view.queued[0].images) == 7
        assert await ledger.read(verify) is None


async def test_an_agent_that_takes_none_is_sent_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with holding(tmp_path) as held:
        await held.start(BRIEF)
        view = await at_rest(held, 1)
        driver = held.coordinator.sessions[RUN].driver
        can = driver.capabilities
        without = Capabilities(**{name: getattr(can, name) for name in can.__slots__} | {"takes_images": False})
        monkeypatch.setattr(driver, "capabilities", without)
        reply = await held.do(Say(run=RUN, text=SAID, images=IMAGES))
        assert isinstance(reply, Refusal) and reply.reason is RefusalReason.NOT_POSSIBLE_FOR_AGENT
        assert len(view.turns) == 1 and await held.coordinator.house.ledger.read(verify) is None


# ----------------------------------------------------------------------------------------------------- a console killed


def leave(folder: Path, step: Step, where: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tests.children.image_console", str(folder), step.value, where],
        cwd=ROOT,
        timeout=60,
        check=False,
    )
    assert done.returncode == -9


@pytest.mark.parametrize(
    ("step", "where"),
    [
        (Step.PROVEN, "brief"),
        (Step.BEFORE_FIRST_BYTE, "brief"),
        (Step.TURN_RECORDED, "turn"),
        (Step.TURN_BEFORE_WRITE, "turn"),
        (Step.TURN_AFTER_WRITE, "turn"),
        (Step.QUEUED, "line"),
        (Step.QUEUE_TAKEN, "line"),
        (Step.TURN_RECORDED, "line"),
    ],
)
async def test_the_next_console_sends_the_very_same_bytes_once(tmp_path: Path, step: Step, where: str) -> None:
    await asyncio.to_thread(leave, tmp_path, step, where)
    async with holding(tmp_path) as held:
        if step is Step.PROVEN:
            # Nothing was started yet, and nothing is: the ledger has what would have gone.
            view = await held.until(RUN, lambda v: v.outcome is not None)
            assert [one.name for one in view.turns[0].images] == [one.name for one in IMAGES]
            assert await held.coordinator.house.ledger.read(verify) is None
            return
        if step is Step.QUEUED:
            await answer(held, RUN)
        if step in (Step.QUEUED, Step.QUEUE_TAKEN):
            # What a console left in line goes when the operator of the next one says so.
            await held.until(RUN, lambda v: v.turns[0].state is TurnState.SETTLED and v.queue_held)
            await held.do(ReleaseQueue(run=RUN))
        view = await at_rest(held, 1 if where == "brief" else 2)
        await sent_once_as_recorded(held, view, SAID, IMAGES)
