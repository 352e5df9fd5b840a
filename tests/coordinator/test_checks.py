"""The operator's checks: agreed to with the terms, run once the work is finished, held, and kept as evidence."""

import asyncio
import os
import subprocess
import sys
from pathlib import Path

import pytest
from msgspec.structs import replace

from coordinator import checkresults, checkruns, leftwork
from coordinator.api import CheckAgain, Finish, Proposal, Propose, Started, StartRun, Stop
from coordinator.checkresults import Standing
from coordinator.checktypes import GOING_ON, CheckState, CheckView, RepositoryChecks
from coordinator.redaction import MARK, Redactor
from store import evidence
from store.db import read_ledger
from store.refusal import Refusal
from store.tx import Tx
from store.verify import verify
from store.vocab import EvidenceKind, Millis, RefusalReason, RunId, RunOutcome
from tests.coordinator.held import Holding, holding, script
from tests.coordinator.repositories import repository
from tests.fakes.plain_process import ROOT
from tests.waiting import eventually

HELLO = "go " + script({"text": "hello"})
S = CheckState


def _lives(pid: str) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


def configured(folder: Path, *commands: str, seconds: int = 60) -> dict[str, object]:
    """Settings of a house whose one repository has these checks."""
    tree = repository(folder / "tree")
    return {"checks": {str(tree): RepositoryChecks(commands=commands, seconds=seconds)}}


async def begun(held: Holding, **more: object) -> RunId:
    """A run on a tree of its own whose one turn has ended."""
    asked = Propose(instruction=HELLO, repository=str(held.tree), agent="practice", preamble=False, worktree=True)
    proposal = await held.do(asked)
    assert isinstance(proposal, Proposal), proposal
    started = await held.do(StartRun(terms=replace(proposal.terms, script="plain", **more)))  # type: ignore[arg-type]
    assert isinstance(started, Started), started
    await held.settled(started.run)
    return started.run


def states(checks: tuple[CheckView, ...]) -> list[tuple[CheckState, str]]:
    return [(one.state, one.detail) for one in checks]


async def test_a_finished_run_is_checked_after_its_receipt(tmp_path: Path) -> None:
    """What passes, fails and floods; each is told while it goes on, and kept."""
    gate = tmp_path / "gate"
    commands = (
        f"until test -e {gate}; do sleep 0.02; done; pwd; echo $DEPLOY_TOKEN $FOOTPLATE_CUSTODY; touch made",
        "echo out; echo err >&2; test $KEY_OF_MINE = no; exit 3",
        "yes abcdefgh",
        "kill -9 $$",
    )
    settings = configured(tmp_path, *commands, seconds=120)
    around = {"DEPLOY_TOKEN": "tok-4711-geheim", "KEY_OF_MINE": "x"}
    async with holding(tmp_path, environment=around, **settings) as held:
        run = await begun(held)
        replied = await held.do(Finish(run=run))
        assert not isinstance(replied, Refusal), replied
        seen = await held.until(run, lambda v: v.receipt is not None and v.checks and v.checks[0].state is S.RUNNING)
        assert seen.outcome is RunOutcome.FINISHED and seen.checks[0].since is not None
        assert [one.state for one in seen.checks[1:]] == [S.WAITING] * 3
        busy = leftwork.busy_with(Path(seen.tree))
        assert busy is not None and busy.facts["what"] == "a check runs in it", "nothing is committed meanwhile"
        kept = await held.coordinator.house.ledger.read(lambda tx: evidence.listing(tx, run))
        assert {kind for _, kind, *_ in kept} == {EvidenceKind.STATUS}, "what a check writes is not the run's doing"
        gate.touch()
        over = await held.until(run, lambda v: not GOING_ON & {one.state for one in v.checks})
        wanted = [(S.PASSED, ""), (S.FAILED, "exit 3"), (S.FLOODED, ""), (S.FAILED, "SIGKILL")]
        assert states(over.checks) == wanted
        assert (Path(over.tree) / "made").exists() and leftwork.busy_with(Path(over.tree)) is None

        def read(tx: Tx) -> tuple[list[evidence.Evidence], Standing]:
            return [one for one in evidence.of_run(tx, run) if one.kind is EvidenceKind.CHECK], checkresults.standing(
                tx, run
            )

        outputs, standing = await held.coordinator.house.ledger.read(read)
        assert standing is Standing.FAILED and [one.id for one in outputs] == [one.evidence for one in over.checks]
        first, second, flood, _ = (one.content.decode() for one in outputs)
        assert first.splitlines()[1:] == [over.tree, first.splitlines()[2]] and "geheim" not in first
        assert second == f"$ {commands[1]}\nout\nerr\n"
        assert len(flood) < 300_000 and "characters are not kept]" in flood
        assert outputs[1].note == f"failed: exit 3 · {commands[1]}"
    with read_ledger(tmp_path / "ledger.db", now=lambda: Millis(0)) as tx:
        assert verify(tx) is None


async def test_a_check_that_hangs_is_ended_and_says_so(tmp_path: Path) -> None:
    pid = tmp_path / "pid"
    command = f"echo begun; echo $$ > {pid}; sleep 600"
    checked = await checkruns.run_one(
        command, tree=tmp_path, environment=dict(os.environ), seconds=2, redactor=Redactor(())
    )
    assert (checked.view.state, checked.view.detail) == (S.TIMED_OUT, "2 s")
    assert checkresults.note_of(checked.view) == f"ended after 2 s · {command}"
    assert checked.output == f"$ {command}\nbegun\n" and not _lives(pid.read_text().strip())


async def test_a_secret_that_a_check_prints_is_not_kept(tmp_path: Path) -> None:
    settings = configured(tmp_path, "cat ../../secret")
    (tmp_path / "secret").write_text("the key is tok-4711-geheim!\n")
    async with holding(tmp_path, environment={"DEPLOY_TOKEN": "tok-4711-geheim"}, **settings) as held:
        run = await begun(held)
        await held.do(Finish(run=run))
        over = await held.until(run, lambda v: v.checks and v.checks[0].evidence)
        one = await held.coordinator.house.ledger.read(lambda tx: evidence.get(tx, over.checks[0].evidence or 0))
        assert one is not None and one.content.decode() == f"$ cat ../../secret\nthe key is {MARK}!\n"


async def test_a_console_that_goes_ends_its_checks_and_they_can_be_run_again(tmp_path: Path) -> None:
    pid, stay = tmp_path / "pid", tmp_path / "stay"
    stay.touch()
    settings = configured(tmp_path, f"echo $$ > {pid}; while test -e {stay}; do sleep 0.05; done", "true")
    async with holding(tmp_path, **settings) as held:
        run = await begun(held)
        await held.do(Finish(run=run))
        await eventually(lambda: pid.exists() and pid.read_text().strip())
        house = held.coordinator.house
    assert any(f"footplate tree {run} check" in note for note in house.notes), house.notes
    assert not _lives(pid.read_text().strip()), "nothing of it is left when the console has closed"
    async with holding(tmp_path, **settings) as held:
        await held.coordinator.follower.show(run)
        cut = await held.until(run, lambda v: v.checks)
        assert states(cut.checks) == [(S.UNFINISHED, "")] * 2
        house = held.coordinator.house
        assert await house.ledger.read(lambda tx: checkresults.standing(tx, run)) is Standing.MISSING

        def look(tx: Tx) -> checkruns.Wanted | Refusal:
            return checkruns.of_run(tx, run, profiles={}, configured={}, environment=dict(os.environ))

        wanted = await house.ledger.read(look)
        assert isinstance(wanted, checkruns.Wanted) and len(wanted.checks.commands) == 2
        pid.unlink()
        begun_again = await held.do(CheckAgain(run=run))
        assert not isinstance(begun_again, Refusal), begun_again
        await eventually(lambda: pid.exists() and pid.read_text().strip())
        ended = await held.do(Stop(run=run))
        assert not isinstance(ended, Refusal), "the operator ends them as he ends a run"
        await eventually(lambda: not _lives(pid.read_text().strip()))
        stay.unlink()
        house.checks.begin(wanted)
        await held.until(run, lambda v: [one.state for one in v.checks] == [S.PASSED] * 2)
        assert await house.ledger.read(lambda tx: checkresults.standing(tx, run)) is Standing.PASSED
        await held.do(Propose(instruction=HELLO, repository=str(held.tree), agent="practice"))


async def test_only_finished_work_is_checked_and_by_what_was_agreed_to(tmp_path: Path) -> None:
    async with holding(tmp_path, **configured(tmp_path, f"touch {tmp_path}/ran")) as held:
        other = await held.do(Propose(instruction=HELLO, repository=str(held.tree), agent="practice"))
        assert isinstance(other, Proposal) and other.terms.checks == (f"touch {tmp_path}/ran",)
        moved = replace(other.terms, script="plain", checks=("true",))
        refused = await held.do(StartRun(terms=moved))
        assert isinstance(refused, Refusal) and refused.reason is RefusalReason.TERMS_MOVED
        assert refused.facts["field"] == "checks"
        run = await begun(held)
        await held.do(Stop(run=run))
        stopped = await held.until(run, lambda v: v.changes_known and v.outcome is not None)
        assert stopped.outcome is RunOutcome.INTERRUPTED and stopped.checks == ()
        assert await held.coordinator.house.ledger.read(lambda tx: checkresults.standing(tx, run)) is Standing.NONE
    assert not (tmp_path / "ran").exists()


async def test_a_killed_console_leaves_nothing_of_a_check(tmp_path: Path) -> None:
    pids = tmp_path / "pids"
    command = f"sleep 3213 & echo $! >> {pids}; setsid sleep 3213 & echo $! >> {pids}; echo $$ >> {pids}; wait"
    child = [sys.executable, "-m", "tests.children.checks_console", str(tmp_path), command]
    console = await asyncio.to_thread(subprocess.Popen, child, cwd=ROOT)
    await eventually(lambda: pids.exists() and len(pids.read_text().split()) == 3)
    console.kill()
    console.wait()
    await eventually(lambda: not any(map(_lives, pids.read_text().split())), what="the check's processes gone")


@pytest.mark.parametrize("state", [S.PASSED, S.FAILED, S.TIMED_OUT, S.FLOODED])
def test_a_note_says_what_was_run_and_how_it_ended(state: CheckState) -> None:
    detail = {S.FAILED: "exit 1", S.TIMED_OUT: "600 s"}.get(state, "")
    check = CheckView(command="make a · b\nmake: c", state=state, detail=detail)
    assert checkresults.read_note(checkresults.note_of(check)) == check
