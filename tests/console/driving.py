"""Pressing keys as a person does: one at a time, with time between them; and as a machine does, all at once."""

import asyncio
import time

from textual.pilot import Pilot

from app.console.app import FootplateApp
from app.console.presses import ALONE
from tests.waiting import eventually

MARGIN = 0.015


async def quiet(app: FootplateApp) -> None:
    """Until the last key is so long ago that the next one comes alone, and the last one was weighed."""
    await eventually(lambda: (app.gate.last() or 0.0) + ALONE + MARGIN < time.monotonic())


async def alone(app: FootplateApp, pilot: "Pilot[int]", key: str) -> None:
    await quiet(app)
    await pilot.press(key)
    await quiet(app)
    await settled(pilot)


async def settled(pilot: "Pilot[int]") -> None:
    """Until messages that lead to messages are through."""
    for _ in range(4):
        await pilot.pause()
        await asyncio.sleep(0)


async def typed(app: FootplateApp, pilot: "Pilot[int]", text: str) -> None:
    """Text into what has the focus, as fast as can be; then quiet."""
    names = {" ": "space", ".": "full_stop", ",": "comma", "/": "slash", "\n": "enter"}
    await pilot.press(*(names.get(letter, letter) for letter in text))
    await quiet(app)
    await settled(pilot)


async def ripe_card(app: FootplateApp) -> None:
    await eventually(lambda: app.drive.card.ripe)
