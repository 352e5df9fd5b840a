"""What the agent's tools mean to a person: one-line titles, results as text, and the plan that lives in its task tools.

Nothing here knows the stream; a new tool of the agent needs a line here and nowhere else.
"""

import json
import re
from collections.abc import Iterable
from typing import Any

from coordinator.drivers.claude_state import PlanItem
from coordinator.drivers.json_fields import Json, mapping, objects, text

_SUBJECT_KEYS = (
    "file_path",
    "notebook_path",
    "path",
    "pattern",
    "url",
    "query",
    "skill",
    "subject",
    "description",
    "prompt",
)
PLAN_STATES = {"pending": "pending", "in_progress": "active", "completed": "done"}
PLAN_TOOLS = frozenset({"TodoWrite", "TaskCreate", "TaskUpdate"})
_NUMBER = re.compile(r"#(\w+)")
_LISTED = re.compile(r"^\s*(?:[-*+]|\d+[.)])\s+(?:\[([ xX])\]\s+)?(\S.*)$")


def title_of(name: str, tool_input: Json) -> str:
    """One line: the command, the path; else the tool's name."""
    found = text(tool_input, "command") if name in ("Bash", "BashOutput", "Monitor") else ""
    if not found:
        found = next((text(tool_input, key) for key in _SUBJECT_KEYS if text(tool_input, key)), "")
    first = found.strip().split("\n", 1)[0].strip()
    return first or name


def output_text(content: Any) -> str:
    """A tool result as text; what is no text is named in brackets rather than lost."""
    if isinstance(content, str):
        return content
    if isinstance(content, dict):
        content = [content]
    if not isinstance(content, list):
        return "" if content is None else json.dumps(content)
    return "\n".join(_block_text(block) for block in content)


def _block_text(block: Any) -> str:
    if isinstance(block, str):
        return block
    if not isinstance(block, dict):
        return json.dumps(block)
    kind = text(block, "type")
    if kind == "text" or (not kind and "text" in block):
        return text(block, "text")
    if kind == "web_search_result":
        return f"{text(block, 'title')} {text(block, 'url')}".strip()
    if kind.endswith("_error"):
        return text(block, "error_code") or kind
    return f"[{kind or 'block'}]"


def todo_items(tool_input: Json) -> tuple[tuple[str, str], ...] | None:
    """The plan in a ``TodoWrite`` call; None where the call holds none."""
    if not isinstance(tool_input.get("todos"), list):
        return None
    return tuple(
        (PLAN_STATES.get(text(todo, "status"), "pending"), text(todo, "content") or text(todo, "activeForm"))
        for todo in objects(tool_input, "todos")
    )


def apply_task_call(plan: dict[str, PlanItem], name: str, tool_input: Json, output: str, detail: Json) -> bool:
    """Bring a task tool's successful call into the plan; whether it changed."""
    if name == "TaskCreate":
        told = mapping(detail, "task").get("id")
        found = _NUMBER.search(output)
        number = str(told) if isinstance(told, str | int) else found.group(1) if found else str(len(plan) + 1)
        plan[number] = PlanItem(state="pending", text=text(tool_input, "subject") or text(tool_input, "description"))
        return True
    number = str(tool_input.get("taskId", ""))
    status = text(tool_input, "status")
    if status == "deleted":
        return plan.pop(number, None) is not None
    item = plan.get(number)
    if item is None:
        if not text(tool_input, "subject"):
            return False
        item = plan[number] = PlanItem(state="pending", text="")
    item.text = text(tool_input, "subject") or item.text
    item.state = PLAN_STATES.get(status, item.state)
    return True


def plan_items(plan: Iterable[PlanItem]) -> tuple[tuple[str, str], ...]:
    return tuple((item.state, item.text) for item in plan)


def listed_items(markdown: str) -> tuple[tuple[str, str], ...]:
    """The list items of a plan in Markdown."""
    found = (_LISTED.match(line) for line in markdown.split("\n"))
    return tuple(("done" if (m.group(1) or " ") in "xX" else "pending", m.group(2).strip()) for m in found if m)
