"""JSON lines of many megabytes, decoded a slice at a time.

One call of the decoder on 64 MB holds the interpreter's lock for 300 ms (measured), and with it the screen's thread,
whatever thread the call is made on. So the long strings are lifted out of the line, decoded by slices and put back.
What comes out is what decoding the whole would give; whatever is unusual is left to that. No I/O and no state in here.
"""

import re
from typing import Any, Final

import msgspec

LONG_LINE: Final = 1_000_000
"""Bytes of a line that is still decoded in one go: some milliseconds."""
LONG_STRING: Final = 200_000
MOST_STRINGS: Final = 20_000
"""A line of very many strings is large by their number; lifting gains nothing there."""
SLICE: Final = 100_000

_REST: Final = re.compile(rb'[^"\\]*+(?:\\.[^"\\]*+)*+', re.DOTALL)
_CUT_OFF: Final = re.compile(rb"\\u(?:[0-9a-fA-F]{0,3}|[dD][89abAB][0-9a-fA-F]{2})\Z")
"""A character's number that is not whole yet, or the first half of a pair."""
_MARK: Final = "\x00long:"
_MARK_IN_JSON: Final = b"\\u0000long:"


def decode_long(raw: bytes) -> Any:
    """What ``msgspec.json.decode`` gives.

    Raises:
        msgspec.DecodeError: as that does.
    """
    try:
        lifted = _lifted(raw)
        if lifted is not None:
            skeleton, strings = lifted
            return _put_back(msgspec.json.decode(skeleton), strings)
    except msgspec.DecodeError:
        pass
    return msgspec.json.decode(raw)


def _lifted(raw: bytes) -> tuple[bytes, list[str]] | None:
    """The line with a mark in the place of each long string, and the strings; None where it is better read whole."""
    if _MARK_IN_JSON in raw:
        return None
    count = 0
    skeleton: list[bytes] = []
    lifted: list[str] = []
    at, size = 0, len(raw)
    while at < size:
        quote = raw.find(b'"', at)
        if quote < 0:
            break
        count += 1
        cuts = _cuts(raw, quote + 1)
        end = cuts[-1]
        if end >= size or raw[end] != 0x22 or count > MOST_STRINGS:
            return None
        if end - quote < LONG_STRING:
            skeleton.append(raw[at : end + 1])
        else:
            skeleton += (raw[at : quote + 1], b"\\u0000long:%d" % len(lifted), b'"')
            starts = (quote + 1, *cuts)
            lifted.append("".join([_string(raw[a:b]) for a, b in zip(starts, cuts, strict=False)]))
        at = end + 1
    skeleton.append(raw[at:])
    return b"".join(skeleton), lifted


def _cuts(raw: bytes, at: int) -> list[int]:
    """Where a string that begins here may be cut: between characters, the last time at its end."""
    cuts: list[int] = []
    size = len(raw)
    while True:
        limit = min(at + SLICE, size)
        found = _REST.match(raw, at, limit)
        end = at if found is None else found.end()
        if end < limit - 1 or limit == size or raw[end] == 0x22:
            cuts.append(end)
            return cuts
        # The slice ends within the string: not within a character, an escape, or between the halves of a pair.
        while end > at and raw[end] & 0xC0 == 0x80:
            end -= 1
        cut_off = _CUT_OFF.search(raw, max(at, end - 6), end)
        if cut_off is not None and _odd(raw, cut_off.start()):
            end = cut_off.start()
        if end <= at:
            cuts.append(end)
            return cuts
        cuts.append(end)
        at = end


def _odd(raw: bytes, at: int) -> bool:
    """Whether the backslash here begins an escape, and is not the second of two."""
    first = at
    while first > 0 and raw[first - 1] == 0x5C:
        first -= 1
    return (at - first) % 2 == 0


def _string(piece: bytes) -> str:
    return msgspec.json.decode(b'"' + piece + b'"', type=str)


def _put_back(value: Any, lifted: list[str]) -> Any:
    if isinstance(value, str):
        return lifted[int(value[len(_MARK) :])] if value.startswith(_MARK) else value
    if isinstance(value, dict):
        return {_put_back(key, lifted): _put_back(item, lifted) for key, item in value.items()}
    if isinstance(value, list):
        return [_put_back(item, lifted) for item in value]
    return value
