"""Two ledgers: one of a run of the practice agent with one of most things in it, and one of many."""

import asyncio
from pathlib import Path

import pytest

from tests.bench import bigledger
from tests.review import played


@pytest.fixture(scope="session")
def practiced(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("practiced")
    asyncio.run(played.play(folder))
    return folder / "ledger.db"


@pytest.fixture(scope="session")
def many(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Some dozen runs, one of them a tenth of it all."""
    return bigledger.make(tmp_path_factory.mktemp("many") / "ledger.db", 8_000)
