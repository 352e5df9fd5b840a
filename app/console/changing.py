"""``d``: what the session in view changed; and what of it is opened by the operator's own programs.

The editor, the pager and the diff tool get the terminal lent, as everywhere. What they are given was written by an
agent: text is made harmless first, and the diff tool is the one that the operator's configuration names.
"""

import asyncio
import os
import stat
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from app.console.editor import editor
from app.console.lending import lend
from app.console.opening import pager, write_harmless
from app.console.screens.changes import ChangesSheet
from app.console.sessiondeeds import SessionAct
from app.console.views.ink import one_line
from app.console.views.opening import editor_argv
from app.console.views.standing import title_of
from app.wording import sentence
from coordinator import changes as changes_
from coordinator.api import Changes, Diff, FileChange, SessionView
from coordinator.clock import RealClock
from coordinator.runplace import RunPlace, place_of
from store.db import read_ledger
from store.faults import LedgerFault
from store.refusal import Refusal

if TYPE_CHECKING:
    from app.console.deeds import Deeds


class Changing:
    def __init__(self, deeds: "Deeds") -> None:
        self._deeds = deeds

    def acts(self) -> Mapping[str, SessionAct]:
        """By the action's name in the key table."""
        return {"changes": self._open}

    async def _open(self, session: SessionView) -> None:
        sheet = ChangesSheet(session.run, title_of(session), self._deeds.order, Programs(self._deeds))
        sheet.take(self._deeds.drive.snapshot)
        self._deeds.app.push_screen(sheet)


class Programs:
    """The operator's own, for what a run changed."""

    def __init__(self, deeds: "Deeds") -> None:
        self._deeds = deeds

    async def edit(self, changes: Changes, file: FileChange, line: int) -> None:
        path = Path(os.fsdecode(os.fsencode(changes.tree) + b"/" + file.names[0]))
        if not await asyncio.to_thread(_usual, path):
            self._deeds.say(f"{one_line(file.path)} is not there any more, or no file to edit")
            return
        problem = await lend(self._deeds, editor_argv(editor(), str(path), line))
        if isinstance(problem, str):
            self._deeds.say(problem)

    async def page(self, diff: Diff) -> None:
        if not diff.patch:
            self._deeds.say("there are no lines to show")
            return
        with tempfile.TemporaryDirectory(prefix="footplate-") as folder:
            path = Path(folder) / "changes.diff"
            text = diff.patch.decode("utf-8", "replace")
            await asyncio.to_thread(write_harmless, path, text + ("\n(it goes on)\n" if diff.cut else ""))
            problem = await lend(self._deeds, [*pager(), str(path)])
        if isinstance(problem, str):
            self._deeds.say(problem)

    async def compare(self, changes: Changes, file: FileChange) -> None:
        place = await asyncio.to_thread(self._place, changes)
        if isinstance(place, Refusal):
            self._deeds.say(sentence(place))
            return
        if place is None:
            self._deeds.say("this console was not told where its ledger lies: git difftool works in the tree")
            return
        async with changes_.for_tool(place, changes.turn, file.names) as told:
            if isinstance(told, Refusal):
                self._deeds.say(sentence(told))
                return
            argv, variables = told
            code = await lend(self._deeds, argv, {**os.environ, **variables})
        if isinstance(code, str):
            self._deeds.say(code)
        elif code:
            self._deeds.say(f"git difftool ended with {code}: git config --global diff.tool says which tool is yours")

    def _place(self, changes: Changes) -> RunPlace | Refusal | None:
        options = self._deeds.app.options
        if options.ledger is None:
            return None
        try:
            with read_ledger(options.ledger, now=RealClock().now) as tx:
                return place_of(tx, changes.run, spool=options.spool)
        except LedgerFault as fault:
            return fault.refusal


def _usual(path: Path) -> bool:
    """Never followed into a device; a link that leads out of the tree is no file of the run's."""
    try:
        return stat.S_ISREG(path.lstat().st_mode)
    except (OSError, ValueError):
        return False
