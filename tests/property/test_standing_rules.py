"""Whatever rules there are and whatever an agent asks: nothing slips past a prefix, a path or a host, and *deny* wins.

What a shell makes of a command is asked of a real one: the words that a rule is held against are the words that run.
"""

import posixpath
import shutil
import string
import subprocess

import pytest
from hypothesis import example, given, settings, strategies as st

from coordinator import ruling
from coordinator.drivers.asks import Act, ActKind, Allow, DecisionAsked, Deny
from coordinator.plaincommand import words_of
from coordinator.ruling import Rulebook
from coordinator.standing import Rule, parse
from store.vocab import DecisionKind

TREE = "/work/tree"
COMPOUND = (";", "&&", "||", "|", "&", "\n", "\r\n", ">", ">>", "<", "<<<", "$(id)", "`id`", "$HOME", "${IFS}", "<(id)")
COMPOUND += ("{a,b}", "*", "?", "[a]", "\\", "\0", "\t", "#", "!", "(id)", "^", "\x1b", "\u2028")
WORDS = ("git", "push", "status", "rm", "-rf", "pytest", "-q", "src", "/bin/rm", "git push", "a=b", "~", "", "é", "x:~")
SIGNS = string.ascii_letters + string.digits + " -_./=~:,+%@'\"" + ";&|<>()$`\\{}*?[]!#^\n\t"

word = st.sampled_from(WORDS)
text = st.text(alphabet=SIGNS, max_size=24)
rules = st.lists(
    st.sampled_from(
        [
            "allow command git",
            "allow command git push",
            "allow command rm -rf",
            "allow command pytest",
            "allow command sh x",
            "deny command git push",
            "deny command rm",
            "deny command",
            "allow edit **",
            "allow edit src/**",
            "allow edit .github/*.yml",
            "deny edit **/secret*",
            "allow read docs/*.md",
            "allow fetch *.example.org",
            "deny fetch *",
            "allow tool mcp__a__*",
            "deny tool Bash",
            "deny tool *",
        ]
    ),
    max_size=8,
)


def asked(act: Act | None, tool: str = "Bash") -> DecisionAsked:
    return DecisionAsked(request="r", kind=DecisionKind.PERMISSION, title="?", tool=tool, act=act)


def command(said: str) -> DecisionAsked:
    return asked(Act(kind=ActKind.COMMAND, command=said))


def book(*texts: str) -> Rulebook:
    return Rulebook.of(texts, tree=TREE, real=posixpath.normpath)


def read(said: str) -> Rule:
    found = parse(said)
    assert isinstance(found, Rule), found
    return found


allowing = st.sampled_from(["allow command git", "allow command rm -rf", "allow command pytest", "allow command sh x"])
plain = st.sampled_from(["push", "-q", "src/a.py", "'a b'", "--x=y", "é", '""'])


@given(allowing, rules, st.lists(plain, max_size=3), st.sampled_from(COMPOUND), st.integers(0, 40), st.booleans())
def test_no_command_that_is_more_than_its_words_is_allowed(
    rule: str, others: list[str], more: list[str], sign: str, at: int, quoted: bool
) -> None:
    line = " ".join([rule.removeprefix("allow command "), *more])
    assert book(rule).on(command(line)) is not None
    at = min(at, len(line))
    said = line[:at] + (f"'{sign}'" if quoted else sign) + line[at:]
    found = book(rule, *others).on(command(said))
    assert found is None or isinstance(found.answer, Deny), said


@pytest.mark.skipif(shutil.which("bash") is None, reason="no bash here: what a shell makes of a command is not tried")
def test_the_words_that_are_read_are_those_that_a_shell_runs() -> None:
    """Many at once, in one shell each: a command that is read as words is given to bash, which prints what it got."""
    seen: list[tuple[str, tuple[str, ...]]] = []

    @settings(max_examples=400)
    @given(st.one_of(text, st.lists(st.one_of(word, text), max_size=5).map(" ".join)))
    @example("a 'b c' \"d e\" f''g")
    @example("a=~")
    @example("a=b:~")
    @example("~")
    def collect(said: str) -> None:
        words = words_of(f"x {said}")
        if words is not None:
            seen.append((said, words[1:]))

    collect()
    assert len(seen) > 50
    script = 'show() { printf \'%s\\0\' "$#" "$@"; }\n' + "\n".join(f"show {said}" for said, _ in seen)
    ran = subprocess.run(
        ["bash", "--norc", "--noprofile", "-c", script], capture_output=True, timeout=30, check=True, env={"HOME": "/h"}
    )
    told = ran.stdout.decode().split("\0")
    for said, words in seen:
        count = int(told.pop(0))
        assert (tuple(told[:count])) == words, said
        del told[:count]
    assert told == [""]


@given(rules, st.lists(word, min_size=1, max_size=4))
def test_deny_wins_whatever_else_there_is_and_in_whatever_order(texts: list[str], said: list[str]) -> None:
    line = " ".join(said)
    denies = [one for one in texts if one.startswith("deny") and book(one).on(command(line)) is not None]
    found, turned = book(*texts).on(command(line)), book(*reversed(texts)).on(command(line))
    assert (found is None) == (turned is None)
    if denies:
        assert found is not None and turned is not None
        assert isinstance(found.answer, Deny) and isinstance(turned.answer, Deny)
        assert found.by == ruling.BY + denies[0]
    elif found is not None:
        assert isinstance(found.answer, Allow)
        words = words_of(line)
        rule = read(found.by.removeprefix(ruling.BY))
        assert words is not None and words[: len(rule.prefix)] == rule.prefix


part = st.sampled_from(["src", "a", "..", ".", "", ".git", "hooks", "secret.txt", "~", "x\ny", ".github", "b.yml", "*"])


@given(rules, st.lists(part, max_size=5), st.sampled_from(["", "/", TREE + "/", "/work/tree-2/", "//work/tree/"]))
def test_no_path_outside_the_tree_or_under_a_dot_is_allowed_by_a_star(
    texts: list[str], parts: list[str], root: str
) -> None:
    path = root + "/".join(parts)
    found = book("allow edit **", *texts).on(asked(Act(kind=ActKind.EDIT, paths=(path,)), "Edit"))
    if found is None or isinstance(found.answer, Deny):
        return
    whole = posixpath.normpath(posixpath.join(TREE, path))
    assert whole.startswith(TREE + "/") and ".." not in parts and "\n" not in path
    named = ".github" in path
    assert named or not any(name.startswith(".") for name in whole.removeprefix(TREE).split("/")), path


@given(st.text(alphabet="ab*?", max_size=12), st.text(alphabet="ab.", min_size=1, max_size=12))
def test_stars_mean_what_they_say(glob: str, name: str) -> None:
    found = parse(f"deny read {glob}")
    if not isinstance(found, Rule) or "**" in glob:
        return
    reached = {0}
    for sign in glob:
        if sign == "*":
            reached = {at for start in reached for at in range(start, len(name) + 1)}
        else:
            reached = {at + 1 for at in reached if at < len(name) and sign in ("?", name[at])}
    if set(name) <= {"."} and len(name) < 3:
        return  # no name of a file
    denied = book(found.text).on(asked(Act(kind=ActKind.READ, paths=(name,)), "Read")) is not None
    assert denied == (len(name) in reached)


@given(st.text(alphabet="abcdefgh.:/@\\ #?-_%éX0", max_size=30))
def test_only_the_host_that_is_named_is_allowed(rest: str) -> None:
    for url in (f"https://{rest}", f"https://docs.example.org{rest}", f"https://{rest}example.org/x"):
        found = book("allow fetch *.example.org").on(asked(Act(kind=ActKind.FETCH, url=url), "WebFetch"))
        if found is not None:
            host = url.split("://")[1].split("/")[0].split("?")[0].split("#")[0].split(":")[0].lower()
            assert host.endswith(".example.org") and "@" not in url and "\\" not in url
