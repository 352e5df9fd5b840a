"""What tokens are and what they cost: one definition, a table with a date on it, and the operator's own over it.

Agents that tell tokens and no money are reckoned by it, held ones and imported transcripts alike; every cost that comes
from here is an estimate and is marked as one. A model that no table has costs an unknown amount, which is not nothing.
Long-context and priority surcharges, batch discounts and subscriptions are not in here: it is what the tokens cost by
the list. Each protocol's own way of counting is brought to ``Tokens`` where its lines are read; added up two ways, the
same session has two costs. No file is opened here (``coordinator.pricefile``).

    dated = "2026-12-01"

    [models."some-model"]        # dollars for a million tokens
    input = 4.0
    output = 20.0
    cache_read = 0.2             # left out: as input
    cache_write = 5.0            # left out: as input
    cache_write_1h = 8.0         # left out: as cache_write
"""

import re
import tomllib
from collections.abc import Mapping
from typing import Annotated, Final

import msgspec
from msgspec import Struct

from store.vocab import MicroUsd

LARGEST: Final = 1 << 40
"""A count beyond it is no count: it would not fit into a sum of 64 bits."""
DATED: Final = "2026-11-29"
"""When the table below was drawn up: for Claude from what the agent itself reports for known tokens (2.1.332; older
models 2.1.197), for the others from the prices that were published."""
SEARCH: Final = 10_000
"""Micro-dollars for one search of the web."""

# Dollars for a million tokens: input, output, cache read, cache write, cache write for an hour.
_TABLE: Final[Mapping[str, tuple[float, float, float, float, float]]] = {
    "claude-fable-5-2": (8, 40, 0.2, 10, 16),
    "claude-fable-5-1": (10, 50, 0.25, 12.5, 20),
    "claude-fable-5": (10, 50, 1, 12.5, 20),
    "claude-mythos-5-2": (8, 40, 0.2, 10, 16),
    "claude-mythos-5-1": (10, 50, 0.25, 12.5, 20),
    "claude-mythos-5": (10, 50, 1, 12.5, 20),
    "claude-opus-5-5": (4, 20, 0.2, 5, 8),
    "claude-opus-5": (5, 25, 0.5, 6.25, 10),
    "claude-opus-4-8": (5, 25, 0.5, 6.25, 10),
    "claude-opus-4-7": (5, 25, 0.5, 6.25, 10),
    "claude-opus-4-6": (5, 25, 0.5, 6.25, 10),
    "claude-opus-4-5": (5, 25, 0.5, 6.25, 10),
    "claude-opus-4-1": (15, 75, 1.5, 18.75, 30),
    "claude-opus-4": (15, 75, 1.5, 18.75, 30),
    "claude-sonnet-5-5": (2, 10, 0.1, 2.5, 4),
    "claude-sonnet-5": (2, 10, 0.2, 2.5, 4),
    "claude-sonnet-4-6": (3, 15, 0.3, 3.75, 6),
    "claude-sonnet-4-5": (3, 15, 0.3, 3.75, 6),
    "claude-sonnet-4": (3, 15, 0.3, 3.75, 6),
    "claude-3-7-sonnet": (3, 15, 0.3, 3.75, 6),
    "claude-3-5-sonnet": (3, 15, 0.3, 3.75, 6),
    "claude-haiku-5-5": (0.1, 0.5, 0.01, 0.125, 0.2),
    "claude-haiku-4-5": (1, 5, 0.1, 1.25, 2),
    "claude-3-5-haiku": (0.8, 4, 0.08, 1, 1.6),
    "gpt-5": (1.25, 10, 0.125, 1.25, 1.25),
    "gpt-5-codex": (1.25, 10, 0.125, 1.25, 1.25),
    "gpt-5-mini": (0.25, 2, 0.025, 0.25, 0.25),
    "gpt-5-nano": (0.05, 0.4, 0.005, 0.05, 0.05),
    "gpt-5.1": (1.25, 10, 0.125, 1.25, 1.25),
    "gpt-5.1-codex": (1.25, 10, 0.125, 1.25, 1.25),
    "gpt-5.1-codex-max": (1.25, 10, 0.125, 1.25, 1.25),
    "gpt-5.1-codex-mini": (0.25, 2, 0.025, 0.25, 0.25),
    "gpt-5.2": (1.75, 14, 0.175, 1.75, 1.75),
    "gpt-5.2-codex": (1.75, 14, 0.175, 1.75, 1.75),
    "gpt-5.3-codex": (1.75, 14, 0.175, 1.75, 1.75),
    "gpt-5.4": (2.5, 15, 0.25, 2.5, 2.5),
    "gpt-5.5": (5, 30, 0.5, 5, 5),
}

_BEFORE: Final = re.compile(r"\A(?:.*/|(?:[a-z]{2,6}\.)?anthropic\.)")
_AFTER: Final = re.compile(r"(?:\[[^\]]*\]|-v\d+(?::\d+)?|-latest|[-@]\d{8}|-\d{4}-\d{2}-\d{2})\Z")


class Tokens(Struct, frozen=True, kw_only=True):
    fresh: int = 0
    """Input that came from no cache and went into none."""
    read: int = 0
    """Input that a cache had."""
    written: int = 0
    """Input that was put into a cache for a short while."""
    written_long: int = 0
    """The same for an hour, which costs more."""
    said: int = 0
    """Output, its reasoning included."""
    searches: int = 0
    """Searches of the web that the model's host made, each with a price of its own."""

    def __add__(self, other: "Tokens") -> "Tokens":
        return Tokens(
            fresh=self.fresh + other.fresh,
            read=self.read + other.read,
            written=self.written + other.written,
            written_long=self.written_long + other.written_long,
            said=self.said + other.said,
            searches=self.searches + other.searches,
        )

    def larger(self, other: "Tokens") -> "Tokens":
        """Of two tellings about the same answer: a streamed answer is told before it is complete, and again after."""
        return Tokens(
            fresh=max(self.fresh, other.fresh),
            read=max(self.read, other.read),
            written=max(self.written, other.written),
            written_long=max(self.written_long, other.written_long),
            said=max(self.said, other.said),
            searches=max(self.searches, other.searches),
        )


def count(value: object) -> int:
    """A number of tokens; what is none counts as nothing told."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= LARGEST:
        return 0
    return int(value)


class Price(Struct, frozen=True, kw_only=True):
    """Micro-dollars for a token, which is dollars for a million."""

    input: float
    output: float
    cache_read: float
    cache_write: float
    cache_write_1h: float

    def of(self, tokens: Tokens) -> MicroUsd:
        money = tokens.fresh * self.input + tokens.said * self.output + tokens.read * self.cache_read
        money += tokens.written * self.cache_write + tokens.written_long * self.cache_write_1h
        return MicroUsd(round(money) + tokens.searches * SEARCH)


class Prices(Struct, frozen=True, kw_only=True):
    models: Mapping[str, Price]
    dated: str
    own: bool = False
    """Whether the operator's file is in it."""

    def cost(self, model: str, tokens: Tokens) -> MicroUsd | None:
        """None: nobody told what this model costs."""
        price = self.find(model)
        return None if price is None else price.of(tokens)

    def find(self, model: str) -> Price | None:
        """By the whole name first; then without what a host puts before it and a release puts behind it."""
        name = model.strip().lower()
        found = self.models.get(name)
        if found is not None:
            return found
        name = _BEFORE.sub("", name)
        while True:
            found = self.models.get(name)
            shorter = _AFTER.sub("", name)
            if found is not None or shorter == name:
                return found
            name = shorter


class _Model(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    input: Annotated[float, msgspec.Meta(ge=0, le=1e6)]
    output: Annotated[float, msgspec.Meta(ge=0, le=1e6)]
    cache_read: Annotated[float, msgspec.Meta(ge=0, le=1e6)] | None = None
    cache_write: Annotated[float, msgspec.Meta(ge=0, le=1e6)] | None = None
    cache_write_1h: Annotated[float, msgspec.Meta(ge=0, le=1e6)] | None = None


class _File(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    dated: str = ""
    models: dict[str, _Model] = msgspec.field(default_factory=dict)


def built_in() -> Prices:
    models = {
        name: Price(input=input, output=output, cache_read=read, cache_write=write, cache_write_1h=long)
        for name, (input, output, read, write, long) in _TABLE.items()
    }
    return Prices(models=models, dated=DATED)


def parse(toml: str) -> Prices | str:
    """The table with the operator's own prices over it; or what is wrong with them, in words."""
    try:
        told = msgspec.convert(tomllib.loads(toml), _File, strict=False)
    except tomllib.TOMLDecodeError as problem:
        return f"it is not TOML: {problem}"
    except msgspec.ValidationError as problem:
        return str(problem).replace("`", "'")
    models = dict(built_in().models)
    for name, one in told.models.items():
        write = one.input if one.cache_write is None else one.cache_write
        models[name.strip().lower()] = Price(
            input=one.input,
            output=one.output,
            cache_read=one.input if one.cache_read is None else one.cache_read,
            cache_write=write,
            cache_write_1h=write if one.cache_write_1h is None else one.cache_write_1h,
        )
    return Prices(models=models, dated=told.dated or DATED, own=True)
