"""What ARCHITECTURE.md says about guards is true as far as files can be looked for: each path of its table is there."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent
_TABLE = re.compile(r"^## Invariants.*?(?=^## |\Z)", re.DOTALL | re.MULTILINE)


def rows() -> list[tuple[str, str]]:
    found = _TABLE.search((ROOT / "ARCHITECTURE.md").read_text())
    assert found is not None, "the table of invariants"
    lines = [line.strip("| ").split(" | ") for line in found[0].splitlines() if re.match(r"\| \d+ \|", line)]
    return [(cells[0], cells[-1]) for cells in lines]


def test_the_table_is_whole() -> None:
    assert [int(number) for number, _ in rows()] == list(range(1, len(rows()) + 1)) and len(rows()) >= 17


@pytest.mark.parametrize(("number", "guards"), rows())
def test_every_guard_is_there(number: str, guards: str) -> None:
    """A name without a folder stands beside the one before it."""
    folder, looked = ROOT, 0
    for name in re.findall(r"`([^`]+)`", guards):
        path, _, function = name.partition("::")
        place = ROOT / path if "/" in path else folder / path
        assert place.exists(), f"invariant {number}: {name}"
        assert not function or re.search(rf"def {re.escape(function)}\b", place.read_text()), name
        folder = place if place.is_dir() else place.parent
        looked += 1
    assert looked, f"invariant {number} names nothing"
