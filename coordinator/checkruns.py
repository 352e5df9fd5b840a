"""Runs the checks of a run that is over, beside all holds: one after the other in its tree, each held like every helper
of ours, bounded in time and output, with nothing of it left behind, nor by a console that is killed.

They begin when the run's end is in the books and its receipt is there, so they delay neither. What one came to is
evidence in the run's chain. Which they are was agreed to with the terms.
"""

import asyncio
import contextlib
import fcntl
import logging
import os
import signal
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

from msgspec import Struct
from msgspec.structs import replace

from coordinator import checkresults, gitfacts, helperprocess, leftwork, recording
from coordinator.agreed import terms_of
from coordinator.checktypes import CheckState, CheckView, RepositoryChecks
from coordinator.environment import agent_environment
from coordinator.profiles import AgentProfile
from coordinator.redaction import Redactor
from store import custody, evidence, runs
from store.faults import LedgerBusy
from store.refusal import Refusal
from store.tx import Tx
from store.vocab import EvidenceKind, RefusalReason, RunId

if TYPE_CHECKING:
    from coordinator.house import House

log = logging.getLogger(__name__)

FLOOD: Final = 16 * 1024 * 1024
"""Bytes after which a check is ended."""
KEPT_FIRST: Final = 64 * 1024
KEPT_LAST: Final = 192 * 1024
"""Characters of its output that are kept: how it begins, and how it ends."""
AT_ONCE: Final = 2
"""Runs whose checks go on side by side."""
# Both streams as one, in the order in which they were written.
_BOTH: Final = 'exec 2>&1; exec /bin/sh -c "$1"'


class Wanted(Struct, frozen=True, kw_only=True):
    run: RunId
    tree: Path
    checks: RepositoryChecks
    environment: Mapping[str, str]
    """Whole."""


def of_run(
    tx: Tx,
    run: RunId,
    *,
    profiles: Mapping[str, AgentProfile],
    configured: Mapping[str, RepositoryChecks],
    environment: Mapping[str, str],
) -> Wanted | Refusal:
    """What would be run for a run that is over: what was agreed to, else what its repository has now. Refused where
    there is nothing, or somebody works in its tree."""
    row = recording.goes_on_from(tx, run)
    if isinstance(row, Refusal):
        return row
    terms = terms_of(tx, row)
    checks = configured.get(row.repository)
    if terms is not None and terms.checks:
        checks = RepositoryChecks(commands=terms.checks, seconds=terms.check_seconds)
    if checks is None:
        return Refusal(RefusalReason.NO_CHECKS, {"run": run, "repository": row.repository})
    others = [one.run for one in custody.not_closed(tx) if one.tree == row.tree]
    if others:
        return Refusal(RefusalReason.TREE_HELD, {"run": others[0], "tree": row.tree})
    profile = profiles.get(row.agent)
    given = agent_environment(environment, profile) if profile is not None else _plain(environment)
    return Wanted(run=run, tree=Path(row.tree), checks=checks, environment=given)


def _plain(environment: Mapping[str, str]) -> dict[str, str]:
    """An agent that is not there any more: what every program needs, and nothing else."""
    return {name: environment[name] for name in ("PATH", "HOME", "LANG", "USER", "SHELL") if name in environment}


# ---------------------------------------------------------------------------------------------------------------- one


class Checked(Struct, frozen=True, kw_only=True):
    view: CheckView
    output: str
    """What of it is kept, without secrets, behind a first line that says what was run."""


async def run_one(
    command: str, *, tree: Path, environment: Mapping[str, str], seconds: float, redactor: Redactor
) -> Checked:
    """Run it to its end or to ours."""
    ended = await helperprocess.run(
        ["/bin/sh", "-c", _BOTH, "sh", command],
        cwd=tree,
        environment=environment,
        timeout=seconds,
        limit=FLOOD,
        guarded=True,
    )
    match ended.cut:
        case "":
            state = CheckState.PASSED if ended.code == 0 else CheckState.FAILED
            detail = _exit(ended.code)
        case helperprocess.TIMEOUT:
            state, detail = CheckState.TIMED_OUT, f"{seconds:g} s"
        case helperprocess.TOO_MUCH:
            state, detail = CheckState.FLOODED, ""
        case _:
            state, detail = CheckState.FAILED, "not started"
    view = CheckView(command=command, state=state, detail="" if state is CheckState.PASSED else detail)
    # What kept it from being started is said by whoever tried.
    said = ended.out or ended.err
    output = await asyncio.to_thread(_kept, said, redactor, bool(ended.cut))
    return Checked(view=view, output=f"$ {redactor.text(command)}\n{output}")


def _exit(code: int) -> str:
    if code >= 0:
        return f"exit {code}"
    with contextlib.suppress(ValueError):
        return signal.Signals(-code).name
    return f"signal {-code}"


def _kept(output: bytes, redactor: Redactor, cut: bool) -> str:
    """Its beginning and its end, with what is missing said between them. Secrets go first: of half a one nobody would
    know that it is one."""
    text = output.decode("utf-8", "replace")
    text = redactor.beginning(text) if cut else redactor.text(text)
    missing = len(text) - KEPT_FIRST - KEPT_LAST
    if missing <= 0:
        return text
    return f"{text[:KEPT_FIRST]}\n[{missing} characters are not kept]\n{text[-KEPT_LAST:]}"


def book(tx: Tx, run: RunId, checked: Checked) -> None:
    """Into the run's chain, each time that one was run."""
    if runs.get(tx, run) is None:
        return  # it was pruned meanwhile
    content = checked.output.encode("utf-8", "replace")
    note = checkresults.note_of(checked.view)
    evidence.add(tx, run=run, kind=EvidenceKind.CHECK, content=content, note=note, again=True)


async def of_house(house: "House", run: RunId) -> Wanted | Refusal:
    """As ``of_run``, with what this console was told of agents and checks."""
    return await house.ledger.read(
        lambda tx: of_run(
            tx,
            run,
            profiles={one.name: one for one in house.profiles},
            configured=house.settings.checks,
            environment=house.settings.environment,
        )
    )


async def again(house: "House", run: RunId) -> Refusal | None:
    """Begin them once more, as ``tree RUN check`` does, by the operator's order; how they go is in the run's view."""
    wanted = await of_house(house, run)
    if isinstance(wanted, Refusal):
        return wanted
    async with alone_in(wanted.tree) as busy:
        if busy is not None:
            return busy
    house.checks.begin(wanted)
    house.changed()
    return None


@asynccontextmanager
async def alone_in(tree: Path) -> AsyncIterator[Refusal | None]:
    """Nobody else checks this tree meanwhile, and nothing is committed from it (``leftwork.busy_with``). The lock goes
    with the process that has it."""
    dirs = gitfacts.dirs_of(tree)
    if dirs is None:
        yield Refusal(RefusalReason.TREE_GONE, {"tree": str(tree)})
        return
    flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
    try:
        handle = os.open(dirs[0] / leftwork.CHECKING, flags, 0o600)
    except OSError as problem:
        yield Refusal(RefusalReason.TREE_BUSY, {"tree": str(tree), "what": str(problem.strerror).lower()})
        return
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            yield Refusal(RefusalReason.TREE_BUSY, {"tree": str(tree), "what": leftwork.CHECKED})
            return
        yield None
    finally:
        os.close(handle)


# ---------------------------------------------------------------------------------------------------------------- all


class CheckRuns:
    """Those of one console. ``keep`` is its task; all else is called from the same loop."""

    def __init__(self) -> None:
        self._queue: asyncio.Queue[Wanted] = asyncio.Queue()
        self._views: dict[RunId, tuple[CheckView, ...]] = {}
        """Of runs whose checks wait or run."""
        self._wanted: dict[RunId, Wanted] = {}
        self._tasks: dict[RunId, asyncio.Task[None]] = {}
        self._few = asyncio.Semaphore(AT_ONCE)

    def of(self, run: RunId) -> tuple[CheckView, ...]:
        """How far they are; () where nothing waits or runs."""
        return self._views.get(run, ())

    def expect(self, run: RunId, commands: Sequence[str]) -> None:
        """Its end is about to be booked: from then on they wait."""
        self._views[run] = tuple(CheckView(command=one, state=CheckState.WAITING) for one in commands)

    def begin(self, wanted: Wanted) -> None:
        """In their turn; where they wait or run already, nothing more."""
        if wanted.run not in self._wanted:
            self._wanted[wanted.run] = wanted
            self.expect(wanted.run, wanted.checks.commands)
            self._queue.put_nowait(wanted)

    def end(self, run: RunId) -> bool:
        """By the operator's order, at once. Whether there was something to end."""
        task = self._tasks.get(run)
        if task is not None:
            task.cancel()
        self._wanted.pop(run, None)
        return self._views.pop(run, None) is not None

    def end_in(self, tree: Path) -> None:
        """An agent is about to work there."""
        for wanted in [one for one in self._wanted.values() if one.tree == tree]:
            self.end(wanted.run)

    async def close(self) -> tuple[RunId, ...]:
        """The console goes: end all that run. Those whose checks were cut off."""
        cut, tasks = tuple(self._views), list(self._tasks.values())
        for run in cut:
            self.end(run)
        await asyncio.gather(*tasks, return_exceptions=True)
        return cut

    async def keep(self, house: "House", shown: Callable[[RunId], Awaitable[None]]) -> None:
        """The task that runs what is wanted. ``shown``: reads a run anew for the screen."""
        async with asyncio.TaskGroup() as tasks:
            while True:
                wanted = await self._queue.get()
                if self._wanted.get(wanted.run) is wanted:  # else it was ended while it waited
                    task = tasks.create_task(self._run(house, wanted, shown), name=f"checks of run {wanted.run}")
                    self._tasks[wanted.run] = task
                    task.add_done_callback(partial(self._over, wanted.run))

    def _over(self, run: RunId, task: "asyncio.Task[None]") -> None:
        if self._tasks.get(run) is task:
            del self._tasks[run]

    async def _run(self, house: "House", wanted: Wanted, shown: Callable[[RunId], Awaitable[None]]) -> None:
        try:
            async with self._few, alone_in(wanted.tree) as refused:
                if refused is not None:
                    log.warning("run %s: its checks were not run: %s", wanted.run, dict(refused.facts))
                for place, command in enumerate(wanted.checks.commands if refused is None else ()):
                    self._show(house, wanted.run, place, state=CheckState.RUNNING)
                    checked = await run_one(
                        command,
                        tree=wanted.tree,
                        environment=wanted.environment,
                        seconds=wanted.checks.seconds,
                        redactor=house.redactor,
                    )
                    await self._book(house, wanted.run, checked)
                    self._show(house, wanted.run, place, state=checked.view.state, detail=checked.view.detail)
            await shown(wanted.run)
        except Exception:
            # What goes on beside the holds must not end them with a fault of its own.
            log.exception("run %s: its checks could not be run", wanted.run)
        finally:
            if self._wanted.get(wanted.run) is wanted:
                self._wanted.pop(wanted.run)
                self._views.pop(wanted.run, None)
            house.changed()

    def _show(self, house: "House", run: RunId, place: int, *, state: CheckState, detail: str = "") -> None:
        views = list(self._views.get(run, ()))
        if place < len(views):
            views[place] = replace(views[place], state=state, detail=detail, since=house.clock.now())
            self._views[run] = tuple(views)
        house.changed()

    async def _book(self, house: "House", run: RunId, checked: Checked) -> None:
        while True:
            try:
                await house.ledger.transaction(lambda tx: book(tx, run, checked))
                return
            except LedgerBusy:
                await asyncio.sleep(0.2)
