"""Runs a check in a tree, as a console does once a run is finished: ``TREE COMMAND``."""

import asyncio
import os
import sys
from pathlib import Path

from coordinator import checkruns
from coordinator.redaction import Redactor

if __name__ == "__main__":
    tree, command = sys.argv[1:]
    work = checkruns.run_one(command, tree=Path(tree), environment=dict(os.environ), seconds=600, redactor=Redactor(()))
    print(asyncio.run(work))
