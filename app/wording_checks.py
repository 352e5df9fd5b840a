"""What is said of the operator's own checks: which are agreed to, how each stands, what they come to."""

from collections.abc import Sequence

from app.wording_measures import clock_seconds, others_words, plural, work_time
from coordinator.checktypes import GOING_ON, NOT_PASSED, CheckState, CheckView
from coordinator.terms import Terms
from store.vocab import RunId


def checks_agreed(terms: Terms) -> str:
    """Which look at its work, and for how long each; '' where none does."""
    if not terms.checks:
        return ""
    each = " each" if len(terms.checks) > 1 else ""
    named = ", ".join(f"`{others_words(one)}`" for one in terms.checks)
    most = work_time(terms.check_seconds * 1000)
    return f"once it is finished, checked in its tree by: {named} (for at most {most}{each})"


def check_state(check: CheckView) -> str:
    """How one stands, in a few words."""
    match check.state:
        case CheckState.WAITING:
            return "waits"
        case CheckState.RUNNING:
            return f"runs since {clock_seconds(check.since)}" if check.since is not None else "runs"
        case CheckState.PASSED:
            return "passed"
        case CheckState.FAILED:
            return f"failed ({others_words(check.detail)})"
        case CheckState.TIMED_OUT:
            return f"ended after {others_words(check.detail)}, it was not done"
        case CheckState.FLOODED:
            return "ended, it printed too much"
        case CheckState.UNFINISHED:
            return "not run to its end"


def checks_in_short(checks: Sequence[CheckView]) -> str:
    """What they come to, in two words or three; '' where there are none."""
    states = {one.state for one in checks}
    if not states:
        return ""
    if states & GOING_ON:
        return "checks run"
    if states & NOT_PASSED:
        return "a check failed"
    return "checks passed" if states == {CheckState.PASSED} else "not checked"


def check_line(check: CheckView) -> str:
    return f"{others_words(check.command)}: {check_state(check)}"


def checks_sentence(checks: Sequence[CheckView], run: RunId) -> str:
    """How many passed, and where to see what they printed; '' where there are none."""
    if not checks:
        return ""
    passed = sum(one.state is CheckState.PASSED for one in checks)
    if passed == len(checks):
        return f"{plural(passed, 'check')} passed."
    so_far = " so far" if any(one.state in GOING_ON for one in checks) else ""
    said = f"{passed or 'None'} of {plural(len(checks), 'check')} passed{so_far}."
    if any(one.state in NOT_PASSED for one in checks):
        said += f" What they printed: v, or footplate show {run}."
    elif not any(one.state in GOING_ON for one in checks):
        said += f" footplate tree {run} check runs them."
    return said
