"""From one part of a run to where the same thing stands in another: a turn, a decision, a text that was found."""

from typing import TYPE_CHECKING, Final

from app.console.screens.changes import ChangesSheet
from app.console.screens.sheet import Reading
from app.console.views.ink import Line, Span, literal, one_line, wrap
from app.console.views.review_facts import Fact, decision_of_request
from app.console.views.standing import title_of
from app.console.views.transcript import Place
from app.console.views.transcript_turns import DecisionBlock
from app.wording import noun, sentence
from app.wording_review import piece_kind
from coordinator.api import Hit, ReadChanges, ReadDiff, ReadWhole, Reply
from coordinator.keptchanges import kept, kept_diff
from coordinator.review import places, reading
from coordinator.review.types import EvidenceRow, SearchHit
from coordinator.runplace import place_of
from store.refusal import Refusal
from store.tx import Tx
from store.vocab import DecisionId, EvidenceKind, RefusalReason, RunId, TurnId

if TYPE_CHECKING:
    from app.console.review.screen import Review

LONGEST: Final = 400_000
"""Characters of one text that are laid out to be read here; an export has all of it."""


class Text(Reading):
    """One text, whole: what a tool wrote, a note."""

    def __init__(self, heading: str, text: str) -> None:
        super().__init__(heading)
        self._text = text[:LONGEST]
        self._left_out = len(text) - len(self._text)

    def rows(self) -> tuple[Line, ...]:
        rows = [(Span(row),) for row in wrap(literal(self._text, newlines=True), self.room)]
        if self._left_out:
            left = f"{self._left_out:,} {noun(self._left_out, 'more character')}"
            rows.append((Span(f"{left}: an export has all of it", "grey"),))
        return tuple(rows)


class Jumps:
    def __init__(self, review: "Review") -> None:
        self._review = review

    async def from_here(self) -> None:
        """What Enter does in a part of the run."""
        pane = self._review.pane
        match pane.part:
            case "turns" if pane.turns.chosen is not None:
                await self.to_turn(pane.turns.chosen.id)
            case "money" if pane.money.chosen is not None and pane.page is not None:
                n = pane.money.chosen.key.partition(".")[2]
                turn = next((one for one in pane.page.session.turns if str(one.n) == n), None)
                if turn is not None:
                    await self.to_turn(turn.id)
            case "facts" if pane.facts.chosen is not None:
                await self._from_fact(pane.facts.chosen)
            case "conversation":
                self._from_conversation()

    async def _from_fact(self, fact: Fact) -> None:
        if fact.decision is not None:
            await self.to_decision(fact.decision)
        elif fact.piece is not None:
            await self.show_piece(fact.piece)
        elif fact.run is not None:
            self._review.show_run(fact.run)

    # -------------------------------------------------------------------------------------------- into the conversation

    async def to_turn(self, turn: TurnId) -> None:
        self._to(await self._review.ask(lambda tx: places.of_turn(tx, turn)), "nothing came of this turn")

    async def to_decision(self, decision: DecisionId) -> None:
        run = self._review.pane.run
        if run is not None:
            hit = await self._review.ask(lambda tx: places.of_decision(tx, run, decision))
            self._to(hit, "the conversation does not show this question")

    def _to(self, hit: Hit | None, missing: str) -> None:
        if hit is None:
            self._review.say(missing)
            return
        self._review.looking.clear()
        self._review.go("conversation")
        self._review.pane.transcript.point_at(Place(key=hit.key, turn=hit.turn))

    async def to_hit(self, found: SearchHit) -> None:
        """To a text that was found, lit, with n and N going on from it."""
        hit = await self._review.ask(lambda tx: places.of_hit(tx, found))
        if hit is None or self._review.pane.run != found.run:
            self._review.say("the conversation does not show it")
            return
        self._review.go("conversation")
        words = next((found.snippet[start:end] for start, end in found.marks if end > start), "")
        if words:
            self._review.looking.look_for(words, hit)
        else:
            self._review.pane.transcript.point_at(Place(key=hit.key, turn=hit.turn))

    # ---------------------------------------------------------------------------------------------- and out of it again

    def _from_conversation(self) -> None:
        """To what was decided, where the cursor is on a question; else to the turn."""
        pane = self._review.pane
        if pane.page is None:
            return
        block = pane.transcript.block_here()
        if isinstance(block, DecisionBlock):
            asked = decision_of_request(pane.page.session.decisions, block.asked.request, block.at)
            if asked is not None and pane.to_decision(asked.id):
                self._review.go("facts")
                return
        here = pane.transcript.model.turn_beside(pane.transcript.current_line(), 0)
        at = next((at for at, turn in enumerate(pane.page.session.turns) if turn.id == here), None)
        if at is not None:
            self._review.go("turns")
            pane.turns.to(at)

    # ------------------------------------------------------------------------------------------------------ whole texts

    async def show_piece(self, piece: EvidenceRow) -> None:
        """What was kept of the run: a diff, a note, a question. A diff that was kept before it went on is a text."""
        page = self._review.pane.page
        diffs = [one.id for one in page.evidence if one.kind is EvidenceKind.DIFF] if page is not None else []
        if diffs[-1:] == [piece.id]:
            self.changes()
            return
        kept = await self._review.ask(lambda tx: reading.evidence(tx, piece.id))
        if kept is None:
            self._review.say("it is in the ledger no more")
            return
        text = kept.content.decode("utf-8", "replace")
        heading = f"{piece_kind(piece.kind)} {one_line(piece.note)}".strip()
        self._review.app.push_screen(Text(heading, text))

    def changes(self) -> None:
        """What the run changed, as it was kept."""
        page = self._review.pane.page
        if page is None:
            self._review.say("no run is chosen")
            return
        session = page.session
        self._review.app.push_screen(ChangesSheet(session.run, title_of(session), self._read_changes, None))

    async def _read_changes(self, command: ReadChanges | ReadDiff) -> Reply:
        def read(tx: Tx) -> Reply:
            place = place_of(tx, command.run, spool=None)
            if isinstance(place, Refusal):
                return place
            return kept(place) if isinstance(command, ReadChanges) else kept_diff(place, command.names)

        found = await self._review.ask(read)
        return found if found is not None else Refusal(RefusalReason.NO_SUCH_RUN, {"run": command.run})

    async def whole(self) -> None:
        """All of the block under the cursor, as the ledger has it."""
        pane = self._review.pane
        run, block = pane.run, pane.transcript.block_here() if pane.part == "conversation" else None
        if run is None or block is None:
            self._review.say("o opens a long text of the conversation")
            return
        key = block.end_key or block.key
        text = block.original()
        if key is not None and block.kind not in ("turn", "group"):
            found = await self._whole_event(run, key)
            text = found or text
        if text:
            self._review.app.push_screen(Text("The whole text", text))
        else:
            self._review.say("there is nothing more to open here")

    async def _whole_event(self, run: RunId, key: tuple[int, int]) -> str:
        found = await self._review.ask(lambda tx: reading.whole(tx, ReadWhole(run=run, key=key)))
        if isinstance(found, Refusal):
            self._review.say(sentence(found))
            return ""
        return found or ""
