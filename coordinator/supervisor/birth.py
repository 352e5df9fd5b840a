"""From an empty process to a keeper and its worker: config, folder, socket, spool, and the one fork between them.

Everything that can fail is done before the console is told *ready*, and told to it in a word instead.
"""

from __future__ import annotations

import json
import os
import select
import signal
import socket
import stat
import sys
from collections.abc import Callable
from types import TracebackType

from .config import BadConfig, Config
from .keeper import keep
from .kernel import kernel
from .peers import SOCKET, address
from .spool import Spool
from .spoolformat import SPOOL_VERSION
from .wireformat import WIRE_VERSION
from .worker import Worker

MYPY = False
if MYPY:
    from .follower import Follower

COOKIE = "cookie"
_CONFIG_SECONDS = 10.0
_CONFIG_MOST = 1 << 20


class Unborn(Exception):
    """Why there will be no supervisor: a word of ``SpawnFailure`` and a detail."""

    def __init__(self, what: str, detail: str) -> None:
        super().__init__(what, detail)
        self.what = what
        self.detail = detail


def _read_config() -> Config:
    parts: list[bytes] = []
    poller = select.poll()
    poller.register(0, select.POLLIN)
    while poller.poll(_CONFIG_SECONDS * 1000):
        part = os.read(0, 65536)
        if not part:
            return Config(b"".join(parts))
        parts.append(part)
        if sum(map(len, parts)) > _CONFIG_MOST:
            break
    raise BadConfig("did not end")


def _open_folder(path: str) -> int:
    try:
        folder = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError as error:
        raise Unborn("bad-folder", f"{path}: {error.strerror}") from None
    facts = os.fstat(folder)
    if facts.st_uid != os.geteuid() or stat.S_IMODE(facts.st_mode) & 0o077:
        raise Unborn("bad-folder", f"{path}: must be ours and closed to others (0700)")
    return folder


def _listen(folder: int, path: str) -> socket.socket:
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        listener.bind(address(folder, path))
        listener.listen(16)
    except OSError as error:
        raise Unborn("socket-path", f"{path}/{SOCKET}: {error.strerror or error}") from None
    listener.setblocking(False)
    return listener


def _prepare(folder: int, config: Config) -> Spool:
    try:
        spool = Spool(folder, limit=config.spool_limit)
        os.mkdir("t", 0o700, dir_fd=folder)
        fd = os.open(COOKIE, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600, dir_fd=folder)
        try:
            os.write(fd, config.cookie.encode())
        finally:
            os.close(fd)
    except OSError as error:
        raise Unborn("bad-folder", f"{config.folder}: {error.strerror}") from None
    return spool


def _tell(facts: dict[str, object]) -> None:
    try:
        os.write(1, json.dumps(facts).encode() + b"\n")
    except OSError:
        pass  # the console that asked is gone; the hold runs out by itself


def _silence() -> None:
    null = os.open(os.devnull, os.O_RDWR | os.O_CLOEXEC)
    for fd in (0, 1, 2):
        os.dup2(null, fd, inheritable=True)


def _nothing(number: int, frame: object) -> None:
    """A handler, so that the signal reaches the wakeup descriptor."""


def main() -> int:
    """Both processes come through here; returns the exit code of each."""
    umask = os.umask(0o077)
    kernel.close_from(3)  # a console's own descriptors may be inheritable: none of them is ours
    try:
        os.setsid()
    except OSError:
        pass  # it leads a session already
    os.chdir("/")
    for name in (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGTERM):
        signal.signal(name, signal.SIG_IGN)
    try:
        config = _read_config()
        folder = _open_folder(config.folder)
        listener = _listen(folder, config.folder)
        spool = _prepare(folder, config)
        kernel.become_subreaper()
    except BadConfig as error:
        _tell({"failed": "os-error", "detail": f"config: {error}"})
        return 1
    except Unborn as error:
        _tell({"failed": error.what, "detail": error.detail})
        return 1
    except OSError as error:
        _tell({"failed": "os-error", "detail": str(error)})
        return 1
    keeper = os.getpid()
    config.keeper_ticks = _ticks(keeper)
    follower = _follower(config.nonce)
    worker = os.fork()
    if worker == 0:
        return _work(config, spool, listener, keeper, follower, umask)
    listener.close()
    _silence()
    code = keep(worker, config, spool, follower)
    config.cgroups.remove()
    try:
        os.unlink(SOCKET, dir_fd=folder)
    except OSError:
        pass
    return code


def _ticks(pid: int) -> int:
    facts = kernel.stat(pid)
    return facts.ticks if facts is not None else 0


def _follower(nonce: str) -> Follower | None:
    """Where orphans do not come to us by themselves. The memory that keeper and worker share is made with it."""
    if not kernel.FOLLOWS:
        return None
    from .follower import Follower  # noqa: PLC0415 - a keeper on Linux is small, and never needs it

    return Follower(nonce)


def _work(
    config: Config, spool: Spool, listener: socket.socket, keeper: int, follower: Follower | None, umask: int
) -> int:
    try:
        keeper_gone = kernel.exit_handle(keeper)
    except ProcessLookupError:
        return 1
    if os.getppid() != keeper:  # it was gone before: what the handle is of may be another
        return 1
    kernel.become_subreaper()
    config.worker_ticks = _ticks(os.getpid())
    wake_read, wake_write = os.pipe()
    os.set_blocking(wake_read, False)
    os.set_blocking(wake_write, False)
    signal.set_wakeup_fd(wake_write, warn_on_full_buffer=False)
    signal.signal(signal.SIGCHLD, _nothing)
    signal.signal(signal.SIGTERM, _nothing)
    hold = Worker(config, spool, listener, keeper, follower, umask)
    worker_facts: dict[str, object] = {"pid": os.getpid(), "start_ticks": config.worker_ticks}
    keeper_facts: dict[str, object] = {"pid": keeper, "start_ticks": config.keeper_ticks}
    header: dict[str, object] = {
        "spool_version": SPOOL_VERSION,
        "wire_version": WIRE_VERSION,
        "custody": config.custody,
        "run": config.run,
        "authorization": config.authorization,
        "nonce": config.nonce,
        "boot_id": config.boot_id,
        "cgroups": config.cgroups.prefix,
        "worker": worker_facts,
        "keeper": keeper_facts,
    }
    if not (spool.append_facts("header", header) and spool.sync()):
        _tell({"failed": "os-error", "detail": "no room for the spool"})
        return 1
    _tell({"ready": True, "boot_id": config.boot_id, "worker": worker_facts, "keeper": keeper_facts})
    _silence()
    sys.excepthook = _crashed(config.folder)
    hold.run(wake_read, keeper_gone)
    return 0


def _crashed(folder: str) -> Callable[[type[BaseException], BaseException, TracebackType | None], None]:
    """A bug in the worker: the keeper ends the hold, and the folder says why. Locals, and so secrets, are not in it."""

    def hook(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
        lines = [f"{kind.__name__}: {error}"]
        while trace is not None:
            frame = trace.tb_frame
            lines.append(f"{frame.f_code.co_filename}:{trace.tb_lineno} {frame.f_code.co_name}")
            trace = trace.tb_next
        try:
            fd = os.open(f"{folder}/crash", os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
            os.write(fd, "\n".join(lines).encode("utf-8", "replace"))
            os.close(fd)
        except OSError:
            pass

    return hook
