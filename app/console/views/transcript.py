"""A conversation as a list of logical lines that changes in small splices: turns and events go in, ``Splice``s come
out.

Pure: no clock, no width, no widget. The same events give the same lines, live or from the ledger and however they
were cut; what is drawn, and where on the screen, is the widget's part. Blocks are in ``transcript_blocks``, words in
``transcript_words``.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from app.console.views.glyphs import UNICODE, Glyphs
from app.console.views.transcript_blocks import Block, Key, TextView, wants_gap
from app.console.views.transcript_fold import Folding
from app.console.views.transcript_lines import BLANK, Line
from app.console.views.transcript_turns import TurnBlock
from coordinator.api import FeedEvent, SessionView, TranscriptPage
from store.vocab import RunId

WINDOW = 5_000
"""Lines kept; what is before them comes from the ledger when it is asked for."""
_SLACK = 1_024


@dataclass(frozen=True, slots=True)
class Splice:
    at: int
    removed: int
    added: list[Line]


class TranscriptModel:
    def __init__(self, glyphs: Glyphs = UNICODE, *, window: int = WINDOW) -> None:
        self._glyphs = glyphs
        self._window = window
        self._folding = Folding(glyphs)
        self.run: RunId | None = None
        self.lines: list[Line] = []
        self.more_before = False
        """Whether the ledger has events before the first line."""
        self.before: int | None = None
        """Where to read on from; None: from the newest page, after lines were let go."""
        self._opened: dict[RunId, set[str]] = {}
        self._have_page = False

    # ------------------------------------------------------------------------------------------------------- coming in

    def show(self, session: SessionView, page: TranscriptPage | None) -> list[Splice]:
        """Start anew with this session. What the operator had opened in it is open again."""
        if self.run is not None:
            self._opened[self.run] = self._folding.look.opened
        self._folding = Folding(self._glyphs, self._opened.get(session.run, set()))
        self.run = session.run
        removed, self.lines = len(self.lines), []
        self._folding.update(session)
        if page is None:
            self.more_before, self.before = False, None
        else:
            self.more_before, self.before = page.first != 0, page.first or None
            self._folding.feed(page.events)
        self._have_page = page is not None
        self._folding.place_turns(self._have_page)
        first = [Splice(0, removed, [])] if removed else []
        return first + self.flush()

    def feed(self, events: Iterable[FeedEvent]) -> None:
        """Take events in; the lines change with the next ``flush``."""
        self._folding.feed(events)

    def update(self, session: SessionView) -> None:
        self._folding.update(session)
        self._folding.place_turns(self._have_page)

    def prepend(self, page: TranscriptPage) -> tuple[list[Splice], int]:
        """Put an older page before what is here. Also tells how many lines came before the old first one.

        Nothing may have come: the page overlapped with what is here. Then ask again, from ``before``.
        """
        splices = self.flush()
        self.more_before, self.before = page.first != 0, page.first or None
        oldest = self._folding.oldest_key()
        older = Folding(self._glyphs, self._folding.look.opened)
        older.take_over(self._folding)
        older.feed(event for event in page.events if oldest is None or (event.key is not None and event.key < oldest))
        before = len(self.lines)
        self._folding.put_before(older)
        splices += self.flush()
        return splices, len(self.lines) - before

    # -------------------------------------------------------------------------------------------------------- going out

    @property
    def dirty(self) -> bool:
        return self._folding.dirty

    def flush(self) -> list[Splice]:
        """What changed since the last time, last place first: carry them out in this order."""
        folding = self._folding
        if not folding.dirty:
            return []
        waiting = set(folding.touched)
        splices: list[Splice] = []
        at = len(self.lines)
        gone = False
        for index in range(len(folding.blocks) - 1, -1, -1):
            block = folding.blocks[index]
            at -= block.count
            if block not in waiting:
                continue
            waiting.discard(block)
            gone = gone or block.gone
            before = next((b for b in reversed(folding.blocks[max(0, index - 8) : index]) if not b.gone), None)
            splice = self._redrawn(block, before, at)
            if splice.removed or splice.added:
                splices.append(splice)
                self.lines[splice.at : splice.at + splice.removed] = splice.added
            if not waiting:
                break
        folding.touched.clear()
        if gone:
            folding.blocks[:] = [block for block in folding.blocks if not block.gone]
        return splices

    def _redrawn(self, block: Block, before: Block | None, at: int) -> Splice:
        if block.gone:
            removed, block.count = block.count, 0
            return Splice(at, removed, [])
        drawn = block.lines(self._folding.look)
        gap = bool(drawn) and wants_gap(before, block)
        start = block.first_change()
        if gap != block.gap or not block.count:
            start = 0
        block.gap = gap
        fresh = drawn[start:]
        if start == 0 and gap:
            fresh = [BLANK, *fresh]
        keep = start + gap if start else 0
        removed, block.count = block.count - keep, len(drawn) + gap
        return Splice(at + keep, removed, list(fresh))

    def trim(self) -> list[Splice]:
        """Let go of the oldest lines where there are more than the window holds."""
        if len(self.lines) <= self._window + _SLACK:
            return []
        dropped = self._folding.drop_first(len(self.lines) - self._window)
        if not dropped:
            return []
        del self.lines[:dropped]
        self.more_before, self.before = True, None
        return [Splice(0, dropped, [])]

    # ---------------------------------------------------------------------------------------------------------- looking

    def toggle(self, line: int) -> bool:
        """Open or fold what is on this line; False where nothing there can."""
        target = self.lines[line].target if 0 <= line < len(self.lines) else ""
        block = self.block_at(line)
        if not target or block is None:
            return False
        self._folding.toggle(block, target)
        return True

    def block_at(self, line: int) -> Block | None:
        return next((block for block, first in self._places() if first <= line < first + block.count), None)

    def first_line(self, target: str) -> int | None:
        """The line on which this fold stands."""
        return next((number for number, line in enumerate(self.lines) if line.target == target), None)

    def turn_lines(self) -> list[int]:
        """Lines at which turns begin."""
        return [first + block.gap for block, first in self._places() if isinstance(block, TurnBlock) and block.count]

    def message_at(self, line: int) -> str:
        """The agent's whole message of the turn around this line, as it was written."""
        turn: list[Block] = []
        for block, first in self._places():
            if isinstance(block, TurnBlock):
                if first > line:
                    break
                turn = []
            turn.append(block)
        return "\n\n".join(block.original() for block in turn if isinstance(block, TextView))

    def block_text(self, line: int) -> str:
        block = self.block_at(line)
        return "" if block is None else block.original()

    def _places(self) -> Iterable[tuple[Block, int]]:
        at = 0
        for block in self._folding.blocks:
            yield block, at
            at += block.count

    @property
    def oldest_key(self) -> Key | None:
        return self._folding.oldest_key()
