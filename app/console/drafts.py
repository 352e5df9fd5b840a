"""What was typed and not sent, kept per session and for the start form: in memory at once, in the ledger soon after.

Typed text is never lost: it is taken out of here only when the backend has said that it was sent.
"""

import asyncio
from concurrent.futures import Future
from typing import TYPE_CHECKING

from textual.timer import Timer

from coordinator.api import LoadDraft, Reply, SaveDraft
from store.refusal import Refusal
from store.vocab import RunId

if TYPE_CHECKING:
    from app.console.deeds import Deeds

SAVE_AFTER = 0.4
"""Seconds after the first letter that is not saved yet, so that going on writing does not put it off."""
SAVE_LONG_AFTER = 2.0
_LONG = 64 * 1024


def key_of(run: RunId | None, repository: str) -> str:
    """By session; of the start form by ``repository``: what is to be done in one is not meant for another."""
    return f"start:{repository}" if run is None else f"run:{run}"


class Drafts:
    def __init__(self, deeds: "Deeds") -> None:
        self._deeds = deeds
        self._texts: dict[str, str] = {}
        """Known drafts; a key that is not here was not asked for yet."""
        self._saved: dict[str, str] = {}
        self._timer: Timer | None = None
        self._timed = ""
        """The draft that the timer will save."""
        self._here = ""
        self._repository = ""

    def _key(self, run: RunId | None) -> str:
        # Where this console was opened first stays its place, whatever is learnt of it later.
        self._repository = self._repository or self._deeds.repository
        return key_of(run, self._repository)

    def leave(self, run: RunId | None) -> None:
        """Keep what is in the composer for the session that it belongs to."""
        if self._here != self._key(run):
            return
        text = self._deeds.drive.composer.text
        if text or self._here in self._texts:
            self._texts[self._here] = text
        self._save(self._here)

    def arrive(self, run: RunId | None) -> None:
        self._here = self._key(run)
        known = self._texts.get(self._here)
        self._deeds.drive.composer.set_text(known or "")
        if known is None:
            self._deeds.aside(self._load, self._here)

    async def _load(self, key: str) -> None:
        reply = await self._deeds.order(LoadDraft(key=key))
        text = reply if isinstance(reply, str) else ""
        self._saved.setdefault(key, text)
        if key in self._texts:
            return
        self._texts[key] = text
        composer = self._deeds.drive.composer
        if text and self._here == key and not composer.text:
            composer.set_text(text)

    def edited(self) -> None:
        text = self._deeds.drive.composer.text
        if not text and self._here not in self._texts:
            # The empty composer of a draft that is still being read is no edit.
            return
        self._texts[self._here] = text
        if self._timer is not None and self._timed == self._here:
            return
        if self._timer is not None:
            self._timer.stop()
            self._save(self._timed)
        self._timed = self._here
        self._timer = self._deeds.drive.set_timer(SAVE_AFTER if len(text) < _LONG else SAVE_LONG_AFTER, self._due)

    def _due(self) -> None:
        self._timer = None
        self._save(self._timed)

    def sent(self, run: RunId | None, text: str) -> None:
        """This text has gone; what was typed after it stays."""
        key = self._key(run)
        composer = self._deeds.drive.composer
        if self._here == key:
            now = composer.text
            rest = now[len(text) :] if now.startswith(text) else now
            composer.begin_anew()
            composer.set_text(rest.lstrip("\n"))
            self._texts[key] = composer.text
        elif self._texts.get(key, "").startswith(text):
            self._texts[key] = self._texts[key][len(text) :].lstrip("\n")
        self._save(key)

    # ------------------------------------------------------------------------------------------------------- borrowing

    def borrow(self, key: str, text: str) -> None:
        """The composer is lent to another text for a while; the draft that was in it is kept."""
        self.leave(self._deeds.drive.run_in_view)
        self._here = key
        self._texts[key] = text
        composer = self._deeds.drive.composer
        composer.begin_anew()
        composer.set_text(text)

    def give_back(self, *, done: bool, and_add: str = "") -> None:
        """The loan is over. Not ``done``: what was written is there when it is lent for that again. ``and_add`` comes
        before the draft."""
        borrowed, run = self._here, self._deeds.drive.run_in_view
        if done:
            self._texts[borrowed] = ""
        self._save(borrowed)
        self._here = self._key(run)
        draft = self._texts.get(self._here, "")
        composer = self._deeds.drive.composer
        composer.begin_anew()
        composer.set_text("\n".join(part for part in (and_add, draft) if part))
        self._texts[self._here] = composer.text
        self._save(self._here)

    # ---------------------------------------------------------------------------------------------------------- saving

    def _save(self, key: str) -> None:
        text = self._texts.get(key)
        if text is None or self._saved.get(key, "") == text:
            return
        self._saved[key] = text
        # Given at once: what comes after may be the end of the console.
        given = self._deeds.app.backend.submit(SaveDraft(key=key, text=text))
        self._deeds.aside(self._put, key, text, given)

    async def _put(self, key: str, text: str, given: "Future[Reply]") -> None:
        reply = await asyncio.wrap_future(given)
        if isinstance(reply, Refusal) and self._saved.get(key) == text:
            # Not there: the next edit, or leaving, saves it again.
            del self._saved[key]
