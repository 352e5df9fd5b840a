"""A terminal's bytes as what they mean: text, line ends, escape sequences, however a read cuts them.

It decides where a sequence begins and ends, and nothing of what it does to a page (``terminal_page``). Whatever a
program prints, the memory held here is bounded: a sequence that does not end is text after all, a string that does not
end is thrown away.
"""

import codecs
import re
from collections.abc import Iterator
from typing import Final

from msgspec import Struct

_LONGEST = 64
"""Characters of a control sequence; real ones have a dozen."""
_STRING_MOST = 256 * 1024
"""Characters of an unended string (a title, an image) that are thrown away before the rest counts as text again."""

_TOKEN: Final = re.compile(
    r"(?P<text>[^\x00-\x1f\x7f-\x9f]+)"
    r"|(?P<line>\r\n)"
    r"|(?:\x1b\[|\x9b)(?P<parameters>[0-?]*)(?P<between>[ -/]*)(?P<final>[@-~])"
    r"|(?P<string>\x1b[\]PX^_]|[\x90\x98\x9d-\x9f])"
    r"|\x1b(?P<escape>[ -/]+[0-~]|[0-OQ-WYZ\\`-~])"
    r"|(?P<cut>\x1b[ -/]*\Z|(?:\x1b\[|\x9b)[0-?]*[ -/]*\Z|\r\Z)"
    r"|(?P<control>.)",
    re.DOTALL,
)
_STRING_END: Final = re.compile(r"[\x07\x18\x1a\x1b\x9c]")


class Text(Struct, frozen=True):
    text: str
    """Printable characters."""


class Control(Struct, frozen=True):
    code: str
    """One control character, or a carriage return and line feed together."""


class Escape(Struct, frozen=True):
    final: str
    """All after the ESC."""


class Sequence(Struct, frozen=True):
    """A control sequence (CSI)."""

    final: str
    parameters: str
    """As they came, a leading ``?`` included."""

    def number(self, place: int = 0, default: int = 1) -> int:
        """A parameter; one that is missing, zero or absurd is the default, or bounded."""
        parts = self.parameters.lstrip("?>=<").split(";")
        text = parts[place] if place < len(parts) else ""
        return min(int(text), 10_000) or default if text.isascii() and text.isdigit() and len(text) < 10 else default


Token = Text | Control | Escape | Sequence


class Tokens:
    """Bytes in, tokens out. ``rest`` is what was read and is no whole token yet."""

    def __init__(self, rest: bytes = b"", in_string: int = 0) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._pending = self._decoder.decode(rest)
        self.in_string = in_string
        """Characters of the string that is being thrown away, plus one; 0: there is none."""

    @property
    def rest(self) -> bytes:
        """Held back: fed again, it comes to the same."""
        return self._pending.encode() + self._decoder.getstate()[0]

    def feed(self, data: bytes) -> Iterator[Token]:
        """The tokens that these bytes complete; to be read to its end."""
        text = self._pending + self._decoder.decode(data)
        self._pending = ""
        at = 0
        while at < len(text):
            if self.in_string:
                at = self._through_string(text, at)
                continue
            found = _TOKEN.match(text, at)
            assert found is not None  # the last alternative takes any character
            kind = found.lastgroup
            if kind == "cut" and len(text) - at <= _LONGEST:
                self._pending = text[at:]
                return
            if kind == "cut":
                at += 1
                continue
            at = found.end()
            if kind == "text":
                yield Text(found["text"])
            elif kind == "line":
                yield Control("\r\n")
            elif kind == "final":
                if not found["between"]:  # none of those moves text
                    yield Sequence(found["final"], found["parameters"])
            elif kind == "escape":
                yield Escape(found["escape"])
            elif kind == "string":
                self.in_string = 1
            else:
                yield Control(found["control"])

    def _through_string(self, text: str, at: int) -> int:
        """Where it goes on after the string, or the end of what there is."""
        end = _STRING_END.search(text, at)
        stop = len(text) if end is None else end.start()
        self.in_string += stop - at
        if end is None:
            if self.in_string > _STRING_MOST:
                self.in_string = 0
            return stop
        self.in_string = 0
        # An ESC ends the string and begins the next sequence; that of a proper end is an escape that means nothing.
        return stop if end[0] == "\x1b" else end.end()
