"""The only writer of stderr and of exit codes. A command says *what* came of it; how that leaves the process is here.

No traceback reaches an operator: what was not foreseen goes to a file, and one sentence says where it is.
"""

import json
import os
import sys
import tempfile
import traceback
from collections.abc import Callable
from enum import IntEnum
from pathlib import Path
from typing import NoReturn

from store.refusal import Refusal


class Code(IntEnum):
    DONE = 0
    REFUSED = 1
    USAGE = 2
    UNREACHABLE = 3
    """Nobody there to do it, not done in time, or a person is needed."""
    BUG = 70
    INTERRUPTED = 130


class Leave(Exception):
    """The command ends here, with this code and this sentence."""

    def __init__(self, code: Code, sentence: str = "", *, machine: dict[str, object] | None = None) -> None:
        super().__init__(sentence)
        self.code = code
        self.sentence = sentence
        self.machine = machine
        """Printed to stdout as one JSON object as well, for who asked with ``--json``."""


def refused(refusal: Refusal, *, as_json: bool = False, code: Code = Code.REFUSED) -> Leave:
    """To be raised: the expected *no*, in words."""
    from app.wording import sentence

    said = sentence(refusal)
    machine: dict[str, object] = {"refused": refusal.reason.value, "facts": dict(refusal.facts), "sentence": said}
    return Leave(code, said, machine=machine if as_json else None)


def usage(sentence: str) -> Leave:
    """To be raised: what was typed cannot be meant."""
    return Leave(Code.USAGE, sentence)


def note(sentence: str) -> None:
    """A line beside the answer, on stderr."""
    _to_stderr(sentence)


def leave_with(command: Callable[[], int | None]) -> NoReturn:
    """Run a command and end the process with what came of it."""
    sys.exit(outcome_of(command))


def outcome_of(command: Callable[[], int | None]) -> int:
    """The exit code of a command; whatever it raises is said in one sentence."""
    try:
        code = command() or Code.DONE
        sys.stdout.flush()
        return int(code)
    except Leave as leave:
        return _leave(leave)
    except KeyboardInterrupt:
        _to_stderr("")
        return Code.INTERRUPTED
    except BrokenPipeError:
        return _reader_left()
    except Exception as problem:
        carried = getattr(problem, "refusal", None)
        if isinstance(carried, Refusal):
            return _leave(refused(carried))
        return _bug(problem)


def _leave(leave: Leave) -> int:
    try:
        if leave.machine is not None:
            print(json.dumps(leave.machine, ensure_ascii=False), flush=True)
        if leave.sentence:
            _to_stderr(leave.sentence)
        sys.stdout.flush()
    except BrokenPipeError:
        return _reader_left()
    return int(leave.code)


def _reader_left() -> int:
    # `footplate ls | head -1`: what was wanted has been read. Nothing may be flushed into the closed pipe at exit.
    nothing = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nothing, 1)
    os.close(nothing)
    return Code.DONE


def _bug(problem: Exception) -> int:
    where = _write_trace("".join(traceback.format_exception(problem)))
    kept = f"the trace is in {where}" if where else "the trace could not be kept"
    name = type(problem).__name__
    _to_stderr(f"Something went wrong inside Footplate ({name}); {kept}: please report it with that file.")
    return Code.BUG


def _write_trace(trace: str) -> Path | None:
    for folder in (_logs(), Path(tempfile.gettempdir())):
        if folder is None:
            continue
        try:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            # A name of its own, 0600 and never through a link that somebody else left there.
            descriptor, name = tempfile.mkstemp(prefix="footplate-trace-", suffix=".txt", dir=folder)
            with os.fdopen(descriptor, "w", encoding="utf-8", errors="backslashreplace") as written:
                written.write(trace)
            return Path(name)
        except OSError:
            continue
    return None


def _logs() -> Path | None:
    try:
        from app.paths import find

        return find().logs
    except Exception:
        return None  # what broke may be just that


def _to_stderr(sentence: str) -> None:
    try:
        sys.stderr.write(sentence.encode("utf-8", "backslashreplace").decode("utf-8", "replace") + "\n")
        sys.stderr.flush()
    except (OSError, ValueError):
        pass  # nobody listens; the code says it all the same
