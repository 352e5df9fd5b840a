"""``Refusal``: an expected *no*, as a value. Exceptions stay for bugs and broken I/O."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from store.vocab import RefusalReason

Fact = str | int | float | bool | None


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why something was not done. A transaction whose body returns one is rolled back."""

    reason: RefusalReason
    facts: Mapping[str, Fact] = field(default_factory=dict)
    """What was found, by name (``was``, ``is``, ``field``, ``limit`` …); the wording puts them in a sentence."""
