"""What a session is doing just now, folded from its events: plan, tools that run, background, context, notices.

Working copy for the screen only. Nothing is decided from it, and all of it comes again when the events are replayed.
"""

from msgspec import Struct, field
from msgspec.structs import replace

from coordinator.api import ChangedFile, EndingView, ProcessView, RunningTool
from coordinator.custody.types import EndedProcess, Receipt
from coordinator.drivers import base
from store.vocab import Millis


class Live(Struct):
    model: str | None = None
    mode: str | None = None
    models: tuple[tuple[str, str], ...] = ()
    commands: tuple[tuple[str, str], ...] = ()
    native_id: str | None = None
    plan: tuple[tuple[str, str], ...] = ()
    background: tuple[base.BackgroundTask, ...] = ()
    context_used: int | None = None
    context_size: int | None = None
    tools: dict[str, RunningTool] = field(default_factory=dict)
    status: str = ""
    last_event_at: Millis | None = None
    changed: tuple[ChangedFile, ...] = ()
    changes_known: bool = False
    processes: tuple[ProcessView, ...] = ()
    ending: EndingView | None = None
    receipt: Receipt | None = None
    handoff: str = ""
    stderr_tail: str = ""
    unfinished: dict[str, list[base.TextDelta | base.ThoughtDelta]] = field(default_factory=dict)
    """Pieces of blocks that have not ended, by block: the ledger has them only when they have."""

    def absorb(self, event: base.AgentEvent, at: Millis) -> None:
        """Take one event in."""
        self.last_event_at = at
        match event:
            case base.SessionReady():
                self.model = event.model or self.model
                self.mode = event.mode or self.mode
                self.models = event.models or self.models
                self.commands = event.commands or self.commands
                self.native_id = event.native_id or self.native_id
            case base.ConversationChanged():
                self.native_id = event.native_id
            case base.ModeChanged():
                self.mode = event.mode
            case base.ModelChanged():
                self.model = event.model
            case base.PlanUpdated():
                self.plan = event.items
            case base.BackgroundChanged():
                self.background = tuple(task for task in event.tasks if task.state == "running")
            case base.ContextUsage():
                self.context_used, self.context_size = event.used, event.size or self.context_size
            case base.ToolStarted():
                self.tools[event.call] = RunningTool(call=event.call, name=event.name, title=event.title, since=at)
                self.status = ""
            case base.ToolFinished():
                self.tools.pop(event.call, None)
            case base.TextDelta() | base.ThoughtDelta():
                self.unfinished.setdefault(event.block, []).append(event)
                if isinstance(event, base.TextDelta):
                    self.status = ""
            case base.TextBlock() | base.ThoughtBlock():
                self.unfinished.pop(event.block, None)
                if isinstance(event, base.TextBlock):
                    self.status = ""
            case base.LimitNotice():
                self.status = "" if event.status == "allowed" else f"limit of the service: {event.kind} {event.status}"
            case base.RetryNotice():
                of = f" of {event.of}" if event.of else ""
                self.status = f"retry {event.attempt}{of}: {event.why}"
            case base.TurnResult():
                self.tools.clear()
                self.unfinished.clear()
                self.status = ""
                if event.context is not None:
                    self.context_used = event.context.used
                    self.context_size = event.context.size or self.context_size
            case base.Stderr():
                self.stderr_tail = (self.stderr_tail + event.text)[-4000:]
            case _:
                pass

    def pieces(self) -> list[base.TextDelta | base.ThoughtDelta]:
        """What stands of the unfinished blocks, one piece each."""
        return [replace(parts[0], text="".join(part.text for part in parts)) for parts in self.unfinished.values()]

    def end_step(self, step: str, ms: int, left: tuple[EndedProcess, ...] | None = None) -> None:
        """A step of an ending was reached."""
        if self.ending is None:
            return
        seen = {name for name, _ in self.ending.steps}
        steps = self.ending.steps if step in seen else (*self.ending.steps, (step, ms))
        self.ending = EndingView(
            reason=self.ending.reason,
            since=self.ending.since,
            steps=steps,
            agent_exit=self.ending.agent_exit,
            left=self.ending.left if left is None else left,
            killing=self.ending.killing or step == "kill",
        )
