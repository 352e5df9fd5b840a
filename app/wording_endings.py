"""How a run ended, in words: the reason, the outcome, and the stop report. Reached through ``app.wording``."""

from app.wording_failures import failure
from app.wording_measures import others_words, plural, seconds, short_command
from coordinator.custody.types import EndedProcess, Receipt
from store.vocab import EndReason, FailureKind, RunOutcome

_BY_FOOTPLATE = "ended by Footplate: "

_REASONS: dict[EndReason, str] = {
    EndReason.STOPPED: "stopped by you",
    EndReason.KILLED: "killed by you",
    EndReason.REVOKED: "ended by you: you took its terms back",
    EndReason.EXPIRED: f"{_BY_FOOTPLATE}its end time passed: start again, or give it longer next time",
    EndReason.LAPSED: f"{_BY_FOOTPLATE}you were away too long: start it again when you are back",
    EndReason.TURN_TIMEOUT: (
        f"{_BY_FOOTPLATE}a turn took longer than you allow: start it again, or raise turn_timeout_minutes"
    ),
    EndReason.SUPERSEDED: "taken over by another console: look there",
    EndReason.SPAWN_FAILED: "the agent could not be started: footplate doctor looks for the cause",
    EndReason.START_TIMEOUT: f"{_BY_FOOTPLATE}the agent did not answer after its start: run it once by itself",
    EndReason.WRITE_FAILED: f"{_BY_FOOTPLATE}the agent stopped reading what was sent: start it again",
    EndReason.TELEMETRY: (
        f"{_BY_FOOTPLATE}cost report missing: ended to protect the budget; start it again if you accept that"
    ),
    EndReason.BUDGET_EXHAUSTED: f"{_BY_FOOTPLATE}its budget is used up: start again with a new one",
    EndReason.MALFORMED_DECISION: (
        f"{_BY_FOOTPLATE}its question to you could not be read: look at its own words, then start it again"
    ),
    EndReason.PROTOCOL_ERROR: (
        f"{_BY_FOOTPLATE}what the agent sent could not be understood: check its version with footplate doctor"
    ),
    EndReason.OUTPUT_FLOOD: f"{_BY_FOOTPLATE}it printed more than can be kept: start it again with a narrower brief",
    EndReason.EXITED: "the agent ended by itself: read its last words, then start it again",
    EndReason.SHUTDOWN: "ended when you closed the console: start it again",
    EndReason.CONSOLE_LOST: f"{_BY_FOOTPLATE}no console came back in time: start it again",
    EndReason.SUPERVISOR_LOST: "its keeper process was lost and everything of it was ended: start it again",
    EndReason.ORPHANED: "found without a console at start and ended: start it again",
    EndReason.STORAGE: f"{_BY_FOOTPLATE}the disk was full or could not be used: make room, then start it again",
    EndReason.RESTORED: "ended because the ledger was restored from a copy: start it again",
    EndReason.HANDOFF: "the agent says it is finished",
    EndReason.FINISHED: "finished by you",
    EndReason.AT_REST: "its turn ended with nothing asked, so it was finished",
    EndReason.IMPORTED: "read in from the agent's own files; Footplate did not hold it",
}

_REFUSED_BY_AGENT = frozenset(FailureKind) - {FailureKind.UNKNOWN}
"""What an agent may say to its start that is known here; its own words stand beside an ending of another kind."""

_OUTCOMES = {
    RunOutcome.FINISHED: "finished",
    RunOutcome.FAILED: "failed",
    RunOutcome.INTERRUPTED: "ended",
    RunOutcome.REFUSED: "not started",
}

_AS_SEEN = (
    "nothing that was seen is left. On macOS a program can leave its parents unseen: look for one that you did not "
    "start with ps -x."
)
"""No more is known where descendants are followed."""

_STEPS = {
    "no-new-turns": "no new turns",
    "asked": "asked the agent to end",
    "farewell": "asked the agent to end",
    "eof": "closed its input",
    "term": "told what was left to end",
    "cgroup": "killed all of it at once",
    "kill": "killed what was left",
    "nonce": "killed what had slipped away",
    "gone": "nothing left running",
    "seen-gone": "nothing left of what was seen",
}


def end_reason(reason: str) -> str:
    """The reason as it is on disk (``exited:1``, ``refused:tree-held`` too), in words with what to do."""
    name, _, detail = reason.partition(":")
    try:
        known = EndReason(name)
    except ValueError:
        # What an older or newer version wrote: better its own word than none.
        return others_words(reason.replace("-", " ").replace(":", ": "))
    if known is EndReason.EXITED and detail:
        how = others_words(f"signal {detail[3:]}" if detail.startswith("SIG") else f"exit {detail}")
        return f"the agent ended by itself ({how}): read its last words, then start it again"
    if known is EndReason.PROTOCOL_ERROR and detail:
        return _protocol_error(detail) or _REASONS[known]
    if known is EndReason.SPAWN_FAILED and detail in _REFUSED_BY_AGENT:
        what, _, remedy = failure(FailureKind(detail)).partition(": ")
        return f"the agent could not be started ({what}): {remedy}"
    if known is EndReason.AT_REST and detail in frozenset(FailureKind):
        return f"its turn went wrong ({failure(FailureKind(detail))})"
    return _REASONS[known]


def _protocol_error(detail: str) -> str:
    """What an agent did that none may do; '' where it was bytes that could not be read."""
    if detail == "unasked-turn":
        return (
            f"{_BY_FOOTPLATE}the agent went on by itself while its question waited for you, and again after an "
            "interrupt: answer its question, then start it again"
        )
    held_by = detail.removeprefix("conversation-of-")
    if held_by != detail and held_by.isdecimal():
        return f"{_BY_FOOTPLATE}the agent went over into the conversation that run {held_by} holds: go on in that run"
    return ""


def outcome(value: RunOutcome) -> str:
    return _OUTCOMES[value]


def stop_step(step: str) -> str:
    """One step of an ending, as the operator sees it go by."""
    return _STEPS.get(step) or others_words(step.replace("-", " "))


def receipt_lines(receipt: Receipt) -> list[str]:
    """The stop report: the answer first, then the steps, then every process."""
    lines = [_headline(receipt)]
    lines += [f"{stop_step(step)}  {seconds(ms)}" for step, ms in receipt.steps]
    lines += [_process(ended, how_ended(ended)) for ended in receipt.ended]
    lines += [_process(left, "still there") for left in receipt.remaining]
    lines += [_process(kept, "left alone, as its agent's entry in agents.toml says") for kept in receipt.spared]
    return lines


def _headline(receipt: Receipt) -> str:
    if receipt.remaining:
        pids = ", ".join(str(left.pid) for left in receipt.remaining)
        left = plural(len(receipt.remaining), "process", "processes")
        return f"Not everything could be ended: {left} left ({pids}). End it by hand, then look with footplate ps."
    ended = plural(len(receipt.ended), "process", "processes")
    if receipt.already_ended and not receipt.ended:
        before = f"The agent had ended before{_exit(receipt)}"
        return f"{before}; {_AS_SEEN}" if receipt.followed else f"{before}. Nothing left running."
    if receipt.followed:
        return f"{ended} ended, {seconds(receipt.total_ms)}; {_AS_SEEN}"
    return f"Nothing left running. {ended} ended, {seconds(receipt.total_ms)}."


def _exit(receipt: Receipt) -> str:
    return f" (exit {others_words(receipt.agent_exit)})" if receipt.agent_exit is not None else ""


def how_ended(ended: EndedProcess) -> str:
    """What became of one process, and when."""
    match ended.step:
        case "exited" | "farewell" | "eof":
            how = "ended by itself when asked"
        case "term":
            how = "ended by TERM"
        case "kill" | "cgroup":
            how = "ended by KILL"
        case "nonce":
            how = "had slipped away, ended by KILL"
        case other:
            how = f"ended ({others_words(other)})"
    return f"{how} after {seconds(ended.gone_after_ms)}"


def where_it_stood(process: EndedProcess) -> str:
    """What a process had done to stand apart; '' for one that had not."""
    notes = (("own session", process.own_session), ("daemonised", process.daemonised))
    return ", ".join(note for note, there in notes if there)


def _process(process: EndedProcess, how: str) -> str:
    notes = where_it_stood(process)
    beside = f"  {notes}" if notes else ""
    return f"{process.pid}  {short_command(process.name)}  {how}{beside}"
