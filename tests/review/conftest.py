"""One ledger for all tests of exports: playing it takes longer than most of them."""

import asyncio
from pathlib import Path

import pytest

from tests.review.played import play


@pytest.fixture(scope="session")
def ledger(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Of a run of the practice agent that has ended; read-only to whoever gets it."""
    folder = tmp_path_factory.mktemp("played")
    assert asyncio.run(play(folder)) == 1
    return folder / "ledger.db"
