"""The fixture of real holds."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest_asyncio

from tests.supervisor.holding import Holds


@pytest_asyncio.fixture
async def holds(tmp_path: Path) -> AsyncIterator[Holds]:
    made = Holds(tmp_path)
    yield made
    crashed = await made.end_all()
    assert not crashed, "\n".join(path.read_text() for path in crashed)
