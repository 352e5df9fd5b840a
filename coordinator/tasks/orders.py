"""What the operator orders of the queue, at a console or by a command: each carried out against the ledger.

Nothing here begins a task or ends one that is at work: the consoles' dispatchers see what is written and do that.
"""

from coordinator.api import AddTasks, EditTask, ProposeSeries, QueueCommand, ReadQueue, Reply, SignSeries
from coordinator.tasks import adding, changing, reading, signing
from coordinator.tasks.desk import Desk


async def serve(desk: Desk, command: QueueCommand, operator: str) -> Reply:
    """The reply that the command's own docstring names, or a ``Refusal``; then nothing of it was written.

    Raises:
        LedgerFault: the ledger cannot be read or written.
    """
    match command:
        case ReadQueue():
            return await reading.read(desk, command)
        case AddTasks():
            return await adding.add(desk, command, operator)
        case EditTask():
            return await changing.edit(desk, command)
        case ProposeSeries():
            return await signing.propose(desk, command)
        case SignSeries():
            return await signing.sign(desk, command, operator)
        case _:
            return await changing.change(desk, command, operator)
