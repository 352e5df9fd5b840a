"""Telling the console that holds a run, from another process: *look into the ledger now*.

What is asked for is in the ledger before anybody is poked, and a console looks there each second anyway; so a poke
carries nothing, may be lost, and needs no answer.
"""

import os
import socket
from pathlib import Path

from coordinator.supervisor.kernel import kernel

_SECONDS = 0.5


def poke(socket_path: str | Path) -> bool:
    """Connect to the console's socket and leave again; whether anybody listened."""
    path = Path(socket_path)
    folder: int | None = None
    try:
        name = str(path)
        if len(os.fsencode(path)) > kernel.SOCKET_PATH_BYTES:
            # Through a handle on its folder: the whole path does not fit into a socket's address.
            folder = os.open(path.parent, kernel.FOLDER)
            name = kernel.below(folder, path.name) or name
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as poked:
            poked.settimeout(_SECONDS)
            poked.connect(name)
    except (OSError, ValueError):
        return False
    finally:
        if folder is not None:
            os.close(folder)
    return True
