"""The practice agent's own commands: a turn that begins with a slash and costs nothing.

`/clear` is here for its trap: the session's id changes while the process lives.
"""

from typing import Any

from coordinator.rehearsal.player import replay, synthetic
from coordinator.rehearsal.session import COMMANDS, Session, UserLine, context_usage
from coordinator.rehearsal.toolbox import tell_tasks
from coordinator.rehearsal.wire import new_uuid, now

Json = dict[str, Any]


def command(line: UserLine) -> str | None:
    """The name of the command that this line runs, if it runs one."""
    word = line.text.split(maxsplit=1)[0] if line.text.strip() else ""
    name = word.removeprefix("/")
    return name if word.startswith("/") and not line.composed and name in dict(COMMANDS) else None


def run(session: Session, line: UserLine, name: str, started: float) -> None:
    session.spending.begin_turn()
    session.state("running")
    said = ""
    match name:
        case "clear":
            clear(session, line)
            session.init_line([line])
        case "compact":
            compact(session, line)
        case "context":
            session.init_line([line])
            usage = context_usage(session)
            said = f"**Tokens:** {usage['totalTokens']} / {usage['maxTokens']} ({usage['percentage']}%)"
            local(session, said)
        case _:
            session.init_line([line])
            said = f"Estimated cost: ${session.spending.total:.4f}"
            local(session, said)
    if not session.newer and not said:
        local(session, "(no content)")
    if session.newer and session.flags.replay and name != "compact":
        replay(session, line)
    extra: Json = {"result": said, "stop_reason": None, "terminal_reason": None, "api_error_status": None}
    extra |= {"local_command": name} if session.newer else {}
    with session.changed:
        session.playing = False
        session.result([line], started=started, calls=0, subtype="success", extra=extra)
    session.lifecycle(line, "completed")
    session.state("idle")


def clear(session: Session, line: UserLine) -> None:
    fresh = new_uuid()
    if session.newer:
        about = {} if line.uuid is None else {"user_message_uuid": line.uuid}
        reset = {"type": "conversation_reset", "new_conversation_id": fresh, "trigger": "clear", "timestamp": now()}
        session.wire.say(reset | about)
        tell_tasks(session)
    # As measured: the id that was announced is not the id that the next lines carry.
    session.wire.session = new_uuid()


def compact(session: Session, line: UserLine) -> None:
    session.wire.system("status", status="compacting")
    session.wire.system("status", status=None, compact_result="success")
    session.init_line([line])
    before = context_usage(session)["totalTokens"]
    session.wire.system(
        "compact_boundary",
        compact_metadata={"trigger": "manual", "pre_tokens": before, "post_tokens": 2500, "duration_ms": 5},
    )
    content = "<local-command-stdout>Compacted </local-command-stdout>"
    session.wire.say({"type": "user", "message": {"role": "user", "content": content}, "isReplay": True})


def local(session: Session, text: str) -> None:
    session.wire.say({"type": "assistant", "message": synthetic(text), "parent_tool_use_id": None, "timestamp": now()})
