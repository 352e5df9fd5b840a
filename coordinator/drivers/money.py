"""Sums of money as agents print them, in the whole millionths that everything else counts in. No price belongs here."""

from decimal import ROUND_HALF_EVEN, Decimal, InvalidOperation
from typing import Any, Final

from store.vocab import MicroUsd

_MICRO: Final = Decimal(1_000_000)
_MOST_DOLLARS: Final = Decimal(1_000_000_000)


def micro_usd(value: Any) -> MicroUsd | None:
    """Dollars as the agent prints them, in whole millionths.

    By decimal arithmetic over the shortest form of the float: ``0.018000000000000002`` is 18,000, and no error adds up.
    """
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        dollars = Decimal(str(value))
        if not dollars.is_finite() or dollars < 0 or dollars > _MOST_DOLLARS:
            return None
        return MicroUsd(int((dollars * _MICRO).to_integral_value(ROUND_HALF_EVEN)))
    except (InvalidOperation, ValueError):
        return None
