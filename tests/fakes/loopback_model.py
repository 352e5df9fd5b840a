"""A pretended model on loopback, so that a real agent runs without an account and says what a test wants.

It speaks as each provider that an agent here asks: the Messages API, OpenAI's chat completions and responses, the
Gemini API; which one is told by the path. What the model answers rides in the user's own text, between @@ and @@:

    Please @@{"steps": [{"text": "on it", "tools": [{"name": "Bash", "input": {"command": "ls"}}]}, {"text": "done"}]}@@

Each call answers with the next step; the practice agent reads the same directive. Inside another tool's input, where
the outer directive would end too early, a directive stands between @! and @!. As a module it serves until it is ended:

    python -m tests.fakes.loopback_model
"""

import base64
import hashlib
import json
import socket
import struct
import threading
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import islice
from types import TracebackType
from typing import Any, Self

from tests.fakes.loopback_chat import Chat
from tests.fakes.loopback_gemini import Gemini
from tests.fakes.loopback_messages import Messages
from tests.fakes.loopback_responses import Responses
from tests.fakes.loopback_steps import Chosen, Dialect, Json, choose, event, texts

DIALECTS: Sequence[Dialect] = (Messages(), Chat(), Responses(), Gemini())
CREDENTIALS = {"authorization", "x-api-key", "x-goog-api-key"}


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
    asks: bool = False
    """Whether it asked the model for the conversation's next answer."""


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
        return [one for one in self.requests if one.asks]

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


def images(content: Any) -> Iterator[tuple[str, int, str]]:
    for block in content if isinstance(content, list) else []:
        if isinstance(block, dict) and block.get("type") == "image":
            data = base64.b64decode(block["source"]["data"])
            yield block["source"]["media_type"], len(data), hashlib.sha256(data).hexdigest()


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
        path = self.path.split("?")[0]
        dialect = next((one for one in DIALECTS if one.speaks(path)), None)
        if dialect is None:
            self.note(path, body, Messages(), Chosen(step={}), asks=False)
            # Tokens are counted for their own sake, and there are other calls that ask for nothing.
            counted = "count_tokens" in path or path.endswith(":countTokens")
            return self.answer_json(200, {"input_tokens": 1234, "totalTokens": 1234} if counted else {})
        aside = dialect.aside(body)
        chosen = choose(dialect.conversation(body)) if aside is None else Chosen(step=aside)
        self.note(path, body, dialect, chosen, asks=aside is None)
        model = dialect.model(path, body)
        self.server.loopback.wait(float(chosen.step.get("delay", 0.0)))
        try:
            if self.server.loopback.fails_now(chosen):
                self.fail(chosen.step["fail"], dialect, model)
            elif dialect.streamed(path, body):
                self.stream(dialect.events(chosen.step, model), chosen.step.get("headers", {}))
            else:
                self.answer_json(200, dialect.whole(chosen.step, model), chosen.step.get("headers", {}))
        except (BrokenPipeError, ConnectionResetError):
            self.close_connection = True

    def note(self, path: str, body: Json, dialect: Dialect, chosen: Chosen, *, asks: bool) -> None:
        messages = dialect.conversation(body)
        self.server.loopback.note(
            Request(
                method="POST",
                path=self.path,
                model=dialect.model(path, body),
                streamed=dialect.streamed(path, body),
                messages=len(messages),
                tools=dialect.tools(body),
                step=chosen.position,
                last=json.dumps(messages[-1])[-2000:] if messages else "",
                said=tuple(text for one in messages for text in texts(one.get("content"))),
                images=tuple(image for one in messages for image in images(one.get("content"))),
                headers={name.lower(): v for name, v in self.headers.items() if name.lower() not in CREDENTIALS},
                asks=asks,
            )
        )

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

    def send(self, told: bytes) -> None:
        self.wfile.write(told)
        self.wfile.flush()

    def stream(self, told: Iterator[tuple[bytes, float]], headers: Mapping[str, str]) -> None:
        self.open_stream({"request-id": "req_loopback", **headers})
        for one, pause in told:
            self.send(one)
            if pause:
                self.server.loopback.wait(pause)

    def fail(self, told: Json, dialect: Dialect, model: str | None) -> None:
        match told.get("kind"):
            case "reset":
                # Lingering for no time makes the kernel send a reset instead of a polite end.
                self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                self.close_connection = True
            case "midcut":
                self.open_stream()
                for one, _ in islice(dialect.events({"text": "partial words"}, model), 3):
                    self.send(one)
            case "stall":
                self.server.loopback.wait(float(told.get("secs", 60)))
                self.close_connection = True
            case "html":
                self.answer(int(told.get("status", 502)), b"<html>bad gateway</html>", {"content-type": "text/html"})
            case "badsse":
                self.open_stream()
                self.send(b"event: message_start\ndata: {not json\n\n")
            case "sseerror":
                self.open_stream()
                self.send(event(dialect.failure(529, "overloaded_error", "Overloaded"), "error"))
            case _:
                kind, message = told.get("type", "api_error"), told.get("message", "loopback failure")
                problem = dialect.failure(int(told["status"]), kind, message)
                self.answer_json(int(told["status"]), problem, told.get("headers", {}))


def main() -> None:
    with LoopbackModel() as model:
        print(model.url, flush=True)
        try:
            threading.Event().wait()
        except KeyboardInterrupt:
            pass


if __name__ == "__main__":
    main()
