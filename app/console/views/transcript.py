"""A conversation as a list of logical lines that changes in small splices: turns and events go in, ``Splice``s come
out.

Pure: no clock, no width, no widget. The same events give the same lines, live or from the ledger and however they
were cut; what is drawn, and where on the screen, is the widget's part. Blocks are in ``transcript_blocks``, words in
``transcript_words``.
"""

from collections.abc import Iterable

from msgspec import Struct

from app.console.views.glyphs import UNICODE, Glyphs
from app.console.views.transcript_blocks import Block, GroupView, Key, TextView, wants_gap
from app.console.views.transcript_fold import Folding
from app.console.views.transcript_lines import BLANK, Line
from app.console.views.transcript_turns import TurnBlock
from app.console.views.transcript_words import Look
from coordinator.api import FeedEvent, SessionView, TranscriptPage
from coordinator.textsearch import Needle
from store.vocab import RunId, TurnId

WINDOW = 5_000
"""Lines kept; what is before them comes from the ledger when it is asked for."""
_SLACK = 1_024


class Place(Struct, frozen=True, kw_only=True):
    """A line of a run by what it belongs to: it outlives the window of lines in which it was seen."""

    key: Key
    turn: bool = False
    """The header of the turn that begins with this event."""
    inside: int = 0
    """Lines from the start of its block."""


class Splice(Struct, frozen=True):
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
        self.more_before = self.more_after = False
        """Whether the ledger has events before the first line, after the last one. With some after it, what comes live
        has no place here until the reader is back at the end."""
        self._opened: dict[RunId, Look] = {}
        self._first: Key | None = None
        self._last: Key | None = None
        """Of the events that were taken in here, whether or not they show."""
        self._have_page = False

    # ------------------------------------------------------------------------------------------------------- coming in

    def show(self, session: SessionView, page: TranscriptPage | None) -> list[Splice]:
        """Start anew with this session. What the operator had opened in it is open again."""
        if self.run is not None:
            self._opened[self.run] = self._folding.look
        self._folding = Folding(self._glyphs, self._opened.get(session.run))
        self.run = session.run
        removed, self.lines = len(self.lines), []
        self._first = self._last = None
        self.more_before = self.more_after = False
        self._folding.update(session)
        if page is not None:
            self.more_before, self.more_after = page.more_before, page.more_after
            self._take(page.events)
        self._have_page = page is not None and not self.more_after
        if not self.more_after:
            self._folding.place_turns(self._have_page)
        first = [Splice(0, removed, [])] if removed else []
        return first + self.flush()

    def _take(self, events: Iterable[FeedEvent]) -> None:
        kept = list(events)
        keys = [event.key for event in kept if event.key is not None]
        if keys:
            self._first = min(keys[0], self._first or keys[0])
            self._last = max(keys[-1], self._last or keys[-1])
        self._folding.feed(kept)

    def feed(self, events: Iterable[FeedEvent]) -> None:
        """Take events in; the lines change with the next ``flush``."""
        if not self.more_after:
            self._take(events)

    def update(self, session: SessionView) -> None:
        self._folding.update(session)
        if not self.more_after:
            self._folding.place_turns(self._have_page)

    @property
    def before(self) -> Key | None:
        """What to read on from towards the older; None: from the newest."""
        return self._first

    @property
    def after(self) -> Key | None:
        return self._last

    def append(self, page: TranscriptPage) -> list[Splice]:
        """Put a newer page after what is here."""
        self.more_after = page.more_after
        self._have_page = not self.more_after
        self._take(page.events)
        if not self.more_after:
            self._folding.place_turns(True)
        return self.flush()

    def prepend(self, page: TranscriptPage) -> tuple[list[Splice], int]:
        """Put an older page before what is here. Also tells how many lines came before the old first one.

        No line may have come: nothing of the page shows. Then ask again, from ``before``.
        """
        splices = self.flush()
        self.more_before = page.more_before
        oldest = self._first
        events = [one for one in page.events if oldest is None or (one.key is not None and one.key < oldest)]
        if events:
            self._first = events[0].key
        older = Folding(self._glyphs, self._folding.look)
        older.take_over(self._folding)
        older.feed(events)
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
        self.more_before, self._first = True, self._folding.oldest_key() or self._first
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

    def line_of_turn(self, turn: TurnId) -> int | None:
        return next(
            (
                first + block.gap
                for block, first in self._places()
                if isinstance(block, TurnBlock) and block.turn == turn
            ),
            None,
        )

    def turn_beside(self, line: int, by: int) -> TurnId | None:
        """The turn that this line belongs to, or so many turns from it, of all that the session has."""
        here: TurnId | None = None
        for block, first in self._places():
            if isinstance(block, TurnBlock) and (here is None or first + block.gap <= line):
                here = block.turn
        # Without a header all that is here belongs to the turn of the last event.
        return self._folding.turn_beside(here, by)

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
    def too_long(self) -> bool:
        """Whether so much was read that a new window round the reader's place is due."""
        return len(self.lines) > 2 * self._window + _SLACK

    # ----------------------------------------------------------------------------------------------------------- places

    def place_at(self, line: int) -> Place | None:
        """Where this line is in the run, whatever window of it is here; None before anything with a key."""
        found: Place | None = None
        for block, first in self._places():
            if first > line:
                break
            if block.key is not None and block.count:
                found = Place(key=block.key, turn=isinstance(block, TurnBlock), inside=line - first)
        return found

    def line_of(self, place: Place) -> int | None:
        """The line at this place, or at what comes next after it; None where all that is here is older."""
        for block, first in self._places():
            if block.key is None or not block.count:
                continue
            if block.key == place.key and isinstance(block, TurnBlock) == place.turn:
                return first + min(place.inside, block.count - 1)
            if block.key > place.key:
                return first + (block.gap if place.turn else 0)
        return None

    def holds(self, place: Place) -> bool:
        return self._chain(place) is not None

    def reveal(self, place: Place) -> None:
        """Open whatever hides the block of this event; its lines come with the next ``flush``."""
        for block in self._chain(place) or ():
            if block.target and not isinstance(block, TurnBlock):
                self._folding.open(block)

    def lines_with(self, place: Place, needle: Needle) -> list[int]:
        """The lines of this event's block that have the text."""
        chain = self._chain(place)
        if not chain:
            return []
        top, block = chain[0], chain[-1]
        first = next(first for one, first in self._places() if one is top)
        inner = next((one.target for one in reversed(chain) if one.target), "")
        of_it = [
            number for number in range(first, first + top.count) if block is top or self.lines[number].target == inner
        ]
        return [number for number in of_it if needle.spans(self.lines[number].text)] or of_it[:1]

    def _chain(self, place: Place) -> list[Block] | None:
        """The block of this event, and before it the ones within which it is shown."""
        if place.turn:
            # A header has the key of the first event that shows: not always that of its turn's first event, never less.
            turns: list[Block] = [b for b in self._folding.blocks if isinstance(b, TurnBlock) and b.key]
            after = [block for block in turns if block.key and block.key >= place.key]
            return (after or turns[::-1])[:1] or None
        waiting: list[list[Block]] = [[block] for block in reversed(self._folding.blocks)]
        while waiting:
            chain = waiting.pop()
            block = chain[-1]
            # A group has the key of the first call in it, a turn's header that of the turn's first event.
            if place.key in (block.key, block.end_key) and not isinstance(block, TurnBlock | GroupView):
                return chain
            waiting.extend([*chain, inner] for inner in reversed(block.inner()))
        return None

    def innermost(self, line: int) -> Block | None:
        """The innermost block that this line is known to belong to."""
        block = self.block_at(line)
        target = self.lines[line].target if 0 <= line < len(self.lines) else ""
        waiting = [block] if block is not None else []
        while waiting:
            one = waiting.pop()
            if one.target and one.target == target:
                return one
            waiting.extend(one.inner())
        return block
