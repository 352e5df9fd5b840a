"""A step in the words of the Messages API."""

import json
import secrets
from collections.abc import Iterator

from tests.fakes.loopback_steps import INPUT_TOKENS, OUTPUT_TOKENS, Json, event, pieces, said


class Messages:
    def speaks(self, path: str) -> bool:
        return path.endswith("/v1/messages")

    def model(self, path: str, body: Json) -> str | None:
        return body.get("model")

    def streamed(self, path: str, body: Json) -> bool:
        return bool(body.get("stream"))

    def conversation(self, body: Json) -> list[Json]:
        return body.get("messages") or []

    def tools(self, body: Json) -> tuple[str, ...]:
        return tuple(str(tool.get("name")) for tool in body.get("tools") or ())

    def aside(self, body: Json) -> Json | None:
        return None

    def events(self, step: Json, model: str | None) -> Iterator[tuple[bytes, float]]:
        for told, pause in events_of(step, model):
            yield event(told, told["type"]), pause

    def whole(self, step: Json, model: str | None) -> Json:
        message = message_of(step, model, blocks_of(step))
        message["stop_reason"] = stop_reason(step)
        message["usage"]["output_tokens"] = step.get("out", OUTPUT_TOKENS)
        return message

    def failure(self, status: int, kind: str, message: str) -> Json:
        return {"type": "error", "error": {"type": kind, "message": message}}


def blocks_of(step: Json) -> list[Json]:
    blocks: list[Json] = []
    if step.get("think"):
        blocks.append({"type": "thinking", "thinking": step["think"], "signature": "c2ln"})
    if (text := said(step)) is not None:
        blocks.append({"type": "text", "text": text})
    for tool in step.get("tools", ()):
        use = f"toolu_{secrets.token_hex(8)}"
        blocks.append({"type": "tool_use", "id": use, "name": tool["name"], "input": tool["input"]})
    return blocks


def message_of(step: Json, model: str | None, blocks: list[Json]) -> Json:
    usage = {"input_tokens": INPUT_TOKENS, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0}
    return {
        "id": f"msg_{secrets.token_hex(8)}",
        "type": "message",
        "role": "assistant",
        "model": model,
        "content": blocks,
        "stop_reason": None,
        "stop_sequence": None,
        "usage": usage | {"output_tokens": 1} | step.get("usage", {}),
    }


def stop_reason(step: Json) -> str:
    return str(step.get("stop") or ("tool_use" if step.get("tools") else "end_turn"))


def events_of(step: Json, model: str | None) -> Iterator[tuple[Json, float]]:
    yield {"type": "message_start", "message": message_of(step, model, [])}, 0.0
    for index, block in enumerate(blocks_of(step)):
        opened, deltas = opening(block, step)
        yield {"type": "content_block_start", "index": index, "content_block": opened}, 0.0
        for delta, pause in deltas:
            yield {"type": "content_block_delta", "index": index, "delta": delta}, pause
        yield {"type": "content_block_stop", "index": index}, 0.0
    ended = {"stop_reason": stop_reason(step), "stop_sequence": None}
    yield {"type": "message_delta", "delta": ended, "usage": {"output_tokens": step.get("out", OUTPUT_TOKENS)}}, 0.0
    yield {"type": "message_stop"}, 0.0


def opening(block: Json, step: Json) -> tuple[Json, list[tuple[Json, float]]]:
    match block["type"]:
        case "text":
            deltas = [({"type": "text_delta", "text": piece}, slow) for piece, slow in pieces(step)]
            return {"type": "text", "text": ""}, deltas
        case "thinking":
            thought = {"type": "thinking_delta", "thinking": block["thinking"]}
            signed = {"type": "signature_delta", "signature": block["signature"]}
            return {"type": "thinking", "thinking": "", "signature": ""}, [(thought, 0.0), (signed, 0.0)]
    partial = {"type": "input_json_delta", "partial_json": json.dumps(block["input"])}
    return block | {"input": {}}, [(partial, 0.0)]
