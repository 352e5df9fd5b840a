"""What an agent asks of its operator, and what an operator may answer: the part of the drivers' events that is also
stored and shown. No protocol's own form of either belongs here.
"""

from collections.abc import Mapping
from enum import StrEnum
from typing import Any

from msgspec import Struct, field

from store.vocab import DecisionKind

Json = dict[str, Any]
"""A decoded JSON object, as the agent sent it."""


class Choice(Struct, frozen=True, kw_only=True):
    label: str
    description: str = ""


class Question(Struct, frozen=True, kw_only=True):
    text: str
    """The whole question; answers are keyed by it."""
    header: str = ""
    choices: tuple[Choice, ...] = ()
    multiple: bool = False


class OfferKind(StrEnum):
    """What an option of the agent's own comes to."""

    ALLOW = "allow"
    ALLOW_RUN = "allow-run"
    """Also its like, later in this run."""
    DENY = "deny"
    DENY_STOP = "deny-stop"
    """And the turn ends."""


class Offer(Struct, frozen=True, kw_only=True):
    """One of the options that the agent itself gives for a request: shown by its own name, sent back by its own id."""

    id: str
    label: str
    kind: OfferKind
    covers: str = ""
    """Of one for the run: what it would cover, in words."""


class ActKind(StrEnum):
    """What would be done, as far as a standing rule tells acts apart."""

    COMMAND = "command"
    EDIT = "edit"
    READ = "read"
    FETCH = "fetch"
    TOOL = "tool"
    """Any other tool, by the agent's own name for it."""


class Act(Struct, frozen=True, kw_only=True):
    """What would be done if it were allowed. A driver gives it only where it knows the whole of it: a standing rule
    reads nothing else, and one that reads less than is done would allow more than was agreed to."""

    kind: ActKind
    command: str = ""
    """COMMAND: the text that a shell is given, whole."""
    cwd: str = ""
    """COMMAND: the folder it runs in, absolute, where that is told."""
    paths: tuple[str, ...] = ()
    """EDIT, READ: every path that it touches, absolute or from the tree."""
    url: str = ""
    """FETCH."""
    tool: str = ""
    """TOOL: its name."""


class DecisionAsked(Struct, frozen=True, kw_only=True):
    request: str
    """The agent's id for it."""
    kind: DecisionKind
    title: str
    """One line: ``Run a command?``, ``Edit a file?``, ``Approve this plan?``, or the question's header."""
    tool: str | None = None
    call: str | None = None
    input: Json = field(default_factory=dict)
    """Permission: the tool's input, whole. Shown, and editable where ``editable``."""
    subject: str = ""
    """What it is about, uncut: the command, the path, the plan's text."""
    why: str = ""
    """The agent's own reason or description."""
    questions: tuple[Question, ...] = ()
    editable: bool = False
    rule: str | None = None
    """What *allow for this run* would cover, in words (``Bash commands that begin with pytest``); None: not offered."""
    rule_payload: tuple[Json, ...] = ()
    """The agent's own suggestion behind ``rule``, already aimed at this session only."""
    blocked_path: str | None = None
    agent: str | None = None
    """The sub-agent that asks, where one does."""
    offers: tuple[Offer, ...] = ()
    """Permission: the agent's own options, in its order. Empty: allow, deny, deny with a reason, as every request has.
    Where there are some, these are the only ones, and an answer is a ``Chosen``."""
    act: Act | None = None
    """Permission: what a standing rule may look at; None: no rule may allow it."""


class DecisionWithdrawn(Struct, frozen=True, kw_only=True):
    request: str
    why: str = ""


class DecisionResolved(Struct, frozen=True, kw_only=True):
    """The agent's stream shows that an answer arrived (a tool result for the asked call, or its use)."""

    request: str
    accepted: bool
    """False: the agent refused or did not see the answer; ``detail`` says how."""
    detail: str = ""


class Allow(Struct, frozen=True, kw_only=True):
    for_run: bool = False
    """Also use ``rule_payload``: do not ask for its like again in this run."""
    edited_input: Json | None = None
    """The tool's input as the operator changed it, whole."""


class Deny(Struct, frozen=True, kw_only=True):
    message: str = ""
    """Said to the agent; a plan that is sent back for revision carries the wish here."""
    interrupt: bool = False


class QuestionReply(Struct, frozen=True, kw_only=True):
    answers: Mapping[str, tuple[str, ...]]
    """Question text to the labels chosen, or to one free text."""
    note: str = ""
    """Added by the operator, passed on with the answers."""


class Chosen(Struct, frozen=True, kw_only=True):
    """One of the agent's own offers."""

    offer: str
    """Its id."""


Answer = Allow | Deny | QuestionReply | Chosen
