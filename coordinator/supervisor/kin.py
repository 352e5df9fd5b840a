"""Who descends from whom, and who carries a nonce. It sends no signal."""

from __future__ import annotations

from collections.abc import Iterable

from .kernel import kernel
from .process import Stat, mark


def descendants(root: int) -> list[Stat]:
    """Everything below ``root``, parents first. A tree that moves meanwhile may be seen in part: ask again."""
    scan = kernel.children_of_all()
    found: list[Stat] = []
    seen = {root}
    todo = [(root, 0)]
    while todo:
        pid, threads = todo.pop()
        for child in kernel.children(pid, threads) if scan is None else scan.get(pid, []):
            if child in seen:
                continue
            seen.add(child)
            facts = kernel.stat(child)
            if facts is not None:
                found.append(facts)
                todo.append((child, facts.threads))
    return found


def direct_children(pid: int) -> list[int]:
    """Zombies included."""
    scan = kernel.children_of_all()
    return kernel.children(pid) if scan is None else scan.get(pid, [])


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
            facts = kernel.stat(at)
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


def carries(pid: int, nonce: str) -> bool:
    """Whether the environment that the process was started with has the nonce."""
    return mark(nonce) in kernel.environment(pid)


def carriers(nonce: str) -> list[int]:
    """Live processes that carry the nonce."""
    found = []
    for pid in kernel.all_pids():
        if carries(pid, nonce):
            facts = kernel.stat(pid)
            if facts is not None and not facts.dead:
                found.append(pid)
    return found


def listed(tree: Iterable[Stat], *, adopter: int, agent: int) -> list[dict[str, object]]:
    """All of a tree that lives, as facts for a person; ``adopter``: who gets those that lost their parents, ``agent``:
    the one whose session is the usual one."""
    return [
        {
            "pid": facts.pid,
            "name": kernel.name(facts.pid),
            "age_s": round(kernel.age_seconds(facts), 1),
            "rss_kb": kernel.rss_kb(facts.pid),
            "own_session": facts.session != agent,
            "daemonised": facts.parent == adopter and facts.pid != agent,
        }
        for facts in tree
        if not facts.dead
    ]
