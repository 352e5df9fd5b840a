"""A step in the words of OpenAI's chat completions, which opencode and many others speak with their providers."""

import json
import secrets
from collections.abc import Iterator
from typing import Any

from tests.fakes.loopback_steps import Json, event, image_block, pieces, said, texts, tokens


class Chat:
    def speaks(self, path: str) -> bool:
        return path.endswith("/chat/completions")

    def model(self, path: str, body: Json) -> str | None:
        return body.get("model")

    def streamed(self, path: str, body: Json) -> bool:
        return bool(body.get("stream"))

    def conversation(self, body: Json) -> list[Json]:
        return [one | {"content": blocks(one.get("content"))} for one in body.get("messages") or ()]

    def tools(self, body: Json) -> tuple[str, ...]:
        return tuple(str(tool.get("function", {}).get("name")) for tool in body.get("tools") or ())

    def aside(self, body: Json) -> Json | None:
        # A conversation's title is asked for with no tools at hand, and its text holds the directive too.
        return None if body.get("tools") else {"text": "A title"}

    def events(self, step: Json, model: str | None) -> Iterator[tuple[bytes, float]]:
        head = {"id": f"chatcmpl-{secrets.token_hex(8)}", "object": "chat.completion.chunk", "created": 0}
        head |= {"model": model}

        def chunk(delta: Json, finish: str | None = None) -> bytes:
            return event(head | {"choices": [{"index": 0, "delta": delta, "finish_reason": finish}]})

        yield chunk({"role": "assistant", "content": ""}), 0.0
        if step.get("think"):
            yield chunk({"reasoning_content": step["think"]}), 0.0
        for piece, pause in pieces(step):
            yield chunk({"content": piece}), pause
        for call in calls(step):
            yield chunk({"tool_calls": [call]}), 0.0
        yield chunk({}, finish(step)), 0.0
        yield event(head | {"choices": [], "usage": usage(step)}), 0.0
        yield b"data: [DONE]\n\n", 0.0

    def whole(self, step: Json, model: str | None) -> Json:
        message: Json = {"role": "assistant", "content": said(step)}
        if made := calls(step):
            message["tool_calls"] = made
        choice = {"index": 0, "message": message, "finish_reason": finish(step)}
        head = {"id": f"chatcmpl-{secrets.token_hex(8)}", "object": "chat.completion", "created": 0, "model": model}
        return head | {"choices": [choice], "usage": usage(step)}

    def failure(self, status: int, kind: str, message: str) -> Json:
        return {"error": {"message": message, "type": kind, "code": kind}}


def blocks(content: Any) -> list[Json]:
    made: list[Json] = [{"type": "text", "text": text} for text in texts(content)]
    for part in content if isinstance(content, list) else []:
        if part.get("type") == "image_url":
            made.append(image_block(part["image_url"]["url"]))
    return made


def calls(step: Json) -> list[Json]:
    return [
        {
            "index": index,
            "id": f"call_{secrets.token_hex(8)}",
            "type": "function",
            "function": {"name": tool["name"], "arguments": json.dumps(tool["input"])},
        }
        for index, tool in enumerate(step.get("tools", ()))
    ]


def finish(step: Json) -> str:
    return str(step.get("stop") or ("tool_calls" if step.get("tools") else "stop"))


def usage(step: Json) -> Json:
    taken, given = tokens(step)
    return {"prompt_tokens": taken, "completion_tokens": given, "total_tokens": taken + given}
