"""The six keys that do most of it: one step of the tour each, and the first lines of ``footplate help keys``. Pure.

Which key it is comes from the key table, so that an operator with keys of their own learns those.
"""

from msgspec import Struct

from app.console.keys import TABLE, Key, shown
from app.console.views.ink import EMPTY, Line, Span, indent, wrap


class Step(Struct, frozen=True, kw_only=True):
    action: str
    """By its name in the key table."""
    short: str
    """Behind the key, in a list."""
    told: str
    """When it is the only one that is told of."""


STEPS: tuple[Step, ...] = (
    Step(
        action="send",
        short="shows the terms of what you typed; Enter again starts under them",
        told="Type what is to be done, then Enter. You see the terms: who may work where, until when, for how much, "
        "and what it asks you first. Nothing starts before a second Enter.",
    ),
    Step(
        action="next-waiting",
        short="goes to what waits longest for you; there a digit answers",
        told="When an agent asks, this goes to the card of whoever waits longest, whatever you are writing: your text "
        "stays. There 1 allows once and 2 denies. A digit typed into your text is never an answer.",
    ),
    Step(
        action="to-keys",
        short="leaves the text for the keys; i goes back to it, nothing is lost",
        told="Leaves the text for the keys: single letters that scroll, fold, show the diff and the details. The "
        "bottom row always says which. i goes back to the text. Esc steps back and denies nothing; only Esc Esc within "
        "a second interrupts the turn, which the first one says (never over ssh).",
    ),
    Step(
        action="stop",
        short="stops the session in view, again after 0.7 s kills it",
        told="Stops the session in view and everything that it started, daemons too; pressed again it kills. The stop "
        "report says what was ended, and its first line that nothing is left.",
    ),
    Step(
        action="commands",
        short="all commands, each with its key; type to find one",
        told="All commands, each with its key and, where it can do nothing just now, why. Type a few letters of what "
        "you want. This tour is among them.",
    ),
    Step(
        action="quit",
        short="quits, and asks if an agent is still running",
        told="Quits. If an agent is still running you are asked: leave it held for the next console, finish and stop, "
        "or stay.",
    ),
)


def key_of(step: Step, table: tuple[Key, ...] = TABLE) -> str:
    """As a person reads it."""
    return next(shown(row) for row in table if row.action == step.action)


def short_lines(table: tuple[Key, ...] = TABLE) -> tuple[str, ...]:
    """All six, a row each."""
    return tuple(f"  {key_of(step, table):<7} {step.short}" for step in STEPS)


def step_lines(at: int, width: int, table: tuple[Key, ...] = TABLE) -> tuple[Line, ...]:
    """One step: its key alone, then what it does, then where in the tour that is."""
    step = STEPS[at]
    key = key_of(step, table)
    chord = "    (Ctrl and " + key[1:] + ")" if key.startswith("^") else ""
    places: list[Span] = []
    for number, one in enumerate(STEPS):
        ink = "blue strong" if number == at else "grey"
        places += [Span(key_of(one, table), ink), Span("   ", "grey")]
    return (
        (Span(key, "blue strong"), Span(chord, "grey")),
        EMPTY,
        *(indent((Span(row, "text"),), 0) for row in wrap(step.told, width)),
        EMPTY,
        tuple(places[:-1]),
    )
