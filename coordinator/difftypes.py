"""What a run changed, as a front end asks for it and is given it: files, one by one their lines, and what must be known
of how both were found. Part of ``api``, which passes them on."""

from enum import StrEnum

from msgspec import Struct

from store.vocab import RunId


class ReadChanges(Struct, frozen=True, kw_only=True):
    """Which files a run changed: in all, or in one of its turns. Answer: ``Changes`` or ``Refusal``."""

    run: RunId
    turn: int | None = None
    """The last turn of one of ``Changes.turns``; None: all since the run began."""


class ReadDiff(Struct, frozen=True, kw_only=True):
    """The lines that changed, as a unified diff. Answer: ``Diff`` or ``Refusal``."""

    run: RunId
    turn: int | None = None
    names: tuple[bytes, ...] = ()
    """Of files, as in ``FileChange.names``; none: of all of them."""


class ChangesFrom(StrEnum):
    TREE = "tree"
    """Compared just now with the files as they are."""
    TURNS = "turns"
    """Two states of the tree that were noted as turns ended."""
    KEPT = "kept"
    """What was kept in the ledger when the run ended."""


class ChangesNote(StrEnum):
    """What a reader must know of the list; each has a sentence in ``wording_changes``."""

    BEFORE = "before"
    """So many of the files were changed already when the run began."""
    BEFORE_UNKNOWN = "before-unknown"
    TURNS_UNKNOWN = "turns-unknown"
    LEFT_OUT = "left-out"
    """So many files are too large to be noted at each turn."""
    SUBMODULES = "submodules"
    MORE = "more"
    """So many files more than are listed; -1: nobody knows how many."""
    UNCOUNTED = "uncounted"
    """Counting lines took too long."""
    CUT = "cut"
    """The diff that was kept does not have all files' lines."""
    NOTHING_KEPT = "nothing-kept"
    GOES_ON = "goes-on"
    """It has not ended, and its tree was not looked at."""
    NOT_READ = "not-read"
    """When the run ended the tree could not be read; ``text``: why."""


class Remark(Struct, frozen=True, kw_only=True):
    what: ChangesNote
    count: int = 0
    text: str = ""


class FileChange(Struct, frozen=True, kw_only=True):
    path: str
    """To be shown: what is no UTF-8 in it was replaced."""
    names: tuple[bytes, ...]
    """Its name, and where it was renamed the one before."""
    status: str
    """One letter as git's: M, A, D, R, ?"""
    added: int | None
    removed: int | None
    """None: binary, too large, or not counted."""
    was: str = ""
    before: bool = False
    """It was changed already when the run began: not all of it is the run's."""


class TurnSpan(Struct, frozen=True, kw_only=True):
    """Turns whose changes can be told from the others'. More than one where no console saw the end of the first."""

    first: int
    last: int
    running: bool = False


class Changes(Struct, frozen=True, kw_only=True):
    run: RunId
    source: ChangesFrom
    tree: str
    base: str
    """The commit compared with; '' for none, or where a turn's own beginning is."""
    turn: int | None
    files: tuple[FileChange, ...]
    turns: tuple[TurnSpan, ...] = ()
    remarks: tuple[Remark, ...] = ()


class Diff(Struct, frozen=True, kw_only=True):
    patch: bytes
    """As git writes it; of what was kept, redacted."""
    cut: bool = False
    """It goes on, and was not read further."""
