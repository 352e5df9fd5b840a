"""Reads ``session/update``: what the agent says, does and plans while it works on a prompt, and the facts beside it.

One handler a kind; what no handler knows is for the caller to keep whole. Text comes in pieces without an end: a block
ends when something else begins.
"""

from collections.abc import Callable
from typing import Final

from coordinator.drivers import acp_asks, acp_start, acp_tools
from coordinator.drivers.acp_results import add_tokens, cost_of, tokens_of
from coordinator.drivers.acp_state import State
from coordinator.drivers.base import (
    AgentEvent,
    ContextUsage,
    PlanUpdated,
    TextBlock,
    TextDelta,
    ThoughtBlock,
    ThoughtDelta,
    TurnAccepted,
    TurnBegunByAgent,
    TurnResult,
)
from coordinator.drivers.json_fields import Json, mapping, objects, text, whole, word
from coordinator.drivers.money import micro_usd
from store.vocab import TurnId, TurnResultKind

Out = list[AgentEvent]
Handler = Callable[[State, Json, Out], bool]
"""Says whether it knew the update; events go into the list."""

_MOST_BLOCK: Final = 8_000_000
"""Characters of one block; a longer one goes on in a block of its own."""


def read(state: State, params: Json, out: Out) -> bool:
    update = mapping(params, "update")
    kind = text(update, "sessionUpdate")
    if not state.native_id and kind in _HISTORY:
        # A conversation that goes on, told before it is opened: it is in the ledger under the run it was said in.
        return True
    handler = _BY_KIND.get(kind)
    return handler is not None and handler(state, update, out)


def accept(state: State, out: Out) -> None:
    """The agent works: on the message that was written last and has no answer."""
    if state.by_agent:
        return
    if state.sent and state.sent[0] not in state.begun:
        state.begun.append(state.sent[0])
        out.append(TurnAccepted(turn=TurnId(state.sent[0])))


def speaks(state: State, out: Out) -> None:
    """The agent says or asks something. With no message of ours to work on, it has begun by itself."""
    if state.native_id and not state.sent and not state.by_agent and acp_start.ways(state).wakes:
        state.by_agent = True
        out.append(TurnBegunByAgent(why="a background task ended"))
    accept(state, out)


def rests(state: State, out: Out) -> None:
    """What it began by itself is over."""
    end_block(state, out)
    acp_tools.turn_ended(state, out)
    acp_asks.turn_ended(state, out)
    state.by_agent = False
    out.append(
        TurnResult(
            turns=(),
            kind=TurnResultKind.SUCCESS,
            subtype="by itself",
            cumulative=None,
            marginal=cost_of(state, interrupted=False),
            text=state.last_text,
            by_agent=True,
            context=None if state.context is None else ContextUsage(used=state.context, size=state.window),
        )
    )
    state.last_text = ""
    state.turn_tools = 0


def end_block(state: State, out: Out) -> None:
    """What streamed is whole."""
    if not state.block:
        return
    said = "".join(state.block_text)
    parent = state.block_parent or None
    if said and state.block_kind == "thought":
        out.append(ThoughtBlock(block=state.block, text=said, parent=parent))
    elif said:
        out.append(TextBlock(block=state.block, text=said, parent=parent))
        state.last_text = said[:2_000]
    state.block = state.block_message = state.block_kind = state.block_parent = ""
    state.block_text = []
    state.block_size = 0


def _piece(kind: str) -> Handler:
    def handler(state: State, update: Json, out: Out) -> bool:
        content = update.get("content")
        if not isinstance(content, dict):
            return False
        meta = mapping(update, "_meta")
        used = tokens_of(mapping(meta, "usage"))
        if used is not None:
            # An empty piece that only says what a call of the model used.
            state.turn_tokens = add_tokens(state.turn_tokens, used)
        said = acp_tools.content_text(content)
        if not said:
            return True
        message = text(update, "messageId")
        parent = acp_tools.parent_of(meta)
        if parent:
            accept(state, out)
        else:
            speaks(state, out)
        here = (state.block_kind, state.block_message, state.block_parent)
        if not state.block or here != (kind, message, parent) or state.block_size > _MOST_BLOCK:
            end_block(state, out)
            state.blocks += 1
            state.block = f"{message or kind}:{state.blocks}"
            state.block_kind, state.block_message, state.block_parent = kind, message, parent
        state.block_text.append(said)
        state.block_size += len(said)
        delta = ThoughtDelta if kind == "thought" else TextDelta
        out.append(delta(block=state.block, text=said, parent=parent or None))
        return True

    return handler


def _echo(state: State, update: Json, out: Out) -> bool:
    accept(state, out)
    return True


def _tool(state: State, update: Json, out: Out) -> bool:
    if not acp_tools.names_call(update):
        return False
    accept(state, out)
    end_block(state, out)
    acp_tools.told(state, update, out)
    if text(update, "status") in ("completed", "failed"):
        acp_asks.call_ended(state, text(update, "toolCallId"), out)
    return True


def _plan(state: State, update: Json, out: Out) -> bool:
    inner = mapping(update, "plan")
    entries = update.get("entries", inner.get("entries"))
    if isinstance(entries, list):
        items = acp_tools.plan_items([entry for entry in entries if isinstance(entry, dict)])
    elif word(inner, "content"):
        items = (("pending", acp_tools.one_line(text(inner, "content"))),)
    else:
        return False
    accept(state, out)
    end_block(state, out)
    if list(items) != state.plan:
        state.plan = list(items)
        out.append(PlanUpdated(items=items))
    return True


def _plan_removed(state: State, update: Json, out: Out) -> bool:
    if state.plan:
        state.plan = []
        out.append(PlanUpdated(items=()))
    return True


def _usage(state: State, update: Json, out: Out) -> bool:
    used, size = whole(update, "used"), whole(update, "size")
    cost = mapping(update, "cost")
    if cost and text(cost, "currency", "USD").upper() == "USD":
        amount = micro_usd(cost.get("amount"))
        if amount is not None:
            state.cost = amount
            if not state.native_id:
                # What the conversation had cost before this run.
                state.cost_settled = amount
    # A turn that was cut off says that the conversation is empty, which it is not.
    if used and (used != state.context or (size and size != state.window)):
        state.context, state.window = used, size or state.window
        out.append(ContextUsage(used=used, size=state.window))
    origin = text(mapping(mapping(update, "_meta"), "_claude/origin"), "kind")
    if cost and origin not in ("", "human"):
        # Also where its beginning was not seen: a console that takes over may know of a message of ours by then.
        rests(state, out)
    return used is not None or bool(cost)


def _mode(state: State, update: Json, out: Out) -> bool:
    mode = word(update, "currentModeId")
    if mode is None:
        return False
    acp_start.took_mode(state, mode, out)
    return True


def _options(state: State, update: Json, out: Out) -> bool:
    acp_start.took_options(state, objects(update, "configOptions"), out)
    return True


def _commands(state: State, update: Json, out: Out) -> bool:
    acp_start.took_commands(state, objects(update, "availableCommands"), out)
    return True


def _title(state: State, update: Json, out: Out) -> bool:
    return True


_BY_KIND: Final[dict[str, Handler]] = {
    "agent_message_chunk": _piece("message"),
    "agent_thought_chunk": _piece("thought"),
    "user_message_chunk": _echo,
    "tool_call": _tool,
    "tool_call_update": _tool,
    "plan": _plan,
    "plan_update": _plan,
    "plan_removed": _plan_removed,
    "usage_update": _usage,
    "current_mode_update": _mode,
    "config_option_update": _options,
    "available_commands_update": _commands,
    "session_info_update": _title,
}
_HISTORY: Final = frozenset(
    {
        "agent_message_chunk",
        "agent_thought_chunk",
        "user_message_chunk",
        "tool_call",
        "tool_call_update",
        "plan",
        "plan_update",
        "plan_removed",
    }
)
"""Kinds that a conversation which goes on tells again."""
