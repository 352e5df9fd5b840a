"""Reads Claude Code's own session transcripts: ``projects/<folder>/<session>.jsonl``, and its helpers' files beside it.

Measured on 2.1.197 and 2.1.332. One line is one block of an answer; all blocks of an answer repeat its usage. A resumed
session goes on in its file; a forked one has a file of its own that begins with the same lines under another session.
The newer generation also keeps each request to the model, which makes files twelve times as large: bookkeeping, as are
attachments and the queue.
"""

import re
from collections.abc import Iterable, Sequence
from typing import Any, Final

import msgspec
from msgspec import Struct, field

from coordinator.drivers import base
from coordinator.drivers.claude_messages import SYNTHETIC
from coordinator.drivers.claude_results import failure_of
from coordinator.drivers.claude_state import PlanItem
from coordinator.drivers.claude_tools import PLAN_TOOLS, apply_task_call, output_text, plan_items, title_of, todo_items
from coordinator.drivers.json_fields import Json, mapping, text, whole
from coordinator.prices import Tokens, count
from coordinator.review.importing import decoding
from coordinator.review.importing.said import (
    About,
    Beginning,
    Begins,
    Ending,
    Ends,
    Happens,
    Helper,
    Line,
    Said,
    Spends,
    key,
)
from store.vocab import Millis, TurnResultKind, TurnSource

LOCAL: Final = "local-command"
"""Subtype of a turn that the agent's program answered by itself: no model was asked."""
COMPACT: Final = "/compact"
"""The one command that the program answers by itself and that asks a model all the same."""
BOOKKEEPING: Final = frozenset(
    {
        "agent-color", "agent-name", "agent-setting", "ai-title", "api-request", "api-request-blob",
        "api-request-shape", "atis-latch", "attribution-snapshot", "content-replacement", "cost-state",
        "custom-title", "file-history-delta", "file-history-snapshot", "last-prompt", "mode", "permission-mode",
        "pr-link", "progress", "queue-operation", "summary", "tag", "tools-used", "worktree-state",
    }
)  # fmt: skip
"""Kinds of line that are no part of what was said and done."""
_SILENT: Final = frozenset({"stop_hook_summary", "microcompact_boundary", "file_snapshot", "bridge_status"})
_TAG: Final = re.compile(
    r"<(command-name|command-args|local-command-stdout|local-command-stderr|bash-[a-z]+)>(.*?)</\1>", re.S
)
_INTERRUPTED: Final = "[Request interrupted by user"
_STEM: Final = re.compile(r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}\Z")
_CALLS: Final = ("Agent", "Task")


class _Message(msgspec.Struct, gc=False):
    id: str | None = None
    model: str | None = None
    content: msgspec.Raw = msgspec.Raw()
    usage: msgspec.Raw = msgspec.Raw()


class _Line(msgspec.Struct, rename="camel", gc=False):
    type: str = ""
    subtype: str | None = None
    uuid: str | None = None
    timestamp: Any = None
    message: _Message | None = None
    content: msgspec.Raw = msgspec.Raw()
    tool_use_result: msgspec.Raw = msgspec.Raw()
    attachment: msgspec.Raw = msgspec.Raw()
    compact_metadata: msgspec.Raw = msgspec.Raw()
    origin: msgspec.Raw = msgspec.Raw()
    is_sidechain: Any = None
    is_meta: Any = None
    is_compact_summary: Any = None
    is_api_error_message: Any = None
    api_error_status: Any = None
    api_block_index: Any = None
    error: Any = None
    request_id: Any = None
    duration_ms: Any = None
    permission_mode: Any = None
    retry_attempt: Any = None
    max_retries: Any = None
    retry_in_ms: Any = None


class _Detail(msgspec.Struct, rename="camel", gc=False):
    """What is kept of a tool's structured result; the rest is its output once more, or the whole file before."""

    structured_patch: Any = None
    file_path: Any = None
    exit_code: Any = None
    interrupted: Any = None
    background_task_id: Any = None
    agent_id: Any = None


class _Head(msgspec.Struct, rename="camel", gc=False):
    type: str = ""
    session_id: Any = None
    cwd: Any = None
    git_branch: Any = None
    version: Any = None
    timestamp: Any = None
    message: Any = None
    uuid: Any = None
    is_api_error_message: Any = None


_LINES: Final = msgspec.json.Decoder(_Line)
_DETAIL_OF: Final = msgspec.json.Decoder(_Detail)
_DETAILS: Final = (
    ("structuredPatch", "structured_patch"),
    ("filePath", "file_path"),
    ("exitCode", "exit_code"),
    ("interrupted", "interrupted"),
    ("backgroundTaskId", "background_task_id"),
)
_HEADS: Final = msgspec.json.Decoder(_Head)


class ClaudeReader(Struct):
    parent: str | None = None
    """In a helper's file: the call that began the helper."""
    _model: str = ""
    _call: str | None = None
    """The newest call of a helper: an older generation wrote what helpers said into the same file."""
    _blocks: dict[str, tuple[str, int]] = field(default_factory=dict)
    """Speaker to the answer that it is giving and the blocks of it so far."""
    _told: tuple[str, bytes] = ("", b"")
    """The answer whose use was told last, and how: its other blocks say the very same again."""
    _plan: dict[str, PlanItem] = field(default_factory=dict)
    _plan_calls: dict[str, tuple[str, Json]] = field(default_factory=dict)

    def line(self, raw: bytes, place: int) -> Line | None:
        line = decoding.decoded(_LINES, raw)
        if line is None:
            return decoding.kept_whole(raw)
        if line.type in BOOKKEEPING:
            return None
        at = decoding.millis(line.timestamp)
        out: list[Said] = []
        match line.type:
            case "assistant" if line.message is not None:
                self._assistant(line, line.message, place, out)
            case "user" if line.message is not None:
                self._user(line, line.message, out)
            case "attachment":
                self._attachment(line, out)
            case "system":
                self._system(line, raw, out)
            case _:
                return decoding.kept_whole(raw, at, _keys(line))
        return Line(at=at, keys=_keys(line), said=tuple(out)) if out else None

    def _speaker(self, line: _Line) -> str | None:
        if self.parent is not None:
            return self.parent
        return (self._call or "helper") if line.is_sidechain is True else None

    # ------------------------------------------------------------------------------------------------------ the agent

    def _assistant(self, line: _Line, message: _Message, place: int, out: list[Said]) -> None:
        parent = self._speaker(line)
        content = decoding.anything(bytes(message.content))
        blocks = [{"type": "text", "text": content}] if isinstance(content, str) else _objects(content)
        if message.model == SYNTHETIC:
            self._own_words(line, "\n".join(text(block, "text") for block in blocks), parent, out)
            return
        if parent is None and message.model and message.model != self._model:
            self._model = message.model
            out.append(About(model=message.model))
        answer = message.id or line.uuid or str(place)
        for block in blocks:
            self._block(block, f"{answer}:{self._index(line, parent, answer)}", parent, out)
        asked = f"{answer}|{line.request_id if isinstance(line.request_id, str) else ''}"
        told = (asked, bytes(message.usage))
        usage = {} if told == self._told else decoding.mapping(told[1])
        self._told = told
        if usage:
            speed = text(usage, "speed")
            model = (message.model or "") + (f"@{speed}" if speed not in ("", "standard") else "")
            out.append(Spends(answer=asked, model=model, tokens=tokens_of(usage)))

    def _index(self, line: _Line, parent: str | None, answer: str) -> int:
        if isinstance(line.api_block_index, int):
            return line.api_block_index
        was, done = self._blocks.get(parent or "", ("", 0))
        done = done if was == answer else 0
        self._blocks[parent or ""] = (answer, done + 1)
        return done

    def _block(self, block: Json, key: str, parent: str | None, out: list[Said]) -> None:
        kind = text(block, "type")
        if kind == "text":
            out.append(Happens(base.TextBlock(block=key, text=text(block, "text"), parent=parent)))
        elif kind in ("thinking", "redacted_thinking"):
            out.append(Happens(base.ThoughtBlock(block=key, text=text(block, "thinking"), parent=parent)))
        elif kind.endswith("tool_use"):
            call, name, given = text(block, "id"), text(block, "name"), mapping(block, "input")
            title = title_of(name, given)
            out.append(Happens(base.ToolStarted(call=call, name=name, input=given, title=title, parent=parent)))
            if name in _CALLS:
                self._call = call
            if name in PLAN_TOOLS and parent is None:
                self._plan_calls[call] = (name, given)
        elif kind.endswith("tool_result"):
            self._result(block, {}, parent, out)
        else:
            out.append(Happens(base.Unknown(raw=msgspec.json.encode(block).decode())))

    def _own_words(self, line: _Line, said: str, parent: str | None, out: list[Said]) -> None:
        """What the agent's program says in the model's place: a failure, or that nothing had to be said."""
        failed = line.is_api_error_message is True and (line.error is not None or line.api_error_status is not None)
        out.append(Happens(base.Notice(text=said), works=failed))
        if failed and parent is None:
            error = line.error if isinstance(line.error, str) else ""
            status = line.api_error_status if isinstance(line.api_error_status, int) else None
            failure = failure_of({"result": said}, error, status)
            out.append(Ends(kind=TurnResultKind.ERROR, subtype="api-error", failure=failure, text=said))

    # --------------------------------------------------------------------------------------------------- the operator

    def _user(self, line: _Line, message: _Message, out: list[Said]) -> None:
        parent = self._speaker(line)
        content = decoding.anything(bytes(message.content))
        blocks = [{"type": "text", "text": content}] if isinstance(content, str) else _objects(content)
        results = [block for block in blocks if text(block, "type").endswith("tool_result")]
        if results:
            told = _Detail()
            if len(results) == 1 and line.tool_use_result:
                told = decoding.decoded(_DETAIL_OF, bytes(line.tool_use_result)) or told
            detail = {name: getattr(told, field) for name, field in _DETAILS if getattr(told, field) is not None}
            for block in results:
                self._result(block, detail, parent, out)
                if isinstance(told.agent_id, str):
                    out.append(Helper(told.agent_id, text(block, "tool_use_id")))
        said = _words(blocks)
        if said and parent is None:
            self._said(line, said, bool(results), out)

    def _said(self, line: _Line, said: str, beside_results: bool, out: list[Said]) -> None:
        if said.startswith(_INTERRUPTED):
            out.append(Happens(base.Notice(text=said)))
            out.append(Ends(kind=TurnResultKind.INTERRUPTED, subtype="interrupted"))
            return
        if line.is_compact_summary is True or beside_results:
            out.append(Happens(base.Notice(text=said), works=False))
            return
        if line.is_meta is True:
            return
        tags = dict(_TAG.findall(said)) if said.startswith("<") else {}
        origin = text(decoding.mapping(bytes(line.origin)), "kind")
        if said.startswith("<task-notification>") or origin not in ("", "human", "user"):
            out.append(Begins(text="", source=TurnSource.AGENT))
            out.append(Happens(base.TurnBegunByAgent(why="background task ended")))
        elif "command-name" in tags:
            out.append(Begins(text=f"{tags['command-name']} {tags.get('command-args', '')}".strip()))
        elif "bash-input" in tags:
            out.append(Begins(text=f"! {tags['bash-input'].strip()}"))
        elif tags:
            words = "\n".join(part.strip() for part in tags.values() if part.strip())
            out.append(Happens(base.Notice(text=words or "(no output)"), works=False))
            out.append(Ends(kind=TurnResultKind.SUCCESS, subtype=LOCAL))
        else:
            out.append(Begins(text=said))
        if isinstance(line.permission_mode, str):
            out.append(About(mode=line.permission_mode))

    def _result(self, block: Json, detail: Json, parent: str | None, out: list[Said]) -> None:
        call, output, ok = (
            text(block, "tool_use_id"),
            output_text(block.get("content")),
            block.get("is_error") is not True,
        )
        out.append(Happens(base.ToolFinished(call=call, ok=ok, output=output, detail=detail, parent=parent)))
        name, given = self._plan_calls.pop(call, ("", {}))
        if not name or not ok:
            return
        if name == "TodoWrite":
            if (items := todo_items(given)) is not None:
                out.append(Happens(base.PlanUpdated(items=items)))
        elif apply_task_call(self._plan, name, given, output, detail):
            out.append(Happens(base.PlanUpdated(items=plan_items(self._plan.values()))))

    # ---------------------------------------------------------------------------------------------------- its program

    def _attachment(self, line: _Line, out: list[Said]) -> None:
        """Only what the operator typed while the agent worked; it goes to the model with the next call."""
        if b"queued_command" not in bytes(line.attachment):
            return
        told = decoding.mapping(bytes(line.attachment))
        if text(told, "type") == "queued_command" and text(told, "commandMode") in ("", "prompt"):
            prompt = told.get("prompt")
            said = prompt if isinstance(prompt, str) else _words(_objects(prompt))
            if said and self._speaker(line) is None:
                out.append(Begins(text=said))

    def _system(self, line: _Line, raw: bytes, out: list[Said]) -> None:
        content = decoding.anything(bytes(line.content))
        match line.subtype:
            case "compact_boundary":
                told = decoding.mapping(bytes(line.compact_metadata))
                before, after = whole(told, "preTokens"), whole(told, "postTokens")
                out.append(Happens(base.Compacted(before=before, after=after), works=False))
            case "turn_duration":
                out.append(Ends(kind=TurnResultKind.SUCCESS, duration_ms=count(line.duration_ms)))
            case "api_error":
                why = text(line.error, "message") if isinstance(line.error, dict) else ""
                wait = count(line.retry_in_ms) / 1000
                attempt, of = count(line.retry_attempt), count(line.max_retries) or None
                why = why or "the model could not be reached"
                out.append(Happens(base.RetryNotice(attempt=attempt, of=of, wait_seconds=wait, why=why)))
            case _ if isinstance(content, str) and content:
                out.append(Happens(base.Notice(text=content), works=False))
            case subtype if subtype not in _SILENT:
                out.extend(decoding.kept_whole(raw).said)


class ClaudeFormat:
    agent = "claude"
    driver = "claude"

    def recognises(self, lines: Sequence[bytes]) -> bool:
        return any(
            isinstance(head.session_id, str) or (head.type in BOOKKEEPING and not head.message)
            for head in _heads(lines)
            if head.type
        )

    def beginning(self, lines: Sequence[bytes], name: str) -> Beginning:
        found: dict[str, str] = {}
        began: Millis | None = None
        for head in _heads(lines):
            for to, value in (
                ("id", head.session_id),
                ("cwd", head.cwd),
                ("branch", head.git_branch),
                ("v", head.version),
            ):
                if isinstance(value, str) and value:
                    found.setdefault(to, value)
            began = began if began is not None else decoding.millis(head.timestamp)
            model = head.message.get("model") if isinstance(head.message, dict) else None
            if isinstance(model, str) and model != SYNTHETIC:
                found.setdefault("model", model)
        # A copied line may name the session in which it was first said; the file's own name is the session's.
        native = name if _STEM.match(name) else found.get("id", name)
        if name.startswith("agent-"):
            native = f"{native}/{name.removeprefix('agent-')}"
        return Beginning(
            native_id=native,
            cwd=found.get("cwd", ""),
            branch=found.get("branch", ""),
            version=found.get("v", ""),
            model=found.get("model", ""),
            began=began,
        )

    def ending(self, lines: Sequence[bytes]) -> Ending:
        heads = [head for head in _heads(lines) if head.type in ("user", "assistant", "system")]
        at = max((at for head in heads if (at := decoding.millis(head.timestamp)) is not None), default=None)
        last = next((head for head in reversed(heads) if head.type == "assistant"), None)
        if last is None or last.is_api_error_message is not True or not isinstance(last.message, dict):
            return Ending(at=at)
        return Ending(at=at, failed=True, detail=_words(_objects(last.message.get("content"))))

    def reader(self, begun: Beginning, *, root: str, helper_of: str | None = None) -> ClaudeReader:
        return ClaudeReader(parent=helper_of)


def tokens_of(usage: Json) -> Tokens:
    """Cached input is told apart from fresh; of what was written to a cache, how much for an hour."""
    written = count(usage.get("cache_creation_input_tokens"))
    long = min(written, count(mapping(usage, "cache_creation").get("ephemeral_1h_input_tokens")))
    return Tokens(
        fresh=count(usage.get("input_tokens")),
        read=count(usage.get("cache_read_input_tokens")),
        written=written - long,
        written_long=long,
        said=count(usage.get("output_tokens")),
        searches=count(mapping(usage, "server_tool_use").get("web_search_requests")),
    )


def _heads(lines: Iterable[bytes]) -> list[_Head]:
    return [head for head in (decoding.decoded(_HEADS, line) for line in lines) if head is not None]


def _objects(content: object) -> list[Json]:
    return [block for block in content if isinstance(block, dict)] if isinstance(content, list) else []


def _words(blocks: Iterable[Json]) -> str:
    """The texts, and a word for each picture or file among them."""
    parts = []
    for block in blocks:
        kind = text(block, "type")
        if kind == "text":
            parts.append(text(block, "text"))
        elif not kind.endswith("tool_result"):
            parts.append(f"[{kind or 'block'}]")
    return "\n".join(part for part in parts if part)


def _keys(line: _Line) -> tuple[int, ...]:
    """By its own id; and by what it says and when, because copies were also made under new ids."""
    keys: tuple[int, ...] = (key("u", line.uuid),) if line.uuid else ()
    if line.message is not None and isinstance(line.timestamp, str):
        said = bytes(line.message.content)
        keys += (key("c", line.timestamp, line.message.id or "", str(len(said)), said[:512], said[-64:]),)
    return keys
