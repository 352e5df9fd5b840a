"""Keys by which a conversation is read: which of the transcript's own moves each is. None of them asks anything."""

from collections.abc import Callable

from app.console.widgets.transcript import Transcript

MOVES: dict[str, Callable[[Transcript], object]] = {
    "j": lambda one: one.move_cursor(1),
    "k": lambda one: one.move_cursor(-1),
    "g": lambda one: one.action_scroll_home(),
    "G": lambda one: one.action_scroll_end(),
    "pagedown": lambda one: one.action_page_down(),
    "pageup": lambda one: one.action_page_up(),
    "left_curly_bracket": lambda one: one.previous_turn(),
    "right_curly_bracket": lambda one: one.next_turn(),
    "space": lambda one: one.toggle_fold(),
}


def move(transcript: Transcript, key: str) -> str | None:
    """Carry out a reading key: None when it is none, else why nothing came of it, '' where something did."""
    found = MOVES.get(key)
    if found is None:
        return None
    return "there is nothing to open or fold here" if found(transcript) is False else ""


def to_copy(transcript: Transcript, key: str) -> str | None:
    """What ``y`` (this block) or ``Y`` (the whole message) copies; None when it is neither key."""
    match key:
        case "y":
            return transcript.text_of_block()
        case "Y":
            return transcript.text_of_message()
        case _:
            return None
