"""One time zone and one home for every picture."""

import time
from collections.abc import Iterator

import pytest


@pytest.fixture(autouse=True)
def one_place(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("TZ", "UTC")
    monkeypatch.setenv("HOME", "/home/mara")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()
