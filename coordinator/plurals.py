"""Numbers before nouns, for every sentence that tells one, in the ledger and on a screen."""


def plural(n: int, one: str, many: str | None = None) -> str:
    """``1 file``, ``3 files``. No sentence puts a number before a noun in another way than by this and ``noun``."""
    return f"{n} {noun(n, one, many)}"


def noun(n: int, one: str, many: str | None = None) -> str:
    """``file``, ``files``: behind a number that is written otherwise than ``12000``, as ``12,000`` or ``12k``."""
    return one if n == 1 else many or one + "s"
