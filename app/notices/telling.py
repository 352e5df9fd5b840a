"""Telling, on a thread of its own: what was told before is not told again, and the operator's own program is run.

Neither may hold up a screen: a file may lie on a slow disk, and a program may hang.
"""

import contextlib
import fcntl
import json
import os
import signal
import subprocess
import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from msgspec import Struct

from app.notices.items import Notice, NoticeSettings
from app.notices.ways import headline, look_around, written

KEPT = 2000
"""Keys that are remembered; far more than can be open at once."""


class Told(Struct, frozen=True):
    """A file of keys beside the ledger: over restarts, and between consoles that share it, each item is told once."""

    path: Path

    def claim(self, found: Sequence[Notice]) -> tuple[Notice, ...]:
        """Those that nobody told yet; from now on they are told. All of them where the file cannot be used: to be told
        twice is better than never."""
        try:
            handle = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError:
            return tuple(found)
        with os.fdopen(handle, "r+", encoding="utf-8", errors="replace") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            known = file.read().splitlines()
            fresh = tuple(one for one in found if one.key not in known)
            if fresh:
                kept = [*known, *(one.key for one in fresh)][-KEPT:]
                file.seek(0)
                with contextlib.suppress(OSError):
                    file.write("\n".join(kept) + "\n")
                    file.truncate()
        return fresh


class Teller:
    """``write`` puts bytes on the terminal, ``say`` a sentence before the operator; both are called from a thread."""

    def __init__(
        self,
        settings: NoticeSettings,
        told: Told,
        write: Callable[[str], object],
        say: Callable[[str], object],
        environ: Mapping[str, str] | None = None,
    ) -> None:
        self._settings = settings
        self._told = told
        self._write = write
        self._say = say
        self._environ = os.environ if environ is None else environ
        self._complained = False

    def tell(self, found: Sequence[Notice]) -> threading.Thread:
        # A daemon: who quits does not wait for a program that hangs.
        thread = threading.Thread(target=self._tell, args=(tuple(found),), name="notices", daemon=True)
        thread.start()
        return thread

    def _tell(self, found: tuple[Notice, ...]) -> None:
        fresh = self._told.claim(found)
        if not fresh:
            return
        out = written(fresh, self._settings, look_around(self._settings, self._environ))
        if out:
            self._write(out)
        for one in fresh if self._settings.command else ():
            problem = run_command(self._settings, one, self._environ)
            if problem is not None and not self._complained:
                self._complained = True
                self._say(f"your notify command {problem}; said once")


def as_json(notice: Notice) -> str:
    return json.dumps(
        {
            "key": notice.key,
            "kind": notice.kind.value,
            "run": notice.run,
            "title": notice.title,
            "headline": headline(notice),
            "text": notice.words,
            "since_ms": notice.since,
        }
    )


def run_command(settings: NoticeSettings, notice: Notice, environ: Mapping[str, str]) -> str | None:
    """Run the operator's program for one item; why it went wrong, or None. Without a shell, in a session of its own, so
    that what it started ends with it when its time is over."""
    try:
        process = subprocess.Popen(
            settings.command,
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env=dict(environ),
            start_new_session=True,
        )
    except (OSError, ValueError) as problem:
        return f"did not start: {getattr(problem, 'strerror', None) or problem}"
    try:
        # One that does not read what it is given is no failure.
        process.communicate(as_json(notice).encode() + b"\n", timeout=settings.command_seconds)
    except subprocess.TimeoutExpired:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        return f"took longer than {settings.command_seconds:g} s and was ended"
    return None if process.returncode == 0 else f"ended with {process.returncode}"
