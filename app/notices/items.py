"""What a person who is elsewhere is told of: one item for each thing that waits, with a key that outlives the console.

Pure: a snapshot in, items out, and which of them are due. The ledger's own numbers are the keys, so that the next
console tells nothing again.
"""

from collections.abc import Collection
from enum import StrEnum
from typing import Literal

from msgspec import Struct, field

from app.wording import attention_kind
from coordinator.api import ConsoleSnapshot, Group, SessionView
from store.vocab import AttentionKind, Millis, RunId

AT_IT = 20.0
"""Seconds since the last key for which the operator is taken to be there."""


class Kind(StrEnum):
    DECISION = "decision"
    TURN_ENDED = "turn-ended"
    SILENT = "silent"
    BUDGET = "budget"
    CRASHED = "crashed"
    PAGE = "page"


_KINDS = {
    AttentionKind.DECISION: Kind.DECISION,
    AttentionKind.STALLED: Kind.SILENT,
    AttentionKind.BUDGET: Kind.BUDGET,
    AttentionKind.ENDS_SOON: Kind.BUDGET,
    AttentionKind.CRASHED: Kind.CRASHED,
    AttentionKind.PAGE: Kind.PAGE,
    AttentionKind.TASK: Kind.PAGE,
}


class NoticeSettings(Struct, frozen=True, kw_only=True):
    """``[notify]`` of the configuration."""

    bell: bool = True
    terminal: Literal["auto", "osc9", "osc777", "off"] = "auto"
    """How the terminal is asked to show a notice of its own; ``auto``: as it is known to."""
    command: tuple[str, ...] = ()
    """The operator's own program, with the item as JSON on its stdin; empty: none."""
    command_seconds: float = 10.0
    off: frozenset[Kind] = frozenset()


class Notice(Struct, frozen=True, kw_only=True):
    key: str
    kind: Kind
    run: RunId | None
    title: str
    """The session's; empty: about Footplate itself."""
    words: str
    since: Millis


def notices(snapshot: ConsoleSnapshot) -> tuple[Notice, ...]:
    """What there is to tell of what this console holds, oldest first."""
    mine = {one.run: one for one in snapshot.sessions if not one.owner}
    found = [
        Notice(
            key=f"attention {item.id}",
            kind=_KINDS[item.kind],
            run=item.run,
            title=_title(mine.get(item.run)) if item.run is not None else "",
            words=item.text or attention_kind(item.kind),
            since=item.since,
        )
        for item in snapshot.attention
        if item.run is None or item.run in mine
    ]
    found += [
        Notice(
            key=f"turn {one.run} {one.turn_ended_at}",
            kind=Kind.TURN_ENDED,
            run=one.run,
            title=_title(one),
            words="your move: its turn ended",
            since=one.turn_ended_at,
        )
        for one in mine.values()
        if one.group is Group.YOUR_MOVE and one.turn_ended_at is not None
    ]
    return tuple(sorted(found, key=lambda one: (one.since, one.key)))


def _title(session: SessionView | None) -> str:
    return "" if session is None else session.title


class Due(Struct):
    """Which items are to be told now: each once, and none while the operator is at it."""

    off: Collection[Kind]
    _told: set[str] = field(default_factory=set)

    def take(self, found: tuple[Notice, ...], at: float, last_key: float) -> tuple[tuple[Notice, ...], float | None]:
        """What is due; and where something must wait for the operator's quiet, after how many seconds to ask again."""
        untold = tuple(one for one in found if one.key not in self._told and one.kind not in self.off)
        left = last_key + AT_IT - at
        if not untold or left > 0:
            return (), left if untold else None
        self._told.update(one.key for one in untold)
        return untold, None
