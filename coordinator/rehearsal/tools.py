"""The tools of the practice agent, which truly run: commands in sessions of their own, files really written.

A command gets its own process session as under the real agent, because custody must learn to find such processes;
whether a tool may run is decided before anything here is called.
"""

import contextlib
import difflib
import os
import secrets
import signal
import subprocess
import tempfile
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

Json = dict[str, Any]
OUTPUT_LIMIT = 30_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    text: str
    ok: bool = True
    detail: Json | str = ""
    """The structured result that goes beside the text."""


@dataclass(slots=True, kw_only=True)
class Running:
    """A command that was started; `code` comes when its leader has ended."""

    task: str
    use: str
    title: str
    command: str
    process: subprocess.Popen[bytes]
    output: Path
    background: bool
    announced: bool = False
    stopped: bool = False
    code: int | None = None
    done: threading.Event = field(default_factory=threading.Event)

    def end(self, number: signal.Signals) -> None:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.process.pid, number)

    def read_output(self) -> str:
        with contextlib.suppress(OSError):
            return self.output.read_text(encoding="utf-8", errors="replace").rstrip("\n")
        return ""


def start(
    call: Mapping[str, Any], *, use: str, session: str, newer: bool, cwd: str, ended: Callable[["Running"], None]
) -> Running:
    """Start a command; `ended` is called once, from a thread of its own, when its leader has ended."""
    task = "b" + secrets.token_hex(4)
    output = scratch() / f"{task}.output"
    marks = {"CLAUDECODE": "1", "CLAUDE_CODE_SESSION_ID": session, "CLAUDE_CODE_CHILD_SESSION": "1"}
    marks |= {"CLAUDE_PID": str(os.getpid())} if newer else {}
    # Output goes to a file, not a pipe: a grandchild that keeps a pipe open would keep the tool from ever ending.
    with output.open("wb") as sink:
        process = subprocess.Popen(
            ["bash", "-c", str(call.get("command", ""))],
            stdin=subprocess.DEVNULL,
            stdout=sink,
            stderr=subprocess.STDOUT,
            cwd=cwd,
            env=os.environ | marks,
            start_new_session=True,
        )
    running = Running(
        task=task,
        use=use,
        title=str(call.get("description") or call.get("command", "")),
        command=str(call.get("command", "")),
        process=process,
        output=output,
        background=bool(call.get("run_in_background")),
    )

    def watch() -> None:
        running.code = process.wait()
        running.done.set()
        ended(running)

    threading.Thread(target=watch, name=f"tool-{task}", daemon=True).start()
    return running


_SCRATCH: list[Path] = []


def scratch() -> Path:
    """A folder for the output of commands, made when the first one starts."""
    if not _SCRATCH:
        _SCRATCH.append(Path(tempfile.mkdtemp(prefix="practice-agent-")))
    return _SCRATCH[0]


def forget_scratch() -> None:
    while _SCRATCH:
        folder = _SCRATCH.pop()
        for left in folder.glob("*.output"):
            left.unlink(missing_ok=True)
        with contextlib.suppress(OSError):
            folder.rmdir()


def command_outcome(running: Running) -> Outcome:
    output = running.read_output()
    cut = output[:OUTPUT_LIMIT]
    code = running.code or 0
    if code:
        told = f"Exit code {code if code > 0 else 128 - code}" + (f"\n{cut}" if cut else "")
        return Outcome(text=told, ok=False, detail=f"Error: {told}")
    detail: Json = {"stdout": cut, "stderr": "", "interrupted": False, "isImage": False, "noOutputExpected": False}
    return Outcome(text=cut or "(Bash completed with no output)", detail=detail)


def read_file(call: Mapping[str, Any], cwd: str) -> Outcome:
    path = resolve(call, cwd)
    try:
        text = path.read_text(encoding="utf-8", errors="replace")
    except OSError as problem:
        return failed(f"File does not exist or cannot be read: {problem.strerror}.")
    lines = text.splitlines()
    numbered = "\n".join(f"{number:6}\t{line}" for number, line in enumerate(lines, 1))
    file: Json = {"filePath": str(path), "content": text, "startLine": 1}
    file |= {"numLines": len(lines), "totalLines": len(lines)}
    return Outcome(text=numbered, detail={"type": "text", "file": file})


def write_file(call: Mapping[str, Any], cwd: str) -> Outcome:
    path = resolve(call, cwd)
    content = str(call.get("content", ""))
    before = path.read_text(encoding="utf-8", errors="replace") if path.is_file() else None
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content, encoding="utf-8")
    except OSError as problem:
        return failed(f"The file cannot be written: {problem.strerror}.")
    detail: Json = {
        "type": "create" if before is None else "update",
        "filePath": str(path),
        "content": content,
        "structuredPatch": [] if before is None else patch(before, content),
        "originalFile": before,
        "userModified": False,
    }
    verb = "created successfully at" if before is None else "updated:"
    return Outcome(text=f"File {verb} {path}", detail=detail)


def edit_file(call: Mapping[str, Any], cwd: str) -> Outcome:
    path = resolve(call, cwd)
    old, new = str(call.get("old_string", "")), str(call.get("new_string", ""))
    try:
        before = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as problem:
        return failed(f"The file cannot be read: {problem}.")
    if old not in before:
        return failed(f"String to replace not found in file.\nString: {old}")
    after = before.replace(old, new, 1)
    path.write_text(after, encoding="utf-8")
    detail: Json = {
        "filePath": str(path),
        "oldString": old,
        "newString": new,
        "originalFile": before,
        "structuredPatch": patch(before, after),
        "userModified": False,
        "replaceAll": False,
    }
    return Outcome(text=f"The file {path} has been updated.", detail=detail)


def patch(before: str, after: str) -> list[Json]:
    """The hunks between two texts, in the form in which the real agent tells them."""
    one, other = before.splitlines(), after.splitlines()
    hunks: list[Json] = []
    for group in difflib.SequenceMatcher(None, one, other).get_grouped_opcodes(3):
        first, last = group[0], group[-1]
        lines: list[str] = []
        for kind, start, end, new_start, new_end in group:
            if kind == "equal":
                lines += [" " + line for line in one[start:end]]
            else:
                lines += ["-" + line for line in one[start:end]]
                lines += ["+" + line for line in other[new_start:new_end]]
        hunks.append(
            {
                "oldStart": first[1] + 1,
                "oldLines": last[2] - first[1],
                "newStart": first[3] + 1,
                "newLines": last[4] - first[3],
                "lines": lines,
            }
        )
    return hunks


def resolve(call: Mapping[str, Any], cwd: str) -> Path:
    return Path(cwd) / str(call.get("file_path", ""))


def failed(sentence: str) -> Outcome:
    return Outcome(text=f"<tool_use_error>{sentence}</tool_use_error>", ok=False, detail=f"Error: {sentence}")
