"""The command line of the practice agent: the flags of the agent that it stands in for, and three of its own.

It refuses what the real one refuses (an unknown flag, a mode that does not exist), because a driver's flags are part of
what a test must be able to get wrong.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

MODES = ("default", "manual", "acceptEdits", "auto", "bypassPermissions", "dontAsk", "plan")
GENERATIONS = ("197", "332")
UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)

BARE = {
    "-p",
    "--print",
    "--verbose",
    "--replay-user-messages",
    "--include-partial-messages",
    "--fork-session",
    "--strict-mcp-config",
    "--dangerously-skip-permissions",
    "--allow-dangerously-skip-permissions",
    "--forward-subagent-text",
    "--version",
}
VALUED = {
    "--input-format",
    "--output-format",
    "--permission-prompt-tool",
    "--permission-mode",
    "--session-id",
    "--resume",
    "-r",
    "--model",
    "--fallback-model",
    "--max-budget-usd",
    "--max-turns",
    "--allowedTools",
    "--disallowedTools",
    "--tools",
    "--append-system-prompt",
    "--system-prompt",
    "--add-dir",
    "--settings",
    "--setting-sources",
    "--mcp-config",
    "--agents",
    "--json-schema",
    "--effort",
    "--script",
    "--pace",
    "--generation",
}


class FlagFault(Exception):
    """A command line that the real agent would refuse too."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Flags:
    script: str
    """'' where none is named: which one it then is depends on the folder."""
    pace: float | None
    """Seconds between chunks of text; None: the script's own."""
    generation: str
    session: str | None
    resume: str | None
    fork: bool
    mode: str
    model: str
    asks: bool
    partial: bool
    replay: bool
    max_budget: float | None
    max_turns: int | None
    may_bypass: bool
    version: bool
    allowed: tuple[str, ...] = field(default=())


def parse(argv: Sequence[str], environ: Mapping[str, str]) -> Flags:
    bare, valued = split(argv)
    pace = valued.get("--pace", environ.get("FOOTPLATE_REHEARSAL_PACE"))
    mode = valued.get("--permission-mode", "default")
    if mode not in MODES:
        raise FlagFault(f"error: option '--permission-mode <mode>' argument '{mode}' is invalid.")
    generation = valued.get("--generation", environ.get("FOOTPLATE_REHEARSAL_GENERATION", "332"))
    if generation not in GENERATIONS:
        raise FlagFault(f"error: option '--generation' is one of {', '.join(GENERATIONS)}.")
    session = valued.get("--session-id")
    if session is not None and not UUID.fullmatch(session):
        raise FlagFault("Error: Invalid session ID. Must be a valid UUID.")
    if valued.get("--output-format") == "stream-json" and "--verbose" not in bare:
        raise FlagFault("Error: When using --print, --output-format=stream-json requires --verbose")
    return Flags(
        script=valued.get("--script", environ.get("FOOTPLATE_REHEARSAL_SCRIPT", "")),
        pace=None if pace is None else decimal("--pace", pace),
        generation=generation,
        session=session,
        resume=valued.get("--resume", valued.get("-r")),
        fork="--fork-session" in bare,
        mode="default" if mode == "manual" else mode,
        model=valued.get("--model", "default"),
        asks=valued.get("--permission-prompt-tool") == "stdio",
        partial="--include-partial-messages" in bare,
        replay="--replay-user-messages" in bare,
        max_budget=decimal("--max-budget-usd", valued["--max-budget-usd"]) if "--max-budget-usd" in valued else None,
        max_turns=int(decimal("--max-turns", valued["--max-turns"])) if "--max-turns" in valued else None,
        may_bypass=bool(bare & {"--dangerously-skip-permissions", "--allow-dangerously-skip-permissions"}),
        version="--version" in bare,
        allowed=tuple(name for name in re.split(r"[,\s]+", valued.get("--allowedTools", "")) if name),
    )


def split(argv: Sequence[str]) -> tuple[set[str], dict[str, str]]:
    bare: set[str] = set()
    valued: dict[str, str] = {}
    rest = list(argv)
    while rest:
        word = rest.pop(0)
        name, equals, value = word.partition("=")
        if name in BARE and not equals:
            bare.add(name)
        elif name in VALUED:
            if not equals and not rest:
                raise FlagFault(f"error: option '{name}' argument missing")
            valued[name] = value if equals else rest.pop(0)
        else:
            raise FlagFault(f"error: unknown option '{name}'")
    return bare, valued


def decimal(name: str, value: str) -> float:
    try:
        return float(value)
    except ValueError:
        raise FlagFault(f"error: option '{name}' argument '{value}' is not a number") from None
