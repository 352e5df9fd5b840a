"""The warning that a pool of money is four fifths spent: once for each pool, each day or month and each limit.

What was spent is counted in the ledger each time, so neither a crash nor another console's runs are forgotten. A notice
is over when its period is, when the limit was raised, or when a person put it away; it holds nothing.
"""

from coordinator.recording import Pool, Pools
from store import attention, turns
from store.db import Tx
from store.vocab import AttentionKind

KEY = "pool:"
"""What the keys begin with; behind it the period, when that began, the limit and the agent."""


def nearly_spent(spent: int, limit: int) -> bool:
    """Whether it is four fifths, to the last micro-dollar."""
    return spent * 10 >= limit * 8


def due(tx: Tx, pools: Pools) -> dict[str, str]:
    """What is to be said now, by key."""
    found: dict[str, str] = {}
    named: list[tuple[str | None, Pool]] = [(None, pools), *sorted(pools.agents.items())]
    for agent, pool in named:
        for period, limit, began in (("day", pool.day, pools.day_began), ("month", pool.month, pools.month_began)):
            if limit is None:
                continue
            spent = turns.spent_since(tx, since=began, agent=agent)
            if not nearly_spent(spent, limit):
                continue
            which = f"the budget of the {period}" + (f" for {agent}" if agent else "")
            key = f"{KEY}{period}:{began}:{limit}:{agent or ''}:{attention.WARNING}"
            found[key] = f"{which} is used up" if spent >= limit else f"80 % of {which} is spent"
    return found


def is_told(tx: Tx, wanted: dict[str, str]) -> bool:
    """Whether the queue says just that already."""
    told = (attention.told(tx, run=None, kind=AttentionKind.BUDGET, key=key) is not None for key in wanted)
    return {item.key for item in _open(tx)} <= wanted.keys() and all(told)


def tell(tx: Tx, wanted: dict[str, str]) -> None:
    """Say what was not said yet, and take away what is over."""
    for item in _open(tx):
        if item.key not in wanted:
            attention.clear(tx, run=None, kind=AttentionKind.BUDGET, key=item.key, by="footplate")
    for key, text in wanted.items():
        attention.raise_once(tx, run=None, kind=AttentionKind.BUDGET, key=key, text=text)


def _open(tx: Tx) -> list[attention.AttentionItem]:
    mine = (item for item in attention.open_items(tx) if item.run is None and item.kind is AttentionKind.BUDGET)
    return [item for item in mine if item.key.startswith(KEY)]
