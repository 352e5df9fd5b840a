"""What is asked and answered about the tree of a run that has ended. Part of ``api``, which passes it on; nothing here
acts."""

from enum import StrEnum
from typing import Final

from msgspec import Struct

from store.vocab import Millis, RunId

KEPT: Final = Millis(30 * 86_400_000)
"""How long what was discarded can be restored, and what a task's work came to is there for others."""


class Disposal(StrEnum):
    """What the operator does with a run's tree and branch."""

    KEEP = "keep"
    """What is not committed there is committed, on the run's branch."""
    MERGE = "merge"
    PICK = "pick"
    """Its commits, one by one, on the operator's branch."""
    DISCARD = "discard"
    """Out of sight; it can be restored for 30 days."""
    RESTORE = "restore"


class LookAtTree(Struct, frozen=True, kw_only=True):
    """How the tree of an ended run stands. Answer: ``TreeView`` or ``Refusal``."""

    run: RunId


class DisposeOfTree(Struct, frozen=True, kw_only=True):
    """Answer: ``Disposed`` or ``Refusal``."""

    run: RunId
    how: Disposal
    ignored: bool = False
    """Of a discard: what git ignores in the tree may go with it, and does not come back."""


class CheckAgain(Struct, frozen=True, kw_only=True):
    """The checks of an ended run once more, beside all else. Answer: ``Done`` once they are begun, or ``Refusal``."""

    run: RunId


class TreeView(Struct, frozen=True, kw_only=True):
    run: RunId
    title: str
    repository: str
    tree: str
    """'' where it is not there any more."""
    branch: str
    """'' likewise, and where it is on none."""
    target: str
    """The branch that the repository itself is on; '': none."""
    changed: int = 0
    """Files that are not committed; -1: they could not be counted."""
    commits: int = 0
    """On the branch since the run began."""
    built_on: int = 0
    """Commits that it began on and the target does not have: they come along with its own."""
    built_on_run: RunId | None = None
    """Which run left those; None where it is not known."""
    landed: bool = False
    """The target has all its commits, and nothing is left uncommitted."""
    ignored: tuple[str, ...] = ()
    """What git ignores there."""
    discarded_at: Millis | None = None


class Disposed(Struct, frozen=True, kw_only=True):
    run: RunId
    how: Disposal
    branch: str
    """Of the run."""
    commit: str
    """What the branch, or the target, is at now."""
    target: str = ""
    committed: int = 0
    """Files that were not committed and now are."""
    tree: str = ""
    """The tree that is still there; '': there is none."""
    left: str = ""
    """A branch of the run's that stays, because it has more than what was discarded."""
    until: Millis | None = None
    """Until when it can be restored."""
