"""Reads the operator's ``prices.toml``, which goes over the built-in prices. What it means is in ``prices``."""

from pathlib import Path
from typing import Final

from coordinator.prices import Prices, built_in, parse
from store.refusal import Refusal
from store.vocab import RefusalReason

NAME: Final = "prices.toml"


def load(path: Path) -> Prices | Refusal:
    """The table with the operator's own prices over it, where there is such a file; ``config-invalid`` names it."""
    try:
        made = parse(path.read_bytes().decode("utf-8"))
    except FileNotFoundError:
        return built_in()
    except UnicodeDecodeError:
        return _invalid(path, "it is not UTF-8 text")
    except OSError as problem:
        return _invalid(path, f"it cannot be read: {(problem.strerror or str(problem)).lower()}")
    return _invalid(path, made) if isinstance(made, str) else made


def _invalid(path: Path, problem: str) -> Refusal:
    return Refusal(RefusalReason.CONFIG_INVALID, {"file": str(path), "key": "", "problem": problem})
