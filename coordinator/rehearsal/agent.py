"""The practice agent's process: starts, listens on one thread, plays turns on the other, and ends as the real one ends.

Run as a file it needs nothing but the standard library, whatever folder it is started in:

    python -I agent.py --script demo -p --input-format stream-json --output-format stream-json --verbose …

It stands in for a foreign program, so it shares no code with what holds it.
"""

import os
import signal
import sys
import threading
import time
from pathlib import Path
from types import FrameType

if __package__ in {None, ""}:
    # -I leaves out both this file's folder and the working folder, which may well hold a package of the same name.
    sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from coordinator.rehearsal import memory, slash, tools
from coordinator.rehearsal.control import Malformed, hear
from coordinator.rehearsal.flags import FlagFault, Flags, parse
from coordinator.rehearsal.player import Player
from coordinator.rehearsal.script import Script, ScriptFault, load, usual
from coordinator.rehearsal.session import VERSION, Session, UserLine
from coordinator.rehearsal.tools import Running
from coordinator.rehearsal.wire import Wire, new_uuid

CHUNK = 1 << 16
BACKGROUND_PATIENCE = 5.0
"""Seconds after end of input for which the older generation lets background commands live; the newer waits for ever."""


def main(argv: list[str] | None = None) -> int:
    try:
        flags = parse(sys.argv[1:] if argv is None else argv, os.environ)
        if flags.version:
            print(f"{VERSION} (practice agent)")
            return 0
    except FlagFault as fault:
        print(fault, file=sys.stderr)
        return 1
    try:
        script = load(flags.script or usual(Path.cwd()))
    except ScriptFault as fault:
        print(fault, file=sys.stderr)
        return 2
    where = memory.folder(os.environ)
    try:
        wire, remembered = recall(flags, where)
    except Unknown as fault:
        print(fault, file=sys.stderr)
        return 1
    session = Session(
        flags=flags,
        script=script,
        wire=wire,
        mode=flags.mode,
        model=flags.model,
        pace=script.pace if flags.pace is None else flags.pace,
        cwd=str(Path.cwd()),
        emits_states=os.environ.get("CLAUDE_CODE_EMIT_SESSION_STATE_EVENTS") == "1",
        played=remembered.played,
        ignoring=set(script.ignore),
    )
    session.rules.allowed.extend((name, None) for name in flags.allowed)
    if flags.generation == "332" and remembered.ended_well:
        session.spending.total = remembered.cost
    return hold(session, script, where)


class Unknown(Exception):
    pass


def recall(flags: Flags, where: Path | None) -> tuple[Wire, memory.Remembered]:
    """The session's id and past; a past that cannot be found is told as the real agent tells it."""
    fresh = flags.session or new_uuid()
    if flags.resume is None:
        if where is not None and flags.session and memory.recall(where, flags.session):
            raise Unknown(f"Error: Session ID {flags.session} is already in use.")
        return Wire(1, fresh), memory.Remembered()
    known = memory.recall(where, flags.resume) if where is not None else memory.Remembered()
    wire = Wire(1, fresh if flags.fork else flags.resume)
    if known is None:
        told = f"No conversation found with session ID: {flags.resume}"
        failed = {"type": "result", "subtype": "error_during_execution", "is_error": True, "num_turns": 0}
        wire.say(failed | {"errors": [told]})
        raise Unknown(told)
    return wire, known


def hold(session: Session, script: Script, where: Path | None) -> int:
    answer_signals(session)
    if script.start_delay:
        time.sleep(script.start_delay)
    remember(session, where, ended_well=False)
    threading.Thread(target=listen, args=(session,), name="listener", daemon=True).start()
    after_turn = False
    while (lines := next_lines(session, after_turn)) is not None:
        play(session, lines)
        remember(session, where, ended_well=False)
        after_turn = True
    end_running(session)
    tools.forget_scratch()
    remember(session, where, ended_well=True)
    return 1 if session.last_failed and not session.interrupted else 0


def remember(session: Session, where: Path | None, *, ended_well: bool) -> None:
    if where is not None:
        past = memory.Remembered(played=session.played, cost=session.spending.total, ended_well=ended_well)
        memory.keep(where, session.wire.session, past)


# ------------------------------------------------------------------------------------------------------------ hearing


def listen(session: Session) -> None:
    held = b""
    while "stdin" not in session.ignoring:
        try:
            data = os.read(0, CHUNK)
        except OSError:
            data = b""
        if not data:
            break
        *whole, held = (held + data).split(b"\n")
        for line in whole:
            try:
                hear(session, line)
            except Malformed as fault:
                sys.stderr.write(f"{fault}\n")
                sys.stderr.flush()
                os._exit(1)
    if "stdin" in session.ignoring or "eof" in session.ignoring:
        return
    with session.changed:
        session.eof = True
        session.changed.notify_all()


def next_lines(session: Session, after_turn: bool) -> list[UserLine] | None:
    """What to play next: one line after a rest, all that waited after a turn. None: the end."""
    patience = None
    while True:
        with session.changed:
            if session.ending:
                return None
            if session.inbox:
                return take(session, everything=after_turn)
            after_turn = False
            if session.eof:
                if not any(running.background for running in session.running.values()):
                    return None
                patience = patience or time.monotonic() + BACKGROUND_PATIENCE
                if not session.newer and time.monotonic() > patience:
                    return None
            session.changed.wait(0.1)


def take(session: Session, *, everything: bool) -> list[UserLine]:
    first = session.inbox.popleft()
    lines = [first]
    # A command of the agent's own, and a turn that it begins by itself, are never merged with anything.
    while everything and session.inbox and mergeable(first) and mergeable(session.inbox[0]):
        lines.append(session.inbox.popleft())
    session.playing = True
    session.abort = False
    return lines


def mergeable(line: UserLine) -> bool:
    return line.origin is None and slash.command(line) is None


def play(session: Session, lines: list[UserLine]) -> None:
    for line in lines:
        session.lifecycle(line, "started")
    name = slash.command(lines[0])
    if name is not None:
        return slash.run(session, lines[0], name, time.monotonic())
    text = "\n".join(line.text for line in lines)
    if lines[0].origin is not None:
        steps = session.script.wake(text)
    else:
        steps, session.played = session.script.choose(text, session.played)
    Player(session, lines).play(steps)


# ------------------------------------------------------------------------------------------------------------- ending


def answer_signals(session: Session) -> None:
    def terminate(number: int, frame: FrameType | None) -> None:
        if ("term" if number == signal.SIGTERM else "hup") in session.ignoring:
            return
        if session.starting:
            session.doomed = number
            return
        # The older generation is gone at once and leaves its foreground command behind: custody must find it.
        for running in list(session.running.values()):
            if session.newer or running.background:
                running.end(signal.SIGKILL)
        os._exit(128 + number)

    def interrupt(number: int, frame: FrameType | None) -> None:
        if "interrupt" not in session.ignoring:
            session.interrupted = True
            session.ending = True
            session.abort = session.playing

    signal.signal(signal.SIGTERM, terminate)
    signal.signal(signal.SIGHUP, terminate)
    signal.signal(signal.SIGINT, interrupt)


def end_running(session: Session) -> None:
    """Commands that are left are ended; only the newer generation insists when one of them does not go."""
    left: list[Running] = list(session.running.values())
    for running in left:
        running.stopped = True
        running.end(signal.SIGTERM)
    deadline = time.monotonic() + 0.5
    for running in left:
        running.done.wait(max(0.0, deadline - time.monotonic()))
    if session.newer:
        for running in left:
            running.end(signal.SIGKILL)


if __name__ == "__main__":
    code = main()
    sys.stdout.flush()
    # Daemon threads may still wait on stdin; leaving at once keeps the exit code ours.
    os._exit(code)
