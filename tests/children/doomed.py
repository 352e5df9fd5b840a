"""Consoles without a screen, each a fork of this process, each killed at the step that it is told: one line of JSON in,
one line out when it is dead (or, if it got that far, done).

A fork has everything imported, which saves a third of a second a case. In: folder, step, nth, ending, victims
(``console``, ``keeper``, ``worker``, ``agent``; each is sent KILL in that order), and, for a real agent in place of the
practice agent, its ``binary`` and ``environment``. Or: folder, ``stream``, and the
seconds ``after`` which it dies, from its start or, ``at_work``, from when it has the run. Or: folder, ``queue``, and
either a step (one task) or ``after`` (the scene of ten, of a real agent with its ``binary``). Out: ``{"exit": -9}``.
"""

import asyncio
import json
import os
import signal
import sys
import threading
import traceback
from pathlib import Path
from typing import Any

from store import runs
from tests.agents import lined, noted
from tests.faults import flight, queueing, streaming
from tests.faults.dooming import Doom


async def console(told: dict[str, Any]) -> None:
    folder = Path(told["folder"])
    if told.get("stream"):
        # From a thread, so that it comes whatever the loop is at.
        death = threading.Timer(told["after"], os.kill, (os.getpid(), signal.SIGKILL))
        if not told["at_work"]:
            death.start()
        async with flight.house(folder) as held:
            await streaming.stream(held, death.start if told["at_work"] else lambda: None)
        return
    if told.get("queue") and told.get("after") is not None:
        threading.Timer(told["after"], os.kill, (os.getpid(), signal.SIGKILL)).start()
        if told.get("binary"):
            async with lined.house(folder, Path(told["binary"]), told["environment"]) as held:
                await lined.to_the_end(held, folder)
        else:
            async with queueing.house(folder) as held:
                await queueing.to_the_end(held, folder, queueing.TEN)
        os._exit(0)
    doom = Doom(step=told["step"], nth=told["nth"], victims=tuple(told["victims"]), ledger=folder / "ledger.db")
    if told.get("queue"):
        async with queueing.house(folder, doom) as held:
            await queueing.to_the_end(held, folder, queueing.ONE)
        return
    if told.get("binary"):
        async with noted.house(folder, Path(told["binary"]), told["environment"], doom=doom) as held:
            await noted.Pilot(held, told["ending"]).fly(await noted.start(held))
        return
    async with flight.house(folder, doom=doom) as held:
        known = await held.coordinator.house.ledger.read(runs.listing)
        run = known[0].id if known else await held.start(flight.BRIEF)
        await flight.Pilot(held, told["ending"]).fly(run)


def main() -> None:
    for line in sys.stdin:
        told = json.loads(line)
        pid = os.fork()
        if pid == 0:
            code = 1
            try:
                asyncio.run(console(told))
                code = 0
            except BaseException:
                traceback.print_exc()
            finally:
                os._exit(code)
        _, status = os.waitpid(pid, 0)
        print(json.dumps({"exit": os.waitstatus_to_exitcode(status)}), flush=True)


if __name__ == "__main__":
    main()
