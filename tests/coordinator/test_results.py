"""What a run's tree came to, kept as a commit, and a new tree that begins there."""

from pathlib import Path

from msgspec.structs import replace

from coordinator.api import Proposal, Propose, Started, StartRun
from coordinator.tasks import result
from coordinator.tasks.result import keep_result
from coordinator.terms import TreeKind
from coordinator.treetypes import KEPT
from store.refusal import Refusal
from store.vocab import Millis, RefusalReason, RunId
from tests.coordinator.held import holding, script
from tests.coordinator.repositories import git, repository

NOW = Millis(1_800_000_000_000)


async def test_all_of_a_tree_is_kept_and_the_tree_stays_as_it_is(tmp_path: Path) -> None:
    top = repository(tmp_path / "r", {"a": "1\n", "gone": "x\n", ".gitignore": "*.log\n"})
    head = git(top, "rev-parse", "HEAD")
    (top / "a").write_text("2\n")
    (top / "gone").unlink()
    (top / "new").mkdir()
    (top / "new" / "tool").write_text("#!/bin/sh\n")
    (top / "new" / "tool").chmod(0o755)
    (top / "out.log").write_text("not git's\n")
    before = (git(top, "status", "--porcelain"), git(top, "rev-parse", "HEAD"), (top / ".git" / "index").read_bytes())
    commit = await keep_result(top, RunId(7), now=NOW, operator="Ada")
    assert isinstance(commit, str), commit
    assert git(top, "rev-parse", "refs/footplate/result/7^{commit}") == commit
    assert git(top, "ls-tree", "-r", "--format=%(objectmode) %(path)", commit).splitlines() == [
        "100644 .gitignore",
        "100644 a",
        "100755 new/tool",
    ]
    assert git(top, "show", f"{commit}:a") == "2" and git(top, "rev-parse", f"{commit}^") == head
    index = (top / ".git" / "index").read_bytes()
    assert (git(top, "status", "--porcelain"), git(top, "rev-parse", "HEAD"), index) == before
    assert await keep_result(top, RunId(7), now=NOW) == commit, "the same again where nothing changed"
    git(top, "add", "-A")
    git(top, "commit", "-qm", "by the agent itself")
    later = await keep_result(top, RunId(7), now=NOW)
    assert later == git(top, "rev-parse", "HEAD") == await result.of(top, RunId(7))
    await keep_result(top, RunId(8), now=Millis(NOW + KEPT + 60_000))
    assert await result.of(top, RunId(7)) == "" and await result.of(top, RunId(8)) == later
    (top / "inner").mkdir()
    git(top / "inner", "init", "-q")
    refused = await keep_result(top, RunId(9), now=NOW)
    assert isinstance(refused, Refusal) and refused.reason is RefusalReason.NOT_OURS_TO_WRITE
    assert isinstance(await keep_result(tmp_path / "none", RunId(9), now=NOW), Refusal)


async def test_a_lock_that_a_killed_console_left_keeps_nothing_from_being_kept(tmp_path: Path) -> None:
    top = repository(tmp_path / "r", {"a": "1\n"})
    lock = top / ".git" / result.PLACE / "6.lock"
    lock.parent.mkdir(parents=True)
    lock.touch()
    kept = []
    for n in (1, 2):
        (top / "a").write_text(f"{n}{n}\n")
        kept.append(await keep_result(top, RunId(6), now=Millis(NOW + n)))
        assert kept[-1] == await result.of(top, RunId(6))
    assert kept[0] != kept[1] == await keep_result(top, RunId(6), now=Millis(NOW + 5000))
    assert lock.exists() and await result.of(top, RunId(60)) == ""
    lock.unlink()
    (top / "a").write_text("3\n")
    last = await keep_result(top, RunId(6), now=Millis(NOW + 9000))
    assert last == await result.of(top, RunId(6)) not in kept


async def test_a_new_tree_begins_at_what_was_agreed_to(tmp_path: Path) -> None:
    tree = repository(tmp_path / "tree", {"a": "1\n"})
    head = git(tree, "rev-parse", "HEAD")
    (tree / "b").write_text("of the run before\n")
    commit = await keep_result(tree, RunId(1), now=NOW, title="Write b…")
    assert isinstance(commit, str)
    assert git(tree, "log", "-1", "--format=%s", commit) == "Write b", "no mark of having been cut"
    assert await result.run_at(tree, commit) == 1 and await result.run_at(tree, head) is None
    (tree / "b").unlink()
    async with holding(tmp_path) as held:
        hello = "go " + script({"text": "hello"})
        asked = Propose(instruction=hello, repository=str(tree), agent="practice", preamble=False, worktree=True)
        proposal = await held.do(asked)
        assert isinstance(proposal, Proposal), proposal
        terms = replace(proposal.terms, script="plain", base=commit)
        started = await held.do(StartRun(terms=terms))
        assert isinstance(started, Started), started
        view = await held.settled(started.run)
        assert (Path(view.tree) / "b").read_text() == "of the run before\n"
        assert (view.head, git(Path(view.tree), "rev-parse", "HEAD"), terms.head) == (commit, commit, head)
        assert view.changed == (), "what it began with is not its own doing"
        for base, kind in (("0" * 40, terms.tree_kind), (commit[:12], terms.tree_kind), (commit, TreeKind.IN_PLACE)):
            refused = await held.do(StartRun(terms=replace(terms, base=base, tree_kind=kind)))
            assert isinstance(refused, Refusal) and refused.reason is RefusalReason.TERMS_MOVED, refused
            assert (refused.facts["field"], refused.facts["was"]) == ("base", base)
