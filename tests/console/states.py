"""Every state in which a console can be found: each is walked through with every key, and gets hostile text."""

from msgspec.structs import replace

from coordinator.api import ConsoleSnapshot, Group
from coordinator.checktypes import CheckState, CheckView
from coordinator.drivers.base import Offer, OfferKind
from store.vocab import DecisionKind, MicroUsd, RunOutcome
from tests.console.scenes import (
    PROCESSES,
    QUESTION,
    SCENES,
    Act,
    Scene,
    asking,
    checkout,
    crowd_of_waits,
    full,
    only,
    presses,
    stopped,
    to_the_card,
)
from tests.fakes.backend import (
    MINUTE,
    ago,
    make_budget,
    make_decision,
    make_session,
    make_snapshot,
    make_turn,
)

PARK = make_decision(
    8, kind=DecisionKind.PARK, title="Which database?", subject="Which database is meant?", tool=None, input={}
)


OFFERED = make_decision(
    8,
    offers=(
        Offer(id="a", label="Yes, proceed", kind=OfferKind.ALLOW),
        Offer(id="b", label="Yes, and don't ask again", kind=OfferKind.ALLOW_RUN, covers="commands that begin with rm"),
        Offer(id="c", label="No", kind=OfferKind.DENY),
        Offer(id="d", label="No, and stop there", kind=OfferKind.DENY_STOP),
    ),
    input={"command": "rm -r build"},
    subject="rm -r build",
)


def idle() -> ConsoleSnapshot:
    return make_snapshot(make_session(10, "triage issues", group=Group.IDLE, turns=(make_turn(2),), in_flight=None))


def your_move() -> ConsoleSnapshot:
    return make_snapshot(
        make_session(
            9, "docs pass", group=Group.YOUR_MOVE, turns=(make_turn(4),), in_flight=None, turn_ended_at=ago(6 * MINUTE)
        )
    )


def checked() -> ConsoleSnapshot:
    """It says that it is finished, and the operator's own checks say how far that is so."""
    checks = (
        CheckView(command="make check", state=CheckState.PASSED),
        CheckView(command="pytest -q tests/checkout", state=CheckState.FAILED, detail="exit 1", evidence=4),
        CheckView(command="sh -c 'npm ci && npm test'", state=CheckState.TIMED_OUT, detail="600 s", evidence=5),
        CheckView(command="make docs", state=CheckState.RUNNING, since=ago(MINUTE)),
    )
    return make_snapshot(stopped(outcome=RunOutcome.FINISHED, reason="handoff", checks=checks))


def line_held() -> ConsoleSnapshot:
    """After an interrupt: what waits goes only when it is told to."""
    return make_snapshot(replace(checkout(decisions=(), group=Group.IDLE, in_flight=None), queue_held=True))


def two(*keys: str) -> Act:
    return presses("escape", *keys)


STATES: dict[str, Scene] = {
    "no-session": Scene(make_snapshot),
    "no-repository": SCENES["start-no-repository"],
    "terms": SCENES["terms"],
    "working": Scene(only(checkout(group=Group.WORKING, decisions=()))),
    "interrupting": Scene(only(checkout(group=Group.WORKING, decisions=(), interrupting=True))),
    "permission": SCENES["permission"],
    "permission-from-text": Scene(full),
    "offers": Scene(asking(OFFERED), to_the_card),
    "question": Scene(asking(QUESTION), to_the_card),
    "plan": SCENES["plan"],
    "park": Scene(asking(PARK), to_the_card),
    "your-move": Scene(your_move),
    "idle": Scene(idle),
    "line-held": Scene(line_held),
    "ended": Scene(only(stopped())),
    "checked": Scene(checked, two("J")),
    "ended-left": SCENES["ended-left"],
    "foreign": SCENES["foreign"],
    "ending": SCENES["ending"],
    "paused": SCENES["paused"],
    "budget": SCENES["budget"],
    "working-time": SCENES["working-time"],
    "ends-soon": SCENES["ends-soon"],
    "beside": Scene(full, two("vertical_line")),
    "zoomed": Scene(full, two("z")),
    "narrowed": SCENES["filter"],
    "searching": Scene(full, two("slash")),
    "away": SCENES["away"],
    "storage": SCENES["storage"],
    "attention": Scene(crowd_of_waits),
    "waiting-list": SCENES["queue"],
    "commands": SCENES["commands"],
    "details": Scene(only(checkout(processes=PROCESSES)), two("l")),
    "changes": SCENES["changes"],
    "help": SCENES["help"],
    "models": SCENES["models"],
    "rename": Scene(full, two("r")),
    "line": Scene(full, two("U")),
    "stop-all": SCENES["stop-all"],
    "quit": SCENES["quit"],
    "estimate": Scene(only(checkout(budget=make_budget(guessed=True, spent=MicroUsd(70_000), limit=None)))),
}
