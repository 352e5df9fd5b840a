"""Makes the frozen snapshot that a screen reads, at most thirty times a second and only when something changed."""

import asyncio
import logging
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec.structs import replace

from coordinator import githelper, landing, views
from coordinator.api import (
    GONE,
    ConsoleSnapshot,
    Group,
    RepositoryView,
    SessionView,
)
from coordinator.house import House
from coordinator.incarnation import is_gone
from coordinator.pastview import past_session
from coordinator.rows import read_rows
from coordinator.tasks import line
from coordinator.tasks.tasktypes import QueueSummary
from coordinator.terms import Terms, parse
from store import attention, entries, incarnations, runs, tasks, turns
from store.db import Tx
from store.refusal import Refusal
from store.vocab import AttentionKind, Millis, RefusalReason, RunId, TaskState

if TYPE_CHECKING:
    from coordinator.session import HeldSession

log = logging.getLogger(__name__)

SHORTEST = 1 / 30
SHOWN_AT_START = 40
"""Ended runs that the list begins with; all others are a review away."""
PAGED = (AttentionKind.PAGE, AttentionKind.CRASHED)


class Snapshots:
    def __init__(self, house: House, sessions: "Mapping[RunId, HeldSession]") -> None:
        self.dirty = asyncio.Event()
        self.repository: RepositoryView | None = None
        self._house = house
        self._sessions = sessions
        self._past: dict[RunId, SessionView] = {}
        self._kept: dict[RunId, views.RowViews] = {}
        self._over: dict[RunId, tuple[tuple[object, ...], SessionView]] = {}
        """Of each session that has ended, what its view was made from, and the view."""
        self.newest = ConsoleSnapshot(now=house.clock.now(), operator=house.settings.operator)
        self.recovered = (0, 0)
        self._queue = QueueSummary()
        self.last_here: Millis | None = None
        self._place: Path | None = None
        self._moved: tuple[int, ...] = ()
        """When something was last made or taken away where no session can start, as of the last look."""
        self.wakes: list[Callable[[], None]] = []

    async def keep(self) -> None:
        """The task that makes them."""
        while True:
            await self.dirty.wait()
            self.dirty.clear()
            try:
                self.newest = await self._make()
            except Exception:
                log.exception("the snapshot could not be made; the last one stays")
            for wake in list(self.wakes):
                wake()
            await asyncio.sleep(SHORTEST)

    async def _make(self) -> ConsoleSnapshot:
        house = self._house
        now = house.clock.now()
        items, today, self._queue = await house.ledger.read(
            lambda tx: (
                attention.open_items(tx),
                turns.spent_since(tx, since=house.pools(now).day_began),
                queue_summary(tx, self._queue),
            )
        )
        paged = {item.run for item in items if item.kind in PAGED}
        shown: dict[RunId, SessionView] = {
            run: replace(view, group=Group.NEEDS_YOU) if run in paged else view for run, view in self._past.items()
        }
        for run, session in self._sessions.items():
            if session.rows.run is None:  # not admitted yet, or pruned
                self._kept.pop(run, None)
                self._over.pop(run, None)
                continue
            if is_elsewhere(session) and run in shown:
                continue
            shown[run] = self._session(session, now, paged=run in paged)
        return ConsoleSnapshot(
            now=now,
            operator=house.settings.operator,
            sessions=tuple(shown[run] for run in sorted(shown)),
            attention=tuple(views.attention_view(item) for item in items),
            today=today,
            today_limit=house.settings.day_budget,
            repository=self.repository,
            admission_open=not house.shutting,
            away_in=house.away_in,
            recovered=self.recovered,
            last_here=self.last_here,
            storage_trouble=house.trouble,
            queue=self._queue,
        )

    def _session(self, session: "HeldSession", now: Millis, *, paged: bool) -> SessionView:
        """Of one that has ended, the last view again while nothing is told of it: a console that has been there for
        days has hundreds of those."""
        run, over = session.run_id, session.ended.is_set()
        checking = self._house.checks.of(run)
        stands = (session.rows, session.live.receipt, paged, checking)
        if over and (before := self._over.get(run)) is not None and before[0] == stands:
            return before[1]
        self._kept[run] = kept = views.RowViews.of(session.rows, self._kept.get(run))
        view = views.session_view(
            session.rows,
            terms=session.terms,
            limits=session.limits,
            live=session.live,
            state=session.state,
            capabilities=session.driver.capabilities,
            receipt=session.live.receipt,
            now=now,
            paged=paged,
            checking=checking,
            kept=kept,
        )
        if over:
            self._over[run] = stands, view
        return view

    async def look_at(self, repository: Path | None) -> None:
        """The repository that the console was opened in. What a merge that was cut off left there is put back."""
        if repository is None:
            return
        self._place = repository
        try:
            self.repository = await repository_view(repository)
            if self.repository.dirty_files and await landing.cut_off_in(repository):
                await landing.recover_in(repository)
                self.repository = await repository_view(repository)
        except OSError as problem:
            log.warning("the repository could not be looked at: %s", problem)
            return
        self.dirty.set()

    async def look_again(self) -> RepositoryView | None:
        """That repository as it is now; None where there is none, or it cannot be looked at."""
        if self._place is None:
            return None
        try:
            found = await repository_view(self._place)
        except OSError as problem:
            log.warning("the repository could not be looked at again: %s", problem)
            return None
        if found != self.repository:
            self.repository = found
            self.dirty.set()
        return found

    async def look_where_none_can_start(self) -> None:
        """For who comes by each second: after a first commit, or a ``git init``, a session can start there. Until
        something moves there it is three looks at a folder."""
        if self._place is None or self.repository is None or self.repository.problem is None:
            return
        moved = await asyncio.to_thread(_moved, Path(self.repository.path))
        if moved != self._moved:
            self._moved = moved
            await self.look_again()

    async def load(self) -> None:
        """The newest runs of the ledger, ended or held elsewhere."""

        def look(tx: Tx) -> tuple[list[RunId], Millis | None]:
            newest = [run.id for run in runs.listing(tx, limit=SHOWN_AT_START)]
            # What still waits for a person is shown, however old its run is.
            waiting = {item.run for item in attention.open_items(tx) if item.run is not None}
            return sorted({*newest, *waiting}, reverse=True), incarnations.last_here(tx, but=self._house.incarnation)

        found, self.last_here = await self._house.ledger.read(look)
        for run in found:
            await self.reload(run)
        self.dirty.set()

    async def reload(self, run: RunId) -> None:
        view = await self._house.ledger.read(lambda tx: past_view(tx, run))
        if view is not None:
            self._past[run] = view
        else:
            self._past.pop(run, None)  # it was pruned
        self.dirty.set()


def queue_summary(tx: Tx, before: QueueSummary) -> QueueSummary:
    """How the line stands. All that is told of it is told in the ledger's own chain, so the length of that says whether
    anything may be otherwise than ``before``: ten thousand tasks are not counted thirty times a second."""
    stamp, _hash = entries.head(tx, entries.LEDGER_CHAIN)
    if stamp == before.stamp:
        return before
    counts = tasks.counts(tx)
    return QueueSummary(
        stamp=stamp,
        waiting=counts[TaskState.QUEUED],
        working=counts[TaskState.WORKING],
        needs_operator=counts[TaskState.NEEDS_OPERATOR],
        held=line.kept_back(tx),
    )


def is_elsewhere(session: "HeldSession") -> bool:
    """Whether another console took up what this one gave back."""
    run, held = session.rows.run, session.rows.custody
    given = session.ended.is_set() and run is not None and run.outcome is None
    return given and held is not None and held.incarnation != session.house.incarnation


def past_view(tx: Tx, run: RunId) -> SessionView | None:
    """A run as the ledger tells it; None where its terms cannot be read any more."""
    rows = read_rows(tx, run)
    if rows.run is None or rows.authorization is None:
        return None
    terms = parse(rows.authorization.terms)
    if not isinstance(terms, Terms):
        return None
    view = past_session(tx, rows, terms)
    if rows.run.outcome is None:
        # A hold that was taken over is its new console's; the run names the one that admitted it.
        owner = incarnations.get(tx, rows.custody.incarnation if rows.custody else rows.run.incarnation)
        gone = owner is None or is_gone(owner)
        view = replace(view, owner=GONE if gone else f"the console of {owner.operator}")  # type: ignore[union-attr]
    return view


def _moved(place: Path) -> tuple[int, ...]:
    found = []
    for folder in (place, place / ".git", place / ".git" / "refs" / "heads"):
        try:
            found.append(folder.stat().st_mtime_ns)
        except OSError:
            found.append(0)
    return tuple(found)


async def repository_view(path: Path) -> RepositoryView:
    facts = await githelper.look_at_repository(path)
    if isinstance(facts, Refusal):
        return RepositoryView(path=str(path), branch="", head="", dirty_files=0, problem=facts)
    # Said before a brief is written for nothing.
    problem = None if facts.head else Refusal(RefusalReason.NO_COMMIT, {"path": str(facts.top)})
    return RepositoryView(
        path=str(facts.top), branch=facts.branch, head=facts.head, dirty_files=facts.dirty_files, problem=problem
    )
