"""One tool call of the practice agent from the asking to the result line.

Between player.py (which call comes next) and tools.py (what a call does): here a call is asked about, answered, run
with the input that the answer carries, and told.
"""

import json
import signal
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from coordinator.rehearsal import permissions, tools
from coordinator.rehearsal.session import Aborted, Pending, Session, UserLine
from coordinator.rehearsal.tools import Outcome, Running
from coordinator.rehearsal.wire import new_uuid, now

Json = dict[str, Any]
FOREGROUND_NOTICE = 2.0
"""Seconds after which a foreground command is announced as a task, as the real agent does."""
DEFAULT_TIMEOUT = 120.0
REJECTED = "The tool use was rejected: the operator stopped it. Stop and wait to be told how to proceed."


class Refused(Exception):
    """The host said no."""

    def __init__(self, message: str, *, interrupt: bool = False) -> None:
        super().__init__(message)
        self.message = message
        self.interrupt = interrupt


class Toolbox:
    def __init__(self, session: Session) -> None:
        self.session = session
        self.denials: list[Json] = []
        self.last = "ok"
        """How the last call went: ``ok``, ``failed`` or ``denied``."""
        self.answer = ""
        """The last answer to a question, for texts that speak of it."""
        self.output = ""

    def call(self, name: str, call: Json, use: str) -> None:
        """Ask, run and tell. An abort passes through after the call's own result line was said."""
        denial = {"tool_name": name, "tool_use_id": use, "tool_input": call}
        try:
            allowed = self.permit(name, call, use)
            outcome = self.run(name, allowed, use)
            if name != "TodoWrite":
                # A plan that moves on is no news about the call before it, which the next step may ask about.
                self.last, self.output = "ok" if outcome.ok else "failed", outcome.text
        except Refused as refusal:
            self.denials.append(denial)
            self.last = "denied"
            outcome = Outcome(text=refusal.message, ok=False, detail=f"Error: {refusal.message}")
            if refusal.interrupt:
                self.tell(outcome, use)
                raise Aborted("tools") from None
        except Aborted:
            self.tell(Outcome(text=REJECTED, ok=False, detail="User rejected tool use"), use)
            raise
        self.tell(outcome, use)

    def tell(self, outcome: Outcome, use: str) -> None:
        result = {"tool_use_id": use, "type": "tool_result", "content": outcome.text, "is_error": not outcome.ok}
        self.session.wire.say(
            {
                "type": "user",
                "message": {"role": "user", "content": [result]},
                "parent_tool_use_id": None,
                "timestamp": now(),
                "tool_use_result": outcome.detail,
            }
        )

    # ------------------------------------------------------------------------------------------- asking

    def permit(self, name: str, call: Json, use: str) -> Json:
        session = self.session
        match permissions.verdict(name, call, session.mode, session.rules):
            case "run":
                return call
            case "ask" if session.flags.asks:
                return self.ask(name, call, use)
        told = "in don't ask mode" if session.mode == "dontAsk" else "This command requires approval"
        if session.newer:
            session.wire.system(
                "permission_denied", tool_name=name, tool_use_id=use, decision_reason_type="mode", message=told
            )
        raise Refused(told)

    def ask(self, name: str, call: Json, use: str) -> Json:
        session, request = self.session, new_uuid()
        pending = Pending()
        with session.changed:
            session.pending[request] = pending
        session.state("requires_action")
        asked = permissions.request(name, call, use, session.mode, session.newer)
        session.wire.send({"type": "control_request", "request_id": request, "request": asked})
        try:
            # A stream that closes is an answer: the real agent takes it as a denial and goes on.
            session.wait(None, lambda: pending.answered or session.eof, during="tools")
        except Aborted:
            self.denials.append({"tool_name": name, "tool_use_id": use, "tool_input": call})
            session.state("running")
            raise
        finally:
            with session.changed:
                session.pending.pop(request, None)
        session.state("running")
        return self.heard(name, call, pending)

    def heard(self, name: str, call: Json, pending: Pending) -> Json:
        """What the host's answer makes of the call; everything that is no proper answer is a denial."""
        answer = pending.response
        if pending.error is not None:
            raise Refused(f"Tool permission request failed: Error: {pending.error}")
        if not isinstance(answer, dict) or answer.get("behavior") not in {"allow", "deny"}:
            raise Refused("Tool permission request failed: Error: the stream closed or the answer was not understood")
        if answer["behavior"] == "deny":
            raise Refused(str(answer.get("message", "")), interrupt=bool(answer.get("interrupt")))
        if "updatedInput" not in answer and not self.session.newer:
            raise Refused("Tool permission request failed: ZodError: updatedInput is required")
        self.learn(answer.get("updatedPermissions") or ())
        if name == "ExitPlanMode" and self.session.mode == "plan":
            self.set_mode("default")
        updated = answer.get("updatedInput")
        return updated if isinstance(updated, dict) else call

    def learn(self, updates: Any) -> None:
        updates = [update for update in updates if isinstance(update, dict)]
        mode = self.session.rules.learn(updates)
        if mode is not None:
            self.set_mode(mode)
        kept = [update for update in updates if update.get("destination") == "localSettings"]
        if kept:
            # As harmful as the real one: an answer that is not aimed at this session lands in the repository.
            settings = Path(self.session.cwd) / ".claude" / "settings.local.json"
            settings.parent.mkdir(exist_ok=True)
            settings.write_text(json.dumps({"permissions": kept}), encoding="utf-8")

    def set_mode(self, mode: str) -> None:
        self.session.mode = mode
        self.session.wire.system("status", status=None, permissionMode=mode)

    # ------------------------------------------------------------------------------------------ running

    def run(self, name: str, call: Json, use: str) -> Outcome:
        cwd = self.session.cwd
        match name:
            case "Bash":
                return self.command(call, use)
            case "Write":
                return tools.write_file(call, cwd)
            case "Edit":
                return tools.edit_file(call, cwd)
            case "Read":
                return tools.read_file(call, cwd)
            case "TodoWrite":
                return Outcome(text="Todos have been modified.", detail={"newTodos": call.get("todos", [])})
            case "AskUserQuestion":
                return self.answered(call)
            case "ExitPlanMode":
                detail = {"plan": call.get("plan"), "isAgent": False}
                return Outcome(text="User has approved exiting plan mode. You can now proceed.", detail=detail)
        return tools.failed(f"No such tool available: {name}")

    def answered(self, call: Mapping[str, Any]) -> Outcome:
        answers = call.get("answers")
        detail = {"questions": call.get("questions", []), "answers": answers or {}}
        if not isinstance(answers, dict) or not answers:
            return Outcome(text="The user did not answer the questions.", detail=detail)
        self.answer = ", ".join(map(str, answers.values()))
        told = ", ".join(f'"{question}"="{answer}"' for question, answer in answers.items())
        return Outcome(
            text=f"Your questions have been answered: {told}. You can now continue with these answers in mind.",
            detail=detail,
        )

    def command(self, call: Mapping[str, Any], use: str) -> Outcome:
        session = self.session
        running = self.start(call, use)
        if running.background:
            tell_tasks(session)
            announce(session, running)
            told = (
                f"Command running in background with ID: {running.task}. Output is being written to: {running.output}."
            )
            return Outcome(text=told, detail={"stdout": "", "stderr": "", "backgroundTaskId": running.task})
        timeout = float(call.get("timeout", DEFAULT_TIMEOUT * 1000)) / 1000
        try:
            if not session.wait(min(FOREGROUND_NOTICE, timeout), running.done.is_set, during="tools"):
                announce(session, running)
                if not session.wait(max(0.0, timeout - FOREGROUND_NOTICE), running.done.is_set, during="tools"):
                    running.end(signal.SIGKILL)
                    running.done.wait(5)
        except Aborted:
            running.end(signal.SIGTERM)
            tell_foreground(session, running, "stopped")
            raise
        with session.changed:
            session.running.pop(running.task, None)
        tell_foreground(session, running, "failed" if running.code else "completed")
        return tools.command_outcome(running)

    def start(self, call: Mapping[str, Any], use: str) -> Running:
        session = self.session
        session.starting = True
        running = tools.start(
            call, use=use, session=session.wire.session, newer=session.newer, cwd=session.cwd, ended=self.ended
        )
        with session.changed:
            if not running.done.is_set() or running.background:
                session.running[running.task] = running
        session.starting = False
        if session.doomed is not None:
            signal.raise_signal(session.doomed)
        return running

    def ended(self, running: Running) -> None:
        """Called when a command's leader has ended; a background one wakes the agent, as it does the real one."""
        session = self.session
        with session.changed:
            status = "failed" if running.code else "completed"
            if running.background:
                # The tool's own lines come first: a very short command may end before it was announced.
                while not running.announced and not session.ending:
                    session.changed.wait(0.05)
            session.running.pop(running.task, None)
            if running.background and not running.stopped:
                tell_ended(session, running, status)
                origin = {"kind": "task-notification"}
                text = f"Background command {running.title!r} {status}"
                session.inbox.append(UserLine(text=text, uuid=None, content=text, origin=origin))
            session.changed.notify_all()


def announce(session: Session, running: Running) -> None:
    extra = {"is_backgrounded": running.background} if session.newer else {}
    session.wire.system(
        "task_started",
        task_id=running.task,
        tool_use_id=running.use,
        description=running.title,
        task_type="local_bash",
        **extra,
    )
    with session.changed:
        running.announced = True
        session.changed.notify_all()


def tell_foreground(session: Session, running: Running, status: str) -> None:
    """A command that was announced because it took long has its end told too, unlike one that was quick."""
    if running.announced:
        session.wire.system(
            "task_notification",
            task_id=running.task,
            tool_use_id=running.use,
            status=status,
            output_file="",
            summary=running.title,
        )


def tell_tasks(session: Session) -> None:
    if session.newer:
        live = [one for one in session.running.values() if one.background]
        tasks = [{"task_id": one.task, "task_type": "local_bash", "description": one.title} for one in live]
        session.wire.system("background_tasks_changed", tasks=tasks)


def tell_ended(session: Session, running: Running, status: str) -> None:
    patched = "killed" if status == "stopped" else status
    patch = {"status": patched, "end_time": int(time.time() * 1000)}
    session.wire.system("task_updated", task_id=running.task, patch=patch)
    if not session.newer and status != "stopped" and session.told_state == "idle":
        session.state("running")
    code = running.code or 0
    summary = f'Background command "{running.title}" {status}' + ("" if status == "stopped" else f" (exit code {code})")
    session.wire.system(
        "task_notification",
        task_id=running.task,
        tool_use_id=running.use,
        status=status,
        output_file=str(running.output),
        summary=summary,
    )
    tell_tasks(session)


def stop_task(session: Session, running: Running) -> None:
    with session.changed:
        running.stopped = True
        session.running.pop(running.task, None)
    running.end(signal.SIGTERM)
    running.done.wait(0.5)
    if not running.done.is_set():
        running.end(signal.SIGKILL)
    tell_ended(session, running, "stopped")
