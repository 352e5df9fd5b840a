"""One spelling for everything that is hashed: canonical JSON, and the digest over it.

Two parties that hold the same facts must get the same bytes, today and after an upgrade, so nothing else in the house
serialises what is hashed. The file knows no table and no record.
"""

import hashlib
import hmac
import json
from collections.abc import Iterator
from typing import Any, Final

import msgspec


def dumps(obj: object) -> str:
    """Keys sorted, no spaces, UTF-8 as it is. What cannot be UTF-8 (half of a surrogate pair) becomes U+FFFD."""
    try:
        return msgspec.json.encode(obj, order="sorted").decode()
    except UnicodeEncodeError:
        # Agents cut their output between the halves of an emoji; the ledger must take it all the same.
        return msgspec.json.encode(_mended(msgspec.to_builtins(obj)), order="sorted").decode()


SLICE: Final = 100_000


def long_string(text: str) -> Iterator[str]:
    """What ``dumps`` gives of a string, piece by piece."""
    yield '"'
    for at in range(0, len(text), SLICE):
        yield dumps(text[at : at + SLICE])[1:-1]
    yield '"'


def loads(text: str) -> Any:
    return json.loads(text)


def digest(data: str | bytes) -> str:
    """sha256, hexadecimal."""
    return hashlib.sha256(data.encode("utf-8", "replace") if isinstance(data, str) else data).hexdigest()


def keyed_digest(key: str, data: bytes) -> str:
    """Digest of bytes that were sent: tells two alike, and nothing to a reader without the ledger's key."""
    return hmac.new(key.encode(), data, "sha256").hexdigest()


def storable(text: str) -> str:
    """The text as SQLite can keep it: SQLite's UTF-8 has no lone surrogates, an agent's JSON has."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace") if not _is_utf8(text) else text


def _is_utf8(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _mended(obj: object) -> object:
    if isinstance(obj, str):
        return storable(obj)
    if isinstance(obj, dict):
        return {_mended(key): _mended(value) for key, value in obj.items()}
    if isinstance(obj, list | tuple):
        return [_mended(value) for value in obj]
    return obj
