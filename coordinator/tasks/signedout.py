"""Agents that were heard to be signed out, as the line sees it: each time it is heard, they wait for the operator once.

The runs tell (``store.signins``), of whoever began them, and go on telling it until one goes well; but an agent can not
show that it is signed in again before it is run. So what was waited for once is noted, and the operator's word that
they have seen to it is enough.
"""

from coordinator.tasks import notices
from store import settings, signins
from store.db import Tx
from store.vocab import FailureKind, Millis


def heard(tx: Tx, agent: str) -> bool:
    """Whether it was heard to be signed out, and nobody has waited for that yet."""
    last, told = signins.known(tx).get(agent), settings.get(tx, _noted(agent))
    return last is not None and not last.signed_in and (told is None or int(told) < last.at)


def wait(tx: Tx, agent: str) -> None:
    """From now on it waits for the operator."""
    note(tx, agent, tx.now)
    notices.agent_waits(tx, agent=agent, reason=FailureKind.AUTHENTICATION, until=None, run=None)


def note(tx: Tx, agent: str, at: Millis) -> None:
    """What was heard up to now is waited for."""
    settings.put(tx, _noted(agent), str(at))


def _noted(agent: str) -> str:
    return f"signed-out.{agent}"
