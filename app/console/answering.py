"""The focus on the card and away from it, going through what waits, and giving an answer."""

from typing import TYPE_CHECKING

from app.console.keys import Where
from app.console.views.attention import Waiting, kind_words, queue
from app.console.views.standing import ended, foreign, held_elsewhere, session_of, waiting
from app.wording import sentence
from coordinator.api import AnswerDecision, DecisionView, Extend
from coordinator.drivers.base import Answer
from store.refusal import Refusal
from store.vocab import AttentionKind, DecisionId, RunId

if TYPE_CHECKING:
    from app.console.deeds import Deeds


class Answering:
    def __init__(self, deeds: "Deeds") -> None:
        self._deeds = deeds
        self._back_to = Where.COMPOSER
        self._gone_to: tuple[str, int] | None = None
        """What was gone to last."""

    # ----------------------------------------------------------------------------------------------- card and waiting

    def to_card(self) -> None:
        if self._deeds.drive.card.shown:
            self._remember_focus()
            self._deeds.drive.card.focus_card()
        elif self._deeds.drive.proposal is not None:
            self._deeds.drive.terms.focus()
        else:
            self._deeds.drive.say("nothing here waits for you")

    def _remember_focus(self) -> None:
        place = self._deeds.drive.focus_place
        if place in (Where.COMPOSER, Where.KEYS):
            self._back_to = place

    def keep_text(self, run: object, text: str) -> None:
        """Into the draft with what was written on a card that left; and the focus, for more of it is being typed."""
        drive = self._deeds.drive
        if run != drive.run_in_view:
            return
        composer = drive.composer
        if text:
            composer.set_text(f"{composer.text}\n{text}" if composer.text else text)
        composer.focus()
        drive.say("no longer asked: what you were writing is in your draft")

    def focus_back(self) -> None:
        if self._back_to is Where.KEYS:
            self._deeds.drive.focus_keys()
        else:
            self._deeds.drive.composer.focus()

    async def next_waiting(self) -> None:
        """The longest waiting; from there, the next after it."""
        waits = queue(self._deeds.drive.snapshot)
        here = next((at for at, one in enumerate(waits) if self._is_at(one)), None)
        await self.go_to(waits[0 if here is None else (here + 1) % len(waits)])

    def _is_at(self, one: Waiting) -> bool:
        """Whether the operator has come to just this one: on its card, or at what has no card and was gone to last."""
        drive = self._deeds.drive
        if drive.focus_place is Where.CARD:
            here = drive.decision_in_view
            return one.decision == here if here is not None else one.run == drive.run_in_view and one.decision is None
        if one.key != self._gone_to:
            return False
        return one.run is None or (one.run == drive.run_in_view and not drive.card.shown)

    async def go_to(self, one: Waiting) -> None:
        """To the session that it is about, with the focus on its card where it has one."""
        self._gone_to = one.key
        if one.kind is AttentionKind.TASK:
            self._deeds.tasking.show(one.task)
        elif one.run is None:
            self._deeds.drive.say(f"{one.text}: a lists it, x there puts it away")
        elif session_of(self._deeds.drive.snapshot, one.run) is None:
            self._deeds.drive.say(f"run {one.run} is not in the list: footplate show {one.run} tells of it")
        elif elsewhere := self._held_elsewhere(one):
            await self.go_to_waiting(one.run)
            self._deeds.drive.say(elsewhere)
        else:
            await self.go_to_waiting(one.run, one.decision)
            if not self._deeds.drive.card.shown:
                self._deeds.drive.say(f"{kind_words(one)}: {one.text}")

    def _held_elsewhere(self, one: Waiting) -> str:
        """Where to answer what another console's session asks; '' of one of this console's."""
        session = session_of(self._deeds.drive.snapshot, one.run)
        if session is None or not foreign(session):
            return ""
        shell = f"answer {one.decision} 1" if one.decision is not None else ""
        return held_elsewhere(session, there="answer there", shell=shell)

    async def go_to_waiting(self, run: RunId, decision: DecisionId | None = None) -> None:
        self._remember_focus()
        if run != self._deeds.drive.run_in_view:
            await self._deeds.viewing.view(run, focus=False)
        if decision is not None:
            self._deeds.drive.decision_in_view = decision
            self._deeds.drive.paint()
        if self._deeds.drive.card.shown:
            self._deeds.drive.call_after_refresh(self._deeds.drive.card.focus_card)

    async def other_waiting(self, by: int) -> None:
        """Through all that is asked, in all sessions, in the order in which it was asked."""
        asked = sorted(
            (one.asked_at, one.id, session.run)
            for session in self._deeds.drive.snapshot.sessions
            if not foreign(session) and not ended(session)
            for one in waiting(session)
        )
        if len(asked) < 2:
            self._deeds.drive.card.say("nothing else waits for you")
            return
        ids = [one[1] for one in asked]
        here = self._deeds.drive.decision_in_view
        at = (ids.index(here) + by) % len(ids) if here in ids else 0
        await self.go_to_waiting(asked[at][2], asked[at][1])

    async def extend(self, command: Extend) -> None:
        card = self._deeds.drive.card
        card.busy("extending …")
        reply = await self._deeds.order(command)
        card.busy("")
        if isinstance(reply, Refusal):
            card.say(sentence(reply))
            return
        self.focus_back()

    async def answer(self, decision: DecisionView, answer: Answer) -> None:
        card = self._deeds.drive.card
        card.busy("sending your answer …")
        reply = await self._deeds.order(
            AnswerDecision(
                run=decision.run,
                decision=decision.id,
                revision=decision.revision,
                payload_hash=decision.payload_hash,
                answer=answer,
            )
        )
        if isinstance(reply, Refusal):
            card.busy("")
            card.say(sentence(reply))
            return
        if card.decision is not None and card.decision.id == decision.id:
            card.busy("answer given")
        self.focus_back()
