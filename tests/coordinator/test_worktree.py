"""The tree that a run gets, and that work in it is never lost by us."""

from pathlib import Path

import pytest

from coordinator import githelper, worktree
from coordinator.gitfacts import RepositoryFacts
from coordinator.terms import TreeKind
from coordinator.worktree import PreparedTree
from store.refusal import Refusal
from store.vocab import RefusalReason
from tests.coordinator.repositories import git, plant, repository


async def _facts(tree: Path) -> RepositoryFacts:
    facts = await githelper.look_at_repository(tree)
    assert isinstance(facts, RepositoryFacts)
    return facts


async def _prepare(tree: Path, folder: Path, run: int = 7) -> PreparedTree:
    facts = await _facts(tree)
    prepared = await worktree.prepare(facts, kind=TreeKind.WORKTREE, run=run, folder=folder, head=facts.head)
    assert isinstance(prepared, PreparedTree), prepared
    return prepared


async def test_in_place_is_the_repository_as_it_stands(tmp_path: Path) -> None:
    tree = repository(tmp_path / "orders")
    (tree / "dirty").write_text("x")
    facts = await _facts(tree)
    prepared = await worktree.prepare(facts, kind=TreeKind.IN_PLACE, run=1, folder=tmp_path / "w", head=facts.head)
    assert isinstance(prepared, PreparedTree)
    assert (prepared.tree, prepared.branch, prepared.head) == (tree, "main", facts.head)
    assert not (tmp_path / "w").exists()
    assert await worktree.release(prepared) == "kept" and (tree / "dirty").exists()


async def test_a_tree_of_its_own(tmp_path: Path) -> None:
    tree = repository(tmp_path / "orders", {"src/a": "a\n", "run.sh": "#!/bin/sh\n", "ü ä": "x\n"})
    (tree / "run.sh").chmod(0o755)
    (tree / "link").symlink_to("src/a")
    git(tree, "add", "-A")
    git(tree, "commit", "-q", "-m", "second")
    (tree / "src" / "a").write_text("dirty, and stays in the repository\n")
    prepared = await _prepare(tree, tmp_path / "w")
    assert prepared.tree == tmp_path / "w" / "orders-7" and prepared.branch == "footplate/7"
    assert (prepared.tree / "src" / "a").read_text() == "a\n"
    assert (prepared.tree / "link").is_symlink() and (prepared.tree / "run.sh").stat().st_mode & 0o100
    assert git(prepared.tree, "status", "--porcelain") == ""
    assert git(prepared.tree, "rev-parse", "--abbrev-ref", "HEAD") == "footplate/7"
    assert git(prepared.tree, "rev-parse", "HEAD") == prepared.head == git(tree, "rev-parse", "HEAD")
    facts = await _facts(prepared.tree)
    assert facts.git_dir != facts.common_dir and facts.dirty_files == 0


async def test_an_older_commit_may_be_asked_for(tmp_path: Path) -> None:
    tree = repository(tmp_path / "orders")
    first = git(tree, "rev-parse", "HEAD")
    (tree / "later").write_text("x")
    git(tree, "add", "-A")
    git(tree, "commit", "-q", "-m", "second")
    facts = await _facts(tree)
    prepared = await worktree.prepare(facts, kind=TreeKind.WORKTREE, run=2, folder=tmp_path / "w", head=first)
    assert isinstance(prepared, PreparedTree) and prepared.head == first and not (prepared.tree / "later").exists()


async def test_no_trap_springs_while_a_tree_is_made_and_removed(tmp_path: Path) -> None:
    tree = repository(tmp_path / "orders", {"a.txt": "a\n", "c.bin": "c\n", ".gitattributes": "*.txt filter=evil\n"})
    plant(tree, tmp_path / "canary")
    git(tree, "-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false", "update-ref", "refs/heads/x", "HEAD")
    prepared = await _prepare(tree, tmp_path / "w")
    assert (prepared.tree / "a.txt").read_text() == "a\n"
    assert await worktree.release(prepared) == "removed"
    assert list((tmp_path / "canary").iterdir()) == []


async def test_the_mailbox_is_ignored_once_and_everywhere(tmp_path: Path) -> None:
    tree = repository(tmp_path / "orders")
    exclude = tree / ".git" / "info" / "exclude"
    exclude.parent.mkdir(exist_ok=True)
    exclude.write_text("mine")
    prepared = await _prepare(tree, tmp_path / "w")
    await _prepare(tree, tmp_path / "w", run=8)
    assert exclude.read_text() == "mine\n/.footplate/\n"
    for place in (tree, prepared.tree):
        (place / ".footplate" / "7").mkdir(parents=True)
        (place / ".footplate" / "7" / "handoff.md").write_text("x")
        assert git(place, "status", "--porcelain") == ""


async def test_untouched_is_removed_with_its_branch(tmp_path: Path) -> None:
    tree = repository(tmp_path / "orders")
    prepared = await _prepare(tree, tmp_path / "w")
    (prepared.tree / ".footplate").mkdir()
    assert await worktree.release(prepared) == "removed"
    assert not prepared.tree.exists() and git(tree, "branch", "--list", "footplate/*") == ""
    assert git(tree, "worktree", "list").count("\n") == 0


@pytest.mark.parametrize("what", ["edited", "new", "ignored", "committed", "deleted", "hidden"])
async def test_a_tree_with_work_in_it_is_kept(tmp_path: Path, what: str) -> None:
    tree = repository(tmp_path / "orders", {"a": "a\n", ".gitignore": "*.log\n"})
    prepared = await _prepare(tree, tmp_path / "w")
    match what:
        case "edited":
            (prepared.tree / "a").write_text("b\n")
        case "new":
            (prepared.tree / "n").write_text("n\n")
        case "ignored":
            (prepared.tree / "result.log").write_text("hours of work\n")
        case "committed":
            (prepared.tree / "n").write_text("n\n")
            git(prepared.tree, "add", "-A")
            git(prepared.tree, "commit", "-q", "-m", "work")
        case "deleted":
            (prepared.tree / "a").unlink()
        case "hidden":
            git(prepared.tree, "update-index", "--skip-worktree", "a")
            (prepared.tree / "a").write_text("hidden\n")
    assert await worktree.release(prepared) == "kept"
    assert prepared.tree.exists() and "footplate/7" in git(tree, "branch", "--list", "footplate/7")


async def test_a_name_that_is_taken_is_left_alone(tmp_path: Path) -> None:
    """A restored ledger gives out numbers again; older trees and branches are someone's work."""
    tree = repository(tmp_path / "orders")
    first = await _prepare(tree, tmp_path / "w")
    (first.tree / "work").write_text("x")
    second = await _prepare(tree, tmp_path / "w")
    assert second.tree != first.tree and second.branch == "footplate/7-2"
    assert (first.tree / "work").read_text() == "x"
    await worktree.release(second)
    assert (await _prepare(tree, tmp_path / "w", run=70)).branch == "footplate/70"


async def test_what_is_refused(tmp_path: Path) -> None:
    empty = repository(tmp_path / "empty", {})
    facts = await _facts(empty)
    answer = await worktree.prepare(facts, kind=TreeKind.WORKTREE, run=1, folder=tmp_path / "w", head="")
    assert isinstance(answer, Refusal) and answer.reason is RefusalReason.NO_COMMIT
    assert isinstance(
        await worktree.prepare(facts, kind=TreeKind.IN_PLACE, run=1, folder=tmp_path / "w", head=""), PreparedTree
    )
    tree = repository(tmp_path / "r")
    facts = await _facts(tree)
    answer = await worktree.prepare(facts, kind=TreeKind.WORKTREE, run=1, folder=tmp_path / "w", head="0" * 40)
    assert isinstance(answer, Refusal) and answer.reason is RefusalReason.GIT_FAILED
    assert not (tmp_path / "w" / "r-1").exists()
    assert git(tree, "branch", "--list", "footplate/*") == ""


async def test_a_branch_that_leaves_no_room_for_ours(tmp_path: Path) -> None:
    tree = repository(tmp_path / "r")
    git(tree, "branch", "footplate/7/x")
    assert (await _prepare(tree, tmp_path / "w")).branch == "footplate/7-2"
    other = repository(tmp_path / "o")
    git(other, "branch", "footplate")
    assert (await _prepare(other, tmp_path / "w")).branch == "footplate-7"
    assert (await _prepare(other, tmp_path / "w")).branch == "footplate-7-2"
