"""The operator's checks as they are told: when they are agreed to, while they run, afterwards, and run again."""

import json
from pathlib import Path

import pytest

from app.config import Config, parse_file
from app.console.views.announcing import announced
from app.console.views.details import details_lines
from app.console.views.ending import ended_lines
from app.console.views.glyphs import UNICODE
from app.console.views.ink import plain
from app.console.views.review_facts import facts
from app.wording_checks import checks_agreed, checks_sentence
from coordinator.checktypes import CHECK_SECONDS, CheckState, CheckView, RepositoryChecks
from coordinator.review import reading
from store.db import read_ledger
from store.refusal import Refusal
from store.vocab import Millis, RunId
from tests.cli.made import made_terms
from tests.cli.running import Ran, footplate, repository
from tests.console.scenes import stopped
from tests.coordinator.held import script
from tests.fakes.backend import NOW, make_snapshot

WRITES = script({"tools": [{"name": "Write", "input": {"file_path": "new.txt", "content": "made\n"}}]}, {"text": "ok"})
S = CheckState


def test_checks_are_agreed_to_told_and_run_again(tmp_path: Path) -> None:
    tree, home = repository(tmp_path / "r"), tmp_path / "h"
    home.mkdir(mode=0o700)
    told = f'[repository."{tree}"]\nchecks = ["test -s new.txt", "cat more.txt"]\ncheck_minutes = 2\n'
    (home / "config.toml").write_text(told)
    around = {"CLAUDE_CONFIG_DIR": str(tmp_path / "agent"), "FOOTPLATE_REHEARSAL_PACE": "0"}

    def run(*arguments: str, code: int = 0) -> Ran:
        ran = footplate(home, *arguments, more=around, cwd=tree)
        assert ran.code == code, ran
        return ran

    start = ("start", "--plain", "--yes", "--agent", "practice", "--mode", "acceptEdits", "--worktree")
    first = run(*start, f"go {WRITES}", code=1).out
    assert "finished, checked in its tree by: `test -s new.txt`, `cat more.txt` (for at most 2m each)." in first
    report, passed = first.index("stop report"), first.index("check test -s new.txt: passed")
    assert report < passed < first.index("check cat more.txt: failed (exit 1)") < first.index("run 1 finished")
    shown = run("show", "1").out
    assert "check test -s new.txt: passed\n" in shown and "  | cat: more.txt: No such file or directory\n" in shown
    run("tree", "1", "keep")
    (place,) = (home / "data/worktrees").iterdir() if (home / "data").is_dir() else (home / "worktrees").iterdir()
    (place / "more.txt").write_text("more\n")
    again = json.loads(run("tree", "1", "check", "--json").out)
    assert [one["check"]["state"] for one in again["checks"]] == ["passed", "passed"]
    assert again["checks"][1]["output"] == "$ cat more.txt\nmore\n"
    run("tree", "1", "merge")
    inside = footplate(home, "tree", "1", "check", more={**around, "FOOTPLATE_CUSTODY": "n"}, cwd=tree)
    assert inside.code == 1, "an agent runs none"
    shown = json.loads(run("show", "1", "--json").out)
    assert [one["check"]["state"] for one in shown["checks"]] == ["passed", "passed"]
    assert [(one["how"], one["done"]) for one in shown["became"]] == [("keep", True), ("merge", True)]
    assert ": merged into main at " in run("show", "1").out and run("verify").code == 0
    ledger = next(home.rglob("ledger.db"))
    with read_ledger(ledger, now=lambda: Millis(NOW)) as tx:
        page = reading.run_page(tx, RunId(1))
        assert not isinstance(page, Refusal)
        rows = facts(page, 100, "/home/mara")
        texts = [plain(one.line).rstrip() for one in rows]
        at = texts.index("CHECKS")
        assert "cat more.txt" in texts[at + 2] and texts[at + 2].endswith("passed")
        piece = rows[at + 2].piece
        assert piece is not None and reading.evidence(tx, piece.id).content == b"$ cat more.txt\nmore\n"  # type: ignore[union-attr]
        assert "merged into main" in texts[texts.index("ITS TREE") + 2]


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ('checks = "make"', "checks"),
        ('checks = [""]', "checks[0]"),
        ('checks = ["x"]\ncheck_minutes = 0', "check_minutes"),
        (f"checks = {['x'] * 21}", "checks"),
    ],
)
def test_a_mistake_in_checks_is_named(tmp_path: Path, text: str, key: str) -> None:
    file = tmp_path / "config.toml"
    file.write_text(f'[repository."/r"]\n{text}\n')
    refused = parse_file(file)
    assert isinstance(refused, Refusal) and refused.facts["key"] == f'repository."/r".{key}', refused


def test_checks_are_found_by_where_the_repository_really_lies(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    file = tmp_path / "config.toml"
    file.write_text(f'[repository."{tmp_path}/link"]\nchecks = ["make", "  ", "make", "true"]\n')
    read = parse_file(file)
    assert isinstance(read, Config) and read.setups == {}
    assert read.checks == {str(tmp_path / "real"): RepositoryChecks(commands=("make", "true"), seconds=CHECK_SECONDS)}


def checked(*states: CheckState) -> tuple[CheckView, ...]:
    details = {S.FAILED: "exit 2", S.TIMED_OUT: "600 s"}
    return tuple(CheckView(command=f"c{n}", state=one, detail=details.get(one, "")) for n, one in enumerate(states))


@pytest.mark.parametrize(
    ("states", "said"),
    [
        ((), ""),
        ((S.PASSED,), "1 check passed."),
        ((S.PASSED, S.PASSED), "2 checks passed."),
        ((S.RUNNING, S.WAITING), "None of 2 checks passed so far."),
        (
            (S.PASSED, S.FAILED, S.TIMED_OUT, S.FLOODED),
            "1 of 4 checks passed. What they printed: v, or footplate show 7.",
        ),
        ((S.PASSED, S.UNFINISHED), "1 of 2 checks passed. footplate tree 7 check runs them."),
    ],
)
def test_what_checks_come_to_is_said_in_a_sentence(states: tuple[CheckState, ...], said: str) -> None:
    told = checks_sentence(checked(*states), RunId(7))
    assert told == said


def test_an_ended_session_shows_its_checks() -> None:
    session = stopped(checks=checked(S.PASSED, S.FAILED), terms=made_terms(checks=("c0", "c1"), check_seconds=60))
    lines = [plain(row) for row in ended_lines(session, 100, 10, UNICODE)]
    assert any(row.endswith("c1  failed (exit 2)") for row in lines)
    assert any("1 of 2 checks passed." in row for row in lines)
    details = [plain(row) for row in details_lines(session, NOW, 100)]
    at = details.index("CHECKS")
    assert details[at + 1].split() == ["c0", "passed"] and details[at + 2].split() == ["c1", "failed", "(exit", "2)"]
    assert any("checked in its tree by: `c0`, `c1` (for at most 1m each)" in row for row in details)
    assert checks_agreed(made_terms()) == ""
    before = make_snapshot(stopped(checks=checked(S.RUNNING, S.FAILED)))
    assert announced(before, before) == ()
    assert announced(before, make_snapshot(session)) == ("7 try new linter: stopped by you, a check failed, none left",)
