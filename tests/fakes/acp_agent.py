"""An agent that nobody here has heard of, written with the Agent Client Protocol's own package: what any agent may be.

It begins in a mode that asks nobody, as several do. Its model is its message: ``run: COMMAND`` asks and runs it,
``ask`` puts a question in a form, ``sleep`` works until it is cancelled, ``fail`` fails; all else is said back. Each
message costs ten cents. A conversation goes on where its file is found.
"""

import asyncio
import contextlib
import itertools
import os
import signal
import sys
from pathlib import Path
from typing import Any, cast

from acp import (
    PROTOCOL_VERSION,
    Client,
    InitializeResponse,
    LoadSessionResponse,
    NewSessionResponse,
    PromptResponse,
    RequestError,
    SetSessionModeResponse,
    run_agent,
    start_tool_call,
    text_block,
    tool_content,
    update_agent_message_text,
    update_agent_thought_text,
    update_tool_call,
    update_user_message_text,
)
from acp.schema import (
    AgentCapabilities,
    AllowedOutcome,
    Cost,
    ElicitationFormSessionMode,
    ElicitationSchema,
    Implementation,
    PermissionOption,
    SessionMode,
    SessionModeState,
    ToolCallUpdate,
    UsageUpdate,
)

MODES = SessionModeState(
    current_mode_id="auto",
    available_modes=[SessionMode(id="auto", name="Auto"), SessionMode(id="manual", name="Manual")],
)
OPTIONS = [
    PermissionOption(option_id="yes", name="Go ahead", kind="allow_once"),
    PermissionOption(option_id="ever", name="Always", kind="allow_always"),
    PermissionOption(option_id="no", name="Leave it", kind="reject_once"),
]
QUESTION: dict[str, Any] = {
    "colour": {
        "type": "string",
        "title": "Colour",
        "oneOf": [{"const": "r", "title": "Red"}, {"const": "b", "title": "Blue"}],
    },
    "why": {"type": "string", "title": "Why"},
}


class Unheard:
    """The parts of ``acp.Agent`` that it has; whoever calls another is told that there is none."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.modes: dict[str, str] = {}
        self.cost = 0.0
        self.calls = itertools.count(1)
        self.cancelled = asyncio.Event()
        self.client: Client

    def on_connect(self, conn: Client) -> None:
        self.client = conn

    async def initialize(self, protocol_version: int, *_: Any, **__: Any) -> InitializeResponse:
        return InitializeResponse(
            protocol_version=PROTOCOL_VERSION,
            agent_capabilities=AgentCapabilities(load_session=True),
            agent_info=Implementation(name="unheard-of", version="0.1"),
        )

    async def new_session(self, cwd: str, **_: Any) -> NewSessionResponse:
        session = f"conversation-{os.getpid()}"
        (self.folder / session).write_text("")
        self.modes[session] = "auto"
        return NewSessionResponse(session_id=session, modes=MODES)

    async def load_session(self, cwd: str, session_id: str, **_: Any) -> LoadSessionResponse:
        try:
            said = (self.folder / session_id).read_text().splitlines()
        except FileNotFoundError:
            raise RequestError.resource_not_found(session_id) from None
        for line in said:
            await self.client.session_update(session_id, update_user_message_text(line))
            await self.client.session_update(session_id, update_agent_message_text(f"you said {line}"))
        self.modes[session_id] = "auto"
        return LoadSessionResponse(modes=MODES)

    async def set_session_mode(self, session_id: str, mode_id: str, **_: Any) -> SetSessionModeResponse:
        self.modes[session_id] = mode_id
        return SetSessionModeResponse()

    async def cancel(self, session_id: str, **_: Any) -> None:
        self.cancelled.set()

    async def prompt(self, session_id: str, prompt: list[Any], **_: Any) -> PromptResponse:
        said = "".join(block.text for block in prompt if block.type == "text").strip()
        with (self.folder / session_id).open("a") as file:
            file.write(said.replace("\n", " ") + "\n")
        self.cancelled.clear()
        await self.client.session_update(session_id, update_agent_thought_text("let me see"))
        word, _sep, rest = said.partition(" ")
        if word == "run:":
            await self.run(session_id, rest)
        elif word == "ask":
            await self.ask(session_id)
        elif word == "sleep":
            await self.say(session_id, "asleep")
            await self.cancelled.wait()
        elif word == "fail":
            raise RequestError(-32603, "Internal error", {"details": "429 too many requests"})
        else:
            await self.say(session_id, f"you said {said}")
        self.cost += 0.1
        cost = Cost(amount=self.cost, currency="USD")
        await self.client.session_update(
            session_id, UsageUpdate(session_update="usage_update", used=100, size=1000, cost=cost)
        )
        return PromptResponse(stop_reason="cancelled" if self.cancelled.is_set() else "end_turn")

    async def say(self, session_id: str, text: str) -> None:
        for piece in text.split(" "):
            await self.client.session_update(session_id, update_agent_message_text(f"{piece} "))

    async def run(self, session_id: str, command: str) -> None:
        call = f"call-{next(self.calls)}"
        start = start_tool_call(call, command, kind="execute", status="pending", raw_input={"command": command})
        await self.client.session_update(session_id, start)
        if self.modes[session_id] != "auto":
            asked = await self.client.request_permission(session_id, ToolCallUpdate(tool_call_id=call), OPTIONS)
            if not isinstance(asked.outcome, AllowedOutcome) or asked.outcome.option_id == "no":
                await self.client.session_update(session_id, update_tool_call(call, status="failed"))
                await self.say(session_id, "then not")
                return
        process = await asyncio.create_subprocess_shell(
            command, stdout=asyncio.subprocess.PIPE, stdin=asyncio.subprocess.DEVNULL, start_new_session=True
        )
        printed = asyncio.ensure_future(process.communicate())
        stop = asyncio.ensure_future(self.cancelled.wait())
        await asyncio.wait({printed, stop}, return_when=asyncio.FIRST_COMPLETED)
        if not printed.done():
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
        stop.cancel()
        output = (await printed)[0].decode()
        shown = [tool_content(text_block(output))]
        await self.client.session_update(session_id, update_tool_call(call, status="completed", content=shown))
        await self.say(session_id, "done")

    async def ask(self, session_id: str) -> None:
        schema = ElicitationSchema.model_validate({"type": "object", "properties": QUESTION})
        form = ElicitationFormSessionMode(session_id=session_id, requested_schema=schema)
        told = await self.client.create_elicitation("Which one?", form)
        await self.say(session_id, f"{told.action} {getattr(told, 'content', None)}")


if __name__ == "__main__":
    asyncio.run(run_agent(cast(Any, Unheard(Path(sys.argv[1]))), use_unstable_protocol=True))
