"""How a notice leaves the terminal: what is written for it, and which of it arrives where. Pure but for one question to
tmux.

Inside tmux a terminal's own notices get out only through its passthrough, which is off unless the operator allowed it:
where it is not, nothing is written, because tmux would throw it away. The bell always passes.
"""

import shutil
import subprocess
from collections.abc import Mapping, Sequence

from msgspec import Struct

from app.console.views.text import literal
from app.notices.items import Notice, NoticeSettings

BELL = "\a"
MOST = 5
"""Notices of the terminal for one moment; more are told as a number."""
PASSTHROUGH = "set -g allow-passthrough on"
_OSC9 = ("iTerm.app", "WezTerm", "ghostty", "vscode", "rio")
_SECONDS = 2.0


class Surrounding(Struct, frozen=True, kw_only=True):
    """What the terminal is; see ``look_around``."""

    way: str
    """``osc9``, ``osc777`` or ``off``."""
    tmux: bool = False
    passthrough: bool = False

    @property
    def why_not(self) -> str | None:
        """Why the terminal shows no notice of its own, or None when one is written for it."""
        if self.way == "off":
            return "not asked for, or not known of this terminal"
        if self.tmux and not self.passthrough:
            return f"tmux keeps it to itself; allow it with: tmux {PASSTHROUGH}"
        return None


def look_around(settings: NoticeSettings, environ: Mapping[str, str]) -> Surrounding:
    tmux = bool(environ.get("TMUX"))
    return Surrounding(
        way=_known(environ) if settings.terminal == "auto" else settings.terminal,
        tmux=tmux,
        passthrough=tmux and _allowed(),
    )


def _known(environ: Mapping[str, str]) -> str:
    """Only what is known to show one: others print it, or do something else at it."""
    term = environ.get("TERM", "")
    if environ.get("TERM_PROGRAM") in _OSC9 or environ.get("LC_TERMINAL") == "iTerm2" or "kitty" in term:
        return "osc9"
    if environ.get("VTE_VERSION") or term.startswith(("rxvt", "foot")):
        return "osc777"
    return "off"


def _allowed() -> bool:
    program = shutil.which("tmux")
    if program is None:
        return False
    try:
        told = subprocess.run(
            [program, "show-options", "-Aqv", "allow-passthrough"],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return False
    return told.stdout.strip() in (b"on", b"all")


def headline(notice: Notice) -> str:
    about = f"{notice.run} {notice.title}".strip() if notice.run is not None else "footplate"
    return _plain(about, 60)


def _plain(text: str, most: int) -> str:
    """Somebody's text as one part of a sequence: nothing in it ends it or begins another."""
    return literal(" ".join(text.split())).replace(";", ",")[:most]


def sequence(way: str, title: str, words: str) -> str:
    if way == "osc9":
        return f"\x1b]9;{title}: {words}\x1b\\"
    return f"\x1b]777;notify;{title};{words}\x1b\\"


def through_tmux(inner: str) -> str:
    return "\x1bPtmux;" + inner.replace("\x1b", "\x1b\x1b") + "\x1b\\"


def written(found: Sequence[Notice], settings: NoticeSettings, around: Surrounding) -> str:
    """What goes to the terminal for these, in one piece: one bell, and a notice each."""
    out = BELL if settings.bell else ""
    if around.why_not is None:
        told = [(headline(one), _plain(one.words, 120)) for one in found[:MOST]]
        if len(found) > MOST:
            told.append(("footplate", f"{len(found) - MOST} more wait for you"))
        for title, words in told:
            one = sequence(around.way, title, words)
            out += through_tmux(one) if around.tmux else one
    return out
