"""What was said before in this repository, for ↑, ↓ and ^R. The ledger is read once for each repository; what is said
after that comes with the snapshots."""

from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Final

from app.console.screens.choose import Choose, Row
from app.console.views.bundled import size_words
from app.console.views.ink import one_line
from app.wording import plural
from coordinator.api import ReadSaid, ReadSaidBefore, SaidBefore, SaidOnce
from store.vocab import TurnId, TurnSource

if TYPE_CHECKING:
    from app.console.deeds import Deeds

MOST: Final = 500
_SEARCHED: Final = 4000
"""Letters of each text that the list is searched by."""
_SAID = (TurnSource.BRIEF, TurnSource.OPERATOR)
_FIRST: Final = 0xF0000
"""Rows are named by letters that nobody types: else a typed number would find them by their place."""

Act = Callable[[], Awaitable[None]]


class History:
    def __init__(self, deeds: "Deeds") -> None:
        self._deeds = deeds
        self._read: dict[str, tuple[SaidOnce, ...]] = {}
        """By repository, newest last."""
        self._unread: set[str] = set()
        """It could not be read."""
        self._made_of: object = None
        self._shown: tuple[SaidOnce, ...] = ()

    def acts(self) -> Mapping[str, Act]:
        return {"history-search": self._search}

    def show(self) -> None:
        """Give the composer what belongs to the repository in view; cheap where nothing was said since."""
        repository = self._repository()
        if repository not in self._read:
            self._read[repository] = ()
            self._deeds.aside(self._load, repository)
        sessions = [one for one in self._deeds.drive.snapshot.sessions if one.repository == repository]
        made_of = (repository, len(self._read[repository]), tuple((one.run, len(one.turns)) for one in sessions))
        if made_of != self._made_of:
            self._made_of = made_of
            now = [
                SaidOnce(turn=turn.id, at=turn.recorded_at, text=turn.text, whole=True, bytes=len(turn.text))
                for one in sessions
                for turn in one.turns
                if turn.source in _SAID
            ]
            self._shown = merged(self._read[repository], now)
        self._deeds.drive.composer.put_history(tuple(one.text for one in self._shown if one.whole))

    def _repository(self) -> str:
        session = self._deeds.session
        return session.repository if session is not None else self._deeds.repository

    async def _load(self, repository: str) -> None:
        reply = await self._deeds.order(ReadSaidBefore(repository=repository))
        if not isinstance(reply, SaidBefore):
            # The ledger was busy. Not again at each snapshot: when it is looked for.
            self._unread.add(repository)
            return
        self._read[repository] = reply.texts
        if repository == self._repository():
            self.show()

    # --------------------------------------------------------------------------------------------------- ^R

    async def _search(self) -> None:
        repository = self._repository()
        if repository in self._unread:
            self._unread.discard(repository)
            await self._load(repository)
        self.show()
        newest_first = tuple(reversed(self._shown))
        rows = tuple(
            Row(value=chr(_FIRST + place), label=one_line(one.text[:_SEARCHED]), beside=_beside(one))
            for place, one in enumerate(newest_first)
        )
        if not rows:
            self._deeds.drive.say("nothing was said in this repository yet")
            return
        sheet = Choose("What you said before, newest first", rows, typed=True)
        self._deeds.app.push_screen(sheet, lambda value: self._chosen(newest_first, value))

    def _chosen(self, texts: tuple[SaidOnce, ...], value: str | None) -> None:
        self._deeds.drive.composer.focus()
        if value is not None:
            one = texts[ord(value) - _FIRST]
            if one.whole:
                self._deeds.drive.composer.recall(one.text)
            else:
                self._deeds.aside(self._fetch, one.turn)

    async def _fetch(self, turn: TurnId) -> None:
        place = self._deeds.drive.run_in_view
        text = await self._deeds.order(ReadSaid(turn=turn))
        if isinstance(text, str) and text and place == self._deeds.drive.run_in_view:
            self._deeds.drive.composer.recall(text)


def merged(before: tuple[SaidOnce, ...], now: list[SaidOnce]) -> tuple[SaidOnce, ...]:
    """Each text once, at the place of its newest; newest last, the newest only."""
    newest: dict[tuple[str, bool], SaidOnce] = {}
    turns = {one.turn for one in now}
    # What a snapshot has whole need not be there by its beginning as well.
    for one in sorted((*(old for old in before if old.whole or old.turn not in turns), *now), key=lambda one: one.at):
        newest.pop((one.text, one.whole), None)
        newest[(one.text, one.whole)] = one
    return tuple(newest.values())[-MOST:]


def _beside(one: SaidOnce) -> str:
    if not one.whole:
        return size_words(one.bytes)
    lines = one.text.count("\n") + 1
    return plural(lines, "line") if lines > 1 else ""
