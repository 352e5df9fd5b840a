"""The agent's items as they begin, stream and end: what it says, thinks and does, and what it leaves running.

An item may end after its turn did, so nothing here is closed with the turn but what can no longer come.
"""

from collections.abc import Mapping
from typing import Final

from coordinator.drivers import codex_items, codex_turns, codex_words
from coordinator.drivers.base import (
    BackgroundChanged,
    BackgroundTask,
    Compacted,
    Notice,
    Reply,
    TextBlock,
    TextDelta,
    ThoughtBlock,
    ThoughtDelta,
    ToolFinished,
    ToolStarted,
)
from coordinator.drivers.codex_state import Held, Item, Out, State, bound
from coordinator.drivers.json_fields import Json, listing, mapping, objects, text, word, words

_TEXT: Final = ("agentMessage", "plan")
_MOST_SAID: Final = 8_000_000
"""Characters of a text that are kept until it ends; then it is told whole."""
_NOTES: Final[Mapping[str, str]] = {
    "enteredReviewMode": "a review begins",
    "exitedReviewMode": "the review ended",
    "hookPrompt": "a hook of the agent's added to the conversation",
    "subAgentActivity": "a sub-agent is at work",
}


def started(held: Held, params: Json, out: Out) -> bool:
    state, item = held.state, mapping(params, "item")
    kind, id, turn = text(item, "type"), text(item, "id"), text(params, "turnId")
    if kind == "userMessage":
        _our_message(state, turn, item, out)
        return True
    if not id:
        return False
    parent = _parent(state, params)
    if kind in codex_items.TOOLS:
        _tool_started(state, id, item, turn, parent, out)
        return True
    if kind in _TEXT or kind == "reasoning":
        _open(state, id, Item(type=kind, turn=turn, parent=parent))
        return True
    return kind in _NOTES or kind == "contextCompaction"


def completed(held: Held, params: Json, out: Out) -> bool:
    state, item = held.state, mapping(params, "item")
    kind, id, turn = text(item, "type"), text(item, "id"), text(params, "turnId")
    if kind == "userMessage":
        _our_message(state, turn, item, out)
        return True
    if not id:
        return False
    parent = _parent(state, params) or None
    if kind in codex_items.TOOLS:
        _tool_completed(state, id, item, turn, parent, out)
        return True
    known = state.items.pop(id, None)
    if kind in _TEXT:
        said = text(item, "text") or "".join(known.said if known else [])
        out.append(TextBlock(block=id, text=said, parent=parent))
        flight = state.flights.get(turn)
        if flight is not None and parent is None:
            flight.text = said
    elif kind == "reasoning":
        if thought := codex_items.thought(item):
            out.append(ThoughtBlock(block=id, text=thought, parent=parent))
    elif kind == "contextCompaction":
        out.append(Compacted())
    elif kind in _NOTES:
        more = text(item, "review") or "\n".join(text(one, "text") for one in objects(item, "fragments"))
        out.append(Notice(text=f"{_NOTES[kind]}: {more}" if more else _NOTES[kind]))
    else:
        return False
    return True


def says(held: Held, params: Json, out: Out) -> bool:
    """The hot path: a piece of what it says."""
    id, delta = params.get("itemId"), params.get("delta")
    if not isinstance(id, str) or not isinstance(delta, str):
        return False
    known = held.state.items.get(id)
    if known is not None and known.size < _MOST_SAID:
        known.said.append(delta)
        known.size += len(delta)
    out.append(TextDelta(block=id, text=delta, parent=(known.parent or None) if known else None))
    return True


def thinks(held: Held, params: Json, out: Out) -> bool:
    id, delta = params.get("itemId"), params.get("delta")
    if not isinstance(id, str) or not isinstance(delta, str):
        return False
    out.append(ThoughtDelta(block=id, text=delta, parent=_parent(held.state, params) or None))
    return True


def _our_message(state: State, turn: str, item: Json, out: Out) -> None:
    ours = word(item, "clientId")
    if ours is not None and ours in state.sent:
        codex_turns.claimed(state, turn, ours, out)


def _parent(state: State, params: Json) -> str:
    """The call that began the sub-agent that speaks; empty where the agent itself does."""
    thread = text(params, "threadId")
    if not thread or not state.thread or thread == state.thread:
        return ""
    return state.agents.get(thread, thread)


def patched(held: Held, params: Json, _out: Out) -> bool:
    """A change that is still being written: who is asked about it later is asked about every file of it."""
    item, changes = held.state.items.get(text(params, "itemId")), codex_items.changes_of(params)
    if item is not None and item.type == codex_items.FILES and changes:
        item.paths = list(dict.fromkeys((*item.paths, *codex_items.touched(params))))
        item.subject = codex_items.diffs(changes)
    return True


def _open(state: State, id: str, item: Item) -> None:
    state.items[id] = item
    bound(state.items)


def _agents(state: State, item: Json, call: str) -> None:
    """The threads of the sub-agents that a call began."""
    for thread in words(item, "receiverThreadIds"):
        state.agents[thread] = call
        bound(state.agents)


def _tool_started(state: State, id: str, item: Json, turn: str, parent: str, out: Out) -> None:
    name, given, title = codex_items.told(item)
    kind = text(item, "type")
    subject = codex_items.subject(item) if kind in (codex_items.COMMAND, codex_items.FILES) else ""
    again = id in state.items
    touched = codex_items.touched(item) if kind == codex_items.FILES else []
    _open(state, id, Item(type=kind, title=title, subject=subject, paths=touched, turn=turn, parent=parent))
    _agents(state, item, id)
    if not again:
        out.append(ToolStarted(call=id, name=name, input=given, title=title, parent=parent or None))


def _tool_completed(state: State, id: str, item: Json, turn: str, parent: str | None, out: Out) -> None:
    known = state.items.pop(id, None)
    if known is None:
        _tool_started(state, id, item, turn, parent or "", out)
        del state.items[id]
    _agents(state, item, id)
    ok = codex_items.went_well(item)
    out.append(
        ToolFinished(call=id, ok=ok, output=codex_items.output(item), detail=codex_items.detail(item), parent=parent)
    )
    if known is not None and known.background:
        over = BackgroundTask(id=id, kind="shell", title=known.title, state="done" if ok else "stopped")
        out.append(BackgroundChanged(tasks=(*_running(state), over)))


# --------------------------------------------------------------------------------------- what a turn leaves behind it


def turn_over(state: State, turn: str, *, interrupted: bool, out: Out) -> None:
    """A turn ended: what of it can no longer end by itself is ended, what runs on is background."""
    waiting = {ask.call for ask in state.asks.values() if ask.turn == turn}
    left = False
    for id, item in list(state.items.items()):
        if item.turn != turn:
            continue
        parent = item.parent or None
        if item.type == codex_items.COMMAND and id not in waiting:
            item.background = left = True
            continue
        del state.items[id]
        if item.type in _TEXT:
            if item.said:
                out.append(TextBlock(block=id, text="".join(item.said), parent=parent, aborted=True))
        elif item.type in codex_items.TOOLS:
            out.append(ToolFinished(call=id, ok=False, output="", parent=parent))
    if left:
        out.append(BackgroundChanged(tasks=_running(state)))
        if interrupted:
            # Seen: the turn ends at once and its command lives on.
            id = codex_words.LEFT + turn
            out.append(Reply(id=id, data=codex_words.list_left(turn, state.thread), why="what the turn left running"))


def end_left(state: State, turn: str, told: Json, out: Out) -> None:
    """The agent listed what runs: what is of the interrupted turn is ended by its own call."""
    ours = [
        text(one, "processId")
        for one in (entry for entry in listing(told, "data") if isinstance(entry, dict))
        if word(one, "processId")
        and text(one, "itemId") in state.items
        and state.items[text(one, "itemId")].turn == turn
    ]
    if ours:
        data = b"".join(codex_words.end_one(state.thread, process) for process in ours)
        out.append(Reply(id=f"{codex_words.END}{turn}", data=data, why="end what the turn left running"))


def _running(state: State) -> tuple[BackgroundTask, ...]:
    return tuple(
        BackgroundTask(id=id, kind="shell", title=item.title, state="running")
        for id, item in state.items.items()
        if item.background
    )
