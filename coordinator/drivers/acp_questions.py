"""Questions on the Agent Client Protocol: forms to be filled in, and what one agent puts into a permission instead.

Which question a field is, what its choices are worth, and how what a person chose is put back into the form.
"""

import json
import math
from typing import Any, Final

from coordinator.drivers import acp_tools, jsonrpc
from coordinator.drivers.acp_state import Ask, State
from coordinator.drivers.base import (
    AgentEvent,
    Allow,
    Answer,
    Choice,
    Chosen,
    DecisionAsked,
    Deny,
    Notice,
    Question,
    QuestionReply,
    Reply,
)
from coordinator.drivers.json_fields import Json, mapping, objects, text, word, words
from store.vocab import DecisionKind

Out = list[AgentEvent]

CANCELLED: Final[Json] = {"outcome": {"outcome": "cancelled"}}
"""The no that every agent must take for a permission."""
CANCEL: Final = "cancelled"
"""An offer that is none of the agent's options: the request is answered as cancelled."""
MOST_FIELDS: Final = 200
"""Of a form, companions counted: nobody would fill in more."""
_YES, _NO = "Yes", "No"
_CUSTOM: Final = "_custom"
"""Ending of a form's field for free text beside one with choices."""


def form(state: State, request: jsonrpc.Request, out: Out) -> bool:
    """``elicitation/create``: fields to be filled in. A page to be opened is nothing that this host does."""
    params = request.params
    message = text(params, "message")
    if text(params, "mode", "form") != "form":
        address = text(params, "url")
        out.append(Notice(text=f"the agent wanted a page opened, which was declined: {message} {address}".strip()))
        data = jsonrpc.result(request.id, {"action": "decline"}, versioned=True)
        out.append(Reply(id=f"reply-{jsonrpc.key(request.id)}", data=data, why="a page to open, declined"))
        return True
    properties = mapping(mapping(params, "requestedSchema"), "properties")
    if len(properties) > MOST_FIELDS:
        return False
    fields: list[Json] = []
    questions: list[Question] = []
    plain = [name for name in properties if not _is_companion(name, properties)]
    for name in plain:
        field = mapping(properties, name)
        said = text(field, "description") or text(field, "title") or name
        question = message if len(plain) == 1 and message else said
        question = question if question not in [one.text for one in questions] else f"{question} ({name})"
        values, choices, multiple = _choices(field)
        questions.append(
            Question(text=question, header=text(field, "title"), choices=tuple(choices), multiple=multiple)
        )
        companion = name + _CUSTOM if name + _CUSTOM in properties else ""
        fields.append(
            {
                "name": name,
                "question": question,
                "type": text(field, "type", "string"),
                "values": values,
                "custom": companion,
            }
        )
    name = jsonrpc.key(request.id)
    call = text(params, "toolCallId")
    if call:
        acp_tools.start(state, call, out)
    if not questions:
        # Nothing to fill in: it asks for a yes.
        questions = [Question(text=message or "Go on?", choices=(Choice(label=_YES), Choice(label=_NO)))]
        fields = [{"name": "", "question": questions[0].text, "type": "consent", "values": {}, "custom": ""}]
    state.asks[name] = Ask(kind="form", call=call, fields_json=json.dumps(fields))
    out.append(_question_asked(name, call, message, questions))
    return True


def _is_companion(name: str, properties: Json) -> bool:
    return name.endswith(_CUSTOM) and name.removesuffix(_CUSTOM) in properties


def _choices(field: Json) -> tuple[Json, list[Choice], bool]:
    """(label to value, choices, whether several)"""
    kind = text(field, "type", "string")
    if kind == "boolean":
        return {_YES: True, _NO: False}, [Choice(label=_YES), Choice(label=_NO)], False
    multiple = kind == "array"
    source = mapping(field, "items") if multiple else field
    titled = objects(source, "oneOf") or objects(source, "anyOf")
    values: Json = {}
    choices: list[Choice] = []
    for one in titled:
        value = one.get("const")
        label = text(one, "title") or (value if isinstance(value, str) else "")
        if label and label not in values:
            values[label] = value
            choices.append(Choice(label=label, description=text(one, "description")))
    if not choices:
        names = words(source, "enumNames")
        for n, value in enumerate(words(source, "enum")):
            label = names[n] if n < len(names) else value
            if label not in values:
                values[label] = value
                choices.append(Choice(label=label))
    return values, choices, multiple


def inner(told: Json) -> list[Json] | None:
    """Questions that one agent puts into a permission request; None: it is a permission."""
    meta = mapping(told, "_meta")
    if text(meta, "qwenInteractionKind") != "user_question":
        return None
    asked = objects(meta, "qwenQuestions") or objects(mapping(told, "rawInput"), "questions")
    return [one for one in asked if word(one, "question")] or None


def ask_inner(state: State, name: str, call: str, asked: list[Json], options: list[Json], out: Out) -> None:
    questions: list[Question] = []
    fields: list[Json] = []
    taken: set[str] = set()
    for n, one in enumerate(asked):
        said = text(one, "question")
        said = said if said not in taken else f"{said} ({n + 1})"
        taken.add(said)
        questions.append(
            Question(
                text=said,
                header=text(one, "header"),
                choices=tuple(
                    Choice(label=text(choice, "label"), description=text(choice, "description"))
                    for choice in objects(one, "options")
                    if word(choice, "label")
                ),
                multiple=one.get("multiSelect") is True,
            )
        )
        fields.append({"name": str(n), "question": said})
    if call:
        acp_tools.start(state, call, out)
    kept = {text(option, "optionId"): text(option, "kind") for option in options if word(option, "optionId")}
    state.asks[name] = Ask(kind="questions", call=call, options=kept, fields_json=json.dumps(fields))
    out.append(_question_asked(name, call, "", questions))


def _question_asked(name: str, call: str, message: str, questions: list[Question]) -> DecisionAsked:
    texts = [question.text for question in questions]
    return DecisionAsked(
        request=name,
        kind=DecisionKind.QUESTION,
        title=(questions[0].header or "A question") if len(questions) == 1 else f"{len(questions)} questions",
        call=call or None,
        subject="\n".join(texts),
        why="" if message in texts else message,
        questions=tuple(questions),
    )


def form_answer(ask: Ask, given: Answer) -> Json:
    if not isinstance(given, QuestionReply):
        return {"action": "decline"}
    content: Json = {}
    note = given.note.strip()
    for field in json.loads(ask.fields_json):
        chosen = [part for part in given.answers.get(field["question"], ()) if part.strip()]
        if field["type"] == "consent":
            return {"action": "accept", "content": {}} if chosen == [_YES] else {"action": "decline"}
        known = [part for part in chosen if part in field["values"]]
        free = ", ".join(part for part in chosen if part not in field["values"])
        if note and (field["custom"] or not field["values"]):
            free, note = f"{free} ({note})" if free else note, ""
        if field["type"] == "array":
            items = [field["values"][part] for part in known]
            if free and not field["custom"]:
                items.append(free)
            if items:
                content[field["name"]] = items
        elif known:
            content[field["name"]] = field["values"][known[0]]
        elif free and not (field["custom"] and field["values"]):
            content[field["name"]] = _typed(field["type"], free)
            free = ""
        if free and field["custom"]:
            content[field["custom"]] = free
    return {"action": "accept", "content": content} if content else {"action": "decline"}


def _typed(kind: str, said: str) -> Any:
    """What was typed, as the number that the form wants; what is none goes as it is, for the agent to refuse."""
    try:
        if kind == "integer":
            return int(said)
        if kind == "number" and math.isfinite(number := float(said)):
            return number
    except ValueError:
        pass
    return said


def inner_answer(ask: Ask, given: Answer) -> Json:
    submit = next((id for id, kind in ask.options.items() if kind == "allow_once"), None)
    if not isinstance(given, QuestionReply) or submit is None:
        chosen = option(ask, Deny())
        return {"outcome": {"outcome": "selected", "optionId": chosen}} if chosen else CANCELLED
    answers: dict[str, str] = {}
    note = given.note.strip()
    for field in json.loads(ask.fields_json):
        said = ", ".join(part for part in given.answers.get(field["question"], ()) if part.strip())
        if note:
            said, note = f"{said} (note: {note})" if said else note, ""
        if said:
            answers[field["name"]] = said
    return {"outcome": {"outcome": "selected", "optionId": submit}, "answers": answers}


def option(ask: Ask, given: Answer) -> str | None:
    """The id to send back; None: none of its options says this."""
    match given:
        case Chosen():
            return given.offer if given.offer in ask.options and given.offer != CANCEL else None
        case Allow():
            kinds: tuple[str, ...] = ("allow_once",)
        case Deny() | QuestionReply():
            kinds = ("reject_once", "reject_always")
    return next((id for kind in kinds for id, told in ask.options.items() if told == kind), None)
