"""One run that passes through every step there is, flown by an operator who looks at nothing but the screen.

Whoever takes the run over flies on from what is shown, so the same pilot serves the console that is killed and the one
that comes after it. What must hold afterwards is in ``invariants.py``.
"""

import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

from coordinator.api import (
    AnswerDecision,
    Done,
    Extend,
    Finish,
    OperatorCommand,
    ReleaseQueue,
    Reply,
    Said,
    Say,
    SessionView,
    Stop,
)
from coordinator.drivers.base import Allow, QuestionReply
from coordinator.profiles import AgentProfile
from store.vocab import Billing, CustodyState, DecisionKind, DecisionState, MicroUsd, RunId, TurnState
from tests.coordinator.held import Holding, bash, holding, script
from tests.faults.dooming import Doom
from tests.waiting import eventually

PATIENCE = 6.0
"""Seconds without anything that moves, after which a run counts as stuck."""

RAN = "ran.txt"
AFTER = "and then"
PARK = {"question": "Which one?", "options": [{"label": "left"}, {"label": "right"}], "recommendation": "left"}

BRIEF = "go " + script(
    {"text": "first", **bash(f"echo once >> {RAN}")},
    {"ask": "How far?", "options": ["near — by", "far — off"]},
    {"do": "mailbox", "folder": ".footplate/1", "decision": PARK},
    {"text": "I wait"},
)
NEXT = f"{AFTER} " + script({"text": "more " * 40, "chunks": 4}, {"text": "the end"})
SECRET = "hunter2-and-nobody-guesses-it"
TOLD = f"{AFTER} {SECRET} " + script({"text": "I know it"})
"""The ledger has it redacted, so no other console can make the same bytes again."""
LAST = f"{AFTER} " + script(
    {"text": "done"}, {"do": "mailbox", "folder": ".footplate/1", "handoff": "It is done."}, {"text": "bye"}
)
MORE = MicroUsd(1_000_000)
AGAIN = f"{AFTER} again " + script({"text": "again"})
FLYING = (TurnState.RECORDED, TurnState.WRITTEN, TurnState.ACCEPTED)

PROFILES = (
    AgentProfile(
        name="practice",
        title="The practice agent",
        driver="rehearsal",
        program=sys.executable,
        args=("-I", str(Path(__file__).parents[1] / "children" / "noting_agent.py")),
        billing=Billing.PRACTICE,
    ),
)


class Stuck(AssertionError):
    """Nothing moved any more, and the run was not over."""


@asynccontextmanager
async def house(
    folder: Path,
    *,
    doom: Doom | None = None,
    profiles: tuple[AgentProfile, ...] = PROFILES,
    environment: Mapping[str, str] | None = None,
    **more: object,
) -> AsyncIterator[Holding]:
    """A console whose practice agent keeps a diary; with a doom, armed before its sweep. ``more``: of ``holding``."""
    if doom is not None:
        doom.arm()
    try:
        async with holding(
            folder, profiles=profiles, environment={"PRACTICE_TOKEN": SECRET, **(environment or {})}, **more
        ) as held:
            if doom is not None:
                doom.held = held
            yield held
    finally:
        if doom is not None:
            doom.disarm()


@dataclass(slots=True)
class Pilot:
    """Does what an operator would, each thing once."""

    held: Holding
    ending: str = "stop"
    """``stop``, ``finish``; ``handoff``: the agent's own; ``extend``: more money at rest, one more turn, then stop;
    ``secret``: one more turn at rest, with a secret in it, then stop."""
    done: set[tuple[str, int]] = field(default_factory=set)
    replies: list[tuple[str, Reply]] = field(default_factory=list)
    patience: float = PATIENCE

    async def fly(self, run: RunId) -> SessionView:
        """To the run's end, and its actor's."""
        last: SessionView | None = None

        def moved() -> SessionView | None:
            view = self.held.view(run)
            if view is None:
                return None
            if view.outcome is not None or self._next(view) is not None:
                return view
            return None

        while True:
            try:
                last = await eventually(moved, self.patience)
            except AssertionError:
                raise Stuck(f"stuck at {self.held.view(run)} after {self.replies}") from None
            assert last is not None
            if last.outcome is not None:
                break
            what, command = self._next(last) or ("", None)
            assert command is not None
            self.done.add(_key(what, command))
            self.replies.append((what, await self.held.do(command)))
        session = self.held.coordinator.sessions.get(run)
        if session is not None:
            await session.ended.wait()
        return last

    def _next(self, view: SessionView) -> tuple[str, OperatorCommand] | None:
        for what, command in self._wanted(view):
            if _key(what, command) not in self.done:
                return what, command
        return None

    def _wanted(self, view: SessionView) -> list[tuple[str, OperatorCommand]]:
        run = view.run
        wanted: list[tuple[str, OperatorCommand]] = []
        opened = [one for one in view.decisions if one.state is DecisionState.OPEN]
        said = any(AFTER in one.text for one in view.queued) or any(AFTER in turn.text for turn in view.turns)
        flying = [turn for turn in view.turns if turn.state in FLYING]
        if opened and not said:
            wanted.append(("say", Say(run=run, text=LAST if self.ending == "handoff" else NEXT)))
        for one in opened:
            answer = (
                Allow()
                if one.kind is DecisionKind.PERMISSION
                else QuestionReply(answers={q.text: (q.choices[0].label,) for q in one.questions})
            )
            command = AnswerDecision(
                run=run, decision=one.id, revision=one.revision, payload_hash=one.payload_hash, answer=answer
            )
            wanted.append((f"answer {one.kind}", command))
        if opened or flying or not view.turns or view.ending is not None or view.custody is CustodyState.RESTARTING:
            return wanted
        if view.queued:
            if view.queue_held:
                wanted.append(("release", ReleaseQueue(run=run)))
            return wanted
        over = [turn for turn in view.turns if AFTER in turn.text]
        if over or any(turn.state in (TurnState.UNCERTAIN, TurnState.CANCELLED) for turn in view.turns):
            wanted += self._end(view)
        return wanted

    def _end(self, view: SessionView) -> list[tuple[str, OperatorCommand]]:
        run = view.run
        if self.ending == "handoff":
            return []
        if self.ending == "finish":
            return [("finish", Finish(run=run))]
        more: list[tuple[str, OperatorCommand]] = []
        if self.ending == "secret" and all(turn.state is not TurnState.CANCELLED for turn in view.turns):
            more.append(("say again", Say(run=run, text=TOLD)))
        if self.ending == "extend":
            if view.terms is not None and view.budget.limit == view.terms.budget:  # else one before has signed it
                more.append(("extend", Extend(run=run, money=MORE)))
            more.append(("say again", Say(run=run, text=AGAIN)))
            if self.said_yes("say again") and not any(turn.text == AGAIN for turn in view.turns):
                return more
        return [*more, ("stop", Stop(run=run))]

    def said_yes(self, what: str) -> bool:
        """Whether the console accepted it."""
        return any(name == what and isinstance(reply, Done | Said) for name, reply in self.replies)


def _key(what: str, command: OperatorCommand) -> tuple[str, int]:
    return what, getattr(command, "decision", 0)


async def whole(held: Holding, ending: str = "stop") -> SessionView:
    """The whole flight, from the ground."""
    run = await held.start(BRIEF)
    return await Pilot(held, ending).fly(run)
