"""Whether the whole line is kept back: one setting of the ledger, for every console on it.

Only its spelling stands here. Who keeps it back (the operator, a stop of all, a ledger that was restored) says so with
its own reason; only the operator lets it go again.
"""

from enum import StrEnum
from typing import Final

from store import settings
from store.tx import Tx

QUEUE: Final = "queue"
"""The setting: ``held`` and why behind a blank, or ``open``."""
_HELD: Final = "held "


class KeptBack(StrEnum):
    OPERATOR = "operator"
    STOP_ALL = "stop-all"
    RESTORED = "restored"


def kept_back(tx: Tx) -> str:
    """Why the line is kept back, a ``KeptBack``; '': it is not."""
    value = settings.get(tx, QUEUE) or ""
    return value.removeprefix(_HELD) if value.startswith(_HELD) else ""


def keep_back(tx: Tx, why: KeptBack) -> None:
    """What keeps it back already stays the reason; nothing is written then."""
    if not kept_back(tx):
        settings.put(tx, QUEUE, _HELD + why)


def let_go(tx: Tx) -> None:
    if kept_back(tx):
        settings.put(tx, QUEUE, "open")
