"""A step in the words of the Gemini API."""

import json
import re
import secrets
from collections.abc import Iterator
from typing import Any

from tests.fakes.loopback_steps import Json, event, merged, pieces, tokens

CALL = re.compile(r"/models/([^/:]+):(stream)?[gG]enerateContent$")
NAMES = {400: "INVALID_ARGUMENT", 401: "UNAUTHENTICATED", 403: "PERMISSION_DENIED", 404: "NOT_FOUND"}
NAMES |= {429: "RESOURCE_EXHAUSTED", 500: "INTERNAL", 503: "UNAVAILABLE"}


class Gemini:
    def speaks(self, path: str) -> bool:
        return CALL.search(path) is not None

    def model(self, path: str, body: Json) -> str | None:
        found = CALL.search(path)
        return found[1] if found else None

    def streamed(self, path: str, body: Json) -> bool:
        found = CALL.search(path)
        return bool(found and found[2])

    def conversation(self, body: Json) -> list[Json]:
        return merged(
            [
                {"role": "assistant" if one.get("role") == "model" else "user", "content": blocks(one)}
                for one in body.get("contents") or ()
            ]
        )

    def tools(self, body: Json) -> tuple[str, ...]:
        declared = [one for tool in body.get("tools") or () for one in tool.get("functionDeclarations") or ()]
        return tuple(str(one.get("name")) for one in declared)

    def aside(self, body: Json) -> Json | None:
        # Which model is to answer, who speaks next: its own questions come with the form of their answer.
        settings = body.get("generationConfig") or {}
        form = settings.get("responseJsonSchema") or settings.get("responseSchema")
        return None if form is None else {"text": json.dumps(instance(form))}

    def events(self, step: Json, model: str | None) -> Iterator[tuple[bytes, float]]:
        head = {"modelVersion": model, "responseId": secrets.token_hex(8)}
        for part, pause in parts(step):
            content = {"role": "model", "parts": [part]}
            yield event(head | {"candidates": [{"index": 0, "content": content}]}), pause
        ended = {"index": 0, "content": {"role": "model", "parts": [{"text": ""}]}, "finishReason": finish(step)}
        yield event(head | {"candidates": [ended], "usageMetadata": usage(step)}), 0.0

    def whole(self, step: Json, model: str | None) -> Json:
        content = {"role": "model", "parts": [part for part, _ in parts(step | {"chunks": 1})]}
        candidate = {"index": 0, "content": content, "finishReason": finish(step)}
        head = {"modelVersion": model, "responseId": secrets.token_hex(8)}
        return head | {"candidates": [candidate], "usageMetadata": usage(step)}

    def failure(self, status: int, kind: str, message: str) -> Json:
        return {"error": {"code": status, "message": message, "status": NAMES.get(status, "UNKNOWN")}}


def parts(step: Json) -> Iterator[tuple[Json, float]]:
    if step.get("think"):
        yield {"text": step["think"], "thought": True}, 0.0
    for piece, pause in pieces(step):
        yield {"text": piece}, pause
    for tool in step.get("tools", ()):
        yield {"functionCall": {"name": tool["name"], "args": tool["input"]}}, 0.0


def blocks(content: Json) -> list[Json]:
    made: list[Json] = []
    for part in content.get("parts") or ():
        if "inlineData" in part:
            data = part["inlineData"]
            source = {"media_type": data["mimeType"], "data": data["data"]}
            made.append({"type": "image", "source": source})
        elif "functionResponse" in part:
            made.append({"type": "tool_result", "content": part["functionResponse"].get("response")})
        elif part.get("text") and not part.get("thought"):
            made.append({"type": "text", "text": part["text"]})
    return made


def instance(form: Json) -> Any:
    """The least that a JSON schema accepts."""
    if form.get("enum"):
        return form["enum"][0]
    match str(form.get("type", "object")).lower():
        case "object":
            return {name: instance(form["properties"][name]) for name in form.get("required") or ()}
        case "array":
            return []
        case "string":
            return "so"
        case "boolean":
            return False
    return 0


def finish(step: Json) -> str:
    return str(step.get("stop") or "STOP")


def usage(step: Json) -> Json:
    taken, given = tokens(step)
    return {"promptTokenCount": taken, "candidatesTokenCount": given, "totalTokenCount": taken + given}
