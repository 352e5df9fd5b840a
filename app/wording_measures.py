"""Money, time, sizes and paths as they are shown. Reached through ``app.wording``.

One definition for every screen: two ways of rounding would be two sums.
"""

import time
from pathlib import Path

from app.console.views.text import literal
from coordinator.plurals import noun as noun, plural as plural
from store.vocab import MicroUsd


def money(micro: MicroUsd | None, *, guess: bool = False) -> str:
    """``0.84``; ``~0.84`` for a guess; ``–`` for what nobody knows. Never ``0.00`` for something that cost."""
    if micro is None:
        return "–"
    tilde = "~" if guess else ""
    if 0 < micro < 5_000:
        return f"{tilde}<0.01"
    sign = "-" if micro < 0 else ""
    cents = (abs(micro) + 5_000) // 10_000
    return f"{tilde}{sign}{cents // 100}.{cents % 100:02d}"


def money_so_far(spent: MicroUsd, *, guess: bool, told: bool) -> str:
    """What a run has cost. ``told``: turns of it ended, and the cost of each is known; else nothing is not 0.00."""
    return money(spent if told or spent else None, guess=guess)


def age(ms: int) -> str:
    """``20s``, ``1m12s``, ``47m``, ``1h41m``, ``3d``: seconds matter for a short wait only."""
    seconds = max(0, ms) // 1000
    if seconds < 60:
        return f"{seconds}s"
    if seconds < 600:
        return f"{seconds // 60}m{seconds % 60:02d}s"
    minutes = seconds // 60
    if minutes < 60:
        return f"{minutes}m"
    hours = minutes // 60
    if hours < 48:
        return f"{hours}h{minutes % 60:02d}m"
    return f"{hours // 24}d"


def coarse_age(ms: int) -> str:
    """As ``age``, in whole minutes from the first one on: for what is in view but not the oldest waiting."""
    seconds = max(0, ms) // 1000
    return f"{seconds // 60}m" if 60 <= seconds < 600 else age(ms)


def work_time(ms: int) -> str:
    """``6m``, ``60m``, ``8h``, ``2h30m``: how long something worked or may work; up to two hours in minutes."""
    minutes = max(0, ms) // 60_000
    if minutes == 0:
        return f"{max(0, ms) // 1000}s"
    if minutes <= 120:
        return f"{minutes}m"
    return f"{minutes // 60}h{minutes % 60:02d}m" if minutes % 60 else f"{minutes // 60}h"


def clock(ms: int) -> str:
    """``09:14``, in the operator's own time zone."""
    return time.strftime("%H:%M", time.localtime(ms / 1000))


def clock_seconds(ms: int) -> str:
    """``09:31:02``, where it matters who was first."""
    return time.strftime("%H:%M:%S", time.localtime(ms / 1000))


def moment(ms: int, now: int) -> str:
    """``11:14`` today, ``Tue 11:14`` within the week, else with its date."""
    then, today = time.localtime(ms / 1000), time.localtime(now / 1000)
    if then[:3] == today[:3]:
        return clock(ms)
    return time.strftime("%a %H:%M" if abs(ms - now) < 6 * 86_400_000 else "%Y-%m-%d %H:%M", then)


def seconds(ms: int) -> str:
    """``2.4 s``, ``0.19 s``: how long an ending took."""
    return f"{ms / 1000:.1f} s" if ms >= 1000 else f"{ms / 1000:.2f} s"


def memory(kb: int) -> str:
    """``140M``, ``1.2G``."""
    if kb < 1024:
        return f"{kb}K"
    return f"{kb / 1024:.0f}M" if kb < 1024 * 1024 else f"{kb / 1024 / 1024:.1f}G"


def short_path(path: str, home: str | None = None) -> str:
    """``~/src/orders``."""
    root = str(Path.home()) if home is None else home
    if root and root != "/" and (path == root or path.startswith(root + "/")):
        return "~" + path[len(root) :]
    return path


def short_command(command: str, home: str | None = None) -> str:
    """A process as a person names it: ``python -m pytest``, not the folder that its program lies in."""
    root = str(Path.home()) if home is None else home
    program, blank, rest = command.partition(" ")
    rest = rest.replace(f"{root}/", "~/") if root not in ("", "/") else rest
    return f"{program.rstrip('/').rsplit('/', 1)[-1] or program}{blank}{rest}"


def short_commit(commit: str) -> str:
    return commit[:7]


def others_words(text: str) -> str:
    """Words that are not ours in a sentence of ours: they must not break it, move a cursor or fill the screen."""
    flat = literal(" ".join("".join(letter if letter.isprintable() else " " for letter in text).split()))
    return flat if len(flat) <= 400 else flat[:399] + "…"
