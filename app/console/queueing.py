"""What waits in line, one by one: changed in its place, taken back into the composer, or withdrawn.

A change is written in the composer, as a draft of its own: the draft of the session is there again afterwards.
"""

from typing import TYPE_CHECKING

from app.console.screens.choose import Choose, Row
from app.console.views.attaching import images_in
from app.console.views.ink import cut, one_line
from app.wording import sentence
from coordinator.api import EditQueued, LoadDraft, QueuedView, SessionView
from store.refusal import Refusal
from store.vocab import RefusalReason, RunId

if TYPE_CHECKING:
    from app.console.deeds import Deeds


class Queueing:
    def __init__(self, deeds: "Deeds") -> None:
        self._deeds = deeds
        self._editing: tuple[RunId, int] | None = None

    @property
    def editing(self) -> bool:
        """What stands in the composer belongs to a place in the line, not to a new turn."""
        return self._editing is not None and self._editing[0] == self._deeds.drive.run_in_view

    @property
    def attached(self) -> frozenset[str]:
        """Images of the message that is being changed: the ledger has them, whatever became of the files."""
        waiting = self._still(*self._editing) if self._editing is not None else None
        return frozenset(one.name for one in waiting.images) if waiting is not None else frozenset()

    def words(self) -> str | None:
        if not self.editing:
            return None
        return "this waits in line: Enter saves it in its place, Esc leaves it as it was"

    # --------------------------------------------------------------------------------------------------- choosing

    async def choose(self, session: SessionView) -> None:
        if len(session.queued) == 1:
            await self._take_back(session.run, session.queued[0])
            return
        rows = tuple(
            Row(value=str(one.id), label=one_line(one.text[:400]), beside=f"{place} of {len(session.queued)}")
            for place, one in enumerate(session.queued, 1)
        )
        self._deeds.app.push_screen(
            Choose("What waits in line, in its order", rows), lambda value: self._chosen(session.run, value)
        )

    def _chosen(self, run: RunId, value: str | None) -> None:
        if value is None:
            return
        one = self._still(run, int(value))
        if one is None:
            self._deeds.drive.say("it was sent meanwhile")
            return
        rows = (
            Row(value="edit", label="change it, in its place in the line"),
            Row(value="back", label="take it back into the composer"),
            Row(value="withdraw", label="withdraw it: it is not sent"),
        )
        self._deeds.app.push_screen(
            Choose(f"“{cut(one_line(one.text[:400]), 60)}”", rows), lambda what: self._do(run, one, what)
        )

    def _do(self, run: RunId, one: QueuedView, what: str | None) -> None:
        match what:
            case "edit":
                self._deeds.spawn(self._begin, run, one)
            case "back":
                self._deeds.spawn(self._take_back, run, one)
            case "withdraw":
                self._deeds.spawn(self._withdraw, run, one)
            case _:
                pass

    def _still(self, run: RunId, id: int) -> QueuedView | None:
        session = self._deeds.session
        if session is None or session.run != run:
            return None
        return next((one for one in session.queued if one.id == id), None)

    async def _take_back(self, run: RunId, one: QueuedView) -> None:
        if await self._deeds.order_and_say(EditQueued(run=run, queued=one.id, text="")):
            composer = self._deeds.drive.composer
            text = composer.text
            composer.set_text(f"{one.text}\n{text}" if text else one.text)
            composer.focus()

    async def _withdraw(self, run: RunId, one: QueuedView) -> None:
        await self._deeds.order_and_say(EditQueued(run=run, queued=one.id, text=""), "withdrawn: it is not sent")

    # ---------------------------------------------------------------------------------------------------- editing

    async def _begin(self, run: RunId, one: QueuedView) -> None:
        """With what was written the last time, where that was left unsaved."""
        key = f"queued:{one.id}"
        before = await self._deeds.order(LoadDraft(key=key))
        if self._still(run, one.id) is None:
            self._deeds.drive.say("it was sent meanwhile")
            return
        self._editing = (run, one.id)
        self._deeds.drafts.borrow(key, before if isinstance(before, str) and before else one.text)
        self._deeds.drive.composer.focus()
        self._deeds.drive.paint_status()

    def leave(self) -> bool:
        """Esc, or another session: the line stays as it was. False when nothing was being changed."""
        if self._editing is None:
            return False
        self._over(done=False)
        return True

    def _over(self, *, done: bool, and_add: str = "") -> None:
        self._editing = None
        self._deeds.drafts.give_back(done=done, and_add=and_add)
        self._deeds.drive.paint()

    async def entered(self, text: str) -> None:
        editing = self._editing
        if editing is None:
            return
        if not text.strip():
            self._deeds.drive.say("an empty text is not saved: ^P, take back what waits, withdraws it")
            return
        run, id = editing
        named = images_in(text)
        images = await self._deeds.attaching.taken(self._deeds.attaching.named())
        if images is None:
            return
        reply = await self._deeds.order(EditQueued(run=run, queued=id, text=text, images=images, keep=named))
        if self._editing != editing:
            return
        if isinstance(reply, Refusal):
            # It may have been sent as it was: what was written is kept, as a new text.
            self._deeds.drive.say(
                "it was sent meanwhile as it was: what you wrote stands here"
                if reply.reason is RefusalReason.STALE
                else sentence(reply)
            )
            if reply.reason is RefusalReason.STALE:
                self._over(done=True, and_add=text)
            return
        self._over(done=True)
        self._deeds.drive.say("saved in its place in the line", "grey")
