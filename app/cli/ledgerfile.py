"""Opening what a person names with ``--ledger``: this house's ledger, another one, or the one inside a bundle.

Always read-only, and always to the same sentences when it is none.
"""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from app.cli.exits import Code, Leave, refused
from app.cli.printing import one_line
from coordinator.clock import RealClock
from coordinator.review.export import bundle
from store.db import read_ledger
from store.faults import LedgerFault
from store.refusal import Refusal
from store.tx import Tx
from store.vocab import RefusalReason


@contextmanager
def reading(named: str) -> Iterator[Tx]:
    """The ledger at ``named`` ('': this house's), one unchanging state of it.

    Raises:
        Leave: there is none, or it is none.
    """
    with ExitStack() as stack:
        try:
            path = ledger_path(named, stack)
            tx = stack.enter_context(read_ledger(path, now=RealClock().now))
        except LedgerFault as fault:
            raise refused(fault.refusal) from fault
        yield tx


def ledger_path(named: str, stack: ExitStack) -> Path:
    """The file to open. That of a bundle is there until the stack ends.

    Raises:
        Leave: there is none.
    """
    if not named:
        from app.paths import find

        path = find().ledger
        if not path.exists():
            raise Leave(
                Code.REFUSED, "There is no ledger yet; start a run with footplate start, or try footplate demo."
            )
        return path
    path = Path(named).expanduser()
    if not path.exists():
        raise Leave(Code.REFUSED, f"There is no file {one_line(named)}.")
    if path.is_dir():
        inside = path / "ledger.db"
        if not inside.exists():
            raise Leave(Code.REFUSED, f"{one_line(named)} is a folder without a ledger.db in it.")
        return inside
    if not bundle.is_bundle(path):
        return path
    try:
        return stack.enter_context(bundle.opened(path))
    except bundle.NotABundle:
        raise Leave(
            Code.REFUSED, f"The bundle {one_line(named)} is damaged: footplate verify {one_line(named)} says where."
        ) from None
    except OSError as problem:
        facts = {"path": str(path), "problem": problem.strerror or str(problem)}
        raise refused(Refusal(RefusalReason.STORAGE, facts)) from problem
