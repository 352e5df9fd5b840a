"""Checks as they are shown: the operator's own commands that look at what a run left once it says that it is finished.

Only values. How they are run stands in ``checkruns``, how they are kept in ``checkresults``.
"""

from enum import StrEnum

from msgspec import Struct

from store.vocab import Millis

CHECK_SECONDS = 600
"""For each of them, where the configuration says nothing."""
MOST_CHECKS = 20
"""For one repository."""


class RepositoryChecks(Struct, frozen=True, kw_only=True):
    """What the configuration says for a repository."""

    commands: tuple[str, ...]
    """Each by ``sh``, in the tree, one after the other."""
    seconds: int = CHECK_SECONDS
    """For each of them."""


class CheckState(StrEnum):
    WAITING = "waiting"
    RUNNING = "running"
    PASSED = "passed"
    FAILED = "failed"
    """By its exit, or it could not be started."""
    TIMED_OUT = "timed-out"
    FLOODED = "flooded"
    """It printed without an end, and was ended for it."""
    UNFINISHED = "unfinished"
    """It was never run to its end: the console went, or the operator ended it."""


GOING_ON = frozenset({CheckState.WAITING, CheckState.RUNNING})
NOT_PASSED = frozenset({CheckState.FAILED, CheckState.TIMED_OUT, CheckState.FLOODED})


class CheckView(Struct, frozen=True, kw_only=True):
    command: str
    state: CheckState
    detail: str = ""
    """How it failed (``exit 1``, ``SIGKILL``, ``not started``), or after how many seconds it was ended."""
    since: Millis | None = None
    """Of one that runs: since when; of one that is over: when it ended."""
    evidence: int | None = None
    """What it printed, as it is kept; None: nothing is."""
