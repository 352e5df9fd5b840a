"""When an attempt at a task is over though its agent lives on and has not said so.

Nobody looks at a task of the line and finishes it by hand: its agent's turn has ended, nothing is asked, nothing waits
to be said, nothing of it works on, so it is as finished as it will be. One to which the operator has spoken is theirs.
Pure; that the run is then ended as any other is ended is the machine's.
"""

from coordinator.rows import SessionRows
from coordinator.sessionstate import SessionState
from store.moves import UNFINISHED
from store.vocab import TurnResultKind, TurnSource, TurnState


def is_over(rows: SessionRows, state: SessionState, *, works_on: bool) -> bool:
    """Whether it is to be concluded. ``works_on``: something that the agent began runs in the background.

    A turn that went wrong ends it too: what becomes of the task goes by how it went wrong. One that was interrupted was
    interrupted by somebody.
    """
    if rows.attempt is None or not (state.ready and state.live and state.at_rest):
        return False
    if state.finishing or state.mailbox_due or state.parked or state.park_answers or rows.queued or works_on:
        return False
    if any(one.state in UNFINISHED for one in rows.decisions):
        return False
    if any(turn.source is TurnSource.OPERATOR for turn in rows.turns):
        return False
    over = any(turn.state is TurnState.SETTLED for turn in rows.turns)
    return over and state.last_result in (TurnResultKind.SUCCESS, TurnResultKind.ERROR)
