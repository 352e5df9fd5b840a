"""The brief as it comes from the command line: from where it is read, and what may be in it."""

import sys
from pathlib import Path

from msgspec import Struct

from app.cli.exits import refused, usage
from coordinator.constants import TURN_BYTES
from store.refusal import Refusal
from store.vocab import RefusalReason

_FINE = frozenset("\n\t")


class Brief(Struct, frozen=True, kw_only=True):
    text: str
    from_file: bool
    """Then it is always text, whatever it begins with."""


def read(words: str | None, file: str | None, *, as_json: bool = False) -> Brief | None:
    """The brief from the argument or from ``--brief-file`` (``-``: stdin); None when neither was given.

    Raises:
        Leave: both were given, it cannot be read, or it cannot be a brief.
    """
    if words is not None and file is not None:
        raise usage("Give the brief once: as text, or with --brief-file.")
    if words is None and file is None:
        return None
    text = words if words is not None else _from_file(file or "-")
    problem = problem_of(text)
    if isinstance(problem, Refusal):
        raise refused(problem, as_json=as_json)
    if problem:
        raise usage(problem)
    if words is not None and text.lstrip().startswith("/"):
        raise usage(
            "A brief that begins with / would be a command of the agent; put a word before it, "
            "or give it with --brief-file, where it is always text."
        )
    return Brief(text=text, from_file=words is None)


def problem_of(text: str) -> Refusal | str | None:
    """Why this text cannot be sent to an agent: a refusal, a sentence, or None."""
    if not text.strip():
        return Refusal(RefusalReason.EMPTY_TURN)
    try:
        size = len(text.encode("utf-8"))
    except UnicodeEncodeError:
        return "The text is not valid UTF-8; save it as UTF-8 and try again."
    if size > TURN_BYTES:
        return Refusal(RefusalReason.TURN_TOO_LARGE, {"bytes": size, "limit": TURN_BYTES})
    strange = next((letter for letter in text if _is_control(letter)), None)
    if strange is not None:
        place = text.count("\n", 0, text.index(strange)) + 1
        return f"The text has a control character (U+{ord(strange):04X}, line {place}); take it out and try again."
    return None


def _is_control(letter: str) -> bool:
    return (ord(letter) < 0x20 and letter not in _FINE) or 0x7F <= ord(letter) <= 0x9F


def _from_file(file: str) -> str:
    try:
        if file == "-":
            raw = sys.stdin.buffer.read(TURN_BYTES + 5)
        else:
            path = Path(file).expanduser()
            if not path.is_file():
                raise usage(f"{file} is not a file that can be read; name one, or - for stdin.")
            with path.open("rb") as opened:
                raw = opened.read(TURN_BYTES + 5)
    except OSError as problem:
        raise usage(f"{file} cannot be read: {(problem.strerror or str(problem)).lower()}.") from problem
    # Read no further than just past the limit: a brief of a gigabyte is refused without being loaded. A cut inside a
    # letter there must not turn "too long" into "not UTF-8".
    if len(raw) > TURN_BYTES:
        raise refused(Refusal(RefusalReason.TURN_TOO_LARGE, {"limit": TURN_BYTES}))
    try:
        return raw.decode("utf-8-sig").replace("\r\n", "\n")
    except UnicodeDecodeError as problem:
        raise usage(f"{file} is not valid UTF-8 text; save it as UTF-8 and try again.") from problem
