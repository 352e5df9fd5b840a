"""One scene for every agent that is not Claude Code itself, and what its books must be afterwards.

A first console starts the run, lets one command through and refuses another, says a second message and is killed
while the agent asks about its tool. The next one finds the request, answers it, interrupts in the middle of the tool,
says a third message and stops while commands run in the foreground, in the background and in a session of their own.
"""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

from msgspec.structs import replace

from coordinator.api import (
    AnswerDecision,
    DecisionView,
    Done,
    Finish,
    Interrupt,
    OperatorCommand,
    Proposal,
    Propose,
    Said,
    Say,
    SessionView,
    Started,
    StartRun,
    Stop,
)
from coordinator.custody.types import Ladder
from coordinator.drivers.asks import Allow, Answer, Chosen, OfferKind
from coordinator.drivers.base import Image
from coordinator.profiles import AgentProfile, builtin
from store.vocab import DecisionId, DecisionState, RunId, TurnState
from tests.agents.kinds import Json, Kind
from tests.agents.surroundings import lonely
from tests.coordinator.held import QUICK, Holding, holding, script
from tests.waiting import eventually

SECONDS = 60.0
"""For one step of an agent on a machine that does other things too."""
PATIENT = replace(QUICK, ladder=Ladder(farewell=20.0, total=30.0), close_deadline=40.0, interrupt=10.0)
"""More time to end well than an operator gives: here others work too, and what an agent says last is compared."""
TOOL = "sleep 7300"
CHILDREN = ("sleep 7301", "sleep 7302", "sleep 7303")
"""In a session of its own, in the background, in the foreground."""
RAN = "ran.txt"
WRITTEN, LINE = "written.txt", "a line of its own"


def texts(kind: Kind, tree: Path) -> Sequence[str]:
    """The three messages."""
    own, background, foreground = CHILDREN
    return (
        "Look around. "
        + script(
            {"text": "on it", "tools": [kind.write(tree / WRITTEN, LINE)]},
            tool(kind, "echo never >> denied.txt"),
            {"text": "that was all"},
        ),
        "Wait a little. " + script({"text": "waiting", **tool(kind, f"echo once >> allowed.txt; {TOOL}; echo over")}),
        "Once more. "
        + script(
            tool(kind, f"(setsid {own} &) ; {background} & echo twice >> allowed.txt; {foreground}; echo over"),
            {"text": "never said"},
        ),
    )


def once(kind: Kind) -> str:
    """One message, with a command that is seen to have run once."""
    return "Run it. " + script({"text": "on it", **tool(kind, f"echo once >> {RAN}")}, {"text": "it ran"})


def tool(kind: Kind, command: str) -> Json:
    return {"tools": [kind.run(command)]}


def profile(kind: Kind, environment: dict[str, str]) -> AgentProfile:
    """The one that ships with Footplate, of the program that is installed here."""
    found = next(one for one in builtin(environment) if one.name == kind.profile)
    return replace(found, program=str(kind.pinned.binary))


@asynccontextmanager
async def house(folder: Path, kind: Kind, url: str) -> AsyncIterator[Holding]:
    """A console on that folder, the first or a later one."""
    home = folder / "home"
    (home / "tmp").mkdir(parents=True, exist_ok=True)
    environment = {**lonely(home), **kind.prepare(home, url)}
    # Some take seconds to tell their version: the second console has it from the first.
    more = {"version_cache": folder / "versions.json", "timing": PATIENT}
    async with holding(folder, profiles=(profile(kind, environment),), environment=environment, **more) as held:
        yield held


class Operator:
    """Who drives it, by what is shown."""

    def __init__(self, held: Holding, kind: Kind, run: RunId | None = None) -> None:
        self.held = held
        self.kind = kind
        self.run = RunId(0) if run is None else run

    async def start(self, brief: str, *, after: RunId | None = None) -> None:
        """``after``: the run that it goes on from."""
        told = Propose(
            instruction=brief,
            repository=str(self.held.tree),
            agent=self.kind.profile,
            preamble=False,
            continues=after,
        )
        proposal = await self.held.do(told)
        assert isinstance(proposal, Proposal), proposal
        started = await self.held.do(StartRun(terms=proposal.terms))
        assert isinstance(started, Started), started
        self.run = started.run

    async def say(self, text: str, *images: Image) -> None:
        said = await self.held.do(Say(run=self.run, text=text, images=images))
        assert isinstance(said, Said), said

    async def asked(self, n: int) -> DecisionView:
        """The nth thing that it asked."""

        def opened(view: SessionView) -> bool:
            known = sorted(view.decisions, key=lambda one: one.id)
            return len(known) >= n and known[n - 1].state is DecisionState.OPEN

        view = await self.held.until(self.run, opened, SECONDS)
        return sorted(view.decisions, key=lambda one: one.id)[n - 1]

    async def answer(self, asked: DecisionView, answer: Answer) -> None:
        told = AnswerDecision(
            run=self.run, decision=asked.id, revision=asked.revision, payload_hash=asked.payload_hash, answer=answer
        )
        reply = await self.held.do(told)
        assert isinstance(reply, Done), reply

    async def refuse(self, asked: DecisionView) -> None:
        """By the agent's own option: of some it ends the turn, and is then not what a plain *deny* means."""
        offer = next(one for one in asked.offers if one.kind in (OfferKind.DENY, OfferKind.DENY_STOP))
        await self.answer(asked, Chosen(offer=offer.id))

    async def to_the_end(self) -> SessionView:
        """Whatever it asks is allowed; when it is at rest, it is stopped."""
        answered: set[DecisionId] = set()

        def waiting(view: SessionView) -> list[DecisionView]:
            return [one for one in view.decisions if one.state is DecisionState.OPEN and one.id not in answered]

        def moved() -> SessionView | None:
            view = self.held.view(self.run)
            if view is None or view.outcome is not None:
                return view
            at_rest = view.turns and view.in_flight is None and view.ending is None
            return view if at_rest or waiting(view) else None

        while True:
            view = await eventually(moved, SECONDS, "it went on")
            assert view is not None
            if view.outcome is None and (asked := waiting(view)):
                answered.add(asked[0].id)
                await self.answer(asked[0], Allow())
            elif view.outcome is None:
                return await self.stop()
            else:
                if (session := self.held.coordinator.sessions.get(self.run)) is not None:
                    await session.ended.wait()
                return view

    async def settled(self, n: int) -> SessionView:
        return await self.held.until(
            self.run, lambda v: len(v.turns) >= n and v.turns[n - 1].state is TurnState.SETTLED, SECONDS
        )

    async def interrupt(self) -> None:
        view = self.held.view(self.run)
        assert view is not None and view.in_flight is not None
        assert isinstance(await self.held.do(Interrupt(run=self.run, turn=view.in_flight)), Done)

    async def stop(self) -> SessionView:
        return await self._end(Stop(run=self.run))

    async def finish(self) -> SessionView:
        return await self._end(Finish(run=self.run))

    async def _end(self, command: OperatorCommand) -> SessionView:
        reply = await self.held.do(command)
        assert isinstance(reply, Done), reply
        view = await self.held.until(self.run, lambda v: v.outcome is not None, SECONDS)
        await self.held.coordinator.sessions[self.run].ended.wait()
        return view
