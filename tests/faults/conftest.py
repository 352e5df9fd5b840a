from collections.abc import Iterator

import pytest

from tests.faults.consoles import Consoles


@pytest.fixture(scope="session")
def consoles() -> Iterator[Consoles]:
    made = Consoles()
    yield made
    made.close()
