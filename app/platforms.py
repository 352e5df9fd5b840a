"""A system on which nobody has run sessions yet, and when they are started there all the same.

Where nothing can run at all, ``app.main`` says so before anything is imported.
"""

from collections.abc import Mapping
from typing import Final

from store.refusal import Refusal
from store.vocab import RefusalReason

TRY: Final = "FOOTPLATE_UNTRIED_PLATFORM"
"""Set to ``1`` by who wants to start sessions where nobody has."""
MACOS: Final = "darwin"


def untried(platform: str, environ: Mapping[str, str]) -> Refusal | None:
    """Why no session starts here: ``untried-platform`` on macOS, until its operator says otherwise.

    ``platform``: as ``sys.platform`` has it.
    """
    if platform != MACOS or environ.get(TRY) == "1":
        return None
    return Refusal(RefusalReason.UNTRIED_PLATFORM, {"system": "macOS", "variable": TRY})
