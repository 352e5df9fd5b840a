"""Taking chosen texts out of everything that is exported: titles, file names, what was said, what was decided.

A pattern is a text as it stands, or a regular expression behind ``re:``. All of a row's texts are gone through before
any format sees it, so that no format can forget one; numbers, states, times, Footplate's own identifiers and the hashes
stay. What the patterns are is never written anywhere: they are what is to be kept secret.

Nested repeats are not looked for: what is slow and what is not cannot be told from an expression's form (a plain
``.*a.*b`` is, on a line of 60 MB). Expressions run in a process of their own and have so long for each row.
"""

import json
import os
import re
import select
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self, TypeVar, cast

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from coordinator import decisioncodec, eventcodec, terms
from coordinator.review.export import sieve
from store.canonical import dumps, loads
from store.excerpt import Cells
from store.rows import Record, names

T = TypeVar("T")
R = TypeVar("R", bound=Record)
Redact = Callable[[str], str]

REGULAR: Final = "re:"
LONGEST: Final = 1_000
MOST: Final = 100
"""Characters of a pattern, and patterns."""
SECONDS: Final = 10.0
SECONDS_PER_MB: Final = 2.0
"""For all expressions together over the texts of one row."""

_OURS: Final = frozenset(
    {
        *("id", "turn", "authorization_id", "incarnation", "custody", "write_id", "nonce", "boot_id", "kind", "state"),
        *("digest", "payload_hash", "sha256", "hash", "prev", "events_hash", "source", "billing", "driver", "step"),
        *("outcome", "reason", "result", "cost_known", "failure", "verb", "close_reason", "fence_reason"),
    }
)
"""Columns of Footplate's own words, identifiers and hashes."""
_JSON: Final = frozenset({"body", "answer", "terms", "payload"})


class BadPattern(Struct, frozen=True, kw_only=True):
    n: int
    """Which one, from 1."""
    problem: str


class TooSlow(Exception):
    """The expressions did not come to an end on some text."""

    def __init__(self, characters: int) -> None:
        super().__init__(f"no end on {characters} characters")
        self.characters = characters


def compiled(patterns: Sequence[str]) -> tuple[re.Pattern[str], ...] | BadPattern:
    found: list[re.Pattern[str]] = []
    for n, pattern in enumerate(patterns, 1):
        text = pattern.removeprefix(REGULAR)
        if not text:
            return BadPattern(n=n, problem="it is empty")
        if len(text) > LONGEST or n > MOST:
            return BadPattern(n=n, problem=f"no more than {MOST} patterns of {LONGEST} characters can be used")
        try:
            made = re.compile(text if pattern.startswith(REGULAR) else re.escape(text))
        except (re.error, OverflowError, RecursionError) as error:
            return BadPattern(n=n, problem=str(error))
        if made.match(""):
            return BadPattern(n=n, problem="it also matches nothing at all")
        found.append(made)
    return tuple(found)


class Redactor:
    """Holds the process in which expressions are tried, if there are any: use it with ``with``."""

    def __init__(self, patterns: Sequence[str], *, seconds: float = SECONDS) -> None:
        made = compiled(patterns)
        if isinstance(made, BadPattern):
            raise ValueError(made.problem)
        self._patterns = made
        self._seconds = seconds
        self._apart = any(pattern.startswith(REGULAR) for pattern in patterns)
        self._child: subprocess.Popen[bytes] | None = None
        self.counts = [0] * len(made)
        """How many places of each pattern were taken out."""

    @property
    def active(self) -> bool:
        return bool(self._patterns)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._end_child()

    def text(self, text: str) -> str:
        return self._over(lambda redact: redact(text))

    def row(self, table: str, cells: Cells) -> Cells:
        """The row with its texts gone through; the very same where there is nothing to take out."""
        return self._over(lambda redact: _row(table, cells, redact)) if self._patterns else cells

    def record(self, record: R) -> R:
        """As ``row``, of a record."""
        if not self._patterns:
            return record
        cells: Cells = {name: getattr(record, name) for name in names(type(record))}
        return cast(R, replace(cast(Any, record), **self.row(record.TABLE, cells)))

    # -------------------------------------------------------------------------------------------------------- texts

    def _over(self, walk: Callable[[Redact], T]) -> T:
        """Walk over the texts of a value twice: to gather them, and to put in what became of them."""
        if not self._patterns:
            return walk(lambda text: text)
        gathered: dict[str, tuple[str, list[int]]] = {}

        def gather(text: str) -> str:
            gathered[text] = (text, [])
            return text

        walk(gather)
        texts = [text for text in gathered if text]
        results = self._asked(texts) if self._apart else [sieve.taken_out(text, self._patterns) for text in texts]
        gathered.update(zip(texts, results, strict=True))

        def put(text: str) -> str:
            new, counts = gathered.get(text, (text, []))
            for n, count in enumerate(counts):
                self.counts[n] += count
            return new

        return walk(put)

    def _asked(self, texts: list[str]) -> list[tuple[str, list[int]]]:
        """
        Raises:
            TooSlow: no answer in time; the process has been ended.
        """
        if not texts:
            return []
        size = sum(map(len, texts))
        end = time.monotonic() + self._seconds + SECONDS_PER_MB * size / 1_000_000
        try:
            child = self._started()
            self._send(child, texts, end)
            answer = self._received(child, end)
        except TimeoutError:
            self._end_child()
            raise TooSlow(size) from None
        return [(str(text), list(counts)) for text, counts in json.loads(answer)]

    def _started(self) -> "subprocess.Popen[bytes]":
        if self._child is None:
            self._child = subprocess.Popen(
                [sys.executable, "-I", "-S", "-X", "utf8", str(Path(sieve.__file__))],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
            )
            for pipe in (self._child.stdin, self._child.stdout):
                assert pipe is not None
                os.set_blocking(pipe.fileno(), False)
            self._send(self._child, [one.pattern for one in self._patterns], time.monotonic() + self._seconds)
        return self._child

    def _send(self, child: "subprocess.Popen[bytes]", message: list[str], end: float) -> None:
        assert child.stdin is not None
        data = json.dumps(message).encode()
        left = memoryview(len(data).to_bytes(sieve.LENGTH, "big") + data)
        while left:
            if not select.select([], [child.stdin], [], max(0.0, end - time.monotonic()))[1]:
                raise TimeoutError
            left = left[os.write(child.stdin.fileno(), left[:65_536]) :]

    def _received(self, child: "subprocess.Popen[bytes]", end: float) -> bytes:
        assert child.stdout is not None
        found = bytearray()
        while len(found) < sieve.LENGTH or len(found) < sieve.LENGTH + int.from_bytes(found[: sieve.LENGTH], "big"):
            if not select.select([child.stdout], [], [], max(0.0, end - time.monotonic()))[0]:
                raise TimeoutError
            piece = os.read(child.stdout.fileno(), 1 << 20)
            if not piece:  # out of memory, or ended by somebody: as good as no answer
                raise TimeoutError
            found += piece
        return bytes(found[sieve.LENGTH :])

    def _end_child(self) -> None:
        child, self._child = self._child, None
        if child is not None:
            child.kill()
            child.wait()
            for pipe in (child.stdin, child.stdout):
                assert pipe is not None
                pipe.close()


# ------------------------------------------------------------------------------------------------------------- rows


def _row(table: str, cells: Cells, redact: Redact) -> Cells:
    changed: Cells = {}
    for name, value in cells.items():
        if value is None or name in _OURS:
            changed[name] = value
        elif table == "attachments" and name == "content":
            changed[name] = b""  # an image: what it shows cannot be gone through
        elif isinstance(value, bytes):
            changed[name] = redact(value.decode("utf-8", "replace")).encode("utf-8", "replace")
        elif type(value) is not str:  # numbers, and our own enums
            changed[name] = value
        elif name in _JSON:
            changed[name] = _document(table, name, cells, value, redact)
        else:
            changed[name] = redact(value)
    return changed


def _document(table: str, name: str, cells: Cells, text: str, redact: Redact) -> str:
    """A stored document. Where it is wholly of a form that we know, its own words (kinds, states) are left whole."""
    if table == "entries":
        return _walked(text, redact, _OURS)
    try:
        known = _known(table, name, cells, text)
    except (msgspec.DecodeError, msgspec.ValidationError, RecursionError):
        known = None
    if known is not None:
        value, spell = known
        # One with more in it than we know of, from another version, is gone through word by word.
        if spell(value) == text:
            return spell(eventcodec.redacted(value, redact))
    return _walked(text, redact, frozenset())


def _known(table: str, name: str, cells: Cells, text: str) -> tuple[Any, Callable[[Any], str]] | None:
    match table, name:
        case "events", "body":
            return eventcodec.decode(str(cells["kind"]), text), lambda event: eventcodec.encode(event, _as_it_is)[1]
        case "decisions", "payload":
            return decisioncodec.view_parts(text), decisioncodec.payload
        case "decisions", "answer":
            return decisioncodec.decode_answer(text), decisioncodec.encode_answer
        case "authorizations", "terms":
            agreed = terms.parse(text)
            return (agreed, terms.canonical) if isinstance(agreed, terms.Terms) else None
        case _:
            return None


def _as_it_is(text: str) -> str:
    return text


def _walked(text: str, redact: Redact, left: frozenset[str]) -> str:
    """``left``: what stands under these names is not gone through, and no name is."""
    try:
        document = loads(text)
        changed = _values(document, redact, left)
        return text if changed == document else dumps(changed)
    except (ValueError, RecursionError):
        return redact(text)


def _values(value: Any, redact: Redact, left: frozenset[str]) -> Any:
    if isinstance(value, str):
        return redact(value)
    if isinstance(value, dict):
        return {
            key if left else redact(key): item if key in left else _values(item, redact, left)
            for key, item in cast(Cells, value).items()
        }
    if isinstance(value, list):
        return [_values(item, redact, left) for item in value]
    return value
