"""Cgroups for tests: real ones where this machine lets us, and a folder that plays the file system where it does not.

The player does what the kernel does, as far as anything of ours looks at it: who writes its pid into ``cgroup.procs``
is in, ``cgroup.events`` tells whether anybody lives there, and a ``1`` in ``cgroup.kill`` ends them all. What the
kernel does by itself, putting a child where its parent is, has to be said to it (``put``).
"""

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from coordinator.custody import processes
from coordinator.custody.types import ProcessIdentity
from coordinator.supervisor import cgroup


def real() -> str:
    """The folder in which real ones can be made. Skips the test, and says why, where there is none."""
    why = cgroup.why_none()
    if why:
        pytest.skip(f"no real cgroup can be tried: {why}")
    return cgroup.own()


def of(pid: int) -> str:
    """The real cgroup that a process is in, as the kernel names it."""
    lines = Path(f"/proc/{pid}/cgroup").read_text().splitlines()
    return next(line[3:] for line in lines if line.startswith("0::"))


class Played:
    """One cgroup, in a folder made beforehand: a supervisor cannot tell it from a real one."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir(parents=True)
        for name in ("cgroup.procs", "cgroup.kill"):
            (folder / name).touch()
        (folder / "cgroup.events").write_text("populated 0\nfrozen 0\n")
        self.inside: set[ProcessIdentity] = set()
        self.kills = 0
        self._over = threading.Event()
        self._lock = threading.Lock()
        self._thread = threading.Thread(target=self._play, daemon=True)
        self._thread.start()

    def put(self, pid: int) -> None:
        """It was started by one that is in."""
        with self._lock:
            identity = processes.identity_of(pid)
            assert identity is not None
            self.inside.add(identity)
            self._show()

    def _show(self) -> None:
        alive = [one for one in self.inside if processes.is_alive(one)]
        if self.inside:  # else whoever is just writing itself in would be written over
            _put(self.folder / "cgroup.procs", "".join(f"{one.pid}\n" for one in alive))
        _put(self.folder / "cgroup.events", f"populated {int(bool(alive))}\nfrozen 0\n")

    def _play(self) -> None:
        while not self._over.wait(0.001):
            with self._lock:
                for pid in (self.folder / "cgroup.procs").read_text().split():
                    identity = processes.identity_of(int(pid))
                    if identity is not None:
                        self.inside.add(identity)
                if (self.folder / "cgroup.kill").read_text() == "1":
                    self.kills += 1
                    _put(self.folder / "cgroup.kill", "")
                    for one in self.inside:
                        processes.kill_identity(one)
                self._show()

    def end(self) -> None:
        self._over.set()
        self._thread.join()


def _put(path: Path, text: str) -> None:
    """In one go: who reads at any moment reads one whole text."""
    if path.read_text() != text:
        fresh = path.with_suffix(".new")
        fresh.write_text(text)
        fresh.replace(path)


@contextmanager
def played(folder: Path) -> Iterator[Played]:
    one = Played(folder)
    try:
        yield one
    finally:
        one.end()
        for left in one.inside:
            processes.kill_identity(left)


def kill_both(worker: ProcessIdentity, keeper: ProcessIdentity) -> None:
    """Stopped first, or the one would end what the other held."""
    for one in (worker, keeper):
        os.kill(one.pid, signal.SIGSTOP)
    for one in (worker, keeper):
        os.kill(one.pid, signal.SIGKILL)
