"""Disposes of a run's tree, and is killed (KILL) at a named place of it: ``LEDGER RUN HOW PLACE``."""

import asyncio
import os
import signal
import sys
from pathlib import Path
from types import SimpleNamespace

from app.cli.ledgerbooks import Books
from coordinator import disposing, landing
from coordinator.clock import RealClock
from coordinator.treetypes import Disposal
from store.vocab import RunId


def main() -> None:
    ledger, run, how, place = sys.argv[1:]

    def killed(at: str) -> None:
        if at == place:
            os.kill(os.getpid(), signal.SIGKILL)

    landing.cut = killed
    books = Books(SimpleNamespace(ledger=Path(ledger)))  # type: ignore[arg-type]
    print("begins", flush=True)
    done = asyncio.run(
        disposing.dispose(books, RunId(int(run)), Disposal(how), operator="Ada", now=RealClock().now, ignored=True)
    )
    print(done)


if __name__ == "__main__":
    main()
