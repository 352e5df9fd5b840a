"""``notify --test``: which ways there are to tell an operator who looks elsewhere, each tried, each with what to do."""

import os
import sys
from collections.abc import Mapping

from app.cli import printing
from app.cli.exits import Code
from app.cli.surroundings import surroundings
from app.notices.items import Kind, Notice, NoticeSettings
from app.notices.telling import run_command
from app.notices.ways import BELL, PASSTHROUGH, Surrounding, look_around, sequence, through_tmux
from coordinator.clock import RealClock
from store.vocab import Millis

TITLE, WORDS = "footplate", "this is a test: you would be told like this"


def show_ways(*, test: bool) -> int:
    """Say each way and how it stands, with ``test`` after it was tried; the exit code."""
    settings = surroundings().config.notify
    there = sys.stdout.isatty()
    around = look_around(settings, os.environ)
    problem = None
    if test:
        if there:
            _try(settings, around)
        if settings.command:
            problem = run_command(settings, test_item(RealClock().now()), os.environ)
    for what, found in ways(settings, around, terminal=there, tried=test, problem=problem):
        printing.line(f"{what:<9} {found}")
    return Code.REFUSED if problem is not None else Code.DONE


def test_item(now: Millis) -> Notice:
    return Notice(key="test", kind=Kind.PAGE, run=None, title=TITLE, words=WORDS, since=now)


def _try(settings: NoticeSettings, around: Surrounding) -> None:
    out = BELL if settings.bell else ""
    for way in ("osc9", "osc777") if around.way == "off" else (around.way,):
        one = sequence(way, f"{TITLE}, by {way}", WORDS)
        out += through_tmux(one) if around.tmux else one
    sys.stdout.write(out)
    sys.stdout.flush()


def ways(
    settings: NoticeSettings, around: Surrounding, *, terminal: bool, tried: bool, problem: str | None
) -> list[tuple[str, str]]:
    """Each way and how it stands, in words."""
    rows = [("bell", _bell(settings, terminal=terminal, tried=tried)), ("terminal", _notice(around, terminal, tried))]
    if not settings.command:
        rows.append(("command", "none; set command under [notify] in config.toml"))
    elif problem is not None:
        rows.append(("command", f"{settings.command[0]} {problem}"))
    else:
        rows.append(("command", settings.command[0] + (": it ran and ended well" if tried else "")))
    off = ", ".join(sorted(settings.off))
    rows.append(("told of", ", ".join(kind for kind in Kind if kind not in settings.off) or "nothing"))
    if off:
        rows.append(("not of", off))
    return rows


def _bell(settings: NoticeSettings, *, terminal: bool, tried: bool) -> str:
    if not settings.bell:
        return "off (bell under [notify])"
    if not terminal:
        return "not now: this is not a terminal"
    return "rung; if you neither heard nor saw it, your terminal keeps it off" if tried else "on"


def _notice(around: Surrounding, terminal: bool, tried: bool) -> str:
    if not terminal:
        return "not now: this is not a terminal"
    if around.tmux and not around.passthrough:
        return f"tmux lets no notice out; allow it with: tmux {PASSTHROUGH}"
    if around.way != "off":
        return f"{around.way}{', sent' if tried else ''}"
    if tried:
        return "osc9 and osc777 sent; if one showed, set terminal under [notify] to its name"
    return "none is known of this terminal; notify --test tries them"


def doctor_line(settings: NoticeSettings, environ: Mapping[str, str]) -> tuple[bool, str, str]:
    """Well or not, what was found, and what to do about it."""
    around = look_around(settings, environ)
    kept_in = around.tmux and not around.passthrough
    bell = "bell" if settings.bell else "no bell"
    notice = "tmux keeps the terminal's own notices in" if kept_in else _notice(around, terminal=True, tried=False)
    command = f", and {settings.command[0]}" if settings.command else ""
    remedy = f"Let them out with: tmux {PASSTHROUGH}. Then: footplate notify --test" if kept_in else ""
    return not kept_in, f"{bell}; {notice}{command}", remedy
