"""What a program writes to its terminal, piece by piece: for those that measure it from the other end."""

import os
from collections.abc import Iterator


def pieces(master: int) -> Iterator[bytes]:
    """Until the program has gone, or the terminal was closed here. ``master``: our end."""
    while True:
        try:
            got = os.read(master, 65_536)
        except OSError:
            return
        if not got:
            return
        yield got
