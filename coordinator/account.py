"""What is told to an agent of what came before: an account of runs whose conversation it does not have, answers and
messages that never arrived. Pure text from values.

All of it is part of the terms and shown before they are signed. Answers and messages are never cut; the account is,
from its oldest turns on, and says so. What stands in a ledger is not known here (``continuing``).
"""

from collections.abc import Sequence
from typing import Final

from msgspec import Struct

MOST: Final = 32 * 1024
"""Bytes of an account."""
_TASK, _SAID, _TOLD, _TOOL = 6_000, 1_200, 2_000, 160
"""Characters of the instruction, a message, the agent's last words, a tool's line."""
GO_ON: Final = "Go on from where you stopped."
"""The message of an operator who says nothing."""


class ToldTurn(Struct, frozen=True, kw_only=True):
    run: int
    n: int
    by: str
    """Who said it: ``the operator``, ``Footplate``; '' where the agent began by itself."""
    said: str
    tools: tuple[str, ...]
    """The last calls of tools, a line each."""
    more_tools: bool
    last_words: str
    end: str
    """'' where it ended well."""


class Before(Struct, frozen=True, kw_only=True):
    """The run that is gone on from."""

    run: int
    end: str
    """How it ended, in a few words."""
    cut_off: bool
    """Its last turn has no result."""
    asked: tuple[str, ...] = ()
    """Questions of the agent that were never answered."""


def carried(before: Before, account: str, answers: Sequence[str], unsent: Sequence[str]) -> str:
    """All that rides in the brief. ``account``: '' where the agent has its conversation."""
    parts = [account or _resumed(before)]
    if before.cut_off:
        parts.append(
            "The last turn was cut off in the middle: what it had begun may be half done, and a command that ran then "
            "was ended. Look at what is there before you go on."
        )
    if before.asked:
        asked = "\n".join(f"- {_cut(text, _SAID)}" for text in before.asked)
        parts.append(f"Questions to the operator that were not answered; ask again what you still need:\n{asked}")
    if answers:
        parts.append("Answers that did not arrive before:\n\n" + "\n\n".join(answers))
    if unsent:
        listed = "\n\n".join(f"Message {n}:\n{text}" for n, text in enumerate(unsent, start=1))
        parts.append(f"Messages of the operator that were not sent before, oldest first:\n\n{listed}")
    return "\n\n".join(parts)


def _resumed(before: Before) -> str:
    return (
        f"(This part is from Footplate, which runs this session. It goes on from run {before.run}, which ended: "
        f"{before.end}. The working tree may have changed since.)"
    )


def of_runs(before: Before, task: str, turns: Sequence[ToldTurn], *, older: int = 0, most: int = MOST) -> str:
    """The account: the task, then the newest turns that there is room for, in their order.

    ``older``: turns before these. ``most``: bytes.
    """
    head = (
        "(This part is from Footplate, which runs this session.) You go on with work that an earlier session began, "
        f"run {before.run}, which ended: {before.end}. You do not have its conversation, so this is an account of it "
        "from Footplate's ledger. Its changes are in the working tree, which may have changed since.\n\n"
        f"The task was:\n{_cut(task, _TASK)}"
    )
    room = most - len(head.encode()) - 100
    kept: list[str] = []
    for turn in reversed(turns):
        text = _turn(turn)
        room -= len(text.encode()) + 2
        if room < 0:
            break
        kept.append(text)
    left = older + len(turns) - len(kept)
    if not left and not kept:
        return f"{head}\n\nNothing was done yet."
    done = "What was done:" if not left else f"What was done (older turns that are left out: {left}):"
    return "\n\n".join([head, done, *reversed(kept)])


def _turn(turn: ToldTurn) -> str:
    lines = [
        f"Run {turn.run}, turn {turn.n}" + (f", {turn.by}: {_cut(turn.said, _SAID)}" if turn.by else ", by itself")
    ]
    if turn.tools:
        lines.append("  tools used last:" if turn.more_tools else "  tools used:")
        lines += [f"  - {_cut(' '.join(tool.split()), _TOOL)}" for tool in turn.tools]
    if turn.last_words.strip():
        lines.append(f"  the agent's last words: {_cut(turn.last_words.strip(), _TOLD)}")
    if turn.end:
        lines.append(f"  it ended: {turn.end}")
    return "\n".join(lines)


def _cut(text: str, most: int) -> str:
    """Both ends of a long text: what it begins with and what it comes to."""
    text = text.strip()
    if len(text) <= most:
        return text
    tail = most // 3
    return f"{text[: most - tail]} … (left out: {len(text) - most} characters) … {text[-tail:]}"
