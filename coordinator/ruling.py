"""What a run's standing rules say of one request: nothing, or who answers it and how.

*Deny* wins over *allow*, whatever their order, and where one may be meant no *allow* answers; each path of an edit
must be allowed; what a driver does not tell whole, or what lies outside the tree, is nobody's but the operator's.
Whether a rule may answer just now (is the operator there, is there budget left) is the machine's to say. Pure, but for
the look at where a path really leads, which is given.
"""

import posixpath
import re
from collections.abc import Callable
from functools import cache
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from coordinator import decisioncodec, standing
from coordinator.drivers.asks import Act, ActKind, Allow, Answer, DecisionAsked, Deny
from coordinator.plaincommand import words_of
from coordinator.standing import Rule, Verdict
from store.refusal import Refusal
from store.vocab import DecisionKind

BY = "rule: "
"""Before the rule, where it stands who answered."""
_MOST_OF_PATHS: Final = 16_384
"""Characters of all paths of one request."""
_READ_VARIOUSLY: Final = re.compile(r"^~|^\s|\s$|^file:|[\\$\x00]", re.IGNORECASE)
"""Of a path: agents leave out spaces around it, and some read a home folder, an address, a variable or a second kind of
slash in it."""


class Ruling(Struct, frozen=True, kw_only=True):
    by: str
    """Who answered: ``rule: allow command pytest``."""
    answer: Answer
    """In the agent's own options, where it gave some."""


class Rulebook(Struct, frozen=True, kw_only=True):
    """The rules that were agreed to for one run, for the tree it works in."""

    rules: tuple[Rule, ...] = ()
    tree: str = "/"
    real: Callable[[str], str] = posixpath.normpath
    """Where a path leads once links are followed."""

    @classmethod
    def of(cls, texts: tuple[str, ...], *, tree: str, real: Callable[[str], str]) -> "Rulebook":
        """One rule that cannot be read, and none answers: it may have been a *deny*."""
        rules = standing.parse_all(texts)
        return cls(rules=() if isinstance(rules, Refusal) else rules, tree=tree, real=real)

    def on(self, asked: DecisionAsked) -> Ruling | None:
        if asked.kind is not DecisionKind.PERMISSION or not self.rules:
            return None
        if asked.act is not None and _is_much(asked.act):
            asked = replace(asked, act=None)
        # A path is followed once, however many rules are asked about it.
        return replace(self, real=cache(self.real))._ruling_on(asked)

    def _ruling_on(self, asked: DecisionAsked) -> Ruling | None:
        denying = next((rule for rule in self._of(Verdict.DENY) if self._denies(rule, asked)), None)
        if denying is not None:
            return _ruling((denying,), asked)
        if asked.act is None or (asked.blocked_path is not None and not self._inside(asked.blocked_path)):
            return None
        if any(self._may_deny(rule, asked) for rule in self._of(Verdict.DENY)):
            return None
        allowing = self._allowing(asked.act)
        return _ruling(allowing, asked) if allowing else None

    def _of(self, verdict: Verdict) -> tuple[Rule, ...]:
        return tuple(rule for rule in self.rules if rule.verdict is verdict)

    def _denies(self, rule: Rule, asked: DecisionAsked) -> bool:
        act = asked.act
        if rule.kind is ActKind.TOOL:
            tools = {asked.tool or "", act.tool if act is not None else ""} - {""}
            return any(standing.covers_tool(rule, tool) for tool in tools)
        if act is None or act.kind is not rule.kind:
            return False
        match rule.kind:
            case ActKind.COMMAND:
                argv = words_of(act.command)
                return not rule.prefix or (argv is not None and standing.covers_command(rule, argv))
            case ActKind.FETCH:
                host = standing.host_of(act.url)
                return rule.pattern == "*" or (host is not None and standing.covers_host(rule, host))
            case _:
                named = [name for path in act.paths for name in self._names(path)]
                return any(standing.covers_path(rule, name) for name in named)

    def _may_deny(self, rule: Rule, asked: DecisionAsked) -> bool:
        """Whether a *deny* may be meant though it does not cover it as it is written: no *allow* is certain then."""
        act = asked.act
        if act is None:
            return False
        if rule.kind is ActKind.TOOL:
            return any(standing.may_mean_name(rule, tool) for tool in (asked.tool or "", act.tool) if tool)
        if act.kind is not rule.kind:
            return False
        if rule.kind is ActKind.COMMAND:
            return standing.may_mean_command(rule, words_of(act.command) or ())
        if rule.kind is ActKind.FETCH:
            return False
        return any(standing.may_mean_name(rule, name) for path in act.paths for name in self._names(path))

    def _allowing(self, act: Act) -> tuple[Rule, ...]:
        """The rules that together allow the whole of it; none where any part is not allowed."""
        rules = [rule for rule in self._of(Verdict.ALLOW) if rule.kind is act.kind]
        if act.kind in (ActKind.EDIT, ActKind.READ):
            found = [self._allowing_path(rules, path) for path in act.paths]
            return tuple(dict.fromkeys(rule for rule in found if rule)) if all(found) else ()
        first = next((rule for rule in rules if self._allows(rule, act)), None)
        return (first,) if first is not None else ()

    def _allows(self, rule: Rule, act: Act) -> bool:
        match act.kind:
            case ActKind.COMMAND:
                argv = words_of(act.command)
                here = not act.cwd or self._inside(act.cwd)
                return here and argv is not None and standing.covers_command(rule, argv)
            case ActKind.FETCH:
                host = standing.host_of(act.url)
                return host is not None and standing.covers_host(rule, host)
            case _:
                return standing.covers_tool(rule, act.tool)

    def _allowing_path(self, rules: list[Rule], path: str) -> Rule | None:
        """By its own name and by that of where it leads, so that no link takes an edit out of what was agreed to."""
        if _is_read_variously(path):
            return None
        names = self._names(path)
        if len(names) != 2:
            return None
        return next((rule for rule in rules if all(standing.covers_path(rule, name) for name in names)), None)

    def _inside(self, path: str) -> bool:
        """Some agents name the path that made them ask, wherever it is; others only what they should not touch."""
        return not _is_read_variously(path) and len(self._names(path)) == 2

    def _names(self, path: str) -> list[str]:
        """A path's names from the tree: as it is written, and where it leads; without those outside the tree."""
        if not path.isprintable():
            return []
        whole = posixpath.normpath(posixpath.join(self.tree, path))
        return [name for one in (whole, self.real(whole)) if (name := self._relative(one)) is not None]

    def _relative(self, path: str) -> str | None:
        for root in (self.tree, self.real(self.tree)):
            if path == root:
                return "."
            if path.startswith(root.rstrip("/") + "/"):
                return path[len(root.rstrip("/")) + 1 :]
        return None


def _is_read_variously(path: str) -> bool:
    """Whether what it is depends on who reads it."""
    return ".." in path.split("/") or _READ_VARIOUSLY.search(path) is not None


def _is_much(act: Act) -> bool:
    """More than is looked at here, where every stop passes through: it is the operator's."""
    lengths = [len(path) for path in act.paths]
    return max(lengths, default=0) > standing.LONGEST_ACT or sum(lengths) > _MOST_OF_PATHS


def _ruling(rules: tuple[Rule, ...], asked: DecisionAsked) -> Ruling | None:
    """None where the agent would not take such an answer: it is the operator's then."""
    by = BY + " + ".join(rule.text for rule in rules)
    answer: Answer = Allow()
    if rules[0].verdict is Verdict.DENY:
        # Of its own options none takes a reason.
        answer = Deny() if asked.offers else Deny(message=f"A standing rule of the operator says no: {rules[0].text}")
    offered = decisioncodec.as_offered(answer, asked)
    if isinstance(offered, Refusal) or decisioncodec.check_answer(offered, asked) is not None:
        return None
    return Ruling(by=by, answer=offered)
