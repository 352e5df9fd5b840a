"""Whether an attempt left anything in its tree since it was begun: asked of one of which nothing else was recorded.

The tree as it was then is in the run's own folder (``turntrees``); where nobody noted it, the commit that the run began
at stands in for it. Nothing is written.
"""

import asyncio

from coordinator import gitfacts, turntrees
from coordinator.gitlens import LISTING, open_lens
from coordinator.runplace import RunPlace
from store.refusal import Refusal


async def changed(place: RunPlace) -> bool | Refusal:
    """Whether a file is another than when the agent was started. A tree that is gone holds nothing any more.

    Refusals: those of git; whoever asks asks again later.
    """
    if not place.head or not await asyncio.to_thread(place.tree.is_dir):
        return False
    known = () if place.folder is None else await asyncio.to_thread(turntrees.noted, place.folder)
    first = next((one for one in known if one.turn == 0), None)
    store = (turntrees.store_of(place.folder),) if place.folder is not None else ()
    async with open_lens(place.tree, beside=store) as lens:
        if isinstance(lens, Refusal):
            return lens
        differ = await lens.compare(
            place.head if first is None else first.tree, ["--raw", "-z"], limit=LISTING, cut_ok=True
        )
        if isinstance(differ, Refusal):
            return differ
        left = frozenset[bytes]() if first is None else first.left
        found = await asyncio.to_thread(gitfacts.raw_changes, differ.out, lens.left_out)
    return differ.cut or any(left.isdisjoint(one.names) for one in found)
