"""The state of one held practice session, shared by the thread that listens and the thread that plays turns.

Every field that both threads touch is guarded by `changed`; whoever waits, waits on it. What to say when is decided in
player.py and control.py, not here.
"""

import threading
import time
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from coordinator.rehearsal.flags import Flags
from coordinator.rehearsal.permissions import Rules
from coordinator.rehearsal.script import Script
from coordinator.rehearsal.spending import CONTEXT_WINDOW, Spending, usage
from coordinator.rehearsal.tools import Running
from coordinator.rehearsal.wire import Wire, new_uuid

Json = dict[str, Any]
VERSION = "practice"
MODELS = (
    ("default", "practice-steady", "Practice Steady (default)", "Plays the script as it is written"),
    ("practice-steady", "practice-steady", "Practice Steady", "Plays the script as it is written"),
    ("practice-swift", "practice-swift", "Practice Swift", "The same script under another name"),
)
COMMANDS = (
    ("clear", "Forget the conversation and start a new one"),
    ("compact", "Replace the conversation by a summary of it"),
    ("context", "Show what fills the context"),
    ("cost", "Show what this session pretends to have cost"),
)


def never() -> bool:
    return False


class Aborted(Exception):
    """The turn that plays was interrupted; `during` says what it was at: ``streaming`` or ``tools``."""

    def __init__(self, during: str) -> None:
        super().__init__(during)
        self.during = during


@dataclass(slots=True)
class UserLine:
    text: str
    uuid: str | None
    content: Any
    composed: bool = False
    origin: Mapping[str, Any] | None = None
    """Set on a turn that the agent begins by itself."""


@dataclass(slots=True)
class Pending:
    """A request to the host that waits for its answer."""

    response: Json | None = None
    error: str | None = None
    answered: bool = False


@dataclass(slots=True)
class Session:
    flags: Flags
    script: Script
    wire: Wire
    mode: str
    model: str
    pace: float
    cwd: str
    emits_states: bool
    spending: Spending = field(default_factory=Spending)
    rules: Rules = field(default_factory=Rules)
    changed: threading.Condition = field(default_factory=lambda: threading.Condition(threading.RLock()))
    inbox: deque[UserLine] = field(default_factory=deque)
    pending: dict[str, Pending] = field(default_factory=dict)
    running: dict[str, Running] = field(default_factory=dict)
    """Tools that run now, by task id; the background ones stay after their turn."""
    seen: set[str] = field(default_factory=set)
    ignoring: set[str] = field(default_factory=set)
    adjustments: list[Json] = field(default_factory=list)
    """What a script wants done to the next result line."""
    played: int = 0
    results: int = 0
    playing: bool = False
    abort: bool = False
    ending: bool = False
    eof: bool = False
    last_failed: bool = False
    interrupted: bool = False
    told_state: str = "idle"
    starting: bool = False
    """A command is being started and not yet known here: a signal that ends everything must wait that long."""
    doomed: int | None = None
    """The number of a signal that came meanwhile."""

    @property
    def newer(self) -> bool:
        return self.flags.generation == "332"

    @property
    def model_name(self) -> str:
        return next((resolved for value, resolved, *_ in MODELS if value == self.model), self.model)

    # ---------------------------------------------------------------------------------------------- waiting

    def wait(self, seconds: float | None, until: Callable[[], bool] = never, *, during: str = "streaming") -> bool:
        """Wait for a condition or some time; an abort ends the wait. False: the time ran out."""
        deadline = None if seconds is None else time.monotonic() + seconds
        with self.changed:
            while True:
                if self.abort:
                    raise Aborted(during)
                if until():
                    return True
                left = None if deadline is None else deadline - time.monotonic()
                if left is not None and left <= 0:
                    return False
                # Bounded, because a signal's handler may not take the lock that a notification needs.
                self.changed.wait(0.05 if left is None else min(left, 0.05))

    def check(self, during: str = "streaming") -> None:
        if self.abort:
            raise Aborted(during)

    def notify(self) -> None:
        with self.changed:
            self.changed.notify_all()

    # ---------------------------------------------------------------------------------------------- lines

    def lifecycle(self, line: UserLine, state: str) -> None:
        if self.newer and line.uuid is not None:
            self.wire.say({"type": "command_lifecycle", "command_uuid": line.uuid, "state": state})

    def state(self, state: str) -> None:
        if self.emits_states and state != self.told_state:
            self.wire.system("session_state_changed", state=state)
        self.told_state = state

    def init_line(self, lines: list[UserLine]) -> None:
        tools = ["Task", "Bash", "Edit", "Read", "TodoWrite", "Write"]
        tools += ["AskUserQuestion", "ExitPlanMode"] if self.flags.asks else []
        told: Json = {
            "type": "system",
            "subtype": "init",
            "cwd": self.cwd,
            "tools": tools,
            "mcp_servers": [],
            "model": self.model_name,
            "permissionMode": self.mode,
            "slash_commands": [name for name, _ in COMMANDS],
            "apiKeySource": "none",
            "claude_code_version": VERSION,
            "output_style": "default",
            "agents": [],
            "skills": [],
            "plugins": [],
        }
        if self.newer:
            told |= {"capabilities": ["interrupt_receipt_v1", "interrupt_cancel_queued_v1", "msg_lifecycle_v1"]}
            told |= {"original_cwd": self.cwd, "additional_directories": list(self.rules.directories)}
            told |= names(lines, single=False)
        self.wire.say(told)

    def result(self, lines: list[UserLine], *, started: float, calls: int, subtype: str, extra: Json) -> None:
        """The line that settles a turn, with whatever the script wants wrong about it."""
        failed = bool(extra.get("is_error", subtype != "success"))
        told: Json = {
            "duration_api_ms": milliseconds(started),
            "stop_reason": "end_turn",
            "session_id": self.wire.session,
            "total_cost_usd": self.spending.total,
            "usage": usage(self.spending.turn),
            "modelUsage": self.spending.model_usage(self.newer),
            "permission_denials": [],
            "terminal_reason": "completed",
            "is_error": failed,
            "num_turns": calls,
            "subtype": subtype,
            "type": "result",
            "duration_ms": milliseconds(started),
            "uuid": new_uuid(),
        }
        origin = next((line.origin for line in lines if line.origin is not None), None)
        told |= {} if origin is None else {"origin": dict(origin)}
        since = self.spending.close_result(self.newer)
        if self.newer:
            told |= names(lines, single=True)
            told |= {"queued_turn_count": len(self.inbox), "result_index": self.results}
            told |= {"model_usage_since_last_result": since}
        told |= extra
        times = 1
        for adjustment in self.adjustments:
            told |= adjustment.get("set", {})
            for key in adjustment.get("drop", ()):
                told.pop(key, None)
            times = max(times, adjustment.get("times", 1))
        self.adjustments.clear()
        for _ in range(times):
            self.wire.send(told)
        self.results += 1
        self.last_failed = failed


def names(lines: list[UserLine], *, single: bool) -> Json:
    """The ids of the user's lines that a line is about, where they had any."""
    known = [line.uuid for line in lines if line.uuid is not None]
    if not known:
        return {}
    return ({"user_message_uuid": known[0]} if single else {}) | {"user_message_uuids": known}


def milliseconds(since: float) -> int:
    return int((time.monotonic() - since) * 1000)


def context_usage(session: Session) -> Json:
    used = min(CONTEXT_WINDOW, 12_000 + sum(counts.input_tokens for counts in session.spending.models.values()))
    return {
        "totalTokens": used,
        "maxTokens": CONTEXT_WINDOW,
        "percentage": round(100 * used / CONTEXT_WINDOW, 1),
        "model": session.model_name,
    }
