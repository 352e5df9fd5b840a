"""The operator's own command that makes a new tree ready (dependencies, a build), run before the agent is there.

It is signed with the terms, runs held like every helper of ours (bounded in time and output, nothing of it left
behind, nor by a console that is killed), and a stop of the run ends it at once. What it is for a repository stands in
the configuration.
"""

import asyncio
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

from coordinator import helperprocess
from store.refusal import Refusal
from store.vocab import RefusalReason

SECONDS: Final = 900.0
OUTPUT: Final = 8 * 1024 * 1024
_LOOK: Final = 0.1
_SAID: Final = 600


async def run(
    command: str,
    *,
    tree: Path,
    environment: Mapping[str, str],
    stopped: Callable[[], bool],
    seconds: float = SECONDS,
    redact: Callable[[str], str] = str,
) -> Refusal | None:
    """Run it by ``sh`` in the tree to its end. ``stopped``: asked again and again; it is ended as soon as that is so.

    ``environment`` is whole. A refusal says how it ended and the last of what it said, which may be what it was given:
    ``redact`` takes a text whose end may be cut off.
    """
    work = asyncio.ensure_future(
        helperprocess.run(
            ["/bin/sh", "-c", command],
            cwd=tree,
            environment=environment,
            timeout=seconds,
            limit=OUTPUT,
            guarded=True,
        )
    )
    try:
        while not (await asyncio.wait([work], timeout=_LOOK))[0]:
            if stopped():
                return Refusal(RefusalReason.STOPPED)
    finally:
        if not work.done():
            work.cancel()
            await asyncio.wait([work])
    ended = work.result()
    if ended.code == 0 and not ended.cut:
        return None
    said = redact((ended.err or ended.out).decode("utf-8", "replace")).strip()[-_SAID:]
    how = f"it was not done after {seconds:g} s" if ended.cut == helperprocess.TIMEOUT else ended.cut
    exit_ = how or (f"signal {-ended.code}" if ended.code < 0 else f"exit {ended.code}")
    return Refusal(RefusalReason.SETUP_FAILED, {"command": command, "how": exit_, "said": said, "tree": str(tree)})
