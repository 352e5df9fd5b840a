"""An agent's events as lines of text, the same live (``--plain``) and from the ledger (``show --transcript``).

Each line of the agent's own words begins with ``| ``, so that nothing it says can be taken for a line of Footplate's.
"""

from app.cli.printing import literal_lines, one_line
from app.wording import plural
from coordinator.drivers import base

_OUTPUT_LINES = 12
_QUOTE = "| "


def lines_of(event: base.AgentEvent) -> list[str]:
    """What of an event is worth a line; nothing for most of them."""
    match event:
        case base.TextBlock():
            said = quoted(event.text)
            return [*said, "(cut off)"] if event.aborted else said
        case base.ToolStarted():
            return [f"tool {one_line(event.name, 40)}: {one_line(event.title)}"]
        case base.ToolFinished():
            return [f"tool {'done' if event.ok else 'failed'}", *_output(event.output)]
        case base.PlanUpdated():
            done = sum(1 for state, _ in event.items if state == "done")
            active = next((text for state, text in event.items if state == "active"), "")
            return [f"plan {done} of {len(event.items)} done" + (f", now: {one_line(active)}" if active else "")]
        case base.RetryNotice():
            of = f" of {event.of}" if event.of else ""
            return [f"the agent tries again ({event.attempt}{of}): {one_line(event.why)}"]
        case base.LimitNotice():
            return [f"limit {one_line(event.kind, 40)}: {one_line(event.status, 40)}"]
        case base.Notice():
            return [f"notice: {one_line(event.text)}"]
        case base.Compacted():
            return ["the agent shortened the conversation to fit its model"]
        case base.ConversationChanged():
            return ["the agent began a new conversation"]
        case base.TurnBegunByAgent():
            return [f"the agent began a turn by itself ({one_line(event.why, 80)})"]
        case base.BackgroundChanged():
            running = [one_line(task.title, 60) for task in event.tasks if task.state == "running"]
            return [f"in background: {', '.join(running) if running else 'nothing'}"]
        case base.CannotStart():
            return [f"the agent would not begin: {one_line(event.text)}"]
        case base.ProtocolFault():
            return [f"what the agent sent could not be understood: {one_line(event.what)}"]
        case base.TurnResult() if event.failure is not None:
            return [f"the agent reports: {one_line(event.failure_text or event.subtype)}"]
        case _:
            return []


def quoted(text: str) -> list[str]:
    """An agent's words, uncut, each line marked as its own."""
    return [_QUOTE + said for said in literal_lines(text.rstrip("\n"))]


def _output(text: str) -> list[str]:
    # Only its last lines, read from the end: a tool may print a hundred megabytes.
    tail = text[-20_000:].rstrip("\n")
    if not tail:
        return []
    shown = literal_lines(tail)[-_OUTPUT_LINES:]
    more = text.count("\n", 0, len(text.rstrip("\n"))) + 1 - len(shown)
    head = [f"    ({plural(more, 'line')} before)"] if more > 0 else []
    return head + [f"    {said[:400]}" for said in shown]
