"""What becomes of a run's tree: real repositories, a real ledger, and a console killed at every step."""

import asyncio
import json
import shutil
import signal
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
from msgspec.structs import replace

from coordinator import discarding, disposing, landing, recording, worktree
from coordinator.gitfacts import RepositoryFacts
from coordinator.githelper import look_at_repository
from coordinator.tasks import result
from coordinator.terms import TreeKind
from coordinator.treetypes import KEPT, Disposal, Disposed, TreeView
from coordinator.worktree import PreparedTree
from store import entries, runs
from store.db import Ledger
from store.refusal import Refusal
from store.tx import Tx
from store.vocab import AuthorizationId, Millis, RefusalReason, RunId, RunOutcome
from tests.coordinator.repositories import git, plant, repository
from tests.coordinator.signed import ADMITTING, HERE, SIGNED
from tests.store.scenes import NOON, open_ledger, register

R = RefusalReason
D = Disposal
TWO = {"a.txt": "one\ntwo\nthree\n", "b.txt": "b\n", ".gitignore": "*.log\n"}


@dataclass
class Run:
    """An ended run on a tree of its own."""

    ledger: Ledger
    home: Path
    top: Path
    tree: Path
    branch: str
    id: RunId
    now: Millis = NOON

    async def do(self, how: Disposal, *, ignored: bool = False) -> Disposed | Refusal:
        return await disposing.dispose(self.ledger, self.id, how, operator="Ada", now=lambda: self.now, ignored=ignored)

    async def done(self, how: Disposal, *, ignored: bool = False) -> Disposed:
        answer = await self.do(how, ignored=ignored)
        assert isinstance(answer, Disposed), answer
        return answer

    async def refused(self, how: Disposal, reason: RefusalReason) -> Refusal:
        answer = await self.do(how)
        assert isinstance(answer, Refusal) and answer.reason is reason, answer
        return answer

    async def view(self) -> TreeView:
        view = await disposing.look(self.ledger, self.id)
        assert isinstance(view, TreeView), view
        return view

    async def kinds(self) -> list[str]:
        told = await self.ledger.read(lambda tx: [one.kind for one in entries.entries_of(tx, self.id)])
        return [kind for kind in told if kind.startswith("tree.")]

    def commit(self, where: Path, **files: str) -> str:
        for name, text in files.items():
            (where / name.replace("_", ".")).write_text(text)
        git(where, "add", "-A")
        git(where, "commit", "-q", "-m", f"work on {', '.join(files)}")
        return git(where, "rev-parse", "HEAD")


@asynccontextmanager
async def ended(home: Path, files: dict[str, str] | None = None, *, name: str = "orders") -> AsyncIterator[Run]:
    top = repository(home / name, TWO if files is None else files)
    git(top, "config", "user.name", "Ada")
    facts = await look_at_repository(top)
    assert isinstance(facts, RepositoryFacts)
    ledger = await open_ledger(home / "ledger.db")
    terms = replace(SIGNED, repository=str(top), tree_kind=TreeKind.WORKTREE, head=facts.head)
    made = await worktree.prepare(facts, kind=TreeKind.WORKTREE, run=1, folder=home / "w", head=facts.head)
    assert isinstance(made, PreparedTree)

    def begin(tx: Tx) -> None:
        register(tx, HERE)
        run = recording.admit(tx, ADMITTING, terms=terms, authorization=AuthorizationId("t"), title="mend the roof")
        assert not isinstance(run, Refusal)
        runs.set_step(tx, id=run.id, step="live", tree=str(made.tree), head=made.head, branch=made.branch)
        runs.end(tx, id=run.id, outcome=RunOutcome.FINISHED, reason="finished")

    await ledger.transaction(begin)
    try:
        yield Run(ledger=ledger, home=home, top=top, tree=made.tree, branch=made.branch, id=RunId(1))
    finally:
        await ledger.close()


def whole(run: Run, *, at: str) -> None:
    """The repository is at this commit, and git itself finds nothing begun, locked or changed in it."""
    assert git(run.top, "rev-parse", "HEAD") == at
    assert git(run.top, "status", "--porcelain") == ""
    assert git(run.top, "for-each-ref", f"{landing.NOTES}/") == ""
    assert not (run.top / ".git" / "index.lock").exists() and not (run.top / ".git" / "footplate-index").exists()
    assert git(run.top, "fsck", "--no-dangling", "--no-progress") == ""


async def test_a_merge_takes_all_of_it_committed_or_not(tmp_path: Path) -> None:
    async with ended(tmp_path, name="örders and more") as run:
        run.commit(run.tree, a_txt="one\nTWO\nthree\n")
        (run.tree / "naïve file").write_text("new\n")
        (run.tree / "b.txt").unlink()
        (run.tree / "noise.log").write_text("ignored\n")
        view = await run.view()
        assert (view.changed, view.commits, view.landed, view.target) == (2, 1, False, "main")
        ours = run.commit(run.top, c_txt="mine meanwhile\n")
        done = await run.done(D.MERGE)
        assert (done.target, done.committed) == ("main", 2)
        assert (run.top / "a.txt").read_text() == "one\nTWO\nthree\n" and (run.top / "c.txt").exists()
        assert (run.top / "naïve file").read_text() == "new\n" and not (run.top / "b.txt").exists()
        assert not (run.top / "noise.log").exists() and (run.tree / "noise.log").exists()
        assert git(run.top, "rev-parse", "HEAD^1") == ours
        assert git(run.top, "rev-parse", "HEAD^2") == git(run.top, "rev-parse", run.branch)
        whole(run, at=done.commit)
        assert git(run.tree, "status", "--porcelain") == ""
        assert (await run.view()).landed
        await run.refused(D.MERGE, R.NOTHING_TO_LAND)
        assert await run.kinds() == ["tree.asked", "tree.merged", "tree.asked"]


async def test_what_it_was_built_on_is_counted_and_named(tmp_path: Path) -> None:
    """The target lacks what another run came to, at which this one began."""
    async with ended(tmp_path) as run:
        own = run.commit(run.tree, a_txt="other work")
        kept = await result.keep_result(run.tree, RunId(7), now=NOON)
        assert kept == own
        await run.ledger.transaction(lambda tx: tx.conn.execute("UPDATE runs SET head = ?", (own,)))
        run.commit(run.tree, b_txt="its own")
        view = await run.view()
        assert (view.commits, view.built_on, view.built_on_run) == (1, 1, 7)
        git(run.top, "merge", "-q", own)
        assert (await run.view()).built_on == 0


async def test_nothing_else_meanwhile_is_a_step_forward(tmp_path: Path) -> None:
    async with ended(tmp_path) as run:
        tip = run.commit(run.tree, a_txt="x\n")
        assert (await run.done(D.MERGE)).commit == tip
        whole(run, at=tip)


@pytest.mark.parametrize("how", [D.MERGE, D.PICK])
async def test_a_conflict_is_named_and_nothing_is_changed(tmp_path: Path, how: Disposal) -> None:
    async with ended(tmp_path) as run:
        (run.tree / "a.txt").write_text("one\ntheirs\nthree\n")
        (run.tree / "new.txt").write_text("n\n")
        ours = run.commit(run.top, a_txt="one\nours\nthree\n")
        tip = git(run.tree, "rev-parse", "HEAD")
        refused = await run.refused(how, R.CONFLICTS)
        assert refused.facts["files"] == "a.txt"
        whole(run, at=ours)
        assert git(run.tree, "rev-parse", "HEAD") == tip and (await run.view()).changed == 2


async def test_picked_are_its_own_commits_as_their_authors_wrote_them(tmp_path: Path) -> None:
    async with ended(tmp_path) as run:
        run.commit(run.tree, a_txt="one\nTWO\nthree\n")
        run.commit(run.tree, d_txt="d\n")
        (run.tree / "e.txt").write_text("uncommitted\n")
        run.commit(run.top, d_txt="d\n")  # the same change is here already
        run.commit(run.top, c_txt="c\n")
        done = await run.done(D.PICK)
        told = git(run.top, "log", "--format=%s|%an", "-3").split("\n")
        assert told == ["mend the roof|Ada", "work on a_txt|a", "work on c_txt|a"]
        whole(run, at=done.commit)
        await run.refused(D.PICK, R.NOTHING_TO_LAND)


async def test_commits_that_are_merges_are_not_picked(tmp_path: Path) -> None:
    async with ended(tmp_path) as run:
        git(run.tree, "checkout", "-q", "-b", "side")
        run.commit(run.tree, s_txt="s\n")
        git(run.tree, "checkout", "-q", run.branch)
        run.commit(run.tree, d_txt="d\n")
        git(run.tree, "merge", "-q", "--no-edit", "side")
        run.commit(run.top, c_txt="c\n")
        await run.refused(D.PICK, R.HAS_MERGES)


async def test_a_target_that_is_not_clean_is_left_alone(tmp_path: Path) -> None:
    async with ended(tmp_path) as run:
        run.commit(run.tree, a_txt="x\n")
        at = git(run.top, "rev-parse", "HEAD")
        (run.top / "mine").write_text("mine\n")
        assert (await run.refused(D.MERGE, R.TARGET_DIRTY)).facts["files"] == "mine"
        (run.top / "mine").unlink()
        (run.top / ".git" / "MERGE_HEAD").write_text(at + "\n")
        await run.refused(D.MERGE, R.TREE_BUSY)
        (run.top / ".git" / "MERGE_HEAD").unlink()
        (run.top / ".git" / "index.lock").write_text("")
        await run.refused(D.PICK, R.TREE_BUSY)
        assert (run.top / ".git" / "index.lock").exists()  # named, never removed: it may be somebody's
        (run.top / ".git" / "index.lock").unlink()
        git(run.top, "checkout", "-q", "--detach")
        await run.refused(D.MERGE, R.NO_BRANCH)
        git(run.top, "checkout", "-q", "main")
        # What git ignores here is in the way of a file that the run committed: it is not written over.
        (run.tree / "kept.log").write_text("from the run\n")
        git(run.tree, "add", "-f", "kept.log")
        run.commit(run.tree, z_txt="z\n")
        (run.top / "kept.log").write_text("the operator's own\n")
        assert isinstance(await run.do(D.MERGE), Refusal)
        assert (run.top / "kept.log").read_text() == "the operator's own\n"
        whole(run, at=at)


async def test_kept_is_a_branch_with_everything(tmp_path: Path) -> None:
    async with ended(tmp_path) as run:
        (run.tree / "new.txt").write_text("n\n")
        (run.tree / "a.txt").chmod(0o755)
        (run.tree / "link").symlink_to("nowhere")
        done = await run.done(D.KEEP)
        assert done.committed == 3 and git(run.top, "rev-parse", run.branch) == done.commit
        assert git(run.tree, "status", "--porcelain") == "" and git(run.tree, "diff", "HEAD") == ""
        assert git(run.top, "ls-tree", done.commit, "link", "a.txt").count("120000") == 1
        assert (await run.done(D.KEEP)).commit == done.commit  # again: there is nothing more


async def test_discarded_and_restored(tmp_path: Path) -> None:
    async with ended(tmp_path) as run:
        run.commit(run.tree, a_txt="committed\n")
        (run.tree / "new.txt").write_text("not committed\n")
        done = await run.done(D.DISCARD)
        assert not run.tree.exists() and git(run.top, "branch", "--list", run.branch) == ""
        assert git(run.top, "worktree", "list").count("\n") == 0 and done.until == NOON + KEPT
        view = await run.view()
        assert (view.tree, view.branch, view.discarded_at) == ("", "", NOON)
        await run.refused(D.DISCARD, R.ALREADY_DISCARDED)
        git(run.top, "gc", "-q", "--prune=now")
        back = await run.done(D.RESTORE)
        assert (back.branch, back.tree) == (run.branch, str(run.tree))
        assert (run.tree / "new.txt").read_text() == "not committed\n" and (
            run.tree / "a.txt"
        ).read_text() == "committed\n"
        assert git(run.tree, "status", "--porcelain") == "" and git(run.top, "for-each-ref", discarding.PLACE) == ""
        await run.refused(D.RESTORE, R.NOT_DISCARDED)
        assert [one for one in await run.kinds() if one != "tree.asked"] == ["tree.discarded", "tree.restored"]


async def test_what_was_discarded_is_let_go_after_thirty_days(tmp_path: Path) -> None:
    async with ended(tmp_path) as run:
        run.commit(run.tree, a_txt="x\n")
        await run.done(D.DISCARD)
        assert await discarding.let_go(run.top, Millis(NOON + KEPT)) == []
        assert await discarding.let_go(run.top, Millis(NOON + KEPT + 1001)) == [run.id]
        await run.refused(D.RESTORE, R.NOT_DISCARDED)


@pytest.mark.parametrize("what", ["ignored", "nested", "filtered", "elsewhere", "half-merged"])
async def test_a_tree_of_which_something_would_be_lost_is_not_removed(tmp_path: Path, what: str) -> None:
    async with ended(tmp_path) as run:
        reason = R.NOT_OURS_TO_WRITE
        match what:
            case "ignored":
                (run.tree / "out.log").write_text("hours of work\n")
                reason = R.IGNORED_FILES
            case "nested":
                repository(run.tree / "inner")
            case "filtered":
                (run.tree / ".gitattributes").write_text("*.bin filter=crypt\n")
                (run.tree / "k.bin").write_text("secret\n")
            case "elsewhere":
                git(run.tree, "checkout", "-q", "--detach")
                git(run.top, "checkout", "-q", run.branch)
                reason = R.BRANCH_IN_USE
            case _:
                (run.top / ".git" / "worktrees" / run.tree.name / "MERGE_HEAD").write_text("0" * 40)
                reason = R.TREE_BUSY
        await run.refused(D.DISCARD, reason)
        assert run.tree.exists() and git(run.top, "rev-parse", run.branch)
        assert git(run.top, "for-each-ref", discarding.PLACE) == ""
        if what == "ignored":
            await run.done(D.DISCARD, ignored=True)
            assert not run.tree.exists()


async def test_a_branch_that_has_more_than_the_tree_stays(tmp_path: Path) -> None:
    async with ended(tmp_path) as run:
        more = run.commit(run.tree, a_txt="on its branch\n")
        git(run.tree, "checkout", "-q", "--detach", "HEAD~1")
        done = await run.done(D.DISCARD)
        assert done.left == run.branch and git(run.top, "rev-parse", run.branch) == more


async def test_an_older_note_of_the_same_number_is_not_written_over(tmp_path: Path) -> None:
    async with ended(tmp_path) as run:
        other = git(run.top, "rev-parse", "HEAD")
        words = json.dumps({"branch": "x", "tree": ""})
        tag = await discarding.made_tag(
            run.top, "footplate-discarded-1", other, words=words, by=await _ada(run.top), now=Millis(NOON - 9000)
        )
        assert isinstance(tag, str)
        git(run.top, "update-ref", f"{discarding.PLACE}/1", tag)
        run.commit(run.tree, a_txt="x\n")
        done = await run.done(D.DISCARD)
        assert {one.commit for one in await discarding.listing(run.top)} == {other, done.commit}


async def _ada(top: Path) -> disposing.Identity:
    return await disposing.leftwork.identity(top, "Ada")


async def test_no_trap_springs(tmp_path: Path) -> None:
    async with ended(tmp_path, {"a.md": "a\n", "b.md": "b\n"}) as run:
        plant(run.top, tmp_path / "canary")
        git(run.top, "-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false", "update-ref", "refs/x", "HEAD")
        (run.top / ".gitattributes").unlink()
        shutil.rmtree(run.top / "planted-hooks")
        (run.tree / "a.md").write_text("changed\n")
        for how in (D.KEEP, D.MERGE, D.DISCARD, D.RESTORE):
            await run.done(how)
        assert list((tmp_path / "canary").iterdir()) == []


async def test_nobodys_and_everybodys_trees(tmp_path: Path) -> None:
    async with ended(tmp_path) as run:
        missing = await disposing.look(run.ledger, RunId(99))
        assert isinstance(missing, Refusal) and missing.reason is R.NO_SUCH_RUN

        def begin(tx: Tx) -> None:
            terms = replace(SIGNED, repository=str(run.top), tree_kind=TreeKind.IN_PLACE)
            run_ = recording.admit(tx, ADMITTING, terms=terms, authorization=AuthorizationId("u"), title="in place")
            assert not isinstance(run_, Refusal)

        await run.ledger.transaction(begin)
        live = await disposing.look(run.ledger, RunId(2))
        assert isinstance(live, Refusal) and live.reason is R.STILL_HELD
        run.commit(run.tree, a_txt="x\n")
        assert (await run.refused(D.MERGE, R.TREE_HELD)).facts["run"] == 2
        await run.ledger.transaction(
            lambda tx: runs.end(tx, id=RunId(2), outcome=RunOutcome.REFUSED, reason="stopped") and None
        )
        own = await disposing.look(run.ledger, RunId(2))
        assert isinstance(own, Refusal) and own.reason is R.NO_TREE_OF_ITS_OWN
        shutil.rmtree(run.tree)  # by hand: its branch is still there
        view = await run.view()
        assert (view.tree, view.branch, view.commits) == ("", run.branch, 1)
        await run.done(D.MERGE)
        await run.done(D.DISCARD)
        back = await run.done(D.RESTORE)
        assert back.tree == str(run.tree) and (run.tree / "a.txt").read_text() == "x\n"


# ------------------------------------------------------------------------------------------------------ cut off by KILL


def _killed(run: Run, how: Disposal, place: str) -> None:
    argv = [sys.executable, "-m", "tests.children.disposing_console", str(run.home / "ledger.db"), "1", how, place]
    ended_ = subprocess.run(argv, capture_output=True, timeout=60, check=False)
    assert ended_.returncode == -signal.SIGKILL, ended_


def _both_changed(run: Run) -> str:
    (run.tree / "sub").mkdir()
    (run.tree / "sub" / "deep.txt").write_text("deep\n")
    (run.tree / "b.txt").unlink()
    run.commit(run.tree, a_txt="one\nTWO\nthree\n")
    return run.commit(run.top, c_txt="mine\n")


@pytest.mark.parametrize("place", ["noted", "files-written", "index-put", "branch-moved"])
async def test_a_merge_that_was_cut_off_is_whole_or_was_never(tmp_path: Path, place: str) -> None:
    async with ended(tmp_path) as run:
        before = _both_changed(run)
        _killed(run, D.MERGE, place)
        assert await landing.recover_in(run.top) is None
        after = git(run.top, "rev-parse", "HEAD")
        assert (after == before) is (place != "branch-moved")
        whole(run, at=after)
        assert (run.top / "sub").exists() is (after != before)
        if after == before:
            done = await run.done(D.MERGE)
            whole(run, at=done.commit)


async def test_another_tree_of_the_repository_does_not_settle_it(tmp_path: Path) -> None:
    async with ended(tmp_path) as run:
        before = _both_changed(run)
        git(run.top, "worktree", "add", "-q", "-b", "side", str(tmp_path / "side"))
        run.commit(tmp_path / "side", s_txt="s\n")
        _killed(run, D.MERGE, "files-written")
        assert await landing.recover_in(tmp_path / "side") is None
        assert git(run.top, "status", "--porcelain") != ""
        assert await landing.recover_in(run.top) is None
        whole(run, at=before)


async def test_what_someone_did_after_a_cut_off_merge_is_not_undone(tmp_path: Path) -> None:
    async with ended(tmp_path) as run:
        before = _both_changed(run)
        _killed(run, D.MERGE, "files-written")
        (run.top / "a.txt").write_text("the operator's own\n")
        refused = await run.refused(D.MERGE, R.TREE_BUSY)
        assert "a.txt" in str(refused.facts["what"])
        assert (run.top / "a.txt").read_text() == "the operator's own\n"
        git(run.top, "reset", "-q", "--hard")
        git(run.top, "clean", "-qfd")
        assert await landing.recover_in(run.top) is None
        whole(run, at=before)


async def test_half_a_file_and_our_own_lock_are_cleared_away(tmp_path: Path) -> None:
    """What a git that was killed in the middle of writing leaves."""
    async with ended(tmp_path) as run:
        before = _both_changed(run)
        _killed(run, D.MERGE, "files-written")
        (run.top / "a.txt").write_text("one\nTW")
        (run.top / "sub" / "deep.txt").unlink()
        ours = run.top / ".git" / "footplate-index"
        ours.write_bytes(b"x")
        (run.top / ".git" / "index.lock").hardlink_to(ours)
        assert await landing.recover_in(run.top) is None
        whole(run, at=before)


@pytest.mark.parametrize("place", ["put-away", "tree-aside", "tree-removed", "branch-dropped"])
async def test_a_discard_that_was_cut_off_has_lost_nothing(tmp_path: Path, place: str) -> None:
    async with ended(tmp_path) as run:
        run.commit(run.tree, a_txt="committed\n")
        (run.tree / "new.txt").write_text("not committed\n")
        _killed(run, D.DISCARD, place)
        assert (await run.view()).discarded_at is not None
        ours = run.top / ".git" / "worktrees" / run.tree.name / "footplate-index"
        if run.tree.exists():  # as if it had been killed while it put an index there, before
            ours.write_bytes(b"x")
            ours.with_name("index.lock").hardlink_to(ours)
        again = await run.do(D.DISCARD)
        assert isinstance(again, Disposed) or again.reason is R.ALREADY_DISCARDED
        await run.done(D.RESTORE)
        assert (run.tree / "new.txt").read_text() == "not committed\n"
        assert git(run.top, "for-each-ref", discarding.PLACE) == ""
        assert [one.name for one in (run.home / "w").iterdir()] == [run.tree.name]


@pytest.mark.parametrize("place", ["branch-again", "tree-again"])
async def test_a_restore_that_was_cut_off_is_given_again(tmp_path: Path, place: str) -> None:
    async with ended(tmp_path) as run:
        run.commit(run.tree, a_txt="committed\n")
        await run.done(D.DISCARD)
        _killed(run, D.RESTORE, place)
        if place == "tree-again":
            (run.tree / "b.txt").unlink()  # as if it had been killed while it wrote the files
        await run.done(D.RESTORE)
        assert git(run.tree, "status", "--porcelain") == ""
        assert (run.tree / "a.txt").read_text() == "committed\n"
        assert git(run.top, "branch", "--list", "footplate/*").count("footplate/1") == 1


def _kill_after(run: Run, seconds: float) -> None:
    """After its start, wherever it is then."""
    argv = [sys.executable, "-m", "tests.children.disposing_console", str(run.home / "ledger.db"), "1", "merge", "-"]
    with subprocess.Popen(argv, stdout=subprocess.PIPE) as child:
        assert child.stdout is not None and child.stdout.readline() == b"begins\n"
        try:
            child.wait(seconds)
        except subprocess.TimeoutExpired:
            child.kill()


@pytest.mark.soak
async def test_killed_at_any_moment(tmp_path: Path) -> None:
    """Also in the middle of git's own writing, where no step of ours is."""
    for n in range(40):
        async with ended(tmp_path / str(n)) as run:
            for file in range(300):
                (run.tree / f"f{file}").write_text(f"{file}\n" * 200)
            before = _both_changed(run)
            await asyncio.to_thread(_kill_after, run, 0.05 + 0.03 * n)
            assert await landing.recover_in(run.top) is None
            after = git(run.top, "rev-parse", "HEAD")
            whole(run, at=after)
            assert (run.top / "sub").exists() is (after != before)
