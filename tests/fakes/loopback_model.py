"""A pretended Messages API on loopback, so that a real agent runs without an account and says what a test wants.

What the model answers rides in the user's own text, between @@ and @@:

    Please @@{"steps": [{"text": "on it", "tools": [{"name": "Bash", "input": {"command": "ls"}}]}, {"text": "done"}]}@@

Each call answers with the next step; the practice agent reads the same directive. Inside another tool's input, where
the outer directive would end too early, a directive stands between @! and @!. As a module it serves until it is ended:

    python -m tests.fakes.loopback_model
"""

import base64
import hashlib
import json
import re
import secrets
import socket
import struct
import threading
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Self

Json = dict[str, Any]
OUTER = re.compile(r"@@(\{.*?\})@@", re.DOTALL)
INNER = re.compile(r"@!(\{.*?\})@!", re.DOTALL)
CREDENTIALS = {"authorization", "x-api-key"}
DEFAULT_STEP: Json = {"text": "ok"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """What one call asked; credentials are never kept."""

    method: str
    path: str
    model: str | None = None
    streamed: bool = False
    messages: int = 0
    tools: tuple[str, ...] = ()
    step: int = 0
    last: str = ""
    """The end of the last message, as JSON."""
    said: tuple[str, ...] = ()
    """The texts of all messages."""
    images: tuple[tuple[str, int, str], ...] = ()
    """Of all messages: media type, length and SHA-256 of each."""
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Chosen:
    """The step that answers a call."""

    step: Json
    position: int = 0
    key: str | None = None
    """Counts failures that pass after some times."""


class LoopbackModel:
    """A server on a free port of 127.0.0.1, its requests in `requests`. Use it as a context manager."""

    def __init__(self) -> None:
        self.requests: list[Request] = []
        self._closing = threading.Event()
        self._failures: Counter[tuple[str, int]] = Counter()
        self._lock = threading.Lock()
        self._server = _Server(self)
        self._thread = threading.Thread(
            target=self._server.serve_forever, args=(0.05,), name="loopback-model", daemon=True
        )

    @property
    def url(self) -> str:
        host, port = self._server.server_address[:2]
        return f"http://{host!s}:{port}"

    @property
    def calls(self) -> list[Request]:
        """The requests that asked the model for an answer."""
        return [one for one in self.requests if one.method == "POST" and one.path.split("?")[0].endswith("/messages")]

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._closing.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join(5)

    def wait(self, seconds: float) -> None:
        """Wait as a slow model would; closing the server ends every wait."""
        self._closing.wait(seconds)

    def note(self, request: Request) -> None:
        with self._lock:
            self.requests.append(request)

    def fails_now(self, chosen: Chosen) -> bool:
        fail = chosen.step.get("fail")
        if fail is None:
            return False
        times = fail.get("times")
        if times is None or chosen.key is None:
            return True
        with self._lock:
            self._failures[chosen.key, chosen.position] += 1
            return self._failures[chosen.key, chosen.position] <= int(times)


def choose(messages: list[Json]) -> Chosen:
    """The step for this conversation: the newest directive, and how many answers were given since it."""
    for at in range(len(messages) - 1, -1, -1):
        if messages[at].get("role") != "user":
            continue
        for text in reversed(texts(messages[at].get("content"))):
            found = OUTER.findall(text) or INNER.findall(text)
            if found:
                given = sum(1 for later in messages[at + 1 :] if later.get("role") == "assistant")
                return step_of(found[-1], given)
    return Chosen(step=DEFAULT_STEP)


def step_of(directive: str, given: int) -> Chosen:
    try:
        told = json.loads(directive)
    except ValueError as problem:
        return Chosen(step={"text": f"bad directive: {problem}"})
    steps = told.get("steps") or [told]
    key = None if told.get("id") is None else str(told["id"])
    if given < len(steps):
        return Chosen(step=steps[given], position=given, key=key)
    last = steps[-1] if told.get("loop") else {"text": told.get("final", "All done.")}
    return Chosen(step=last, position=given, key=key)


def texts(content: Any) -> list[str]:
    if isinstance(content, str):
        return [content]
    blocks = content if isinstance(content, list) else []
    return [str(block["text"]) for block in blocks if isinstance(block, dict) and block.get("type") == "text"]


def images(content: Any) -> Iterator[tuple[str, int, str]]:
    for block in content if isinstance(content, list) else []:
        if isinstance(block, dict) and block.get("type") == "image":
            data = base64.b64decode(block["source"]["data"])
            yield block["source"]["media_type"], len(data), hashlib.sha256(data).hexdigest()


def blocks_of(step: Json) -> list[Json]:
    blocks: list[Json] = []
    if step.get("think"):
        blocks.append({"type": "thinking", "thinking": step["think"], "signature": "c2ln"})
    if step.get("text") is not None:
        blocks.append({"type": "text", "text": str(step["text"]) * int(step.get("mul", 1))})
    for tool in step.get("tools", ()):
        use = f"toolu_{secrets.token_hex(8)}"
        blocks.append({"type": "tool_use", "id": use, "name": tool["name"], "input": tool["input"]})
    return blocks


def message_of(step: Json, model: str | None, blocks: list[Json]) -> Json:
    usage = {"input_tokens": 1000, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0, "output_tokens": 1}
    return {
        "id": f"msg_{secrets.token_hex(8)}",
        "type": "message",
        "role": "assistant",
        "model": model,
        "content": blocks,
        "stop_reason": None,
        "stop_sequence": None,
        "usage": usage | step.get("usage", {}),
    }


def stop_reason(step: Json) -> str:
    return str(step.get("stop") or ("tool_use" if step.get("tools") else "end_turn"))


def events_of(step: Json, model: str | None) -> Iterator[tuple[Json, float]]:
    """The events of a streamed answer, each with the seconds to wait after it."""
    yield {"type": "message_start", "message": message_of(step, model, [])}, 0.0
    for index, block in enumerate(blocks_of(step)):
        opened, deltas = opening(block, step)
        yield {"type": "content_block_start", "index": index, "content_block": opened}, 0.0
        for delta, pause in deltas:
            yield {"type": "content_block_delta", "index": index, "delta": delta}, pause
        yield {"type": "content_block_stop", "index": index}, 0.0
    ended = {"stop_reason": stop_reason(step), "stop_sequence": None}
    yield {"type": "message_delta", "delta": ended, "usage": {"output_tokens": step.get("out", 100)}}, 0.0
    yield {"type": "message_stop"}, 0.0


def opening(block: Json, step: Json) -> tuple[Json, list[tuple[Json, float]]]:
    match block["type"]:
        case "text":
            text, slow = block["text"], float(step.get("slow", 0.0))
            size = max(1, len(text) // int(step.get("chunks", 2)))
            pieces = [text[at : at + size] for at in range(0, len(text), size)]
            return {"type": "text", "text": ""}, [({"type": "text_delta", "text": piece}, slow) for piece in pieces]
        case "thinking":
            thought = {"type": "thinking_delta", "thinking": block["thinking"]}
            signed = {"type": "signature_delta", "signature": block["signature"]}
            return {"type": "thinking", "thinking": "", "signature": ""}, [(thought, 0.0), (signed, 0.0)]
    partial = {"type": "input_json_delta", "partial_json": json.dumps(block["input"])}
    return block | {"input": {}}, [(partial, 0.0)]


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 64

    def __init__(self, model: LoopbackModel) -> None:
        self.loopback = model
        super().__init__(("127.0.0.1", 0), _Handler)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """An agent that is killed leaves half-read answers behind: that is a test, not an error of the server."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Server

    def log_message(self, format: str, *args: Any) -> None:
        pass

    def do_HEAD(self) -> None:
        self.server.loopback.note(Request(method="HEAD", path=self.path))
        self.answer(200, b"")

    def do_GET(self) -> None:
        self.server.loopback.note(Request(method="GET", path=self.path))
        self.answer_json(404, {"type": "error", "error": {"type": "not_found_error", "message": "nothing here"}})

    def do_POST(self) -> None:
        raw = self.rfile.read(int(self.headers.get("content-length") or 0))
        try:
            body = json.loads(raw)
        except ValueError:
            body = {}
        messages = body.get("messages") or []
        chosen = choose(messages)
        self.server.loopback.note(
            Request(
                method="POST",
                path=self.path,
                model=body.get("model"),
                streamed=bool(body.get("stream")),
                messages=len(messages),
                tools=tuple(str(tool.get("name")) for tool in body.get("tools") or ()),
                step=chosen.position,
                last=json.dumps(messages[-1])[-2000:] if messages else "",
                said=tuple(text for one in messages for text in texts(one.get("content"))),
                images=tuple(image for one in messages for image in images(one.get("content"))),
                headers={name.lower(): v for name, v in self.headers.items() if name.lower() not in CREDENTIALS},
            )
        )
        if "count_tokens" in self.path:
            return self.answer_json(200, {"input_tokens": 1234})
        if "/v1/messages" not in self.path:
            return self.answer_json(200, {})
        self.server.loopback.wait(float(chosen.step.get("delay", 0.0)))
        try:
            if self.server.loopback.fails_now(chosen):
                self.fail(chosen.step["fail"], body.get("model"))
            elif body.get("stream"):
                self.stream(chosen.step, body.get("model"))
            else:
                message = message_of(chosen.step, body.get("model"), blocks_of(chosen.step))
                message["stop_reason"] = stop_reason(chosen.step)
                message["usage"]["output_tokens"] = chosen.step.get("out", 100)
                self.answer_json(200, message, chosen.step.get("headers", {}))
        except (BrokenPipeError, ConnectionResetError):
            self.close_connection = True

    # ---------------------------------------------------------------------------------------------- answers

    def answer(self, status: int, data: bytes, headers: Mapping[str, str] | None = None) -> None:
        self.send_response(status)
        self.send_header("content-length", str(len(data)))
        self.send_header("request-id", "req_loopback")
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(data)

    def answer_json(self, status: int, told: Json, headers: Mapping[str, str] | None = None) -> None:
        self.answer(status, json.dumps(told).encode(), {"content-type": "application/json", **(headers or {})})

    def open_stream(self, headers: Mapping[str, str] | None = None) -> None:
        self.close_connection = True
        self.send_response(200)
        for name, value in {"content-type": "text/event-stream", "connection": "close", **(headers or {})}.items():
            self.send_header(name, value)
        self.end_headers()

    def event(self, told: Json) -> None:
        self.wfile.write(f"event: {told['type']}\ndata: {json.dumps(told)}\n\n".encode())
        self.wfile.flush()

    def stream(self, step: Json, model: str | None) -> None:
        self.open_stream({"request-id": "req_loopback", **step.get("headers", {})})
        for told, pause in events_of(step, model):
            self.event(told)
            if pause:
                self.server.loopback.wait(pause)

    def fail(self, told: Json, model: str | None) -> None:
        match told.get("kind"):
            case "reset":
                # Lingering for no time makes the kernel send a reset instead of a polite end.
                self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                self.close_connection = True
            case "midcut":
                self.open_stream()
                for one, _ in list(events_of({"text": "partial words"}, model))[:3]:
                    self.event(one)
            case "stall":
                self.server.loopback.wait(float(told.get("secs", 60)))
                self.close_connection = True
            case "html":
                self.answer(int(told.get("status", 502)), b"<html>bad gateway</html>", {"content-type": "text/html"})
            case "badsse":
                self.open_stream()
                self.wfile.write(b"event: message_start\ndata: {not json\n\n")
            case "sseerror":
                self.open_stream()
                self.event({"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}})
            case _:
                problem = {"type": told.get("type", "api_error"), "message": told.get("message", "loopback failure")}
                self.answer_json(int(told["status"]), {"type": "error", "error": problem}, told.get("headers", {}))


def main() -> None:
    with LoopbackModel() as model:
        print(model.url, flush=True)
        try:
            threading.Event().wait()
        except KeyboardInterrupt:
            pass


if __name__ == "__main__":
    main()
