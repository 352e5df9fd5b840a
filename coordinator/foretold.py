"""What a person is told of a run before anything is done about it: that its agent is silent, that its end comes near.

Looked at whenever the hold is renewed. Each is told once: its key says what it was told of, so neither a restart of the
console nor a person who put it away brings the same notice up again.
"""

from typing import TYPE_CHECKING

from coordinator.constants import ENDS_SOON
from coordinator.plurals import plural
from store import attention
from store.db import Tx
from store.vocab import AttentionKind

if TYPE_CHECKING:
    from coordinator.session import HeldSession

TIMER = "silence"
SILENT, END = "silent:", "end:"
"""What the keys begin with; behind it the moment that is meant."""
SHARE = 0.2
"""Of a short run's whole time: one that is allowed five minutes is not about to end from its first one on."""


async def look(session: "HeldSession", seconds_left: float) -> None:
    """At each renewal of the hold."""
    await _end_comes(session, seconds_left)
    working = bool(session.state.turns) and not session.live.tools and not session.rows.open_decisions
    if not working:
        session.set_deadline(TIMER, None)
    elif TIMER not in session.deadlines:
        session.set_deadline(TIMER, session.house.settings.timing.stalled_after)
    if session.told_silent is not False and (not working or not _is_silent(session)):
        await _clear(session, AttentionKind.STALLED, SILENT)
        session.told_silent = False


async def silence_is_due(session: "HeldSession") -> None:
    """The timer came."""
    if not session.state.turns or not _is_silent(session):
        return
    last = session.live.last_event_at or 0
    minutes = max(1, (session.house.clock.now() - last) // 60_000)
    text = f"silent for {plural(minutes, 'minute')}"
    await session.write(
        lambda tx: attention.raise_once(
            tx, run=session.run_id, kind=AttentionKind.STALLED, key=f"{SILENT}{last}", text=text
        )
    )
    session.told_silent = True
    session.house.changed()


def _is_silent(session: "HeldSession") -> bool:
    now = session.house.clock.now()
    return now - (session.live.last_event_at or now) >= session.house.settings.timing.stalled_after * 1000


async def _end_comes(session: "HeldSession", seconds_left: float) -> None:
    run, end = session.rows.run, session.limits.expires_at
    whole = (end - run.created_at) / 1000 if run is not None else 0.0
    near = 0 < seconds_left < min(ENDS_SOON, whole * SHARE)
    if near and session.told_end != end:
        minutes = max(1, round(seconds_left / 60))
        text = f"its time is up in {plural(minutes, 'minute')}"

        def tell(tx: Tx) -> None:
            attention.raise_once(tx, run=session.run_id, kind=AttentionKind.ENDS_SOON, key=f"{END}{end}", text=text)

        await session.write(tell)
        session.told_end = end
        session.house.changed()
    elif not near and session.told_end != 0:
        # More time was agreed to.
        await _clear(session, AttentionKind.ENDS_SOON, END)
        session.told_end = 0


async def _clear(session: "HeldSession", kind: AttentionKind, prefix: str) -> None:
    """What a console before this one told is over as well."""

    def clear(tx: Tx) -> bool:
        mine = [one for one in attention.open_items(tx) if one.run == session.run_id and one.kind is kind]
        over = [one for one in mine if one.key.startswith(prefix)]
        for one in over:
            attention.clear(tx, run=session.run_id, kind=kind, key=one.key, by="footplate")
        return bool(over)

    if await session.write(clear):
        session.house.changed()
