"""The ledger in memory that the tests of the nouns share."""

from collections.abc import Iterator

import pytest

from store.tx import Tx
from store.verify import verify
from tests.store.scenes import in_memory


@pytest.fixture
def tx() -> Iterator[Tx]:
    """Ends with a look whether the entries make exactly the rows, whatever the test did."""
    with in_memory() as opened:
        yield opened
        assert verify(opened) is None
