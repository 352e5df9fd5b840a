"""All that the ACP driver remembers between two lines, in one structure, so that a snapshot cannot forget a part.

What is read must come out the same for whoever reads it again without having written: of what was written, only turns
may matter to it. Only plain, bounded JSON values may stand here; nothing that decides.
"""

from typing import Final

import msgspec

from coordinator.drivers.acp_agents import ASK


class Ask(msgspec.Struct):
    """A request of the agent that waits for the operator."""

    kind: str
    """``permission``, ``questions`` (asked through a permission) or ``form``."""
    call: str = ""
    options: dict[str, str] = {}
    """Permission: the id of each option that can be chosen, and its kind in the protocol's words."""
    fields_json: str = "[]"
    """Questions: what each one is called in the answer, as JSON."""
    answered: bool = False


class Tool(msgspec.Struct):
    """A tool call as far as it was told: later lines about it say only what is new."""

    name: str = ""
    named: bool = False
    """Its agent says that this is the tool's name; else it was only the first title."""
    kind: str = ""
    title: str = ""
    input_json: str = "{}"
    """Text, not a tree: the agent's numbers may be larger than a snapshot's."""
    text: str = ""
    """What it shows: its output as it comes."""
    diffs: list[tuple[str, str, str]] = []
    """Path, old text, new text."""
    paths: list[str] = []
    started: bool = False
    waits: bool = False
    """Nothing was told of it since a permission was asked for."""
    parent: str = ""


class Tokens(msgspec.Struct):
    input: int | None = None
    output: int | None = None
    cache_read: int | None = None
    cache_write: int | None = None


class Mode(msgspec.Struct):
    id: str
    name: str = ""


class State(msgspec.Struct):
    rest: bytes = b""
    controls: int = 0
    # --- what it was started with
    profile: str = ""
    cwd: str = ""
    session_wanted: str = ""
    """The conversation to go on with; empty: a new one."""
    fork: bool = False
    mode_wanted: str = ASK
    model_wanted: str = ""
    # --- the handshake
    waiting: list[str] = []
    """Steps of the handshake that were asked for and not answered."""
    ready: bool = False
    # --- the session
    name: str = ""
    """What the agent calls itself."""
    version: str = ""
    takes_images: bool | None = None
    sign_in: list[str] = []
    """The ways of signing in that it names."""
    native_id: str = ""
    went_on: bool = False
    """It is a conversation from before this process."""
    mode: str = ""
    """The agent's own name for the mode it is in."""
    modes: list[Mode] = []
    mode_option: str = ""
    """Id of the configuration option that the mode is, where it is one."""
    model: str = ""
    models: list[Mode] = []
    model_option: str = ""
    commands: dict[str, str] = {}
    set_back: int = 0
    """How often the mode in which a person is asked had to be set again."""
    # --- turns
    sent: list[str] = []
    """Turns written and not settled, in the order of writing."""
    begun: list[str] = []
    settled: list[str] = []
    """The last few settled turns: late lines about them say nothing new."""
    by_agent: bool = False
    """It works on something that nobody here asked for."""
    # --- the conversation
    blocks: int = 0
    block: str = ""
    """Key of the block that streams now; empty: none."""
    block_message: str = ""
    block_kind: str = ""
    block_parent: str = ""
    block_text: list[str] = []
    block_size: int = 0
    last_text: str = ""
    """The last finished block of the turn, its beginning."""
    tools: dict[str, Tool] = {}
    finished: list[str] = []
    """The last few calls that ended: an agent may go on about them."""
    turn_tools: int = 0
    """Tool calls in this turn."""
    asks: dict[str, Ask] = {}
    plan: list[tuple[str, str]] = []
    # --- money and tokens
    cost: int | None = None
    """What the session has cost, as the agent tells it."""
    cost_settled: int | None = None
    """What it had cost at the last result; None: not known (a conversation that goes on)."""
    turn_tokens: Tokens | None = None
    """Summed up from lines within the turn, for an agent that tells it there."""
    session_tokens: Tokens | None = None
    """As of the last result, for an agent that counts from the session's beginning."""
    context: int | None = None
    window: int | None = None


MOST_ASKS: Final = 500
"""Requests that wait at once; an agent that asks without end is told no to its oldest when they are answered."""
