"""Events folded into blocks, in the order in which a reader meets them. Inside of ``TranscriptModel``; lines are not
its business.

One table says what each kind of event does. An event that is not in it shows nothing here: it belongs to a panel, a
title line or the details.
"""

from collections import OrderedDict
from collections.abc import Callable, Iterable
from typing import Any

from app.console.views.glyphs import Glyphs
from app.console.views.text import one_line
from app.console.views.transcript_blocks import Block, GroupView, Key, Lines, TextView, ThoughtView, ToolView
from app.console.views.transcript_lines import Line
from app.console.views.transcript_tools import looks_only
from app.console.views.transcript_turns import DecisionBlock, TurnBlock, alike, facts_of
from app.console.views.transcript_words import (
    Look,
    background_words,
    compacted_words,
    ended_lines,
    limit_words,
    notice_lines,
    retry_words,
    tree_of,
    unreadable_words,
)
from coordinator.api import FeedEvent, SessionView, TurnView
from coordinator.drivers import base
from store.vocab import DecisionState, Millis, TurnId

_ASKING = frozenset({"AskUserQuestion", "ExitPlanMode"})
"""Tools that are nothing but the question that the operator is asked; its own line says it all."""
_ORPHANS = 1_000
_MIXED = 32
"""Blocks among which the order of keys may differ from that of places."""


class Folding:
    def __init__(self, glyphs: Glyphs, look: Look | None = None) -> None:
        """``look``: with what was opened and folded before."""
        self.look = look or Look(glyphs=glyphs)
        self.blocks: list[Block] = []
        self.touched: dict[Block, None] = {}
        self._session: SessionView | None = None
        self._views: dict[TurnId, TurnView] = {}
        self._turn: TurnId | None = None
        self._turns: dict[TurnId, TurnBlock] = {}
        self._texts: dict[str, TextView] = {}
        self._thoughts: dict[str, ThoughtView] = {}
        self._finished: OrderedDict[str, None] = OrderedDict()
        """Text whose end came: a delta of it that is still on its way is late."""
        self._tools: dict[str, ToolView] = {}
        self._orphans: OrderedDict[str, FeedEvent] = OrderedDict()
        """Results whose call is before the first line, kept for when that is read."""
        self._decisions: dict[str, DecisionBlock] = {}
        self._newest: Key | None = None
        self._background: dict[str, str] = {}

    @property
    def dirty(self) -> bool:
        return bool(self.touched)

    # ----------------------------------------------------------------------------------------------------------- events

    def feed(self, events: Iterable[FeedEvent]) -> None:
        table = _DOES
        for event in events:
            if event.key is not None:
                if self._newest is not None and event.key <= self._newest:
                    continue
                self._newest = event.key
            does = table.get(type(event.event))
            if does is None:
                continue
            if event.turn is not None and event.turn != self._turn:
                self._enter(event.turn, event.key)
            does(self, event, event.event)

    def _text_delta(self, event: FeedEvent, said: base.TextDelta) -> None:
        view = self._texts.get(said.block)
        if view is None:
            if said.block in self._finished or not said.text:
                return
            view = self._texts[said.block] = TextView(event.key)
            self._add(view, said.parent)
        view.put(said.text)
        self.touch(view)

    def _text_block(self, event: FeedEvent, said: base.TextBlock) -> None:
        view = self._texts.pop(said.block, None)
        self._finish_id(said.block)
        if view is None:
            if not said.text.strip():
                return
            view = TextView(event.key)
            self._add(view, said.parent)
        view.key = view.key or event.key
        view.finish(said.text, said.aborted, left_at=event.left_at, left_out=event.left_out)
        self.touch(view)

    def _thought_delta(self, event: FeedEvent, said: base.ThoughtDelta) -> None:
        view = self._thoughts.get(said.block)
        if view is None:
            if said.block in self._finished:
                return
            view = self._thoughts[said.block] = ThoughtView(event.key, said.block, event.at)
            self._add(view, said.parent)
            self.touch(view)
        view.put(said.text)
        if view.target in self.look.opened:
            self.touch(view)

    def _thought_block(self, event: FeedEvent, said: base.ThoughtBlock) -> None:
        view = self._thoughts.pop(said.block, None)
        self._finish_id(said.block)
        streamed = view is not None
        if view is None:
            if not said.text.strip():
                return
            view = ThoughtView(event.key, said.block, event.at)
            self._add(view, said.parent)
        view.key = view.key or event.key
        view.finish(said.text, event.at, streamed=streamed, left_at=event.left_at, left_out=event.left_out)
        self.touch(view)

    def _finish_id(self, block: str) -> None:
        self._finished[block] = None
        if len(self._finished) > 10_000:
            self._finished.popitem(last=False)

    def _tool_started(self, event: FeedEvent, said: base.ToolStarted) -> None:
        known = self._tools.get(said.call)
        if known is not None:
            known.again(said)
            self.touch(known)
            return
        if said.name in _ASKING:
            return
        tool = self._tools[said.call] = ToolView(event.key, said, event.at)
        self._add(tool, said.parent)
        result = self._orphans.pop(said.call, None)
        if result is not None and isinstance(result.event, base.ToolFinished):
            self._tool_finished(result, result.event)

    def _tool_finished(self, event: FeedEvent, said: base.ToolFinished) -> None:
        tool = self._tools.get(said.call)
        if tool is None:
            self._orphans[said.call] = event
            if len(self._orphans) > _ORPHANS:
                self._orphans.popitem(last=False)
            return
        tool.finish(said, event.at, event.key, left_at=event.left_at, left_out=event.left_out)
        self.touch(tool)

    def _asked(self, event: FeedEvent, said: base.DecisionAsked) -> None:
        block = self._decisions[said.request] = DecisionBlock(event.key, said, event.at)
        self._add(block)
        self._tell_decisions()

    def _withdrawn(self, event: FeedEvent, said: base.DecisionWithdrawn) -> None:
        block = self._decisions.get(said.request)
        if block is not None:
            block.withdraw(said.why)
            self.touch(block)

    def _turn_result(self, event: FeedEvent, said: base.TurnResult) -> None:
        for thought in self._thoughts.values():
            thought.close()
            self.touch(thought)
        self._thoughts.clear()
        for tool in self._tools.values():
            if not tool.ended and tool.ok is None:
                tool.ended = True
                self.touch(tool)
        lines = ended_lines(said, self.look)
        if lines:
            self._add(Lines("end", event.key, lines))

    def _retry(self, event: FeedEvent, said: base.RetryNotice) -> None:
        self._replace_or_add("retry", event.key, [self._ours(retry_words(said), "dim")])

    def _unreadable(self, event: FeedEvent, said: base.Unknown) -> None:
        last = self._last(self.blocks)
        lines, size = last.tally if isinstance(last, Lines) and last.merge == "unreadable" else (0, 0)
        tally = (lines + 1, size + len(said.raw.encode("utf-8", "surrogatepass")) + event.left_out)
        self._replace_or_add("unreadable", event.key, [self._ours(unreadable_words(*tally), "dim")]).tally = tally

    def _replace_or_add(self, merge: str, key: Key | None, lines: list[Line]) -> Lines:
        last = self._last(self.blocks)
        if isinstance(last, Lines) and last.merge == merge:
            last.made = lines
            self.touch(last)
            return last
        block = Lines("notice", key, lines, merge)
        self._add(block)
        return block

    def _notice(self, event: FeedEvent, said: base.Notice) -> None:
        if said.text.strip():
            self._add(Lines("notice", event.key, notice_lines(said.text.strip("\n"))))

    def _limit(self, event: FeedEvent, said: base.LimitNotice) -> None:
        words = limit_words(said)
        if words is not None:
            self._replace_or_add(f"limit {words[0]}", event.key, [self._ours(*words)])

    def _say(self, event: FeedEvent, words: str, style: str = "dim", sign: str = "") -> None:
        self._add(Lines("notice", event.key, [self._ours(words, style, sign)]))

    def _ours(self, words: str, style: str, sign: str = "") -> Line:
        """A notice of Footplate's, with a sign before it: without one it looks like the agent's own words."""
        return Line(((words, style),), (f"{sign or self.look.glyphs.dot} ", style), ("  ", ""), ours=True)

    def _background_changed(self, event: FeedEvent, said: base.BackgroundChanged) -> None:
        glyphs = self.look.glyphs
        for task in said.tasks:
            words = background_words(task)
            if words is not None and self._background.get(task.id) != task.state:
                failed = task.state == "failed"
                sign = glyphs.done if task.state == "done" else glyphs.ended if failed else glyphs.idle
                self._say(event, words, "bad" if failed else "dim", sign)
            self._background[task.id] = task.state

    # ----------------------------------------------------------------------------------------------------------- places

    def touch(self, block: Block) -> None:
        block.dirty = True
        while block.owner is not None:
            block = block.owner
            block.dirty = True
        self.touched[block] = None

    @staticmethod
    def _last(blocks: list[Block]) -> Block | None:
        return next((block for block in reversed(blocks[-8:]) if not block.gone), None)

    def _add(self, block: Block, parent: str | None = None) -> None:
        """Put it at the end: of the conversation, or of what the sub-agent did that speaks."""
        owner = self._tools.get(parent) if parent is not None else None
        if parent is not None and owner is None:
            # The call that began the sub-agent is before the first line.
            said = base.ToolStarted(call=parent, name="Sub-agent", input={}, title="")
            owner = self._tools[parent] = ToolView(block.key, said, Millis(0))
            self._add(owner)
        blocks = owner.parts if owner is not None else self.blocks
        if isinstance(block, ToolView) and looks_only(block.name, block.given):
            if self._into_group(block, blocks):
                return
            group = GroupView(block.key, block.call)
            self._absorb_thought(group, blocks)
            group.add(block)
            block = group
        block.owner = owner
        blocks.append(block)
        self.touch(block)

    def _into_group(self, tool: ToolView, blocks: list[Block]) -> bool:
        shown = [block for block in blocks[-8:] if not block.gone]
        if shown and isinstance(shown[-1], GroupView):
            group = shown[-1]
        elif (
            len(shown) > 1
            and isinstance(shown[-2], GroupView)
            and isinstance(shown[-1], ThoughtView)
            and shown[-1].done
        ):
            group = shown[-2]
            self._absorb_thought(group, blocks)
        else:
            return False
        group.add(tool)
        self.touch(tool)
        return True

    def _absorb_thought(self, group: GroupView, blocks: list[Block]) -> None:
        """A thought before a look is part of the looking."""
        last = self._last(blocks)
        if not isinstance(last, ThoughtView) or not last.done:
            return
        ghost = Lines("notice", last.key, [])
        # Its lines stay counted under something that goes, while the thought itself moves.
        ghost.count, ghost.gap, ghost.owner, ghost.gone = last.count, last.gap, last.owner, True
        blocks[_index(blocks, last)] = ghost
        self.touched.pop(last, None)
        last.count = 0
        group.add(last)
        self.touch(ghost)

    # ------------------------------------------------------------------------------------------------------------ turns

    def update(self, session: SessionView) -> None:
        old = self._session
        self._session = session
        self.look.tree, self.look.operator, self.look.agent = tree_of(session), session.operator, session.agent
        if old is None or old.turns != session.turns:
            self._views = {view.id: view for view in session.turns}
        if old is None or facts_of(old) != facts_of(session):
            self._tell_turns()
        if old is None or old.decisions is not session.decisions:
            self._tell_decisions()

    def _tell_turns(self) -> None:
        session = self._session
        if session is None:
            return
        asking = {view.turn for view in session.decisions if view.state is DecisionState.OPEN}
        for block in self._turns.values():
            self._tell_turn(block, session, block.turn in asking)

    def _tell_turn(self, block: TurnBlock, session: SessionView, waits: bool) -> None:
        view = self._views.get(block.turn)
        working = session.in_flight == block.turn
        if block.tell(view, waits=waits, working=working, so_far=session.budget.turn_so_far):
            self.touch(block)

    def _enter(self, turn: TurnId, key: Key | None) -> None:
        """Events of another turn begin: its header, and those of turns before it of which nothing came."""
        self._turn = turn
        if turn in self._turns:
            return
        view = self._views.get(turn)
        if view is not None:
            self._place_before(view.n)
        self._place_turn(turn, key)

    def _place_before(self, n: int) -> None:
        known = [block.n for block in self._turns.values()]
        if not known:
            return
        for view in sorted(self._views.values(), key=lambda view: view.n):
            if max(known) < view.n < n and view.id not in self._turns:
                self._place_turn(view.id, None)

    def _place_turn(self, turn: TurnId, key: Key | None) -> None:
        block = self._turns[turn] = TurnBlock(key, turn)
        self._add(block)
        session = self._session
        if session is not None:
            asking = any(view.turn == turn and view.state is DecisionState.OPEN for view in session.decisions)
            self._tell_turn(block, session, asking)

    def place_turns(self, have_page: bool) -> None:
        """Turns of which nothing has come yet stand at the end; without a page only those after what is here."""
        newest = max((block.n for block in self._turns.values()), default=0)
        if not newest and not have_page:
            return
        views = sorted(self._views.values(), key=lambda view: view.n)
        if not newest and self.blocks:
            views = views[-1:]
        for view in views:
            if view.n > newest and view.id not in self._turns:
                self._place_turn(view.id, None)

    def turn_beside(self, turn: TurnId | None, by: int) -> TurnId | None:
        """So many turns from this one; None is the turn of the last event."""
        turn = turn or self._turn
        turns = sorted(self._views.values(), key=lambda view: view.n)
        at = next((number + by for number, view in enumerate(turns) if view.id == turn), -1)
        return turns[at].id if 0 <= at < len(turns) else None

    # -------------------------------------------------------------------------------------------------------- decisions

    def _tell_decisions(self) -> None:
        session = self._session
        if session is None or not self._decisions:
            return
        by_request = {view.request: view for view in session.decisions if view.request}
        unnamed = [view for view in session.decisions if not view.request]
        nearest = alike(list(self._decisions.values()), unnamed) if unnamed else {}
        for request, block in self._decisions.items():
            view = by_request.get(request) or nearest.get(request)
            if block.tell(view):
                self.touch(block)
            self._tell_tool(block)

    def _tell_tool(self, block: DecisionBlock) -> None:
        """A call that was asked about: its wait for the answer is not its own time, and a no is no failure."""
        tool = self._tools.get(block.asked.call or "")
        if tool is not None and tool.asked(block.asked.request, refused=block.refused, waited=block.waited):
            self.touch(tool)

    # ------------------------------------------------------------------------------------------------------------ folds

    def toggle(self, block: Block, target: str) -> None:
        look = self.look
        tool = self._tools.get(target.removeprefix("tool:"))
        opened = tool.opened(look) if tool is not None else target in look.opened
        if opened:
            look.opened.discard(target)
            look.closed.add(target)
        else:
            look.opened.add(target)
            look.closed.discard(target)
        block.soil()
        self.touch(block)

    def open(self, block: Block) -> None:
        self.look.opened.add(block.target)
        self.look.closed.discard(block.target)
        block.soil()
        self.touch(block)

    # ------------------------------------------------------------------------------------------------ older and dropped

    def oldest_key(self) -> Key | None:
        """A block that streamed has the key of its end: what stands before it may be younger than what follows."""
        return min((block.key for block in self.blocks[:_MIXED] if block.key and not block.gone), default=None)

    def take_over(self, newer: "Folding") -> None:
        """Before an older page is folded: what is known of the session, and results that wait for their calls."""
        if newer._session is not None:
            self.update(newer._session)
        self._orphans = newer._orphans
        self.look = newer.look

    def put_before(self, older: "Folding") -> None:
        """The older page's blocks go before these; what the border cut in two is put together."""
        first = next((block for block in self.blocks if not block.gone), None)
        if isinstance(first, TurnBlock) and first.turn in older._turns:
            first.gone = True
            self.touched[first] = None
            self._turns[first.turn] = older._turns[first.turn]
        for call, tool in older._tools.items():
            stand_in = self._tools.get(call)
            if stand_in is not None:
                for part in stand_in.parts:
                    part.owner = tool
                tool.parts.extend(stand_in.parts)
                stand_in.gone = True
                self.touched[stand_in] = None
                older.touch(tool)
        self.blocks[:0] = older.blocks
        # Spacing at the border depends on both sides of it.
        after = next((block for block in self.blocks[len(older.blocks) :] if not block.gone), None)
        self.touched = {**older.touched, **self.touched}
        if after is not None:
            self.touched[after] = None
        self._turns = {**older._turns, **self._turns}
        self._tools = {**self._tools, **older._tools}
        self._decisions = {**older._decisions, **self._decisions}
        self._tell_decisions()

    def drop_first(self, lines: int) -> int:
        """Let go of whole blocks from the start, at most so many lines, never the last block."""
        dropped = number = 0
        while number < len(self.blocks) - 1 and dropped + self.blocks[number].count <= lines:
            dropped += self.blocks[number].count
            number += 1
        gone, self.blocks = self.blocks[:number], self.blocks[number:]
        for block in gone:
            self._forget(block)
        return dropped

    def _forget(self, block: Block) -> None:
        block.gone = True
        self.touched.pop(block, None)
        if isinstance(block, TurnBlock):
            self._turns.pop(block.turn, None)
        elif isinstance(block, DecisionBlock):
            self._decisions.pop(block.asked.request, None)
        elif isinstance(block, GroupView):
            for tool in block.tools:
                self._forget(tool)
        elif isinstance(block, ToolView):
            self._tools.pop(block.call, None)
            for part in block.parts:
                self._forget(part)


def _index(blocks: list[Block], block: Block) -> int:
    return next(number for number in range(len(blocks) - 1, -1, -1) if blocks[number] is block)


_DOES: dict[type, Callable[[Folding, FeedEvent, Any], object]] = {
    base.TextDelta: Folding._text_delta,
    base.TextBlock: Folding._text_block,
    base.ThoughtDelta: Folding._thought_delta,
    base.ThoughtBlock: Folding._thought_block,
    base.ToolStarted: Folding._tool_started,
    base.ToolFinished: Folding._tool_finished,
    base.DecisionAsked: Folding._asked,
    base.DecisionWithdrawn: Folding._withdrawn,
    base.TurnResult: Folding._turn_result,
    base.RetryNotice: Folding._retry,
    base.LimitNotice: Folding._limit,
    base.Notice: Folding._notice,
    base.Unknown: Folding._unreadable,
    base.BackgroundChanged: Folding._background_changed,
    base.TurnBegunByAgent: lambda folding, event, said: None,
    base.Compacted: lambda folding, event, said: folding._say(event, compacted_words(said)),
    base.ConversationChanged: lambda folding, event, said: folding._say(event, "a new conversation begins"),
    base.CannotStart: lambda folding, event, said: folding._say(
        event, f"the agent would not begin: {one_line(said.text)}", "bad"
    ),
    base.ProtocolFault: lambda folding, event, said: folding._say(
        event, f"what the agent sends can not be read: {one_line(said.what)}", "bad"
    ),
}
