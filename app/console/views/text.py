"""Text that others wrote, as lines a terminal may be given: literal, measured in cells, wrapped, bounded.

Everything that an agent, a file or a tool says passes through ``literal`` exactly once on its way into a transcript;
the rest of the transcript works on what came out and never looks at raw text again. No styles, no blocks and no
Textual in here.
"""

import re
from functools import lru_cache

from msgspec import Struct
from rich.cells import cell_len, split_graphemes

TAB = 4
LINE_MAX = 4_096
"""Characters in one logical line. A longer one goes on in the next (``joined``), so that no step costs more."""

# ------------------------------------------------------------------------------------------------------------ literal

# What a terminal obeys (C0, DEL, C1), what turns round or hides what is read (bidi, zero width, fillers, tags,
# the second block of variation selectors), and what is no character at all (lone surrogates).
_SUSPECT = re.compile(
    "[\x00-\x1f\x7f-\x9f\u00ad\u034f\u061c\u070f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e\u2060-\u206f"
    "\u3164\ufeff\uffa0\ufff0-\ufffb\ud800-\udfff\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
)
_ZWNJ, _ZWJ = "\u200c", "\u200d"


def _is_pictograph(character: str) -> bool:
    code = ord(character)
    return code >= 0x1F000 or 0x2190 <= code <= 0x2BFF or code in (0x3030, 0x303D, 0xA9, 0xAE)


def _joins(text: str, at: int) -> bool:
    """Whether the joiner at this place stands between two pictographs, where every width table agrees about it."""
    before = at - 1
    while before >= 0 and (text[before] == "\ufe0f" or 0x1F3FB <= ord(text[before]) <= 0x1F3FF):
        before -= 1
    return before >= 0 and at + 1 < len(text) and _is_pictograph(text[before]) and _is_pictograph(text[at + 1])


def _arabic(character: str) -> bool:
    return 0x0600 <= ord(character) <= 0x08FF or 0xFB50 <= ord(character) <= 0xFDFF


def _visible(found: re.Match[str]) -> str:
    character, code = found.group(), ord(found.group())
    if code < 0x20:
        return chr(0x2400 + code)
    if code == 0x7F:
        return "\u2421"
    if 0xD800 <= code <= 0xDFFF:
        return "\ufffd"
    text, at = found.string, found.start()
    if character == _ZWJ and _joins(text, at):
        return character
    if character == _ZWNJ and 0 < at < len(text) - 1 and _arabic(text[at - 1]) and _arabic(text[at + 1]):
        return character
    return f"⟨{code:02x}⟩"


def literal(line: str) -> str:
    """One line with everything that a terminal could obey, or that hides or turns round what is read, made visible."""
    if line.isascii() and line.isprintable():
        return line
    if "\t" in line:
        line = line.expandtabs(TAB)
    return _SUSPECT.sub(_visible, line)


def copyable(text: str) -> str:
    """Text for a clipboard: as it was written, with new lines and tabs, but nothing that a shell takes for a key."""
    return "\n".join("\t".join(_SUSPECT.sub(_visible, part) for part in row.split("\t")) for row in text.split("\n"))


def one_line(text: str, most: int = 400) -> str:
    """White space folded, for titles and paths."""
    return literal(" ".join(text[: most * 4].split()))[:most]


# -------------------------------------------------------------------------------------------------------------- lines


class SourceLine(Struct, frozen=True):
    """One line of a text, before it is made literal."""

    text: str
    joined: bool = False
    """It goes on from the line before without a new line: only that one was too long."""
    rewritten: int = 0
    """How often a progress display wrote over it; the last state is what is here."""


def last_state(line: str) -> tuple[str, int]:
    """What a line that carriage returns wrote over again and again says in the end, and how often that was."""
    if "\r" not in line:
        return line, 0
    line = line.rstrip("\r")
    at = line.rfind("\r")
    return (line, 0) if at < 0 else (line[at + 1 :], line.count("\r"))


def pieces(line: str) -> list[SourceLine]:
    """One line without its end, as logical lines."""
    text, rewritten = last_state(line)
    if len(text) <= LINE_MAX:
        return [SourceLine(text, False, rewritten)]
    return [
        SourceLine(text[at : at + LINE_MAX], at > 0, rewritten if at == 0 else 0)
        for at in range(0, len(text), LINE_MAX)
    ]


class Excerpt(Struct, frozen=True):
    """A text of any size as its first and last lines; ``hidden`` lines of ``hidden_chars`` are between them."""

    head: tuple[SourceLine, ...]
    tail: tuple[SourceLine, ...] = ()
    hidden: int = 0
    hidden_chars: int = 0

    @property
    def lines(self) -> int:
        return len(self.head) + self.hidden + len(self.tail)


def excerpt_of(text: str, head: int, tail: int, left_at: int, left_out: int) -> Excerpt:
    """As ``excerpt``, of a text whose middle was left out already: ``left_out`` characters at ``left_at``."""
    if not left_out:
        return excerpt(text, head, tail)
    first, last = excerpt(text[:left_at], head, 0), excerpt(text[left_at:], 0, tail)
    return Excerpt(first.head, last.tail, 1, left_out + first.hidden_chars + last.hidden_chars)


def excerpt(text: str, head: int, tail: int) -> Excerpt:
    """At most ``head`` lines from the start and ``tail`` from the end. The middle is counted, never split."""
    first: list[SourceLine] = []
    at, size = 0, len(text)
    if text.endswith("\n"):
        size -= 1
    while at <= size and len(first) < head + tail:
        end = text.find("\n", at, size)
        end = size if end < 0 else end
        first.extend(_state_at(text, at, end, head + tail - len(first) + 1))
        at = end + 1
    if at > size and len(first) <= head + tail:
        return Excerpt(tuple(first))
    last: list[SourceLine] = []
    end = size
    while end > 0 and len(last) < tail:
        start = text.rfind("\n", 0, end) + 1
        found = _state_at(text, start, end, tail, from_end=True)
        last[:0] = found[-(tail - len(last)) :]
        end = start - 1
    shown = first[:head]
    total = text.count("\n", 0, size) + 1 if size else 0
    seen = sum(len(line.text) for line in shown) + sum(len(line.text) for line in last)
    return Excerpt(tuple(shown), tuple(last), max(1, total - _whole(shown) - _whole(last)), max(0, size - seen))


def _whole(lines: list[SourceLine]) -> int:
    return sum(not line.joined for line in lines)


def _state_at(text: str, start: int, end: int, most: int, *, from_end: bool = False) -> list[SourceLine]:
    """The pieces of the line in ``text[start:end]``, without copying more of it than is shown."""
    while end > start and text[end - 1] == "\r":
        end -= 1
    at = text.rfind("\r", start, end)
    rewritten = text.count("\r", start, end) if at >= 0 else 0
    begin = start if at < 0 else at + 1
    if end - begin <= LINE_MAX:
        return [SourceLine(text[begin:end], False, rewritten)]
    cuts = range(begin, end, LINE_MAX)
    chosen = cuts[-most:] if from_end else cuts[:most]
    return [
        SourceLine(text[cut : min(cut + LINE_MAX, end)], cut > begin, rewritten if cut == begin else 0)
        for cut in chosen
    ]


# -------------------------------------------------------------------------------------------------------------- cells


def cells(text: str) -> int:
    return len(text) if text.isascii() else cell_len(text)


def cut(text: str, width: int) -> str:
    """At most ``width`` cells, with an ellipsis where something is missing."""
    if cells(text) <= width:
        return text
    if width <= 1:
        return "…"[:width]
    if text.isascii():
        return text[: width - 1] + "…"
    used = 0
    for start, _end, size in split_graphemes(text)[0]:
        if used + size > width - 1:
            return text[:start] + "…"
        used += size
    return text


def cut_front(text: str, width: int) -> str:
    """As ``cut``, keeping the end, which tells paths apart."""
    if cells(text) <= width:
        return text
    if width <= 1:
        return "…"[:width]
    if text.isascii():
        return "…" + text[len(text) - width + 1 :]
    used = 0
    for _start, end, size in reversed(split_graphemes(text)[0]):
        if used + size > width - 1:
            return "…" + text[end:]
        used += size
    return text


def breaks(text: str, width: int, rest: int, *, by_word: bool) -> list[tuple[int, int]]:
    """Where the rows of a text begin and end: the first of ``width`` cells, the following of ``rest``.

    By word, the spaces broken at belong to no row. By character every character is in a row.
    """
    if text.isascii():
        if len(text) <= width:
            return [(0, len(text))]
        return _ascii_breaks(text, width, rest, by_word)
    if cell_len(text) <= width:
        return [(0, len(text))]
    return list(_wide_breaks(text, width, rest, by_word))


def _ascii_breaks(text: str, width: int, rest: int, by_word: bool) -> list[tuple[int, int]]:
    size = len(text)
    rows: list[tuple[int, int]] = []
    if not by_word:
        rows.append((0, width))
        rows.extend((at, min(at + rest, size)) for at in range(width, size, rest))
        return rows
    at, find = 0, text.rfind
    # Spaces that the text begins with are no place to break: only the first row can begin with some.
    least = size - len(text.lstrip(" ")) + 1 if text[0] == " " else 1
    while size - at > width:
        end = at + width
        space = find(" ", at + least, end + 1)
        least = 1
        if space < 0:
            rows.append((at, end))
            at = end
        else:
            rows.append((at, space))
            at = space + 1
        while at < size and text[at] == " ":
            at += 1
        width = rest
    if at < size:
        rows.append((at, size))
    return rows


@lru_cache(maxsize=256)
def _wide_breaks(text: str, width: int, rest: int, by_word: bool) -> tuple[tuple[int, int], ...]:
    rows: list[tuple[int, int]] = []
    spans = split_graphemes(text)[0]
    row_start, used, index = 0, 0, 0
    soft = -1
    while index < len(spans):
        start, end, size = spans[index]
        if used + size > width and start > row_start:
            at = start
            if by_word and text[start] != " " and soft > row_start:
                at = soft
            stop = at
            while by_word and stop > row_start and text[stop - 1] == " ":
                stop -= 1
            rows.append((row_start, stop if stop > row_start else at))
            while index > 0 and spans[index - 1][0] >= at:
                index -= 1
            if by_word:
                while index < len(spans) and text[spans[index][0]] == " ":
                    index += 1
            row_start = spans[index][0] if index < len(spans) else len(text)
            used, soft, width = 0, -1, rest
            continue
        used += size
        # A row may end after a space, and after or before anything two cells wide (no spaces are written there).
        if text[start] == " " or size >= 2 or (index + 1 < len(spans) and spans[index + 1][2] >= 2):
            soft = end
        index += 1
    if row_start < len(text) or not rows:
        rows.append((row_start, len(text)))
    return tuple(rows)
