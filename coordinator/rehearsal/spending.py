"""What the practice agent pretends to cost: for the process, as the real agent counts, and since the last result.

Play money, but kept with the real one's habits (a total that only grows, `usage` per turn, `modelUsage` per process),
because those habits are what the coordinator's books must survive.
"""

from dataclasses import dataclass, field
from typing import Any

Json = dict[str, Any]
INPUT_PRICE = 4e-6
OUTPUT_PRICE = 20e-6
CONTEXT_WINDOW = 200_000


@dataclass(slots=True)
class Counts:
    input_tokens: int = 0
    output_tokens: int = 0
    cost: float = 0.0

    def add(self, input_tokens: int, output_tokens: int, cost: float) -> None:
        self.input_tokens += input_tokens
        self.output_tokens += output_tokens
        self.cost += cost

    def told(self, newer: bool) -> Json:
        told: Json = {
            "inputTokens": self.input_tokens,
            "outputTokens": self.output_tokens,
            "cacheReadInputTokens": 0,
            "cacheCreationInputTokens": 0,
            "webSearchRequests": 0,
            "costUSD": self.cost,
            "contextWindow": CONTEXT_WINDOW,
            "maxOutputTokens": 64_000,
        }
        return told | ({"provider": "practice", "costBasis": "list"} if newer else {})


@dataclass(slots=True)
class Spending:
    total: float = 0.0
    own: float = 0.0
    """Of this process alone: the agent's own cap does not count what a resumed conversation cost before."""
    models: dict[str, Counts] = field(default_factory=dict)
    since: dict[str, Counts] = field(default_factory=dict)
    turn: Counts = field(default_factory=Counts)

    def charge(self, model: str, input_tokens: int, output_tokens: int, cost: float | None) -> None:
        price = input_tokens * INPUT_PRICE + output_tokens * OUTPUT_PRICE if cost is None else cost
        self.total += price
        self.own += price
        self.turn.add(input_tokens, output_tokens, price)
        for book in (self.models, self.since):
            book.setdefault(model, Counts()).add(input_tokens, output_tokens, price)

    def begin_turn(self) -> None:
        self.turn = Counts()

    def close_result(self, newer: bool) -> Json:
        """What was spent since the result before this one; the next count starts here."""
        told = {model: counts.told(newer) for model, counts in self.since.items()}
        self.since = {}
        return told

    def model_usage(self, newer: bool) -> Json:
        return {model: counts.told(newer) for model, counts in self.models.items()}


def usage(counts: Counts) -> Json:
    return {
        "input_tokens": counts.input_tokens,
        "cache_creation_input_tokens": 0,
        "cache_read_input_tokens": 0,
        "output_tokens": counts.output_tokens,
        "server_tool_use": {"web_search_requests": 0, "web_fetch_requests": 0},
        "service_tier": "standard",
    }
