"""``footplate diff``: on a run that goes on and on one that is over, for a person, for git and for a program."""

import asyncio
import json
import subprocess
from pathlib import Path

import pexpect

from app.wording import forbidden_in
from coordinator.api import Changes, ReadChanges, Say, Stop
from tests.cli.running import Ran, footplate
from tests.cli.test_terminal import spawn
from tests.coordinator.held import holding
from tests.coordinator.repositories import git, repository


def said(ran: Ran) -> str:
    assert ran.code == 0, ran.err
    return ran.out


async def test_a_run_that_goes_on_and_then_is_over(tmp_path: Path) -> None:
    tree = repository(tmp_path / "tree", {"a.txt": "one\ntwo\n", "b.txt": "b\n"})
    (tree / "b.txt").write_text("the operator's\n")

    async def run_cli(*arguments: str) -> Ran:
        return await asyncio.to_thread(footplate, tmp_path, "diff", *arguments)

    async with holding(tmp_path) as house:
        run = await house.start("the brief")
        await house.until(run, lambda view: view.turns and view.in_flight is None and view.changes_known)
        (tree / "a.txt").write_text("one\n2\n")
        (tree / "name with \x1b[31m.txt").write_text("x\x1b]0;owned\x07\n")
        (tree / "öl.txt").write_text("ö\n")
        await house.do(Say(run=run, text="and more"))
        await house.until(
            run, lambda view: len(view.turns) == 2 and view.in_flight is None and "a.txt" in str(view.changed)
        )
        stat = await run_cli("1", "--stat")
        lines = said(stat).splitlines()
        assert [row.split()[:2] for row in lines[:4]] == [["M", "+1"], ["M*", "+1"], ["A", "+1"], ["A", "+1"]]
        assert lines[-1] == "4 files, +4 −2; all turns, the files as they are"
        assert "1 file (*) was uncommitted before the run" in stat.err and "\x1b" not in stat.out + stat.err
        assert forbidden_in(stat.out + stat.err) == []
        second = said(await run_cli("1", "--stat", "--turn", "2"))
        assert "b.txt" not in second and "turn 2" in second
        missing = await run_cli("1", "--turn", "7")
        assert missing.code == 1 and "known turns: 1, 2" in missing.err and missing.out == ""
        patch = said(await run_cli("1"))
        # git takes it as it is.
        fresh = repository(tmp_path / "fresh", {"a.txt": "one\ntwo\n", "b.txt": "b\n"})
        await asyncio.to_thread(
            subprocess.run, ["git", "apply"], cwd=fresh, input=patch.encode(), check=True, capture_output=True
        )
        assert (fresh / "a.txt").read_text() == "one\n2\n" and (fresh / "öl.txt").read_text() == "ö\n"
        one = said(await run_cli("1", "öl.txt"))
        assert "+ö" in one and "a.txt" not in one
        other = await run_cli("1", "nowhere")
        assert other.code == 1 and "nowhere is not among what run 1 changed" in other.err
        told = json.loads(said(await run_cli("1", "--json", "a.txt")))
        assert told["from"] == "tree" and told["turns"][1] == {"first": 2, "last": 2, "running": False}
        assert [one["path"] for one in told["files"]] == ["a.txt"] and "+2\n" in told["diff"] and told["cut"] is False
        assert len(json.loads(said(await run_cli("1", "--json")))["files"]) == 4
        await house.do(Stop(run=run))
        await house.until(run, lambda view: view.outcome is not None)
        assert isinstance(await house.do(ReadChanges(run=run)), Changes)
    git(tree, "checkout", "-q", "--", "a.txt")
    over = said(footplate(tmp_path, "diff", "1", "--stat"))
    assert "as kept when it ended" in over and "a.txt" in over
    shown = said(footplate(tmp_path, "show", "1"))
    assert "changed: 4 files\n" in shown and "  M  +1 −1  a.txt\n" in shown and "\x1b" not in shown
    assert json.loads(said(footplate(tmp_path, "show", "1", "--json")))["changed_count"] == 4
    assert "+2\n" in said(footplate(tmp_path, "diff", "1", "a.txt"))
    assert said(footplate(tmp_path, "diff", "1", "--turn", "1")) == ""
    child = spawn(tmp_path, "diff", "1")
    child.expect(pexpect.EOF)
    assert isinstance(child.before, str) and "owned" in child.before
    assert "\x1b" not in child.before and "\x07" not in child.before


def test_no_such_run(tmp_path: Path) -> None:
    none = footplate(tmp_path / "home", "diff", "4")
    assert none.code == 1 and none.err.count("\n") == 1 and not (tmp_path / "home").exists()
    wrong = footplate(tmp_path / "home", "diff", "x")
    assert wrong.code == 2 and wrong.err.count("\n") == 1
