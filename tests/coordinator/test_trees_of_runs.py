"""Where a run works: proposed by what is found in the repository, made ready by the operator's command, used again."""

import asyncio
import os
import subprocess
import sys
from pathlib import Path

import pytest
from msgspec.structs import replace

from coordinator import treepool, treesetup, worktree
from coordinator.api import Disposal, Disposed, DisposeOfTree, Proposal, Propose, Started, StartRun, Stop
from coordinator.gitfacts import RepositoryFacts
from coordinator.githelper import changed_files, look_at_repository
from coordinator.starttypes import TreeReason
from coordinator.terms import TreeKind
from coordinator.treepool import Belonging
from coordinator.worktree import PreparedTree
from store.refusal import Refusal
from store.vocab import RefusalReason, RunId
from tests.coordinator.held import Holding, holding, repository as empty_repository, script
from tests.coordinator.repositories import git, repository
from tests.fakes.plain_process import ROOT
from tests.waiting import eventually

SILENT = "go " + script({"do": "silence"})
HELLO = "go " + script({"text": "hello"})


async def proposed(held: Holding, tree: Path, **more: object) -> Proposal:
    asked = Propose(instruction=HELLO, repository=str(tree), agent="practice", preamble=False, **more)  # type: ignore[arg-type]
    reply = await held.do(asked)
    assert isinstance(reply, Proposal), reply
    return replace(reply, terms=replace(reply.terms, script="plain"))


async def nobodys() -> Belonging:
    return Belonging()


async def _prepare(tree: Path, folder: Path, run: int = 7, **more: object) -> PreparedTree:
    facts = await look_at_repository(tree)
    assert isinstance(facts, RepositoryFacts)
    made = await worktree.prepare(facts, kind=TreeKind.WORKTREE, run=run, folder=folder, head=facts.head, **more)  # type: ignore[arg-type]
    assert isinstance(made, PreparedTree), made
    return made


async def test_the_default_goes_by_what_is_found(tmp_path: Path) -> None:
    tree = repository(tmp_path / "tree")
    async with holding(tmp_path) as held:
        clean = await proposed(held, tree)
        assert (clean.terms.tree_kind, clean.tree_reason) == (TreeKind.IN_PLACE, TreeReason.CLEAN)
        (tree / "mine").write_text("x")
        dirty = await proposed(held, tree)
        assert (dirty.terms.tree_kind, dirty.tree_reason) == (TreeKind.WORKTREE, TreeReason.DIRTY)
        assert dirty.uncommitted == 1
        asked = await proposed(held, tree, worktree=False)
        assert (asked.terms.tree_kind, asked.tree_reason) == (TreeKind.IN_PLACE, TreeReason.ASKED)
        (tree / "mine").unlink()
        first = await held.start(SILENT)
        busy = await proposed(held, tree)
        assert (busy.terms.tree_kind, busy.tree_reason, busy.holder) == (TreeKind.WORKTREE, TreeReason.HELD, first)
        beside = await held.do(StartRun(terms=busy.terms))
        assert isinstance(beside, Started), beside
        await held.do(Stop(run=first))
        git(tmp_path, "clone", "-q", "--bare", str(tree), str(tmp_path / "bare repo.git"))
        bare = await proposed(held, tmp_path / "bare repo.git")
        assert (bare.terms.tree_kind, bare.tree_reason) == (TreeKind.WORKTREE, TreeReason.BARE)
        started = await held.do(StartRun(terms=bare.terms))
        assert isinstance(started, Started), started


async def test_a_setup_command_is_agreed_to_and_run_before_the_agent(tmp_path: Path) -> None:
    tree = empty_repository(tmp_path / "tree")
    setup = 'pwd > made-ready && test -z "$FOOTPLATE_X" && git rev-parse --abbrev-ref HEAD >> made-ready'
    async with holding(tmp_path, setups={str(tree): setup}, environment={"FOOTPLATE_X": "1"}) as held:
        assert (await proposed(held, tree)).terms.setup == ""  # in place nothing is made ready
        proposal = await proposed(held, tree, worktree=True)
        assert proposal.terms.setup == setup
        started = await held.do(StartRun(terms=proposal.terms))
        assert isinstance(started, Started), started
        made = tmp_path / "worktrees" / f"tree-{started.run}"
        assert (made / "made-ready").read_text() == f"{made}\nfootplate/{started.run}\n"
        other = await held.do(StartRun(terms=replace(proposal.terms, setup="touch /tmp/other")))
        assert isinstance(other, Refusal) and other.reason is RefusalReason.TERMS_MOVED
        assert other.facts["field"] == "setup"


async def test_a_setup_that_fails_refuses_the_start_and_says_why(tmp_path: Path) -> None:
    tree = empty_repository(tmp_path / "tree")
    async with holding(
        tmp_path, setups={str(tree): "echo no such thing: $DEPLOY_SECRET $HOLD_KEY >&2; exit 3"}
    ) as held:
        proposal = await proposed(held, tree, worktree=True)
        refused = await held.do(StartRun(terms=proposal.terms))
        assert isinstance(refused, Refusal) and refused.reason is RefusalReason.SETUP_FAILED
        assert (refused.facts["how"], refused.facts["said"])[0] == "exit 3"


def _lives(pid: str) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


async def test_a_setup_is_bounded_and_leaves_nothing_behind(tmp_path: Path) -> None:
    def run(command: str, seconds: float = 20.0) -> "asyncio.Future[Refusal | None]":
        work = treesetup.run(
            command, tree=tmp_path, environment=dict(os.environ), stopped=lambda: False, seconds=seconds
        )
        return asyncio.ensure_future(work)

    late = await run(f"sleep 3210 & echo $! > {tmp_path}/pid; wait", seconds=0.5)
    assert late is not None and late.facts["how"] == "it was not done after 0.5 s"
    pid = (tmp_path / "pid").read_text().strip()
    await eventually(lambda: not _lives(pid))
    loud = await run("yes")
    assert loud is not None and loud.facts["how"] == "too much output"
    assert await run("true") is None


async def test_a_killed_console_leaves_nothing_of_a_setup(tmp_path: Path) -> None:
    """A child, one in a session of its own, and a daemon that cleared its environment and holds no pipe of ours."""
    pids = tmp_path / "pids"
    command = (
        f"sleep 3211 & echo $! >> {pids}; setsid sleep 3211 & echo $! >> {pids};"
        f"(setsid env -i sh -c 'exec 3>&- 4>&- 5>&- 6>&- 7>&-; echo $$ >> {pids}; exec sleep 3211' </dev/null"
        f" >/dev/null 2>&1 &); echo $$ >> {pids}; wait"
    )
    child = [sys.executable, "-m", "tests.children.setup_console", str(tmp_path), command]
    console = await asyncio.to_thread(subprocess.Popen, child, cwd=ROOT)
    await eventually(lambda: pids.exists() and len(pids.read_text().split()) == 4)
    console.kill()
    console.wait()
    await eventually(lambda: not any(map(_lives, pids.read_text().split())), what="the command's processes gone")


async def test_a_stop_does_not_wait_for_the_setup(tmp_path: Path) -> None:
    tree = empty_repository(tmp_path / "tree")
    async with holding(tmp_path, setups={str(tree): f"touch {tmp_path}/began; sleep 600"}) as held:
        proposal = await proposed(held, tree, worktree=True)
        starting = asyncio.ensure_future(held.do(StartRun(terms=proposal.terms)))
        await eventually((tmp_path / "began").exists)
        await held.do(Stop(run=RunId(1)))
        refused = await asyncio.wait_for(starting, 10)
        assert isinstance(refused, Refusal) and refused.reason is RefusalReason.STOPPED


# ------------------------------------------------------------------------------------------------------------ the pool


async def test_a_tree_that_kept_nothing_is_used_again(tmp_path: Path) -> None:
    tree, folder = repository(tmp_path / "örders 2"), tmp_path / "w"
    first = await _prepare(tree, folder, 7)
    inode = (first.tree / "b.txt").stat().st_ino
    (tree / "a.txt").write_text("newer\n")
    git(tree, "commit", "-qam", "newer")
    again = await _prepare(tree, folder, 9, busy=nobodys)
    assert again.tree == folder / "örders 2-9" and again.branch == "footplate/9" and not first.tree.exists()
    assert (again.tree / "b.txt").stat().st_ino == inode and (again.tree / "a.txt").read_text() == "newer\n"
    assert git(again.tree, "status", "--porcelain") == "" and git(again.tree, "rev-parse", "HEAD") == again.head
    assert git(tree, "branch", "--list", "footplate/*", "--format=%(refname:short)") == "footplate/9"
    assert await changed_files(again.tree, again.head) == ()


@pytest.mark.parametrize(
    "what",
    [
        "belongs",
        "starting",
        "new",
        "edited",
        "ignored",
        "committed",
        "locked",
        "hidden",
        "configured",
        "merging",
        "stood-in",
    ],
)
async def test_a_tree_with_anything_in_it_is_never_used_again(tmp_path: Path, what: str) -> None:
    tree, folder = repository(tmp_path / "r", {"a": "a\n", ".gitignore": "*.log\n"}), tmp_path / "w"
    first = (await _prepare(tree, folder, 7)).tree
    admin, others = tree / ".git" / "worktrees" / first.name, Belonging()
    stands = None
    match what:
        case "belongs":
            others = Belonging(trees=frozenset({str(first)}))
        case "starting":
            others = Belonging(runs=frozenset({7}))
        case "new":
            (first / "n").write_text("n\n")
        case "edited":
            (first / "a").write_text("b\n")
        case "ignored":
            (first / "out.log").write_text("x")
        case "committed":
            git(first, "commit", "-q", "--allow-empty", "-m", "work")
        case "locked":
            git(tree, "worktree", "lock", str(first))
        case "hidden":
            git(first, "update-index", "--skip-worktree", "a")
            (first / "a").write_text("hidden\n")
        case "configured":
            (admin / "config.worktree").write_text("[core]\n\tfsmonitor = evil\n")
        case "merging":
            (admin / "MERGE_HEAD").write_text("0" * 40)
        case _:
            stands = await asyncio.create_subprocess_exec("sleep", "60", cwd=first)
    try:

        async def somebodys() -> Belonging:
            return others

        second = await _prepare(tree, folder, 9, busy=somebodys)
        assert first.exists() and second.tree != first
        assert git(tree, "rev-parse", "footplate/7")
    finally:
        if stands is not None:
            stands.kill()
            await stands.wait()


async def test_two_that_want_one_tree_do_not_share_it(tmp_path: Path) -> None:
    tree, folder = repository(tmp_path / "r"), tmp_path / "w"
    await _prepare(tree, folder, 1)
    both = await asyncio.gather(*(_prepare(tree, folder, run, busy=nobodys) for run in (2, 3)))
    assert {one.tree.name for one in both} == {"r-2", "r-3"} and {one.branch for one in both} == {
        "footplate/2",
        "footplate/3",
    }
    for one in both:
        assert git(one.tree, "status", "--porcelain") == ""


async def test_a_run_keeps_its_tree_for_a_day(tmp_path: Path) -> None:
    empty_repository(tmp_path / "tree")
    async with holding(tmp_path) as held:
        runs = [await held.start(HELLO, tree_kind=TreeKind.WORKTREE) for _ in range(2)]
        for run in runs:
            await held.do(Stop(run=run))
        third = await held.start(HELLO, tree_kind=TreeKind.WORKTREE)
        assert {(tmp_path / "worktrees" / f"tree-{run}").exists() for run in (*runs, third)} == {True}


# --------------------------------------------------------------------------------------------- kinds of repositories


async def test_a_sparse_checkout_stays_one(tmp_path: Path) -> None:
    tree = repository(tmp_path / "r", {"in/a": "a\n", "out/b": "b\n", "top": "t\n"})
    git(tree, "sparse-checkout", "set", "in")
    made = await _prepare(tree, tmp_path / "w")
    assert (made.tree / "in" / "a").exists() and not (made.tree / "out").exists()
    assert git(made.tree, "status", "--porcelain") == "" and await changed_files(made.tree, made.head) == ()
    again = await _prepare(tree, tmp_path / "w", 8, busy=nobodys)
    assert again.tree.exists() and not made.tree.exists() and not (again.tree / "out").exists()


async def test_submodules_are_named_and_stay_empty(tmp_path: Path) -> None:
    inner = repository(tmp_path / "inner")
    tree = repository(tmp_path / "tree")
    git(tree, "-c", "protocol.file.allow=always", "submodule", "add", "-q", str(inner), "lib/ïnner one")
    git(tree, "commit", "-qm", "with it")
    async with holding(tmp_path) as held:
        proposal = await proposed(held, tree, worktree=True)
        assert proposal.submodules == ("lib/ïnner one",)
        assert (await proposed(held, tree, worktree=False)).submodules == ()
    made = await _prepare(tree, tmp_path / "w")
    assert list((made.tree / "lib" / "ïnner one").iterdir()) == []
    assert await changed_files(made.tree, made.head) == ()


async def test_a_tree_of_a_tree_and_a_tree_of_a_bare_one(tmp_path: Path) -> None:
    tree = repository(tmp_path / "r")
    git(tree, "worktree", "add", "-q", "-b", "side", str(tmp_path / "side tree"))
    of_side = await _prepare(tmp_path / "side tree", tmp_path / "w", 3)
    assert of_side.tree.name == "side tree-3" and git(of_side.tree, "rev-parse", "--git-common-dir") == str(
        tree / ".git"
    )
    git(tmp_path, "clone", "-q", "--bare", str(tree), str(tmp_path / "b.git"))
    bare = await _prepare(tmp_path / "b.git", tmp_path / "w", 4)
    assert bare.tree.name == "b-4" and (bare.tree / "a.txt").exists()


async def test_what_an_agent_wrote_is_merged_and_its_tree_discarded(tmp_path: Path) -> None:
    tree = empty_repository(tmp_path / "tree")
    write = script(
        {"tools": [{"name": "Write", "input": {"file_path": "made.txt", "content": "made\n"}}]}, {"text": "ok"}
    )
    async with holding(tmp_path) as held:
        run = await held.start(f"go {write}", tree_kind=TreeKind.WORKTREE, mode="acceptEdits")
        await held.until(run, lambda view: view.turns and view.turns[-1].result is not None)
        busy = await held.do(DisposeOfTree(run=run, how=Disposal.MERGE))
        assert isinstance(busy, Refusal) and busy.reason is RefusalReason.STILL_HELD
        await held.do(Stop(run=run))
        done = await held.do(DisposeOfTree(run=run, how=Disposal.MERGE))
        assert isinstance(done, Disposed), done
        assert (tree / "made.txt").read_text() == "made\n" and git(tree, "status", "--porcelain") == ""
        gone = await held.do(DisposeOfTree(run=run, how=Disposal.DISCARD))
        assert isinstance(gone, Disposed) and not (tmp_path / "worktrees" / f"tree-{run}").exists()
        assert not treepool.someone_stands_in(tree)
