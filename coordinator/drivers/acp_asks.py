"""What an agent asks on the Agent Client Protocol: permissions with options of its own, forms, and questions in either.

What is offered of an agent's options is decided here and nowhere else: nothing that outlives the run, nothing that lets
a model decide. Also how an answer is written, and what becomes of requests that nobody answers.
"""

from typing import Final

from coordinator.drivers import acp_questions, acp_tools, jsonrpc
from coordinator.drivers.acp_acts import act_of
from coordinator.drivers.acp_agents import Ways, is_for_run
from coordinator.drivers.acp_state import Ask, State, Tool
from coordinator.drivers.base import (
    AgentEvent,
    Answer,
    DecisionAsked,
    DecisionResolved,
    DecisionWithdrawn,
    Offer,
    OfferKind,
)
from coordinator.drivers.json_fields import Json, mapping, objects, text, word
from store.vocab import DecisionKind

Out = list[AgentEvent]

_TITLES: Final = {
    "execute": "Run a command?",
    "edit": "Edit a file?",
    "delete": "Delete a file?",
    "move": "Move a file?",
    "read": "Read a file?",
    "search": "Search?",
    "fetch": "Fetch a page?",
    "switch_mode": "Approve this plan?",
}


# -------------------------------------------------------------------------------------------------------- permissions


def permission(state: State, ways: Ways, request: jsonrpc.Request, out: Out) -> bool:
    told = mapping(request.params, "toolCall")
    name = jsonrpc.key(request.id)
    call = text(told, "toolCallId")
    # Some tell nothing of the call before, some nothing in the request.
    tool = acp_tools.join(state, call, told) if call else Tool()
    options = objects(request.params, "options")
    if (asked := acp_questions.inner(told)) is not None:
        acp_questions.ask_inner(state, name, call, asked, options, out)
        return True
    offers = _offers(ways, tool, options)
    if call:
        acp_tools.start(state, call, out)
    state.asks[name] = Ask(
        kind="permission",
        call=call,
        options={text(option, "optionId"): text(option, "kind") for option in options if word(option, "optionId")},
    )
    out.append(
        DecisionAsked(
            request=name,
            kind=DecisionKind.PERMISSION,
            title=_TITLES.get(tool.kind) or f"Use {acp_tools.name_of(tool)}?",
            tool=acp_tools.name_of(tool),
            call=call or None,
            input=acp_tools.input_of(tool),
            subject=acp_tools.subject_of(tool),
            why=_why(tool),
            offers=offers,
            act=act_of(tool),
        )
    )
    acp_tools.requested(tool)
    return True


def _offers(ways: Ways, tool: Tool, options: list[Json]) -> tuple[Offer, ...]:
    kinds = {text(option, "kind") for option in options}
    offers: list[Offer] = []
    for option in options:
        id, kind = text(option, "optionId"), text(option, "kind")
        label = text(option, "name") or id
        if not id:
            continue
        if kind == "allow_always":
            # A wider option that is a mode in which nobody is asked would be taken back at once.
            mode = tool.kind == "switch_mode" or (ways.edits_by_mode and tool.kind in ("edit", "delete", "move"))
            if not mode and is_for_run(ways, id, label):
                offers.append(Offer(id=id, label=label, kind=OfferKind.ALLOW_RUN, covers=_covers(option, label)))
        elif kind == "allow_once":
            offers.append(Offer(id=id, label=label, kind=OfferKind.ALLOW))
        elif kind == "reject_once" or (kind == "reject_always" and "reject_once" not in kinds):
            ends = ways.no_ends_turn or tool.kind == "switch_mode"
            offers.append(Offer(id=id, label=label, kind=OfferKind.DENY_STOP if ends else OfferKind.DENY))
    if all(offer.kind in (OfferKind.ALLOW, OfferKind.ALLOW_RUN) for offer in offers):
        # The protocol has a no of its own, which every agent must take.
        offers.append(Offer(id=acp_questions.CANCEL, label="Cancel it", kind=OfferKind.DENY_STOP))
    return tuple(offers)


def _covers(option: Json, label: str) -> str:
    patterns = objects(mapping(option, "_meta"), "required_permissions")
    said = [text(one, "label") or text(one, "session_pattern") for one in patterns]
    return ", ".join(one for one in said if one) or label


def _why(tool: Tool) -> str:
    given = acp_tools.input_of(tool)
    shown = acp_tools.subject_of(tool)
    parts = [text(given, key) for key in ("reason", "description", "explanation", "justification")]
    if not tool.diffs:
        parts.append(tool.text)
    return " · ".join(dict.fromkeys(part.strip() for part in parts if part.strip() and part.strip() not in shown))


# ------------------------------------------------------------------------------------------------------------ answers


def answer(ask: Ask | None, request: str, given: Answer) -> bytes:
    """The line that answers it. A request that is not known any more is cancelled: no answer is ever guessed."""
    if ask is None:
        body = acp_questions.CANCELLED
    elif ask.kind == "form":
        body = acp_questions.form_answer(ask, given)
    elif ask.kind == "questions":
        body = acp_questions.inner_answer(ask, given)
    else:
        chosen = acp_questions.option(ask, given)
        body = {"outcome": {"outcome": "selected", "optionId": chosen}} if chosen else acp_questions.CANCELLED
    return jsonrpc.result(jsonrpc.from_key(request), body, versioned=True)


def cancelled(ask: Ask, request: str) -> bytes:
    body: Json = {"action": "cancel"} if ask.kind == "form" else acp_questions.CANCELLED
    return jsonrpc.result(jsonrpc.from_key(request), body, versioned=True)


# ------------------------------------------------------------------------------------------------- what becomes of them


def withdrawn(state: State, params: Json, out: Out) -> bool:
    """``$/cancel_request``: the agent waits no longer."""
    id = params.get("requestId")
    if isinstance(id, bool) or not isinstance(id, str | int):
        return False
    name = jsonrpc.key(id)
    if state.asks.pop(name, None) is not None:
        out.append(DecisionWithdrawn(request=name, why="the agent took the question back"))
    return True


def call_ended(state: State, call: str, out: Out) -> None:
    """The asked call has ended: whatever was answered has arrived."""
    for name, ask in list(state.asks.items()):
        if call and ask.call == call:
            del state.asks[name]
            out.append(DecisionResolved(request=name, accepted=True))


def turn_ended(state: State, out: Out) -> None:
    """An agent that waits for an answer ends no turn: it has been answered, by this console or the one before."""
    for name in list(state.asks):
        del state.asks[name]
        out.append(DecisionResolved(request=name, accepted=True))


def taken(state: State, request: str) -> None:
    """It was answered: an interrupt or a farewell does not answer it a second time."""
    ask = state.asks.get(request)
    if ask is not None:
        ask.answered = True
