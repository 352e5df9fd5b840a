"""Pressing keys as a person does: one at a time, with time between them; and as a line does, all at once."""

import asyncio
import time

from textual import events
from textual.pilot import Pilot

from app.console.app import FootplateApp
from app.console.presses import ALONE
from tests.waiting import eventually

MARGIN = 0.015
_NAMES = {
    " ": "space",
    ".": "full_stop",
    ",": "comma",
    "/": "slash",
    "\\": "backslash",
    "[": "left_square_bracket",
    ";": "semicolon",
    "~": "tilde",
    "-": "minus",
    "]": "right_square_bracket",
    "?": "question_mark",
}
_CHARACTERS = {"enter": "\r", "tab": "\t", "escape": "\x1b"} | {name: letter for letter, name in _NAMES.items()}


async def quiet(app: FootplateApp) -> None:
    """Until the last key is so long ago that the next one comes alone, and the last one was weighed."""
    await eventually(lambda: (app.gate.last() or 0.0) + ALONE + MARGIN < time.monotonic())


async def alone(app: FootplateApp, pilot: "Pilot[int]", key: str) -> None:
    await quiet(app)
    burst(app, key)
    await settled(pilot)
    await quiet(app)
    await settled(pilot)


async def settled(pilot: "Pilot[int]") -> None:
    """Until messages that lead to messages are through."""
    await pilot.pause()
    await asyncio.sleep(0)


def burst(app: FootplateApp, *keys: str, at: float | None = None) -> None:
    """Keys that come in one read of the terminal: a paste without brackets, a cut escape sequence.

    ``at``: when they came, for what a slow machine must not change."""
    for key in keys:
        name = _NAMES.get(key, key)
        event = events.Key(name, _CHARACTERS.get(name, key if len(key) == 1 else None))
        event.set_sender(app)
        if at is not None:
            event.time = at
        app.post_message(event)


async def typed(app: FootplateApp, pilot: "Pilot[int]", text: str) -> None:
    """Text into what has the focus; then quiet."""
    burst(app, *text)
    await settled(pilot)
    await quiet(app)
    await settled(pilot)


async def ripe_card(app: FootplateApp) -> None:
    await eventually(lambda: app.drive.card.ripe)
