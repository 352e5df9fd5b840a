"""Reads of an agent's JSON that never raise for a wrong shape: what is not of the asked type counts as not told.

Numbers are bounded here, because what a driver remembers goes into a snapshot and the ledger, which hold 64 bits.
"""

import json
from typing import Any

import msgspec

from coordinator.drivers.longlines import LONG_LINE, decode_long

Json = dict[str, Any]

_LARGEST = 2**53


def text(obj: Json, key: str, default: str = "") -> str:
    value = obj.get(key)
    return value if isinstance(value, str) else default


def word(obj: Json, key: str) -> str | None:
    """A string that says something, else None."""
    value = obj.get(key)
    return value if isinstance(value, str) and value else None


def whole(obj: Json, key: str) -> int | None:
    value = obj.get(key)
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return int(value) if abs(value) <= _LARGEST else None


def fraction(obj: Json, key: str) -> float | None:
    value = obj.get(key)
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if abs(value) <= _LARGEST else None


def mapping(obj: Json, key: str) -> Json:
    value = obj.get(key)
    return value if isinstance(value, dict) else {}


def listing(obj: Json, key: str) -> list[Any]:
    value = obj.get(key)
    return value if isinstance(value, list) else []


def objects(obj: Json, key: str) -> list[Json]:
    return [item for item in listing(obj, key) if isinstance(item, dict)]


def is_plain_list(value: Any, keys: frozenset[str]) -> bool:
    """Whether it is a list of objects that have none but these keys."""
    return isinstance(value, list) and all(isinstance(one, dict) and set(one) <= keys for one in value)


def words(obj: Json, key: str) -> list[str]:
    return [item for item in listing(obj, key) if isinstance(item, str) and item]


def decode(line: bytes) -> Any:
    """The line's JSON; raises ``ValueError`` where there is none.

    Invalid UTF-8 and lone surrogates are replaced, not refused: one bad byte in a tool's output must not hide the line.
    """
    try:
        return decode_long(line) if len(line) > LONG_LINE else msgspec.json.decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError):
        loose = json.loads(line.decode("utf-8", "replace"))
        try:
            return msgspec.json.decode(json.dumps(loose, ensure_ascii=False).encode("utf-8", "replace"))
        except msgspec.DecodeError as error:  # NaN and its like: Python's parser takes them, JSON does not
            raise ValueError(str(error)) from error


def encode_line(obj: Json) -> bytes:
    """One line of ASCII JSON: an agent dies of a line that it cannot parse, so nothing fancy goes out."""
    return json.dumps(obj, separators=(",", ":")).encode("ascii") + b"\n"
