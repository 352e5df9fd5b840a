"""Nothing that others wrote reaches the terminal as anything but text, whichever way it comes in (invariant 11)."""

import re
from collections.abc import Callable

import pytest
from hypothesis import given, settings, strategies as st
from msgspec.structs import fields
from rich.style import Style

from app.console.views.transcript import TranscriptModel
from app.console.widgets.transcript_paint import Painter
from coordinator.drivers import base
from store.vocab import DecisionKind, FailureKind, TurnResultKind
from tests.console.hostile import HOSTILE as TABLE
from tests.console.transcript.conversation import Script, answered, asked, result, session, turn, working

CONTROL = re.compile(
    "[\x00-\x1f\x7f-\x9f\u200e\u200f\u061c\u2028-\u202e\u2066-\u2069\ufeff\U000e0000-\U000e007f\ud800-\udfff]"
)
HOSTILE = list(TABLE.values())
ANY = st.text(st.one_of(st.characters(), st.sampled_from("".join(HOSTILE))), max_size=60)

EVENTS: dict[str, Callable[[str], list[base.AgentEvent]]] = {
    "text": lambda s: [base.TextBlock(block="b", text=s)],
    "stream": lambda s: [base.TextDelta(block="b", text=s)],
    "markdown": lambda s: [base.TextBlock(block="b", text=f"# {s}\n- **{s}**\n> `{s}`\n| {s} |\n```{s}\n{s}\n```")],
    "fence": lambda s: [base.TextBlock(block="b", text=f"```python\n{s} = '{s}' # {s}\n```\n[{s}](http://{s})")],
    "thought": lambda s: [base.ThoughtBlock(block="k", text=s)],
    "tool": lambda s: [
        base.ToolStarted(call="c", name=s, title=s, input={s: s, "command": s, "list": [s]}),
        base.ToolFinished(call="c", ok=True, output=s),
    ],
    "command": lambda s: [
        base.ToolStarted(call="c", name="Bash", title=s, input={"command": s}),
        base.ToolFinished(call="c", ok=False, output=s),
    ],
    "edit": lambda s: [
        base.ToolStarted(call="c", name="Edit", title=s, input={"old_string": s, "new_string": f"{s}\n{s}"}),
        base.ToolFinished(
            call="c", ok=True, output=s, detail={"structuredPatch": [{"oldStart": s, "lines": [f"+{s}"]}]}
        ),
    ],
    "decision": lambda s: [
        asked(
            subject=s,
            title=s,
            why=s,
            kind=DecisionKind.QUESTION,
            questions=(base.Question(text=s, header=s, choices=(base.Choice(label=s, description=s),)),),
        )
    ],
    "permission": lambda s: [asked(subject=s, title=s)],
    "notice": lambda s: [base.Notice(text=s), base.Unknown(raw=s), base.ProtocolFault(what=s)],
    "no": lambda s: [base.CannotStart(failure=FailureKind.UNKNOWN, text=s)],
    "retry": lambda s: [base.RetryNotice(attempt=1, of=2, wait_seconds=1.0, why=s)],
    "limit": lambda s: [base.LimitNotice(status="warning", kind=s)],
    "background": lambda s: [
        base.BackgroundChanged(tasks=(base.BackgroundTask(id="1", kind="shell", title=s, state="failed"),))
    ],
    "ending": lambda s: [result(TurnResultKind.ERROR, failure=FailureKind.UNKNOWN, failure_text=s)],
}


def painted(way: str, said: str, width: int) -> str:
    events = EVENTS[way](said)
    questions = [event for event in events if isinstance(event, base.DecisionAsked)]
    decisions = tuple(answered(event, said, answered_by=said, note=said) for event in questions)
    view = session(turn(1, said, operator=said, preamble=said), working(2, said), decisions=decisions)
    model = TranscriptModel()
    model.show(view, Script().page())
    model.feed(Script().say(*events).events)
    model.flush()
    for target in [line.target for line in model.lines if line.target]:
        if (line := model.first_line(target)) is not None:
            model.toggle(line)
            model.flush()
    painter = Painter()
    painter.begin(width, "dark", Style(), rows=40)
    strips = [strip for line in model.lines for strip in painter.strips(line)]
    for strip in strips:
        assert strip.cell_length == width
        assert sum(segment.cell_length for segment in strip) == width
        for _, style, control in strip:
            assert control is None and style is not None and style.link is None and not style.meta
    return "".join(strip.text for strip in strips)


@pytest.mark.parametrize("way", EVENTS)
@pytest.mark.parametrize("said", HOSTILE, ids=range(len(HOSTILE)))
def test_known_attacks(way: str, said: str) -> None:
    assert CONTROL.findall(painted(way, said, 40)) == []


@pytest.mark.parametrize("way", EVENTS)
@settings(max_examples=30, deadline=None)
@given(said=ANY, width=st.integers(12, 90))
def test_anything(way: str, said: str, width: int) -> None:
    assert CONTROL.findall(painted(way, said, width)) == []


def test_every_event_with_text_is_tried() -> None:
    """A new kind of event that carries text is to be tried here too, or named as one that shows nothing."""
    silent = {"SessionReady", "ConversationChanged", "ModeChanged", "ModelChanged", "TurnBegunByAgent", "PlanUpdated"}
    silent |= {
        "DecisionWithdrawn",
        "DecisionResolved",
        "ControlAcked",
        "Reply",
        "Stderr",
        "TurnAccepted",
        "ThoughtDelta",
        "ScreenWaits",
    }
    tried = {type(event).__name__ for make in EVENTS.values() for event in make("x")}
    kinds = base.AgentEvent.__args__  # type: ignore[attr-defined]
    with_text = {
        kind.__name__
        for kind in kinds
        if any("str" in str(field.type) or "tuple" in str(field.type) for field in fields(kind))
    }
    assert with_text - tried - silent == set()
