"""One life of a console: its row in the ledger, the lock that proves it alive, and the socket at which others poke it.

*Gone* means that the lock is free or the boot id another; never that something is late.
"""

import contextlib
import fcntl
import os
import socket
from collections.abc import Callable, Iterator
from pathlib import Path

from msgspec import Struct

from coordinator.custody.processes import boot_id, identity_of
from coordinator.supervisor.kernel import kernel
from store import incarnations
from store.db import Tx
from store.vocab import IncarnationId


class Life(Struct, frozen=True, kw_only=True):
    id: IncarnationId
    lock_path: Path
    socket_path: Path
    lock: int
    """File descriptor; the lock is free when it closes."""
    listener: socket.socket


def begin(runtime: Path, incarnation: IncarnationId) -> Life:
    """Take the lock and listen.

    Raises:
        OSError: the runtime folder cannot be written.
    """
    runtime.mkdir(parents=True, mode=0o700, exist_ok=True)
    lock_path = runtime / f"{incarnation}.lock"
    lock = os.open(lock_path, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
    fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    socket_path = runtime / f"{incarnation}.s"
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    old = os.umask(0o177)
    try:
        with _short(socket_path) as name:
            listener.bind(name)
    finally:
        os.umask(old)
    listener.listen(16)
    listener.setblocking(False)
    return Life(id=incarnation, lock_path=lock_path, socket_path=socket_path, lock=lock, listener=listener)


@contextlib.contextmanager
def _short(path: Path) -> Iterator[str]:
    """A name for the socket that fits into its address, through a handle on its folder where the path is longer."""
    if len(os.fsencode(path)) <= kernel.SOCKET_PATH_BYTES:
        yield str(path)
        return
    folder = os.open(path.parent, kernel.FOLDER)
    try:
        yield kernel.below(folder, path.name) or str(path)
    finally:
        os.close(folder)


def register(tx: Tx, life: Life, *, machine: str, uid: int, operator: str) -> None:
    me = identity_of(os.getpid())
    assert me is not None
    incarnations.register(
        tx,
        id=life.id,
        boot_id=me.boot_id,
        pid=me.pid,
        start_ticks=me.start_ticks,
        machine=machine,
        uid=uid,
        lock_path=str(life.lock_path),
        socket_path=str(life.socket_path),
        operator=operator,
    )


def is_gone(row: incarnations.Incarnation) -> bool:
    """Whether that console is proven gone."""
    if row.ended_at is not None or row.boot_id != boot_id():
        return True
    try:
        handle = os.open(row.lock_path, os.O_RDWR | os.O_CLOEXEC)
    except FileNotFoundError:
        return True
    except OSError:
        return False
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    finally:
        os.close(handle)
    return True


def gone_by_id(tx: Tx) -> Callable[[IncarnationId], bool]:
    """The same by id; one that the ledger does not know is gone."""

    def gone(id: IncarnationId) -> bool:
        row = incarnations.get(tx, id)
        return row is None or is_gone(row)

    return gone


def finish(life: Life) -> None:
    """Let the lock go and take both files away."""
    life.listener.close()
    for path in (life.socket_path, life.lock_path):
        with contextlib.suppress(OSError):
            path.unlink()
    os.close(life.lock)
