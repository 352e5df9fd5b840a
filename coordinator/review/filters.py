"""The line in which an operator says which runs, or which texts, they want to see. Pure.

``repo:orders outcome:interrupted cost:>1 since:2026-11-01 tool:Bash "expire in" refund*``: fields with values, and all
else is text. What cannot be understood is refused with the fields there are, never taken for something else: a filter
that is silently wrong hides what one looks for.
"""

import re
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta, tzinfo
from decimal import Decimal, InvalidOperation
from typing import Final

from msgspec.structs import replace

from coordinator.review.types import RunFilter
from store.refusal import Refusal
from store.vocab import MicroUsd, Millis, RefusalReason, RunOutcome

OPEN: Final = "open"
"""The outcome of a run that has none."""
OUTCOMES: Final = (*(outcome.value for outcome in RunOutcome), OPEN)

# A field with its value, a phrase, or a word. A quote that is never closed goes to the end of the line.
_PIECE: Final = re.compile(
    r"""(?P<bare>[A-Za-z]+):(?=\s|$)
    | (?:(?P<field>[A-Za-z]+):)? (?: "(?P<phrase>[^"]*)(?P<closed>"\*?|$) | (?P<word>[^\s"]+) )""",
    re.VERBOSE,
)
_AMOUNT: Final = re.compile(r"\d+(?:\.\d+)?")
_COST: Final = re.compile(r"(?P<sign>>=|<=|>|<)(?P<amount>[\d.]+)|(?P<low>[\d.]+?)\.\.(?P<high>[\d.]+)")
_DAY: Final = re.compile(r"(\d{4})-(\d\d?)(?:-(\d\d?)(?:T(\d\d?):(\d\d))?)?")
_MICRO: Final = 1_000_000
_MOST: Final = 10**12

Changed = RunFilter | str
"""The filter with one field more, or what is wrong with its value."""


def parse(text: str, *, zone: tzinfo | None = None) -> RunFilter | Refusal:
    """What a filter line asks for. Days are those of ``zone``; None: of this machine."""
    wanted = RunFilter()
    seen: set[str] = set()
    for field, value, quoted in _pieces(text):
        if field is None:
            if any(letter.isalnum() for letter in value):
                wanted = replace(wanted, words=(*wanted.words, value))
            continue
        read = FIELDS.get(field.lower())
        if read is None:
            return _refused(f"{field}:{value}", "")
        if not value or value == "*":
            return _refused(f"{field}:", "a value behind the colon")
        before = wanted
        changed = read(wanted, value, zone)
        if isinstance(changed, str):
            return _refused(f'{field}:"{value}"' if quoted else f"{field}:{value}", changed)
        told = {one for one in RunFilter.__struct_fields__ if getattr(changed, one) != getattr(before, one)}
        if told & seen:
            return _refused(f"{field}:{value}", "each field once")
        seen |= told
        wanted = changed
    return wanted


def _pieces(text: str) -> Iterator[tuple[str | None, str, bool]]:
    """(field or None, value, whether it stood in quotes)."""
    for found in _PIECE.finditer(text):
        phrase, word, field = found["phrase"], found["word"], found["field"]
        if phrase is not None:
            star = "*" if found["closed"].endswith("*") and not phrase.endswith("*") else ""
            yield field, " ".join(phrase.split()) + star, True
        elif word is not None:
            yield field, word, False
        else:
            yield found["bare"], "", False


def _refused(what: str, wants: str) -> Refusal:
    facts = {"what": what, "wants": wants, "fields": ", ".join(f"{name}:" for name in FIELDS)}
    return Refusal(RefusalReason.FILTER_INVALID, facts)


def _named(name: str) -> Callable[[RunFilter, str, tzinfo | None], Changed]:
    def read(wanted: RunFilter, value: str, _zone: tzinfo | None) -> Changed:
        return replace(wanted, **{name: value})  # only the fields that are text

    return read


def _outcome(wanted: RunFilter, value: str, _zone: tzinfo | None) -> Changed:
    if value.lower() not in OUTCOMES:
        return ", ".join(OUTCOMES[:-1]) + f" or {OPEN}"
    return replace(wanted, outcome=value.lower())


def _micro(amount: str) -> MicroUsd | None:
    try:
        found = Decimal(amount) * _MICRO if _AMOUNT.fullmatch(amount) else None
    except InvalidOperation:
        return None
    return None if found is None or found > _MOST * _MICRO else MicroUsd(int(found))


def _cost(wanted: RunFilter, value: str, _zone: tzinfo | None) -> Changed:
    found = _COST.fullmatch(value)
    wrong = "an amount of money, as in cost:>1, cost:<=0.50 or cost:1..5"
    if found is None:
        return wrong
    if found["sign"] is None:
        low, high = _micro(found["low"]), _micro(found["high"])
        return wrong if low is None or high is None else replace(wanted, cost_min=low, cost_max=high)
    amount = _micro(found["amount"])
    if amount is None:
        return wrong
    match found["sign"]:
        case ">":
            return replace(wanted, cost_min=MicroUsd(amount + 1))
        case ">=":
            return replace(wanted, cost_min=amount)
        case "<":
            return replace(wanted, cost_max=MicroUsd(amount - 1))
        case _:
            return replace(wanted, cost_max=amount)


def _span(value: str, zone: tzinfo | None) -> tuple[Millis, Millis] | None:
    """The beginning of a month, day or minute, and where the next begins."""
    found = _DAY.fullmatch(value)
    if found is None:
        return None
    year, month, day, hour, minute = (None if part is None else int(part) for part in found.groups())
    try:
        begin = datetime(year or 0, month or 0, day or 1, hour or 0, minute or 0, tzinfo=zone)
        if hour is not None:
            end = begin + timedelta(minutes=1)
        elif day is not None:
            end = begin + timedelta(days=1)
        else:
            end = (begin + timedelta(days=32)).replace(day=1)
        # Each by itself: a day in which the clocks change has not 24 hours.
        return Millis(int(begin.timestamp() * 1000)), Millis(int(end.timestamp() * 1000))
    except (ValueError, OverflowError, OSError):
        return None


_WRONG_DAY: Final = "a month, a day or a minute, as in 2026-11, 2026-11-29 or 2026-11-29T14:30"


def _since(wanted: RunFilter, value: str, zone: tzinfo | None) -> Changed:
    span = _span(value, zone)
    return _WRONG_DAY if span is None else replace(wanted, since=span[0])


def _until(wanted: RunFilter, value: str, zone: tzinfo | None) -> Changed:
    span = _span(value, zone)
    return _WRONG_DAY if span is None else replace(wanted, until=span[1])


def _on(wanted: RunFilter, value: str, zone: tzinfo | None) -> Changed:
    span = _span(value, zone)
    return _WRONG_DAY if span is None else replace(wanted, since=span[0], until=span[1])


def _imported(wanted: RunFilter, value: str, _zone: tzinfo | None) -> Changed:
    if value.lower() not in ("yes", "no"):
        return "yes or no"
    return replace(wanted, imported=value.lower() == "yes")


FIELDS: Final[dict[str, Callable[[RunFilter, str, tzinfo | None], Changed]]] = {
    "repo": _named("repository"),
    "agent": _named("agent"),
    "model": _named("model"),
    "tool": _named("tool"),
    "outcome": _outcome,
    "reason": _named("reason"),
    "cost": _cost,
    "since": _since,
    "until": _until,
    "on": _on,
    "imported": _imported,
}
"""What may stand before a colon, in the order in which it is named to a person."""
