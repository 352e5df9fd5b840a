"""A step in the words of OpenAI's responses, which Codex speaks."""

import json
import secrets
from collections.abc import Iterator

from tests.fakes.loopback_steps import Json, event, image_block, merged, pieces, said, tokens


class Responses:
    def speaks(self, path: str) -> bool:
        return path.endswith("/responses")

    def model(self, path: str, body: Json) -> str | None:
        return body.get("model")

    def streamed(self, path: str, body: Json) -> bool:
        return bool(body.get("stream"))

    def conversation(self, body: Json) -> list[Json]:
        told = body.get("input") or []
        if isinstance(told, str):
            return [{"role": "user", "content": told}]
        return merged([message_of(item) for item in told])

    def tools(self, body: Json) -> tuple[str, ...]:
        return tuple(str(tool.get("name") or tool.get("type")) for tool in body.get("tools") or ())

    def aside(self, body: Json) -> Json | None:
        return None

    def events(self, step: Json, model: str | None) -> Iterator[tuple[bytes, float]]:
        whole = self.whole(step, model)

        def told(kind: str, **more: object) -> bytes:
            return event({"type": kind, **more}, kind)

        yield told("response.created", response={"id": whole["id"], "output": []}), 0.0
        for index, item in enumerate(whole["output"]):
            place = {"item_id": item["id"], "output_index": index}
            yield told("response.output_item.added", output_index=index, item=begun(item)), 0.0
            if item["type"] == "message":
                for piece, pause in pieces(step):
                    yield told("response.output_text.delta", content_index=0, delta=piece, **place), pause
            elif item["type"] == "reasoning":
                yield told("response.reasoning_summary_part.added", summary_index=0, **place), 0.0
                yield told("response.reasoning_summary_text.delta", summary_index=0, delta=step["think"], **place), 0.0
            yield told("response.output_item.done", output_index=index, item=item), 0.0
        yield told("response.completed", response=whole), 0.0

    def whole(self, step: Json, model: str | None) -> Json:
        taken, given = tokens(step)
        usage = {"input_tokens": taken, "output_tokens": given, "total_tokens": taken + given}
        cached = int(step.get("usage", {}).get("cache_read_input_tokens", 0))
        usage |= {"input_tokens_details": {"cached_tokens": cached}, "output_tokens_details": {"reasoning_tokens": 0}}
        head = {"id": f"resp_{secrets.token_hex(8)}", "object": "response", "created_at": 0, "model": model}
        return head | {"status": "completed", "output": list(items(step)), "usage": usage}

    def failure(self, status: int, kind: str, message: str) -> Json:
        return {"error": {"message": message, "type": kind, "code": kind}}


def items(step: Json) -> Iterator[Json]:
    if step.get("think"):
        summary = [{"type": "summary_text", "text": step["think"]}]
        yield {"type": "reasoning", "id": f"rs_{secrets.token_hex(8)}", "summary": summary, "encrypted_content": "c2ln"}
    if (text := said(step)) is not None:
        content = [{"type": "output_text", "text": text, "annotations": []}]
        head = {"type": "message", "id": f"msg_{secrets.token_hex(8)}", "role": "assistant", "status": "completed"}
        yield head | {"content": content}
    for tool in step.get("tools", ()):
        names = {"call_id": f"call_{secrets.token_hex(8)}", "name": tool["name"]}
        if isinstance(tool["input"], str):
            yield {"type": "custom_tool_call", "id": f"ctc_{secrets.token_hex(8)}", **names, "input": tool["input"]}
        else:
            made = {"type": "function_call", "id": f"fc_{secrets.token_hex(8)}", **names}
            yield made | {"arguments": json.dumps(tool["input"])}


def begun(item: Json) -> Json:
    """An item as it is before anything of it was said."""
    empty: Json = {"content": [], "status": "in_progress"} if item["type"] == "message" else {}
    empty |= {"summary": []} if item["type"] == "reasoning" else {}
    empty |= {"arguments": ""} if item["type"] == "function_call" else {}
    return item | empty


def message_of(item: Json) -> Json:
    """What the agent sends back for a call is the user's side; the model's own items are the other."""
    kind = item.get("type", "message")
    if kind == "message":
        own = item.get("role") == "assistant"
        return {"role": "assistant" if own else "user", "content": blocks(item)}
    if kind.endswith("_output"):
        return {"role": "user", "content": [{"type": "tool_result", "content": item.get("output")}]}
    return {"role": "assistant", "content": []}


def blocks(item: Json) -> list[Json]:
    content = item.get("content")
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    made: list[Json] = []
    for part in content or ():
        if part.get("type") == "input_image":
            made.append(image_block(part["image_url"]))
        elif "text" in part:
            made.append({"type": "text", "text": part["text"]})
    return made
