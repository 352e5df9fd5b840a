"""From an admitted run to the agent's first turn, in the design's order: tree, proof, supervisor, agent, stamps,
first byte.

Each step looks again for a stop. What was refused before a process existed starts nothing; what fails afterwards is
ended by the same ladder as any other hold, and its books say so.
"""

import asyncio
import contextlib
import os
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec.structs import replace

from coordinator import (
    agenthome,
    closing,
    githelper,
    mailbox,
    preamble,
    profiles,
    recording,
    steps,
    treesetup,
    treesinuse,
    turntrees,
    worktree,
    writing,
)
from coordinator.api import Started
from coordinator.custody.client import Supervisor
from coordinator.custody.types import AgentSpec, HoldSpec, SpawnFailure
from coordinator.drivers.base import TERMINAL_QUIET_MS, TERMINAL_SIZE, Start
from coordinator.environment import agent_environment
from coordinator.machine import BaselineTold, TurnRecorded
from coordinator.recording import NewTurn, Proof
from coordinator.ruling import Rulebook
from coordinator.steps import Step
from coordinator.terms import Terms, TreeKind
from store import control_writes, custody, runs
from store.db import Tx
from store.refusal import Refusal
from store.vocab import (
    CustodyState,
    EndReason,
    MicroUsd,
    RefusalReason,
    TurnId,
    TurnSource,
)

if TYPE_CHECKING:
    from coordinator.session import HeldSession


async def launch(session: "HeldSession") -> Refusal | None:
    """Start the hold. A refusal means that the run's books are settled already."""
    prepared = await _prepare_tree(session)
    if isinstance(prepared, Refusal):
        return await closing.refuse(session, prepared)
    brief = _brief(session)
    proved = await _prove(session, prepared, brief)
    if isinstance(proved, Refusal):
        return await closing.refuse(session, proved)
    steps.reach(Step.PROVEN)
    await session.decide(TurnRecorded(id=brief.id, source=TurnSource.BRIEF))
    await session.refresh()
    failure = await _spawn(session)
    if failure is not None:
        return await closing.spawn_failed(session, failure)
    return None


async def _prepare_tree(session: "HeldSession") -> Terms | Refusal:
    """Prepare the working tree and say what would be signed now, from what is found now."""
    if session.stop_reason is not None:
        return Refusal(RefusalReason.STOPPED)
    terms, house = session.terms, session.house
    facts = await githelper.find_repository(session.tree)
    if isinstance(facts, Refusal):
        return facts
    if mailbox.present(session.tree, session.run_id):
        return Refusal(RefusalReason.MAILBOX_PRESENT, {"run": session.run_id})
    base = await _base(terms, facts.top)
    if base != terms.base:
        return Refusal(RefusalReason.TERMS_MOVED, {"field": "base", "was": terms.base, "is": base})
    if terms.tree:
        tree = await worktree.again(facts, Path(terms.tree))
    else:
        tree = await worktree.prepare(
            facts,
            kind=terms.tree_kind,
            run=session.run_id,
            folder=house.settings.worktrees,
            head=base or facts.head,
            busy=lambda: house.ledger.read(treesinuse.belonging),
        )
    if isinstance(tree, Refusal):
        return tree
    session.tree, session.head, session.branch = tree.tree, tree.head, tree.branch
    house.checks.end_in(tree.tree)
    rule(session)
    await session.write(
        lambda tx: runs.set_step(
            tx, id=session.run_id, step="prepared", tree=str(tree.tree), head=tree.head, branch=tree.branch
        )
    )
    steps.reach(Step.TREE_PREPARED)
    new_tree = terms.tree_kind is TreeKind.WORKTREE and not terms.tree
    setup = house.settings.setups.get(str(facts.top), "") if new_tree else ""
    if setup and setup == terms.setup:
        made_ready = await treesetup.run(
            setup,
            tree=session.tree,
            environment=agent_environment(house.settings.environment, session.profile),
            stopped=lambda: session.stop_reason is not None,
            redact=house.redactor.beginning,
        )
        if made_ready is not None:
            told = {name: house.redactor.text(str(fact)) for name, fact in made_ready.facts.items()}
            return Refusal(made_ready.reason, told)
    session.config_before = await asyncio.to_thread(githelper.read_config, session.tree)
    checks = house.settings.checks.get(str(facts.top))
    found = await asyncio.to_thread(
        profiles.look, session.profile, house.settings.environment.get("PATH", ""), cache=house.settings.version_cache
    )
    if found.problem is not None:
        return found.problem
    shared = await asyncio.to_thread(agenthome.problem, session.profile, house.settings.environment)
    if shared is not None:
        return shared
    return replace(
        terms,
        repository=str(facts.top),
        head=tree.head if terms.tree else facts.head,
        branch=tree.branch if terms.tree else facts.branch,
        driver=session.profile.driver,
        program=found.program or session.profile.program,
        agent_version=found.version or "",
        machine=house.settings.machine,
        uid=house.settings.uid,
        prompt=session.profile.prompt,
        quit=session.profile.quit,
        setup=setup,
        checks=checks.commands if checks is not None else (),
        check_seconds=checks.seconds if checks is not None else 0,
        base=base,
    )


async def _base(terms: Terms, top: Path) -> str:
    """The commit that its new tree begins at, where that is another than the repository's; '' where it is not there."""
    if not terms.base or terms.tree_kind is not TreeKind.WORKTREE or terms.tree:
        return ""
    found = await githelper.run_git(
        ["rev-parse", "-q", "--verify", f"{terms.base}^{{commit}}"], cwd=top, answers=(0, 1, 128)
    )
    return "" if isinstance(found, Refusal) else found.line


def rule(session: "HeldSession") -> None:
    """Its standing rules are for the tree that it works in, which is known from here on."""
    session.ingest.rules = Rulebook.of(session.terms.rules, tree=str(session.tree), real=os.path.realpath)


def _brief(session: "HeldSession") -> NewTurn:
    terms, house = session.terms, session.house
    parts = (terms.carried, preamble.text(session.run_id) if terms.preamble else "")
    added = "\n\n".join(part for part in parts if part)
    turn = house.ids.turn()
    sent = terms.instruction if not added else f"{terms.instruction}\n\n{added}"
    return NewTurn(
        id=turn,
        source=TurnSource.BRIEF,
        text=house.redactor.text(terms.instruction),
        preamble=added,
        sent=session.driver.turn(turn, sent, session.brief_images),
        operator=session.operator,
        images=session.brief_images,
        decisions=terms.answers,
    )


async def _prove(session: "HeldSession", actual: Terms, brief: NewTurn) -> custody.Custody | Refusal:
    house = session.house
    session.first_turn = brief
    proof = Proof(
        run=session.run_id,
        custody=session.custody_id,
        incarnation=house.incarnation,
        actual=actual,
        tree=str(session.tree),
        nonce=session.nonce,
        native_id=session.native_id,
        socket_fits=True,  # the supervisor binds through a folder handle, so that no path is too long
        max_held_sessions=house.settings.max_held_sessions,
        brief=brief,
    )

    def prove(tx: Tx) -> custody.Custody | Refusal:
        # A stop counts from the moment it is given; the ledger does not know of it yet.
        if session.stop_reason is not None:
            return Refusal(RefusalReason.STOPPED)
        return recording.prove(tx, proof, digest_key=house.digest_key)

    result: custody.Custody | Refusal = await session.write(prove)
    return result


async def _spawn(session: "HeldSession") -> SpawnFailure | None:
    """Supervisor, stamp, agent, stamp, handshake. The brief goes when the agent says that it is ready."""
    timing = session.house.settings.timing
    if session.stop_reason is not None:
        return SpawnFailure(what="stopped")
    try:
        session.folder.mkdir(parents=True, mode=0o700, exist_ok=True)
        await asyncio.to_thread(agenthome.make, session.profile, session.house.settings.environment, session.folder)
    except OSError as problem:
        return SpawnFailure(what="bad-folder", detail=str(problem))
    spec = HoldSpec(
        custody=session.custody_id,
        run=session.run_id,
        authorization=session.rows.run.authorization_id if session.rows.run else "",
        folder=session.folder,
        cookie=session.cookie,
        nonce=session.nonce,
        hold_seconds=timing.hold_seconds,
        expires_at_ms=session.limits.expires_at,
        ladder=timing.ladder,
        spared=session.profile.spared,
        cgroups=session.house.settings.cgroups,
        write_timeout=timing.write,
    )
    # As it is before the agent is there: what was changed already is not the run's.
    as_made = session.terms.tree_kind is TreeKind.WORKTREE and not session.terms.tree and not session.terms.setup
    noting = turntrees.begin(session.folder, session.tree, session.head, clean=as_made)
    born, _ = await asyncio.gather(Supervisor.launch(spec, timeout=timing.spawn), noting)
    if isinstance(born, SpawnFailure):
        return born
    session.supervisor = born
    steps.reach(Step.SUPERVISOR_STARTED)
    session.spawn(session.pump(born), "pump")
    identity, keeper = born.identity, born.keeper_identity

    def stamp(tx: Tx) -> bool:
        custody.stamp(
            tx,
            id=session.custody_id,
            boot_id=identity.boot_id,
            supervisor_pid=identity.pid,
            supervisor_ticks=identity.start_ticks,
            keeper_pid=keeper.pid,
            keeper_ticks=keeper.start_ticks,
        )
        held = custody.get(tx, session.custody_id)
        return held is not None and held.state is CustodyState.PROPOSED

    if not await session.write(stamp) or session.stop_reason is not None:
        with contextlib.suppress(ConnectionError, OSError):
            await born.fence(session.stop_reason or EndReason.STOPPED)
        return None
    steps.reach(Step.SUPERVISOR_STAMPED)
    return await start_agent(session)


def start_of(session: "HeldSession", *, restart: bool) -> Start:
    """What its driver must know to start this generation; ``restart``: it is not the first."""
    return Start(
        program=session.terms.program,
        session=session.live.native_id or session.native_id or "",
        cwd=str(session.tree),
        agent=session.terms.agent,
        resume=restart or bool(session.terms.conversation),
        model=session.live.model if restart else session.terms.model,
        mode=(session.live.mode if restart else None) or session.terms.mode,
        cap=session.cap,
        prices=session.house.settings.prices,
        extra_args=session.profile.args + (("--script", session.terms.script) if session.terms.script else ()),
        prompt=session.terms.prompt,
        quit=session.terms.quit,
    )


async def start_agent(session: "HeldSession", *, restart: bool = False) -> SpawnFailure | None:
    """Start this generation of the agent under its keeper; ``restart``: in the conversation of the one before."""
    house, timing, born = session.house, session.house.settings.timing, session.supervisor
    if born is None:
        return SpawnFailure(what="no-answer")
    session.cap = _cap(session)
    start = start_of(session, restart=restart)
    argv = tuple(session.driver.argv(start))
    driver_names, drop_names = session.driver.environment()
    set_names = {**driver_names, **agenthome.variables(session.profile, session.folder)}
    agent = AgentSpec(
        argv=argv,
        cwd=session.tree,
        environment=agent_environment(house.settings.environment, session.profile, set_names, drop_names),
        terminal=TERMINAL_SIZE if session.driver.capabilities.terminal else None,
        quiet_ms=session.profile.quiet_ms or TERMINAL_QUIET_MS,
    )
    started = await born.start(session.generation, agent, timeout=timing.spawn)
    if isinstance(started, SpawnFailure):
        return started
    steps.reach(Step.AGENT_STARTED)

    def stamp_agent(tx: Tx) -> bool:
        stamped = custody.stamp_agent(
            tx,
            id=session.custody_id,
            generation=session.generation,
            agent_pid=started.pid,
            agent_ticks=started.start_ticks,
        )
        if stamped is None:
            return False
        begun = CustodyState.RESTARTING if restart else CustodyState.PROPOSED
        custody.move(tx, id=session.custody_id, expect=[begun], to=CustodyState.OPEN)
        runs.set_step(tx, id=session.run_id, step="spawned")
        for place, write in enumerate(opening, start=1):
            control_writes.asked(
                tx,
                run=session.run_id,
                id=write.id,
                generation=session.generation,
                what=f"handshake {place}",
                length=len(write.data),
                digest=recording.keyed_digest(house.digest_key, write.data),
            )
        return True

    opening = list(session.driver.opening())
    if start.resume and session.driver.capabilities.reports_cost:
        # Until it has told, what its first turn costs is not known.
        await session.decide(BaselineTold(cumulative=None))
        ask = session.driver.ask_cost()
        session.cost_ask = ask.id
        opening.append(ask)
    if not await session.write(stamp_agent) or session.stop_reason is not None:
        with contextlib.suppress(ConnectionError, OSError):
            await born.kill()
        return None
    steps.reach(Step.AGENT_STAMPED)
    session.set_deadline("renew", 0.0)
    session.set_deadline("start", timing.start_timeout)
    for write in opening:
        session.spawn(_handshake(born, write.id, write.data), "handshake")
    await session.refresh()
    return None


async def _handshake(supervisor: Supervisor, write: str, data: bytes) -> None:
    steps.reach(Step.BEFORE_HANDSHAKE)
    with contextlib.suppress(ConnectionError, OSError):
        await supervisor.write(write, data)
    steps.reach(Step.HANDSHAKE_SENT)


def _cap(session: "HeldSession") -> MicroUsd | None:
    """The agent's own cap: the least remainder when it is started."""
    budget = session.limits.budget
    if budget is None or not session.driver.capabilities.reports_cost:
        return None
    return MicroUsd(max(10_000, budget - session.state.spent))


async def send_brief(session: "HeldSession") -> None:
    """Write turn 1, and answer whoever waits for the launch."""
    session.set_deadline("start", None)
    brief, supervisor = session.first_turn, session.supervisor
    if brief is None or supervisor is None or await session.stamp_refused():
        return

    async def write() -> None:
        steps.reach(Step.BEFORE_FIRST_BYTE)
        went = await writing.write_turn(session, TurnId(brief.id), brief.sent)
        if went and not session.started.done():
            session.started.set_result(Started(run=session.run_id))
        await session.write(lambda tx: runs.set_step(tx, id=session.run_id, step="live"))
        steps.reach(Step.LIVE)

    session.spawn(write(), "brief")
