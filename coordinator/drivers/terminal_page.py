"""What stands on an agent's terminal, as text: enough of a terminal to know the lines that a person would read there.

Colours are not known here, nor what a line means. Rows that leave the page at its top are lines for good; those on it
may still be drawn over (a progress bar, an edited prompt), so they are told as they stand when asked. What is printed
on the alternate screen (an editor, a pager) is a picture and no text, and is left out.
"""

import unicodedata
from collections.abc import Callable
from typing import Final

import msgspec

from coordinator.drivers.base import TERMINAL_SIZE
from coordinator.drivers.terminal_bytes import Control, Escape, Sequence, Text, Token, Tokens

_FILLER = "\0"
"""The second cell of a wide character."""
_LONGEST_LINE = 32 * 1024
"""Characters without a line end that are one line."""
_MOST_QUERIES: Final = 64
"""Questions in one read that are answered; a program waits for its answer before it asks the next."""
_ALTERNATE: Final = frozenset({"?47", "?1047", "?1049"})
_PASTE: Final = "?2004"
_PRIVATE: Final = frozenset("<=>?")
"""A sequence that begins its parameters with one of these is another one than without."""


class PageState(msgspec.Struct):
    """All of it, for a snapshot."""

    height: int = TERMINAL_SIZE[0]
    width: int = TERMINAL_SIZE[1]
    rows: list[str] = msgspec.field(default_factory=lambda: [""])
    soft: list[bool] = msgspec.field(default_factory=lambda: [False])
    """Of each row, whether its line goes on in the next one."""
    row: int = 0
    column: int = 0
    mark_row: int = 0
    """From here on it is text since the last mark."""
    mark_column: int = 0
    saved: tuple[int, int] = (0, 0)
    begun: str = ""
    """The part of a line that has left the page while the line goes on."""
    left: list[str] = []
    """Lines since the mark that have left the page and were not taken yet."""
    alternate: bool = False
    paste: bool = False
    """It marks pasted text, so that line ends in it are no Enter."""
    queries: list[str] = []
    """What it asked the terminal and was not answered yet."""
    printed: bool = False
    """Something to read came since the mark."""
    rest: bytes = b""
    in_string: int = 0


class Page:
    """Bytes in; lines, the cursor's line and a few facts out."""

    def __init__(self, state: PageState | None = None) -> None:
        self.state = state or PageState()
        self._tokens = Tokens(self.state.rest, self.state.in_string)

    def feed(self, data: bytes) -> None:
        for token in self._tokens.feed(data):
            self._take(token)

    def snapshot(self) -> PageState:
        """The state with what the reader still holds back."""
        self.state.rest, self.state.in_string = self._tokens.rest, self._tokens.in_string
        return self.state

    # -------------------------------------------------------------------------------------------------- what is said

    def mark(self) -> None:
        """From the cursor on it is new."""
        s = self.state
        s.mark_row, s.mark_column = s.row, s.column
        s.left, s.begun, s.printed = [], "", False

    def take_left(self) -> list[str]:
        """Lines since the mark that nothing can change any more; each is told once."""
        taken, self.state.left = self.state.left, []
        return taken

    def standing(self, *, cursor_too: bool) -> list[str]:
        """Lines since the mark that are still on the page; with or without the cursor's own and what is below it."""
        s = self.state
        lines: list[str] = []
        line = s.begun
        upto = len(s.rows) if cursor_too else s.row
        for place in range(s.mark_row, upto):
            line += self._row_text(place)
            if not s.soft[place]:
                lines.append(line.rstrip())
                line = ""
        if cursor_too and line:
            lines.append(line.rstrip())
        return lines

    def before_cursor(self) -> str:
        """The cursor's line up to it: where a prompt stands."""
        s = self.state
        first = s.row
        while first > 0 and s.soft[first - 1]:
            first -= 1
        whole = "".join(s.rows[first : s.row]) + s.rows[s.row][: s.column].ljust(s.column)
        return whole.replace(_FILLER, "")

    def since_mark(self) -> str | None:
        """What came since the mark if no line ended there, else None."""
        s = self.state
        if s.left or s.begun or any(not soft for soft in s.soft[s.mark_row : s.row]):
            return None
        return "".join(self._row_text(place) for place in range(s.mark_row, s.row + 1))

    def take_queries(self) -> list[str]:
        taken, self.state.queries = self.state.queries, []
        return taken

    def drawn(self) -> bytes:
        """What draws the page on another terminal of this size; its colours are not known here."""
        s = self.state
        rows = "\r\n".join(row.replace(_FILLER, "").rstrip() for row in s.rows)
        return f"\x1b[H\x1b[2J{rows}\x1b[{s.row + 1};{s.column + 1}H".encode()

    def _row_text(self, place: int) -> str:
        row = self.state.rows[place]
        if place == self.state.mark_row:
            row = row[self.state.mark_column :]
        return row.replace(_FILLER, "")

    # --------------------------------------------------------------------------------------------------------- its size

    def resize(self, rows: int, columns: int) -> None:
        s = self.state
        s.height, s.width = max(1, min(rows, 1000)), max(1, min(columns, 1000))
        while len(s.rows) > s.height and s.row > 0:
            self._scroll()
            s.row -= 1
        del s.rows[s.height :], s.soft[s.height :]

    # -------------------------------------------------------------------------------------------------- what it does

    def _take(self, token: Token) -> None:
        s = self.state
        if isinstance(token, Sequence) and token.final in "hl":
            self._mode(token)
        elif s.alternate:
            return
        elif isinstance(token, Text):
            self._write(token.text)
        elif isinstance(token, Control):
            self._control(token.code)
        elif isinstance(token, Escape):
            self._escape(token.final)
        elif token.parameters[:1] not in _PRIVATE:
            does = _SEQUENCES.get(token.final)
            if does is not None:
                does(self, token)

    def _write(self, text: str) -> None:
        s = self.state
        s.printed = True
        if not text.isascii():
            text = "".join(c + _FILLER if unicodedata.east_asian_width(c) in "WF" else c for c in text)
        at = 0
        while at < len(text):
            if s.column >= s.width:
                s.soft[s.row] = True
                self._down()
                s.column = 0
            part = text[at : at + s.width - s.column]
            at += len(part)
            row = s.rows[s.row]
            if len(row) < s.column:
                row = row.ljust(s.column)
            s.rows[s.row] = row[: s.column] + part + row[s.column + len(part) :]
            s.column += len(part)

    def _control(self, code: str) -> None:
        s = self.state
        if code == "\r\n":
            s.column = 0
            self._line_feed()
        elif code == "\r":
            s.column = 0
        elif code in "\n\x0b\x0c\x85":
            self._line_feed()
        elif code == "\x08":
            s.column = max(0, min(s.column, s.width) - 1)
        elif code == "\t":
            s.column = min(s.width - 1, (s.column // 8 + 1) * 8) if s.column < s.width else s.column

    def _line_feed(self) -> None:
        self.state.soft[self.state.row] = False
        self._down()

    def _down(self) -> None:
        s = self.state
        if s.row + 1 >= s.height:
            self._scroll()
        else:
            s.row += 1
        if s.row >= len(s.rows):
            s.rows.append("")
            s.soft.append(False)

    def _scroll(self) -> None:
        """The topmost row leaves the page."""
        s = self.state
        if s.mark_row > 0:
            s.mark_row -= 1
        else:
            s.begun += self._row_text(0)
            if not s.soft[0] or len(s.begun) > _LONGEST_LINE:
                s.left.append(s.begun.rstrip())
                s.begun = ""
            s.mark_column = 0
        del s.rows[0], s.soft[0]

    def _escape(self, final: str) -> None:
        s = self.state
        if final in ("D", "E"):
            s.column = 0 if final == "E" else s.column
            self._line_feed()
        elif final == "M":
            s.row = max(0, s.row - 1)
        elif final == "7":
            s.saved = (s.row, s.column)
        elif final == "8":
            self._go(*s.saved)
        elif final == "c":
            self._clear()
            self._go(0, 0)

    def _go(self, row: int, column: int) -> None:
        s = self.state
        s.row = max(0, min(row, s.height - 1))
        s.column = max(0, min(column, s.width - 1))
        while len(s.rows) <= s.row:
            s.rows.append("")
            s.soft.append(False)

    def _clear(self) -> None:
        """A page that is wiped was read until then: its lines are kept."""
        s = self.state
        for place in range(s.mark_row, len(s.rows)):
            s.begun += self._row_text(place)
            if not s.soft[place]:
                s.left.append(s.begun.rstrip())
                s.begun = ""
        s.rows, s.soft = [""] * (s.row + 1), [False] * (s.row + 1)
        s.mark_row = s.mark_column = 0

    def _mode(self, token: Sequence) -> None:
        on = token.final == "h"
        private = token.parameters.startswith("?")
        for word in token.parameters.lstrip("?").split(";"):
            name = f"?{word}" if private else word
            if name in _ALTERNATE:
                self.state.alternate = on
            elif name == _PASTE:
                self.state.paste = on

    # --------------------------------------------------------------------------------------------- control sequences

    def _move(self, token: Sequence) -> None:
        s, n = self.state, token.number()
        match token.final:
            case "A":
                self._go(s.row - n, s.column)
            case "B" | "e":
                self._go(s.row + n, s.column)
            case "C" | "a":
                self._go(s.row, s.column + n)
            case "D":
                self._go(s.row, min(s.column, s.width - 1) - n)
            case "E":
                self._go(s.row + n, 0)
            case "F":
                self._go(s.row - n, 0)
            case "G" | "`":
                self._go(s.row, n - 1)
            case "d":
                self._go(n - 1, s.column)
            case _:
                self._go(n - 1, token.number(1) - 1)

    def _erase_line(self, token: Sequence) -> None:
        s, which = self.state, token.number(default=0)
        row = s.rows[s.row]
        if which == 0:
            s.rows[s.row] = row[: s.column]
            s.soft[s.row] = False
        elif which == 1:
            s.rows[s.row] = " " * min(s.column + 1, len(row)) + row[s.column + 1 :]
        else:
            s.rows[s.row] = ""
            s.soft[s.row] = False

    def _erase_page(self, token: Sequence) -> None:
        s, which = self.state, token.number(default=0)
        if which == 0:
            s.rows[s.row] = s.rows[s.row][: s.column]
            del s.rows[s.row + 1 :], s.soft[s.row + 1 :]
            s.soft[s.row] = False
        elif which == 2:
            self._clear()

    def _shift(self, token: Sequence) -> None:
        s, n = self.state, token.number()
        row, at = s.rows[s.row], s.column
        match token.final:
            case "@":
                s.rows[s.row] = (row[:at] + " " * min(n, s.width) + row[at:])[: s.width]
            case "P":
                s.rows[s.row] = row[:at] + row[at + n :]
            case _:
                s.rows[s.row] = row[:at] + " " * max(0, min(n, len(row) - at)) + row[at + n :]

    def _lines(self, token: Sequence) -> None:
        s, n = self.state, min(token.number(), self.state.height)
        if token.final == "L":
            s.rows[s.row : s.row] = [""] * n
            s.soft[s.row : s.row] = [False] * n
            del s.rows[s.height :], s.soft[s.height :]
        else:
            del s.rows[s.row : s.row + n], s.soft[s.row : s.row + n]
            self._go(s.row, s.column)

    def _save(self, token: Sequence) -> None:
        if token.final == "s":
            self.state.saved = (self.state.row, self.state.column)
        else:
            self._go(*self.state.saved)

    def _ask(self, token: Sequence) -> None:
        s = self.state
        if len(s.queries) >= _MOST_QUERIES:
            return
        if token.final == "n" and token.parameters == "6":
            s.queries.append(f"\x1b[{s.row + 1};{min(s.column, s.width - 1) + 1}R")
        elif token.final == "n" and token.parameters == "5":
            s.queries.append("\x1b[0n")
        elif token.final == "c" and token.parameters in ("", "0"):
            s.queries.append("\x1b[?62c")


_Does = Callable[[Page, Sequence], None]
_SEQUENCES: Final[dict[str, _Does]] = {
    **dict.fromkeys("ABCDEFGHadef`", Page._move),
    "K": Page._erase_line,
    "J": Page._erase_page,
    **dict.fromkeys("@PX", Page._shift),
    **dict.fromkeys("LM", Page._lines),
    **dict.fromkeys("su", Page._save),
    **dict.fromkeys("nc", Page._ask),
}
