"""Text that is still coming, as logical lines: plain, bounded, and the same however the stream was cut.

Costs are per new character, never per what is already there. What is hidden in the middle depends on the number of
lines alone.
"""

from app.console.views.text import LINE_MAX, SourceLine
from app.console.views.transcript_lines import Line, Run, source_line
from app.wording_measures import noun

STEP = 512
"""Lines are hidden so many at a time: each hiding moves everything that stands below."""
_MOST_PENDING = 200_000
"""A flood is taken in while it comes, so that no single step stops the screen."""


def hidden_of(lines: int, head: int, tail: int) -> int:
    over = lines - head - tail - STEP
    return 0 if over <= 0 else -(-over // STEP) * STEP


def gap_line(lines: int, chars: int, lead: Run) -> Line:
    """Said where the middle is left out; the whole is in the ledger."""
    counted = f"{lines:,} {noun(lines, 'line')}" if lines > 1 or not chars else ""
    size = ", ".join(filter(None, (counted, volume(chars) if chars else "")))
    return Line(((f"… {size} more: o opens it all in your pager", "dim"),), lead, lead, ours=True)


def volume(chars: int) -> str:
    if chars < 10_000:
        return f"{chars:,} {noun(chars, 'character')}"
    return f"{chars / 1000:.0f} kB" if chars < 1_000_000 else f"{chars / 1_000_000:.1f} MB"


class Stream:
    def __init__(self, style: str, lead: Run, *, head: int, tail: int) -> None:
        self.lines: list[Line] = []
        self.changed_from = 0
        """Lowest line that is not as it was when the reader last set this to the end."""
        self._style, self._lead = style, lead
        self._head, self._tail = head, tail
        self._pending: list[str] = []
        self._pending_chars = 0
        self._count = 0
        """Finished lines so far, hidden ones too."""
        self._hidden = self._hidden_chars = 0
        self._open = ""
        """The line that has no end yet: what it says now."""
        self._open_shown = self._continues = False
        self._returns = self._rewritten = 0

    @property
    def waiting(self) -> bool:
        return bool(self._pending)

    def put(self, text: str) -> None:
        if not text:
            return
        self._pending.append(text)
        self._pending_chars += len(text)
        if self._pending_chars > _MOST_PENDING:
            self.settle()

    def settle(self) -> None:
        """Take in what was put since the last time."""
        if not self._pending:
            return
        text = "".join(self._pending)
        self._pending.clear()
        self._pending_chars = 0
        if self._open_shown:
            self.lines.pop()
            self._open_shown = False
        self.changed_from = min(self.changed_from, len(self.lines))
        done: list[SourceLine] = []
        first, *others = text.split("\n")
        self._extend(first, done)
        for other in others:
            done.append(SourceLine(self._open, self._continues, self._rewritten))
            self._open, self._continues = "", False
            self._returns = self._rewritten = 0
            if len(other) <= LINE_MAX and "\r" not in other:
                self._open = other
            else:
                self._extend(other, done)
        self._append(done)
        if self._open or self._count == 0:
            self.lines.append(self._line(SourceLine(self._open, self._continues, self._rewritten)))
            self._open_shown = True

    def _extend(self, text: str, done: list[SourceLine]) -> None:
        """Go on in the open line. A carriage return only counts once something follows it."""
        for number, part in enumerate(text.split("\r")):
            if number:
                self._returns += 1
            if not part:
                continue
            if self._returns:
                self._rewritten += self._returns
                self._returns = 0
                self._open = part
            else:
                self._open += part
            if len(self._open) > LINE_MAX:
                whole = len(self._open)
                cuts = range(0, whole - 1, LINE_MAX)
                for cut in cuts[:-1]:
                    done.append(SourceLine(self._open[cut : cut + LINE_MAX], self._continues, self._rewritten))
                    self._continues, self._rewritten = True, 0
                self._open = self._open[cuts[-1] :]

    def _append(self, done: list[SourceLine]) -> None:
        if not done:
            return
        start, total = self._count, self._count + len(done)
        hidden = hidden_of(total, self._head, self._tail)
        if hidden > self._hidden:
            self._hide(hidden, done)
        shown_from = self._head + hidden if hidden else 0
        for number, line in enumerate(done, start):
            if hidden and self._head <= number < shown_from:
                continue
            self.lines.append(self._line(line)) if number >= self._head or not hidden else self._put_in_head(line)
        self._count = total

    def _put_in_head(self, line: SourceLine) -> None:
        self.lines.insert(len(self.lines) - 1, self._line(line))

    def _hide(self, hidden: int, done: list[SourceLine]) -> None:
        """Make room: old lines that are now in the middle go, new ones that are will not come."""
        old_gap = 1 if self._hidden else 0
        drop_old = min(hidden - self._hidden, max(0, self._count - self._head - self._hidden))
        at = min(self._head, len(self.lines))
        gone = self.lines[at + old_gap : at + old_gap + drop_old]
        chars = sum(len(line.text) for line in gone)
        low = max(0, self._head - self._count)
        high = max(0, self._head + hidden - self._count)
        chars += sum(len(line.text) for line in done[low:high])
        self._hidden, self._hidden_chars = hidden, self._hidden_chars + chars
        self.lines[at : at + old_gap + drop_old] = [gap_line(hidden, self._hidden_chars, self._lead)]
        self.changed_from = min(self.changed_from, at)

    def _line(self, line: SourceLine) -> Line:
        return source_line(line, self._style, self._lead)
