"""Reads the operator's ``prices.toml``, which goes over the built-in prices. What it means is in ``prices``."""

from pathlib import Path
from typing import Final

from coordinator import tomlfiles
from coordinator.prices import Prices, built_in, parse
from store.refusal import Refusal

NAME: Final = "prices.toml"


def load(path: Path) -> Prices | Refusal:
    """The table with the operator's own prices over it, where there is such a file; ``config-invalid`` names it."""
    text = tomlfiles.text_of(path)
    if text is None:
        return built_in()
    made = text if isinstance(text, Refusal) else parse(text)
    return tomlfiles.invalid(path, "", made) if isinstance(made, str) else made
