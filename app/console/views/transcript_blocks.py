"""The parts of a conversation as a reader sees them, each able to say its logical lines and its original text.

A block knows its own content and nothing of its place, of other blocks or of rows; events are turned into blocks by
``transcript.py``. What an agent sent is bounded on its way in, so that no block is ever large.
"""

from collections.abc import Sequence

from app.console.views.markdown import markdown_lines
from app.console.views.text import Excerpt, copyable, excerpt_of, one_line
from app.console.views.transcript_lines import Line, Run, indented, source_line, targeted
from app.console.views.transcript_stream import Stream, gap_line
from app.console.views.transcript_tools import (
    BACKGROUND,
    EDITS as EDITS,
    OUTPUT_HEAD,
    OUTPUT_TAIL,
    came_of_it,
    diff_lines,
    diff_size,
    group_words,
    input_lines,
    output_lines,
    patch_lines,
    title_words,
    took,
)
from app.console.views.transcript_words import Look, thought_words
from app.wording import plural
from coordinator.drivers.base import Json, ToolFinished, ToolStarted
from store.vocab import Millis

TEXT_HEAD, TEXT_TAIL = 500, 1_000
THOUGHT_HEAD, THOUGHT_TAIL = 100, 100
_COPY_MOST = 1_000_000
_CHILD_LINES = 300
AGENT: Run = ("  ", "agent")
THOUGHT: Run = ("  ", "thought")

Key = tuple[int, int]


class Block:
    """Compared by identity. ``owner`` is the block that shows this one, None for one that stands by itself."""

    kind = ""
    target = ""

    def __init__(self, key: Key | None) -> None:
        self.key = key
        self.end_key: Key | None = None
        """Of the event that ended it, where that is another one."""
        self.owner: Block | None = None
        self.dirty = True
        self.gone = False
        self.gap = False
        """Whether an empty line stands before it."""
        self.count = 0
        """Lines of it, the empty one too, that the reader has."""
        self._lines: list[Line] = []

    def lines(self, look: Look) -> list[Line]:
        if self.dirty:
            self._lines = self.draw(look)
            self.dirty = False
        return self._lines

    def draw(self, look: Look) -> list[Line]:
        raise NotImplementedError

    def first_change(self) -> int:
        """The first line that is not as it was; asking starts anew."""
        return 0

    def soil(self) -> None:
        """Everything in it is to be drawn again."""
        self.dirty = True

    def inner(self) -> "Sequence[Block]":
        """The blocks that are shown within it."""
        return ()

    def original(self) -> str:
        """What was written, for a copy of the whole block."""
        return "\n".join(line.source if line.source is not None else line.text for line in self._lines if not line.ours)


class Lines(Block):
    """Lines that were made once: notices, endings."""

    def __init__(self, kind: str, key: Key | None, lines: list[Line], merge: str = "") -> None:
        super().__init__(key)
        self.kind = kind
        self.made = lines
        self.merge = merge
        """A following notice of the same sort takes its place."""
        self.tally = (0, 0)

    def draw(self, look: Look) -> list[Line]:
        return self.made


class TextView(Block):
    kind = "text"

    def __init__(self, key: Key | None) -> None:
        super().__init__(key)
        self.stream: Stream | None = Stream("agent", AGENT, head=TEXT_HEAD, tail=TEXT_TAIL)
        self._text = ""
        self._finished: list[Line] = []

    def put(self, text: str) -> None:
        if self.stream is not None:
            self.stream.put(text)

    def finish(self, text: str, aborted: bool, *, left_at: int = 0, left_out: int = 0) -> None:
        self.stream = None
        self._text = text if len(text) <= _COPY_MOST and not left_out else ""
        stripped = text.lstrip("\n")
        cut = excerpt_of(stripped.rstrip("\n"), TEXT_HEAD, TEXT_TAIL, left_at - len(text) + len(stripped), left_out)
        lines = markdown_lines(cut.head, AGENT)
        if cut.hidden:
            lines.append(gap_line(cut.hidden, cut.hidden_chars, AGENT))
            # Whether the tail begins inside a fence is not known: it stays as it was written.
            lines.extend(source_line(line, "agent", AGENT) for line in cut.tail)
        if aborted:
            lines.append(Line((("⋯ cut off here", "dim"),), AGENT, AGENT, ours=True))
        self._lines = lines
        self._finished = lines

    def draw(self, look: Look) -> list[Line]:
        if self.stream is None:
            return self._finished
        self.stream.settle()
        return self.stream.lines

    def first_change(self) -> int:
        if self.stream is None:
            return 0
        at, self.stream.changed_from = self.stream.changed_from, len(self.stream.lines)
        return at

    def original(self) -> str:
        return copyable(self._text) if self._text else super().original()


class ThoughtView(Block):
    kind = "thought"

    def __init__(self, key: Key | None, block: str, at: Millis) -> None:
        super().__init__(key)
        self.target = f"thought:{block}"
        self.stream: Stream | None = Stream("thought", THOUGHT, head=THOUGHT_HEAD, tail=THOUGHT_TAIL)
        self._begun = at
        self._ms: int | None = None
        self._content: list[Line] = []

    @property
    def done(self) -> bool:
        return self.stream is None

    def put(self, text: str) -> None:
        if self.stream is not None:
            self.stream.put(text)

    def finish(self, text: str, at: Millis, *, streamed: bool, left_at: int = 0, left_out: int = 0) -> None:
        self.stream = None
        self._ms = at - self._begun if streamed else None
        stripped = text.lstrip("\n")
        left_at -= len(text) - len(stripped)
        cut = excerpt_of(stripped.rstrip("\n"), THOUGHT_HEAD, THOUGHT_TAIL, left_at, left_out)
        self._content = [source_line(line, "thought", THOUGHT) for line in (*cut.head, *cut.tail)]
        if cut.hidden:
            self._content.insert(len(cut.head), gap_line(cut.hidden, cut.hidden_chars, THOUGHT))

    def close(self) -> None:
        """Its turn ended before it did."""
        if self.stream is not None:
            self.stream.settle()
            self._content = self.stream.lines
            self.stream = None

    def draw(self, look: Look) -> list[Line]:
        opened = self.target in look.opened
        words = thought_words(self._ms, done=self.done)
        head = Line(((words, "thought"),), AGENT, right=(look.sign(opened),), fold=True, ours=True, target=self.target)
        if not opened:
            return [head]
        if self.stream is not None:
            self.stream.settle()
            return [head, *(targeted(line, self.target) for line in self.stream.lines)]
        return [head, *(targeted(line, self.target) for line in self._content)]


class ToolView(Block):
    """One tool call. A sub-agent's call shows what the sub-agent does, indented, while it works."""

    kind = "tool"

    def __init__(self, key: Key | None, event: ToolStarted, at: Millis) -> None:
        super().__init__(key)
        self.call = event.call
        self.target = f"tool:{event.call}"
        self.name, self.title = event.name, event.title
        self.given: Json = _bounded_input(event.input)
        self.parts: list[Block] = []
        self.ok: bool | None = None
        self.ended = False
        self.inside = False
        """Within a group: its own line is indented by the group."""
        self._at = at
        self._ms = 0
        self._waits: dict[str, int] = {}
        """By request: milliseconds for which it stood still until the operator answered."""
        self.refused = ""
        """In words, why it was not done."""
        self._came = ""
        self._output = Excerpt(())
        self._diff: list[str] = []
        self._sizes = (0, 0)

    def again(self, event: ToolStarted) -> None:
        """Some agents tell a call's input after its start."""
        self.name, self.title = event.name or self.name, event.title or self.title
        if event.input:
            self.given = _bounded_input(event.input)

    def finish(
        self, event: ToolFinished, at: Millis, key: Key | None = None, *, left_at: int = 0, left_out: int = 0
    ) -> None:
        self.ok, self.ended = event.ok, True
        self.end_key = key or self.end_key
        self._ms = max(0, at - self._at)
        self._output = excerpt_of(event.output, OUTPUT_HEAD, OUTPUT_TAIL, left_at, left_out)
        self._came = came_of_it(self.name, event.ok, event.output, event.detail)
        if self.is_edit and event.ok:
            self._diff = diff_lines(self.given, event.detail)
            self._sizes = diff_size(self._diff)

    def asked(self, request: str, *, refused: str, waited: int) -> bool:
        """What became of a request about it; whether that is something new."""
        before = (self.refused, self._waits.get(request, 0))
        self.refused, self._waits[request] = self.refused or refused, waited
        return before != (self.refused, waited)

    @property
    def not_done(self) -> bool:
        return bool(self.refused) and self.ended and not self.ok

    @property
    def is_edit(self) -> bool:
        return self.name.lower() in EDITS

    def opened(self, look: Look) -> bool:
        by_itself = bool(self.parts) and not self.ended
        return self.target in look.opened or (by_itself and self.target not in look.closed)

    def soil(self) -> None:
        self.dirty = True
        for part in self.parts:
            part.soil()

    def inner(self) -> Sequence[Block]:
        return self.parts

    def draw(self, look: Look) -> list[Line]:
        opened = self.opened(look)
        lines = [self._head(look, opened)]
        if opened:
            lines.extend(targeted(line, self.target) for line in self._content())
            lines.extend(self._inner(look))
        return lines

    def _head(self, look: Look, opened: bool) -> Line:
        if self.ok is None:
            sign: Run = (f"{look.glyphs.idle} ", "dim") if self.ended else (f"{look.glyphs.working} ", "ok")
        else:
            # A test run that tells its failures did what it was to do; they are said at the right.
            went = self.ok or (self._came.endswith(("failed", "passed")) and self._came != "failed")
            sign = (f"{look.glyphs.done} ", "ok") if went else (f"{look.glyphs.ended} ", "bad")
            if self.not_done:
                sign = (f"{look.glyphs.idle} ", "dim")
            elif self._came == BACKGROUND:
                # Begun is not done; its end is told by a line of its own.
                sign = (f"{look.glyphs.dot} ", "dim")
        runs: list[Run] = [sign, (one_line(self.name, 60), "tool")]
        title = title_words(self.name, self.title, look.tree)
        if title:
            runs.append((f" {title}", "agent"))
        right: list[Run] = []
        added, removed = self._sizes
        if self.is_edit and self.ok and (added or removed):
            right.append((f"+{added}", "add"))
            if removed:
                right.append((f"  {look.glyphs.minus}{removed}", "del"))
        elif self.not_done:
            right.append((self.refused, "dim"))
        elif self._came:
            bad = self.ok is False or "fail" in self._came or "error" in self._came
            right.append((self._came, "bad" if bad else "dim"))
        if self.parts and self.ended:
            right.append((plural(self._calls(), "call"), "dim"))
        own = self._ms - sum(self._waits.values())
        if self.ended and not self.is_edit and not self.not_done and (time := took(own)):
            right.append((f"  {time}" if right else time, "dim"))
        right.append(look.sign(opened))
        lead: Run = ("  ", "") if self.inside else ("", "")
        return Line(tuple(runs), lead, right=tuple(right), fold=True, ours=True, target=self.target)

    def _calls(self) -> int:
        return sum(len(part.items) if isinstance(part, GroupView) else part.kind == "tool" for part in self.parts)

    def _content(self) -> list[Line]:
        lead: Run = ("      " if self.inside else "    ", "")
        if self._diff:
            return patch_lines(self._diff, lead)
        lines = input_lines(self.name, self.given, lead)
        cut, style = self._output, "bad-output" if self.ok is False else "output"
        if cut.head and (cut.lines > 1 or cut.head[0].text):
            lines.extend(output_lines(cut.head, style, lead))
            if cut.hidden:
                lines.append(gap_line(cut.hidden, cut.hidden_chars, lead))
            lines.extend(output_lines(cut.tail, style, lead))
        return lines

    def _inner(self, look: Look) -> list[Line]:
        inner: list[Line] = []
        self.parts = [part for part in self.parts if not part.gone]
        for part in self.parts:
            inner.extend(part.lines(look))
        hidden = len(inner) - _CHILD_LINES
        by = "    " if self.inside else "  "
        shown = [targeted(indented(line, by), self.target) for line in inner[-_CHILD_LINES:]]
        if hidden > 0:
            shown.insert(0, targeted(gap_line(hidden, 0, (by + "  ", "")), self.target))
        return shown

    def original(self) -> str:
        rows = [self.title, *self._diff]
        if not self._diff:
            rows.extend(line.text for line in (*self._output.head, *self._output.tail))
        return copyable("\n".join(rows))


class GroupView(Block):
    """Calls that only look, one after the other, as one line."""

    kind = "group"

    def __init__(self, key: Key | None, call: str) -> None:
        super().__init__(key)
        self.target = f"group:{call}"
        self.items: list[ToolView | ThoughtView] = []

    def add(self, item: ToolView | ThoughtView) -> None:
        item.owner = self
        item.gone = False
        if isinstance(item, ToolView):
            item.inside = True
        item.dirty = True
        self.items.append(item)

    @property
    def tools(self) -> list[ToolView]:
        return [item for item in self.items if isinstance(item, ToolView)]

    def soil(self) -> None:
        self.dirty = True
        for item in self.items:
            item.soil()

    def inner(self) -> Sequence[Block]:
        return self.items

    def draw(self, look: Look) -> list[Line]:
        opened = self.target in look.opened
        tools = self.tools
        words = group_words((tool.name, None if tool.not_done else tool.ok) for tool in tools)
        for why in sorted({tool.refused for tool in tools if tool.not_done}):
            words += f", {sum(tool.not_done and tool.refused == why for tool in tools)} {why}"
        runs: list[Run] = [(words, "tool")]
        running = next((tool for tool in reversed(tools) if not tool.ended), None)
        if running is not None:
            title = title_words(running.name, running.title, look.tree)
            runs.append((f"  {look.glyphs.working} ", "ok"))
            runs.append((f"{one_line(running.name, 60)} {title}".rstrip(), "dim"))
        lines = [Line(tuple(runs), AGENT, right=(look.sign(opened),), fold=True, ours=True, target=self.target)]
        if opened:
            for item in self.items:
                lines.extend(item.lines(look))
        return lines

    def original(self) -> str:
        return "\n".join(tool.original() for tool in self.tools)


_INPUT_TEXT_MOST = 100_000


def _bounded_input(given: Json) -> Json:
    """The input as it is kept here; only the ledger keeps a very long one whole."""
    if all(not isinstance(value, str) or len(value) <= _INPUT_TEXT_MOST for value in given.values()):
        return given
    return {
        key: value[:_INPUT_TEXT_MOST] if isinstance(value, str) and len(value) > _INPUT_TEXT_MOST else value
        for key, value in given.items()
    }


def wants_gap(before: Block | None, block: Block) -> bool:
    """Whether an empty line sets the two apart: turns and texts breathe, lines of work stand close."""
    if before is None:
        return False
    if block.kind == "turn" or before.kind == "turn":
        return True
    if block.kind == "text":
        return before.kind not in ("group", "thought")
    return before.kind == "text"
