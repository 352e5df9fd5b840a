"""Standing rules: what the operator settled beforehand, one sentence each, and what such a sentence covers. Pure.

``allow command pytest -q``, ``deny edit docs/**``, ``allow fetch docs.python.org``, ``deny tool Task``. A rule covers
an act only as a driver tells it (``drivers.asks.Act``), by whole words, whole parts of a path, whole names of hosts.
What is not certain is covered by no *allow*. That a *deny* wins, and when a rule may answer at all, is elsewhere
(``ruling``, ``machine``); so is the file in which rules are kept (``rulesfile``).
"""

import posixpath
import re
import shlex
import unicodedata
from enum import StrEnum
from typing import Final
from urllib.parse import urlsplit

from msgspec import Struct
from msgspec.structs import replace

from coordinator.drivers.asks import ActKind
from coordinator.plaincommand import words_of
from coordinator.runners import left_open
from store.refusal import Refusal
from store.vocab import RefusalReason

LONGEST: Final = 300
"""Characters of a rule: it must be read to be agreed to."""
LONGEST_ACT: Final = 4096
"""Characters of a path or an address that is looked at: no file has a longer one."""
MOST: Final = 100
"""Rules of one run."""

_HOST: Final = re.compile(r"(?:\*\.)?[a-z0-9](?:[a-z0-9.-]*[a-z0-9])?")
_TOOL: Final = re.compile(r"[A-Za-z0-9_.:/-]+\*?")
_OF_A_KIND: Final = {
    **dict.fromkeys(("Bash", "shell"), ActKind.COMMAND),
    **dict.fromkeys(("Edit", "MultiEdit", "Write", "NotebookEdit", "apply_patch"), ActKind.EDIT),
    "Read": ActKind.READ,
    "WebFetch": ActKind.FETCH,
}
"""Tools whose acts are told by what they do: no *allow* by their name would ever answer."""
_FOR: Final = {
    ActKind.COMMAND: "how it begins",
    ActKind.EDIT: "a path in the tree, as src/**",
    ActKind.READ: "a path in the tree, as src/**",
    ActKind.FETCH: "a host, as docs.python.org or *.python.org",
    ActKind.TOOL: "the tool's name, as mcp__github__*",
}


class Verdict(StrEnum):
    ALLOW = "allow"
    DENY = "deny"


class Rule(Struct, frozen=True, kw_only=True):
    verdict: Verdict
    kind: ActKind
    prefix: tuple[str, ...] = ()
    """COMMAND: its first words; none: every command (only to deny)."""
    pattern: str = ""
    """EDIT, READ: a path in the tree, with ``*``, ``?`` and ``**``; FETCH: a host; TOOL: a name. '*' at its place."""

    @property
    def text(self) -> str:
        """The one spelling that is kept, agreed to, compared and shown as who answered."""
        about = shlex.join(self.prefix) if self.kind is ActKind.COMMAND else self.pattern
        return f"{self.verdict} {self.kind} {about}".rstrip()


def parse(text: str) -> Rule | Refusal:
    """A rule as the operator writes it; ``rule-invalid`` says what is wrong with it."""
    if len(text) > LONGEST or not text.isprintable():
        return _invalid(text, f"it must be one line of at most {LONGEST} characters")
    verdict, kind, about = (*text.split(None, 2), "", "", "")[:3]
    if verdict not in list(Verdict):
        return _invalid(text, "it begins with allow or deny")
    if kind not in list(ActKind):
        return _invalid(text, f"after {verdict} comes {', '.join(ActKind)}")
    rule_kind, rule_verdict, about = ActKind(kind), Verdict(verdict), about.strip()
    if rule_kind is ActKind.COMMAND:
        return _command(text, rule_verdict, about)
    problem = _problem(rule_verdict, rule_kind, about)
    if problem:
        return _invalid(text, problem)
    return Rule(verdict=rule_verdict, kind=rule_kind, pattern=about)


def _command(text: str, verdict: Verdict, about: str) -> Rule | Refusal:
    if not about and verdict is Verdict.DENY:
        return Rule(verdict=verdict, kind=ActKind.COMMAND)
    words = words_of(about)
    if words is None:
        why = "it must be plain words, without ; & | < > ( ) $ * ? and their like" if about else "say how it begins"
        return _invalid(text, why)
    if verdict is Verdict.ALLOW and (program := left_open(words)):
        return _invalid(text, f"{program} runs whatever it is given; say what, right after it and without options")
    return Rule(verdict=verdict, kind=ActKind.COMMAND, prefix=words)


def _problem(verdict: Verdict, kind: ActKind, about: str) -> str:
    """What is wrong with the part after the kind; '' for nothing."""
    if not about or len(about.split()) != 1:
        return f"after {kind} comes {_FOR[kind]}"
    if kind in (ActKind.EDIT, ActKind.READ):
        parts = about.split("/")
        if about.startswith("/") or any(part in ("", ".", "..") for part in parts):
            return "a path is one in the tree: without a slash before it or after it, and without . and .."
        if set(about) & set("[]{}\\!;"):
            return "of a path only *, ? and ** stand for something else"
        return "** stands alone between slashes" if any("**" in part and part != "**" for part in parts) else ""
    if kind is ActKind.FETCH:
        return "" if about == "*" or _HOST.fullmatch(about) else f"after fetch comes {_FOR[kind]}"
    if about == "*":
        return "" if verdict is Verdict.DENY else "every tool is too much to allow; name one"
    if verdict is Verdict.ALLOW and (told_as := _OF_A_KIND.get(about)):
        return f"what {about} does is allowed as allow {told_as}, with {_FOR[told_as]}"
    return "" if _TOOL.fullmatch(about) else f"after tool comes {_FOR[kind]}"


def _invalid(text: str, problem: str) -> Refusal:
    return Refusal(RefusalReason.RULE_INVALID, {"rule": text[:LONGEST], "problem": problem})


def parse_all(texts: tuple[str, ...]) -> tuple[Rule, ...] | Refusal:
    """All of them, each once; the first that is none is the answer."""
    rules: dict[str, Rule] = {}
    for text in texts:
        rule = parse(text)
        if isinstance(rule, Refusal):
            return rule
        rules[rule.text] = rule
    if len(rules) > MOST:
        return _invalid(texts[MOST], f"there are more than {MOST} rules")
    return tuple(rules.values())


def words(rule: Rule) -> str:
    """``allow commands that begin with pytest -q``: for who agrees to it."""
    about = rule.pattern
    match rule.kind:
        case ActKind.COMMAND:
            said = f"commands that begin with {shlex.join(rule.prefix)}" if rule.prefix else "every command"
        case ActKind.EDIT:
            said = f"edits of {about}"
        case ActKind.READ:
            said = f"reading {about}"
        case ActKind.FETCH:
            said = "fetching from any host" if about == "*" else f"fetching from {about}"
        case ActKind.TOOL:
            said = "every tool" if about == "*" else f"the tool {about}"
    return f"{rule.verdict} {said}"


# ----------------------------------------------------------------------------------------------------- what they cover


def covers_command(rule: Rule, argv: tuple[str, ...]) -> bool:
    """Whether the command's first words are the rule's. A *deny* looks at a program by its name, wherever it lies."""
    begins = argv[: len(rule.prefix)]
    if begins == rule.prefix:
        return True
    if rule.verdict is Verdict.ALLOW or not begins:
        return False
    return (posixpath.basename(begins[0]), *begins[1:]) == (posixpath.basename(rule.prefix[0]), *rule.prefix[1:])


def may_mean_command(rule: Rule, argv: tuple[str, ...]) -> bool:
    """Whether the rule's words are all in the command, in their order, whatever stands between and around them.

    ``git -C . push`` pushes too, and which options may come between only the program knows.
    """
    said = iter(_folded(posixpath.basename(part)) for word in argv for part in word.split())
    return all(_folded(posixpath.basename(word)) in said for word in rule.prefix)


def may_mean_name(rule: Rule, name: str) -> bool:
    """Whether the name of a file or a tool is of the rule's pattern but for its spelling: in capitals, or in composed
    letters. On some machines both are one file."""
    loose = replace(rule, pattern=_folded(rule.pattern))
    covers = covers_tool if rule.kind is ActKind.TOOL else covers_path
    return covers(loose, _folded(name))


def _folded(text: str) -> str:
    return unicodedata.normalize("NFC", text).casefold()


def covers_path(rule: Rule, path: str) -> bool:
    """Whether a path, relative to the tree, is of the rule's pattern.

    As in a shell, ``*`` and ``**`` of an *allow* stand for no name that begins with a dot: hooks, the agent's own
    settings and the like are covered only by who names them.
    """
    dots = rule.verdict is Verdict.DENY
    parts = path.split("/")
    reached = {0}
    for glob in rule.pattern.split("/"):
        after: set[int] = set()
        for at in sorted(reached):
            if glob == "**":
                if at in after:
                    continue  # so is all that can be reached from there
                after.add(at)
                while at < len(parts) and (dots or not parts[at].startswith(".")):
                    at += 1
                    after.add(at)
            elif at < len(parts) and _is_like(parts[at], glob, dots=dots):
                after.add(at + 1)
        reached = after
    return len(parts) in reached


def _is_like(name: str, glob: str, *, dots: bool) -> bool:
    """Each ``*`` is tried as short as it can be and made longer once more only for the last one: no text takes long."""
    if name.startswith(".") and glob[:1] in ("*", "?") and not dots:
        return False
    at, in_glob, star, taken = 0, 0, -1, 0
    while at < len(name):
        if in_glob < len(glob) and glob[in_glob] == "*":
            star, taken = in_glob, at
            in_glob += 1
        elif in_glob < len(glob) and glob[in_glob] in ("?", name[at]):
            at, in_glob = at + 1, in_glob + 1
        elif star >= 0:
            taken += 1
            at, in_glob = taken, star + 1
        else:
            return False
    return set(glob[in_glob:]) <= {"*"}


def host_of(url: str) -> str | None:
    """The host of a plain web address; None where a reader and a program could see different ones."""
    if len(url) > LONGEST_ACT or not url.isascii() or not url.isprintable() or set(url) & set(" \\@"):
        return None
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        return None
    host = parts.hostname or ""
    if parts.scheme not in ("http", "https") or port not in (None, 80, 443) or not _HOST.fullmatch(host):
        return None
    return host


def covers_host(rule: Rule, host: str) -> bool:
    if rule.pattern == "*":
        return True
    return host.endswith(rule.pattern[1:]) if rule.pattern.startswith("*.") else host == rule.pattern


def covers_tool(rule: Rule, tool: str) -> bool:
    return tool.startswith(rule.pattern[:-1]) if rule.pattern.endswith("*") else tool == rule.pattern
