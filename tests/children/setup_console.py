"""Makes a tree ready by a command, as a console does before its agent is there: ``TREE COMMAND``."""

import asyncio
import os
import sys
from pathlib import Path

from coordinator import treesetup

if __name__ == "__main__":
    tree, command = sys.argv[1:]
    print(asyncio.run(treesetup.run(command, tree=Path(tree), environment=dict(os.environ), stopped=lambda: False)))
