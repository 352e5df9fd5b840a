"""A console as small as it can be, with an agent of its own inside, that takes the keys under a question in one of the
ways that consoles do; standard library only.

    python tests/children/asking_console.py letter|enter|stays|refused|gone|late

It says and does what the directive in its message tells it (``tests.fakes.loopback_steps``). ``^Y`` allows.
"""

import json
import os
import select
import subprocess
import sys
import time
import tty
from collections.abc import Mapping
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from tests.fakes.loopback_steps import OUTER, pieces

ALLOW, ENTER = b"\x19", b"\r"
LATE = 0.6
"""Seconds without a key after which a question that was held back is shown."""
LETS_RUN = {"letter": b"1", "enter": ENTER}


def key(seconds: float | None = None) -> bytes:
    return os.read(0, 1) if select.select([0], [], [], seconds)[0] else b""


def show(text: str) -> None:
    os.write(1, text.replace("\n", "\r\n").encode())


def message() -> str:
    text = b""
    while (came := key()) != ENTER:
        text += came
    return text.decode()


def asked(way: str, command: str) -> str:
    """``yes``, ``no``, or ``gone``."""
    show(f"\ntool {command}\n")
    if way == "late":
        while key(LATE):
            pass
    show("May it run?")
    while True:
        came = key()
        if came in (ALLOW, LETS_RUN.get(way)):
            return "yes"
        if came == b"n" and way in ("refused", "gone"):
            show("\x1b[2J\x1b[H")
            return "no" if way == "refused" else "gone"


def turn(way: str, steps: list[Mapping[str, Any]]) -> None:
    for step in steps:
        for piece, slow in pieces(dict(step)):
            show(piece)
            if slow:
                time.sleep(slow)  # the pace that was asked for
        for tool in step.get("tools", ()):
            answer = asked(way, tool["input"]["command"])
            if answer == "gone":
                return
            if answer == "yes":
                subprocess.run(["sh", "-c", tool["input"]["command"]], check=False)


def main() -> None:
    tty.setraw(0)
    show("say something\n")
    while True:
        turn(sys.argv[1], json.loads(OUTER.findall(message())[-1])["steps"])
        show("\n")


if __name__ == "__main__":
    main()
