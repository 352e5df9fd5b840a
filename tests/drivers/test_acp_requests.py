"""What an agent asks on the Agent Client Protocol: what must never be offered, how each form is answered."""

import json

import pytest

from coordinator.drivers.asks import Act, ActKind
from coordinator.drivers.base import (
    Allow,
    Chosen,
    DecisionWithdrawn,
    Deny,
    Notice,
    OfferKind,
    QuestionReply,
    Reply,
    Unknown,
)
from tests.drivers.acp_scene import Json, Scene, of

ONCE, NO = ("y", "Yes", "allow_once"), ("n", "No", "reject_once")


def test_what_would_outlive_the_run_is_not_offered() -> None:
    scene = Scene().ready().turn()
    asked = scene.permission(
        {"kind": "execute", "title": "ls", "rawInput": {"command": "ls"}},
        [
            ("a", "Always allow", "allow_always"),
            ("b", "Allow for this session", "allow_always"),
            ("c", "Allow for all future sessions, this session too", "allow_always"),
            ONCE,
            ("d", "Never", "reject_always"),
            NO,
            ("e", "Whatever", "something_new"),
        ],
    )
    assert [(offer.id, offer.kind) for offer in asked.offers] == [
        ("b", OfferKind.ALLOW_RUN),
        ("y", OfferKind.ALLOW),
        ("n", OfferKind.DENY),
    ]
    assert asked.request == "#7"
    assert scene.answer("#7", Chosen(offer="b")) == (7, {"outcome": {"outcome": "selected", "optionId": "b"}})


def test_a_plan_is_not_approved_into_a_mode_in_which_nobody_is_asked() -> None:
    scene = Scene().ready().turn()
    options = [
        ("auto", "Yes, and use auto mode for this session", "allow_always"),
        ("default", "Yes", "allow_once"),
        NO,
    ]
    asked = scene.permission({"kind": "switch_mode", "title": "Ready?", "rawInput": {"plan": "1. all"}}, options)
    assert (asked.title, asked.subject) == ("Approve this plan?", "1. all")
    assert [(offer.id, offer.kind) for offer in asked.offers] == [
        ("default", OfferKind.ALLOW),
        ("n", OfferKind.DENY_STOP),
    ]


def test_there_is_always_a_no() -> None:
    scene = Scene().ready().turn()
    asked = scene.permission({"title": "x"}, [ONCE], id="q")
    assert [offer.kind for offer in asked.offers] == [OfferKind.ALLOW, OfferKind.DENY_STOP]
    cancelled = {"outcome": {"outcome": "cancelled"}}
    assert scene.answer("q", Chosen(offer=asked.offers[1].id)) == ("q", cancelled)
    assert scene.answer("q", Chosen(offer="made-up")) == ("q", cancelled)
    assert scene.answer("q", Deny()) == ("q", cancelled)
    assert scene.answer("#99", Allow()) == (99, cancelled), "nothing is allowed that is not known"
    assert scene.answer("q", Allow())[1]["outcome"]["optionId"] == "y"


@pytest.mark.parametrize(
    ("call", "act"),
    [
        (
            {"kind": "execute", "rawInput": {"command": "ls", "cwd": "/t"}},
            Act(kind=ActKind.COMMAND, command="ls", cwd="/t"),
        ),
        ({"kind": "execute", "title": "ls"}, None),
        ({"kind": "execute", "rawInput": {"command": "ls", "sandbox": False}}, None),
        (
            {"kind": "edit", "content": [{"type": "diff", "path": "a", "newText": "x"}], "rawInput": {"path": "b"}},
            Act(kind=ActKind.EDIT, paths=("a", "b")),
        ),
        ({"kind": "edit", "rawInput": {"path": "b"}}, None),
        ({"kind": "read", "rawInput": {"path": "b"}}, Act(kind=ActKind.READ, paths=("b",))),
        ({"kind": "fetch", "rawInput": {"url": "https://a"}}, Act(kind=ActKind.FETCH, url="https://a")),
        ({"kind": "other", "title": "Deploy", "name": "mcp__x"}, Act(kind=ActKind.TOOL, tool="mcp__x")),
        ({"kind": "other", "title": "deploy"}, None),
        ({"kind": "delete", "title": "a", "locations": [{"path": "a"}]}, None),
    ],
)
def test_rules_see_only_what_is_told_whole(call: Json, act: Act | None) -> None:
    scene = Scene().ready().turn()
    assert scene.permission({"title": "x", **call}, [ONCE, NO]).act == act


def test_what_a_call_said_before_still_holds_for_its_request() -> None:
    scene = Scene().ready().turn()
    scene.update(
        "tool_call", toolCallId="c", kind="execute", status="pending", rawInput={"command": "ls", "cwd": "/etc"}
    )
    asked = scene.permission({"rawInput": {"command": "ls"}}, [ONCE, NO])
    assert asked.act == Act(kind=ActKind.COMMAND, command="ls", cwd="/etc")


def test_a_request_that_is_taken_back_is_gone() -> None:
    scene = Scene().ready().turn()
    scene.permission({"title": "x"}, [ONCE, NO])
    (gone,) = scene.feed({"method": "$/cancel_request", "params": {"requestId": 7}})
    assert gone == DecisionWithdrawn(request="#7", why="the agent took the question back")


def test_forms_are_filled_in_with_the_values_that_they_want() -> None:
    scene = Scene().ready().turn()
    asked = scene.form(
        {
            "colour": {
                "type": "string",
                "title": "Colour",
                "oneOf": [{"const": "r", "title": "Red", "description": "d"}],
            },
            "colour_custom": {"type": "string", "title": "Other"},
            "sizes": {
                "type": "array",
                "title": "Sizes",
                "items": {"enum": ["S", "M"], "enumNames": ["Small", "Medium"]},
            },
            "sure": {"type": "boolean", "description": "Are you sure?"},
            "many": {"type": "integer", "title": "How many"},
            "why": {"type": "string"},
        }
    )
    assert [question.text for question in asked.questions] == ["Colour", "Sizes", "Are you sure?", "How many", "why"]
    assert [question.multiple for question in asked.questions] == [False, True, False, False, False]
    assert asked.questions[0].choices[0].description == "d" and asked.why == "Tell me"

    def filled(note: str = "", **answers: tuple[str, ...]) -> Json:
        known = {question.text: answers.get(question.text.split()[-1].rstrip("?"), ()) for question in asked.questions}
        result: Json = scene.answer("f", QuestionReply(answers=known, note=note))[1]
        return result

    whole = filled(Colour=("Red",), Sizes=("Small", "Medium"), sure=("Yes",), many=("3",), why=("so",), note="soon")
    content = {"colour": "r", "colour_custom": "soon", "sizes": ["S", "M"], "sure": True, "many": 3, "why": "so"}
    assert whole == {"action": "accept", "content": content}
    assert filled(Colour=("Mauve",))["content"] == {"colour_custom": "Mauve"}
    assert filled(many=("a few",))["content"] == {"many": "a few"}
    assert filled() == {"action": "decline"}
    scene.form({"why": {"type": "string"}})
    assert json.loads(scene.driver.interrupt().data.splitlines()[1])["result"] == {"action": "cancel"}


def test_a_form_that_nobody_would_fill_in_is_not_put_to_a_person() -> None:
    scene = Scene().ready().turn()
    many = {"properties": {f"p{n}": {"title": "same"} for n in range(30_000)}}
    params = {"sessionId": "s1", "message": "Tell me", "requestedSchema": many, "mode": "form"}
    events = scene.feed({"id": "f", "method": "elicitation/create", "params": params})
    assert len(of(events, Reply)) == len(of(events, Unknown)) == 1
    asked = scene.form({"n": {"type": "number"}}, "How much?")
    data = scene.driver.answer(asked.request, QuestionReply(answers={"How much?": ("inf",)}))
    assert b"Infinity" not in data and json.loads(data)["result"]["content"] == {"n": "inf"}


def test_a_form_without_fields_asks_for_a_yes_and_a_page_is_not_opened() -> None:
    scene = Scene().ready().turn()
    asked = scene.form({}, "Go on?")
    assert [choice.label for choice in asked.questions[0].choices] == ["Yes", "No"]
    assert scene.answer("f", QuestionReply(answers={"Go on?": ("Yes",)}))[1] == {"action": "accept", "content": {}}
    assert scene.answer("f", QuestionReply(answers={"Go on?": ("No",)}))[1] == {"action": "decline"}
    page = {"mode": "url", "message": "Sign in", "url": "https://x", "elicitationId": "e"}
    events = scene.feed({"id": 8, "method": "elicitation/create", "params": page})
    assert "https://x" in of(events, Notice)[0].text
    assert json.loads(of(events, Reply)[0].data)["result"] == {"action": "decline"}


def test_questions_in_a_permission_are_answered_by_their_place() -> None:
    scene = Scene().ready("qwen-code").turn()
    questions = [
        {"question": "Which?", "header": "W", "options": [{"label": "A"}, {"label": "B"}], "multiSelect": True},
        {"question": "Why?", "options": []},
    ]
    meta = {"qwenInteractionKind": "user_question", "qwenQuestions": questions}
    asked = scene.permission({"_meta": meta}, [("go", "Submit", "allow_once"), ("stop", "Cancel", "reject_once")])
    assert not asked.offers and [question.multiple for question in asked.questions] == [True, False]
    reply = QuestionReply(answers={"Which?": ("A", "B"), "Why?": ()}, note="quick")
    assert scene.answer("#7", reply)[1] == {
        "outcome": {"outcome": "selected", "optionId": "go"},
        "answers": {"0": "A, B (note: quick)"},
    }


@pytest.mark.parametrize(
    ("method", "kept"), [("fs/read_text_file", False), ("terminal/create", False), ("_vendor/ask", True)]
)
def test_other_requests_get_the_protocols_no(method: str, kept: bool) -> None:
    scene = Scene().ready().turn()
    events = scene.feed({"id": 3, "method": method, "params": {}})
    line = json.loads(of(events, Reply)[0].data)
    assert line["id"] == 3 and line["error"]["code"] == -32601
    assert bool(of(events, Unknown)) is kept
    (unknown,) = scene.update("something_new", content={})
    assert isinstance(unknown, Unknown) and "something_new" in unknown.raw
