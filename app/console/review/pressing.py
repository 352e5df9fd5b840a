"""Which key does what in a review: in a replay, in a list, in the conversation, anywhere. Deeds are the screen's."""

from typing import TYPE_CHECKING

from app.console.keys import Where
from app.console.screens.reading import Help
from app.console.scrolling import move, to_copy
from app.console.workers import begin

if TYPE_CHECKING:
    from app.console.review.screen import Review


class Presses:
    def __init__(self, review: "Review") -> None:
        self._review = review

    def pressed(self, key: str) -> bool:
        """Whether the key means something here; then it was done."""
        return self._replay_key(key) or self._move(key) or self._act(key)

    def _replay_key(self, key: str) -> bool:
        review = self._review
        if not review.replay.active or review.in_list:
            return False
        match key:
            case "space":
                review.replay.pause()
            case "full_stop":
                review.replay.step(1)
            case "comma":
                if not review.replay.step(-1):
                    review.say("what was before is not kept here: Esc, then r at an earlier turn plays it")
            case _:
                return False
        return True

    def _move(self, key: str) -> bool:
        review = self._review
        pane = review.list.here if review.in_list else review.pane.list
        if pane is None:
            return self._move_in_conversation(key)
        match key:
            case "j" | "down":
                pane.move(1)
            case "k" | "up":
                pane.move(-1)
            case "pagedown":
                pane.move(max(pane.tall - 1, 1))
            case "pageup":
                pane.move(-max(pane.tall - 1, 1))
            case "g" | "home":
                pane.to(0)
            case "G" | "end" if pane is review.list.here:
                review.list.to_end()
            case "G" | "end":
                pane.to_end()
            case _:
                return False
        return True

    def _move_in_conversation(self, key: str) -> bool:
        review = self._review
        if review.pane.page is None:
            return False
        transcript = review.pane.transcript
        if move(transcript, {"down": "j", "up": "k", "home": "g", "end": "G"}.get(key, key)):
            return True
        text = to_copy(transcript, key)
        if text is not None:
            if text:
                review.app.copy_to_clipboard(text)
            else:
                review.say("nothing to copy here")
            return True
        found = review.looking.acts().get({"n": "search-next", "N": "search-previous"}.get(key, ""))
        if found is not None:
            review.looks(found)
        return found is not None

    def _act(self, key: str) -> bool:
        review = self._review
        match key:
            case "escape":
                review.back()
            case "q":
                review.leave()
            case "enter":
                review.take()
            case "tab" | "shift+tab":
                review.next_part(1 if key == "tab" else -1)
            case "slash" if not review.in_list and review.pane.part == "conversation" and review.pane.page is not None:
                review.looking.begin()
            case "f" | "slash":
                review.remove_class("-alone")
                review.line.begin()
            case "t":
                review.turn_to("runs" if review.list.mode == "hits" else "hits")
            case "dollar_sign":
                review.turn_to("runs" if review.list.mode == "spend" else "spend")
            case "s":
                review.list.next_order()
            case "space" if review.in_list:
                review.list.mark()
            case "x":
                review.export()
            case "r":
                review.play()
            case "full_stop" | "comma":
                review.say("nothing is replayed: r begins it")
            case "o":
                begin(review, review.jumps.whole, group="looking")
            case "d":
                review.jumps.changes()
            case "question_mark":
                review.app.push_screen(Help(tuple(row for row in review.table if row.where is Where.REVIEW)))
            case _:
                return False
        return True
