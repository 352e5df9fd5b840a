"""Texts so long that no screen shows them whole: what of them goes to a screen, and from where the rest comes.

An agent may print 64 MB in one line, and a tool 100 MB of progress. The ledger keeps all of it; what travels to a
front end is its beginning and its end, so that no step of a screen costs more for it than for a page of prose.
"""

from typing import Any, Final, cast

from msgspec.structs import replace

from coordinator.drivers import base
from coordinator.drivers.base import AgentEvent

LONG: Final = 250_000
"""Characters of a text that is still passed on whole."""
PART: Final = 120_000
"""Characters of the beginning, and of the end, of a longer one: more than a transcript draws of either."""

FIELD_OF: Final[dict[str, str]] = {
    "text": "text",
    "thought": "text",
    "tool-finished": "output",
    "notice": "text",
    "stderr": "text",
    "unknown": "raw",
}
"""Kinds of event that can be so long, and which field of them is."""
_FIELDS: Final[dict[type, str]] = {
    base.TextBlock: "text",
    base.ThoughtBlock: "text",
    base.ToolFinished: "output",
    base.Notice: "text",
    base.Stderr: "text",
    base.Unknown: "raw",
}


def parts(head: str, tail: str, length: int) -> tuple[str, int, int]:
    """What is shown of a text of this length; where its middle is left out, and how many characters that is."""
    if "\r" in head:
        # A progress display that the cut goes through: how it stood in its middle says nothing.
        line = head.rfind("\n") + 1
        if "\r" in head[line:]:
            head = head[:line]
    return head + tail, len(head), length - len(head) - len(tail)


def shortened(event: AgentEvent) -> tuple[AgentEvent, int, int]:
    """The event as a screen gets it; where characters are left out, and how many (0: it is whole)."""
    name = _FIELDS.get(type(event))
    if name is None:
        return event, 0, 0
    whole: str = getattr(event, name)
    if len(whole) <= LONG:
        return event, 0, 0
    text, at, left_out = parts(whole[:PART], whole[-PART:], len(whole))
    event = with_text(event, text)
    if isinstance(event, base.ToolFinished):
        # The agent's own account of it often holds the whole output a second time.
        event = replace(event, detail={key: value for key, value in event.detail.items() if not _is_long(value)})
    return event, at, left_out


def with_text(event: AgentEvent, text: str) -> AgentEvent:
    """The event with this as its long text; as it is where it has none."""
    name = _FIELDS.get(type(event))
    return event if name is None else cast(AgentEvent, replace(cast(Any, event), **{name: text}))


def _is_long(value: object) -> bool:
    return (isinstance(value, str) and len(value) > PART) or (isinstance(value, dict | list) and len(str(value)) > PART)


def weight(event: AgentEvent) -> int:
    """About how many characters of text an event carries to a screen."""
    match event:
        case base.TextDelta() | base.ThoughtDelta() | base.TextBlock() | base.ThoughtBlock():
            return len(event.text)
        case base.ToolFinished():
            return len(event.output)
        case _:
            return 100
