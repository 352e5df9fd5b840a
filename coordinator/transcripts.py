"""A run's conversation as the ledger has it: pages for a screen, places of a text, one event whole.

Everything goes by the events' own keys, page by page, so that the first page of a million lines costs what the first
of a hundred does, and a search of them delays no other reader for longer than one page takes.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from msgspec.structs import replace

from coordinator import eventcodec, longtexts
from coordinator.api import FeedEvent, Hit, ReadTranscript, ReadWhole, SearchTranscript, TranscriptHits, TranscriptPage
from coordinator.drivers import base
from coordinator.house import House
from coordinator.textsearch import Needle, lines_with, whole_text
from store import events, turns
from store.db import Tx
from store.refusal import Refusal
from store.vocab import RefusalReason, RunId

if TYPE_CHECKING:
    from coordinator.session import HeldSession

Asked = ReadTranscript | SearchTranscript | ReadWhole

PAGE_CHARS: Final = 80_000
"""Bodies of one page together: what a screen takes in between two keys."""
SEARCHED: Final = 2_000
SHOWN_LONG: Final = ("text", "thought", "tool-finished", "notice")
SEARCHED_CHARS: Final = 4_000_000
"""Events that one page of a search looks at, and their size together."""


class Transcripts:
    def __init__(self, house: House, sessions: "Mapping[RunId, HeldSession]") -> None:
        self._house = house
        self._sessions = sessions

    async def read(self, asked: Asked) -> TranscriptPage | TranscriptHits | str | Refusal:
        ledger = self._house.ledger
        match asked:
            case ReadTranscript():
                found = await ledger.read(lambda tx: page(tx, asked))
                live = () if found.more_after else self._unfinished(asked.run, found.events)
                return replace(found, events=(*found.events, *live))
            case SearchTranscript():
                return await ledger.read(lambda tx: hits(tx, asked))
            case ReadWhole():
                return await ledger.read(lambda tx: whole(tx, asked))

    def _unfinished(self, run: RunId, found: tuple[FeedEvent, ...]) -> tuple[FeedEvent, ...]:
        """The block that is streaming just now: it is in no row yet, and what came of it was told to nobody else."""
        session = self._sessions.get(run)
        if session is None or session.ended.is_set():
            return ()
        said = (one.event for one in found)
        ended = {one.block for one in said if isinstance(one, base.TextBlock | base.ThoughtBlock)}
        pieces = [one for one in session.live.pieces() if one.block not in ended]
        self._house.feed.without_pieces(run, {one.block for one in pieces})
        turn = session.state.turns[0].id if session.state.turns else None
        now = self._house.clock.now()
        return tuple(FeedEvent(run=run, turn=turn, at=now, event=one) for one in pieces)


# ------------------------------------------------------------------------------------------------------------- pages


def page(tx: Tx, asked: ReadTranscript) -> TranscriptPage:
    run, limit = asked.run, asked.limit
    around = asked.around
    if asked.turn is not None:
        around = events.first_of_turn(tx, asked.turn) or events.AFTER_ALL
    if asked.after is not None:
        rows, after = events.near(tx, run, asked.after, newer=True, limit=limit, most=PAGE_CHARS)
        before = True
    elif around is not None:
        half, most = max(limit // 2, 1), PAGE_CHARS // 2
        just_before = (around[0], around[1] - 1)
        newer, after = events.near(tx, run, just_before, newer=True, limit=half, most=most)
        older, before = events.near(tx, run, around, newer=False, limit=half, most=most)
        rows = [*older, *newer]
    else:
        rows, before = events.near(tx, run, asked.before or events.AFTER_ALL, newer=False, limit=limit, most=PAGE_CHARS)
        after = asked.before is not None
    return TranscriptPage(events=tuple(_fed(tx, row) for row in rows), more_before=before, more_after=after)


def whole(tx: Tx, asked: ReadWhole) -> str | Refusal:
    event = events.get(tx, asked.run, asked.key)
    if event is None:
        return Refusal(RefusalReason.NO_SUCH_RUN, {"run": asked.run})
    return whole_text(eventcodec.decode(event.kind, event.body))


def _fed(tx: Tx, row: events.Event) -> FeedEvent:
    body, at, left_out = row.body, 0, 0
    field = longtexts.FIELD_OF.get(row.kind)
    if not body and field is not None:
        length, head, tail, body = events.ends(tx, row.id, field=field, part=longtexts.PART)
        event = eventcodec.decode(row.kind, body)
        if length > 2 * longtexts.PART:
            text, at, left_out = longtexts.parts(head, tail, length)
        else:
            text = head if length <= longtexts.PART else head + tail[2 * longtexts.PART - length :]
        event = longtexts.with_text(event, text)
    else:
        if not body:
            found = events.get(tx, row.run, (row.offset, row.n))
            body = "" if found is None else found.body
        event, at, left_out = longtexts.shortened(eventcodec.decode(row.kind, body))
    return FeedEvent(
        run=row.run, turn=row.turn, at=row.at, event=event, key=(row.offset, row.n), left_at=at, left_out=left_out
    )


# ------------------------------------------------------------------------------------------------------------ search


def hits(tx: Tx, asked: SearchTranscript) -> TranscriptHits:
    needle = Needle(asked.text)
    begin, end = asked.before or events.AFTER_ALL, asked.after or events.BEFORE_ALL
    rows, left, through = events.sieve(
        tx,
        asked.run,
        needle.in_json,
        folds=needle.folds,
        before=begin,
        after=end,
        limit=SEARCHED,
        most=SEARCHED_CHARS,
    )
    found: list[Hit] = []
    for row in rows:
        # A body too long to be read here has it somewhere; it counts as one line.
        read = lines_with(needle, eventcodec.decode(row.kind, row.body)) if row.body else 0
        lines = read or (not row.body and row.kind in SHOWN_LONG)
        if lines:
            found.append(Hit(key=(row.offset, row.n), lines=int(lines)))
    for turn in turns.of_run(tx, asked.run):
        lines = needle.lines(turn.text)
        first = events.first_of_turn(tx, turn.id) if lines else None
        if first is not None and max(left or end, end) <= first < begin and first != end:
            found.append(Hit(key=first, lines=lines, turn=True))
    found.sort(key=lambda hit: (hit.key, not hit.turn))
    return TranscriptHits(hits=tuple(found), before=left, through=through)
