"""A hold that cannot be brought to an end by itself: its processes would not die, or nothing can be proven of them.

It keeps its tree and its conversation until a person has looked. Then its books are closed over that person's name:
what was still there is listed, the entry says who closed it, and no process is touched, for none is proven ours.
"""

from collections.abc import Callable, Mapping
from pathlib import Path

import msgspec
from msgspec import Struct

from coordinator import settling
from coordinator.custody import spoolfile
from coordinator.custody.leftovers import end_left
from coordinator.custody.processes import carriers, is_alive, name_of
from coordinator.custody.receipts import receipt_from_facts
from coordinator.custody.types import EndedProcess, ProcessIdentity, Receipt, WriteProof
from coordinator.settling import Ending
from store import attention, custody, decisions, entries, receipts, runs, turns
from store.canonical import dumps
from store.db import Tx
from store.refusal import Refusal
from store.vocab import (
    AttentionKind,
    CustodyState,
    DecisionState,
    EndReason,
    IncarnationId,
    MicroUsd,
    Millis,
    RefusalReason,
    RunId,
    RunOutcome,
    StopResult,
)

GUESS = MicroUsd(100_000)
"""For a turn that was cut off and of which nothing is known any more."""
REMAINING = "remaining"
PAGES = ("unprovable", REMAINING)
"""Keys of the notices that say that an ending came to nothing."""
TIMER = "remaining"
LOOK = 2.0
"""Seconds: a keeper that lives tries what would not die once each second, and says so when it is gone."""


class Stuck(Struct, frozen=True, kw_only=True):
    run: runs.Run
    held: custody.Custody
    reason: str
    """Why it is being ended."""
    receipt: Receipt | None
    """What is known of its end; ``remaining`` as it was found then."""
    found: tuple[EndedProcess, ...]
    """What is alive now and seems to be of it: its keeper, what carries its mark, what remained."""
    keeper_alive: bool
    told: bool
    """A look at it came to nothing before, and a person was told."""


def look(tx: Tx, spool: Path, run: RunId, gone: Callable[[IncarnationId], bool]) -> Stuck | Refusal:
    """The facts to show before anybody signs for them; a refusal where it is not stuck.

    Looks at processes, so for one moment: what it found is shown and listed, nothing is done to it.
    """
    row = runs.get(tx, run)
    held = custody.of_run(tx, run)
    if row is None:
        return Refusal(RefusalReason.NO_SUCH_RUN, {"run": run})
    if held is None or held.state is CustodyState.CLOSED:
        return Refusal(RefusalReason.ALREADY_ENDED, {"run": run})
    if held.state is not CustodyState.FENCING:
        return Refusal(RefusalReason.IN_FLIGHT, {"run": run, "custody": held.state})
    # Whoever has seen such a notice and put it away was told all the same.
    told = any(attention.told(tx, run=run, kind=AttentionKind.PAGE, key=key) is not None for key in PAGES)
    # Its console lives and nobody was told of trouble: it is being ended just now.
    if not gone(held.incarnation) and row.outcome is None and not told:
        return Refusal(RefusalReason.FENCING, {"run": run})
    known = receipts.of_run(tx, run)
    receipt = receipt_from_facts(msgspec.json.decode(known[-1].body.encode())) if known else None
    return Stuck(
        run=row,
        held=held,
        reason=row.reason or held.fence_reason or EndReason.ORPHANED,
        receipt=receipt,
        found=_found(held, receipt),
        keeper_alive=spoolfile.spool_is_locked(spool / held.id),
        told=told,
    )


def _found(held: custody.Custody, receipt: Receipt | None) -> tuple[EndedProcess, ...]:
    pids: dict[int, None] = {}
    for pid, ticks in (
        (held.keeper_pid, held.keeper_ticks),
        (held.supervisor_pid, held.supervisor_ticks),
        (held.agent_pid, held.agent_ticks),
    ):
        if pid is None or ticks is None:
            continue
        if is_alive(ProcessIdentity(boot_id=held.boot_id, pid=pid, start_ticks=ticks)):
            pids[pid] = None
    pids |= dict.fromkeys(carriers(held.nonce))
    alive = tuple(EndedProcess(pid=pid, name=name_of(pid), step="", gone_after_ms=0) for pid in pids)
    # One that remained has a pid and a name and no start time: it is listed as it was named then, never as proven.
    return alive + tuple(one for one in (receipt.remaining if receipt else ()) if one.pid not in pids)


def look_again(folder: Path, nonce: str, boot_id: str, facts: Mapping[str, object]) -> dict[str, object]:
    """A receipt with what remained as it is now, where no keeper lives to say so. Ends what is proven ours; blocks."""
    found = end_left(folder, nonce, reason=str(facts.get("reason", "")))
    named = {one["pid"] for one in found["remaining"]}
    there: list[dict[str, object]] = list(found["remaining"])
    gone: list[dict[str, object]] = []
    for one in _listed(facts.get("remaining")):
        if one.get("pid") in named:
            continue
        (there if _lives(boot_id, one) else gone).append(one)
    known = {one.get("pid") for one in gone}
    ended = _listed(facts.get("ended")) + gone + [one for one in found["ended"] if one["pid"] not in known]
    return {**facts, "ended": ended, "remaining": there}


def _listed(value: object) -> list[dict[str, object]]:
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []


def _lives(boot_id: str, one: Mapping[str, object]) -> bool:
    pid, ticks = one.get("pid"), one.get("start_ticks")
    if not isinstance(pid, int) or not isinstance(ticks, int):
        return False  # known by the nonce alone, and nobody carries that any more
    return is_alive(ProcessIdentity(boot_id=boot_id, pid=pid, start_ticks=ticks))


def settle(tx: Tx, stuck: Stuck, *, spool: Path, operator: str) -> runs.Run | Refusal:
    """One transaction: outcome, turns, decisions, stop, receipt, custody; and the entry that names the operator."""
    run, held = stuck.run.id, custody.get(tx, stuck.held.id)
    if held is None or held.state is not CustodyState.FENCING or held.epoch != stuck.held.epoch:
        return Refusal(RefusalReason.STALE)
    remaining = [msgspec.to_builtins(one) for one in stuck.found]
    if stuck.receipt is None:
        facts: dict[str, object] = {
            "reason": stuck.reason,
            "already_ended": False,
            "agent_exit": None,
            "steps": [],
            "ended": [],
            "remaining": remaining,
            "spared": [],
            "total_ms": 0,
            "settled_by": operator,
        }
        receipts.add(
            tx,
            custody=held.id,
            generation=held.generation,
            run=run,
            body=dumps(facts),
            remaining=len(remaining),
        )
    entries.append(
        tx,
        run,
        "operator.settled",
        {"operator": operator, "custody": held.id, "reason": stuck.reason, "remaining": remaining},
    )
    closed = settling.close_hold(
        tx,
        Ending(
            run=run,
            custody=held.id,
            generation=held.generation,
            outcome=RunOutcome.INTERRUPTED,
            reason=stuck.reason,
            detail=f"settled by {operator}",
            proofs=_proofs(tx, run, spool / held.id / "spool"),
            guess=GUESS,
            receipt="",
            # Nobody waits for them any more: the receipt lists them, and the hold ends without them.
            remaining=0,
            stop_result=StopResult.UNREACHABLE,
            cut_off_at=None if stuck.keeper_alive or stuck.found else _last_heard(spool / held.id / "spool"),
        ),
    )
    # Who settles it has seen how it ended.
    attention.clear(tx, run=run, kind=AttentionKind.CRASHED, by=operator)
    return closed


def _last_heard(spool: Path) -> Millis | None:
    heard = spoolfile.last_heard(spool)
    return None if heard is None else Millis(heard)


def _proofs(tx: Tx, run: RunId, spool: Path) -> tuple[tuple[str, WriteProof], ...]:
    sending = [one for one in decisions.live(tx, run) if one.state is DecisionState.DELIVERING]
    writes: list[str] = [turn.id for turn in turns.in_flight(tx, run)]
    writes += [one.write_id for one in sending if one.write_id]
    return tuple((write, _proof(spool, write)) for write in writes)


def _proof(spool: Path, write: str) -> WriteProof:
    try:
        return spoolfile.proof_of_write(spool, write)
    except OSError:
        return WriteProof.BEGUN  # nothing can be proven, so nothing is taken as not sent
