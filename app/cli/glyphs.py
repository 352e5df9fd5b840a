"""How many cells the console's glyphs take on this terminal, asked of the terminal itself by a cursor report.

Some terminals draw them two cells wide, and no table knows which; so one is drawn, the cursor is asked for, and the
line is wiped.
"""

import os
import re
import select
import sys
import termios
import time
import tty

_GLYPHS = "◆◇●○■"
_SECONDS = 0.5


def width_of_glyphs() -> int | None:
    """Cells that the widest takes; None when the terminal does not answer."""
    try:
        before = termios.tcgetattr(0)
    except termios.error:
        return None
    widest = 0
    try:
        tty.setcbreak(0)
        sys.stdout.flush()
        # One that is not answered is the last one asked: a terminal that does not know the question never will.
        for glyph in _GLYPHS:
            width = _width(glyph)
            if width is None:
                return None
            widest = max(widest, width)
    finally:
        termios.tcsetattr(0, termios.TCSADRAIN, before)
        sys.stdout.write("\r\x1b[K")
        sys.stdout.flush()
    return widest


def _width(glyph: str) -> int | None:
    os.write(1, b"\r" + glyph.encode() + b"\x1b[6n")
    end, answer = time.monotonic() + _SECONDS, b""
    while (left := end - time.monotonic()) > 0 and select.select([0], [], [], left)[0]:
        answer += os.read(0, 64)
        found = re.search(rb"\x1b\[\d+;(\d+)R", answer)
        if found:
            return int(found.group(1)) - 1
    return None
