"""Everything that the practice agent can do wrong on purpose, one function a misbehaviour.

The names are those of script.MISBEHAVIOUR. None of it is reached unless a script asks for it; each exists because some
real agent was seen to do it, or because custody must hold even if one did.
"""

import contextlib
import json
import os
import re
import signal
import sys
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NoReturn

from coordinator.rehearsal.script import Step
from coordinator.rehearsal.session import Session, UserLine
from coordinator.rehearsal.wire import new_uuid

Args = Mapping[str, Any]
MEBIBYTE = 1 << 20
MAILBOX = re.compile(r"[^\s`'\"()<>]*\.footplate/[\w.-]+")


def perform(session: Session, step: Step, text: str) -> None:
    if step.do == "mailbox":
        return mailbox(session, step.args, text)
    ACTS[str(step.do)](session, step.args)


def garbage(session: Session, args: Args) -> None:
    session.wire.raw(str(args.get("line", "this is no JSON {")).encode() + b"\n")


def half_line(session: Session, args: Args) -> NoReturn:
    session.wire.raw(b'{"type":"assistant","message":{"role":"assist')
    leave(int(args.get("code", 1)))


def big_line(session: Session, args: Args) -> None:
    size = int(float(args.get("megabytes", 64)) * MEBIBYTE)
    session.wire.raw(b'{"type":"practice_big_line","filler":"' + b"x" * size + b'"}\n')


def silence(session: Session, args: Args) -> None:
    session.wait(args.get("seconds"))


def quit_now(session: Session, args: Args) -> NoReturn:
    if "signal" in args:
        number = signal.Signals[str(args["signal"])]
        signal.signal(number, signal.SIG_DFL) if number not in {signal.SIGKILL, signal.SIGSTOP} else None
        os.kill(os.getpid(), number)
        signal.pause()
    leave(int(args.get("code", 1)))


def leave(code: int) -> NoReturn:
    """Gone at once: nothing flushed, no tool ended."""
    os._exit(code)


def ignore(session: Session, args: Args) -> None:
    what = args.get("what", [])
    session.ignoring.update([what] if isinstance(what, str) else what)


def daemon(session: Session, args: Args) -> None:
    """A process that nothing leads back to: forked twice, its own session, another parent, no environment."""
    seconds = str(args.get("seconds", 300))
    pid_file = str(args.get("pid_file", ""))
    code = (
        "import os, sys, time\n"
        "os.setsid()\n"
        "if os.fork(): os._exit(0)\n"
        "if sys.argv[2]:\n"
        "    with open(sys.argv[2] + '.new', 'w') as told: told.write(str(os.getpid()))\n"
        "    os.rename(sys.argv[2] + '.new', sys.argv[2])\n"
        "time.sleep(float(sys.argv[1]))\n"
    )
    child = os.posix_spawn(
        sys.executable,
        [sys.executable, "-I", "-S", "-c", code, seconds, pid_file],
        {},
        file_actions=[
            (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
            (os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0),
            (os.POSIX_SPAWN_OPEN, 2, os.devnull, os.O_WRONLY, 0),
        ],
    )
    with contextlib.suppress(ChildProcessError):
        os.waitpid(child, 0)


def escapes(session: Session, args: Args) -> None:
    """Terminal control in text: a title, a cleared screen, a moved cursor, a bell, a lone carriage return."""
    say(session, "\x1b]0;taken over\x07\x1b[2J\x1b[31mred\x1b[0m\x1b[10;10Hmoved\rback\x07 \u202ereversed\u202c end")


def brackets(session: Session, args: Args) -> None:
    say(
        session, "[bold]not bold[/bold] [/] [link=x]no link[/link] [@click=app.quit]no button[/] \\[kept] {braces} $var"
    )


def flood(session: Session, args: Args) -> None:
    filler = "flood " * max(1, int(args.get("width", 600)) // 6)
    for number in range(int(args.get("lines", 2000))):
        session.check()
        session.wire.system("practice_flood", number=number, filler=filler)


def stop_reading(session: Session, args: Args) -> None:
    session.ignoring.add("stdin")


def stderr(session: Session, args: Args) -> None:
    line = str(args.get("line", "practice agent: a warning of no weight"))
    for _ in range(int(args.get("times", 1))):
        sys.stderr.write(line + "\n")
    sys.stderr.flush()


def mailbox(session: Session, args: Args, text: str) -> None:
    """Write a decision or a handoff where the turn's text says that they belong, or where the script says."""
    found = MAILBOX.search(text)
    named = args.get("folder") or (found.group(0) if found else None)
    if named is None:
        return say(session, "I was told of no mailbox.")
    folder = Path(session.cwd) / named
    folder.mkdir(parents=True, exist_ok=True)
    if "decision" in args:
        told = args["decision"]
        put(folder / "decision.json", told if isinstance(told, str) else json.dumps(told, indent=2))
    if "handoff" in args:
        put(folder / "handoff.md", str(args["handoff"]))


def put(path: Path, text: str) -> None:
    """Whole or not at all, so that a reader never meets half a file; a malformed one is written by saying so."""
    fresh = path.with_suffix(".new")
    fresh.write_text(text, encoding="utf-8")
    fresh.replace(path)


def unsolicited(session: Session, args: Args) -> None:
    """A turn that nobody asked for, some time from now."""
    text = str(args.get("text", "I was thinking about it again."))

    def begin() -> None:
        with session.changed:
            directive = "@@" + json.dumps({"steps": [{"text": text}]}) + "@@"
            origin = {"kind": "task-notification"}
            session.inbox.append(UserLine(text=directive, uuid=None, content=text, origin=origin))
            session.changed.notify_all()

    timer = threading.Timer(float(args.get("after", 0.0)), begin)
    timer.daemon = True
    timer.start()


def result(session: Session, args: Args) -> None:
    session.adjustments.append(dict(args))


def duplicate_result(session: Session, args: Args) -> None:
    session.adjustments.append({"times": 2})


def nameless_result(session: Session, args: Args) -> None:
    session.adjustments.append({"drop": ["user_message_uuid", "user_message_uuids"]})


def missing_cost(session: Session, args: Args) -> None:
    session.adjustments.append({"drop": ["total_cost_usd", "modelUsage", "model_usage_since_last_result"]})


def falling_cost(session: Session, args: Args) -> None:
    session.adjustments.append({"set": {"total_cost_usd": float(args.get("to", 0.0))}})


def conversation(session: Session, args: Args) -> None:
    """All lines from here on belong to another conversation: the one that is named, or a new one."""
    session.wire.session = str(args.get("id") or new_uuid())


def say(session: Session, text: str) -> None:
    message: dict[str, Any] = {
        "id": "msg_practice",
        "type": "message",
        "role": "assistant",
        "model": session.model_name,
    }
    message |= {"content": [{"type": "text", "text": text}], "stop_reason": None, "usage": {}}
    session.wire.say({"type": "assistant", "message": message, "parent_tool_use_id": None})


ACTS: Mapping[str, Callable[[Session, Args], None]] = {
    "garbage": garbage,
    "half_line": half_line,
    "big_line": big_line,
    "silence": silence,
    "exit": quit_now,
    "ignore": ignore,
    "daemon": daemon,
    "escapes": escapes,
    "brackets": brackets,
    "flood": flood,
    "stop_reading": stop_reading,
    "stderr": stderr,
    "unsolicited": unsolicited,
    "result": result,
    "duplicate_result": duplicate_result,
    "nameless_result": nameless_result,
    "missing_cost": missing_cost,
    "falling_cost": falling_cost,
    "conversation": conversation,
}
