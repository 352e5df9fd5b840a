"""The composer's text in the operator's own editor. Awaited through asyncio while the terminal is the editor's, with
nothing drawn meanwhile: a repaint into a suspended driver hangs for good (measured).
"""

import asyncio
import os
import shlex
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from textual.app import SuspendNotSupported

if TYPE_CHECKING:
    from app.console.deeds import Deeds


async def edit(deeds: "Deeds") -> None:
    drive = deeds.drive
    argv = shlex.split(os.environ.get("VISUAL") or os.environ.get("EDITOR") or "vi")
    with tempfile.TemporaryDirectory(prefix="footplate-") as folder:
        path = Path(folder) / "message.md"
        path.write_text(drive.composer.text, encoding="utf-8")
        deeds.away = True
        try:
            with deeds.app.suspend():
                process = await asyncio.create_subprocess_exec(*argv, str(path))
                await process.wait()
            deeds.app.no_pointer_motion()
        except SuspendNotSupported:
            drive.say("this terminal can not be lent to an editor")
            return
        except OSError as problem:
            drive.say(f"{argv[0] if argv else 'the editor'} did not start: {problem.strerror}")
            return
        finally:
            deeds.away = False
            deeds.app.take()
        text = path.read_text(encoding="utf-8", errors="replace").rstrip("\n")
    drive.composer.set_text(text)
    drive.composer.focus()
