"""From the bytes of a line to values, whatever the line is: a transcript has been cut, copied and edited by anybody.

Never raises for what a line holds. What cannot be read as it should be comes back as None, and its bytes are kept.
"""

import json
from datetime import UTC, datetime
from typing import Any, Final, TypeVar

import msgspec

from coordinator.drivers.base import Unknown
from coordinator.review.importing.said import Happens, Line
from store.canonical import storable
from store.vocab import Millis

T = TypeVar("T")

_LATEST: Final = 253_402_300_799_000
"""The end of the year 9999: no clock of an agent is further than that."""
_ANY: Final = msgspec.json.Decoder()


def decoded(decoder: "msgspec.json.Decoder[T]", raw: bytes) -> T | None:
    try:
        return decoder.decode(raw)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        pass
    try:
        return decoder.decode(mended(raw))
    except (ValueError, RecursionError):
        return None


def mended(raw: bytes) -> bytes:
    """The same JSON without invalid UTF-8 and without halves of surrogate pairs.

    Raises:
        ValueError: it is no JSON.
    """
    return storable(json.dumps(json.loads(raw.decode("utf-8", "replace")), ensure_ascii=False)).encode()


def anything(raw: bytes) -> Any:
    """None for what is no JSON."""
    return decoded(_ANY, raw) if raw else None


def mapping(raw: bytes) -> dict[str, Any]:
    found = anything(raw)
    return found if isinstance(found, dict) else {}


def millis(told: object) -> Millis | None:
    """An ISO timestamp; one without a zone is UTC."""
    if not isinstance(told, str):
        return None
    try:
        at = datetime.fromisoformat(told)
        at = at if at.tzinfo is not None else at.replace(tzinfo=UTC)
        found = round(at.timestamp() * 1000)
    except (ValueError, OverflowError):
        return None
    return Millis(found) if 0 <= found <= _LATEST else None


def kept_whole(raw: bytes, at: Millis | None = None, keys: tuple[int, ...] = ()) -> Line:
    """A line of no known kind, as it stands."""
    return Line(at=at, keys=keys, said=(Happens(Unknown(raw=raw.decode("utf-8", "replace").rstrip("\r\n"))),))
