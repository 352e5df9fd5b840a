"""A product of cases that takes minutes: every so-many-th runs each time, all of them with ``make soak``."""

from collections.abc import Iterable
from typing import Any

import pytest
from _pytest.mark.structures import ParameterSet


def sampled(cases: Iterable[Any], *, every: int, keep: Iterable[Any] = ()) -> list[ParameterSet]:
    """The cases as parameters, those in between marked ``soak``. ``keep``: cases that always run."""
    always = list(keep)
    made: list[ParameterSet] = []
    for place, case in enumerate(cases):
        values = case if isinstance(case, tuple) else (case,)
        marks = () if place % every == 0 or case in always else (pytest.mark.soak,)
        made.append(pytest.param(*values, marks=marks))
    return made
