"""Every kind of fault that others met is tried here, or it is said why it cannot be: the map is whole, its tests are
there."""

import ast
import tomllib
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent
ROWS: dict[str, dict[str, str]] = tomllib.loads((Path(__file__).parent / "rows.toml").read_text())

NUMBERS = {
    "orphan and stop": (1, 2, 4, 5, 7, 8, 10, 11, 13, 14, 16, 17, 19, 20, 22, 23),
    "crash and resume": (25, 26, 28, 29, 31, 32, 34, 35, 37, 38, 40),
    "questions and permissions": (41, 43, 44, 46, 47, 49, 50, 52, 53, 55, 56, 58, 59, 61, 62, 64, 65),
    "hang": (67, 68, 70, 71),
    "budget and cost": (73, 74, 76, 77, 79, 80, 82, 83, 85, 86),
    "sqlite": (115, 116, 118, 119),
    "review": (136, 137),
}
"""The notes themselves are no part of the project; gaps are on purpose."""


@cache
def names_in(path: Path) -> frozenset[str]:
    found = ast.parse(path.read_text()).body
    return frozenset(one.name for one in found if isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef))


def test_every_row_is_in_the_map_and_no_other() -> None:
    wanted = [number for numbers in NUMBERS.values() for number in numbers]
    assert [int(row) for row in ROWS] == wanted


@pytest.mark.parametrize("row", ROWS)
def test_a_row_names_a_test_that_exists_or_says_why_none_can(row: str) -> None:
    told = dict(ROWS[row])
    assert told.pop("fault").strip()
    (kind,) = told
    if kind == "not_applicable":
        assert told[kind].count(".") == 1 and told[kind].endswith(".")
        return
    file, _, name = told["test"].partition("::")
    assert kind == "test" and name.startswith("test_")
    assert (ROOT / file).is_file(), file
    assert name in names_in(ROOT / file), f"{file} has no {name}"
