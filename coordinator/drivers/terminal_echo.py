"""Which lines of a terminal only echo what was sent to it, and where a prompt waits: text alone, the page has lines."""

import re
from collections.abc import Sequence
from typing import Final

from pexpect.expect import searcher_re

from coordinator.redaction import MARK

_CONTINUES: Final = re.compile(r"[\w() ]{0,24}(?:>|\.\.\.:?)?\s*\Z")
"""What stands before a line that goes on with the one before it, where the prompt's own pattern says nothing of it."""
_SOMETHING: Final = re.compile(r"\s*\S")
_LAST: Final = 512
"""Characters before the cursor in which a prompt is looked for."""
_LONGEST: Final = 2048
"""Characters of a sent line that is looked for word by word."""


class Prompt:
    """The pattern of a prompt, looked for at the end of what stands before the cursor."""

    def __init__(self, pattern: str) -> None:
        """Raises:
        re.error: it is no pattern.
        """
        self._searcher = searcher_re([re.compile(rf"(?:{pattern})\s*\Z")])

    def ends(self, text: str) -> bool:
        """Whether it waits there for the next message."""
        last = text[-_LAST:]
        return bool(last.strip()) and self._searcher.search(last, len(last)) == 0


def without_echo(lines: Sequence[str], echo: list[str], prompt: Prompt | None, *, first: bool) -> list[str]:
    """The lines that say something. ``echo``: what was sent and not seen back yet; what is seen is taken from it.

    ``first``: the first line begins where the cursor stood when it was sent, so that no prompt stands before it.
    """
    kept: list[str] = []
    for place, line in enumerate(lines):
        before = _before(line, echo[0]) if echo else None
        if before is not None and _may_stand(before, prompt, first=first and place == 0):
            del echo[0]
        else:
            kept.append(line)
    return kept


def _before(line: str, sent: str) -> str | None:
    """What stands on the line before the echo of what was sent; None: it does not end in that."""
    if len(sent) > _LONGEST:
        return line[: len(line) - len(sent)] if line.endswith(sent.rstrip()) else None
    # A tab comes back as so many cells; and who reads it from the ledger knows of a secret only that it was there.
    parts = [r"\s+".join(map(re.escape, part.split())) for part in sent.split(MARK)]
    if not any(parts):
        return line.rstrip() if len(parts) == 1 else ""
    start, at = -1, 0
    # One part after the other: as one pattern, a line made for it would be looked through for hours.
    for n, part in enumerate(parts):
        if n:
            secret = _SOMETHING.match(line, at)
            if secret is None:
                return None
            at = secret.end()
            if not part and n == len(parts) - 1:
                break
        found = re.compile(part + (r"\s*\Z" if n == len(parts) - 1 else "")).search(line, at)
        if found is None:
            return None
        start, at = found.start() if n == 0 else start, found.end()
    return line[:start]


def _may_stand(before: str, prompt: Prompt | None, *, first: bool) -> bool:
    if first or not before.strip():
        return not before.strip()
    # The line has lost the space at its end.
    return _CONTINUES.match(before) is not None or (prompt is not None and prompt.ends(f"{before} "))
