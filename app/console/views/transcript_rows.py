"""Rows of a long list of lines: which line is at row y, and at which row a line begins.

Counts in an array, sums by block of 512, found by bisection (performance.md): the numbers change twenty times a
second while an agent streams, and a list of rows would be built anew each time.
"""

from array import array
from bisect import bisect_right
from collections.abc import Sequence

BLOCK = 512


class RowIndex:
    def __init__(self) -> None:
        self._counts = array("L")
        self._sums = [0]
        """Rows before each block, and after the last whole one."""
        self.total = 0

    def __len__(self) -> int:
        return len(self._counts)

    def rebuild(self, counts: Sequence[int]) -> None:
        self._counts = array("L", counts)
        self._sums = [0]
        self._sum_from(0)

    def splice(self, at: int, removed: int, added: Sequence[int]) -> None:
        self._counts[at : at + removed] = array("L", added)
        self._sum_from(at // BLOCK)

    def _sum_from(self, block: int) -> None:
        del self._sums[block + 1 :]
        counts, sums = self._counts, self._sums
        for start in range(block * BLOCK, len(counts), BLOCK):
            sums.append(sums[-1] + sum(counts[start : start + BLOCK]))
        self.total = sums[-1]

    def count(self, line: int) -> int:
        return self._counts[line]

    def locate(self, row: int) -> tuple[int, int]:
        """Line at this row, and which of its rows that is. The row must be there."""
        block = min(bisect_right(self._sums, row) - 1, len(self._sums) - 2)
        row -= self._sums[block]
        line, counts = block * BLOCK, self._counts
        while row >= counts[line]:
            row -= counts[line]
            line += 1
        return line, row

    def row_of(self, line: int) -> int:
        """First row of this line; of the line after the last one, the total."""
        block = min(line // BLOCK, len(self._sums) - 1)
        return self._sums[block] + sum(self._counts[block * BLOCK : line])
