"""Images as a front end names, looks at and sends them. Part of ``api``, which passes them on."""

from enum import StrEnum

from msgspec import Struct

from coordinator.drivers.base import Image
from store.vocab import ImageType, RunId


class ImageProblem(StrEnum):
    """Why a file that is named like an image does not go as one."""

    MISSING = "missing"
    UNREADABLE = "unreadable"
    LINK = "link"
    NOT_A_FILE = "not-a-file"
    OUTSIDE = "outside"
    NOT_AN_IMAGE = "not-an-image"
    TOO_LARGE = "too-large"
    TOO_MANY = "too-many"
    TOO_MUCH = "too-much"
    """All of one message together."""
    SECRET = "secret"
    """A known secret stands in it, and the ledger would keep it."""


class LookAtImages(Struct, frozen=True, kw_only=True):
    """What the files that a text names are, in the tree of a run or in a repository. Answer: ``ImagesSeen`` or
    ``Refusal``."""

    run: RunId | None
    repository: str
    """Looked at where no run is named."""
    names: tuple[str, ...]
    whole: bool = False
    """Read them, to be sent; else their beginning is enough."""


class ImageSeen(Struct, frozen=True, kw_only=True):
    name: str
    size: int = 0
    problem: ImageProblem | None = None
    image: Image | None = None
    """Where it was read whole and may go."""


class ImagesSeen(Struct, frozen=True, kw_only=True):
    images: tuple[ImageSeen, ...]
    """In the order of the names."""


class AttachedView(Struct, frozen=True, kw_only=True):
    """An image that went with a turn, or waits with one."""

    name: str
    media_type: ImageType
    size: int
