"""Images that go with a turn: the bytes that the operator sent, so that the same turn can be made again from them.

They are read when a message is accepted, and stay as they were read: the file may change while the message waits.
"""

from collections.abc import Collection, Sequence
from typing import ClassVar, Final

from msgspec import Struct

from store import entries
from store.canonical import digest, storable
from store.rows import Record, columns, many, sure, values
from store.tx import Tx
from store.vocab import ImageType, Millis, RunId, TurnId


class Attachment(Record, frozen=True, kw_only=True):
    TABLE: ClassVar[str] = "attachments"
    DIGESTED: ClassVar[tuple[str, ...]] = ("content",)

    id: int
    run: RunId
    turn: TurnId | None
    queued: int | None
    place: int
    name: str
    """Redacted."""
    media_type: ImageType
    size: int
    sha256: str
    """Of what was attached, also once that was dropped."""
    content: bytes
    dropped: bool
    at: Millis


class NewAttachment(Struct, frozen=True, kw_only=True):
    name: str
    """Redacted."""
    media_type: ImageType
    content: bytes


class Attached(Struct, frozen=True, kw_only=True):
    """What there is, without its bytes."""

    id: int
    turn: TurnId | None
    queued: int | None
    name: str
    media_type: ImageType
    size: int


_WAITS: Final = "queued = :queued AND turn IS NULL AND dropped = 0"

ADD: Final = f"INSERT INTO attachments {values(Attachment, 'id')} RETURNING {columns(Attachment)}"
# The next place of a message in line.
NEXT: Final = "SELECT coalesce(max(place), 0) FROM attachments WHERE queued = :queued"
OF_TURN: Final = f"SELECT {columns(Attachment)} FROM attachments WHERE turn = :turn AND dropped = 0 ORDER BY place"
OF_QUEUED: Final = f"""
SELECT {columns(Attachment)} FROM attachments WHERE queued = :queued AND dropped = 0 ORDER BY place
"""
# Its message became a turn.
RECORDED: Final = f"UPDATE attachments SET turn = :turn WHERE {_WAITS} RETURNING {columns(Attachment)}"
# The operator took it out of what waits; that it was there stays known, the bytes do not stay.
DROP: Final = f"""
UPDATE attachments SET dropped = 1, content = x'' WHERE id = :id AND {_WAITS} RETURNING {columns(Attachment)}
"""
LISTING: Final = """
SELECT id, turn, queued, name, media_type, size FROM attachments WHERE run = :run AND dropped = 0 ORDER BY id
"""


def add(
    tx: Tx, *, run: RunId, images: Sequence[NewAttachment], turn: TurnId | None = None, queued: int | None = None
) -> None:
    """To a turn that is recorded just now, or to a message that waits."""
    first = 1 + (0 if queued is None else int(tx.conn.execute(NEXT, {"queued": queued}).fetchone()[0]))
    for place, image in enumerate(images, first):
        row = sure(
            tx,
            Attachment,
            ADD,
            {
                "run": run,
                "turn": turn,
                "queued": queued,
                "place": place,
                "name": storable(image.name),
                "media_type": image.media_type,
                "size": len(image.content),
                "sha256": digest(image.content),
                "content": image.content,
                "dropped": False,
                "at": tx.now,
            },
        )
        entries.note(tx, run, "attachment.added", row)


def of_turn(tx: Tx, turn: TurnId) -> list[Attachment]:
    return many(tx, Attachment, OF_TURN, {"turn": turn})


def of_queued(tx: Tx, queued: int) -> list[Attachment]:
    return many(tx, Attachment, OF_QUEUED, {"queued": queued})


def recorded(tx: Tx, *, queued: int, turn: TurnId) -> None:
    """With the message that they wait with, in the transaction that records it."""
    for row in many(tx, Attachment, RECORDED, {"queued": queued, "turn": turn}):
        entries.note(tx, row.run, "attachment.recorded", row, "turn")


def keep_only(tx: Tx, *, queued: int, names: Collection[str]) -> None:
    """What the operator's changed text does not name any more is dropped."""
    for one in of_queued(tx, queued):
        if one.name not in names:
            for row in many(tx, Attachment, DROP, {"id": one.id, "queued": queued}):
                entries.note(tx, row.run, "attachment.dropped", row, "dropped", "content")


def listing(tx: Tx, run: RunId) -> tuple[Attached, ...]:
    """What there is of a run, without the content."""
    return tuple(
        Attached(id=id, turn=turn, queued=queued, name=name, media_type=ImageType(media_type), size=size)
        for id, turn, queued, name, media_type, size in tx.conn.execute(LISTING, {"run": run})
    )
