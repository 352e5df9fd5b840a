"""Standing rules: what can be written as one, in which words it is agreed to, and what it covers in a real tree."""

import json
import os
from pathlib import Path

import pytest

from app.wording import sentence
from coordinator import standing
from coordinator.drivers import acp_tools, codex_items
from coordinator.drivers.acp_state import Tool
from coordinator.drivers.asks import Act, ActKind, Allow, Chosen, DecisionAsked, Deny, Offer, OfferKind
from coordinator.drivers.claude_acts import act_of
from coordinator.ruling import Rulebook
from coordinator.standing import Rule, parse
from store.refusal import Refusal
from store.vocab import DecisionKind, RefusalReason


@pytest.mark.parametrize(
    ("said", "text", "words"),
    [
        ("allow  command   pytest  -q", "allow command pytest -q", "allow commands that begin with pytest -q"),
        ("allow command git commit -m 'a b'", None, "allow commands that begin with git commit -m 'a b'"),
        (
            "allow command bash -lc 'make check'",
            "allow command make check",
            "allow commands that begin with make check",
        ),
        ("allow command python3 -m pytest", None, "allow commands that begin with python3 -m pytest"),
        ("deny command", "deny command", "deny every command"),
        ("allow edit src/**/*.py", None, "allow edits of src/**/*.py"),
        ("deny read **/.env*", None, "deny reading **/.env*"),
        ("allow fetch *.python.org", None, "allow fetching from *.python.org"),
        ("allow tool mcp__github__*", None, "allow the tool mcp__github__*"),
        ("deny tool *", None, "deny every tool"),
    ],
)
def test_a_rule_is_one_spelling_and_one_sentence(said: str, text: str | None, words: str) -> None:
    rule = parse(said)
    assert isinstance(rule, Rule)
    assert rule.text == (text or said)
    assert standing.words(rule) == words
    assert parse(rule.text) == rule


@pytest.mark.parametrize(
    "said",
    [
        "",
        "allow",
        "permit command ls",
        "allow commands ls",
        "allow command",
        "allow command ls; rm",
        "allow command FOO=1 pytest",
        "allow command bash",
        "allow command /usr/bin/env -i",
        "allow command python3 -c",
        "allow command 'ls",
        "allow command ~/x",
        "allow edit",
        "allow edit /etc/passwd",
        "allow edit ../x",
        "allow edit a//b",
        "allow edit src/",
        "allow edit a**",
        "allow edit [ab]",
        "allow edit a b",
        "allow fetch https://x.org",
        "allow fetch x.org:80",
        "allow tool *",
        "allow tool Bash",
        "allow tool apply_patch",
        "allow tool a b",
        "allow command ls\nallow command rm",
        "allow command " + "x" * standing.LONGEST,
    ],
)
def test_what_is_no_rule_is_refused_with_what_is_wrong(said: str) -> None:
    refused = parse(said)
    assert isinstance(refused, Refusal) and refused.reason is RefusalReason.RULE_INVALID
    assert refused.facts["problem"] and str(refused.facts["problem"]) in sentence(refused)


def asked(tool: str, tool_input: dict[str, object], **more: object) -> DecisionAsked:
    return DecisionAsked(
        request="r",
        kind=DecisionKind.PERMISSION,
        title="?",
        tool=tool,
        input=tool_input,
        act=act_of(tool, tool_input),
        **more,  # type: ignore[arg-type]
    )


def test_a_link_takes_no_edit_out_of_what_was_agreed_to(tmp_path: Path) -> None:
    tree, outside = tmp_path / "tree", tmp_path / "outside"
    (tree / "src").mkdir(parents=True)
    (tree / ".git").mkdir()
    outside.mkdir()
    (tree / "src" / "out").symlink_to(outside)
    (tree / "src" / "hooks").symlink_to(tree / ".git")
    (tree / "by-another-name").symlink_to(tree / "src")
    (tmp_path / "same").symlink_to(tree)
    book = Rulebook.of(("allow edit src/**",), tree=str(tree), real=os.path.realpath)

    def allowed(path: object) -> bool:
        return book.on(asked("Edit", {"file_path": str(path), "old_string": "a", "new_string": "b"})) is not None

    assert allowed(tree / "src" / "new" / "a.py")
    assert allowed("src/a.py")
    assert not allowed(tree / "src" / "out" / "a.py"), "it leads out of the tree"
    assert not allowed(tree / "src" / "hooks" / "x"), "it leads to where no rule goes"
    assert not allowed(tree / "src" / "out" / ".." / "a.py"), "nobody but the kernel knows where that leads"
    assert not allowed(tree / "by-another-name" / "a.py")
    assert not allowed(tmp_path / "same" / "src" / "a.py"), "another name of the tree is not the tree's"
    assert not allowed(outside / "src" / "a.py")
    assert not allowed("~/src/a.py")
    # The tree itself may well be reached through a link: then its real name is one of its names.
    linked = Rulebook.of(("allow edit src/**",), tree=str(tmp_path / "same"), real=os.path.realpath)
    assert linked.on(asked("Write", {"file_path": str(tree / "src" / "a.py"), "content": ""})) is not None


def test_stars_go_into_no_hidden_folder_unless_to_deny() -> None:
    def on(rule: str, path: str) -> bool:
        act = Act(kind=ActKind.EDIT, paths=(path,))
        asked_for = DecisionAsked(request="r", kind=DecisionKind.PERMISSION, title="?", act=act)
        return Rulebook.of((rule,), tree="/t", real=str).on(asked_for) is not None

    for path in (".git/hooks/pre-commit", ".envrc", "src/.claude/settings.json", "src/.env"):
        assert not on("allow edit **", path) and not on("allow edit src/*", path) and not on("allow edit **/*", path)
        assert on("deny edit **", path)
    assert on("allow edit .github/**", ".github/workflows/a.yml") and not on("allow edit .github/*", ".github/.x")
    assert on("allow edit **", "a") and on("allow edit **/a.py", "x/y/a.py") and on("allow edit src/**", "src/a/b")
    assert not on("allow edit *", "a/b") and not on("allow edit src/**", "srcs/a") and not on("allow edit a?", "a")


def test_each_path_of_an_edit_must_be_allowed() -> None:
    book = Rulebook.of(("allow edit src/**", "allow edit docs/*", "deny edit src/gen/**"), tree="/t", real=str)

    def on(*paths: str) -> str | None:
        found = book.on(DecisionAsked(request="r", kind=DecisionKind.PERMISSION, title="?", act=edit(*paths)))
        return found.by if found is not None else None

    def edit(*paths: str) -> Act:
        return Act(kind=ActKind.EDIT, paths=paths)

    assert on("src/a", "src/b") == "rule: allow edit src/**"
    assert on("src/a", "docs/b") == "rule: allow edit src/** + allow edit docs/*"
    assert on("src/a", "Makefile") is None
    assert on("src/a", "src/gen/b") == "rule: deny edit src/gen/**"
    assert on() is None


def test_only_what_a_driver_tells_whole_is_allowed() -> None:
    book = Rulebook.of(("allow command make", "allow tool Monitor", "allow edit **"), tree="/t", real=str)
    assert book.on(asked("Bash", {"command": "make", "description": "Build", "timeout": 5})) is not None
    assert book.on(asked("Bash", {"command": "make", "dangerouslyDisableSandbox": True})) is None
    assert book.on(asked("Bash", {})) is None
    assert book.on(asked("Bash", {"command": ["make"]})) is None
    assert book.on(asked("Monitor", {"command": "make; rm x"})) is None
    assert book.on(asked("Monitor", {"task": "7"})) is not None
    assert book.on(asked("Edit", {"file_path": "a", "run_after": "x"})) is None
    for outside in ("/elsewhere", "/t/../x", "/tt/a"):
        assert book.on(asked("Edit", {"file_path": "a"}, blocked_path=outside)) is None
        assert book.on(asked("Bash", {"command": "make"}, blocked_path=outside)) is None
    assert book.on(asked("Bash", {"command": "make"}, blocked_path="/t/a")) is not None
    moved = Act(kind=ActKind.COMMAND, command="make", cwd="/elsewhere")
    assert book.on(DecisionAsked(request="r", kind=DecisionKind.PERMISSION, title="?", act=moved)) is None
    shell = Act(kind=ActKind.COMMAND, command="/bin/bash -lc 'make check'", cwd="/t/src")
    assert book.on(DecisionAsked(request="r", kind=DecisionKind.PERMISSION, title="?", act=shell)) is not None


def test_a_plan_or_a_question_is_never_a_rules() -> None:
    book = Rulebook.of(("allow tool ExitPlanMode", "allow tool AskUserQuestion"), tree="/t", real=str)
    for kind in (DecisionKind.PLAN, DecisionKind.QUESTION, DecisionKind.PARK):
        act = Act(kind=ActKind.TOOL, tool="ExitPlanMode")
        assert book.on(DecisionAsked(request="r", kind=kind, title="?", tool="ExitPlanMode", act=act)) is None


def test_a_deny_finds_the_program_wherever_it_lies() -> None:
    book = Rulebook.of(("allow command env FOO=1 make", "deny command git push"), tree="/t", real=str)
    for said in (
        "git push",
        "/usr/bin/git push origin",
        "'git' \"push\"",
        "bash -c 'git push'",
        "bash -c \"'git' push\"",
    ):
        found = book.on(asked("Bash", {"command": said}))
        assert found is not None and isinstance(found.answer, Deny), said
        assert "deny command git push" in found.answer.message
    assert book.on(asked("Bash", {"command": "git pushy"})) is None


def test_a_program_that_is_called_like_a_shell_is_not_read_as_one() -> None:
    """Agents unwrap the shell that runs a command, for show and for rules; one in the tree may be anything."""
    book = Rulebook.of(("allow command make",), tree="/t", real=str)
    for shell, plain in (("/bin/bash", True), ("zsh", True), ("/t/bash", False), ("./sh", False), ("notbash", False)):
        said = f"{shell} -lc 'make check'"
        assert (book.on(asked("Bash", {"command": said})) is not None) is plain
        assert (codex_items.inner(said) == "make check") is plain
        told = Tool(kind="execute", input_json=json.dumps({"command": [shell, "-lc", "make check"]}))
        assert (acp_tools.command_of(told) == "make check") is plain


def test_of_the_agents_own_options_the_narrowest_is_taken_or_the_operator_is_asked() -> None:
    always = Offer(id="all", label="Always", kind=OfferKind.ALLOW_RUN)
    once, no = Offer(id="once", label="Yes", kind=OfferKind.ALLOW), Offer(id="no", label="No", kind=OfferKind.DENY)
    book = Rulebook.of(("allow command ls", "deny command rm"), tree="/t", real=str)

    def on(command: str, *offers: Offer) -> object:
        found = book.on(asked("Bash", {"command": command}, offers=offers))
        return found.answer if found is not None else None

    assert on("ls", always, once, no) == Chosen(offer="once")
    assert on("ls", always, no) is None
    assert on("rm x", once, no) == Chosen(offer="no")
    assert on("rm x", once) is None
    assert on("ls") == Allow()


def test_one_rule_that_cannot_be_read_and_none_answers() -> None:
    book = Rulebook.of(("allow command ls", "deny wish ls"), tree="/t", real=str)
    assert book.on(asked("Bash", {"command": "ls"})) is None
