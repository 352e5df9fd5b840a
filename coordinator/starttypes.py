"""What is asked and answered before a run begins: terms wished for, proposed, signed. Part of ``api``, which passes
them on; nothing here acts."""

from enum import StrEnum

from msgspec import Struct

from coordinator.drivers.base import CostBasis, Image
from coordinator.terms import Terms
from store.refusal import Refusal
from store.vocab import MicroUsd, Millis, RunId


class NewConversation(StrEnum):
    """Why a run that goes on from another one does so in a conversation of its own."""

    ASKED = "asked"
    """The operator wants it so."""
    OTHER_AGENT = "other-agent"
    CANNOT = "cannot"
    """This agent does not go on in a conversation."""
    TERMINAL = "terminal"
    """A program with a prompt: what it is told it takes for a command, so it is told nothing of what came before."""
    NONE_BEGUN = "none-begun"
    """The agent was never heard of, or its first turn never went."""
    OTHER_TREE = "other-tree"
    """Some agents keep a conversation by the folder in which it was held."""
    HELD = "held"
    """Another run holds it just now."""
    FAILED = "failed"
    """A run that was to go on in it did not come up."""


class TreeReason(StrEnum):
    """Why a run is proposed in place, or on a tree of its own."""

    ASKED = "asked"
    CLEAN = "clean"
    """In place: nothing there is uncommitted, and no run works there."""
    DIRTY = "dirty"
    UNREADABLE = "unreadable"
    """What is uncommitted there could not be found out in time."""
    HELD = "held"
    """Another run works in the repository itself."""
    BARE = "bare"
    AS_BEFORE = "as-before"
    """It goes on from a run, where that one worked."""


class Continued(Struct, frozen=True, kw_only=True):
    """What a run would begin with that goes on from another one."""

    run: RunId
    title: str
    new: NewConversation | None
    """None: in the agent's own conversation."""
    other: RunId | None = None
    """The run that holds the conversation, or that did not come up in it."""
    turns: int = 0
    """Told of in the account; 0 where the agent remembers by itself."""
    answers: int = 0
    """Answers of the operator that never reached the agent and ride in the brief."""
    unsent: int = 0
    """Messages of the operator that were never sent, likewise."""


class Propose(Struct, frozen=True, kw_only=True):
    """Ask for terms to show before signing. Answer: ``Proposal`` or ``Refusal``."""

    instruction: str
    repository: str
    agent: str | None = None
    preset: str | None = None
    budget: MicroUsd | None = None
    max_turns: int | None = None
    working_seconds: int | None = None
    expires_seconds: int | None = None
    model: str | None = None
    mode: str | None = None
    worktree: bool | None = None
    preamble: bool = True
    rules: tuple[str, ...] | None = None
    """Exactly these standing rules; None: those that are kept for this repository and agent."""
    more_rules: tuple[str, ...] = ()
    """Beside those, for this run only."""
    script: str = ""
    continues: RunId | None = None
    """The run that it is to go on from: then the repository is that run's, and what is not said here is as it was."""
    fresh: bool | None = None
    """Of one that goes on: with an account of the run before, not in its conversation. False: in that, whatever it was
    like the last time. None: in that where it can be."""


class Proposal(Struct, frozen=True, kw_only=True):
    terms: Terms
    preset: str | None
    moved: tuple[str, ...] = ()
    """Names of fields that differ from the last run in this repository."""
    own_rules: tuple[str, ...] = ()
    """The agent's own permission rules in force: what they let through without asking."""
    new_rules: tuple[str, ...] = ()
    """Those of its standing rules that the last run in this repository did not have."""
    gone_rules: tuple[str, ...] = ()
    """Those that it had and this one has not."""
    preamble_text: str = ""
    agents: tuple[str, ...] = ()
    """Profiles that could be chosen."""
    others: tuple[Refusal, ...] = ()
    """Why the other ones would not work, each naming its agent."""
    signed_out_at: Millis | None = None
    """When the agent was last heard to be signed out, where nothing went well with it since."""
    cost: CostBasis = CostBasis.TOLD
    cost_note: str = ""
    """Where the agent does not tell its cost: what stands in its place."""
    caution: str = ""
    """What is to be known of the agent before choosing it."""
    uncommitted: int = 0
    """Files with changes that a tree of its own will not have."""
    tree_reason: TreeReason = TreeReason.ASKED
    holder: RunId | None = None
    """The run that works in the repository itself, where that is the reason."""
    submodules: tuple[str, ...] = ()
    """Folders that will be empty in a new tree."""
    takes_images: bool = False
    continued: "Continued | None" = None
    """How it would go on from the run that its terms name."""


class StartRun(Struct, frozen=True, kw_only=True):
    """The operator signed these terms. Answer: ``Started`` or ``Refusal``."""

    terms: Terms
    title: str = ""
    images: tuple[Image, ...] = ()


class Started(Struct, frozen=True, kw_only=True):
    run: RunId
