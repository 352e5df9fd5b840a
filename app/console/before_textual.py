"""What must be so before Textual is imported: its constants are read from the environment once, at import.

Import this module first, wherever Textual is used. Nothing else belongs here, and this module imports nothing of ours.
"""

import os
from collections.abc import MutableMapping
from enum import StrEnum
from typing import cast

FPS = 120
"""Halves the tail from key to paint (performance.md)."""
ESCAPE_MS = 500
ESCAPE_MS_REMOTE = 1000
"""A slow line cuts escape sequences; what is cut later than this arrives as letters and digits."""

AGENT_NO_COLOR = os.environ.get("NO_COLOR")
"""Textual takes NO_COLOR out of the environment; agents are to have it, so it is kept here."""


def _over_ssh() -> bool:
    return any(os.environ.get(name) for name in ("SSH_TTY", "SSH_CONNECTION"))


# The operator's own, from the configuration (``app.cli.screen``); never a shell's ESCDELAY, which is meant for others.
_CONFIGURED = os.environ.pop("FOOTPLATE_ESCAPE_DELAY", "")
os.environ["ESCDELAY"] = _CONFIGURED or str(ESCAPE_MS_REMOTE if _over_ssh() else ESCAPE_MS)
os.environ["TEXTUAL_FPS"] = str(FPS)
os.environ["TEXTUAL_ANIMATIONS"] = "none"
os.environ["TEXTUAL_SMOOTH_SCROLL"] = "0"

from textual._ansi_sequences import ANSI_SEQUENCES_KEYS  # noqa: E402  (the lines above come first on purpose)


class _OwnKey(StrEnum):
    """Textual's parser takes enum members only."""

    ALT_ENTER = "alt+enter"


_sequences = cast(MutableMapping[str, tuple[_OwnKey, ...]], ANSI_SEQUENCES_KEYS)
_sequences["\x1b\r"] = (_OwnKey.ALT_ENTER,)
_sequences["\x1b\n"] = (_OwnKey.ALT_ENTER,)
