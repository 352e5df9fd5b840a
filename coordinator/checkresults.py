"""What checks came to, as the ledger has it: one piece of evidence each time that one was run to its end.

The note of such a piece says how it ended and what was run, so that a list of what is kept tells it without the output.
Of a command that was run more than once, the newest counts.
"""

import re
from enum import StrEnum
from typing import Final

from coordinator.agreed import terms_of
from coordinator.checktypes import NOT_PASSED, CheckState, CheckView
from coordinator.terms import Terms
from store import evidence, runs
from store.tx import Tx
from store.vocab import RunId, RunOutcome

_GAP: Final = " · "
_ENDED: Final = re.compile(r"ended after (.+)", re.DOTALL)
_FLOODED: Final = "ended: too much output"


class Standing(StrEnum):
    """What the checks of a run say of it, all together."""

    NONE = "none"
    """It has none, or did not come to them."""
    MISSING = "missing"
    """One of them was not run to its end yet."""
    PASSED = "passed"
    FAILED = "failed"


def note_of(check: CheckView) -> str:
    """``passed``, ``failed: exit 1``, ``ended after 600 s`` or ``ended: too much output``, and the command."""
    match check.state:
        case CheckState.TIMED_OUT:
            how = f"ended after {check.detail}"
        case CheckState.FLOODED:
            how = _FLOODED
        case CheckState.FAILED:
            how = f"failed: {check.detail}"
        case state:
            how = state.value
    return f"{how}{_GAP}{check.command}"


def read_note(note: str) -> CheckView | None:
    """The other way; None where it is no such note."""
    how, gap, command = note.partition(_GAP)
    if not gap:
        return None
    if how == CheckState.PASSED:
        return CheckView(command=command, state=CheckState.PASSED)
    if how == _FLOODED:
        return CheckView(command=command, state=CheckState.FLOODED)
    if ended := _ENDED.fullmatch(how):
        return CheckView(command=command, state=CheckState.TIMED_OUT, detail=ended[1])
    state, _, detail = how.partition(": ")
    return CheckView(command=command, state=CheckState.FAILED, detail=detail) if state == CheckState.FAILED else None


def of_run(tx: Tx, run: RunId) -> tuple[CheckView, ...]:
    """The newest result of each command, in the order in which they were first run. Without what they printed."""
    found: dict[str, CheckView] = {}
    for id, note, at in evidence.checks(tx, run):
        told = read_note(note)
        if told is not None:
            found[told.command] = CheckView(
                command=told.command, state=told.state, detail=told.detail, since=at, evidence=id
            )
    return tuple(found.values())


def as_agreed(terms: Terms, kept: tuple[CheckView, ...], outcome: RunOutcome | None) -> tuple[CheckView, ...]:
    """All checks of an ended run: those agreed to, in their order and with what is missing, then others that were
    run."""
    known = {one.command: one for one in kept}
    found = []
    for command in terms.checks:
        one = known.pop(command, None)
        if one is not None:
            found.append(one)
        elif outcome is RunOutcome.FINISHED:
            found.append(CheckView(command=command, state=CheckState.UNFINISHED))
    return (*found, *known.values())


def standing(tx: Tx, run: RunId) -> Standing:
    """Of a run that has ended, by the checks in its terms."""
    row = runs.get(tx, run)
    terms = None if row is None else terms_of(tx, row)
    if row is None or terms is None or not terms.checks or row.outcome is not RunOutcome.FINISHED:
        return Standing.NONE
    states = {one.command: one.state for one in of_run(tx, run)}
    if any(states.get(one) in NOT_PASSED for one in terms.checks):
        return Standing.FAILED
    return Standing.PASSED if all(one in states for one in terms.checks) else Standing.MISSING
