"""Starting a supervisor's process, and waiting for exactly that child when it ends.

The console is no subreaper and waits for no child but those started here: ``waitpid`` on their own pids, when a handle
says that one has ended. ``posix_spawn`` rather than asyncio's subprocess, which keeps a thread for each child.
"""

import asyncio
import json
import os
import signal
import sys
from pathlib import Path

from msgspec.structs import asdict

from coordinator.custody.types import HoldSpec, SpawnFailure
from coordinator.supervisor import main as supervisor_main
from coordinator.supervisor.kernel import kernel

PROGRAM = Path(supervisor_main.__file__)

_children: set[int] = set()


def reap_ended() -> None:
    """Wait for our own supervisors that have ended while no loop was watching."""
    for pid in list(_children):
        try:
            if os.waitpid(pid, os.WNOHANG)[0]:
                _children.discard(pid)
        except ChildProcessError:
            _children.discard(pid)


def _watch(pid: int) -> None:
    _children.add(pid)
    loop = asyncio.get_running_loop()
    fd = kernel.exit_handle(pid)

    def ended() -> None:
        loop.remove_reader(fd)
        os.close(fd)
        reap_ended()

    loop.add_reader(fd, ended)


def config_of(spec: HoldSpec) -> bytes:
    """What goes over its stdin."""
    facts = asdict(spec) | {"folder": str(spec.folder), "ladder": asdict(spec.ladder)}
    return json.dumps(facts).encode()


def _spawn(config: bytes) -> tuple[int, int, int]:
    """The pid, and our ends of its stdout and stderr."""
    in_read, in_write = os.pipe()
    out_read, out_write = os.pipe()
    err_read, err_write = os.pipe()
    try:
        pid = os.posix_spawn(
            sys.executable,
            [sys.executable, "-I", "-S", str(PROGRAM)],
            {"LC_ALL": "C.UTF-8"},
            file_actions=[(os.POSIX_SPAWN_DUP2, fd, to) for to, fd in enumerate((in_read, out_write, err_write))],
            setsigmask=[],
            setsigdef=[signal.SIGPIPE],
        )
    except OSError:
        for fd in (in_write, out_read, err_read):
            os.close(fd)
        raise
    finally:
        for fd in (in_read, out_write, err_write):
            os.close(fd)
    os.set_blocking(in_write, False)
    try:
        os.write(in_write, config)  # a few hundred bytes into an empty pipe
    except OSError:
        pass  # it ended already; its stderr says why
    os.close(in_write)
    return pid, out_read, err_read


async def _line(fd: int) -> bytes:
    """Bytes up to the first newline or the end."""
    loop = asyncio.get_running_loop()
    os.set_blocking(fd, False)
    done: asyncio.Future[bytes] = loop.create_future()
    held = bytearray()

    def ready() -> None:
        try:
            data = os.read(fd, 65536)
        except BlockingIOError:
            return
        held.extend(data)
        if (not data or b"\n" in data) and not done.done():
            done.set_result(bytes(held))

    loop.add_reader(fd, ready)
    try:
        return await done
    finally:
        loop.remove_reader(fd)


def _last_lines(fd: int) -> str:
    os.set_blocking(fd, False)
    try:
        text = os.read(fd, 65536).decode("utf-8", "replace")
    except BlockingIOError:
        return ""
    return "\n".join(text.splitlines()[-20:])


async def launch_process(spec: HoldSpec, timeout: float) -> dict[str, object] | SpawnFailure:
    """Start it; returns what its ready line says."""
    reap_ended()
    try:
        spec.folder.mkdir(mode=0o700, exist_ok=True)
        pid, out, err = _spawn(config_of(spec))
    except OSError as error:
        return SpawnFailure(what="bad-folder" if not spec.folder.is_dir() else "os-error", detail=str(error))
    _watch(pid)
    try:
        async with asyncio.timeout(timeout):
            line = await _line(out)
        said = json.loads(line) if line.endswith(b"\n") else {}
        if said.get("ready"):
            return dict(said)
        if "failed" in said:
            return SpawnFailure(what=str(said["failed"]), detail=str(said.get("detail", "")))
        return SpawnFailure(what="exited", detail="the supervisor ended before it was ready", stderr=_last_lines(err))
    except TimeoutError:
        if pid in _children:  # not waited for yet, so it can be nobody else's pid
            os.kill(pid, signal.SIGKILL)
        return SpawnFailure(what="no-answer", detail=f"not ready in {timeout:g} s", stderr=_last_lines(err))
    finally:
        os.close(out)
        os.close(err)
