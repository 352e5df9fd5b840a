"""Acting on a run that another process holds: ask in the ledger, poke its console, wait for what came of it.

With no console alive only a stop acts, on the keeper itself. Nothing here speaks to an agent, and nothing waits longer
than it says.
"""

import asyncio
import os
import time
from pathlib import Path

import msgspec
from msgspec import Struct

from app.cli.exits import Code, Leave, refused
from app.paths import Paths
from coordinator import incarnation, marks
from coordinator.ancestry import inside_a_hold
from coordinator.api import AnswerDecision
from coordinator.clock import RealClock
from coordinator.commands import ForAnother, asked_body
from coordinator.custody.client import fence_by_socket, kill_by_socket, read_cookie
from coordinator.custody.receipts import receipt_from_facts
from coordinator.custody.spoolfile import read_spool, spool_is_locked
from coordinator.custody.types import Receipt, RecordKind
from coordinator.poke import poke
from coordinator.redaction import Redactor, secrets_of
from store import commands, custody, entries, incarnations, runs, stops
from store.db import read_ledger, write_ledger
from store.refusal import Refusal
from store.tx import Tx
from store.vocab import CommandState, CustodyState, EndReason, RefusalReason, RunId

WAIT_SECONDS = 5.0
"""For the console that owns the run."""
END_SECONDS = 20.0
"""For a keeper that ends everything by itself: its ladder, and something for the last sync."""
RESTART_SECONDS = 45.0
"""For an agent that is ended and started again: its ladder, and its start."""
_POLL = 0.02

_clock = RealClock()


class Owned(Struct, frozen=True, kw_only=True):
    """One live run as the ledger has it, and whether a console answers for it."""

    run: runs.Run
    hold: custody.Custody | None
    owner: incarnations.Incarnation | None
    """The console that lives; None: nobody does."""


def refuse_inside_a_hold(paths: Paths, run: RunId | None, verb: str, *, as_json: bool = False) -> None:
    """An agent is never its own operator: it may read and stop, nothing else; that it tried is kept.

    Raises:
        Leave: this process was started from within a run.
    """
    if not inside_a_hold():
        return
    if paths.ledger.exists():
        with write_ledger(paths.ledger, now=_clock.now) as tx:
            known = run is not None and runs.get(tx, run) is not None
            entries.append(
                tx, run if run is not None and known else entries.LEDGER_CHAIN, "command.inside-a-hold", {"verb": verb}
            )
    raise refused(Refusal(RefusalReason.INSIDE_A_HOLD), as_json=as_json)


def find(paths: Paths, run: RunId, *, as_json: bool = False) -> Owned:
    """A run that has not ended.

    Raises:
        Leave: there is none of that number, or it has ended.
    """
    if not paths.ledger.exists():
        raise refused(Refusal(RefusalReason.NO_SUCH_RUN, {"run": run}), as_json=as_json)
    with read_ledger(paths.ledger, now=_clock.now) as tx:
        row = runs.get(tx, run)
        found = None if row is None else owned(tx, row)
    if found is None:
        raise refused(Refusal(RefusalReason.NO_SUCH_RUN, {"run": run}), as_json=as_json)
    held = found.hold is not None and found.hold.state is not CustodyState.CLOSED
    if found.run.outcome is not None and not held:
        raise refused(Refusal(RefusalReason.ALREADY_ENDED, {"run": run}), as_json=as_json)
    return found


def live(paths: Paths) -> list[Owned]:
    """Every run that has not ended, oldest first."""
    if not paths.ledger.exists():
        return []
    with read_ledger(paths.ledger, now=_clock.now) as tx:
        rows = {row.id: row for row in runs.listing(tx, live_only=True)}
        for hold in custody.not_closed(tx):
            row = runs.get(tx, hold.run)
            if row is not None:
                rows[row.id] = row
        return [owned(tx, rows[id]) for id in sorted(rows)]


def keep_line_back(paths: Paths) -> bool:
    """Before all is stopped: no task that waits in line begins in the place of one that ends. Whether it is kept back.

    A ledger that is busy or full delays no stop; then the line goes on.
    """
    from coordinator.tasks import dispatch, line  # they know the whole coordinator, which no other command here needs

    if not paths.ledger.exists():
        return False
    try:
        with write_ledger(paths.ledger, now=_clock.now, busy_timeout_ms=200) as tx:
            dispatch.keep_back(tx)
            return bool(line.kept_back(tx))
    except Exception as problem:
        if not isinstance(getattr(problem, "refusal", None), Refusal):
            raise
        return False


def owned(tx: Tx, row: runs.Run) -> Owned:
    hold = custody.of_run(tx, row.id)
    open_ = hold is not None and hold.state is not CustodyState.CLOSED
    owner = incarnations.get(tx, hold.incarnation if hold is not None and open_ else row.incarnation)
    alive = owner is not None and not incarnation.is_gone(owner)
    return Owned(run=row, hold=hold if open_ else None, owner=owner if alive else None)


def ask(
    paths: Paths,
    found: Owned,
    command: ForAnother,
    operator: str,
    *,
    as_json: bool = False,
    once_taken: float = WAIT_SECONDS,
) -> dict[str, object]:
    """Have the run's console do it; what came of it, as it answered.

    ``once_taken``: how long in all, once the console has begun with it.

    Raises:
        Leave: refused, nobody there, or no answer in time.
    """
    owner = found.owner
    if owner is None:
        raise refused(Refusal(RefusalReason.NO_OWNER, {"run": found.run.id}), as_json=as_json, code=Code.UNREACHABLE)
    verb, run, body = asked_body(command)
    with write_ledger(paths.ledger, now=_clock.now) as tx:
        asked = commands.ask(tx, run=run, verb=verb, body=body, operator=operator)
    poke(owner.socket_path)
    row = _await_end(paths, asked.id, max(WAIT_SECONDS, once_taken))
    if row is None or row.state is CommandState.EXPIRED:
        raise Leave(
            Code.UNREACHABLE,
            f"The console that holds run {found.run.id} did not answer within {WAIT_SECONDS:g} s; "
            "it may still do it when it wakes: look with footplate ls, and in its own window.",
            machine={"unreachable": True, "command": asked.id} if as_json else None,
        )
    answer = _answer(row.answer)
    if row.state is CommandState.REFUSED:
        raise refused(_refusal(answer), as_json=as_json)
    return answer


def answer_after_the_end(
    paths: Paths, command: AnswerDecision, operator: str, *, as_json: bool = False
) -> dict[str, object] | None:
    """Answer a question that outlived its run: nobody needs to hold it for that. None: the run has not ended.

    Raises:
        Leave: it is no such question, or was answered.
    """
    redactor = Redactor(secrets_of(os.environ))
    with write_ledger(paths.ledger, now=_clock.now) as tx:
        run = runs.get(tx, command.run)
        if run is None or run.outcome is None:
            return None
        said = marks.answer_after_the_end(tx, command, operator, redact=redactor.text)
    if isinstance(said, Refusal):
        raise refused(said, as_json=as_json)
    return {"note": said, "rides": True}


def _await_end(paths: Paths, id: int, once_taken: float) -> commands.Command | None:
    begun = _clock.monotonic()
    while True:
        with read_ledger(paths.ledger, now=_clock.now) as tx:
            row = commands.get(tx, id)
        if row is not None and row.ended_at is not None:
            return row
        taken = row is not None and row.state is CommandState.TAKEN
        if _clock.monotonic() >= begun + (once_taken if taken else WAIT_SECONDS):
            return None
        time.sleep(_POLL)


def _answer(text: str | None) -> dict[str, object]:
    try:
        content = msgspec.json.decode((text or "{}").encode())
    except (msgspec.DecodeError, UnicodeEncodeError):
        return {}
    return content if isinstance(content, dict) else {}


def _refusal(answer: dict[str, object]) -> Refusal:
    facts = answer.get("facts")
    reason = str(answer.get("reason", ""))
    try:
        return Refusal(RefusalReason(reason), facts if isinstance(facts, dict) else {})
    except ValueError:
        # A newer console's reason: better its own word than none.
        what = {"agent": "The console", "what": f"do that ({reason or 'it did not say why'})"}
        return Refusal(RefusalReason.NOT_POSSIBLE_FOR_AGENT, what)


# ------------------------------------------------------------------------------------------- with no console alive


class Ended(Struct, frozen=True, kw_only=True):
    receipt: Receipt | None
    """None: nothing of the run was alive any more."""


def stop_without_console(paths: Paths, found: Owned, operator: str, *, kill: bool) -> Ended | None:
    """Order the run's keeper to end it, and wait for its report; None: it could not be reached, or did not end in time.

    The books are closed by the next console, which reads the same report.
    """
    reason = EndReason.KILLED if kill else EndReason.STOPPED
    _note_stop(paths, found.run.id, reason, operator)
    if found.hold is None:
        return Ended(receipt=None)  # it never came so far as to have a process
    folder = paths.spool / found.hold.id
    if not spool_is_locked(folder):
        return Ended(receipt=_receipt(folder))
    cookie = read_cookie(folder)
    if cookie is None or not asyncio.run(_order(folder, cookie, kill)):
        return None
    end = _clock.monotonic() + END_SECONDS
    while (receipt := _receipt(folder)) is None:
        if _clock.monotonic() >= end:
            return None
        if not spool_is_locked(folder):
            return Ended(receipt=_receipt(folder))
        time.sleep(_POLL)
    return Ended(receipt=receipt)


async def _order(folder: Path, cookie: str, kill: bool) -> bool:
    return await (kill_by_socket(folder, cookie) if kill else fence_by_socket(folder, cookie, EndReason.STOPPED))


def _note_stop(paths: Paths, run: RunId, reason: EndReason, operator: str) -> None:
    # For ending, the keeper comes first: a ledger that is busy or full delays no stop.
    try:
        with write_ledger(paths.ledger, now=_clock.now, busy_timeout_ms=200) as tx:
            stops.ask(tx, run=run, reason=reason, operator=operator)
    except Exception as problem:
        if not isinstance(getattr(problem, "refusal", None), Refusal):
            raise


def _receipt(folder: Path) -> Receipt | None:
    try:
        gone = [record for record in read_spool(folder / "spool") if record.kind is RecordKind.GONE]
    except OSError:
        return None
    return receipt_from_facts(gone[-1].facts) if gone else None
