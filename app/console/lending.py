"""The terminal lent to another program: the operator's editor, the pager. Awaited through asyncio while it is theirs,
with nothing drawn meanwhile: a repaint into a suspended driver hangs for good (measured).
"""

import asyncio
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from textual.app import SuspendNotSupported

if TYPE_CHECKING:
    from app.console.deeds import Deeds


async def lend(
    deeds: "Deeds", argv: Sequence[str], environment: Mapping[str, str] | None = None, cwd: str | None = None
) -> int | str:
    """Run a program in front until it ends: its exit code, or why it did not come to that."""
    deeds.away = True
    try:
        # Batched, and longer than lent: no timer, snapshot or answer draws anything meanwhile.
        with deeds.app.batch_update(), deeds.app.suspend():
            return await _run(argv, environment, cwd)
    except SuspendNotSupported:
        return "this terminal can not be lent to another program"
    finally:
        deeds.away = False
        deeds.app.take()


async def _run(argv: Sequence[str], environment: Mapping[str, str] | None, cwd: str | None) -> int | str:
    """Raises nothing that is expected: the terminal does not come back from a loan that ends with an exception."""
    try:
        process = await asyncio.create_subprocess_exec(*argv, env=environment, cwd=cwd)
    except (OSError, ValueError) as problem:
        why = problem.strerror if isinstance(problem, OSError) else "its name cannot be used"
        return f"{argv[0] if argv else 'it'} did not start: {why}"
    return await process.wait()
