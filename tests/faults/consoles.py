"""Consoles that are made to be killed: forks of one process that has everything imported (``children/doomed.py``)."""

import asyncio
import json
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
KILLED = -9


class Consoles:
    """The process that forks them, one after the other."""

    def __init__(self) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "tests.children.doomed"],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    async def fly(self, folder: Path, **told: object) -> int:
        """One console until it is dead; its exit code. What it is told is in ``children/doomed.py``."""
        return await asyncio.to_thread(self._fly, json.dumps({"folder": str(folder), **told}))

    def _fly(self, told: str) -> int:
        assert self.process.stdin is not None and self.process.stdout is not None
        self.process.stdin.write(told + "\n")
        self.process.stdin.flush()
        return int(json.loads(self.process.stdout.readline())["exit"])

    def close(self) -> None:
        assert self.process.stdin is not None and self.process.stdout is not None
        self.process.stdin.close()
        self.process.wait(10)
        self.process.stdout.close()
