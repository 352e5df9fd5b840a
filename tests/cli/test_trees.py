"""``footplate tree``: as a process of its own, from a run on its own tree to what becomes of it; and its sentences."""

import json
from pathlib import Path

import pytest

from app import wording_trees
from app.config import Config, parse_file
from coordinator.api import Disposal, Disposed, Proposal, TreeView
from coordinator.starttypes import TreeReason
from coordinator.terms import TreeKind
from store.refusal import Refusal
from store.vocab import MicroUsd, Millis, RunId
from tests.cli.made import made_terms
from tests.cli.running import Ran, footplate, repository
from tests.coordinator.held import script
from tests.coordinator.repositories import git

WRITES = script(
    {"tools": [{"name": "Write", "input": {"file_path": "neu ü.txt", "content": "made\n"}}]}, {"text": "done"}
)


def test_a_run_on_a_tree_made_ready_is_merged_discarded_and_restored(tmp_path: Path) -> None:
    tree, home = repository(tmp_path / "r"), tmp_path / "h"
    (tree / "mine.txt").write_text("not committed\n")
    home.mkdir(mode=0o700)
    (home / "config.toml").write_text(f'[repository."{tree}"]\nsetup = "echo ready > .git-ready"\n')
    around = {"CLAUDE_CONFIG_DIR": str(tmp_path / "agent"), "FOOTPLATE_REHEARSAL_PACE": "0"}

    def run(*arguments: str, code: int = 0) -> Ran:
        ran = footplate(home, *arguments, more=around, cwd=tree)
        assert ran.code == code, ran
        return ran

    none = run("tree", "ls")
    assert none.out == "No ended run has a tree of its own.\n"
    first = run("start", "--plain", "--yes", "--agent", "practice", "--mode", "acceptEdits", f"go {WRITES}")
    assert "On a tree of its own, because changes in 1 file are not committed: it works without them." in first.out
    assert "First it runs, in the new tree: echo ready > .git-ready." in first.out
    (place,) = (home / "worktrees").iterdir() if (home / "worktrees").is_dir() else (home / "data/worktrees").iterdir()
    assert (place / ".git-ready").read_text() == "ready\n" and (place / "neu ü.txt").exists()

    assert "2 files changed" in run("tree", "1").out and str(place) in run("tree", "ls").out
    dirty = run("tree", "1", "merge", code=1)
    assert "mine.txt" in dirty.err and "nothing was changed" in dirty.err
    (tree / "mine.txt").unlink()
    assert "Discarding asks first" in run("tree", "1", "discard", code=2).err
    discarded = json.loads(run("tree", "1", "discard", "--yes", "--json").out)
    assert discarded["how"] == "discard" and not place.exists()
    assert [one["tree"] for one in json.loads(run("tree", "ls", "--json").out)["trees"]] == [""]
    assert f"is back on its branch footplate/1, its tree is {place}" in run("tree", "1", "restore").out
    assert "is merged into main" in run("tree", "1", "merge").out
    assert (tree / "neu ü.txt").read_text() == "made\n" and git(tree, "status", "--porcelain") == ""
    assert "all of it is in main" in run("tree", "1").out
    assert "There is no 'burn'" in run("tree", "1", "burn", code=2).err
    inside = footplate(home, "tree", "1", "keep", more={**around, "FOOTPLATE_CUSTODY": "n"}, cwd=tree)
    assert inside.code == 1, "an agent disposes of nothing"
    assert run("verify").code == 0
    shell = footplate(home, "tree", "1", "shell", more={**around, "SHELL": "/bin/pwd"}, cwd=tree)
    assert (shell.code, shell.out) == (0, f"{place}\n")


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ('[repository."/r"]\nsetup = 3', 'repository."/r".setup'),
        ('[repository."/r"]\nother = "x"', 'repository."/r".other'),
        ('[repository."r"]\nsetup = "x"', 'repository."r"'),
        ('[repository]\nr = "x"', 'repository."r"'),
    ],
)
def test_a_setup_is_for_a_whole_path(tmp_path: Path, text: str, key: str) -> None:
    file = tmp_path / "config.toml"
    file.write_text(text)
    refused = parse_file(file)
    assert isinstance(refused, Refusal) and refused.facts["key"] == key


def test_a_setup_is_found_by_where_the_repository_really_lies(tmp_path: Path) -> None:
    (tmp_path / "real r").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real r")
    file = tmp_path / "config.toml"
    file.write_text(f'[repository."{tmp_path}/link"]\nsetup = "make"\n')
    read = parse_file(file)
    assert isinstance(read, Config) and read.setups == {str(tmp_path / "real r"): "make"}


@pytest.mark.parametrize("reason", TreeReason)
def test_each_reason_is_said_or_needs_no_word(reason: TreeReason) -> None:
    terms = made_terms(tree_kind=TreeKind.WORKTREE, budget=MicroUsd(1), max_turns=1, expires_at=Millis(1))
    said = wording_trees.tree_remarks(
        Proposal(terms=terms, preset=None, uncommitted=2, tree_reason=reason, holder=RunId(4), submodules=("a", "b"))
    )
    told = " ".join(said)
    assert ("because" in told) is (
        reason in (TreeReason.DIRTY, TreeReason.UNREADABLE, TreeReason.HELD, TreeReason.BARE)
    )
    assert "2 submodules stay empty in the new tree: a, b" in told


@pytest.mark.parametrize("how", Disposal)
def test_what_came_of_it_is_one_sentence(how: Disposal) -> None:
    said = wording_trees.disposed_words(
        Disposed(run=RunId(3), how=how, branch="footplate/3", commit="a" * 40, target="main\x1b[2J", committed=1)
    )
    assert said.startswith(("Run 3", "The commits of run 3")) and said.endswith(".") and "\x1b" not in said


def test_how_a_tree_stands_in_few_words() -> None:
    bare = {"run": RunId(1), "title": "t", "repository": "/r", "target": "main"}
    views = {
        "gone": TreeView(tree="", branch="", **bare),  # type: ignore[arg-type]
        "discarded": TreeView(tree="", branch="", discarded_at=Millis(1), **bare),  # type: ignore[arg-type]
        "all of it is in main": TreeView(tree="/t", branch="b", commits=1, landed=True, **bare),  # type: ignore[arg-type]
        "2 files changed, 1 commit": TreeView(tree="/t", branch="b", commits=1, changed=2, **bare),  # type: ignore[arg-type]
        "changes not counted": TreeView(tree="/t", branch="b", changed=-1, **bare),  # type: ignore[arg-type]
        "nothing changed": TreeView(tree="/t", branch="b", **bare),  # type: ignore[arg-type]
        "1 commit, and 2 of run 4 that it was built on": TreeView(
            tree="/t",
            branch="b",
            commits=1,
            built_on=2,
            built_on_run=RunId(4),
            **bare,  # type: ignore[arg-type]
        ),
        "nothing of its own, 1 commit that it was built on": TreeView(tree="/t", branch="b", built_on=1, **bare),  # type: ignore[arg-type]
    }
    assert {words: wording_trees.tree_state(view) for words, view in views.items()} == {one: one for one in views}
