"""A cgroup around each generation of an agent, where this machine lets us make one: a group that nothing leaves by
forking, by a session of its own or by clearing its environment, that one write kills and one file proves empty.

An ending needs none of it: keeper and worker reach the same processes as their subreaper. It is quicker, and it is the
only proof that outlives both of them. So nothing here ever fails: what cannot be done is not done, and all goes on
without. cgroup v2 only, under our own cgroup.
"""

from __future__ import annotations

import errno
import os
import time

from .kernel import kernel

_NAME = "footplate"


class Cgroups:
    """Those of one hold: ``<prefix>-<generation>``. It remembers nothing, so whoever has the prefix may end them."""

    def __init__(self, prefix: str) -> None:
        """An empty prefix: there are none, and every question is answered so."""
        self.prefix = prefix

    def _folders(self) -> list[str]:
        """Each, and what was made inside it, the deepest first."""
        if not self.prefix:
            return []
        above, _, name = self.prefix.rpartition("/")
        try:
            known = [one for one in os.listdir(above) if one.startswith(f"{name}-")]  # noqa: PTH208
        except OSError:
            return []
        found: list[str] = []
        for one in known:
            if one[len(name) + 1 :].isdigit():
                found += [at for at, _, _ in os.walk(f"{above}/{one}", topdown=False)]
        return found

    def make(self, generation: int) -> str:
        """The folder of a fresh one that can be joined and killed; empty: there will be none."""
        if not self.prefix:
            return ""
        folder = f"{self.prefix}-{generation}"
        try:
            os.mkdir(folder, 0o700)  # noqa: PTH102
        except FileExistsError:
            pass  # made for us beforehand: good, if nobody is in it
        except OSError:
            return ""
        if os.path.exists(f"{folder}/cgroup.kill") and not _members(folder):  # noqa: PTH110 - it came with Linux 5.14
            return folder
        self.remove()
        return ""

    def members(self) -> list[int]:
        """Who is in them now."""
        return [pid for folder in self._folders() for pid in _members(folder)]

    def kill(self) -> bool:
        """KILL all who are in them, at once and however fast they fork; False: nobody was, or it cannot be done."""
        done = [_write(f"{folder}/cgroup.kill", b"1") for folder in self._folders() if _populated(folder)]
        return any(done)

    def empty(self) -> bool:
        """Whether the kernel says that nobody is in any of them; also where there is none."""
        return not any(_populated(folder) for folder in self._folders())

    def remove(self) -> None:
        """Those that are empty."""
        for folder in self._folders():
            try:
                os.rmdir(folder)  # noqa: PTH106
            except OSError:
                pass  # somebody is in it; who comes later tries again


def _members(folder: str) -> list[int]:
    return [int(pid) for pid in kernel.read(f"{folder}/cgroup.procs").split() if pid.isdigit()]


def _populated(folder: str) -> bool:
    return b"populated 1" in kernel.read(f"{folder}/cgroup.events").splitlines()


def _write(path: str, what: bytes) -> bool:
    try:
        fd = os.open(path, os.O_WRONLY | os.O_CLOEXEC | os.O_NONBLOCK)
        try:
            return os.write(fd, what) == len(what)
        finally:
            os.close(fd)
    except OSError:
        return False


def join(folder: str) -> None:
    """Put this process in: called between fork and exec, so that whatever it will ever start is in it too."""
    _write(f"{folder}/cgroup.procs", str(os.getpid()).encode())


def own(proc: str = "/proc/self") -> str:
    """The folder of this process's own cgroup; empty where cgroup v2 is not mounted, or ours is out of its sight."""
    mine: str | None = None
    for line in kernel.read(f"{proc}/cgroup").decode("utf-8", "replace").splitlines():
        if line.startswith("0::/"):
            mine = line[3:].rstrip("/")
    if mine is None or ".." in mine.split("/"):
        return ""
    for line in kernel.read(f"{proc}/mountinfo").decode("utf-8", "replace").splitlines():
        before, _, after = line.partition(" - ")
        fields = before.split(" ")
        if after.split(" ")[0] != "cgroup2" or len(fields) < 5 or "\\" in fields[4]:
            continue
        root, place = fields[3].rstrip("/"), fields[4]
        if mine == root or mine.startswith(f"{root}/"):
            return place + mine[len(root) :]
    return ""


def of_hold(custody: str, under: str | None) -> Cgroups:
    """For a new hold. ``under``: in which folder they will stand; None: in our own cgroup's; empty: nowhere.

    Whoever is in one of them later was put there by us, so if anybody is in one now, the hold has none.
    """
    above = own() if under is None else under
    fresh = Cgroups(f"{above}/{_NAME}-{custody}" if above else "")
    return fresh if fresh.empty() and not fresh.members() else Cgroups("")


def why_none() -> str:
    """Tries it, for ``doctor``: empty, where one can be made; else why not, in words."""
    above = own()
    if not above:
        return "no cgroup v2 is mounted here"
    tried = Cgroups(f"{above}/{_NAME}-look-{os.getpid()}-{time.monotonic_ns()}")
    try:
        os.mkdir(f"{tried.prefix}-1", 0o700)  # noqa: PTH102
    except OSError as error:
        known = {errno.EROFS: "is mounted read-only", errno.EACCES: "is not ours", errno.EPERM: "is not ours"}
        return f"{above} {known.get(error.errno or 0, f'takes none ({error.strerror})')}"
    made = tried.make(1)
    tried.remove()
    return "" if made else "this kernel cannot kill one at once (Linux 5.14 can)"
