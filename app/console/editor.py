"""The composer's text in the operator's own editor. Whatever becomes of the editor, the text is there afterwards: as it
was, or as it was saved.
"""

import os
import shlex
import shutil
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from app.console.lending import lend
from app.console.views.ink import literal, one_line

if TYPE_CHECKING:
    from app.console.deeds import Deeds


def editor() -> list[str]:
    """Its program and arguments. What can not be read as a command is taken as a name: then that does not start."""
    wanted = (os.environ.get("VISUAL") or "").strip() or (os.environ.get("EDITOR") or "").strip() or "vi"
    try:
        return shlex.split(wanted) or [wanted]
    except ValueError:
        return [wanted]


async def edit(deeds: "Deeds") -> None:
    drive = deeds.drive
    folder = Path(tempfile.mkdtemp(prefix="footplate-"))
    path, before, keep = folder / "message.md", drive.composer.text, False
    try:
        path.write_text(before, encoding="utf-8", newline="")
        program = editor()
        name = one_line(Path(program[0]).name)
        code = await lend(deeds, [*program, str(path)])
        after = _saved(path)
        if isinstance(code, str):
            drive.say(code)
        elif code == 0 and after is not None:
            drive.composer.set_text(after)
        elif code == 0:
            drive.say(f"{name} left no file: your text is as it was")
        else:
            keep = after is not None and after != before.rstrip("\n")
            kept = f"; what it saved is in {path}" if keep else ""
            drive.say(f"{name} ended with {code}: your text is as it was{kept}")
    except OSError as problem:
        drive.say(f"the text could not be given to an editor: {problem.strerror}")
    finally:
        if not keep:
            shutil.rmtree(folder, ignore_errors=True)
    drive.composer.focus()


def _saved(path: Path) -> str | None:
    """With what a terminal could obey made visible, as in a paste; editors end a file with a line end of their own."""
    try:
        text = path.read_bytes().decode("utf-8", "replace")
    except OSError:
        return None
    rows = text.replace("\r\n", "\n").replace("\r", "\n").rstrip("\n").split("\n")
    return "\n".join("\t".join(literal(part) for part in row.split("\t")) for row in rows)
