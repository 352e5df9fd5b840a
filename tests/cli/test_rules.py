"""``footplate rules`` and ``start --rule``: kept by command, shown before they are agreed to, at work in a run."""

import json
from pathlib import Path

import pytest

from tests.cli.running import Ran, footplate, repository
from tests.coordinator.held import bash, script


def test_rules_are_kept_listed_and_taken_out(tmp_path: Path) -> None:
    home, tree = tmp_path / "h", repository(tmp_path / "orders")
    (tree / "src").mkdir()

    def rules(*arguments: str) -> Ran:
        return footplate(home, "rules", *arguments, cwd=tree / "src")

    assert "footplate rules add" in rules().out
    added = rules("add", "allow command  pytest -q")
    assert added.code == 0 and "commands that begin with pytest -q" in added.out and "orders" in added.out
    assert rules("add", "--everywhere", "--agent", "claude", "deny", "edit", "docs/**").code == 0
    assert "already" in rules("add", "allow command pytest -q").out
    listed = json.loads(rules("--json").out)
    assert listed["rules"] == [
        {"text": "allow command pytest -q", "repository": str(tree), "agent": ""},
        {"text": "deny edit docs/**", "repository": "", "agent": "claude"},
    ]
    shown = rules("ls").out.splitlines()
    assert shown[0].split() == ["number", "rule", "where", "agent"]
    assert len(shown) == 3 and "everywhere" in shown[2] and "claude" in shown[2]
    assert "pytest -q" in rules("rm", "1").out
    assert [one["text"] for one in json.loads(rules("--json").out)["rules"]] == ["deny edit docs/**"]


@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        (("add",), 2, "which rule"),
        (("add", "allow command a; b"), 2, "plain words"),
        (("add", "allow command ls", "--agent", "nobody"), 2, "nobody"),
        (("add", "allow command ls", "--repo", "."), 1, "not a git repository"),
        (("rm", "x"), 2, "number"),
        (("rm", "1"), 1, "There is no rule 1; there are none"),
        (("keep", "x"), 2, "ls, add, rm"),
        (("ls", "x"), 2, "nothing after"),
    ],
)
def test_what_is_typed_wrongly_is_said(tmp_path: Path, arguments: tuple[str, ...], code: int, says: str) -> None:
    (tmp_path / "none").mkdir()
    ran = footplate(tmp_path / "h", "rules", *arguments, cwd=tmp_path / "none")
    assert (ran.code, ran.out) == (code, "") and says in ran.err, ran


def test_a_run_in_plain_shows_its_rules_and_asks_nothing_that_they_answer(tmp_path: Path) -> None:
    home, tree = tmp_path / "h", repository(tmp_path / "orders")
    assert footplate(home, "rules", "add", "allow command touch", cwd=tree).code == 0
    brief = "go " + script(bash("touch made"), bash("rm made"), {"text": "done"})
    options = ("--agent", "practice", "--plain", "--yes", "--rule", "deny command rm")
    ran = footplate(home, "start", brief, *options, cwd=tree, more={"FOOTPLATE_REHEARSAL_PACE": "0"}, given=b"finish\n")
    assert ran.code == 0, ran
    heard = footplate(home, "start", brief, *options, "--json", cwd=tree, given=b"finish\n")
    ruled = [event for line in heard.out.splitlines() if (event := json.loads(line))["event"] == "ruled"]
    assert [(one["by"], one["subject"]) for one in ruled] == [
        ("rule: allow command touch", "touch made"),
        ("rule: deny command rm", "rm made"),
    ]
    assert "but for what 2 standing rules answer." in ran.out
    assert "allow commands that begin with touch" in ran.out and "deny commands that begin with rm" in ran.out
    assert "question " not in ran.out and (tree / "made").exists()
    assert "not asked (touch made): answered by rule: allow command touch at " in ran.out
    assert "not asked (rm made): answered by rule: deny command rm at " in ran.out
    shown = json.loads(footplate(home, "show", "1", "--json", cwd=tree).out)
    assert [one["answered_by"] for one in shown["decisions"]] == ["rule: allow command touch", "rule: deny command rm"]
    wrong = footplate(home, "start", "x", "--rule", "allow all", cwd=tree)
    assert wrong.code == 2 and "no rule" in wrong.err


def test_doctor_names_the_rule_that_would_never_hold(tmp_path: Path) -> None:
    home = tmp_path / "h"
    home.mkdir()
    (home / "rules.toml").write_text("[[rule]]\nis = 'deny command'\n[[rule]]\nis = 'deny command'\nagent = 'clod'\n")
    found = json.loads(footplate(home, "doctor", "--json").out)["findings"]
    (said,) = [one for one in found if one["what"] == "configuration"]
    assert said["level"] == "bad" and "rule 2.agent" in said["found"], said
