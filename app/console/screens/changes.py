"""What a run changed, over the console or a review: its files, the chosen one's lines, in all turns or one of them.

It asks for what it shows, one thing at a time, and no key waits for an answer. What leaves the console (an editor, a
pager, a diff tool) is somebody else's, who may not be there.
"""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import partial
from typing import Protocol

from textual import events
from textual.app import ComposeResult
from textual.containers import Container, Vertical
from textual.message import Message

from app.console.screens.sheet import Sheet
from app.console.views.changes import (
    PatchLines,
    heading,
    list_rows,
    patch_lines,
    remark_rows,
    summary,
)
from app.console.views.ink import Span, one_line
from app.console.views.layout import NARROW
from app.console.views.standing import session_of
from app.console.widgets.lines import Lines
from app.console.widgets.patchview import PatchView
from app.console.workers import begin
from app.wording import sentence
from coordinator.api import (
    Changes,
    ChangesFrom,
    ChangesNote,
    ConsoleSnapshot,
    Diff,
    FileChange,
    ReadChanges,
    ReadDiff,
    Reply,
)
from store.refusal import Refusal
from store.vocab import RunId

KEYS = "J K file  { } hunk  [ ] turn  o editor  P pager  D diff tool  Esc back"
LOOKING = "looking …"
AGAIN = 1.0
"""Seconds after which it is looked again for what is kept a moment after the end."""
_LOOKS = 5


class Outside(Protocol):
    """What leaves the console; each says itself what went wrong."""

    async def edit(self, changes: Changes, file: FileChange, line: int) -> None: ...

    async def page(self, diff: Diff) -> None: ...

    async def compare(self, changes: Changes, file: FileChange) -> None: ...


class FileList(Lines):
    @dataclass
    class Pointed(Message):
        row: int

    def on_click(self, event: events.Click) -> None:
        self.post_message(self.Pointed(event.y))


class ChangesSheet(Sheet[None]):
    DEFAULT_CSS = """
    ChangesSheet > .sheet { width: 100%; height: 100%; max-height: 100%; padding: 0 1; }
    ChangesSheet .sheet-head { margin-bottom: 0; }
    ChangesSheet .sheet-foot { margin-top: 0; }
    ChangesSheet #changes-body { height: 1fr; layout: horizontal; }
    ChangesSheet #changes-files { width: 40; height: 100%; background: $fp-side; }
    ChangesSheet #changes-right { width: 1fr; padding: 0 0 0 1; }
    ChangesSheet #changes-file { height: 1; }
    ChangesSheet #changes-lines { background: $fp-card; scrollbar-background: $fp-card;
        scrollbar-background-hover: $fp-card; scrollbar-background-active: $fp-card; }
    ChangesSheet.-narrow #changes-body { layout: vertical; }
    ChangesSheet.-narrow #changes-files { width: 100%; height: 5; }
    ChangesSheet.-narrow #changes-right { width: 100%; height: 1fr; padding: 0; }
    """

    def __init__(
        self,
        run: RunId,
        title: str,
        read: Callable[[ReadChanges | ReadDiff], Awaitable[Reply]],
        outside: Outside | None,
    ) -> None:
        """``outside``: None where nothing leads out of the console."""
        super().__init__(f"what {run} changed", KEYS)
        self.run = run
        self.files = FileList(id="changes-files", grows=False)
        self.file_line = Lines(id="changes-file", grows=False)
        self.remarks = Lines()
        self.view = PatchView(id="changes-lines")
        self.changes: Changes | None = None
        self.at = 0
        """The chosen file."""
        self.turn: int | None = None
        self._title = title
        self._read = read
        self._outside = outside
        self._first = 0
        self._told = LOOKING
        self._version = 0
        self._wanted: object = None
        self._shown: tuple[int | None, tuple[bytes, ...]] | None = None
        self._listing = self._reading = False
        self._looks = _LOOKS
        self._mark: object = None

    def body(self) -> ComposeResult:
        yield self.remarks
        with Container(id="changes-body"):
            yield self.files
            with Vertical(id="changes-right"):
                yield self.file_line
                yield self.view

    def prepare(self) -> None:
        self._paint()
        self.look()

    @property
    def room(self) -> int:
        return self.app.size.width - 2

    @property
    def file(self) -> FileChange | None:
        files = self.changes.files if self.changes is not None else ()
        return files[self.at] if self.at < len(files) else None

    @property
    def settled(self) -> bool:
        """What was asked for is shown."""
        return not (self._listing or self._reading) and (self.changes is not None or self._told != LOOKING)

    # --------------------------------------------------------------------------------------------------------- reading

    def take(self, snapshot: ConsoleSnapshot) -> None:
        """A newer snapshot: looks again where a turn of the run, or the run, has ended."""
        session = session_of(snapshot, self.run)
        if session is None:
            return
        mark = (session.turn_ended_at, session.outcome, session.changed)
        if self._mark not in (None, mark):
            self._looks = _LOOKS
            self.look()
        self._mark = mark

    def look(self) -> None:
        """Read the list again, and the chosen file's lines with it."""
        self._version += 1
        if not self._listing:
            self._listing = True
            begin(self, self._read_list)

    async def _read_list(self) -> None:
        try:
            asked: object = None
            while asked != (asked := (self._version, self.turn)):
                reply = await self._read(ReadChanges(run=self.run, turn=self.turn))
                if asked == (self._version, self.turn):
                    self._take_list(reply)
        finally:
            self._listing = False

    def _take_list(self, reply: Reply) -> None:
        before = self.file
        if isinstance(reply, Changes):
            self.changes, self._told = reply, ""
            names = [one.names for one in reply.files]
            same = names.index(before.names) if before is not None and before.names in names else self.at
            self.at = max(min(same, len(names) - 1), 0)
            gone = {one.what for one in reply.remarks} & {ChangesNote.NOTHING_KEPT}
            if gone and self._looks:
                self._looks -= 1
                self.set_timer(AGAIN, self.look)
        else:
            self.changes = None
            self._told = sentence(reply) if isinstance(reply, Refusal) else "that cannot be read"
            self.say(self._told)
        self._paint()
        self._want_lines()

    def _want_lines(self) -> None:
        file = self.file
        self._wanted = (self._version, self.turn, file.names if file is not None else ())
        if file is None:
            self._shown = None
            self.view.show(PatchLines((), (), ()), keep=False)
        elif not self._reading:
            self._reading = True
            begin(self, self._read_lines)

    async def _read_lines(self) -> None:
        try:
            while (file := self.file) is not None:
                asked, turn = self._wanted, self.turn
                reply = await self._read(ReadDiff(run=self.run, turn=turn, names=file.names))
                if isinstance(reply, Diff):
                    # A long one takes a while to lay out, and the keys of this process live meanwhile.
                    patch = await asyncio.to_thread(patch_lines, reply, file)
                else:
                    patch = PatchLines((), (), ())
                if asked == self._wanted:
                    if isinstance(reply, Refusal):
                        self.say(sentence(reply))
                    self.view.show(patch, keep=self._shown == (turn, file.names))
                    self._shown = (turn, file.names)
                    return
        finally:
            self._reading = False

    # ------------------------------------------------------------------------------------------------------------ keys

    def on_key(self, event: events.Key) -> None:
        view = self.view
        match event.key:
            case "escape" | "q" | "d":
                self.dismiss(None)
            case "j" | "down":
                view.move(1)
            case "k" | "up":
                view.move(-1)
            case "pagedown" | "space":
                view.page(1)
            case "pageup":
                view.page(-1)
            case "g" | "home":
                view.top()
            case "G" | "end":
                view.bottom()
            case "J":
                self.choose(self.at + 1)
            case "K":
                self.choose(self.at - 1)
            case "right_curly_bracket":
                self._hunk(1)
            case "left_curly_bracket":
                self._hunk(-1)
            case "right_square_bracket":
                self._next_turn(1)
            case "left_square_bracket":
                self._next_turn(-1)
            case "r":
                self._said("looking again", "grey")
                self.look()
            case "o" | "P" | "D":
                self._leads_out(event.key)
            case _:
                return
        event.stop()

    def choose(self, at: int) -> None:
        files = self.changes.files if self.changes is not None else ()
        if not 0 <= at < len(files):
            self._said("this is the last file" if at > 0 else "this is the first file", "grey")
            return
        self.at = at
        self._said(KEYS, "grey")
        self._paint()
        self._want_lines()

    def _hunk(self, way: int) -> None:
        if not self.view.hunk(way):
            self._said("no hunk after this one: J is the next file" if way > 0 else "no hunk before this one", "grey")

    def _next_turn(self, by: int) -> None:
        """From all turns back to the newest, the one before …, and round again."""
        turns = [one.last for one in self.changes.turns] if self.changes is not None else []
        if not turns:
            self._said("only all turns together are known here")
            return
        places = [*turns, None]
        at = places.index(self.turn) if self.turn in places else len(turns)
        self.turn = places[(at + by) % len(places)]
        self.look()
        self._said(KEYS, "grey")

    def _leads_out(self, key: str) -> None:
        changes, file = self.changes, self.file
        if self._outside is None:
            self._said(f"a review opens nothing: footplate diff {self.run} writes it out")
        elif changes is None or file is None:
            self._said("there is nothing to open")
        elif key == "P":
            begin(self, partial(self._page, self._outside))
        elif key == "o":
            begin(self, partial(self._outside.edit, changes, file, self.view.number))
        elif changes.source is ChangesFrom.KEPT:
            self._said("what was kept is one text: a diff tool needs two files; P shows it")
        else:
            begin(self, partial(self._outside.compare, changes, file))

    async def _page(self, outside: Outside) -> None:
        reply = await self._read(ReadDiff(run=self.run, turn=self.turn))
        if isinstance(reply, Diff):
            await outside.page(reply)
        elif isinstance(reply, Refusal):
            self._said(sentence(reply))

    def on_file_list_pointed(self, message: FileList.Pointed) -> None:
        message.stop()
        if self.changes is not None and self._first + message.row < len(self.changes.files):
            self.choose(self._first + message.row)

    # -------------------------------------------------------------------------------------------------------- painting

    def _said(self, words: str, ink: str = "amber") -> None:
        self.say(one_line(words) if words != KEYS else words, ink)

    def on_resize(self) -> None:
        self.call_after_refresh(self._paint)

    def _paint(self) -> None:
        if not self.is_mounted:
            return
        self.set_class(self.app.size.width < NARROW, "-narrow")
        width = self.room
        self.head_lines.put((heading(self.run, self._title, self.changes, width),))
        self.remarks.put(remark_rows(self.changes, width))
        room, wide = self.files.size.height, self.files.size.width
        if not room:
            self.call_after_refresh(self._paint)
            return
        count = len(self.changes.files) if self.changes is not None else 0
        first = min(max(self._first, self.at - room + 1), self.at)
        self._first = max(min(first, count - room), 0)
        self.files.put(list_rows(self.changes, self.at, self._first, room, wide, self._told))
        right = self.file_line.size.width
        self.file_line.put((summary(self.changes, self.at, right),) if self.changes is not None else ((Span(""),),))
