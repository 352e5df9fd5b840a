"""A console in a process of its own: it launches an agent, says its pid, and renews the hold until it is stopped."""

import asyncio
import sys
from pathlib import Path

from coordinator.custody.client import Supervisor
from coordinator.custody.types import HoldSpec, Ladder
from tests.supervisor.holding import agent


async def main() -> None:
    folder, cookie, nonce, seconds = sys.argv[1:5]
    spec = HoldSpec(
        custody="c",
        run=1,
        authorization="a",
        folder=Path(folder),
        cookie=cookie,
        nonce=nonce,
        hold_seconds=float(seconds),
        ladder=Ladder(farewell=0.1, eof=0.1, term=0.1, total=1.0, not_dying=1.0),
    )
    supervisor = await Supervisor.launch(spec)
    assert isinstance(supervisor, Supervisor), supervisor
    started = await supervisor.start(1, agent(*(sys.argv[5:] or ["deaf"])))
    print(started.pid, flush=True)  # type: ignore[union-attr]
    while True:
        await supervisor.hold(float(seconds), reason="console-lost", expires_at_ms=None)
        await asyncio.sleep(0.05)  # many times within the shortest hold that is asked for


asyncio.run(main())
