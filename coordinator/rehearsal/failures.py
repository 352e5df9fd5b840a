"""How a pretended call to a model fails: the retries that are told, and the words that the real agent ends with.

A table, because each failure was measured; a driver's classification is tested against exactly these spellings.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from coordinator.rehearsal.session import Session

RETRY_SECONDS = 0.5


class Failure(Exception):
    """The call failed for good; the turn ends with it."""

    def __init__(self, *, text: str, error: str, status: int | None, reason: str = "api_error") -> None:
        super().__init__(text)
        self.text = text
        self.error = error
        self.status = status
        self.reason = reason


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    text: str
    error: str
    retries: str | None = None
    """The word for it in `api_retry`; None: not retried."""
    reason: str = "api_error"


KNOWN: Mapping[int | str, Known] = {
    401: Known(
        text="Failed to authenticate. API Error: 401", error="authentication_failed", retries="authentication_failed"
    ),
    403: Known(text="Failed to authenticate. API Error: 403", error="authentication_failed"),
    402: Known(text="Credit balance is too low", error="billing_error"),
    400: Known(text="API Error: 400 invalid request", error="unknown"),
    404: Known(text="There's an issue with the selected model. It may not exist.", error="model_not_found"),
    413: Known(text="Request too large", error="invalid_request", reason="image_error"),
    429: Known(text="API Error: Request rejected (429)", error="rate_limit", retries="rate_limit"),
    500: Known(text="API Error: 500 Internal server error", error="server_error", retries="server_error"),
    502: Known(text="API Error: 502 Bad gateway", error="server_error", retries="server_error"),
    529: Known(text="API Error: Repeated 529 Overloaded errors", error="server_error", retries="overloaded"),
    "too_long": Known(text="Prompt is too long", error="invalid_request", reason="prompt_too_long"),
    "refused": Known(
        text="API Error: Unable to connect to API (ConnectionRefused)", error="server_error", retries="unknown"
    ),
    "reset": Known(text="API Error: Unable to connect to API (ECONNRESET)", error="unknown", retries="unknown"),
    "no_key": Known(text="Not logged in · Please run /login", error="authentication_failed"),
    "limit": Known(text="You've hit your 5-hour limit · resets 3:28pm (UTC)", error="rate_limit"),
}
STATUS: Mapping[str, int] = {"too_long": 400, "limit": 429}


def fail(session: Session, told: Mapping[str, Any]) -> None:
    """Fail as told; returns only where the failure passes (``times`` retries and then it works)."""
    kind = told.get("kind", told.get("status", 500))
    known = KNOWN.get(kind, Known(text=f"API Error: {kind}", error="unknown"))
    status = kind if isinstance(kind, int) else STATUS.get(kind)
    if kind == "stall":
        session.wait(told.get("secs"))
        return
    if kind == "limit":
        info = {"status": "rejected", "rateLimitType": "five_hour", "isUsingOverage": False}
        info |= {"resetsAt": told.get("resets_at", 4_102_444_800)}
        session.wire.say({"type": "rate_limit_event", "rate_limit_info": info})
    times = told.get("times", 2 if known.retries else 0)
    for attempt in range(1, times + 1):
        delay = told.get("wait", 0.0 if session.pace == 0 else RETRY_SECONDS * attempt)
        session.wire.system(
            "api_retry",
            attempt=attempt,
            max_retries=max(2, times),
            retry_delay_ms=int(delay * 1000) or 500,
            error_status=status,
            error=known.retries or "unknown",
        )
        session.wait(delay)
    if "times" in told:
        return
    text, error = told.get("message", known.text), told.get("error", known.error)
    raise Failure(text=text, error=error, status=status, reason=known.reason)
