"""Turns a ``can_use_tool`` request into what is put to the operator, and the answer into what the agent is told.

Pure. What *allow for this run* may cover is decided here and nowhere else, and it is always aimed at the session: the
agent's own suggestions would write a file into the repository.
"""

import json
import re
from collections.abc import Sequence
from typing import Any

from coordinator.drivers.base import (
    Allow,
    Answer,
    Choice,
    Chosen,
    DecisionAsked,
    Deny,
    Question,
    QuestionReply,
)
from coordinator.drivers.claude_acts import act_of
from coordinator.drivers.claude_state import Ask
from coordinator.drivers.claude_tools import title_of
from coordinator.drivers.diffs import diff_of
from coordinator.drivers.json_fields import Json, mapping, objects, text, word, words
from store.vocab import DecisionKind

_TITLES = {
    "Bash": "Run a command?",
    "Edit": "Edit a file?",
    "MultiEdit": "Edit a file?",
    "NotebookEdit": "Edit a notebook?",
    "Write": "Write a file?",
    "Read": "Read a file?",
    "WebFetch": "Fetch a page?",
    "WebSearch": "Search the web?",
    "Agent": "Start a sub-agent?",
    "Task": "Start a sub-agent?",
}
_COMPOUND = re.compile(r"&&|;|\||\$\(|`|\n|\r|>|&|<\(|<<")
"""A rule on a command's beginning cannot hold what follows any of these."""

_EDITS = frozenset({"Edit", "MultiEdit", "NotebookEdit", "Write"})

_NOT_SEEN = (
    "Tool permission request failed",
    "The canUseTool callback returned an invalid",
    "This command requires approval",
    "Permission to use ",
    "Permission for this tool use was denied",
)
_UNANSWERED = "The user did not answer"
_REJECTED = "The user doesn't want to proceed"


def subject_of(tool: str, tool_input: Json) -> str:
    """What the request is about, whole and uncut."""
    path = text(tool_input, "file_path") or text(tool_input, "notebook_path")
    if tool == "Bash" and word(tool_input, "command"):
        return text(tool_input, "command")
    if tool == "Edit" and path:
        every = "(every occurrence)\n" if tool_input.get("replace_all") is True else ""
        return every + diff_of(path, text(tool_input, "old_string"), text(tool_input, "new_string"))
    if tool == "MultiEdit" and path:
        return "\n".join(
            diff_of(path, text(e, "old_string"), text(e, "new_string")) for e in objects(tool_input, "edits")
        )
    if tool == "Write" and path:
        return diff_of(path, "", text(tool_input, "content"))
    if tool == "NotebookEdit" and path:
        return diff_of(path, "", text(tool_input, "new_source"))
    if tool in ("Read", "WebFetch", "WebSearch") and set(tool_input) <= {"file_path", "url", "query"}:
        return title_of(tool, tool_input)
    return json.dumps(tool_input, indent=2, ensure_ascii=False) if tool_input else tool


def _rule_words(rule: Json, command: str) -> str | None:
    tool, content = text(rule, "toolName"), text(rule, "ruleContent")
    if not tool:
        return None
    if not content:
        return f"every use of {tool}"
    if tool == "Bash":
        if content.endswith((":*", " *")):
            return f"Bash commands that begin with {content[:-2]}"
        return "exactly this command" if content == command else f"exactly this Bash command: {content}"
    return f"{tool} of {content}"


def rule_of(tool: str, tool_input: Json, suggestions: Sequence[Json]) -> tuple[str | None, tuple[Json, ...]]:
    """What could be allowed for the run, in words, and the payload behind it; (None, ()) where no rule can hold."""
    command = text(tool_input, "command")
    if tool == "Bash" and _COMPOUND.search(command):
        return None, ()
    rules: list[tuple[str, Json]] = []
    wider: list[tuple[str, Json]] = []
    for suggestion in suggestions:
        kind = text(suggestion, "type")
        here = {**suggestion, "destination": "session"}
        if kind == "addRules" and text(suggestion, "behavior") == "allow":
            kept = [rule for rule in objects(suggestion, "rules") if _rule_words(rule, command)]
            said = "; ".join(spoken for rule in kept if (spoken := _rule_words(rule, command)))
            if kept:
                rules.append((said, {**here, "rules": kept}))
        elif kind == "addDirectories" and words(suggestion, "directories") and tool != "Bash":
            folders = words(suggestion, "directories")
            wider.append(("; ".join(f"files under {folder}" for folder in folders), {**here, "directories": folders}))
        elif kind == "setMode" and text(suggestion, "mode") == "acceptEdits" and tool in _EDITS:
            # Any other mode would let the agent decide for the operator, and is no rule about its like.
            wider.append(("all edits to files, without asking", here))
    # The agent puts a change of mode beside the rule for one command: seen to let every later edit through unasked.
    offered = rules or wider
    return ("; ".join(said for said, _ in offered), tuple(payload for _, payload in offered)) if offered else (None, ())


def _questions(tool_input: Json) -> tuple[Question, ...]:
    return tuple(
        Question(
            text=text(q, "question"),
            header=text(q, "header"),
            choices=tuple(
                Choice(label=text(o, "label"), description=text(o, "description"))
                for o in objects(q, "options")
                if word(o, "label")
            ),
            multiple=q.get("multiSelect") is True,
        )
        for q in objects(tool_input, "questions")
        if word(q, "question")
    )


def _why(request: Json, tool_input: Json) -> str:
    shown = title_of("", tool_input)
    parts = [text(request, "title"), text(request, "description"), text(request, "decision_reason")]
    # A description that only repeats the end of the path says nothing.
    said = [part for part in parts if part and not shown.endswith(part)]
    return " · ".join(dict.fromkeys(said))


def asked(request_id: str, request: Json) -> tuple[DecisionAsked, Ask]:
    """What is put to the operator, and what the driver remembers of it."""
    tool = text(request, "tool_name")
    tool_input = mapping(request, "input")
    call, agent = word(request, "tool_use_id"), word(request, "agent_id")
    questions = _questions(tool_input) if tool == "AskUserQuestion" else ()
    rule: str | None = None
    payload: tuple[Json, ...] = ()
    editable = False
    if questions:
        kind = DecisionKind.QUESTION
        title = questions[0].header or "A question" if len(questions) == 1 else f"{len(questions)} questions"
        subject = "\n".join(q.text for q in questions)
    elif tool == "ExitPlanMode":
        kind = DecisionKind.PLAN
        title = "Approve this plan?"
        subject = text(tool_input, "plan") or text(tool_input, "planFilePath") or "(the agent sent no plan with it)"
    else:
        kind = DecisionKind.PERMISSION
        title = _TITLES.get(tool) or (f"Use {text(request, 'display_name') or tool}?" if tool else "Allow this?")
        subject = subject_of(tool, tool_input)
        editable = bool(tool_input)
        rule, payload = rule_of(tool, tool_input, objects(request, "permission_suggestions"))
    event = DecisionAsked(
        request=request_id,
        kind=kind,
        title=title,
        tool=tool or None,
        call=call,
        input=tool_input,
        subject=subject,
        why=_why(request, tool_input),
        questions=questions,
        editable=editable,
        rule=rule,
        rule_payload=payload,
        blocked_path=word(request, "blocked_path"),
        agent=agent,
        act=act_of(tool, tool_input) if kind is DecisionKind.PERMISSION else None,
    )
    ask = Ask(
        kind=kind.value,
        tool=tool,
        call=call or "",
        input_json=json.dumps(tool_input),
        payload_json=json.dumps(payload),
        agent=agent or "",
    )
    return event, ask


def response(ask: Ask | None, answer: Answer) -> tuple[str, Json]:
    """The word for what was answered, and the body of the control response."""
    tool_input: Any = json.loads(ask.input_json) if ask else {}
    match answer:
        case Allow():
            body: Json = {"behavior": "allow"}
            if answer.edited_input is not None:
                body["updatedInput"] = answer.edited_input
            elif ask is not None:
                # The older generation takes an allow without it for a refusal. But an input that is not known here is
                # never made up: what would run is then the agent's own, or nothing.
                body["updatedInput"] = tool_input
            payload = json.loads(ask.payload_json) if ask and answer.for_run else []
            if payload:
                body["updatedPermissions"] = payload
            return "allow", body
        case Deny():
            body = {"behavior": "deny", "message": answer.message or "The operator said no."}
            if answer.interrupt:
                body["interrupt"] = True
            return "deny", body
        case Chosen():
            # It offers no options of its own, so there is none that could have been chosen.
            return "deny", {"behavior": "deny", "message": "The operator said no."}
        case QuestionReply():
            return "reply", {"behavior": "allow", "updatedInput": {**tool_input, "answers": answers_of(answer)}}


def answers_of(reply: QuestionReply) -> dict[str, str]:
    """Answers as the agent reads them. It repeats these to the model and nothing else, so the note rides on one."""
    answers = {question: ", ".join(labels) for question, labels in reply.answers.items() if labels}
    if reply.note.strip():
        if answers:
            first = next(iter(answers))
            answers[first] = f"{answers[first]} (note: {reply.note.strip()})"
        elif reply.answers:
            answers[next(iter(reply.answers))] = f"(note: {reply.note.strip()})"
    return answers


def verdict(ask: Ask, ok: bool, output: str, meta: Json) -> tuple[bool, str]:
    """Whether the tool result shows that the answer arrived, and how it did not.

    An answer written before the last snapshot is not remembered (``answered`` is empty): then only what cannot be the
    operator's own word counts against it.
    """
    shown = output.strip()[:500]
    decision = mapping(meta, "permission_decision")
    if ask.kind == DecisionKind.QUESTION and output.startswith(_UNANSWERED):
        return False, shown
    if ok or ask.answered == "deny" or text(decision, "source") == "user_reject":
        return True, ""
    if text(decision, "decision") == "accept":
        return True, ""
    if text(decision, "decision") == "reject" or output.startswith(_NOT_SEEN):
        return False, shown
    if output.startswith(_REJECTED) and not ask.answered:
        return False, shown
    return True, ""
