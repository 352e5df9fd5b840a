"""An agent on the Agent Client Protocol, played by a test: what it says in one word each, what it was asked."""

import json
from typing import Any

from coordinator.drivers.acp import AcpDriver
from coordinator.drivers.base import (
    AgentEvent,
    Answer,
    DecisionAsked,
    Reply,
    SessionReady,
    Start,
)
from store.vocab import TurnId

Json = dict[str, Any]
MODES = {
    "currentModeId": "auto",
    "availableModes": [{"id": id, "name": id.title()} for id in ("auto", "default", "acceptEdits", "plan")],
}
MODELS = {
    "currentModelId": "small",
    "availableModels": [{"modelId": "small", "name": "Small"}, {"modelId": "large-2", "name": "Large"}],
}
WENT_ON = {"id": "hs-session on old", "result": {"modes": MODES}}
CAN = {"loadSession": True, "promptCapabilities": {"image": True}}


class Scene:
    """A driver, and an agent played by the test."""

    def __init__(self, **start: Any) -> None:
        self.driver = AcpDriver("i")
        told = {"program": "/bin/agent", "session": "", "cwd": "/tree", **start}
        self.argv = self.driver.argv(Start(**told))

    def feed(self, line: Json) -> list[AgentEvent]:
        return list(self.driver.feed(json.dumps({"jsonrpc": "2.0", **line}).encode() + b"\n"))

    def hello(self, name: str = "unheard-of", version: str = "1.2.3", **can: Any) -> list[AgentEvent]:
        info = {"name": name, "version": version}
        result = {"protocolVersion": 1, "agentInfo": info, "agentCapabilities": {**CAN, **can}}
        return self.feed({"id": "hs-initialize", "result": result})

    def session(self, **result: Any) -> list[AgentEvent]:
        return self.feed({"id": "hs-session", "result": {"sessionId": "s1", **result}})

    def done(self, step: str, error: Json | None = None) -> list[AgentEvent]:
        return self.feed({"id": step, **({"error": error} if error else {"result": {}})})

    def ready(self, name: str = "unheard-of", **result: Any) -> "Scene":
        self.hello(name)
        self.session(**{"modes": MODES, **result})
        assert any(isinstance(event, SessionReady) for event in self.done("hs-mode")) or not result.get("modes", True)
        return self

    def turn(self, turn: str = "t1", text: str = "hi") -> "Scene":
        self.driver.turn(TurnId(turn), text)
        return self

    def update(self, what: str, /, **more: Any) -> list[AgentEvent]:
        return self.feed(
            {"method": "session/update", "params": {"sessionId": "s1", "update": {"sessionUpdate": what, **more}}}
        )

    def permission(self, call: Json, options: list[tuple[str, str, str]], id: int | str = 7) -> DecisionAsked:
        told = [{"optionId": option, "name": name, "kind": kind} for option, name, kind in options]
        params = {"sessionId": "s1", "toolCall": {"toolCallId": "c", **call}, "options": told}
        events = self.feed({"id": id, "method": "session/request_permission", "params": params})
        return next(event for event in events if isinstance(event, DecisionAsked))

    def form(self, properties: Json, message: str = "Tell me") -> DecisionAsked:
        params = {"sessionId": "s1", "message": message, "requestedSchema": {"properties": properties}}
        events = self.feed({"id": "f", "method": "elicitation/create", "params": {"mode": "form", **params}})
        return next(event for event in events if isinstance(event, DecisionAsked))

    def answer(self, request: str, answer: Answer) -> Any:
        line = json.loads(self.driver.answer(request, answer))
        return line["id"], line["result"]


def asked_for(events: list[AgentEvent]) -> dict[str, tuple[str, Json]]:
    lines = {event.id: json.loads(event.data) for event in events if isinstance(event, Reply)}
    return {id: (line["method"], line["params"]) for id, line in lines.items()}


def of(events: list[AgentEvent], kind: type) -> list[Any]:
    return [event for event in events if isinstance(event, kind)]
