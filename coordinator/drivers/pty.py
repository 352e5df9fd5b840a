"""Any program with a prompt, held on a pseudo-terminal: what is typed to it, and what its silence means.

Nothing in such a stream says where a turn begins or ends. It begins with the keeper's record of its first byte, is
taken as begun with the first output after that, and ends when the terminal has been silent with the prompt before the
cursor (where no prompt is known, when it has been silent). All of it is inferred, and the console says so. What bytes
mean is ``terminal_bytes``, what stands on the page ``terminal_page``, what is echo ``terminal_echo``.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Final

import msgspec

from coordinator.drivers.base import (
    AgentEvent,
    Answer,
    Capabilities,
    ControlAcked,
    ControlWrite,
    Image,
    Notice,
    Reply,
    ScreenWaits,
    SessionReady,
    Start,
    Stderr,
    TextBlock,
    TextDelta,
    TurnAccepted,
    TurnResult,
)
from coordinator.drivers.terminal_echo import Prompt, without_echo
from coordinator.drivers.terminal_page import Page, PageState
from store.vocab import MicroUsd, TurnId, TurnResultKind

BLOCK = 32 * 1024
"""Characters of one block of text: what a program prints without end is in the ledger in pieces."""
_INTERRUPT: Final = "-interrupt-"
_FAREWELL: Final = "farewell-"
"""What the keeper calls its last write."""
_ENTER: Final = b"\r"
_STOP: Final = b"\x03"
_CLEAR: Final = b"\x15"
"""Empties the line. Behind an interrupt it is there to be lost: bash and Python drop the one key that comes with it."""
_END_OF_INPUT: Final = b"\x04"
_NOT_TYPED: Final = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
"""Bytes that would be keys: in a message they are text by mistake, or a trick to leave the paste."""
_ASKS: Final = re.compile(r"[^\s\d%][?:\]>)]\s*\Z")
"""How a line ends behind which somebody is to type: ``(y/n)``, ``Password:``, ``go on?``. Not ``12:`` or ``[45%]``."""
_ASKED: Final = 200
"""Characters of it that are told."""
_NEVER_INHERITED: Final = frozenset({"COLUMNS", "LINES", "TERMCAP", "PROMPT_COMMAND", "STY", "INSIDE_EMACS"})


class State(msgspec.Struct):
    """All that is remembered between two reads."""

    page: PageState = msgspec.field(default_factory=PageState)
    ready: bool = False
    texts: dict[str, str] = {}
    """Turns that were made and are not over, with their text."""
    turn: str = ""
    """The one in flight."""
    accepted: bool = False
    echo: list[str] = []
    """Lines of it that the terminal has not shown back yet, of those that left the page."""
    first: bool = True
    """No line of it has left the page yet."""
    lines: list[str] = []
    """Of the block that is open now."""
    size: int = 0
    """Characters in these."""
    streamed: int = 0
    """How many lines of the open block were shown already."""
    block: int = 0
    interrupted: str = ""
    """Id of an interrupt that was sent and whose effect is awaited."""
    answered: int = 0
    """How often the terminal was asked something, since its beginning."""
    controls: int = 0
    asks: bool = False
    """It was said that it may wait for an answer."""


class PtyDriver:
    """One program on a pseudo-terminal, from its first byte to its last."""

    capabilities: Capabilities = Capabilities(
        reports_cost=False,
        asks_permission=False,
        asks_questions=False,
        interrupts=True,
        resumes=False,
        streams_text=True,
        raises_cap_live=False,
        terminal=True,
    )

    def __init__(self, instance: str = "fp") -> None:
        """``instance``: unique in the run for each driver made (generation and epoch); ids of writes begin with it."""
        self._instance = instance
        self._state = State()
        self._page = Page(self._state.page)
        self._prompt: Prompt | None = None
        self._quit = ""

    # ---------------------------------------------------------------------------------------------------- starting

    def argv(self, start: Start) -> Sequence[str]:
        self._prompt = Prompt(start.prompt) if start.prompt else None
        self._quit = start.quit
        return (start.program, *start.extra_args)

    def environment(self) -> tuple[Mapping[str, str], frozenset[str]]:
        return {"TERM": "xterm-256color"}, _NEVER_INHERITED

    def opening(self) -> Sequence[ControlWrite]:
        return ()  # it is ready when its prompt is there

    # ----------------------------------------------------------------------------------------------------- reading

    def feed(self, data: bytes) -> Sequence[AgentEvent]:
        s = self._state
        self._page.feed(data)
        out: list[AgentEvent] = []
        if s.asks:
            s.asks = False
            out.append(ScreenWaits(line=""))
        if answers := self._page.take_queries():
            s.answered += 1
            # In one write: each is a row in the ledger, and a file that is shown may be full of what asks.
            out.append(Reply(id=f"terminal-{s.answered}", data="".join(answers).encode(), why="the terminal answers"))
        if s.turn and not s.accepted:
            s.accepted = True
            out.append(TurnAccepted(turn=TurnId(s.turn)))
        if s.turn:
            self._stream(out)
        else:
            self._gather()
        return out

    def quiet(self) -> Sequence[AgentEvent]:
        s = self._state
        out: list[AgentEvent] = []
        before = self._page.before_cursor()
        waits = self._prompt is None or self._prompt.ends(before)
        if not s.ready:
            if waits:
                s.ready = True
                self._said_aside(out)
                out.append(SessionReady())
        elif not s.turn:
            self._acknowledge(out)
            if waits:
                self._said_aside(out)
        elif s.accepted and not self._still_echo():
            if waits:
                self._finish(out)
            elif _ASKS.search(before) and not s.asks:
                s.asks = True
                out.append(ScreenWaits(line=before.strip()[-_ASKED:]))
        return out

    def feed_end(self) -> Sequence[AgentEvent]:
        out: list[AgentEvent] = []
        if not self._state.turn:
            self._said_aside(out, prompt_too=True)
            return out
        self._take_standing(cursor_too=True)
        self._close_block(out, aborted=True)
        self._page.mark()
        return out

    def sending(self, write: str) -> None:
        s = self._state
        if write in s.texts:
            s.turn, s.accepted, s.first = write, False, True
            s.echo = s.texts[write].split("\n")
            s.lines, s.size, s.streamed = [], 0, 0
            s.interrupted = ""
            self._page.mark()
        elif _INTERRUPT in write:
            s.interrupted = write
        elif write.startswith(_FAREWELL) and self._quit and not s.turn:
            self._take_standing(cursor_too=False)
            self._page.mark()
            s.echo, s.first = [self._quit], True

    def resized(self, rows: int, columns: int) -> None:
        self._page.resize(rows, columns)

    def screen(self) -> bytes:
        return self._page.drawn()

    # ----------------------------------------------------------------------------------------------------- writing

    def turn(self, turn: TurnId, text: str, images: Sequence[Image] = ()) -> bytes:
        """The text as it is kept; how it is typed is known only when it goes (``addressed``)."""
        typed = _NOT_TYPED.sub("", text.replace("\r\n", "\n").replace("\r", "\n")).rstrip("\n")
        if "\n" in typed and typed.rsplit("\n", 1)[1][:1].isspace():
            typed += "\n"  # an indented last line leaves a block open: an empty one ends it, as it does by hand
        self._state.texts[turn] = typed
        return typed.encode()

    def addressed(self, data: bytes) -> bytes:
        """As a paste where the terminal marks pastes, so that its line ends are no Enter; else line by line."""
        if self._page.state.paste and (b"\n" in data or b"\t" in data):
            return b"\x1b[200~" + data.replace(b"\n", _ENTER) + b"\x1b[201~" + _ENTER
        # A tab that is typed completes a word, and is no text.
        return data.replace(b"\t", b"    ").replace(b"\n", _ENTER) + _ENTER

    def answer(self, request: str, answer: Answer) -> bytes:
        return b""  # it asks nothing that could be answered

    def never_went(self, name: str) -> None:
        if name != self._state.turn:
            self._state.texts.pop(name, None)

    def interrupt(self) -> ControlWrite:
        self._state.controls += 1
        return ControlWrite(id=f"{self._instance}{_INTERRUPT}{self._state.controls}", data=_STOP)

    def stop_background(self) -> Sequence[ControlWrite]:
        return ()

    def set_mode(self, mode: str) -> ControlWrite:
        return self._nothing()

    def set_model(self, model: str) -> ControlWrite:
        return self._nothing()

    def farewell(self) -> bytes:
        end = self._quit.encode() + _ENTER if self._quit else _END_OF_INPUT
        return _STOP + _CLEAR + end if self._state.turn else end

    def ask_cost(self) -> ControlWrite:
        return self._nothing()

    def cost_told(self, acked: ControlAcked) -> MicroUsd | None:
        return None

    def slash(self, text: str) -> str | None:
        return None

    # -------------------------------------------------------------------------------------------------- the snapshot

    def snapshot(self) -> bytes:
        self._state.page = self._page.snapshot()
        return msgspec.json.encode(self._state)

    def restore(self, state: bytes) -> None:
        self._state = msgspec.json.decode(state, type=State)
        self._page = Page(self._state.page)

    # ----------------------------------------------------------------------------------------------------- internals

    def _nothing(self) -> ControlWrite:
        self._state.controls += 1
        return ControlWrite(id=f"{self._instance}-{self._state.controls}", data=b"")

    def _still_echo(self) -> bool:
        """Only a part of what was sent has come back: what ends it may look like a prompt."""
        since = self._page.since_mark()
        if since is None or not self._state.echo or self._state.interrupted:
            return False
        return self._state.echo[0].startswith(since.strip())

    def _gather(self) -> None:
        """Lines that left the page for good, into the open block."""
        s = self._state
        left = self._page.take_left()
        if left:
            kept = without_echo(left, s.echo, self._prompt, first=s.first)
            s.first = False
            s.lines += kept
            s.size += sum(map(len, kept)) + len(kept)
            if not s.turn and s.size > BLOCK:
                # Nobody asked for it, and its newest lines say as much.
                del s.lines[: len(s.lines) // 2]
                s.size = sum(map(len, s.lines)) + len(s.lines)

    def _standing(self, *, cursor_too: bool) -> list[str]:
        s = self._state
        return without_echo(self._page.standing(cursor_too=cursor_too), list(s.echo), self._prompt, first=s.first)

    def _take_standing(self, *, cursor_too: bool) -> None:
        self._gather()
        self._state.lines += self._standing(cursor_too=cursor_too)

    def _stream(self, out: list[AgentEvent]) -> None:
        """Show what is whole by now; close a block that has become long."""
        s = self._state
        self._gather()
        if s.size > BLOCK:
            self._close_block(out)
        standing = self._standing(cursor_too=False)
        known = len(s.lines)
        new = [*s.lines[s.streamed :], *standing[max(0, s.streamed - known) :]]
        if new and (s.streamed or any(new)):
            begin = "" if s.streamed else "```\n"
            out.append(TextDelta(block=self._block(), text=begin + "".join(f"{line}\n" for line in new)))
            s.streamed = known + len(standing)

    def _block(self) -> str:
        return f"{self._state.turn}-{self._state.block}"

    def _close_block(self, out: list[AgentEvent], *, aborted: bool = False) -> None:
        s = self._state
        text = _whole(s.lines)
        if text or s.streamed:
            out.append(TextBlock(block=self._block(), text=_verbatim(text) if text else "", aborted=aborted))
            s.block += 1
        s.lines, s.size, s.streamed = [], 0, 0

    def _finish(self, out: list[AgentEvent]) -> None:
        s = self._state
        # The cursor's line is the prompt, where there is one.
        self._take_standing(cursor_too=self._prompt is None)
        self._close_block(out)
        kind = TurnResultKind.INTERRUPTED if s.interrupted else TurnResultKind.SUCCESS
        self._acknowledge(out)
        subtype = "quiet" if self._prompt is None else "prompt"
        out.append(TurnResult(turns=(TurnId(s.turn),), kind=kind, subtype=subtype, cumulative=None))
        s.texts.pop(s.turn, None)
        s.turn, s.accepted, s.block, s.echo = "", False, 0, []
        self._page.mark()

    def _acknowledge(self, out: list[AgentEvent]) -> None:
        if self._state.interrupted:
            out.append(ControlAcked(id=self._state.interrupted, ok=True))
            self._state.interrupted = ""

    def _said_aside(self, out: list[AgentEvent], *, prompt_too: bool = False) -> None:
        """What it printed while nobody's turn was in flight: its greeting, a job that ended, what keys brought."""
        s = self._state
        self._take_standing(cursor_too=prompt_too or self._prompt is None)
        text = _whole(s.lines)
        if text and s.ready:
            out.append(Notice(text=text))
        elif text:
            out.append(Stderr(text=text))  # it ended before it was ready: these words say why
        s.lines, s.size, s.first = [], 0, True
        self._page.mark()


def _whole(lines: Sequence[str]) -> str:
    return "\n".join(lines).strip("\n")


def _verbatim(text: str) -> str:
    """As a fence, so that what a terminal showed in columns stays in columns."""
    longest = max((len(run) for run in re.findall(r"`{3,}", text)), default=2)
    fence = "`" * max(3, longest + 1)
    return f"{fence}\n{text}\n{fence}"
