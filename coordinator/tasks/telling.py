"""What the agent of a later attempt is told, before what it is told of the run that came before. Pure text.

The account of that run, and what rides along with it, is ``account``'s.
"""

from store.vocab import RunId


def attempt(n: int, of: int, *, before: RunId | None, same_tree: bool) -> str:
    """``n`` of ``of``: which attempt this is, of how many agreed to. ``before``: the run that it follows; '' for the
    first, which is told nothing. ``same_tree``: it works where that one worked."""
    if before is None or n <= 1:
        return ""
    count = f"attempt {n} of {of}" if n <= of else f"attempt {n}"
    where = (
        "What that one changed is in the working tree: look at it before you change more."
        if same_tree
        else "What that one changed is not in this working tree."
    )
    return (
        f"(This part is from Footplate, which runs this session.) This is {count} at the task; run {before} was the "
        f"one before it, and did not end with the work done. {where}"
    )
