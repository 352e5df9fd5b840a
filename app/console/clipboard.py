"""Copying, by the way that arrives: tmux's own buffer, the terminal (OSC 52), a local program, else a file.

OSC 52 does not leave a default tmux, and a local program is of no use over ssh; so the order is not a matter of taste.
"""

import asyncio
import os
import shutil
import tempfile
from collections.abc import Callable

WAIT = 2.0
LOCAL = (("wl-copy", "WAYLAND_DISPLAY"), ("xclip", "DISPLAY"), ("pbcopy", ""))
_ARGUMENTS = {"xclip": ("-selection", "clipboard")}


async def _into(argv: tuple[str, ...], text: str) -> bool:
    try:
        process = await asyncio.create_subprocess_exec(
            *argv, stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.DEVNULL, stderr=asyncio.subprocess.DEVNULL
        )
    except OSError:
        return False
    try:
        await asyncio.wait_for(process.communicate(text.encode()), WAIT)
    except (TimeoutError, BrokenPipeError, ConnectionResetError):
        if process.returncode is None:
            process.kill()
        return False
    return process.returncode == 0


async def copy_text(text: str, by_terminal: Callable[[str], None]) -> str:
    """Copy it; returns how, in a word or two."""
    if os.environ.get("TMUX") and shutil.which("tmux") and await _into(("tmux", "load-buffer", "-w", "-"), text):
        return "tmux"
    if not (os.environ.get("SSH_TTY") or os.environ.get("SSH_CONNECTION")):
        for name, needs in LOCAL:
            if needs and not os.environ.get(needs):
                continue
            if shutil.which(name) and await _into((name, *_ARGUMENTS.get(name, ())), text):
                return name
    if os.environ.get("TERM", "dumb") not in ("dumb", "linux"):
        by_terminal(text)
        return "terminal"
    with tempfile.NamedTemporaryFile("w", prefix="footplate-", suffix=".txt", delete=False, encoding="utf-8") as file:
        file.write(text)
    return file.name
