"""What widgets tell their screen. A widget shows and asks; what comes of it is decided elsewhere."""

from textual.message import Message

from coordinator.api import DecisionView, Extend
from coordinator.drivers.base import Answer
from store.vocab import RunId


class Moved(Message):
    """There is a newer snapshot, or something in a feed."""


class SessionChosen(Message):
    def __init__(self, run: RunId) -> None:
        super().__init__()
        self.run = run


class PartChosen(Message):
    """A part of the session's title was clicked: ``model``, ``mode`` …"""

    def __init__(self, part: str) -> None:
        super().__init__()
        self.part = part


class Entered(Message):
    """Enter, in a text that is to be sent; it was no line of a paste."""

    def __init__(self, writing: str, text: str) -> None:
        super().__init__()
        self.writing = writing
        """Id of the text that it was entered in."""
        self.text = text


class Edited(Message):
    def __init__(self, writing: str, text: str) -> None:
        super().__init__()
        self.writing = writing
        self.text = text


class LeftText(Message):
    """Esc in a text."""

    def __init__(self, writing: str) -> None:
        super().__init__()
        self.writing = writing


class LateKey(Message):
    """A key that came to a text after it had been left: it is for whoever has the focus now."""

    def __init__(self, key: str, character: str | None) -> None:
        super().__init__()
        self.key = key
        self.character = character


class Wanted(Message):
    """A widget asks for an action of the key table."""

    def __init__(self, action: str) -> None:
        super().__init__()
        self.action = action


class Answered(Message):
    """An answer to exactly the decision that was on the card."""

    def __init__(self, decision: DecisionView, answer: Answer) -> None:
        super().__init__()
        self.decision = decision
        self.answer = answer


class ExtendWanted(Message):
    """More of what is used up, or a later end, for a run that holds or is about to."""

    def __init__(self, command: Extend) -> None:
        super().__init__()
        self.command = command


class CardLeft(Message):
    """Esc on the card: back, unanswered."""


class OtherWaiting(Message):
    def __init__(self, by: int) -> None:
        super().__init__()
        self.by = by


class TermsKey(Message):
    """A key of the terms that counts: ``start``, ``preset``, ``form``, ``added``, ``practice``, ``back``."""

    def __init__(self, verb: str) -> None:
        super().__init__()
        self.verb = verb
