"""What may go with a turn as an image: known by its first bytes, within bounds. Pure.

What a file is called decides nothing: agents and models refuse an image that goes under a wrong type.
"""

from collections.abc import Sequence

from msgspec.structs import replace

from coordinator.constants import IMAGE_BYTES, IMAGES_BYTES, IMAGES_OF_A_TURN
from coordinator.drivers.base import Image
from coordinator.imagetypes import AttachedView, ImageProblem
from coordinator.redaction import Redactor
from store.attachments import Attached, Attachment, NewAttachment
from store.refusal import Refusal
from store.vocab import ImageType, RefusalReason

BEGINNING = 16
"""Bytes that are enough to know an image by."""


def type_of(beginning: bytes) -> ImageType | None:
    if beginning.startswith(b"\x89PNG\r\n\x1a\n"):
        return ImageType.PNG
    if beginning.startswith(b"\xff\xd8\xff"):
        return ImageType.JPEG
    if beginning.startswith((b"GIF87a", b"GIF89a")):
        return ImageType.GIF
    if beginning.startswith(b"RIFF") and beginning[8:12] == b"WEBP":
        return ImageType.WEBP
    return None


def problem_of(beginning: bytes, size: int) -> ImageProblem | None:
    if size > IMAGE_BYTES:
        return ImageProblem.TOO_LARGE
    return ImageProblem.NOT_AN_IMAGE if type_of(beginning) is None else None


def refused(images: Sequence[Image]) -> Refusal | None:
    """Why these may not go with one turn."""
    if len(images) > IMAGES_OF_A_TURN:
        return Refusal(RefusalReason.TOO_MANY_IMAGES, {"images": len(images), "limit": IMAGES_OF_A_TURN})
    for image in images:
        problem = problem_of(image.data[:BEGINNING], len(image.data))
        if problem is None and type_of(image.data[:BEGINNING]) is not image.media_type:
            problem = ImageProblem.NOT_AN_IMAGE
        if problem is not None:
            return Refusal(RefusalReason.IMAGE_UNFIT, {"name": image.name, "problem": problem.value})
    if sum(len(image.data) for image in images) > IMAGES_BYTES:
        return Refusal(RefusalReason.IMAGE_UNFIT, {"problem": ImageProblem.TOO_MUCH.value})
    return None


def taken(images: Sequence[Image], redactor: Redactor) -> tuple[Image, ...] | Refusal:
    """As the ledger may keep them. Bytes cannot be redacted and still be an image: one with a secret does not go."""
    refusal = refused(images)
    if refusal is not None:
        return refusal
    for image in images:
        if redactor.stands_in(image.data):
            facts = {"name": redactor.text(image.name), "problem": ImageProblem.SECRET.value}
            return Refusal(RefusalReason.IMAGE_UNFIT, facts)
    return tuple(replace(image, name=redactor.text(image.name)) for image in images)


def to_keep(images: Sequence[Image]) -> list[NewAttachment]:
    return [NewAttachment(name=one.name, media_type=one.media_type, content=one.data) for one in images]


def kept(rows: Sequence[Attachment]) -> tuple[Image, ...]:
    """As they were when the operator sent them."""
    return tuple(Image(name=row.name, media_type=row.media_type, data=row.content) for row in rows)


def shown(rows: Sequence[Attached]) -> tuple[AttachedView, ...]:
    return tuple(AttachedView(name=row.name, media_type=row.media_type, size=row.size) for row in rows)
