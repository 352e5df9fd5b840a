"""Reading ``/proc``: who a process is, who descends from whom, who carries a nonce. It sends no signal."""

from __future__ import annotations

import os

CUSTODY_VARIABLE = "FOOTPLATE_CUSTODY"
_NAME_LENGTH = 200
_TICKS = os.sysconf("SC_CLK_TCK")
_PAGE_KB = os.sysconf("SC_PAGE_SIZE") // 1024


class Stat:
    """What ``/proc/PID/stat`` says, as far as it is needed."""

    __slots__ = ("parent", "pid", "session", "state", "threads", "ticks")

    def __init__(self, pid: int, state: str, parent: int, session: int, ticks: int, threads: int) -> None:
        self.pid = pid
        self.state = state
        self.parent = parent
        self.session = session
        self.ticks = ticks
        self.threads = threads

    @property
    def dead(self) -> bool:
        """A zombie runs nothing: it only waits for its parent to look."""
        return self.state in "ZX"


def read(path: str, limit: int = 1 << 20) -> bytes:
    """A small file of /proc, whole; empty when it is gone or not ours to read."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return b""
    try:
        parts = []
        while limit > 0:
            part = os.read(fd, min(65536, limit))
            if not part:
                break
            parts.append(part)
            limit -= len(part)
        return b"".join(parts)
    except OSError:
        return b""
    finally:
        os.close(fd)


def boot_id() -> str:
    """Changes with every boot: with it, a pid and a start time name one process for ever."""
    return read("/proc/sys/kernel/random/boot_id").decode().strip()


def stat(pid: int) -> Stat | None:
    """None: no such process."""
    text = read(f"/proc/{pid}/stat")
    close = text.rfind(b")")  # the name may hold spaces and brackets of its own
    fields = text[close + 1 :].split()
    if close < 0 or len(fields) < 20:
        return None
    return Stat(pid, fields[0].decode(), int(fields[1]), int(fields[3]), int(fields[19]), int(fields[17]))


def name(pid: int) -> str:
    """Command line for a person: one line, at most 200 characters, no control characters."""
    raw = read(f"/proc/{pid}/cmdline", 4096).rstrip(b"\0")
    text = raw.replace(b"\0", b" ").decode("utf-8", "replace")
    if not text:
        text = "[" + read(f"/proc/{pid}/comm").decode("utf-8", "replace").strip() + "]"
    return "".join(c if c.isprintable() else "�" for c in text)[:_NAME_LENGTH]


def called(pid: int) -> frozenset[str]:
    """Names by which a profile may know a program: its executable's and the kernel's short one."""
    names = {read(f"/proc/{pid}/comm").decode("utf-8", "replace").strip()}
    try:
        names.add(os.path.basename(os.readlink(f"/proc/{pid}/exe")))  # noqa: PTH115, PTH119 - pathlib costs start time
    except OSError:
        pass
    return frozenset(names)


def children(pid: int, threads: int = 0) -> list[int]:
    """Direct children, of all threads of the process; zombies included. One known thread saves the listing."""
    if threads == 1:
        return [int(child) for child in read(f"/proc/{pid}/task/{pid}/children").split()]
    try:
        tasks = os.listdir(f"/proc/{pid}/task")  # noqa: PTH208
    except OSError:
        return []
    found: list[int] = []
    for task in tasks:
        found += map(int, read(f"/proc/{pid}/task/{task}/children").split())
    return found


def _children_by_scan() -> dict[int, list[int]]:
    below: dict[int, list[int]] = {}
    for pid in all_pids():
        facts = stat(pid)
        if facts is not None:
            below.setdefault(facts.parent, []).append(pid)
    return below


_HAS_CHILDREN_FILE = os.path.exists(f"/proc/self/task/{os.getpid()}/children")  # noqa: PTH110


def descendants(root: int) -> list[Stat]:
    """Everything below ``root``, parents first. A tree that moves meanwhile may be seen in part: ask again."""
    scan = None if _HAS_CHILDREN_FILE else _children_by_scan()
    found: list[Stat] = []
    seen = {root}
    todo = [(root, 0)]
    while todo:
        pid, threads = todo.pop()
        for child in children(pid, threads) if scan is None else scan.get(pid, []):
            if child in seen:
                continue
            seen.add(child)
            facts = stat(child)
            if facts is not None:
                found.append(facts)
                todo.append((child, facts.threads))
    return found


def direct_children(pid: int) -> list[int]:
    """As ``children``, also on a kernel without the children files."""
    return children(pid) if _HAS_CHILDREN_FILE else _children_by_scan().get(pid, [])


def descends_from(pid: int, ancestors: frozenset[int]) -> bool | None:
    """Whether any ancestor of ``pid``, or itself, is among these; None when ``pid`` itself is not to be seen.

    An ancestor that ends meanwhile hands its children on, so the line is followed again. One that is missing twice is
    there and hidden (``hidepid``): it belongs to somebody else, and so is not below us.
    """
    missing = 0
    for _ in range(8):
        at = pid
        while at not in ancestors:
            if at <= 1:
                return False
            facts = stat(at)
            if facts is None:
                break
            at = facts.parent
        else:
            return True
        if at == pid:
            return None
        if at == missing:
            return False
        missing = at
    return None


def all_pids() -> list[int]:
    """Every process that /proc shows."""
    return [int(entry) for entry in os.listdir("/proc") if entry.isdigit()]  # noqa: PTH208


def carries(pid: int, nonce: str) -> bool:
    """Whether the environment that the process was started with has the nonce."""
    mark = f"{CUSTODY_VARIABLE}={nonce}".encode()
    return mark in read(f"/proc/{pid}/environ", 8 << 20).split(b"\0")


def carriers(nonce: str) -> list[int]:
    """Live processes that carry the nonce."""
    found = []
    for pid in all_pids():
        if carries(pid, nonce):
            facts = stat(pid)
            if facts is not None and not facts.dead:
                found.append(pid)
    return found


def rss_kb(pid: int) -> int:
    """Resident memory."""
    fields = read(f"/proc/{pid}/statm").split()
    return int(fields[1]) * _PAGE_KB if len(fields) > 1 else 0


def age_seconds(facts: Stat) -> float:
    """Since its start."""
    up = float(read("/proc/uptime").split()[0])
    return max(0.0, up - facts.ticks / _TICKS)


def listed(top: int, agent: int) -> list[dict[str, object]]:
    """All that lives below a process, as facts for a person; ``agent``: the one whose session is the usual one."""
    return [
        {
            "pid": facts.pid,
            "name": name(facts.pid),
            "age_s": round(age_seconds(facts), 1),
            "rss_kb": rss_kb(facts.pid),
            "own_session": facts.session != agent,
            "daemonised": facts.parent == top and facts.pid != agent,
        }
        for facts in descendants(top)
        if not facts.dead
    ]
