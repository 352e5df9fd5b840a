"""Reads a ``result`` line: how a turn ended, what it cost, why it failed. No state is changed here."""

from collections.abc import Mapping
from decimal import Decimal

from coordinator.drivers.base import Usage
from coordinator.drivers.json_fields import Json, mapping, text, whole, words
from coordinator.drivers.money import micro_usd
from store.vocab import FailureKind, MicroUsd, TurnResultKind

_BY_CLASS: Mapping[str, FailureKind] = {
    "authentication_failed": FailureKind.AUTHENTICATION,
    "oauth_org_not_allowed": FailureKind.AUTHENTICATION,
    "verification_required": FailureKind.AUTHENTICATION,
    "cloud_credential_error": FailureKind.AUTHENTICATION,
    "account_on_hold": FailureKind.BILLING,
    "billing_error": FailureKind.BILLING,
    "rate_limit": FailureKind.RATE_LIMITED,
    "overloaded": FailureKind.OVERLOADED,
    "server_error": FailureKind.TRANSIENT,
    "model_not_found": FailureKind.MODEL_NOT_FOUND,
    "invalid_request": FailureKind.REFUSED,
}
_CONTEXT_FULL = frozenset({"prompt_too_long", "blocking_limit", "rapid_refill_breaker"})


def marginal_of(line: Json) -> MicroUsd | None:
    """The turn's own cost, where the agent tells usage since its last result (the newer generation)."""
    models = line.get("model_usage_since_last_result")
    if not isinstance(models, dict):
        return None
    total = Decimal(0)
    for usage in models.values():
        cost = usage.get("costUSD") if isinstance(usage, dict) else None
        if micro_usd(cost) is None:
            return None
        total += Decimal(str(cost))
    return micro_usd(str(total))


def usage_of(line: Json) -> Usage:
    usage = mapping(line, "usage")
    return Usage(
        input_tokens=whole(usage, "input_tokens"),
        output_tokens=whole(usage, "output_tokens"),
        cache_read_tokens=whole(usage, "cache_read_input_tokens"),
        cache_write_tokens=whole(usage, "cache_creation_input_tokens"),
    )


def kind_of(line: Json) -> TurnResultKind:
    if text(line, "terminal_reason").startswith("aborted_"):
        return TurnResultKind.INTERRUPTED
    # An API failure says ``subtype: success`` with ``is_error``: the subtype alone settles nothing.
    if line.get("is_error") is False and text(line, "subtype") == "success":
        return TurnResultKind.SUCCESS
    return TurnResultKind.ERROR


def failure_text_of(line: Json) -> str:
    errors = words(line, "errors")
    return "; ".join(errors) if errors else text(line, "result")


def failure_of(line: Json, error: str, error_status: int | None) -> FailureKind:
    """Why an error result failed. ``error``: the class on the agent's message before it, which says more."""
    subtype, reason = text(line, "subtype"), text(line, "terminal_reason")
    if subtype == "error_max_budget_usd" or reason == "budget_exhausted":
        return FailureKind.BUDGET
    if subtype == "error_max_turns" or reason == "max_turns":
        return FailureKind.MAX_TURNS
    said = failure_text_of(line)
    status = whole(line, "api_error_status")
    status = error_status if status is None else status
    if reason in _CONTEXT_FULL or said.lower().startswith("prompt is too long"):
        return FailureKind.CONTEXT_FULL
    if status == 529 or "overloaded" in said.lower()[:200]:
        return FailureKind.OVERLOADED
    if text(line, "stop_reason") == "refusal":
        return FailureKind.REFUSED
    known = _BY_CLASS.get(error)
    if known is not None:
        return known
    if status is not None:
        if status in (401, 403):
            return FailureKind.AUTHENTICATION
        if status == 429:
            return FailureKind.RATE_LIMITED
        return FailureKind.TRANSIENT if status >= 500 else FailureKind.REFUSED
    if said.startswith(("API Error", "Connection dropped", "Unable to connect")):
        return FailureKind.TRANSIENT
    return FailureKind.UNKNOWN


def windows_of(line: Json) -> dict[str, int]:
    """Context window by model, as the result tells it."""
    found: dict[str, int] = {}
    for model, usage in mapping(line, "modelUsage").items():
        size = whole(usage, "contextWindow") if isinstance(usage, dict) else None
        if size:
            found[model] = size
    return found


def window_for(model: str, windows: Mapping[str, int]) -> int | None:
    """The window of ``model``; a result may name it with a suffix (``…[1m]``) that its messages lack."""
    if model in windows:
        return windows[model]
    longer = [size for name, size in windows.items() if model and name.startswith(model)]
    if longer:
        return longer[0]
    return next(iter(windows.values())) if len(windows) == 1 else None


def context_tokens(usage: Json) -> int | None:
    """What the request carried: fresh, read from and written to the cache. The answer itself is not in it yet."""
    fresh = whole(usage, "input_tokens")
    if fresh is None:
        return None
    cached = (whole(usage, "cache_read_input_tokens") or 0) + (whole(usage, "cache_creation_input_tokens") or 0)
    return fresh + cached or None
