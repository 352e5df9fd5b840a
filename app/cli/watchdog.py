"""Who gives the terminal back when the console can not: a shell of a few hundred kilobytes that waits for its end.

A console that is killed outright (KILL, out of memory) runs no code of its own any more, and its terminal would stay
without echo, on the other screen, with the mouse taken. The process of the console stays the one that was started: no
launcher above it, so signals, job control and exit codes are as ever; and it costs nothing that a person waits for.

In a session of its own, so that what hits the console's group does not hit it, and so that it may write to a terminal
that is not its own.
"""

import contextlib
import os
import subprocess
import sys
import termios
from types import TracebackType
from typing import Any, Self

MODES_OFF = (1000, 1002, 1003, 1006, 1015, 1004, 2004)
GIVEN_BACK = "".join(f"\x1b[?{mode}l" for mode in MODES_OFF) + "\x1b[?7h\x1b[<u\x1b[?25h\x1b[?1049l\x1b[0m\r\n"
"""What a screen that could not close itself leaves switched on, switched off."""
WORDS = "footplate was killed. What it held goes on for a while without it; open footplate again to pick it up."

# A word in the pipe is a console that has cleaned up; its end without one is a console that could not. Its modes have
# no signals by keys; where there are some again, a shell was faster and has its own modes already.
_SCRIPT = r"""
exec 3>&1
IFS= read -r word && exit 0
case "$(stty -a <&3 2>/dev/null)" in *-isig*) stty "$1" <&3 2>/dev/null ;; esac
printf '%s%s\r\n' "$2" "$3"
"""


class Watchdog:
    """Around the screen. Where it cannot be started the console goes on without it."""

    def __init__(self) -> None:
        self._pipe = -1
        self._shell: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        with contextlib.suppress(OSError, termios.error):
            modes = _saved(termios.tcgetattr(1))
            reading, self._pipe = os.pipe()
            try:
                self._shell = subprocess.Popen(
                    ["/bin/sh", "-c", _SCRIPT, "footplate", modes, GIVEN_BACK, WORDS],
                    stdin=reading,
                    stderr=subprocess.DEVNULL,
                    start_new_session=True,
                    cwd="/",
                )
            finally:
                os.close(reading)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._pipe < 0:
            return
        with contextlib.suppress(OSError, termios.error):
            # Whatever way out was taken: what the terminal says itself is what counts.
            if termios.tcgetattr(1)[3] & termios.ISIG:
                os.write(self._pipe, b"well\n")
        os.close(self._pipe)
        if self._shell is not None:
            sys.stdout.flush()
            self._shell.wait()


def _saved(modes: list[Any]) -> str:
    """As ``stty -g`` prints them, which costs another process."""
    iflag, oflag, cflag, lflag, _, _, characters = modes
    codes = [one[0] if isinstance(one, bytes) else int(one) for one in characters]
    return ":".join(f"{number:x}" for number in (iflag, oflag, cflag, lflag, *codes))
