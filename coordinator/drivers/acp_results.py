"""Reads how a prompt ended: the agent's word for it, what it used, what it cost, why it failed.

The state changed here is only what was counted up to this result.
"""

import json
import re
from collections.abc import Mapping
from typing import Final

from coordinator.drivers.acp_agents import Scope, Ways
from coordinator.drivers.acp_state import State, Tokens
from coordinator.drivers.base import Usage
from coordinator.drivers.json_fields import Json, mapping, text, whole
from coordinator.drivers.jsonrpc import Failure
from store.vocab import FailureKind, MicroUsd, TurnResultKind

AUTH_REQUIRED: Final = -32000

_ENDS: Final[Mapping[str, tuple[TurnResultKind, FailureKind | None, str]]] = {
    "end_turn": (TurnResultKind.SUCCESS, None, ""),
    "cancelled": (TurnResultKind.INTERRUPTED, None, ""),
    "max_tokens": (TurnResultKind.ERROR, FailureKind.UNKNOWN, "the model's answer reached its limit of tokens"),
    "max_turn_requests": (TurnResultKind.ERROR, FailureKind.MAX_TURNS, "the agent reached its limit of model calls"),
    "refusal": (TurnResultKind.ERROR, FailureKind.REFUSED, "the model refused to go on"),
}

_STATUS: Final = re.compile(r"\b([45]\d\d)\b")
_BY_STATUS: Final[Mapping[int, FailureKind]] = {
    401: FailureKind.AUTHENTICATION,
    402: FailureKind.BILLING,
    403: FailureKind.AUTHENTICATION,
    404: FailureKind.MODEL_NOT_FOUND,
    413: FailureKind.CONTEXT_FULL,
    429: FailureKind.RATE_LIMITED,
    503: FailureKind.OVERLOADED,
    529: FailureKind.OVERLOADED,
}
_BY_WORDS: Final[tuple[tuple[re.Pattern[str], FailureKind], ...]] = tuple(
    (re.compile(words, re.IGNORECASE), kind)
    for words, kind in (
        (
            r"context.{0,20}(?:length|window|limit|full|exhausted)|prompt is too long|maximum context|too many tokens",
            FailureKind.CONTEXT_FULL,
        ),
        (
            r"insufficient.?quota|billing|payment|credit balance|out of credits|budget_exhausted",
            FailureKind.BILLING,
        ),
        (r"rate.?limit|too many requests|resource.?exhausted|usage limit|quota", FailureKind.RATE_LIMITED),
        (r"overloaded|at capacity|service unavailable", FailureKind.OVERLOADED),
        (
            r"unauthenticated|unauthorized|authenticat|api.?key|(?:bad|wrong|incorrect) key|not (?:logged|signed) in|"
            r"log ?in (?:first|again)|sign ?in|invalid.{0,12}token|expired.{0,12}token|permission.?denied",
            FailureKind.AUTHENTICATION,
        ),
        (
            r"model.{0,80}(?:not found|does not exist|not supported|not available)|(?:unknown|no such|invalid) model|"
            r"model_not_found",
            FailureKind.MODEL_NOT_FOUND,
        ),
        (
            r"timed? ?out|econn|enotfound|fetch failed|network|socket|connection|server.?error|internal_server|"
            r"bad gateway|transport_lost",
            FailureKind.TRANSIENT,
        ),
        (r"content.?policy|safety", FailureKind.REFUSED),
    )
)
_MOST_TEXT: Final = 4_000


def end_of(reason: str) -> tuple[TurnResultKind, FailureKind | None, str]:
    """What a stop reason comes to. One that is not known is no success: the word is kept, and a person looks."""
    known = _ENDS.get(reason)
    if known is not None:
        return known
    said = f"the agent stopped for a reason of its own: {reason[:100]}" if reason else "the agent did not say why"
    return TurnResultKind.ERROR, FailureKind.UNKNOWN, said


def failure_text(failure: Failure) -> str:
    """All that the agent said of it, its details last; a generic message adds nothing to them."""
    parts = [in_words(part) for part in _parts(failure)]
    if len(parts) > 1 and parts[0].strip().lower().rstrip(".") == "internal error":
        parts = parts[1:]
    said = [part for n, part in enumerate(parts) if part and not any(part in other for other in parts[:n])]
    return "; ".join(said)[:_MOST_TEXT] or f"error {failure.code}"


def in_words(said: str) -> str:
    """What a service's answer, passed on as it came, says to a person; all else is said as it is."""
    try:
        told = json.loads(said) if said.lstrip()[:1] == "{" else None
    except (ValueError, RecursionError):
        return said
    if not isinstance(told, dict):
        return said
    return text(mapping(told, "error"), "message") or text(told, "message") or said


def _parts(failure: Failure) -> list[str]:
    parts = [failure.message]
    for key in ("details", "message", "reason", "error", "data", "uri"):
        value = failure.data.get(key)
        if value:
            parts.append(value if isinstance(value, str) else json.dumps(value))
    return parts


def failure_kind(failure: Failure) -> FailureKind:
    if failure.code == AUTH_REQUIRED:
        return FailureKind.AUTHENTICATION
    return kind_of_text(f"{failure.code} {text(failure.data, 'errorKind')} {' '.join(_parts(failure))}")


def kind_of_text(said: str) -> FailureKind:
    """What a failure in words is: by the words that services use, then by the status that they carry."""
    said = said[:_MOST_TEXT]
    for pattern, kind in _BY_WORDS:
        if pattern.search(said):
            return kind
    found = _STATUS.search(said)
    if found is None:
        return FailureKind.UNKNOWN
    status = int(found.group(1))
    known = _BY_STATUS.get(status)
    if known is not None:
        return known
    # A request that the service did not take is no refusal of the model's: its own words say most.
    return FailureKind.TRANSIENT if status >= 500 else FailureKind.UNKNOWN


# ------------------------------------------------------------------------------------------------------ usage and cost


def usage_of(state: State, ways: Ways, result: Json, *, interrupted: bool) -> Usage:
    """What the turn used. A turn that was cut off tells nothing, or zeros: that is unknown, not none."""
    told = _told(state, result)
    state.turn_tokens = None
    if told is None or (interrupted and not (told.input or told.output)):
        return Usage()
    if ways.usage is Scope.SESSION:
        before, state.session_tokens = state.session_tokens, told
        if before is None and state.went_on:
            return Usage()
        told = _less(told, before or Tokens())
    elif ways.usage is Scope.LAST and state.turn_tools:
        # After a tool the model was called again.
        return Usage()
    return Usage(
        input_tokens=told.input,
        output_tokens=told.output,
        cache_read_tokens=told.cache_read,
        cache_write_tokens=told.cache_write,
    )


def says_nothing_was_used(result: Json) -> bool:
    """It tells the turn's use, as zero."""
    told = tokens_of(mapping(result, "usage"))
    return told is not None and not (told.input or told.output or told.cache_read)


def tokens_of(usage: Json) -> Tokens | None:
    found = Tokens(
        input=_natural(usage, "inputTokens"),
        output=_natural(usage, "outputTokens"),
        cache_read=_natural(usage, "cachedReadTokens"),
        cache_write=_natural(usage, "cachedWriteTokens"),
    )
    return None if found.input is None and found.output is None else found


def add_tokens(before: Tokens | None, more: Tokens) -> Tokens:
    if before is None:
        return more
    return Tokens(
        input=_sum(before.input, more.input),
        output=_sum(before.output, more.output),
        cache_read=_sum(before.cache_read, more.cache_read),
        cache_write=_sum(before.cache_write, more.cache_write),
    )


def cost_of(state: State, *, interrupted: bool) -> MicroUsd | None:
    """The turn's own cost, where the agent tells what the session has cost; None: not known.

    Not known is also a first turn of a conversation that goes on (nobody told where it began), a sum that fell, and
    nothing at all for a turn that was cut off: what the model had said by then was paid for, and not told.
    """
    before, now = state.cost_settled, state.cost
    if now is None:
        return None
    state.cost_settled = now
    if before is None or now < before:
        return None
    if now == before and interrupted:
        return None
    return MicroUsd(now - before)


def _told(state: State, result: Json) -> Tokens | None:
    told = tokens_of(mapping(result, "usage"))
    if told is not None:
        return told
    if state.turn_tokens is not None:
        return state.turn_tokens
    counted = mapping(mapping(mapping(result, "_meta"), "quota"), "token_count")
    found = Tokens(input=_natural(counted, "input_tokens"), output=_natural(counted, "output_tokens"))
    return None if found.input is None and found.output is None else found


def _natural(obj: Json, key: str) -> int | None:
    value = whole(obj, key)
    return value if value is not None and value >= 0 else None


def _sum(a: int | None, b: int | None) -> int | None:
    return b if a is None else a if b is None else min(a + b, 2**53)


def _less(now: Tokens, before: Tokens) -> Tokens:
    def minus(a: int | None, b: int | None) -> int | None:
        return None if a is None or (b or 0) > a else a - (b or 0)

    return Tokens(
        input=minus(now.input, before.input),
        output=minus(now.output, before.output),
        cache_read=minus(now.cache_read, before.cache_read),
        cache_write=minus(now.cache_write, before.cache_write),
    )
