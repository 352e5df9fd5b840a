"""Agent events as the ledger keeps them: a kind, and a body of canonical JSON that was redacted before it was text.

Hashes are taken over what comes out of here, and old ledgers are read through here, so the kinds in ``KINDS`` are
never renamed and ``decode`` never raises: what it cannot read comes back whole, as ``Unknown``. Redaction goes over
the values and not over the finished JSON, where an escape could hide a secret and a replacement could break the
syntax. Nothing here knows which secrets there are, nor where a body is stored.
"""

from collections.abc import Callable, Mapping
from enum import Enum
from typing import Any, Final, TypeVar, cast, get_type_hints

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from coordinator.drivers import base
from coordinator.drivers.base import AgentEvent
from coordinator.longtexts import FIELD_OF, LONG, with_text
from store.canonical import dumps, long_string

Redact = Callable[[str], str]
E = TypeVar("E")

_HOLE: Final = "\x00 the long text \x00"
DEEPEST: Final = 120
"""Levels of nesting kept: far beyond any tool's input, and far from the interpreter's limit."""
TOO_DEEP: Final = "(nested too deep to keep)"

KINDS: Final[Mapping[str, type]] = {
    "session-ready": base.SessionReady,
    "conversation-changed": base.ConversationChanged,
    "mode-changed": base.ModeChanged,
    "model-changed": base.ModelChanged,
    "turn-accepted": base.TurnAccepted,
    "turn-begun-by-agent": base.TurnBegunByAgent,
    "text-delta": base.TextDelta,
    "text": base.TextBlock,
    "thought-delta": base.ThoughtDelta,
    "thought": base.ThoughtBlock,
    "tool-started": base.ToolStarted,
    "tool-finished": base.ToolFinished,
    "plan": base.PlanUpdated,
    "background": base.BackgroundChanged,
    "context": base.ContextUsage,
    "compacted": base.Compacted,
    "decision-asked": base.DecisionAsked,
    "decision-withdrawn": base.DecisionWithdrawn,
    "decision-resolved": base.DecisionResolved,
    "limit": base.LimitNotice,
    "retry": base.RetryNotice,
    "notice": base.Notice,
    "result": base.TurnResult,
    "control-acked": base.ControlAcked,
    "idle": base.Idle,
    "screen-waits": base.ScreenWaits,
    "reply": base.Reply,
    "cannot-start": base.CannotStart,
    "stderr": base.Stderr,
    "unknown": base.Unknown,
    "protocol-fault": base.ProtocolFault,
}

_KIND_OF: Final = {cls: kind for kind, cls in KINDS.items()}
_DECODERS: Final[dict[str, msgspec.json.Decoder[Any]]] = {
    kind: msgspec.json.Decoder(cls) for kind, cls in KINDS.items()
}


def encode(event: AgentEvent, redact: Redact) -> tuple[str, str]:
    """Kind and body, every string in it redacted."""
    return spelled(redacted(event, redact))


def spelled(event: AgentEvent) -> tuple[str, str]:
    """Kind and body of an event that was redacted already."""
    kind = _KIND_OF[type(event)]
    field = FIELD_OF.get(kind)
    if field is None or len(getattr(event, field)) <= LONG:
        return kind, dumps(event)
    # A very long text is written by slices: in one go it holds the interpreter's lock for a tenth of a second.
    before, found, after = dumps(with_text(event, _HOLE)).partition(dumps(_HOLE))
    return kind, "".join([before, *long_string(getattr(event, field)), after]) if found else dumps(event)


def decode(kind: str, body: str) -> AgentEvent:
    decoder = _DECODERS.get(kind)
    if decoder is None:
        return base.Unknown(raw=body)
    try:
        return cast(AgentEvent, decoder.decode(body))
    except (msgspec.DecodeError, UnicodeEncodeError, RecursionError):
        return base.Unknown(raw=body)


def redacted(event: E, redact: Redact) -> E:
    """The same event with every string in it redacted, keys included; the very same object where nothing was found."""
    plain, nested = _fields_of(type(event))
    changes: dict[str, Any] = {}
    for name in plain:
        was = getattr(event, name)
        if was:  # the empty string and None hold no secret; half of an event's fields are one of the two
            now = redact(was)
            if now is not was and now != was:
                changes[name] = now
    for name in nested:
        was = getattr(event, name)
        if was:
            now = _walk(was, redact, 1)
            if now is not was:
                changes[name] = now
    if not changes:
        return event
    return cast(E, replace(cast(Any, event), **changes))


_CACHE: Final[dict[type, tuple[tuple[str, ...], tuple[str, ...]]]] = {}


def _fields_of(cls: type) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Names of the fields that are plain text, and of those that hold text somewhere inside."""
    known = _CACHE.get(cls)
    if known is None:
        hints = get_type_hints(cls)
        names = cls.__struct_fields__  # type: ignore[attr-defined]  # every event, and what it is made of, is a Struct
        plain = tuple(name for name in names if _text(hints[name]))
        inert = {int, float, bool, bytes}
        nested = tuple(n for n in names if n not in plain and hints[n] not in inert and not _enum(hints[n]))
        known = _CACHE[cls] = (plain, nested)
    return known


def _text(hint: Any) -> bool:
    hint = getattr(hint, "__supertype__", hint)
    return hint is str or hint == (str | None)


def _enum(hint: Any) -> bool:
    return isinstance(hint, type) and issubclass(hint, Enum)


def _walk(value: Any, redact: Redact, depth: int) -> Any:
    kind = type(value)
    if kind is str:
        return redact(value)
    if kind is dict:
        return _walk_mapping(value, redact, depth)
    if kind is tuple or kind is list:
        if depth > DEEPEST:
            return TOO_DEEP
        items = [_walk(item, redact, depth + 1) for item in value]
        if all(now is was for now, was in zip(items, value, strict=True)):
            return value
        return tuple(items) if kind is tuple else items
    if isinstance(value, Struct):
        return redacted(value, redact)
    return value  # numbers, None and our own enums: no agent chose their spelling


def _walk_mapping(value: dict[str, Any], redact: Redact, depth: int) -> dict[str, Any] | str:
    if depth > DEEPEST:
        return TOO_DEEP
    out: dict[str, Any] = {}
    changed = False
    for key, item in value.items():
        new_key = redact(key) if key else key
        new_item = _walk(item, redact, depth + 1)
        if new_key is not key or new_item is not item:
            changed = True
        if new_key in out:  # two secret keys that now look alike: both values stay
            new_key = f"{new_key} ({len(out)})"
        out[new_key] = new_item
    return out if changed else value
