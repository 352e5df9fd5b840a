import time

import pytest


@pytest.fixture(autouse=True)
def _utc(monkeypatch: pytest.MonkeyPatch) -> None:
    """Clock times in lines are the operator's own; here everybody lives in UTC."""
    monkeypatch.setenv("TZ", "UTC")
    time.tzset()
