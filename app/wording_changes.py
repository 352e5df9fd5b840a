"""Sentences about what a run changed; for the console, the review and the command line."""

from app.wording_measures import noun, plural
from coordinator.api import Changes, ChangesFrom, ChangesNote, Remark, TurnSpan

_NOBODY_KNOWS = frozenset({ChangesNote.NOTHING_KEPT, ChangesNote.GOES_ON, ChangesNote.NOT_READ})


def remark(one: Remark) -> str:
    """One sentence, without a full stop."""
    match one.what:
        case ChangesNote.BEFORE:
            were = "was" if one.count == 1 else "were"
            return f"{plural(one.count, 'file')} (*) {were} uncommitted before the run: not all there is its work"
        case ChangesNote.BEFORE_UNKNOWN:
            return "what was not committed when the run began counts as changed: nobody noted it"
        case ChangesNote.TURNS_UNKNOWN:
            return "turn by turn is not known: no console was there to note where each ended"
        case ChangesNote.LEFT_OUT:
            return f"{plural(one.count, 'file')} of more than 4 MB cannot be told apart by turn: see them in all turns"
        case ChangesNote.SUBMODULES:
            return "submodules are not looked into"
        case ChangesNote.MORE:
            if one.count < 0:
                return "there are more files than are listed"
            return f"{one.count:,} {noun(one.count, 'more file')} changed"
        case ChangesNote.UNCOUNTED:
            return "lines were not counted: it took too long"
        case ChangesNote.CUT:
            return "what was kept was cut at 4 MB: of the last files the lines are missing"
        case ChangesNote.NOTHING_KEPT:
            return "nothing was kept of what it changed"
        case ChangesNote.GOES_ON:
            return "it has not ended: what it changed is kept when it does"
        case ChangesNote.NOT_READ:
            return f"the tree could not be read when the run ended: {one.text or 'nobody knows why'}"


def span(one: TurnSpan) -> str:
    """``turn 3``, ``turns 3 to 4``, ``turn 5 so far``."""
    words = f"turn {one.last}" if one.first == one.last else f"turns {one.first} to {one.last}"
    return f"{words} so far" if one.running else words


def span_of(changes: Changes) -> str:
    """Of which turns these changes are."""
    if changes.turn is None:
        return "all turns"
    return span(next((one for one in changes.turns if one.last == changes.turn), TurnSpan(first=1, last=changes.turn)))


def source(changes: Changes) -> str:
    """How they were found."""
    if changes.source is ChangesFrom.KEPT:
        return "as kept when it ended"
    if changes.source is ChangesFrom.TURNS:
        return "as the files were then"
    return "the files as they are"


def nothing(changes: Changes) -> str:
    """In the place of an empty list; '' where a remark says why nobody knows."""
    said = {one.what for one in changes.remarks}
    if said & _NOBODY_KNOWS or (changes.turn is not None and ChangesNote.TURNS_UNKNOWN in said):
        return ""
    return "nothing changed" if changes.turn is None else f"nothing changed in {span_of(changes)}"


def counts(added: int | None, removed: int | None) -> str:
    """``+3 −1``; *no lines* where they were not counted."""
    if added is None and removed is None:
        return "–"
    return " ".join(f"{sign}{n}" for sign, n in (("+", added), ("−", removed)) if n) or "0"
