"""Images of turns in the ledger: what an entry says of them, what moves with a message, and that no byte changes
unseen."""

from collections.abc import Iterator

import pytest

from store import attachments, entries, queued
from store.attachments import NewAttachment
from store.canonical import digest, loads
from store.tx import Tx
from store.verify import verify
from store.vocab import ImageType, RunId, TurnId
from tests.store.scenes import held, in_memory, said

SHOT = NewAttachment(name="shot.png", media_type=ImageType.PNG, content=b"\x89PNG of a shot")
OTHER = NewAttachment(name="other.gif", media_type=ImageType.GIF, content=b"GIF89a of another")


@pytest.fixture
def tx() -> Iterator[Tx]:
    with in_memory() as opened:
        yield opened


def with_images(tx: Tx) -> tuple[RunId, TurnId, int]:
    run, _ = held(tx)
    turn = said(tx, run.id)
    attachments.add(tx, run=run.id, turn=turn, images=[SHOT])
    waiting = queued.add(tx, run=run.id, text="see @shot.png @other.gif", operator="ada")
    attachments.add(tx, run=run.id, queued=waiting.id, images=[SHOT, OTHER])
    return run.id, turn, waiting.id


def test_an_entry_has_the_digest_and_never_the_bytes(tx: Tx) -> None:
    run, _, _ = with_images(tx)
    told = [loads(one.body) for one in entries.entries_of(tx, run) if one.kind == "attachment.added"]
    assert [one["content_sha256"] for one in told] == [digest(one.content) for one in (SHOT, SHOT, OTHER)]
    assert all("content" not in one for one in told)
    assert [(one["turn"] is None, one["queued"] is None, one["place"]) for one in told] == [
        (False, True, 1),
        (True, False, 1),
        (True, False, 2),
    ]
    assert verify(tx) is None


def test_they_become_the_turns_with_their_message(tx: Tx) -> None:
    run, turn, waiting = with_images(tx)
    attachments.recorded(tx, queued=waiting, turn=turn)
    assert [one.name for one in attachments.of_turn(tx, turn)] == ["shot.png", "shot.png", "other.gif"]
    attachments.keep_only(tx, queued=waiting, names=[])
    assert len(attachments.of_turn(tx, turn)) == 3, "what a turn has is not dropped any more"
    assert [one.turn for one in attachments.listing(tx, run)] == [turn] * 3
    assert verify(tx) is None


def test_one_that_is_dropped_is_told_of_and_its_bytes_are_gone(tx: Tx) -> None:
    run, turn, waiting = with_images(tx)
    attachments.keep_only(tx, queued=waiting, names=["other.gif"])
    attachments.add(tx, run=run, queued=waiting, images=[SHOT])
    assert [(one.name, one.place) for one in attachments.of_queued(tx, waiting)] == [("other.gif", 2), ("shot.png", 3)]
    attachments.recorded(tx, queued=waiting, turn=turn)
    assert [one.size for one in attachments.listing(tx, run)] == [
        len(SHOT.content),
        len(OTHER.content),
        len(SHOT.content),
    ]
    assert OTHER.content in [one.content for one in attachments.of_turn(tx, turn)]
    assert tx.conn.execute("SELECT length(content), sha256 FROM attachments WHERE dropped = 1").fetchall() == [
        (0, digest(SHOT.content))
    ]
    assert verify(tx) is None


@pytest.mark.parametrize(
    ("change", "what"),
    [
        ("UPDATE attachments SET content = x'00' WHERE id = 1", "content_sha256"),
        ("UPDATE attachments SET name = 'no.png' WHERE id = 2", "name"),
        ("UPDATE attachments SET media_type = 'image/webp' WHERE id = 2", "media_type"),
        ("UPDATE attachments SET turn = NULL WHERE id = 1", "turn"),
        ("UPDATE attachments SET dropped = 1 WHERE id = 3", "dropped"),
        ("UPDATE attachments SET sha256 = '' WHERE id = 3", "sha256"),
        ("DELETE FROM attachments WHERE id = 3", "row"),
    ],
)
def test_nothing_of_them_changes_unseen(tx: Tx, change: str, what: str) -> None:
    with_images(tx)
    tx.conn.execute(change)
    found = verify(tx)
    assert found is not None and found.where.startswith("attachment ") and found.what == what
