"""``o``: what stands under the cursor, opened by the program that the operator uses for it.

A long text in the pager, a file at its line in the editor, a page on the web only after its whole address was shown and
a yes was given. All of it comes from an agent: text is made harmless first, and nothing opens by itself.
"""

import asyncio
import os
import shlex
import shutil
import stat
import tempfile
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from app.console.editor import editor
from app.console.lending import lend
from app.console.screens.choose import Choose, Row
from app.console.screens.openlink import OpenLink
from app.console.views.ink import literal
from app.console.views.opening import FileAt, Link, Target, editor_argv, targets
from app.console.views.text import copyable
from app.console.views.transcript_blocks import Block, ToolView
from app.wording import sentence
from coordinator.api import ReadWhole, SessionView
from store.refusal import Refusal

if TYPE_CHECKING:
    from app.console.deeds import Deeds

SOON = 3.0
"""Seconds in which a browser that cannot open the page has said so."""
_SLICE = 200_000
"""Characters that are made harmless in one go."""


class Opening:
    def __init__(self, deeds: "Deeds") -> None:
        self._deeds = deeds
        self._drive = deeds.drive

    def acts(self) -> Mapping[str, Callable[[], Awaitable[None]]]:
        """By the action's name in the key table."""
        return {"open": self._open}

    async def _open(self) -> None:
        session, line = self._deeds.session, self._drive.transcript.line_here()
        if session is None or line is None:
            return
        found = [] if line.ours and not line.target else list(targets(line.source or line.text))
        there = await asyncio.to_thread(_there, found, session)
        if not there:
            await self._whole()
        elif len(there) == 1 and isinstance(there[0], FileAt):
            await self._edit(there[0])
        else:
            rows = [Row(value=str(n), label=_label(target)) for n, target in enumerate(there)]
            rows.append(Row(value="whole", label="the whole text of this block, in the pager"))
            self._deeds.app.push_screen(
                Choose("Open what? An agent wrote this.", tuple(rows)), lambda value: self._chosen(value, there)
            )

    def _chosen(self, value: str | None, there: list[Target]) -> None:
        if value is None:
            return
        if value == "whole":
            self._deeds.spawn(self._whole)
            return
        target = there[int(value)]
        if isinstance(target, FileAt):
            self._deeds.spawn(self._edit, target)
        else:
            self._ask(target)

    # ------------------------------------------------------------------------------------------------------------ links

    def _ask(self, link: Link) -> None:
        sheet = OpenLink(link.address, self._drive.glyphs, self._drive.now)
        self._deeds.app.push_screen(sheet, lambda answer: self._answered(link, answer))

    def _answered(self, link: Link, answer: str | None) -> None:
        if answer == "yes":
            self._deeds.spawn(self._browse, link)

    async def _browse(self, link: Link) -> None:
        self._deeds.say(await _browse(link.address))

    # ------------------------------------------------------------------------------------------------------------ files

    async def _edit(self, target: FileAt) -> None:
        problem = await lend(self._deeds, editor_argv(editor(), target.path, target.line))
        if isinstance(problem, str):
            self._deeds.say(problem)

    # ------------------------------------------------------------------------------------------------------- whole text

    async def _whole(self) -> None:
        block = self._drive.transcript.block_here()
        text = await self._text_of(block) if block is not None else ""
        if not text:
            self._deeds.say("there is nothing more to open here")
            return
        with tempfile.TemporaryDirectory(prefix="footplate-") as folder:
            path = Path(folder) / "whole.txt"
            await asyncio.to_thread(write_harmless, path, text)
            problem = await lend(self._deeds, [*pager(), str(path)])
        if isinstance(problem, str):
            self._deeds.say(problem)

    async def _text_of(self, block: Block) -> str:
        """As the ledger has it; what has not ended yet only as far as it is here."""
        session = self._deeds.session
        key = block.end_key or block.key
        if session is None or key is None or block.kind in ("turn", "group"):
            return block.original()
        reply = await self._deeds.order(ReadWhole(run=session.run, key=key))
        if isinstance(reply, Refusal):
            self._deeds.say(sentence(reply))
            return ""
        whole = reply if isinstance(reply, str) else ""
        if isinstance(block, ToolView) and block.end_key is not None:
            return f"{block.name} {block.title}\n\n{whole}" if whole else block.original()
        return whole or block.original()


def _there(found: list[Target], session: SessionView) -> list[Target]:
    """Links, and of the files those that are there: nothing else is worth a choice."""
    out: list[Target] = []
    for target in found:
        if isinstance(target, Link):
            out.append(target)
            continue
        try:
            path = Path(session.tree or session.repository, Path(target.path).expanduser())
            usual = stat.S_ISREG(path.stat().st_mode)
        except (OSError, ValueError, RuntimeError):  # no such user behind a ~, a name that no file can have
            continue
        if usual:
            out.append(FileAt(path=str(path), line=target.line))
    return out


async def _browse(address: str) -> str:
    """Hand it to the operator's browser, without this terminal: a browser for terminals must not draw over it. Says how
    it went."""
    given = shlex.split(os.environ.get("BROWSER", "").split(os.pathsep)[0])
    if not given:
        given = [name for name in ("xdg-open", "open") if shutil.which(name)][:1]
    if not given:
        return "no browser was found: y copies the text with its address"
    argv = [word.replace("%s", address) for word in given]
    if argv == given:
        argv.append(address)
    nothing = asyncio.subprocess.DEVNULL
    try:
        process = await asyncio.create_subprocess_exec(
            *argv, stdin=nothing, stdout=nothing, stderr=nothing, start_new_session=True
        )
        code = await asyncio.wait_for(process.wait(), SOON)
    except TimeoutError:
        code = 0  # it stays, as browsers do
    except OSError as problem:
        return f"{argv[0]} did not start: {problem.strerror}"
    return f"opened in your browser: {literal(address)}" if code == 0 else f"{argv[0]} could not open it"


def _label(target: Target) -> str:
    if isinstance(target, Link):
        return f"{literal(target.address)} (asks first)"
    return literal(target.path) + (f":{target.line}" if target.line else "")


def pager() -> list[str]:
    """The operator's, and its arguments."""
    given = shlex.split(os.environ.get("PAGER", ""))
    return given or [next((name for name in ("less", "more") if shutil.which(name)), "less")]


def write_harmless(path: Path, text: str) -> None:
    """By slices, so that the keys of this process live while 64 MB are made harmless."""
    with path.open("w", encoding="utf-8", errors="replace") as out:
        for at in range(0, len(text), _SLICE):
            out.write(copyable(text[at : at + _SLICE].replace("\r\n", "\n").replace("\r", "\n")))
