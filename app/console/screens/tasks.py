"""The tasks in line, over the console: the list by parts, the lit one's facts, and keys that act on it.

It shows a list that it was given and asks for another where the snapshot says that there is one; what a key does to a
task is somebody else's (``Acts``), and no key waits for an answer.
"""

from collections.abc import Awaitable, Callable
from typing import Protocol

from textual import events
from textual.app import ComposeResult
from textual.containers import Container

from app.console.screens.sheet import Sheet
from app.console.views.glyphs import Glyphs
from app.console.views.ink import Line, Span, cut, flow, one_line, wrap
from app.console.views.layout import NARROW
from app.console.views.taskfacts import facts_lines
from app.console.views.tasks import (
    VERBS,
    LinePicture,
    asking,
    asks_you,
    empty_lines,
    heading,
    hint_parts,
    is_over,
    line_picture,
    listed,
    part_of,
    remark_lines,
    why_dead_of,
)
from app.console.widgets.lines import Lines, WindowedLines
from app.console.widgets.typedline import TypedLine
from app.console.workers import begin
from app.wording import sentence
from coordinator.api import ConsoleSnapshot, QueueView, ReadQueue, Reply, TaskView
from store.refusal import Refusal
from store.vocab import Millis, TaskId

LOOKING = "looking …"
REMOVE_AGAIN = "x again takes task {task} out of the line{gone}"


class Acts(Protocol):
    """What the keys lead to. ``marked``: the tasks that a key of several is for."""

    def act(self, verb: str, task: TaskView | None, marked: tuple[TaskId, ...]) -> None: ...


class TaskFilter(TypedLine):
    class Typed(TypedLine.Typed):
        pass

    class Left(TypedLine.Left):
        pass

    def draw(self) -> None:
        shown = one_line(self.text) + (" " if self.text.endswith(" ") else "")
        about = Span("  number, title, words of it, agent, repository", "grey")
        self.put(((Span("show only: ", "blue strong"), Span(shown, "bright"), Span(" ", "reverse"), about),))


class TasksSheet(Sheet[None]):
    AUTO_FOCUS = ""
    """Nothing: None would be what the app says, and the first part that can have it is the filter."""
    DEFAULT_CSS = """
    TasksSheet > .sheet { width: 100%; height: 100%; max-height: 100%; padding: 0 1; }
    TasksSheet .sheet-head { margin-bottom: 1; }
    TasksSheet .sheet-foot { margin-top: 0; min-height: 2; }
    TasksSheet #tasks-remarks { height: auto; }
    TasksSheet #tasks-body { height: 1fr; layout: horizontal; }
    TasksSheet #tasks-list { width: 5fr; max-width: 84; height: 100%; background: $fp-side; }
    TasksSheet #tasks-facts { width: 6fr; height: 100%; margin: 0 0 0 2; }
    TasksSheet #tasks-filter { height: 1; }
    TasksSheet.-narrow .sheet-head { margin-bottom: 0; }
    TasksSheet.-narrow #tasks-body { layout: vertical; }
    TasksSheet.-narrow #tasks-list { width: 100%; max-width: 100%; height: 1fr; }
    TasksSheet.-narrow #tasks-facts { width: 100%; height: 8; margin: 1 0 1 0; }
    TasksSheet.-remarks #tasks-remarks { margin-bottom: 1; }
    TasksSheet.-narrow.-remarks #tasks-remarks { margin-bottom: 0; }
    TasksSheet.-narrow.-none .sheet-head { margin-bottom: 1; }
    TasksSheet.-none #tasks-facts { display: none; }
    TasksSheet.-none #tasks-list { max-width: 100%; background: $fp-card; }
    """

    def __init__(
        self,
        snapshot: ConsoleSnapshot,
        read: Callable[[ReadQueue], Awaitable[Reply]],
        acts: Acts,
        now: Callable[[], Millis],
        glyphs: Glyphs,
        home: str,
        *,
        at: TaskId | None = None,
    ) -> None:
        super().__init__("tasks in line", "")
        self._snapshot = snapshot
        self._read = read
        self._acts = acts
        self._now = now
        self._glyphs = glyphs
        self._home = home
        self.view: QueueView | None = None
        self.lit: TaskId | None = at
        self.marked: dict[TaskId, None] = {}
        self.words = ""
        """What the list is narrowed to."""
        self._row = 0
        """Where the lit one stands, so that its neighbour is lit when it is gone."""
        self._told = LOOKING
        self._stamp = 0
        """Counts what was asked for, so that an answer to an older question is not shown."""
        self._reading = False
        self._said = False
        self._armed: TaskId | None = None
        self._picture = LinePicture(lines=(), tasks=())
        self.remarks = Lines(id="tasks-remarks")
        self.list = WindowedLines(id="tasks-list")
        self.facts = WindowedLines(id="tasks-facts")
        self.filter_line = TaskFilter(id="tasks-filter")
        self.filter_line.display = False

    def body(self) -> ComposeResult:
        yield self.remarks
        with Container(id="tasks-body"):
            yield self.list
            yield self.facts
        yield self.filter_line

    def prepare(self) -> None:
        self._draw()
        self.call_after_refresh(self._draw)
        self.set_interval(1.0, self._draw)
        self.look()

    @property
    def room(self) -> int:
        return self.remarks.size.width or self.app.size.width - 2

    # --------------------------------------------------------------------------------------------------------- reading

    def take(self, snapshot: ConsoleSnapshot) -> None:
        """A newer snapshot: the list is read again where it says that it changed."""
        before, self._snapshot = self._snapshot.queue.stamp, snapshot
        if snapshot.queue.stamp != before:
            self.look()
        self._draw()

    def look(self) -> None:
        """Read the list again."""
        self._stamp += 1
        if not self._reading and self.is_attached:
            self._reading = True
            begin(self, self._read_list)

    async def _read_list(self) -> None:
        try:
            asked = -1
            while asked != (asked := self._stamp):
                reply = await self._read(ReadQueue())
                if asked == self._stamp:
                    self._take_view(reply)
        finally:
            self._reading = False

    def _take_view(self, reply: Reply) -> None:
        if isinstance(reply, QueueView):
            first, self.view, self._told = self.view is None, reply, ""
            there = {one.id for one in reply.tasks}
            self.marked = {one: None for one in self.marked if one in there}
            if first:
                self._begin_where_needed()
        else:
            self._told = sentence(reply) if isinstance(reply, Refusal) else "that cannot be read"
        self._draw()

    def _begin_where_needed(self) -> None:
        """Opened at the task of the session in view: one that is over gives way to one that needs the operator."""
        task, tasks = self.lit_task, self.tasks
        if task is not None and is_over(task) and part_of(tasks[0], asking(self._snapshot)) == 0:
            self.lit = tasks[0].id

    @property
    def settled(self) -> bool:
        """What was asked for is shown."""
        return not self._reading and (self.view is not None or self._told != LOOKING)

    # ----------------------------------------------------------------------------------------------------- what is lit

    @property
    def tasks(self) -> tuple[TaskView, ...]:
        return listed(self.view, self.words, asking(self._snapshot))

    @property
    def lit_task(self) -> TaskView | None:
        return next((one for one in self.tasks if one.id == self.lit), None)

    def light(self, task: TaskId) -> None:
        """Go to this one, whatever the list is narrowed to."""
        self.words = "" if task not in {one.id for one in self.tasks} else self.words
        self.lit = task
        self._draw()

    def _settle_lit(self, tasks: tuple[TaskView, ...]) -> None:
        """The lit one stays lit wherever it stands now; where it is gone, its neighbour is."""
        ids = [one.id for one in tasks]
        if self.lit in ids:
            self._row = ids.index(self.lit)
        elif ids and self.view is not None:
            self._row = max(min(self._row, len(ids) - 1), 0)
            self.lit = ids[self._row]

    # ------------------------------------------------------------------------------------------------------------ keys

    def on_key(self, event: events.Key) -> None:
        armed, self._armed = self._armed, None
        self._said = False
        tasks = self.tasks
        page = max(self.list.size.height - 2, 1)
        match event.key:
            case "escape" if self.words:
                self.words = ""
            case "escape" | "q" | "Q":
                self.dismiss(None)
            case "j" | "down":
                self._go(tasks, self._row + 1)
            case "k" | "up":
                self._go(tasks, self._row - 1)
            case "pagedown":
                self._go(tasks, self._row + page)
            case "pageup":
                self._go(tasks, self._row - page)
            case "g" | "home":
                self._go(tasks, 0)
            case "G" | "end":
                self._go(tasks, len(tasks) - 1)
            case "right_square_bracket":
                self.facts.scroll_rows(max(self.facts.size.height - 1, 1))
            case "left_square_bracket":
                self.facts.scroll_rows(-max(self.facts.size.height - 1, 1))
            case "slash":
                self._begin_filter()
            case key if (verb := VERBS.get(key)) is not None:
                self._verb(verb, armed)
            case _:
                return
        event.stop()
        if self.is_active:
            self._draw()

    def _go(self, tasks: tuple[TaskView, ...], row: int) -> None:
        if tasks:
            self._row = max(min(row, len(tasks) - 1), 0)
            self.lit = tasks[self._row].id
            self.facts.scroll_rows(-10_000)

    def _verb(self, verb: str, armed: TaskId | None) -> None:
        task = self.lit_task
        # Marks are for what several may get at once; with some set, the lit one need not be among them.
        several = tuple(self.marked) if verb == "terms" else ()
        if not several and (dead := why_dead_of(verb, task, self.view)) is not None:
            self.say(dead)
        elif verb == "mark":
            assert task is not None
            if task.id in self.marked:
                del self.marked[task.id]
            else:
                self.marked[task.id] = None
            self._go(self.tasks, self._row + 1)
        elif verb == "remove" and task is not None and armed != task.id:
            self._armed = task.id
            gone = "" if task.runs else ", for good: no attempt of it was begun"
            self.say(REMOVE_AGAIN.format(task=task.id, gone=gone))
        else:
            self._acts.act(verb, task, several)

    def _begin_filter(self) -> None:
        self.filter_line.display = True
        self.filter_line.begin(self.words)

    def on_task_filter_typed(self, message: TaskFilter.Typed) -> None:
        message.stop()
        self.words = message.text
        self._draw()

    def on_task_filter_left(self, message: TaskFilter.Left) -> None:
        message.stop()
        if not message.kept:
            self.words = ""
        self.set_focus(None)
        self.filter_line.display = False
        self._draw()

    def on_click(self, event: events.Click) -> None:
        if event.widget is not self.list:
            return
        at = self.list.first + event.y
        task = self._picture.tasks[at] if at < len(self._picture.tasks) else None
        if task is None:
            return
        if task == self.lit:
            self._verb("open", None)
            return
        self._said = False
        self.lit = task
        self._draw()

    # -------------------------------------------------------------------------------------------------------- painting

    def say(self, words: str, ink: str = "amber") -> None:
        """In the place of the keys, until the next one."""
        self._said = bool(words)
        self.foot_lines.put(tuple((Span(row, ink),) for row in wrap(one_line(words), max(self.room, 20))))

    def on_resize(self) -> None:
        self.call_after_refresh(self._draw)

    def _draw(self) -> None:
        if not self.is_mounted:
            return
        width, now, asks = self.room, self._now(), asking(self._snapshot)
        tasks = self.tasks
        self._settle_lit(tasks)
        task = self.lit_task
        self.set_class(self.app.size.width < NARROW, "-narrow")
        self.set_class(task is None, "-none")
        self.head_lines.put((heading(self._snapshot.queue, self.view, len(tasks), self.words, width, asks),))
        remarks = remark_lines(self.view, now, width)
        self.set_class(bool(remarks), "-remarks")
        self.remarks.put(remarks)
        if not self._said:
            self.foot_lines.put(self._hints(task, width))
        wide = self.list.size.width
        if task is None or self.view is None:
            self.list.put_window(empty_lines(min(width, 76), self.words, self._told))
            self._picture = LinePicture(lines=(), tasks=())
            return
        self._picture = line_picture(tasks, self.lit, self.marked, now, wide, self._glyphs, asks)
        keep = self._picture.tasks.index(self.lit)
        # The first task's heading comes into sight with it.
        self.list.put_window(self._picture.lines, 0 if keep == 1 else keep)
        asked, room = asks_you(task, asks), self.facts.size.width
        self.facts.put_window(facts_lines(task, self.view, now, room, self._home, asks=asked))

    def _hints(self, task: TaskView | None, width: int) -> tuple[Line, ...]:
        if self.filter_line.display:
            return (
                (Span("Enter ", "blue"), Span("keep it   ", "grey"), Span("Esc ", "blue"), Span("show all", "grey")),
            )
        if self.marked:
            count = f"{len(self.marked)} marked"
            return (((Span(cut(f"{count}: s shows their terms, Space takes a mark away", width), "amber")),),)
        return tuple(flow(hint_parts(task, self.view), width, gap=2))
