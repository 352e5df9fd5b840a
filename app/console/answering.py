"""The focus on the card and away from it, going through what waits, and giving an answer."""

from typing import TYPE_CHECKING

from app.console.keys import Where
from app.console.views.standing import all_waiting, ended, foreign, waiting
from app.wording import sentence
from coordinator.api import AnswerDecision, DecisionView, Extend
from coordinator.drivers.base import Answer
from store.refusal import Refusal
from store.vocab import DecisionId, MicroUsd, RunId

if TYPE_CHECKING:
    from app.console.deeds import Deeds


class Answering:
    def __init__(self, deeds: "Deeds") -> None:
        self._deeds = deeds
        self._back_to = Where.COMPOSER

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

    def focus_back(self) -> None:
        if self._back_to is Where.KEYS:
            self._deeds.drive.focus_keys()
        else:
            self._deeds.drive.composer.focus()

    async def next_waiting(self) -> None:
        """The longest waiting; from a card that has the focus, the next after it."""
        runs = [run for _, run in all_waiting(self._deeds.drive.snapshot)]
        here = self._deeds.drive.run_in_view
        on_card = self._deeds.drive.focus_place is Where.CARD
        at = (runs.index(here) + 1) % len(runs) if on_card and here in runs else 0
        await self.go_to_waiting(runs[at])

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

    async def extend(self, run: RunId, money: MicroUsd | None, seconds: int | None) -> None:
        card = self._deeds.drive.card
        card.busy("extending …")
        reply = await self._deeds.order(Extend(run=run, money=money, seconds=seconds))
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
