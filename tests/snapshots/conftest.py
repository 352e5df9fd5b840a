"""One time zone and one home for every picture."""

from tests.console.conftest import one_place as one_place
