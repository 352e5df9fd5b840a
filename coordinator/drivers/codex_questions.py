"""The questions that the agent, or one of its tool servers, puts to its operator, and the replies as it reads them.

Pure. What every request of the agent has in common stands here too: what is remembered of it, and which sub-agent asks.
"""

import json
import math
from typing import Final

from coordinator.drivers.asks import Choice, DecisionAsked, Offer, OfferKind, Question, QuestionReply
from coordinator.drivers.codex_state import Ask, State
from coordinator.drivers.json_fields import Json, mapping, objects, text, whole, word, words
from store.vocab import DecisionKind

MOST_FIELDS: Final = 100
"""Questions at once that are put to a person."""
_CANCEL_FORM: Final = '{"action":"cancel","content":null}'


def ask_of(kind: str, params: Json, answers: dict[str, str]) -> Ask:
    """What is remembered of a request; nobody's answer is a no that ends the turn."""
    return Ask(
        kind=kind,
        call=text(params, "itemId"),
        turn=text(params, "turnId"),
        answers=answers,
        cancel='{"decision":"cancel"}',
    )


def speaker(state: State, params: Json) -> str | None:
    """The sub-agent that asks, where one does."""
    thread = text(params, "threadId")
    return thread if thread and state.thread and thread != state.thread else None


def asked(state: State, request: str, params: Json) -> tuple[DecisionAsked, Ask] | None:
    told = [one for one in objects(params, "questions") if word(one, "question")]
    if not told or len(told) > MOST_FIELDS:
        return None
    fields: dict[str, list[str]] = {}
    said = [_apart(text(one, "question"), text(one, "id"), fields) for one in told]
    seconds = (whole(params, "autoResolutionMs") or 0) // 1000
    ask = ask_of("question", params, {})
    ask.fields, ask.cancel = fields, '{"answers":{}}'
    questions = tuple(
        Question(text=question, header=text(one, "header"), choices=_choices(one))
        for question, one in zip(said, told, strict=True)
    )
    why = f"it goes on without an answer after {seconds} s" if seconds else ""
    return _question(state, request, params, questions, why), ask


def _apart(said: str, name: str, fields: dict[str, list[str]]) -> str:
    """The question in words that no other has: an answer is kept by them, and two that look alike are still two."""
    said = f"{said} ({name})" if said in fields else said
    fields.setdefault(said, []).append(name)
    return said


def _choices(one: Json) -> tuple[Choice, ...]:
    return tuple(
        Choice(label=text(option, "label"), description=text(option, "description"))
        for option in objects(one, "options")
        if word(option, "label")
    )


def _question(state: State, request: str, params: Json, questions: tuple[Question, ...], why: str) -> DecisionAsked:
    header = questions[0].header or "A question"
    return DecisionAsked(
        request=request,
        kind=DecisionKind.QUESTION,
        title=header if len(questions) == 1 else f"{len(questions)} questions",
        call=word(params, "itemId"),
        subject="\n".join(one.text for one in questions),
        why=why,
        questions=questions,
        agent=speaker(state, params),
    )


def form(state: State, request: str, params: Json) -> tuple[DecisionAsked, Ask] | None:
    """A form of a tool server: each field is a question; one without fields asks for a yes. None: nobody would fill it
    in."""
    server, message = text(params, "serverName"), text(params, "message")
    properties = mapping(mapping(params, "requestedSchema"), "properties")
    if len(properties) > MOST_FIELDS:
        return None
    questions: list[Question] = []
    ask = ask_of("form", params, {})
    ask.cancel = _CANCEL_FORM
    for name, field in properties.items():
        if isinstance(field, dict):
            said = text(field, "title") or name
            said = f"{said}: {text(field, 'description')}" if word(field, "description") else said
            said = f"{said} ({name})" if said in ask.fields else said
            choices = tuple(Choice(label=label) for label in _options(field))
            questions.append(Question(text=said, header=server, choices=choices))
            ask.fields.setdefault(said, []).append(f"{text(field, 'type')}:{name}")
    if questions:
        return _question(state, request, params, tuple(questions), message), ask
    ask.kind = "permission"
    ask.answers = {
        "accept": '{"action":"accept","content":{}}',
        "decline": '{"action":"decline","content":null}',
        "cancel": ask.cancel,
    }
    offers = (
        Offer(id="accept", label="allow once", kind=OfferKind.ALLOW),
        Offer(id="decline", label="deny", kind=OfferKind.DENY),
        Offer(id="cancel", label="deny, and end the call", kind=OfferKind.DENY_STOP),
    )
    event = DecisionAsked(
        request=request,
        kind=DecisionKind.PERMISSION,
        title=f"{server} asks",
        tool=server or None,
        input=mapping(params, "_meta"),
        subject=message,
        agent=speaker(state, params),
        offers=offers,
    )
    return event, ask


def _options(field: Json) -> list[str]:
    if text(field, "type") == "boolean":
        return ["yes", "no"]
    return words(field, "enum") or [text(one, "const") for one in objects(field, "oneOf") if word(one, "const")]


def reply(ask: Ask, given: QuestionReply) -> str:
    note = given.note.strip()
    said: dict[str, list[str]] = {}
    for question, names in ask.fields.items():
        chosen = [label for label in given.answers.get(question, ()) if label.strip()]
        if note and not said:
            # It knows no note, so that one rides on the first answer.
            chosen = [*chosen, note] if ask.kind == "question" else chosen
        for name in names:
            said[name] = chosen
    if ask.kind == "question":
        return json.dumps({"answers": {name: {"answers": chosen} for name, chosen in said.items() if chosen}})
    content: Json = {}
    for place, chosen in said.items():
        kind, _, name = place.partition(":")
        if chosen:
            content[name] = _value(kind, ", ".join(chosen))
    return json.dumps({"action": "accept", "content": content} if content else {"action": "decline", "content": None})


def _value(kind: str, said: str) -> bool | int | float | str:
    if kind == "boolean":
        return said.strip().lower() in ("yes", "true", "y")
    if kind in ("integer", "number"):
        try:
            number = int(said) if kind == "integer" else float(said)
        except ValueError:
            return said
        return number if math.isfinite(number) else said  # what JSON has no word for
    return said
