"""Whatever ends the console, the terminal is given back: its modes, its lines, its cursor, its own screen."""

import contextlib
import os
import re
import signal
import sys
import termios
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.coordinator.held import repository
from tests.fakes.plain_process import house_environment
from tests.terminal.screen import QUIT, Screen
from tests.waiting import wait_until

OFF = (b"?1000l", b"?1002l", b"?1006l", b"?1004l", b"?2004l", b"?1049l", b"?25h")
NEVER_ON = (b"?1003h", b"?1015h")
BROKEN = """
import asyncio, app.console.before_textual
from app.console.deeds import Deeds
from app.main import main
async def broken(self, *given): raise RuntimeError("a screen that breaks: " + "x" * 50)
Deeds._redraw = broken
main()
"""
BROKEN_BELOW = """
import asyncio
from coordinator.coordinator import Coordinator
from app.main import main
def broken(self):
    for task in asyncio.all_tasks():
        task.cancel()
Coordinator.beat = broken
main()
"""
CONTINUED = """
import os, signal, app.console.before_textual
from app.console.driver import Terminal
from app.main import main
given_back = Terminal.stop_application_mode
def then_continued(self):
    given_back(self)
    os.kill(os.getpid(), signal.SIGCONT)
Terminal.stop_application_mode = then_continued
main()
"""


UNDER_A_SHELL = """set -m; "$@"; printf 'ended %s. \\n' "$?"; read -r line"""
"""As a person starts it: a shell of theirs is there before it and after it. (One that ends as the leader of its session
takes the terminal along.)"""


def opened(folder: Path, program: str = "") -> Screen:
    tree = repository(folder / "tree")
    environment = {**house_environment(folder / "house"), "FOOTPLATE_CLAUDE": str(folder / "none")}
    started = (sys.executable, "-c", program) if program else (sys.executable, "-m", "app.main")
    return Screen(cwd=tree, environment=environment, program=("/bin/sh", "-c", UNDER_A_SHELL, "sh", *started))


def console_of(screen: Screen) -> int:
    shell = screen.child.pid
    return int(Path(f"/proc/{shell}/task/{shell}/children").read_text().split()[0])


def cooked(screen: Screen) -> bool:
    wanted = termios.ICANON | termios.ISIG
    modes = termios.tcgetattr(screen.child.child_fd)
    return modes[3] & wanted == wanted and bool(modes[0] & termios.ICRNL)


def left_on(screen: Screen) -> list[bytes]:
    """Modes that are not as they were."""
    raw, wrong = screen.raw, []
    for mode in OFF:
        on = mode[:-1] + (b"l" if mode.endswith(b"h") else b"h")
        if raw.rfind(b"\x1b[" + mode) <= raw.rfind(b"\x1b[" + on):
            wrong.append(mode)
    return [*wrong, *(mode for mode in NEVER_ON if b"\x1b[" + mode in raw)]


def ended(screen: Screen) -> int:
    """The code with which the console ended; by then, or a moment later, all is given back."""
    # From the bytes: on the grid it may stand in the middle of what the console drew, and be written over.
    said = wait_until(lambda: re.search(rb"ended (\d+)\.", screen.raw), 30, "the shell goes on")
    assert said is not None
    code = int(said.group(1))
    wait_until(lambda: not left_on(screen) and cooked(screen), 5, f"{left_on(screen)} {screen.raw[-400:]!r}")
    assert b"Traceback" not in screen.raw
    screen.press("\r")
    return code


@pytest.fixture
def screen(tmp_path: Path) -> Iterator[Screen]:
    with opened(tmp_path) as one:
        one.shows("Enter show the terms")
        yield one


def kill(number: int, times: int = 1) -> Callable[[Screen], None]:
    def send(screen: Screen) -> None:
        console = console_of(screen)
        for _ in range(times):
            with contextlib.suppress(ProcessLookupError):
                os.kill(console, number)

    return send


WAYS: dict[str, tuple[Callable[[Screen], None], tuple[int, ...]]] = {
    "quit": (lambda screen: screen.press(QUIT), (0,)),
    "TERM": (kill(signal.SIGTERM), (0,)),
    "HUP": (kill(signal.SIGHUP), (0,)),
    "INT": (kill(signal.SIGINT), (0,)),
    "INT, a storm of it": (kill(signal.SIGINT, 30), (0,)),
    "TERM, a storm of it": (kill(signal.SIGTERM, 30), (0, 143)),  # the last may come when all is given back
    "KILL": (kill(signal.SIGKILL), (137,)),
    "KILL of the whole group": (lambda screen: os.killpg(console_of(screen), signal.SIGKILL), (137,)),
    "QUIT": (kill(signal.SIGQUIT), (131,)),
    "ABRT": (kill(signal.SIGABRT), (134,)),
}


@pytest.mark.parametrize("way", WAYS)
def test_the_terminal_is_given_back(way: str, screen: Screen) -> None:
    end, codes = WAYS[way]
    assert b"\x1b[?1049h" in screen.raw
    assert not cooked(screen)
    end(screen)
    assert ended(screen) in codes


def test_a_screen_that_breaks_gives_the_terminal_back_and_says_so(tmp_path: Path) -> None:
    with opened(tmp_path, BROKEN) as screen:
        screen.shows("Enter show the terms")
        screen.press("\x0c")
        assert ended(screen) not in (0, 137)
        said = screen.raw[screen.raw.rfind(b"\x1b[?1049l") :]
        assert b"footplate" in said, said


def test_a_coordinator_that_ends_keeps_nobody_from_leaving(tmp_path: Path) -> None:
    with opened(tmp_path, BROKEN_BELOW) as screen:
        screen.shows("Enter show the terms")
        screen.press("x")
        screen.press(QUIT)
        ended(screen)


def test_one_that_is_told_to_go_on_as_it_goes_takes_no_terminal_again(tmp_path: Path) -> None:
    """What sends a TERM often sends a CONT behind it, for those that were stopped."""
    with opened(tmp_path, CONTINUED) as screen:
        screen.shows("Enter show the terms")
        os.kill(console_of(screen), signal.SIGTERM)
        assert ended(screen) == 0
        assert screen.raw.rfind(b"\x1b[?1049l") > screen.raw.rfind(b"\x1b[?1049h")
