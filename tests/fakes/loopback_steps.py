"""What a pretended model answers, before it is said in any provider's words: the directive in the user's own text.

A dialect brings a provider's conversation into one form, `role` (`user` or `assistant`, one of the latter for each
answer that was given) and `content` (text or blocks of text and image), and says a step in that provider's events.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

Json = dict[str, Any]
OUTER = re.compile(r"@@(\{.*?\})@@", re.DOTALL)
INNER = re.compile(r"@!(\{.*?\})@!", re.DOTALL)
DEFAULT_STEP: Json = {"text": "ok"}
INPUT_TOKENS = 1000
OUTPUT_TOKENS = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Chosen:
    """The step that answers a call."""

    step: Json
    position: int = 0
    key: str | None = None
    """Counts failures that pass after some times."""


class Dialect(Protocol):
    """One provider's words. Pure: what is waited for and how it fails is the server's affair."""

    def speaks(self, path: str) -> bool:
        """Whether a call of this path asks the model for an answer."""
        ...

    def model(self, path: str, body: Json) -> str | None: ...

    def streamed(self, path: str, body: Json) -> bool: ...

    def conversation(self, body: Json) -> list[Json]: ...

    def tools(self, body: Json) -> tuple[str, ...]: ...

    def aside(self, body: Json) -> Json | None:
        """The step for a call that is no part of the conversation; None where it is one."""
        ...

    def events(self, step: Json, model: str | None) -> Iterator[tuple[bytes, float]]:
        """The events of a streamed answer, each with the seconds to wait after it."""
        ...

    def whole(self, step: Json, model: str | None) -> Json: ...

    def failure(self, status: int, kind: str, message: str) -> Json: ...


def choose(messages: Sequence[Json]) -> Chosen:
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


def said(step: Json) -> str | None:
    """The text of a step: repeated so many times, and what stands behind it once."""
    return None if step.get("text") is None else str(step["text"]) * int(step.get("mul", 1)) + str(step.get("tail", ""))


def pieces(step: Json) -> Iterator[tuple[str, float]]:
    """Its text as it is streamed, with the seconds after each piece."""
    text, slow = said(step) or "", float(step.get("slow", 0.0))
    size = max(1, len(text) // int(step.get("chunks", 2)))
    return ((text[at : at + size], slow) for at in range(0, len(text), size))


def tokens(step: Json) -> tuple[int, int]:
    """What it is said to have used: in and out."""
    usage = step.get("usage", {})
    return int(usage.get("input_tokens", INPUT_TOKENS)), int(step.get("out", OUTPUT_TOKENS))


def event(told: Mapping[str, Any], name: str = "") -> bytes:
    """One server-sent event."""
    return (f"event: {name}\n" if name else "").encode() + b"data: " + json.dumps(told).encode() + b"\n\n"


def image_block(url: str) -> Json:
    """From a ``data:`` address, as the providers other than Anthropic have images."""
    head, _, data = url.partition(",")
    return {"type": "image", "source": {"media_type": head.removeprefix("data:").partition(";")[0], "data": data}}


def merged(told: Sequence[Json]) -> list[Json]:
    """With what one answer was made of in one: some providers have each part of it as a message of its own."""
    made: list[Json] = []
    for one in told:
        if made and one["role"] == "assistant" == made[-1]["role"]:
            made[-1] = {"role": "assistant", "content": [*made[-1]["content"], *one["content"]]}
        else:
            made.append(one)
    return made
