"""What somebody might try in order to get past a standing rule: each way in is closed, or the operator is asked."""

import json

import pytest

from coordinator.drivers.acp_acts import act_of as acp_act
from coordinator.drivers.acp_state import Tool
from coordinator.drivers.asks import Act, ActKind, Allow, DecisionAsked
from coordinator.drivers.claude_acts import act_of
from coordinator.ruling import Rulebook
from coordinator.standing import Rule, parse
from store.refusal import Refusal
from store.vocab import DecisionKind


def allowed(rules: tuple[str, ...], act: Act | None, tool: str = "") -> bool:
    asked = DecisionAsked(request="r", kind=DecisionKind.PERMISSION, title="?", tool=tool or None, act=act)
    book = Rulebook.of(rules, tree="/t", real=str)
    assert book.rules, "a rule of this test cannot be read"
    found = book.on(asked)
    return found is not None and isinstance(found.answer, Allow)


def command(text: str) -> Act | None:
    return act_of("Bash", {"command": text})


@pytest.mark.parametrize(
    "path",
    [" /etc/x", " ~/bin/x", "a ", "file:///etc/x", "FILE:a", "$HOME/x", "a/$X/b", "..\\x", "a\\..\\..\\x", "%7e/x\x00"],
)
def test_a_path_that_agents_read_in_more_than_one_way_is_the_operators(path: str) -> None:
    for tool, kind in (("Write", "edit"), ("Read", "read")):
        given = {"file_path": path, **({"content": ""} if tool == "Write" else {})}
        assert not allowed((f"allow {kind} **",), act_of(tool, given))


@pytest.mark.parametrize(
    "said",
    [
        "env FOO=1",
        "env -u X pytest",
        "timeout 5",
        "timeout -s KILL",
        "nice -n 5",
        "sudo -u root",
        "ssh host",
        "npx",
        "uv run",
        "npm exec",
        "python3.11",
        "python -W ignore",
        "/opt/py/bin/python3.12 -m",
        "BASH",
        "busybox sh",
        "timeout 5 env A=1",
        "sudo python3 -c",
    ],
)
def test_a_rule_on_a_program_that_runs_another_names_that_one(said: str) -> None:
    assert isinstance(parse(f"allow command {said}"), Refusal)
    assert isinstance(parse(f"deny command {said}"), Rule), "whoever denies may deny all of it"


@pytest.mark.parametrize(
    "said",
    ["env FOO=1 pytest", "timeout 60 pytest -q", "uv run pytest", "python3.11 -m pytest", "ssh host uptime", "sh a.sh"],
)
def test_one_that_does_is_a_rule(said: str) -> None:
    assert isinstance(parse(f"allow command {said}"), Rule)
    assert allowed((f"allow command {said}",), command(f"{said} more"))


def test_what_is_nearly_denied_is_not_allowed_by_another_rule() -> None:
    rules = ("allow command git", "allow command sh x.sh", "deny command git push", "deny command /usr/bin/rm")
    assert allowed(rules, command("git log"))
    for said in (
        "git -C . push",
        "git --no-pager -c a=b push",
        "git 'x y' push",
        "git x rm",
        "sh x.sh 'git push'",
        "sh x.sh Git Push",
    ):
        assert not allowed(rules, command(said)), said
    # On some machines two spellings are one file.
    rules = ("allow edit **", "deny edit secrets/**", "deny edit caf\u00e9")
    assert allowed(rules, Act(kind=ActKind.EDIT, paths=("a",)))
    for path in ("Secrets/a", "SECRETS/a", "cafe\u0301"):
        assert not allowed(rules, Act(kind=ActKind.EDIT, paths=(path,))), path
    rules = ("allow tool mcp__*", "deny tool mcp__db__Drop")
    assert allowed(rules, Act(kind=ActKind.TOOL, tool="mcp__db__read"))
    assert not allowed(rules, Act(kind=ActKind.TOOL, tool="mcp__db__drop"))


def test_a_path_inside_a_part_of_an_edit_is_not_overlooked() -> None:
    edit = {"old_string": "a", "new_string": "b"}
    assert act_of("MultiEdit", {"file_path": "a", "edits": [edit, {**edit, "replace_all": True}]}) is not None
    for edits in ([{**edit, "file_path": "/etc/x"}], ["x"], "x", None, {}):
        assert act_of("MultiEdit", {"file_path": "a", "edits": edits}) is None
    assert act_of("Edit", {"file_path": "a", "notebook_path": "b"}) is None
    assert act_of("NotebookEdit", {"notebook_path": "/t/a", "new_source": ""}) is not None


def acp(kind: str, given: dict[str, object], **more: object) -> Act | None:
    return acp_act(Tool(kind=kind, input_json=json.dumps(given), **more))  # type: ignore[arg-type]


def test_of_other_agents_too() -> None:
    diffs = [("/t/a", "", "b")]
    assert acp("edit", {"path": "/t/a", "edits": [{"oldText": "a", "newText": "b"}]}, diffs=diffs) is not None
    assert acp("edit", {"path": "/t/a", "edits": [{"path": "/etc/x", "newText": "b"}]}, diffs=diffs) is None
    assert acp("edit", {"path": "/t/a", "file_path": ["/etc/x"]}, diffs=diffs) is None
    patch = "--- a/x\n+++ /etc/x\n"
    assert acp("edit", {"path": "/t/a", "diff": patch}, diffs=diffs) is None, "a patch names files of its own"
    assert acp("read", {"path": "/t/a", "filePath": {"x": 1}}) is None
    assert acp("read", {"path": "/t/a"}, paths=["/etc/x"]) == Act(kind=ActKind.READ, paths=("/etc/x", "/t/a"))
    edited = acp("edit", {"path": "/t/a"}, diffs=diffs, paths=["/etc/x"])
    assert edited is not None and edited.paths == ("/etc/x", "/t/a")
    assert acp("execute", {"command": "make", "cwd": "/t"}) == Act(kind=ActKind.COMMAND, command="make", cwd="/t")
    assert acp("execute", {"command": "make", "cwd": "/t", "workdir": "/elsewhere"}) is None
    assert acp("execute", {"command": "make", "cwd": ["/elsewhere"]}) is None
    assert allowed(("allow command make",), acp("execute", {"command": "make", "cwd": "/t/src"}))
    for folder in (" /elsewhere", "~/x", "$HOME"):
        assert not allowed(("allow command make",), acp("execute", {"command": "make", "cwd": folder})), folder


def test_a_denied_tool_is_denied_by_the_agents_own_name_whatever_it_does() -> None:
    act = acp("edit", {"path": "/t/a"}, diffs=[("/t/a", "", "b")], name="write_file", named=True)
    assert allowed(("allow edit **",), act, "edit")
    assert not allowed(("allow edit **", "deny tool write_file"), act, "edit")


def test_nothing_that_an_agent_asks_keeps_the_rules_busy() -> None:
    """They are looked at where every stop passes through: what is long, or much, is put to the operator unread."""
    deny = tuple(f"deny edit **/a{n}" for n in range(20))
    followed: list[str] = []

    def real(path: str) -> str:
        followed.append(path)
        return path

    def on(act: Act) -> bool:
        asked = DecisionAsked(request="r", kind=DecisionKind.PERMISSION, title="?", act=act)
        rules = ("allow command make", "allow edit **", "allow fetch *", *deny)
        return Rulebook.of(rules, tree="/t", real=real).on(asked) is not None

    assert on(Act(kind=ActKind.EDIT, paths=("x", "y")))
    assert len(followed) == len(set(followed)), "a path is followed once, however many rules there are"
    followed.clear()
    assert not on(Act(kind=ActKind.EDIT, paths=tuple(f"x{n}" for n in range(5_000))))
    assert not on(Act(kind=ActKind.EDIT, paths=("x/" * 100_000 + "x",)))
    assert followed == []
    assert not on(Act(kind=ActKind.COMMAND, command="make " + "x " * 100_000))
    assert not on(Act(kind=ActKind.FETCH, url="https://x.org/" + "x" * 100_000))
