"""Images that go with a message, in words. Reached through ``app.wording``."""

from collections.abc import Sequence

from app.wording_measures import plural
from coordinator.constants import IMAGE_BYTES, IMAGES_BYTES, IMAGES_OF_A_TURN
from coordinator.imagetypes import AttachedView, ImageProblem

_MIB = 1024 * 1024
_PROBLEMS = {
    ImageProblem.MISSING: "there is no such file",
    ImageProblem.UNREADABLE: "it cannot be read",
    ImageProblem.LINK: "a link is not followed",
    ImageProblem.NOT_A_FILE: "it is no plain file",
    ImageProblem.OUTSIDE: "it lies outside the tree; name it from the root",
    ImageProblem.NOT_AN_IMAGE: "it is no PNG, JPEG, GIF or WebP",
    ImageProblem.TOO_LARGE: f"it is larger than {IMAGE_BYTES // _MIB} MiB",
    ImageProblem.TOO_MANY: f"{IMAGES_OF_A_TURN} images go with one message",
    ImageProblem.TOO_MUCH: f"all images of one message together have {IMAGES_BYTES // _MIB} MiB at most",
    ImageProblem.SECRET: "a secret that is known here stands in it",
}


def image_problem(value: str) -> str:
    try:
        return _PROBLEMS[ImageProblem(value)]
    except ValueError:
        return value


def size_of(size: int) -> str:
    """``312 bytes``, ``120 KiB``, ``4.8 MiB``."""
    if size < 1024:
        return plural(size, "byte")
    if size < _MIB:
        return f"{(size + 512) // 1024} KiB"
    return f"{size / _MIB:.1f} MiB"


def attached(images: Sequence[AttachedView]) -> str:
    """``with shot.png (image, 120 KiB)``, as the names are: whoever shows it makes them fit to be shown."""
    return "with " + ", ".join(f"{one.name} (image, {size_of(one.size)})" for one in images) if images else ""
