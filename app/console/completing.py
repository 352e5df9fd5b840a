"""What is offered while the operator writes: tracked files and commands, and the words in the status row about it.

Nothing here waits for anything: files are listed by the backend and looked through when they have come.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Final

from app.console.views.bundled import bundle_words
from app.console.views.completing import (
    SHOWN,
    FileNames,
    Kind,
    Offer,
    command_offers,
    file_offers,
    offer_lines,
    offers_words,
)
from app.console.views.slashes import IsText, meaning, offered, said_before_enter
from coordinator.api import ListFiles, TrackedFiles
from store.vocab import RunId

if TYPE_CHECKING:
    from app.console.deeds import Deeds

FRESH: Final = 10.0
"""Seconds for which a list of files is taken as it is; an agent makes new ones all the time."""
_KEPT: Final = 8
"""Trees whose files are remembered."""
_LOW: Final = 24

Place = tuple[RunId | None, str]
Act = Callable[[], Awaitable[None]]


class Completing:
    def __init__(self, deeds: "Deeds") -> None:
        self._deeds = deeds
        self._drive = deeds.drive
        self._names: dict[Place, tuple[FileNames, float]] = {}
        self._reading: set[Place] = set()
        self._closed: tuple[int, int] | None = None
        """Where the word begins for which the list was closed: it stays closed there."""

    def acts(self) -> Mapping[str, Act]:
        return {"offers": self._moved, "offers-close": self._close}

    # ------------------------------------------------------------------------------------------------------ the list

    def edited(self) -> None:
        composer = self._drive.composer
        word = composer.asked_now()
        if word is None:
            self._closed = None
            composer.put_offers(())
            return self._paint()
        row, column = composer.cursor_location
        if self._closed is not None and self._closed == (row, column - word.length):
            composer.put_offers(())
            return self._paint()
        self._closed = None
        if word.kind is Kind.COMMAND:
            composer.put_offers(command_offers(offered(self._deeds.session, self._deeds.app.table), word.typed))
        else:
            offers, pending = self._files(word.typed)
            composer.put_offers(offers, pending=pending)
        return self._paint()

    def _files(self, typed: str) -> tuple[tuple[Offer, ...], bool]:
        place = self._place()
        known = self._names.get(place)
        if known is None or self._deeds.app.options.monotonic() - known[1] > FRESH:
            self._read(place)
        return (file_offers(known[0], typed), False) if known is not None else ((), bool(typed))

    def _place(self) -> Place:
        session = self._deeds.session
        if session is not None:
            return session.run, session.repository
        return None, self._deeds.repository

    def _read(self, place: Place) -> None:
        if place not in self._reading:
            self._reading.add(place)
            self._deeds.aside(self._list, place)

    async def _list(self, place: Place) -> None:
        run, repository = place
        try:
            reply = await self._deeds.order(ListFiles(run=run, repository=repository))
        finally:
            self._reading.discard(place)
        paths = reply.paths if isinstance(reply, TrackedFiles) else ()
        # 50,000 names take longer than a key may.
        names = await asyncio.to_thread(FileNames.of, paths)
        self._names.pop(place, None)
        self._names[place] = (names, self._deeds.app.options.monotonic())
        while len(self._names) > _KEPT:
            del self._names[next(iter(self._names))]
        if place == self._place():
            self.edited()

    async def _moved(self) -> None:
        self._paint()

    async def _close(self) -> None:
        composer = self._drive.composer
        word = composer.asked_now()
        if word is not None:
            row, column = composer.cursor_location
            self._closed = (row, column - word.length)
        composer.put_offers(())
        self._paint()

    def _paint(self) -> None:
        drive, composer = self._drive, self._drive.composer
        height = SHOWN if drive.size.height > _LOW else 3
        drive.offers.put(offer_lines(composer.offers, composer.offer_at, drive.centre_width, height, drive.glyphs))
        drive.paint_status()

    # ----------------------------------------------------------------------------------------------------- in words

    def words(self) -> str:
        """What Enter, or Tab, would do with what stands in the composer; '' where there is nothing to say."""
        drive, composer = self._drive, self._drive.composer
        if (editing := self._deeds.queueing.words()) is not None:
            return "; ".join(filter(None, (self._deeds.attaching.words(), editing)))
        first = composer.document.get_line(0)
        found = meaning(first, drive.situation(), self._deeds.app.table)
        if found is not None and composer.document.line_count > 1 and not isinstance(found, IsText):
            found = meaning(composer.document.text, drive.situation(), self._deeds.app.table)
        if composer.offers and (found is None or isinstance(found, IsText)):
            return offers_words(composer.offers, composer.offer_at)
        if found is not None:
            return said_before_enter(found)
        if composer.pending:
            return "looking for the files of this tree"
        shown = composer.document.text
        bundled = bundle_words(composer.bundles.standing_in(shown), composer.bundle_sign)
        return "; ".join(filter(None, (self._deeds.attaching.words(), bundled)))
