"""Somebody who writes, at ten keys a second, while requests come, change and go: nothing is answered, nothing is lost.

Ten keys a second are the worst pace: each key comes alone (60 ms), so that nothing but the focus stands between a
letter and an answer. The clock is the test's own; so thousands of keys take seconds.
"""

import random
from collections.abc import Sequence

import pytest
from msgspec.structs import replace
from textual import events
from textual.pilot import Pilot

from app.console.app import FootplateApp
from app.console.keys import Where
from app.console.options import ConsoleOptions
from coordinator.api import AnswerDecision, DecisionView, Group, Interrupt, SessionView, Stop, StopAll
from coordinator.drivers.base import Deny, QuestionReply
from store.vocab import DecisionState, RunId
from tests.console.driving import alone, ripe_card, settled, typed
from tests.console.opened import answers, console, on_card
from tests.console.scenes import QUESTION, QUESTIONS, checkout, permission
from tests.fakes.backend import FakeBackend, ago, make_decision, make_session, make_snapshot
from tests.sampling import sampled
from tests.waiting import eventually

TENTH = 0.1
PROSE = "Step 1: run 2 of 3 suites, then y/n 1 1 2 [x] (see 4 and 5); Xs are fine, q too. 1 2 3 "


class Clock:
    def __init__(self) -> None:
        self.at = 5_000.0

    def __call__(self) -> float:
        return self.at


async def key(app: FootplateApp, pilot: "Pilot[int]", letter: str, clock: Clock) -> None:
    clock.at += TENTH
    event = events.Key("space" if letter == " " else letter, letter)
    event.set_sender(app)
    event.time = clock.at
    app.post_message(event)
    await settled(pilot)


def changed(rng: random.Random, decisions: Sequence[DecisionView], number: int) -> tuple[DecisionView, ...]:
    """One request comes, or changes, or goes."""
    held = list(decisions)
    match rng.choice(("come", "come", "change", "go")) if held else "come":
        case "come":
            held.append(make_decision(number, asked_at=ago(rng.randrange(90_000))))
        case "change":
            at = rng.randrange(len(held))
            held[at] = replace(
                held[at], revision=held[at].revision + 1, payload_hash=f"hash-{number}", subject=f"rm {number}"
            )
        case _:
            gone = rng.randrange(len(held))
            held[gone] = replace(held[gone], state=DecisionState.WITHDRAWN)
    return tuple(one for one in held if one.state is not DecisionState.WITHDRAWN)[-4:]


def ordered(backend: FakeBackend) -> list[object]:
    return [one for kind in (AnswerDecision, Interrupt, Stop, StopAll) for one in backend.given(kind)]


def sessions(decisions: Sequence[DecisionView], others: Sequence[DecisionView] = ()) -> tuple[SessionView, ...]:
    mine = checkout(decisions=tuple(decisions), group=Group.NEEDS_YOU if decisions else Group.WORKING)
    other = make_session(14, "bump deps", decisions=tuple(replace(one, run=14) for one in others))
    return mine, other


@pytest.mark.parametrize("seed", sampled(range(4), every=2))
async def test_what_is_written_in_the_composer(seed: int) -> None:
    rng, clock, written = random.Random(seed), Clock(), ""
    decisions: tuple[DecisionView, ...] = ()
    elsewhere: tuple[DecisionView, ...] = ()
    snapshot = make_snapshot(*sessions(decisions))
    async with console(snapshot, options=ConsoleOptions(home="/home/mara", monotonic=clock)) as (app, pilot, backend):
        assert app.drive.focus_place is Where.COMPOSER
        for number, letter in enumerate(PROSE * 3, 100):
            if rng.random() < 0.4:
                decisions = changed(rng, decisions, number)
                elsewhere = changed(rng, elsewhere, 1000 + number) if rng.random() < 0.5 else elsewhere
                backend.change(sessions=sessions(decisions, elsewhere))
                app.take()
            await key(app, pilot, letter, clock)
            written += letter
        await eventually(lambda: app.drive.composer.text == written)
        assert ordered(backend) == []
        assert app.drive.run_in_view == 12


@pytest.mark.parametrize("seed", range(4))
async def test_what_is_written_as_a_reason_when_the_request_goes(seed: int) -> None:
    """The next card stands where the text was: no letter of the reason is a key on it, and none is lost."""
    rng, clock = random.Random(seed), Clock()
    first, second = permission(1), make_decision(2, subject="rm -rf /", input={"command": "rm -rf /"})
    snapshot = make_snapshot(checkout(decisions=(first, second)))
    async with console(snapshot, options=ConsoleOptions(home="/home/mara", monotonic=clock)) as (app, pilot, backend):
        app.drive.card.focus_card()
        await settled(pilot)
        app.drive.card._open_text("why", "", "why not")
        await settled(pilot)
        leaves = rng.randrange(3, 40)
        for number, letter in enumerate(PROSE):
            if number == leaves:
                backend.change_session(12, decisions=(second,))
                app.take()
            await key(app, pilot, letter, clock)
        assert ordered(backend) == []
        assert app.drive.card.decision is not None and app.drive.card.decision.id == 2
        assert app.drive.composer.text == PROSE


async def test_of_two_requests_at_once_each_gets_its_own_answer() -> None:
    first, second = permission(1, asked_at=ago(9_000)), make_decision(2, asked_at=ago(8_000))
    async with console(make_snapshot(checkout(decisions=(first, second)))) as (app, pilot, backend):
        await on_card(app, pilot)
        await alone(app, pilot, "2")
        await eventually(lambda: answers(backend))
        backend.change_session(12, decisions=(second,))
        await eventually(lambda: app.drive.card.decision is not None and app.drive.card.decision.id == 2)
        # The very next key is not for it: it was not painted long enough, and the focus has gone back.
        await alone(app, pilot, "1")
        assert [(one.decision, one.answer) for one in answers(backend)] == [(1, Deny())]
        assert app.drive.composer.text == "1"
        await on_card(app, pilot)
        await alone(app, pilot, "1")
        await eventually(lambda: len(answers(backend)) == 2)
        assert [one.decision for one in answers(backend)] == [1, 2]


async def test_a_request_in_another_session_is_never_answered_from_this_one() -> None:
    other = make_session(14, "bump deps", group=Group.NEEDS_YOU, decisions=(make_decision(7, 14),))
    snapshot = make_snapshot(checkout(decisions=(), group=Group.WORKING), other)
    options = ConsoleOptions(home="/home/mara", run=RunId(12))
    async with console(snapshot, options=options) as (app, pilot, backend):
        for one in ("tab", "1", "escape", "1", "y"):
            await alone(app, pilot, one)
        assert answers(backend) == []
        assert app.drive.run_in_view == 12
        await on_card(app, pilot)
        assert app.drive.run_in_view == 14
        await alone(app, pilot, "1")
        await eventually(lambda: answers(backend))
        assert (answers(backend)[0].run, answers(backend)[0].decision) == (14, 7)


@pytest.mark.parametrize("missing", range(len(QUESTIONS)))
async def test_a_form_with_one_answer_missing_says_which(missing: int) -> None:
    async with console(make_snapshot(checkout(decisions=(QUESTION,))), size=(120, 50)) as (app, pilot, backend):
        await on_card(app, pilot)
        for at, question in enumerate(QUESTIONS):
            while app.drive.card._form is not None and app.drive.card._form.at < at:
                await alone(app, pilot, "right")
                await ripe_card(app)
            if at != missing:
                await ripe_card(app)
                await alone(app, pilot, "1")
                assert question.choices
        await alone(app, pilot, "enter")
        assert answers(backend) == []
        name = QUESTIONS[missing].header or QUESTIONS[missing].text
        assert name in app.drive.card.said
        assert not any(
            (one.header or one.text) in app.drive.card.said for one in QUESTIONS if one is not QUESTIONS[missing]
        )
        await alone(app, pilot, "enter")
        await eventually(lambda: answers(backend))
        answer = answers(backend)[0].answer
        assert isinstance(answer, QuestionReply) and QUESTIONS[missing].text not in answer.answers


async def test_what_is_written_survives_the_way_to_the_card_and_back() -> None:
    async with console(make_snapshot(checkout())) as (app, pilot, backend):
        await typed(app, pilot, "half a se")
        await on_card(app, pilot)
        await alone(app, pilot, "escape")
        await typed(app, pilot, "ntence 1")
        assert app.drive.composer.text == "half a sentence 1"
        assert answers(backend) == []
