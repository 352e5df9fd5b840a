"""This process believes that it is on another system, before anything of ours is imported: ``python FILE PLATFORM …``.

What Linux alone has is taken away from ``os`` and its like, as far as that is done before they are used; libc answers
nothing. ``all`` imports every module, anything else is the command line.
"""

import _socket
import asyncio
import ctypes
import errno
import fcntl
import importlib
import os
import select
import selectors
import signal
import socket
import sqlite3
import struct
import subprocess
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
LINUX_ONLY = {
    os: ("O_PATH", "O_TMPFILE", "eventfd", "fdatasync", "memfd_create", "pidfd_open", "posix_fallocate", "pipe2"),
    select: ("epoll",),
    socket: ("SO_PEERCRED", "SO_PASSCRED"),
    _socket: ("SO_PEERCRED",),
    signal: ("pidfd_send_signal", "sigtimedwait", "sigwaitinfo"),
    fcntl: ("F_SETPIPE_SZ", "F_GETPIPE_SZ", "F_ADD_SEALS"),
    errno: ("ELIBBAD", "EBADFD"),
}
POSIX_ONLY = ("fcntl", "termios", "pwd", "grp", "resource", "pty", "tty", "_posixsubprocess")


class Libc:
    """Tells the boot's id and who asks, and nothing else."""

    def __getattr__(self, name: str) -> Any:
        return lambda *given: 0

    def sysctlbyname(self, name: bytes, text: Any, *rest: Any) -> int:
        text.value = b"B007"
        return 0

    def proc_pidinfo(self, pid: int, flavor: int, arg: Any, buffer: Any, size: int) -> int:
        if pid != os.getpid() or flavor != 3:
            return 0
        facts = struct.pack("=11I4x16s32s5Ii2Q", 0, 2, 0, pid, 1, *[0] * 6, b"python", b"", 0, pid, 0, 0, 0, 0, 1000, 1)
        ctypes.memmove(buffer, facts, size)
        return size

    def sysctl(self, *given: Any) -> int:
        return -1


def believe(platform: str) -> None:
    # What is not ours chose its side at its import: it is loaded before.
    for name in ("aiosqlite", "msgspec", "pexpect", "platformdirs", "psutil", "pyte", "textual.app", "typer"):
        importlib.import_module(name)
    for name in ("textual.drivers.linux_driver", "textual.widgets", "textual.command", "pty", "tty", "webbrowser"):
        importlib.import_module(name)
    assert asyncio and selectors and sqlite3 and subprocess
    for module, names in LINUX_ONLY.items():
        for name in names:
            if hasattr(module, name):
                delattr(module, name)
    ctypes.CDLL = lambda *given, **named: Libc()  # type: ignore[misc, assignment]
    sys.platform = platform


def modules() -> list[str]:
    """Every one that may be imported anywhere: not the other system's, not what needs a package of its own."""
    found = []
    for folder in ("app", "coordinator", "store"):
        for file in sorted((ROOT / folder).rglob("*.py")):
            name = ".".join(file.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
            if file.stem != "__main__" and name not in ("coordinator.supervisor.linux", "app.serving.server"):
                found.append(name)
    return found


def main() -> None:
    platform, *arguments = sys.argv[1:]
    sys.path.insert(0, str(ROOT))
    if platform == "win32":
        for name in POSIX_ONLY:
            sys.modules[name] = None  # type: ignore[assignment]
        sys.platform = platform
    else:
        believe(platform)
    if arguments == ["all"]:
        for name in modules():
            importlib.import_module(name)
        assert "coordinator.supervisor.linux" not in sys.modules and "coordinator.supervisor.darwin" in sys.modules
        return
    sys.argv = ["footplate", *arguments]
    importlib.import_module("app.main").main()


if __name__ == "__main__":
    main()
