"""When the practice agent must ask, and what an answer makes it remember. Pure: it reads no file and says nothing.

It asks for every command and every edit that no mode or rule covers, also where the real agent would find one harmless:
a rehearsal is where asking is practised.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

Json = dict[str, Any]
ASKS_ALWAYS = {"AskUserQuestion", "ExitPlanMode"}
ASKS = {"Bash", "Write", "Edit"}


@dataclass(slots=True)
class Rules:
    """What was allowed for this session, by flag or by answer."""

    allowed: list[tuple[str, str | None]] = field(default_factory=list)
    """Tool name and what of it; None: all of it."""
    directories: list[str] = field(default_factory=list)

    def covers(self, tool: str, subject: str) -> bool:
        return any(name == tool and matches(rule, subject) for name, rule in self.allowed)

    def learn(self, updates: Sequence[Mapping[str, Any]]) -> str | None:
        """Take an answer's updates; a mode that it sets is given back."""
        mode = None
        for update in updates:
            match update.get("type"):
                case "addRules" if update.get("behavior") == "allow":
                    for rule in update.get("rules", ()):
                        self.allowed.append((str(rule.get("toolName")), rule.get("ruleContent")))
                case "addDirectories":
                    self.directories.extend(map(str, update.get("directories", ())))
                case "setMode":
                    mode = str(update.get("mode"))
        return mode


def matches(rule: str | None, subject: str) -> bool:
    if rule is None:
        return True
    for wildcard in (":*", " *", "*"):
        if rule.endswith(wildcard):
            return subject.startswith(rule.removesuffix(wildcard))
    return rule == subject


def verdict(tool: str, call: Mapping[str, Any], mode: str, rules: Rules) -> str:
    """``run``, ``ask`` or ``deny``."""
    if tool in ASKS_ALWAYS:
        return "ask"
    if tool not in ASKS or mode in {"bypassPermissions", "auto"} or rules.covers(tool, subject(tool, call)):
        return "run"
    if mode == "acceptEdits" and tool != "Bash":
        return "run"
    return "deny" if mode == "dontAsk" else "ask"


def subject(tool: str, call: Mapping[str, Any]) -> str:
    return str(call.get("command" if tool == "Bash" else "file_path", ""))


def request(tool: str, call: Json, use: str, mode: str, newer: bool) -> Json:
    """The body of `can_use_tool` for this call."""
    asked: Json = {"subtype": "can_use_tool", "tool_name": tool, "display_name": tool}
    asked |= {"input": call, "tool_use_id": use}
    if tool in ASKS_ALWAYS:
        return asked | ({"requires_user_interaction": True} if newer else {})
    if tool == "Bash":
        rule = {"toolName": "Bash", "ruleContent": str(call.get("command", ""))}
        suggestion: Json = {"type": "addRules", "rules": [rule], "behavior": "allow", "destination": "localSettings"}
        asked |= {"description": call["description"]} if "description" in call else {}
        asked |= {"decision_reason": "This command requires approval", "decision_reason_type": "other"}
    else:
        suggestion = {"type": "setMode", "mode": "acceptEdits", "destination": "session"}
        asked |= {"description": str(call.get("file_path", "")).rpartition("/")[2], "decision_reason_type": "mode"}
    # The newer generation suggests no rule for a command of several lines.
    unruly = mode == "plan" or (newer and "\n" in str(call.get("command", "")))
    return asked | ({} if unruly else {"permission_suggestions": [suggestion]})
