"""The script language: what the practice agent will say and do, read from TOML or from a directive in a turn.

All that is checked about a script is checked here, before the first byte is spoken, so that a mistake is one clear
sentence and never a session that goes wrong half way. Nothing here performs a step. README.md beside this file is the
language for people.
"""

import difflib
import json
import re
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

Json = dict[str, Any]
SCRIPTS = Path(__file__).resolve().parent / "scripts"
DIRECTIVE = re.compile(r"@@(\{.*?\})@@", re.DOTALL)

VERBS = {
    "run": "Bash",
    "write": "Write",
    "edit": "Edit",
    "read": "Read",
    "ask": "AskUserQuestion",
    "propose": "ExitPlanMode",
    "plan": "TodoWrite",
}
"""Short spellings of one tool call; the other keys of the same step are its arguments."""

VERB_ARGUMENTS = {
    "run": {"why", "background", "timeout"},
    "write": {"content"},
    "edit": {"old", "new"},
    "read": set(),
    "ask": {"options", "header", "multiple"},
    "propose": set(),
    "plan": set(),
}

MISBEHAVIOUR: Mapping[str, frozenset[str]] = {
    "garbage": frozenset({"line"}),
    "half_line": frozenset({"code"}),
    "big_line": frozenset({"megabytes"}),
    "silence": frozenset({"seconds"}),
    "exit": frozenset({"code", "signal"}),
    "ignore": frozenset({"what"}),
    "daemon": frozenset({"seconds", "pid_file"}),
    "escapes": frozenset(),
    "brackets": frozenset(),
    "flood": frozenset({"lines", "width"}),
    "stop_reading": frozenset(),
    "stderr": frozenset({"line", "times"}),
    "mailbox": frozenset({"decision", "handoff", "folder"}),
    "unsolicited": frozenset({"after", "text"}),
    "result": frozenset({"set", "drop", "times"}),
    "duplicate_result": frozenset(),
    "nameless_result": frozenset(),
    "missing_cost": frozenset(),
    "falling_cost": frozenset({"to"}),
    "conversation": frozenset({"id"}),
}
IGNORABLE = ("eof", "term", "hup", "interrupt", "end_session", "stdin")

CALL_KEYS = {"think", "text", "say", "tools", "usage", "out", "cost", "delay", "mul", "chunks", "slow", "fail"}
SIDE_KEYS = {"only", "answered", "repeat", "emit", "limit", "do"}
STATUS = {"done": "completed", "active": "in_progress", "pending": "pending"}
ONLY = ("allowed", "denied", "ok", "failed")


class ScriptFault(Exception):
    """The script cannot be played; the message is one sentence for the person who wrote it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCall:
    name: str
    input: Json


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One model call, with what goes wrong around it."""

    think: str = ""
    text: str | None = None
    tools: tuple[ToolCall, ...] = ()
    input_tokens: int = 1000
    output_tokens: int = 100
    cost: float | None = None
    """Dollars; None: reckoned from the tokens."""
    delay: float = 0.0
    chunks: int | None = None
    slow: float | None = None
    """Seconds between chunks; None: the session's pace."""
    fail: Mapping[str, Any] | None = None
    limit: Mapping[str, Any] | None = None
    emit: Mapping[str, Any] | None = None
    only: str | None = None
    """Play this step only if the last tool call went so."""
    answered: str | None = None
    """Play this step only if the last answer to a question contains this; with a leading ``!``, only if it does not."""
    do: str | None = None
    args: Mapping[str, Any] = field(default_factory=dict)

    @property
    def calls_model(self) -> bool:
        return bool(self.think or self.text is not None or self.tools or self.fail)


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    steps: tuple[Step, ...]
    when: str | None = None
    default: bool = False

    def answers(self, text: str) -> bool:
        return self.when is not None and self.when.casefold() in text.casefold()


@dataclass(frozen=True, slots=True, kw_only=True)
class Script:
    name: str
    turns: tuple[Turn, ...]
    about: str = ""
    pace: float = 0.0
    start_delay: float = 0.0
    never_ready: bool = False
    ignore: tuple[str, ...] = ()

    def choose(self, text: str, played: int) -> tuple[tuple[Step, ...], int]:
        """The steps that answer this text, and how many of the turns in order are then played."""
        if directed := directive(text):
            return directed, played
        for turn in self.turns:
            if turn.answers(text):
                return turn.steps, played
        in_order = [turn for turn in self.turns if turn.when is None and not turn.default]
        if played < len(in_order):
            return in_order[played].steps, played + 1
        fallback = next((turn for turn in self.turns if turn.default), None)
        if fallback is not None:
            return fallback.steps, played
        return (in_order[-1].steps if in_order else (Step(text="ok"),)), played

    def wake(self, text: str) -> tuple[Step, ...]:
        """The steps of a turn that the agent begins by itself: never one of those in order, which wait for a person."""
        matched = (turn.steps for turn in self.turns if turn.answers(text))
        return directive(text) or next(matched, (Step(text="All done."),))


def directive(text: str) -> tuple[Step, ...]:
    """The steps that ride in the text itself between @@ and @@; the last directive counts."""
    found = DIRECTIVE.findall(text)
    if not found:
        return ()
    try:
        told = json.loads(found[-1])
        raw = told.get("steps", [told])
        return parse_steps(raw, "directive step")
    except (ValueError, ScriptFault) as problem:
        return (Step(text=f"bad directive: {problem}"),)


def usual(folder: Path) -> str:
    """The script for a folder where none was named: the demo's story is about the files of its own scratch
    repository, and nothing of it would go well elsewhere."""
    return "demo" if (folder / "soak.py").is_file() and (folder / "teashop").is_dir() else "anywhere"


def load(wanted: str) -> Script:
    """A script by the name of one that ships, or by its path."""
    path = Path(wanted) if "/" in wanted or wanted.endswith(".toml") else SCRIPTS / f"{wanted}.toml"
    try:
        raw = tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        shipped = ", ".join(sorted(one.stem for one in SCRIPTS.glob("*.toml")))
        raise ScriptFault(f"There is no script {wanted!r}; those that ship are: {shipped}.") from None
    except (OSError, UnicodeDecodeError) as problem:
        raise ScriptFault(f"The script {path} cannot be read: {problem}.") from None
    except tomllib.TOMLDecodeError as problem:
        raise ScriptFault(f"The script {path} is not TOML: {problem}.") from None
    try:
        return parse_script(raw, path.stem)
    except ScriptFault as problem:
        raise ScriptFault(f"The script {path} cannot be played: {problem}.") from None


def parse_script(raw: Mapping[str, Any], name: str) -> Script:
    only_keys(raw, {"about", "pace", "start_delay", "never_ready", "ignore", "turn"}, "the top of the script")
    turns = tuple(parse_turn(one, number) for number, one in enumerate(listed(raw, "turn", "the script"), 1))
    if not turns:
        raise ScriptFault("it has no [[turn]]")
    return Script(
        name=name,
        about=typed(raw, "about", str, "", "the script"),
        pace=number(raw, "pace", 0.0, "the script"),
        start_delay=number(raw, "start_delay", 0.0, "the script"),
        never_ready=typed(raw, "never_ready", bool, False, "the script"),
        ignore=ignorable(raw.get("ignore", []), "the script"),
        turns=turns,
    )


def parse_turn(raw: Mapping[str, Any], position: int) -> Turn:
    where = f"turn {position}"
    only_keys(raw, {"when", "default", "steps"}, where)
    steps = listed(raw, "steps", where)
    return Turn(
        when=typed(raw, "when", str, None, where),
        default=typed(raw, "default", bool, False, where),
        steps=parse_steps(steps, f"{where}, step"),
    )


def parse_steps(listed: Sequence[Any], where: str) -> tuple[Step, ...]:
    steps: list[Step] = []
    for position, raw in enumerate(listed, 1):
        step = parse_step(raw, f"{where} {position}")
        steps += [step] * typed(raw, "repeat", int, 1, f"{where} {position}")
    return tuple(steps)


def parse_step(raw: Any, where: str) -> Step:
    if not isinstance(raw, Mapping):
        raise ScriptFault(f"{where} is not a table")
    verbs = [verb for verb in VERBS if verb in raw]
    if len(verbs) > 1:
        raise ScriptFault(f"{where} has both {verbs[0]!r} and {verbs[1]!r}; one step runs one of them")
    misbehaves = typed(raw, "do", str, None, where)
    if misbehaves is not None and misbehaves not in MISBEHAVIOUR:
        raise ScriptFault(f"{where}: nothing is known as do = {misbehaves!r}{guess(misbehaves, MISBEHAVIOUR)}")
    allowed_args = MISBEHAVIOUR.get(misbehaves or "", frozenset())
    own = VERB_ARGUMENTS[verbs[0]] | {verbs[0]} if verbs else set()
    # An argument of `do` may carry a name that is also a model call's (`text`); then it is the argument.
    only_keys(raw, (CALL_KEYS | SIDE_KEYS | own | allowed_args) if not misbehaves else SIDE_KEYS | allowed_args, where)
    only = typed(raw, "only", str, None, where)
    if only is not None and only not in ONLY:
        raise ScriptFault(f"{where}: only = {only!r} is none of {', '.join(ONLY)}")
    answered = typed(raw, "answered", str, None, where)
    if misbehaves:
        if misbehaves == "ignore":
            ignorable(raw.get("what", []), where)
        return Step(
            do=misbehaves, args={key: raw[key] for key in allowed_args if key in raw}, only=only, answered=answered
        )
    usage = typed(raw, "usage", dict, {}, where)
    text = typed(raw, "text", str, typed(raw, "say", str, None, where), where)
    return Step(
        think=typed(raw, "think", str, "", where),
        text=None if text is None else text * typed(raw, "mul", int, 1, where),
        tools=(*explicit_tools(raw, where), *(verb_call(verb, raw, where) for verb in verbs)),
        input_tokens=int(usage.get("input_tokens", 1000)),
        output_tokens=typed(raw, "out", int, 100, where),
        cost=number(raw, "cost", None, where),
        delay=number(raw, "delay", 0.0, where),
        chunks=typed(raw, "chunks", int, None, where),
        slow=number(raw, "slow", None, where),
        fail=typed(raw, "fail", dict, None, where),
        limit=typed(raw, "limit", dict, None, where),
        emit=typed(raw, "emit", dict, None, where),
        only=only,
        answered=answered,
    )


def explicit_tools(raw: Mapping[str, Any], where: str) -> Iterable[ToolCall]:
    for one in listed(raw, "tools", where):
        if not isinstance(one, Mapping) or not isinstance(one.get("name"), str):
            raise ScriptFault(f"{where}: a tool needs a name and an input")
        yield ToolCall(name=one["name"], input=dict(one.get("input", {})))


def verb_call(verb: str, raw: Mapping[str, Any], where: str) -> ToolCall:
    told = raw[verb]
    call: Json
    if verb in {"run", "write", "edit", "read", "propose"} and not isinstance(told, str):
        raise ScriptFault(f"{where}: {verb!r} takes a text")
    match verb:
        case "run":
            call = {"command": told}
            call |= {"description": raw["why"]} if "why" in raw else {}
            call |= {"run_in_background": True} if raw.get("background") else {}
            call |= {"timeout": int(raw["timeout"] * 1000)} if "timeout" in raw else {}
        case "write":
            call = {"file_path": told, "content": typed(raw, "content", str, "", where)}
        case "edit":
            call = {
                "file_path": told,
                "old_string": typed(raw, "old", str, "", where),
                "new_string": typed(raw, "new", str, "", where),
            }
        case "read":
            call = {"file_path": told}
        case "propose":
            call = {"plan": told}
        case "plan":
            call = {"todos": [todo(item, where) for item in listed(raw, "plan", where)]}
        case _:
            call = {"questions": list(questions(raw, where))}
    return ToolCall(name=VERBS[verb], input=call)


def todo(item: Any, where: str) -> Json:
    if not (isinstance(item, Sequence) and len(item) == 2 and item[0] in STATUS):
        raise ScriptFault(f'{where}: a plan item is ["done" | "active" | "pending", "text"]')
    return {"content": item[1], "status": STATUS[item[0]], "activeForm": item[1]}


def questions(raw: Mapping[str, Any], where: str) -> Iterable[Json]:
    told = raw["ask"]
    if isinstance(told, list):
        yield from told
        return
    options = []
    for one in listed(raw, "options", where):
        label, _, description = str(one).partition(" — ")
        options.append({"label": label.strip(), "description": description.strip()})
    yield {
        "question": str(told),
        "header": typed(raw, "header", str, "Question", where),
        "options": options,
        "multiSelect": typed(raw, "multiple", bool, False, where),
    }


def ignorable(told: Any, where: str) -> tuple[str, ...]:
    names = [told] if isinstance(told, str) else list(told)
    for name in names:
        if name not in IGNORABLE:
            raise ScriptFault(f"{where}: only {', '.join(IGNORABLE)} can be ignored, not {name!r}")
    return tuple(names)


def only_keys(raw: Mapping[str, Any], known: set[str] | frozenset[str], where: str) -> None:
    for key in raw:
        if key not in known:
            raise ScriptFault(f"{where} has an unknown key {key!r}{guess(key, known)}")


def guess(word: str, known: Iterable[str]) -> str:
    near = difflib.get_close_matches(word, list(known), 1)
    return f", perhaps {near[0]!r} is meant" if near else ""


def listed(raw: Mapping[str, Any], key: str, where: str) -> list[Any]:
    found = raw.get(key, [])
    if not isinstance(found, list):
        raise ScriptFault(f"{where}: {key!r} must be a list")
    return found


def typed(raw: Mapping[str, Any], key: str, kind: type, default: Any, where: str) -> Any:
    found = raw.get(key, default)
    if found is not default and (not isinstance(found, kind) or (kind is int and isinstance(found, bool))):
        raise ScriptFault(f"{where}: {key!r} must be {kind.__name__}, not {type(found).__name__}")
    return found


def number(raw: Mapping[str, Any], key: str, default: float | None, where: str) -> Any:
    found = raw.get(key, default)
    if found is not default and (isinstance(found, bool) or not isinstance(found, int | float)):
        raise ScriptFault(f"{where}: {key!r} must be a number")
    return found
