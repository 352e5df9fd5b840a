"""What was typed and not sent, kept per session and for the start form: in memory at once, in the ledger soon after.

Typed text is never lost: it is taken out of here only when the backend has said that it was sent.
"""

import asyncio
from typing import TYPE_CHECKING

from textual.timer import Timer

from coordinator.api import LoadDraft, SaveDraft
from store.vocab import RunId

if TYPE_CHECKING:
    from app.console.deeds import Deeds

SAVE_AFTER = 0.4


def key_of(run: RunId | None) -> str:
    return "start" if run is None else f"run:{run}"


class Drafts:
    def __init__(self, deeds: "Deeds") -> None:
        self._deeds = deeds
        self._texts: dict[str, str] = {}
        """Known drafts; a key that is not here was not asked for yet."""
        self._saved: dict[str, str] = {}
        self._timer: Timer | None = None
        self._here = ""

    def leave(self, run: RunId | None) -> None:
        """Keep what is in the composer for the session that it belongs to."""
        if self._here != key_of(run):
            return
        text = self._deeds.drive.composer.text
        if text or self._here in self._texts:
            self._texts[self._here] = text
        self._save(self._here)

    def arrive(self, run: RunId | None) -> None:
        self._here = key_of(run)
        known = self._texts.get(self._here)
        self._deeds.drive.composer.set_text(known or "")
        if known is None:
            self._deeds.spawn(self._load(self._here))

    async def _load(self, key: str) -> None:
        reply = await asyncio.wrap_future(self._deeds.app.backend.submit(LoadDraft(key=key)))
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
        if self._timer is not None:
            self._timer.stop()
        key = self._here
        self._timer = self._deeds.drive.set_timer(SAVE_AFTER, lambda: self._save(key))

    def sent(self, run: RunId | None, text: str) -> None:
        """This text has gone; what was typed after it stays."""
        key = key_of(run)
        composer = self._deeds.drive.composer
        if self._here == key:
            now = composer.text
            rest = now[len(text) :] if now.startswith(text) else now
            composer.begin_anew()
            composer.set_text(rest.lstrip("\n"))
            self._texts[key] = composer.text
        elif self._texts.get(key) == text:
            self._texts[key] = ""
        self._save(key)

    def _save(self, key: str) -> None:
        text = self._texts.get(key)
        if text is None or self._saved.get(key, "") == text:
            return
        self._saved[key] = text
        self._deeds.app.backend.submit(SaveDraft(key=key, text=text))
