"""Work that goes on beside a node's messages: owned by the node, ended with it. Only here is it given to Textual.

It is handed over as something to call. A coroutine that is made first is left lying where its worker is cancelled
before its first step, as a newer one of its group does to it, or the end of the app: "was never awaited".
"""

import app.console.before_textual  # noqa: F401, I001  (sets what textual reads at import)

from collections.abc import Awaitable, Callable
from functools import partial

from textual.dom import DOMNode
from textual.worker import Worker


def begin(
    node: DOMNode,
    work: Callable[[], Awaitable[object]],
    *,
    name: str = "",
    group: str = "default",
    exclusive: bool = False,
) -> Worker[None]:
    """Call ``work`` and await it. ``exclusive``: what goes on of this node and ``group`` is given up for it."""
    worker: Worker[None] = node.run_worker(partial(_done, work), name=name, group=group, exclusive=exclusive)
    return worker


async def _done(work: Callable[[], Awaitable[object]]) -> None:
    await work()
