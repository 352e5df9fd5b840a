"""Escape sequences kept whole, however a slow line cuts them. Pure: text and times in, pieces out.

A terminal's own words (a mouse click, an arrow, a report) come as Esc and some letters. Cut by a slow line, the second
half looks like keys that somebody pressed, and a parser that gives up after a delay hands it on as such: ``M`` chooses
a model, ``X`` ends a session, ``1`` allows a command. So nothing that began as a sequence ever becomes keys here: it is
completed however late its rest comes, or it is thrown away. What a control byte interrupts is thrown away too, and the
control byte counts: no cut sequence delays a stop.

One thing can not be told apart: Esc and one letter, long after it. That is what Alt and a letter is, cut; and it is a
person who pressed two keys.
"""

import re
from enum import StrEnum

from msgspec import Struct

ESC = "\x1b"
HELD = 2.5
"""Seconds for which an unfinished sequence is waited for after its last byte."""
CHORD = 0.060
"""Esc and a letter closer together than this are Alt and the letter; farther apart two keys."""
PASTE_QUIET = 5.0
"""Seconds after which a paste whose end never came is taken as it is: the keys must not be its text for good."""
LONGEST = 4096

PASTE_BEGINS, PASTE_ENDS = "\x1b[200~", "\x1b[201~"

# Finals of SS3 that a keyboard has; so that a written "OK" after a press of Esc is no key.
_SS3 = r"O[0-9;]{0,4}[A-FHIMP-SXj-y]"
_OSC = r"\][0-9]{1,4}(?:;[^\x00-\x1f]*)?"
_DCS = r"P[0-9;]*[$+>!|][^\x00-\x1f]*"
_APC = r"_G[^\x00-\x1f]*"
# X10's mouse is three letters after an M; Linux's first function keys have a second bracket; rxvt's have a dollar.
_CSI = r"\[(?:M[^\x00-\x1f]{3}|\[[A-E]|[0-9;]+\$|(?![M\[])[0-?]*[ -/]*[@-~])"
_WHOLE = re.compile(rf"\x1b(?:{_CSI}|{_SS3}|{_OSC}(?:\x07|\x1b\\)|(?:{_DCS}|{_APC})\x1b\\)")
_BEGUN = re.compile(
    r"\x1b(?:\[(?:M[^\x00-\x1f]{0,2}|\[|(?![M\[])[0-?]*[ -/]*)|O[0-9;]{0,4}"
    rf"|{_OSC}\x1b?|\][0-9]{{0,4}}|(?:{_DCS}|{_APC})\x1b?|P[0-9;]*|_)"
)
_OPENERS = "[O]P_"
_ALT_KEY = re.compile(r"\x1b\x1b(?:\[[0-9;]*[A-HPQRSZ~^$@]|O[A-HP-S])")
"""How some terminals send Alt and a key that is a sequence by itself."""


class Kind(StrEnum):
    TEXT = "text"
    ESCAPE = "escape"
    """The key, pressed alone."""
    CHORD = "chord"
    """Alt and a letter."""
    SEQUENCE = "sequence"
    PASTE = "paste"
    NOISE = "noise"
    """Bytes that mean nothing, thrown away; that something came still counts."""


class Piece(Struct, frozen=True):
    kind: Kind
    text: str


class Sequences:
    """Takes what is read from a terminal; ask ``due`` when ``deadline`` has come."""

    def __init__(self, escape_delay: float) -> None:
        self._delay = escape_delay
        self._held = ""
        """Begins with Esc, and is not a whole sequence yet."""
        self._held_at = 0.0
        self._escape_at = float("-inf")
        """When the Esc came that was given out as a key: its rest may still come."""
        self._paste: list[str] | None = None
        self._paste_at = 0.0

    @property
    def deadline(self) -> float | None:
        if self._paste is not None:
            return self._paste_at + PASTE_QUIET
        if not self._held:
            return None
        return self._held_at + (self._delay if self._is_escape() else HELD)

    def _is_escape(self) -> bool:
        return self._held in (ESC, ESC + ESC)

    def due(self, at: float) -> list[Piece]:
        """What is no longer waited for at this time."""
        deadline = self.deadline
        if deadline is None or at < deadline:
            return []
        if self._paste is not None:
            return [self._end_of_paste()]
        held, self._held = self._held, ""
        if held.strip(ESC) == "":
            # Two in one read are one: a person needs longer, and two would interrupt a turn.
            self._escape_at = self._held_at
            return [Piece(Kind.ESCAPE, held)]
        return [Piece(Kind.NOISE, held)]

    def feed(self, data: str, at: float) -> list[Piece]:
        out: list[Piece] = []
        if not data:
            return out
        if self._held and at - self._held_at >= HELD:
            out += self.due(at)
        elif not self._held and at - self._escape_at < HELD and self._is_rest(data):
            data = ESC + data
        held, gap = len(self._held), at - self._held_at
        text, self._held, self._escape_at = self._held + data, "", float("-inf")
        while text:
            if self._paste is not None:
                text = self._into_paste(text, at, out)
            elif not text.startswith(ESC):
                plain, esc, rest = text.partition(ESC)
                out.append(Piece(Kind.TEXT, plain))
                text, held = esc + rest, 0
            else:
                text, held = self._sequence(text, held, gap, at, out), 0
        return out

    def _is_rest(self, data: str) -> bool:
        """Whether this is what was cut off behind an Esc; one letter alone is a key."""
        found = _WHOLE.match(ESC + data)
        if found is not None:
            rest, after = found.group(), data[found.end() - 1 :]
            if after and not after.startswith(ESC):
                return rest == PASTE_BEGINS or rest.startswith("\x1b[<")
            return rest[-1] != "]"
        return len(data) > 2 and data[0] in _OPENERS and _BEGUN.fullmatch(ESC + data) is not None

    def _sequence(self, text: str, held: int, gap: float, at: float, out: list[Piece]) -> str:
        """Take one from the front of what begins with Esc; returns what is after it. ``held``: how much of it came
        before this read."""
        if text in (ESC, ESC + ESC) and held != 1:
            return self._hold(text, at)
        if text[1] == ESC:
            found = _ALT_KEY.match(text) if held != 1 else None
            if found is None:
                out.append(Piece(Kind.ESCAPE, ESC))
                return text[1:] if held < 2 else text[2:]
            out.append(Piece(Kind.SEQUENCE, found.group()))
            return text[found.end() :]
        found = _WHOLE.match(text)
        if found is not None:
            if found.group() == PASTE_BEGINS:
                self._paste, self._paste_at = [""], at
            else:
                out.append(Piece(Kind.SEQUENCE, found.group()))
            return text[found.end() :]
        begun = _BEGUN.match(text)
        if begun is None:
            return self._chord(text, held, gap, out)
        if begun.end() == len(text) <= LONGEST:
            return self._hold(text, at)
        if begun.end() == 2 and text[1] != "[":
            # Alt and such a letter, or Esc and the letter, and something else after it.
            return self._chord(text, held, gap, out)
        cut = begun.end() - 1 if begun.group().endswith(ESC) else begun.end()
        out.append(Piece(Kind.NOISE, text[:cut]))
        return text[cut:]

    def _hold(self, text: str, at: float) -> str:
        self._held, self._held_at = text, at
        return ""

    def _chord(self, text: str, held: int, gap: float, out: list[Piece]) -> str:
        if text[1] < " " and text[1] not in "\r\n\t\b":
            # A control byte is never half of anything: it counts at once.
            out.append(Piece(Kind.ESCAPE, ESC))
            return text[1:]
        if held == 1 and gap >= CHORD:
            out += [Piece(Kind.ESCAPE, ESC), Piece(Kind.TEXT, text[1])]
        else:
            out.append(Piece(Kind.CHORD, text[:2]))
        return text[2:]

    # ------------------------------------------------------------------------------------------------------- pastes

    def _into_paste(self, text: str, at: float, out: list[Piece]) -> str:
        if self._paste is None:
            return text
        # What may be the beginning of the end is looked at again; the rest is not: megabytes come in many reads.
        pasted, end, rest = (self._paste.pop() + text).partition(PASTE_ENDS)
        if end:
            self._paste.append(pasted)
            out.append(self._end_of_paste())
            return rest
        whole = max(len(pasted) - len(PASTE_ENDS) + 1, 0)
        self._paste += [pasted[:whole], pasted[whole:]]
        self._paste_at = at
        return ""

    def _end_of_paste(self) -> Piece:
        text = "".join(self._paste or ())
        self._paste = None
        return Piece(Kind.PASTE, text)
