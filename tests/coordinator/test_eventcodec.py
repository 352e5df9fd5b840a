"""Events and decisions come back from the ledger as they went in, redacted, whatever an agent put into them."""

import json
from typing import Any, get_args, get_type_hints

import msgspec
import pytest
from hypothesis import given, strategies as st
from msgspec import Struct

from coordinator import decisioncodec, eventcodec
from coordinator.drivers import base
from coordinator.drivers.base import Allow, Choice, DecisionAsked, Deny, Question, QuestionReply
from coordinator.redaction import MARK, Redactor
from store.canonical import dumps
from store.vocab import DecisionKind, FailureKind, RefusalReason, TurnResultKind

SECRET = "hunter2-hunter2"
ALL = get_args(base.AgentEvent)


def same(text: str) -> str:
    return text


redact = Redactor([SECRET]).text

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=8) | st.just(f"x {SECRET} y")
json_values: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=8,
)


def _field(hint: Any) -> st.SearchStrategy[Any]:
    hint = getattr(hint, "__supertype__", hint)
    if hint is str:
        return texts
    if hint == base.Json:
        return st.dictionaries(texts, json_values, max_size=3)
    if isinstance(hint, type) and issubclass(hint, Struct):
        return events_of(hint)
    args = get_args(hint)
    if hint.__class__.__name__ == "UnionType" or type(None) in args:
        return st.one_of(*(st.none() if arg is type(None) else _field(arg) for arg in args))
    if args and getattr(hint, "__origin__", None) is tuple:
        if args[-1] is Ellipsis:
            return st.lists(_field(args[0]), max_size=3).map(tuple)
        return st.tuples(*map(_field, args))
    if isinstance(hint, type) and hasattr(hint, "__members__"):
        return st.sampled_from(list(hint))
    return st.from_type(hint) if hint is not float else st.floats(allow_nan=False, allow_infinity=False)


def events_of(cls: type[Struct]) -> st.SearchStrategy[Any]:
    hints = get_type_hints(cls)
    return st.builds(cls, **{name: _field(hints[name]) for name in cls.__struct_fields__})


events = st.one_of(*map(events_of, ALL))


def test_every_event_has_a_kind() -> None:
    assert set(eventcodec.KINDS.values()) == set(ALL)
    assert len(eventcodec.KINDS) == len(ALL)


@given(events)
def test_there_and_back(event: base.AgentEvent) -> None:
    kind, body = eventcodec.encode(event, same)
    assert eventcodec.decode(kind, body) == event
    assert body == dumps(json.loads(body)), "canonical"


@given(events)
def test_no_secret_is_in_a_body(event: base.AgentEvent) -> None:
    kind, body = eventcodec.encode(event, redact)
    assert SECRET not in body
    back = eventcodec.decode(kind, body)
    assert type(back) is type(event)
    if SECRET not in eventcodec.encode(event, same)[1]:
        assert back == event and eventcodec.redacted(event, redact) is event


def test_redaction_reaches_keys_and_depths_and_keeps_all_values() -> None:
    given_ = {SECRET: 1, f"{SECRET}{SECRET}": 2, "a": [{"b": (SECRET, 3)}], "n": 10**30}
    event = base.ToolStarted(call="c", name="n", input=given_, title=f"echo {SECRET}")
    kind, body = eventcodec.encode(event, redact)
    back = eventcodec.decode(kind, body)
    assert isinstance(back, base.ToolStarted) and back.title == f"echo {MARK}"
    assert sorted(value for value in back.input.values() if isinstance(value, int)) == [1, 2, 10**30]
    assert back.input["a"] == [{"b": [MARK, 3]}]
    assert event.input is given_ and SECRET in given_, "the event that is shown live is another one"


def test_enums_are_not_text() -> None:
    event = base.TurnResult(
        turns=(),
        kind=TurnResultKind.INTERRUPTED,
        subtype="interrupted",
        cumulative=None,
        failure=FailureKind.OVERLOADED,
    )
    kind, body = eventcodec.encode(event, Redactor(["interrupted", "overloaded"]).text)
    back = eventcodec.decode(kind, body)
    assert isinstance(back, base.TurnResult)
    assert (back.kind, back.subtype, back.failure) == (TurnResultKind.INTERRUPTED, MARK, FailureKind.OVERLOADED)


def test_what_no_ledger_can_hold_is_mended_and_never_raises() -> None:
    deep: Any = "bottom"
    for _ in range(5000):
        deep = {"a": [deep]}
    for event in (
        base.TextBlock(block="b", text="half \ud83d of an emoji"),
        base.ToolStarted(call="c", name="n", input={"k\udc00": "\ud800"}, title=""),
        base.ToolStarted(call="c", name="n", input=deep, title="deep"),
        base.ToolFinished(call="c", ok=True, output="", detail={"x": float("nan"), "y": float("inf")}),
    ):
        kind, body = eventcodec.encode(event, redact)
        body.encode()
        assert type(eventcodec.decode(kind, body)) is type(event)


@pytest.mark.parametrize(
    ("kind", "body"), [("from-the-future", "{}"), ("text", "{"), ("text", '{"block": 3}'), ("text", "[]"), ("", "")]
)
def test_what_cannot_be_read_is_kept_whole(kind: str, body: str) -> None:
    assert eventcodec.decode(kind, body) == base.Unknown(raw=body)


def test_a_newer_field_is_no_obstacle() -> None:
    assert eventcodec.decode("notice", '{"text":"x","tone":"grave"}') == base.Notice(text="x")


# ----------------------------------------------------------------------------------------------------------- decisions

PERMISSION = DecisionAsked(
    request="r1", kind=DecisionKind.PERMISSION, title="Run a command?", tool="Bash", rule="Bash pytest", editable=True
)
FORM = DecisionAsked(
    request="r2",
    kind=DecisionKind.QUESTION,
    title="Colours",
    questions=(
        Question(text="Colour?", choices=(Choice(label="Red"), Choice(label="Blue"))),
        Question(text="Sizes?", choices=(Choice(label="S"), Choice(label="M")), multiple=True),
    ),
)
PLAN = DecisionAsked(request="r3", kind=DecisionKind.PLAN, title="Approve this plan?", subject="1. x")
PARK = DecisionAsked(
    request="p",
    kind=DecisionKind.PARK,
    title="Stopped to ask you",
    questions=(Question(text="Go on?", choices=(Choice(label="Yes"), Choice(label="No"))),),
    input={"recommendation": "Yes"},
)


@given(events_of(DecisionAsked))
def test_a_payload_is_the_whole_decision(asked: DecisionAsked) -> None:
    stored = decisioncodec.payload(asked)
    assert decisioncodec.view_parts(stored) == asked
    assert decisioncodec.payload(decisioncodec.view_parts(stored)) == stored
    assert SECRET not in decisioncodec.payload(asked, redact)


answers: st.SearchStrategy[base.Answer] = st.one_of(
    st.builds(Allow, for_run=st.booleans(), edited_input=st.none() | st.dictionaries(texts, json_values, max_size=3)),
    st.builds(Deny, message=texts, interrupt=st.booleans()),
    st.builds(
        QuestionReply,
        answers=st.dictionaries(texts, st.lists(texts, max_size=3).map(tuple), max_size=3),
        note=texts,
    ),
)


@given(answers)
def test_an_answer_there_and_back(answer: base.Answer) -> None:
    assert decisioncodec.decode_answer(decisioncodec.encode_answer(answer)) == answer


def test_no_stored_answer() -> None:
    for stored in ("{", "{}", '{"answer":"maybe","body":{}}', '{"answer":"deny","body":3}'):
        with pytest.raises(msgspec.DecodeError):
            decisioncodec.decode_answer(stored)


@pytest.mark.parametrize(
    ("answer", "asked", "said"),
    [
        (Allow(), PERMISSION, "allowed once"),
        (Allow(edited_input={"command": "x"}), PERMISSION, "allowed once, as edited"),
        (Allow(for_run=True), PERMISSION, "allowed for this run: Bash pytest"),
        (Deny(message="use make"), PERMISSION, "denied: use make"),
        (Deny(interrupt=True), PERMISSION, "denied (and interrupted)"),
        (Allow(), PLAN, "approved"),
        (Deny(message="shorter"), PLAN, "sent back: shorter"),
        (Deny(), PLAN, "not approved"),
        (
            QuestionReply(answers={"Sizes?": ("S", "M"), "Colour?": ("Red",)}, note="soon"),
            FORM,
            "Red; S, M (note: soon)",
        ),
        (QuestionReply(answers={"Colour?": ("Red",)}), FORM, "Red; (unanswered)"),
        (QuestionReply(answers={}, note="neither"), PARK, "(unanswered) (note: neither)"),
    ],
)
def test_words(answer: base.Answer, asked: DecisionAsked, said: str) -> None:
    assert decisioncodec.words(answer, asked) == said
    assert decisioncodec.check_answer(answer, asked) is None


@pytest.mark.parametrize(
    ("answer", "asked", "reason"),
    [
        (Allow(), FORM, RefusalReason.NOT_AN_OPTION),
        (QuestionReply(answers={}), PERMISSION, RefusalReason.NOT_AN_OPTION),
        (Allow(for_run=True), PLAN, RefusalReason.NOT_AN_OPTION),
        (Allow(edited_input={}), PLAN, RefusalReason.NOT_AN_OPTION),
        (QuestionReply(answers={"Colour?": ("Red", "Blue")}), FORM, RefusalReason.NOT_AN_OPTION),
        (QuestionReply(answers={"Color?": ("Red",)}), FORM, RefusalReason.NOT_AN_OPTION),
        (QuestionReply(answers={"Colour?": (), "Sizes?": (" ",)}), FORM, RefusalReason.UNANSWERED_QUESTIONS),
    ],
)
def test_answers_that_do_not_fit(answer: base.Answer, asked: DecisionAsked, reason: RefusalReason) -> None:
    refused = decisioncodec.check_answer(answer, asked)
    assert refused is not None and refused.reason is reason
