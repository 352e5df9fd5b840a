"""A short-lived program of ours, held: bounded in time and output, and nothing of it is left when it has ended.

Git runs what a repository's configuration names, and an agent can write that configuration; so even our own helpers
are treated like agents: a session of their own, a nonce in the environment, a parent-death signal, and an end that
takes the group, the descendants and whatever carries the nonce. What starts programs of its own, and so may leave some
behind when this console is killed, stands below a guard (``supervisor/guard.py``); git, with all that it would start
switched off, is spared those 20 ms. Which program, and with which safe settings, is ``githelper``'s.
"""

import asyncio
import contextlib
import os
import secrets
import shutil
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Final

from msgspec import Struct

from coordinator.custody.processes import kill_carriers
from coordinator.supervisor import main as supervisor_main
from coordinator.supervisor.guard import NOT_BEGUN
from coordinator.supervisor.kernel import kernel
from coordinator.supervisor.process import CUSTODY_VARIABLE

TIMEOUT: Final = "timeout"
TOO_MUCH: Final = "too much output"
_DYING: Final = 1.0
"""Seconds given to a killed helper: the loop stands still meanwhile."""
_ERR_KEPT: Final = 16 * 1024
_PIECE: Final = 256 * 1024


class Ended(Struct, frozen=True, kw_only=True):
    code: int
    """Exit code; negative: the signal that ended it."""
    out: bytes
    err: bytes
    """The first part of it."""
    cut: str = ""
    """Why we ended it: ``timeout``, ``too much output``, ``not started``; '' where it ended by itself."""


async def run(
    argv: Sequence[str],
    *,
    cwd: Path,
    environment: Mapping[str, str],
    timeout: float,
    limit: int,
    input: bytes = b"",
    guarded: bool = False,
) -> Ended:
    """Run it to its end, or to ours. ``environment`` is whole; the nonce is added.

    ``guarded``: of a program that starts others. A killed console, too, leaves none of them.
    """
    nonce = f"helper-{secrets.token_hex(12)}"
    # Whoever of the helper's children lives on keeps the other end of this open, also one that left group, session and
    # parent: told without reading all of /proc after every command.
    tether, far_end = os.pipe()
    guard = Guard() if guarded else None
    # Should the guard be killed, the program's own process goes with it.
    argv = [*death_signal(), *argv]
    argv = argv if guard is None else guard.above(argv)
    try:
        process = _start(argv, cwd, {**environment, CUSTODY_VARIABLE: nonce}, bool(input), far_end, guard)
    except OSError as problem:
        os.close(tether)
        if guard is not None:
            guard.order_end()
        return Ended(code=127, out=b"", err=str(problem).encode(), cut="not started")
    finally:
        os.close(far_end)
        if guard is not None:
            guard.started()
    held = _Held(process, nonce, tether, limit, input, guard)
    try:
        return await held.watch(timeout)
    finally:
        held.end()


class Guard:
    """Our end of what a guard waits for. It is given by closing it, which our own death does as well."""

    def __init__(self) -> None:
        self.fd, self._ours = os.pipe()
        """``fd``: to be passed to the guard."""

    def above(self, argv: Sequence[str]) -> list[str]:
        """The command that runs this one below a guard."""
        return [sys.executable, "-I", "-S", str(Path(supervisor_main.__file__)), "guard", str(self.fd), *argv]

    @staticmethod
    def not_begun(code: int, err: bytes) -> str | None:
        """Why the program could not be started, in small letters; None: it was."""
        said = err.removeprefix(NOT_BEGUN)
        return said.decode("utf-8", "replace").strip() if code == 127 and said != err else None

    def started(self) -> None:
        """The guard has its end, or never will."""
        os.close(self.fd)

    def order_end(self) -> None:
        """Idempotent."""
        if self._ours >= 0:
            os.close(self._ours)
            self._ours = -1


def _start(
    argv: Sequence[str], cwd: Path, environment: Mapping[str, str], fed: bool, far_end: int, guard: Guard | None
) -> subprocess.Popen[bytes]:
    """From the loop's own thread: the parent-death signal follows the thread that forked, and a pool's thread ends."""
    return subprocess.Popen(
        list(argv),
        cwd=cwd,
        env=environment,
        stdin=subprocess.PIPE if fed else subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
        pass_fds=(far_end,) if guard is None else (far_end, guard.fd),
        bufsize=0,
    )


class _Held:
    """One helper between its start and the proof that it is gone."""

    def __init__(
        self,
        process: subprocess.Popen[bytes],
        nonce: str,
        tether: int,
        limit: int,
        input: bytes,
        guard: Guard | None,
    ) -> None:
        self._process, self._nonce, self._tether, self._limit = process, nonce, tether, limit
        self._guard = guard
        self._input = memoryview(input)
        self._out, self._err = bytearray(), bytearray()
        self._cut = ""
        self._loop = asyncio.get_running_loop()
        self._done = asyncio.Event()
        # Not Process.wait: an orphan that keeps the pipe would hold that for as long as it lives.
        self._exit = kernel.exit_handle(process.pid)
        self._readers: set[int] = set()
        self._code: int | None = None

    async def watch(self, timeout: float) -> Ended:
        for pipe in (self._process.stdout, self._process.stderr):
            assert pipe is not None
            os.set_blocking(pipe.fileno(), False)
            self._readers.add(pipe.fileno())
            self._loop.add_reader(pipe.fileno(), self._read, pipe.fileno(), pipe is self._process.stdout)
        if self._process.stdin is not None:
            os.set_blocking(self._process.stdin.fileno(), False)
            self._loop.add_writer(self._process.stdin.fileno(), self._write)
        self._loop.add_reader(self._exit, self._exited)
        try:
            await asyncio.wait_for(self._done.wait(), timeout)
        except TimeoutError:
            self._cut = TIMEOUT
        self.end()
        return Ended(code=self._code or 0, out=bytes(self._out), err=bytes(self._err), cut=self._cut)

    def _read(self, fd: int, is_out: bool) -> None:
        with contextlib.suppress(BlockingIOError):
            piece = os.read(fd, _PIECE)
            if not piece:
                self._loop.remove_reader(fd)
                self._readers.discard(fd)
            elif not is_out:
                self._err += piece[: max(0, _ERR_KEPT - len(self._err))]
            elif len(self._out) + len(piece) > self._limit:
                self._out += piece[: self._limit - len(self._out)]
                self._cut = TOO_MUCH
                self._done.set()
            else:
                self._out += piece

    def _write(self) -> None:
        pipe = self._process.stdin
        assert pipe is not None
        try:
            self._input = self._input[os.write(pipe.fileno(), self._input[:65536]) :]
        except BlockingIOError:
            return
        except OSError:  # it does not want to read all of it: its own matter, seen in its exit code
            self._input = self._input[len(self._input) :]
        if not self._input:
            self._loop.remove_writer(pipe.fileno())
            pipe.close()

    def _exited(self) -> None:
        self._loop.remove_reader(self._exit)
        # What it wrote before its end is in the pipes already; who still holds them is no part of the answer.
        for fd in tuple(self._readers):
            while fd in self._readers and not self._cut:
                before = len(self._out) + len(self._err)
                self._read(fd, self._process.stdout is not None and fd == self._process.stdout.fileno())
                if len(self._out) + len(self._err) == before:
                    break
        self._done.set()

    def end(self) -> None:
        """Idempotent. The group is signalled before its leader is reaped: until then its number is nobody else's."""
        if self._code is not None:
            return
        if self._guard is not None:
            self._guard.order_end()
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(_DYING)
        if self._process.returncode is None:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self._process.pid, signal.SIGKILL)
        try:
            self._code = self._process.wait(_DYING)
        except subprocess.TimeoutExpired:
            # In the kernel's hands (a dead network file system): it dies as soon as that lets go of it.
            self._code = -signal.SIGKILL
        if not _at_end(self._tether):
            _end_carriers(self._nonce)
        os.close(self._tether)
        self._loop.remove_reader(self._exit)
        os.close(self._exit)
        for pipe in (self._process.stdout, self._process.stderr, self._process.stdin):
            if pipe is not None and not pipe.closed:
                self._loop.remove_reader(pipe.fileno())
                self._loop.remove_writer(pipe.fileno())
                pipe.close()


def _at_end(tether: int) -> bool:
    os.set_blocking(tether, False)
    try:
        return os.read(tether, 1) == b""
    except BlockingIOError:
        return False


def _end_carriers(nonce: str) -> None:
    """End whatever left the group but carries the nonce; looked for again until nothing is found."""
    for _ in range(20):
        if not kill_carriers(nonce):
            return


@cache
def death_signal() -> tuple[str, ...]:
    """What to put before a command, so that its own process ends with the thread that started it.

    util-linux sets the parent-death signal: no Python between fork and exec in a process with threads.
    """
    found = shutil.which("setpriv", path="/usr/bin:/bin")
    return (found, "--pdeathsig", "KILL", "--") if found else ()
