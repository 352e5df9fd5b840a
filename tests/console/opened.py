"""An open console on the scripted backend, and what the tests of its rules ask of it first."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from textual.pilot import Pilot

from app.console.app import FootplateApp
from app.console.keys import Where
from app.console.options import ConsoleOptions
from coordinator.api import (
    AnswerDecision,
    ConsoleSnapshot,
)
from tests.console.driving import alone, ripe_card, settled
from tests.fakes.backend import FakeBackend
from tests.waiting import eventually


@asynccontextmanager
async def console(
    snapshot: ConsoleSnapshot, size: tuple[int, int] = (120, 34), options: ConsoleOptions | None = None
) -> AsyncIterator[tuple[FootplateApp, "Pilot[int]", FakeBackend]]:
    backend = FakeBackend(snapshot)
    app = FootplateApp(backend, options or ConsoleOptions(home="/home/mara"))
    async with app.run_test(size=size) as pilot:
        await settled(pilot)
        yield app, pilot, backend


async def on_card(app: FootplateApp, pilot: "Pilot[int]") -> None:
    await alone(app, pilot, "ctrl+o")
    await eventually(lambda: app.drive.focus_place is Where.CARD)
    await ripe_card(app)


def answers(backend: FakeBackend) -> list[AnswerDecision]:
    return backend.given(AnswerDecision)
