"""Which turn a line belongs to, what it used, and how it ended.

The agent gives every turn an id of its own; ours are found in it by the answer to our request and by the name that our
message carries. Tokens are told as a thread's total, so what a turn used is what the total grew by.
"""

import json
import re
from collections.abc import Mapping
from typing import Final

from coordinator.drivers import codex_words
from coordinator.drivers.base import (
    ContextUsage,
    DecisionWithdrawn,
    Reply,
    TurnAccepted,
    TurnBegunByAgent,
    TurnResult,
    Usage,
)
from coordinator.drivers.codex_state import Flight, Held, Out, State, bound
from coordinator.drivers.json_fields import Json, mapping, objects, text, whole
from coordinator.drivers.jsonrpc import Failure
from coordinator.drivers.linedriver import KEPT, remember
from coordinator.prices import LARGEST, Tokens, count
from store.vocab import FailureKind, MicroUsd, TurnId, TurnResultKind

_STATUS: Final[Mapping[str, TurnResultKind]] = {
    "completed": TurnResultKind.SUCCESS,
    "interrupted": TurnResultKind.INTERRUPTED,
    "failed": TurnResultKind.ERROR,
}
_BY_WORD: Final[Mapping[str, FailureKind]] = {
    "contextWindowExceeded": FailureKind.CONTEXT_FULL,
    "sessionBudgetExceeded": FailureKind.BUDGET,
    "usageLimitExceeded": FailureKind.RATE_LIMITED,
    "rateLimitExceeded": FailureKind.RATE_LIMITED,
    "flexUnavailable": FailureKind.OVERLOADED,
    "serverOverloaded": FailureKind.OVERLOADED,
    "policyCapacityUnavailable": FailureKind.OVERLOADED,
    "modelNotFound": FailureKind.MODEL_NOT_FOUND,
    "unauthorized": FailureKind.AUTHENTICATION,
    "internalServerError": FailureKind.TRANSIENT,
    "badRequest": FailureKind.REFUSED,
    "cyberPolicy": FailureKind.REFUSED,
    "bioPolicy": FailureKind.REFUSED,
    "misalignmentPolicyViolation": FailureKind.REFUSED,
    "tooManyDenials": FailureKind.REFUSED,
    "inferenceHookDenied": FailureKind.REFUSED,
}
_BY_STATUS: Final[Mapping[int, FailureKind]] = {
    401: FailureKind.AUTHENTICATION,
    402: FailureKind.BILLING,
    403: FailureKind.AUTHENTICATION,
    404: FailureKind.MODEL_NOT_FOUND,
    429: FailureKind.RATE_LIMITED,
    529: FailureKind.OVERLOADED,
}
_BY_TEXT: Final = (
    (re.compile(r"insufficient_quota|billing|payment", re.IGNORECASE), FailureKind.BILLING),
    (re.compile(r"model\b.*(not found|does not exist)|model_not_found", re.IGNORECASE), FailureKind.MODEL_NOT_FOUND),
    (re.compile(r"context_length_exceeded|context window", re.IGNORECASE), FailureKind.CONTEXT_FULL),
    (
        re.compile(r"\b401\b|unauthorized|invalid_api_key|not logged in|login", re.IGNORECASE),
        FailureKind.AUTHENTICATION,
    ),
    (re.compile(r"rate.?limit|\b429\b", re.IGNORECASE), FailureKind.RATE_LIMITED),
    (re.compile(r"disconnected|connection|sending request|timed? ?out", re.IGNORECASE), FailureKind.TRANSIENT),
)
"""Where the agent says only that it is none of its kinds."""


# --------------------------------------------------------------------------------------------------------- beginnings


def unclaimed(state: State) -> list[str]:
    """Our turns that are in none of the agent's yet."""
    claimed = {ours for flight in state.flights.values() for ours in flight.ours}
    return [turn for turn in state.sent if turn not in claimed]


def _flight(state: State, native: str) -> Flight:
    flight = state.flights.setdefault(native, Flight())
    bound(state.flights, KEPT, keep=native)
    return flight


def begun(state: State, native: str, out: Out) -> None:
    """The agent says that a turn of its began."""
    if not native or native in state.settled:
        return
    _withdrawn(state, out)
    flight = _flight(state, native)
    flight.begun = True
    for turn in flight.ours:
        out.append(TurnAccepted(turn=TurnId(turn)))
    _nobodys(state, out)
    _interrupt_now(state, native, out)


def claimed(state: State, native: str, ours: str, out: Out) -> None:
    """Ours is in that turn of the agent's: its answer, or our name on the message, says so."""
    if not native or not ours or ours in state.settled:
        return
    if ours not in state.sent:
        state.sent.append(ours)
        del state.sent[:-KEPT]
    if native in state.settled:
        return
    flight = _flight(state, native)
    if ours not in flight.ours:
        flight.ours.append(ours)
        if flight.begun:
            out.append(TurnAccepted(turn=TurnId(ours)))
    _nobodys(state, out)
    _interrupt_now(state, native, out)


def _nobodys(state: State, out: Out) -> None:
    """With none of ours on its way, a turn that began and has none of ours is the agent's own."""
    if unclaimed(state):
        return
    for flight in state.flights.values():
        if flight.begun and not flight.ours and not flight.by_agent:
            flight.by_agent = True
            out.append(TurnBegunByAgent(why="it went on by itself"))


def _interrupt_now(state: State, native: str, out: Out) -> None:
    if state.interrupt_next and state.flights[native].begun:
        state.interrupt_next = False
        id = codex_words.INTERRUPT + native
        out.append(Reply(id=id, data=codex_words.interrupt(id, state.thread, native), why="interrupt"))


def not_begun(state: State, ours: str, failure: Failure, out: Out) -> None:
    """The agent would not take the message."""
    if ours in state.settled:
        return
    _settle(state, "", [ours])
    out.append(
        TurnResult(
            turns=(TurnId(ours),),
            kind=TurnResultKind.ERROR,
            subtype="not-begun",
            cumulative=None,
            marginal=MicroUsd(0),
            failure=failure_kind({"message": failure.message}),
            failure_text=failure.message,
        )
    )


# ------------------------------------------------------------------------------------------------------------- tokens


def used(held: Held, params: Json, out: Out) -> None:
    """A thread's total was told; it is told again without a change, and of an old turn when a thread is resumed."""
    state = held.state
    thread, native = text(params, "threadId"), text(params, "turnId")
    told = mapping(params, "tokenUsage")
    last, total = _parts(mapping(told, "last")), _parts(mapping(told, "total"))
    before = state.totals.get(thread)
    state.totals[thread] = total
    bound(state.totals, keep=state.thread)
    flight = state.flights.get(native)
    if flight is None and thread != state.thread:
        # A sub-agent's turn is not ours to follow; what it uses counts with the turn that works.
        flight = next(iter(state.flights.values()), None)
    if before is None:
        grown = last if flight is not None else [0, 0, 0, 0]
    elif all(now >= was for now, was in zip(total, before, strict=True)):
        grown = [now - was for now, was in zip(total, before, strict=True)]
    else:
        grown = last
    if any(grown) or (flight is not None and not flight.tokens and before is None):
        tokens = state.late if flight is None else flight.tokens
        _add(tokens, state.model, grown)
    if thread == state.thread:
        size = whole(told, "modelContextWindow")
        out.append(ContextUsage(used=count(mapping(told, "last").get("totalTokens")), size=size))


def _add(tokens: dict[str, list[int]], model: str, more: list[int]) -> None:
    """Bounded, as each count is: what an agent tells without end must still fit into the ledger."""
    if model not in tokens and len(tokens) >= KEPT:
        model = next(iter(tokens))
    have = tokens.get(model, [0, 0, 0, 0])
    tokens[model] = [min(a + b, LARGEST) for a, b in zip(have, more, strict=True)]


def _parts(told: Json) -> list[int]:
    """Input tells what caches had and took as parts of itself."""
    read, written = count(told.get("cachedInputTokens")), count(told.get("cacheWriteInputTokens"))
    fresh = max(0, count(told.get("inputTokens")) - read - written)
    return [fresh, read, written, count(told.get("outputTokens"))]


def _cost(held: Held, by_model: dict[str, list[int]]) -> MicroUsd | None:
    """None: nothing was told, or nobody said what the model costs."""
    money = 0
    for model, (fresh, read, written, said) in by_model.items():
        cost = held.prices.cost(model, Tokens(fresh=fresh, read=read, written=written, said=said))
        if cost is None:
            return None
        money += cost
    return MicroUsd(money) if by_model else None


# --------------------------------------------------------------------------------------------------------------- ends


def ended(held: Held, turn: Json, out: Out) -> None:
    state = held.state
    native, status = text(turn, "id"), text(turn, "status")
    if not native or native in state.settled:
        return
    flight = state.flights.pop(native, None) or Flight()
    if not flight.ours and not flight.by_agent:
        # It ended before its beginning could be told apart: then it is the one of ours that was on its way.
        flight.ours = unclaimed(state)[:1]
        flight.begun = False
    if not flight.begun:
        out.extend(TurnAccepted(turn=TurnId(ours)) for ours in flight.ours)
    by_model = dict(flight.tokens)
    for model, late in state.late.items():
        _add(by_model, model, late)
    state.late = {}
    kind = _STATUS.get(status, TurnResultKind.ERROR)
    error = mapping(turn, "error") or (json.loads(flight.failure) if flight.failure else {})
    failed = kind is TurnResultKind.ERROR
    failure = failure_kind(error) if failed else None
    said = [text(item, "text") for item in objects(turn, "items") if text(item, "type") == "agentMessage"]
    parts = [sum(numbers) for numbers in zip(*by_model.values(), strict=True)] if by_model else None
    out.append(
        TurnResult(
            turns=tuple(TurnId(ours) for ours in flight.ours),
            kind=kind,
            subtype=status or "unknown",
            cumulative=None,
            marginal=_cost(held, by_model),
            estimated=True,
            usage=Usage()
            if parts is None
            else Usage(
                input_tokens=parts[0], cache_read_tokens=parts[1], cache_write_tokens=parts[2], output_tokens=parts[3]
            ),
            duration_ms=whole(turn, "durationMs"),
            text=said[-1] if said else flight.text,
            failure=failure,
            failure_text=failure_text(error) if failed else "",
            resets_at=state.resets_at if failure is FailureKind.RATE_LIMITED else None,
            by_agent=flight.by_agent and not flight.ours,
        )
    )
    _settle(state, native, flight.ours)
    state.interrupt_next = False


def _settle(state: State, native: str, ours: list[str]) -> None:
    for turn in ours:
        if turn in state.sent:
            state.sent.remove(turn)
        remember(state.settled, turn)
    if native:
        remember(state.settled, native)


def _withdrawn(state: State, out: Out) -> None:
    """A request cannot outlive its turn. The agent says so of each a moment after the end; of those of which it did
    not, it is said when the next turn begins. What was answered meanwhile plays no part: events follow from what is
    read alone."""
    for request, ask in list(state.asks.items()):
        if ask.turn in state.settled:
            del state.asks[request]
            out.append(DecisionWithdrawn(request=request, why="the turn ended"))


def failure_kind(error: Json) -> FailureKind:
    """The kind of an error as the agent tells it: a word, or an object of one key with an HTTP status."""
    info = error.get("codexErrorInfo")
    if isinstance(info, dict) and info:
        name, more = next(iter(info.items()))
        status = whole(more, "httpStatusCode") if isinstance(more, dict) else None
        if status is not None:
            return _BY_STATUS.get(status, FailureKind.TRANSIENT if status >= 500 else FailureKind.UNKNOWN)
        return _BY_WORD.get(name, FailureKind.TRANSIENT)
    said = f"{text(error, 'message')} {text(error, 'additionalDetails')}"
    if isinstance(info, str) and info in _BY_WORD:
        # An account that has run dry is told like one that must wait; waiting would not help it.
        dry = info == "usageLimitExceeded" and _BY_TEXT[0][0].search(said)
        return FailureKind.BILLING if dry else _BY_WORD[info]
    return next((kind for pattern, kind in _BY_TEXT if pattern.search(said)), FailureKind.UNKNOWN)


def failure_text(error: Json) -> str:
    """The agent's own words; a provider's JSON is opened for its message."""
    message = text(error, "message")
    try:
        told = json.loads(message)
    except (ValueError, RecursionError):
        told = None
    if isinstance(told, dict):
        message = text(mapping(told, "error"), "message") or text(told, "message") or message
    more = text(error, "additionalDetails")
    return f"{message}: {more}" if more and more not in message else message
