"""Reads Codex's rollouts: ``sessions/YYYY/MM/DD/rollout-*.jsonl``.

Measured on 0.171.0, and tolerant of what older ones wrote: there a forked session copies the lines of the first one
under new times, and usage is told as a running total only. What is said stands in ``response_item`` lines; most
``event_msg`` lines tell it once more for a screen. Input counts cached tokens in, and output counts reasoning in:
neither is added.
"""

import re
from collections import Counter
from collections.abc import Sequence
from typing import Any, Final

import msgspec
from msgspec import Struct, field

from coordinator.drivers import base
from coordinator.drivers.json_fields import Json, mapping, objects, text, whole, words
from coordinator.prices import Tokens, count
from coordinator.review.importing import decoding
from coordinator.review.importing.said import (
    About,
    Beginning,
    Begins,
    Ending,
    Ends,
    Happens,
    Line,
    Said,
    Spends,
    key,
)
from store.vocab import FailureKind, Millis, TurnResultKind

BOOKKEEPING: Final = frozenset({"session_meta", "world_state", "ghost_snapshot", "state_snapshot"})
_REPEATED: Final = frozenset(
    {
        "agent_message", "agent_message_delta", "agent_reasoning", "agent_reasoning_raw_content",
        "agent_reasoning_section_break", "background_event", "entered_review_mode", "exec_command_begin",
        "exec_command_end", "exec_command_output_delta", "exited_review_mode", "item_completed", "item_started",
        "mcp_tool_call_begin", "mcp_tool_call_end", "patch_apply_begin", "patch_apply_end", "plan_update",
        "session_configured", "task_started", "thread_name_updated", "thread_settings_applied", "turn_diff",
        "turn_started", "undo_completed", "undo_started", "user_message", "view_image_tool_call", "web_search_begin",
        "web_search_end",
    }
)  # fmt: skip
"""Kinds of ``event_msg`` that say nothing that a ``response_item`` does not."""
_HARNESS: Final = re.compile(
    r"\s*<(?:[a-z]+_)?(?:context|instructions|permissions|skills?|aborted|notification|shell_command)[a-z_]*>"
)
_EXIT: Final = re.compile(r"(?:exited with code|[Ee]xit code:?) (-?\d+)")
_FILE: Final = re.compile(r"^\*\*\* (?:Add|Update|Delete) File: (.+)$", re.M)
_SHELLS: Final = ("bash", "sh", "zsh")


class _Line(msgspec.Struct, gc=False):
    type: str = ""
    timestamp: Any = None
    payload: msgspec.Raw = msgspec.Raw()


_LINES: Final = msgspec.json.Decoder(_Line)


class CodexReader(Struct):
    root: str
    """The session in which what is copied was first said."""
    _model: str = ""
    _total: Tokens | None = None
    _records: bool = False
    """Whether each answer's usage is told on its own: then the running total says nothing more."""
    _seen: Counter[int] = field(default_factory=Counter)

    def line(self, raw: bytes, place: int) -> Line | None:
        line = decoding.decoded(_LINES, raw)
        if line is None or not line.type:
            return decoding.kept_whole(raw)
        if line.type in BOOKKEEPING:
            return None
        payload = decoding.mapping(bytes(line.payload))
        if line.type == "event_msg" and text(payload, "type") in _REPEATED:
            return None
        at = decoding.millis(line.timestamp)
        out: list[Said] = []
        match line.type:
            case "response_item":
                self._item(payload, raw, place, out)
            case "event_msg":
                self._event(payload, raw, place, out)
            case "turn_context":
                self._about(payload, out)
            case "token_usage_record":
                self._records = True
                answer = text(payload, "response_id") or str(place)
                out.append(Spends(answer=answer, model=self._model, tokens=tokens_of(mapping(payload, "usage"))))
            case "compacted":
                out.append(Happens(base.Compacted(), works=False))
                if text(payload, "message"):
                    out.append(Happens(base.Notice(text=text(payload, "message")), works=False))
            case _:
                out.extend(decoding.kept_whole(raw).said)
        return Line(at=at, keys=self._keys(line), said=tuple(out)) if out else None

    def _keys(self, line: _Line) -> tuple[int, ...]:
        """By what it says, in which session it was first said, and the how-manieth time: copies have other times."""
        if line.type == "turn_context":
            return ()
        said = key("x", self.root, line.type, bytes(line.payload))
        self._seen[said] += 1
        times = self._seen[said]
        return (said if times == 1 else key("x", self.root, line.type, bytes(line.payload), str(times)),)

    # -------------------------------------------------------------------------------------------------- what was said

    def _item(self, item: Json, raw: bytes, place: int, out: list[Said]) -> None:
        match text(item, "type"):
            case "message":
                self._message(item, place, out)
            case "reasoning":
                parts = [text(part, "text") for part in (*objects(item, "summary"), *objects(item, "content"))]
                if any(parts):
                    block = text(item, "id") or str(place)
                    out.append(Happens(base.ThoughtBlock(block=block, text="\n".join(filter(None, parts)))))
            case "function_call" | "custom_tool_call" | "local_shell_call" as kind:
                self._call(item, kind, out)
            case "function_call_output" | "custom_tool_call_output":
                output, ok, detail = _output(item.get("output"))
                call = text(item, "call_id")
                out.append(Happens(base.ToolFinished(call=call, ok=ok, output=output, detail=detail)))
            case "web_search_call":
                given = mapping(item, "action")
                call, title = text(item, "id") or str(place), text(given, "query") or "web search"
                out.append(Happens(base.ToolStarted(call=call, name="web_search", input=given, title=title)))
                out.append(Happens(base.ToolFinished(call=call, ok=text(item, "status") != "failed", output="")))
            case "ghost_snapshot" | "compaction" | "other":
                pass
            case _:
                out.extend(decoding.kept_whole(raw).said)

    def _message(self, item: Json, place: int, out: list[Said]) -> None:
        said = "\n".join(_part(part) for part in objects(item, "content"))
        role = text(item, "role")
        if role == "assistant":
            out.append(Happens(base.TextBlock(block=text(item, "id") or str(place), text=said)))
        elif role == "user" and not _from_harness(item, said):
            out.append(Begins(text=said))

    def _call(self, item: Json, kind: str, out: list[Said]) -> None:
        call = text(item, "call_id") or text(item, "id")
        if kind == "function_call":
            told = decoding.anything(text(item, "arguments").encode())
            given: Json = told if isinstance(told, dict) else {"arguments": text(item, "arguments")}
        elif kind == "custom_tool_call":
            given = {"input": text(item, "input")}
        else:
            given = mapping(item, "action")
        name = text(item, "name") or "shell"
        out.append(Happens(base.ToolStarted(call=call, name=name, input=given, title=_title(name, given))))
        if name == "update_plan":
            states = {"in_progress": "active", "completed": "done"}
            steps = [(states.get(text(one, "status"), "pending"), text(one, "step")) for one in objects(given, "plan")]
            out.append(Happens(base.PlanUpdated(items=tuple(steps))))

    # -------------------------------------------------------------------------------------------- what happened beside

    def _event(self, event: Json, raw: bytes, place: int, out: list[Said]) -> None:
        match text(event, "type"):
            case "token_count":
                self._counted(mapping(event, "info"), place, out)
            case "task_complete" | "turn_complete":
                out.append(Ends(kind=TurnResultKind.SUCCESS, duration_ms=whole(event, "duration_ms")))
            case "turn_aborted":
                reason = text(event, "reason") or "interrupted"
                out.append(Happens(base.Notice(text=f"The turn was aborted: {reason}")))
                out.append(Ends(kind=TurnResultKind.INTERRUPTED, subtype=reason))
            case "error":
                said = text(event, "message")
                out.append(Happens(base.Notice(text=said)))
                out.append(Ends(kind=TurnResultKind.ERROR, subtype="error", failure=FailureKind.UNKNOWN, text=said))
            case "stream_error" | "warning" | "deprecation_notice":
                out.append(Happens(base.Notice(text=text(event, "message") or text(event, "summary"))))
            case "context_compacted":
                pass  # a line of its own tells it
            case _:
                out.extend(decoding.kept_whole(raw).said)

    def _counted(self, info: Json, place: int, out: list[Said]) -> None:
        """A running total, told again whenever a screen wants it: what it grew by is what was used."""
        told = mapping(info, "total_token_usage")
        if self._records or not told:
            return
        total, newest = tokens_of(told), tokens_of(mapping(info, "last_token_usage"))
        was = self._total
        self._total = total
        if was is None or _falls(total, was):
            # The first one of a file, which in a copied session counts what others used; or a count begun anew.
            grown = newest
        else:
            grown = Tokens(
                fresh=total.fresh - was.fresh,
                read=total.read - was.read,
                written=total.written - was.written,
                said=total.said - was.said,
            )
        if grown != Tokens():
            out.append(Spends(answer=f"total:{self.root}:{place}", model=self._model, tokens=grown))

    def _about(self, context: Json, out: list[Said]) -> None:
        model, mode = text(context, "model"), text(context, "approval_policy")
        if model and model != self._model:
            self._model = model
            out.append(About(model=model, mode=mode))


class CodexFormat:
    agent = "codex"
    driver = "codex"

    def recognises(self, lines: Sequence[bytes]) -> bool:
        return bool(self._metas(lines))

    def beginning(self, lines: Sequence[bytes], name: str) -> Beginning:
        meta, at = self._metas(lines)[0]
        models = (
            text(decoding.mapping(bytes(line.payload)), "model")
            for line in (decoding.decoded(_LINES, raw) for raw in lines)
            if line is not None and line.type == "turn_context"
        )
        return Beginning(
            native_id=text(meta, "id") or name,
            cwd=text(meta, "cwd"),
            branch=text(mapping(meta, "git"), "branch"),
            version=text(meta, "cli_version"),
            model=next(filter(None, models), ""),
            began=decoding.millis(meta.get("timestamp")) or at,
            forked_from=text(meta, "forked_from_id"),
        )

    def ending(self, lines: Sequence[bytes]) -> Ending:
        found = [line for line in (decoding.decoded(_LINES, raw) for raw in lines) if line is not None]
        at = max((at for line in found if (at := decoding.millis(line.timestamp)) is not None), default=None)
        for line in reversed(found):
            event = decoding.mapping(bytes(line.payload)) if line.type == "event_msg" else {}
            if text(event, "type") in ("task_complete", "turn_complete", "turn_aborted"):
                break
            if text(event, "type") == "error":
                return Ending(at=at, failed=True, detail=text(event, "message"))
        return Ending(at=at)

    def reader(self, begun: Beginning, *, root: str, helper_of: str | None = None) -> CodexReader:
        return CodexReader(root=root)

    def _metas(self, lines: Sequence[bytes]) -> list[tuple[Json, Millis | None]]:
        found = []
        for raw in lines:
            line = decoding.decoded(_LINES, raw)
            if line is not None and line.type == "session_meta":
                payload = decoding.mapping(bytes(line.payload))
                # An older generation keeps the meta one level further down in copies.
                found.append((mapping(payload, "meta") or payload, decoding.millis(line.timestamp)))
        return found


def tokens_of(usage: Json) -> Tokens:
    """Input tells cached tokens as a part of itself, output reasoning: the parts are taken apart, not added."""
    read, written = count(usage.get("cached_input_tokens")), count(usage.get("cache_write_input_tokens"))
    fresh = max(0, count(usage.get("input_tokens")) - read - written)
    return Tokens(fresh=fresh, read=read, written=written, said=count(usage.get("output_tokens")))


def _falls(total: Tokens, was: Tokens) -> bool:
    return total.said < was.said or total.fresh + total.read + total.written < was.fresh + was.read + was.written


def _from_harness(item: Json, said: str) -> bool:
    """Put in the operator's place by the program: told so by the newer generation, by its tag in the older."""
    passed = mapping(item, "internal_chat_message_metadata_passthrough")
    told = [text(mapping(one, "provenance"), "type") for one in objects(passed, "content_item_metadata")]
    if told:
        return "user" not in told
    kinds = words(passed, "content_item_kinds")
    return (bool(kinds) and "user.text" not in kinds) or bool(_HARNESS.match(said)) or said.startswith("# AGENTS.md")


def _part(part: Json) -> str:
    return text(part, "text") if "text" in part else f"[{text(part, 'type') or 'block'}]"


def _title(name: str, given: Json) -> str:
    command = given.get("command", given.get("cmd"))
    if isinstance(command, list):
        parts = [part for part in command if isinstance(part, str)]
        shell = len(parts) == 3 and parts[0].rsplit("/", 1)[-1] in _SHELLS and parts[1].startswith("-")
        command = parts[2] if shell else " ".join(parts)
    if not isinstance(command, str):
        patched = _FILE.search(text(given, "input"))
        command = patched.group(1) if patched else next((v for v in given.values() if isinstance(v, str)), "")
    return command.strip().split("\n", 1)[0].strip()[:300] or name


def _output(told: object) -> tuple[str, bool, Json]:
    """Text, whether it went well as far as the text says, and the exit code."""
    if isinstance(told, list):
        told = "\n".join(_part(part) for part in told if isinstance(part, dict))
    if isinstance(told, dict):
        told = text(told, "content") or msgspec.json.encode(told).decode()
    output = told if isinstance(told, str) else ""
    if output.startswith('{"output":'):
        inner = decoding.anything(output.encode("utf-8", "replace"))
        if isinstance(inner, dict) and isinstance(inner.get("output"), str):
            code = whole(mapping(inner, "metadata"), "exit_code")
            return inner["output"], code in (None, 0), {} if code is None else {"exit_code": code}
    found = _EXIT.search(output[:400])
    code = int(found.group(1)) if found and len(found.group(1)) < 10 else None
    return output, code in (None, 0), {} if code is None else {"exit_code": code}
