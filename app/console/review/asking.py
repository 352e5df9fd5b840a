"""How the parts of a review read the ledger: by one function of the screen's, which says what went wrong."""

from collections.abc import Awaitable, Callable
from typing import Protocol, TypeVar

from store.tx import Tx

T = TypeVar("T")


class Ask(Protocol):
    """None: it could not be read, and that was said."""

    def __call__(self, fn: Callable[[Tx], T], /) -> Awaitable[T | None]: ...
