"""Taking what was chosen out of texts; and, run as a program, doing so for another process.

A regular expression may take longer than the world lasts, and Python's cannot be interrupted from outside. So
expressions are never tried in the process that exports: this file is started as a program of its own, is given texts,
and is ended when it does not answer in time (``redacting``). Standard library only, nothing of ours.
"""

import json
import re
import sys
from collections.abc import Sequence

MARK = "«redacted»"
LENGTH = 8
"""Bytes in front of each message: how long it is."""


def taken_out(text: str, patterns: Sequence[re.Pattern[str]]) -> tuple[str, list[int]]:
    """The text with a mark for each place, and for each pattern how many places that were.

    A match of nothing at all is no place. One pattern after the other; a mark is never searched again.
    """
    counts = []
    pieces = [text]
    for pattern in patterns:
        count = 0
        found: list[str] = []
        for piece in pieces:
            if piece == MARK:
                found.append(piece)
                continue
            at = 0
            for match in pattern.finditer(piece):
                if match.end() > match.start():
                    found += [piece[at : match.start()], MARK]
                    at = match.end()
                    count += 1
            found.append(piece[at:])
        counts.append(count)
        pieces = [piece for piece in found if piece]
    return ("".join(pieces) if any(counts) else text), counts


def _serve() -> None:
    """Patterns first, then lists of texts; each answered with what became of them. Ends when its input does."""
    read, write = sys.stdin.buffer, sys.stdout.buffer
    patterns: list[re.Pattern[str]] | None = None
    while head := read.read(LENGTH):
        given = json.loads(read.read(int.from_bytes(head, "big")))
        if patterns is None:
            patterns = [re.compile(one) for one in given]
            continue
        answer = json.dumps([taken_out(text, patterns) for text in given]).encode()
        write.write(len(answer).to_bytes(LENGTH, "big") + answer)
        write.flush()


if __name__ == "__main__":
    _serve()
