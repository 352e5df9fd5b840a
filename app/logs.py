"""Where the log goes: a file of ours in the logs folder, redacted, bounded; never stderr, which belongs to the screen.

Set up once for each process, by whoever opens a coordinator. What a person must know is no log line: it is a sentence.
"""

import logging
import os
from collections.abc import Iterable, Mapping
from logging.handlers import RotatingFileHandler
from pathlib import Path

from coordinator.redaction import Redactor, secrets_of

NAME = "footplate.log"
_BYTES = 2 * 1024 * 1024


class _Redacted(logging.Formatter):
    """Over the whole line, its trace too: whatever an agent was given as a secret is in no log."""

    def __init__(self, environments: Iterable[Mapping[str, str]]) -> None:
        super().__init__("%(asctime)s %(process)d %(levelname)s %(name)s: %(message)s")
        self._redactor = Redactor(frozenset[str]().union(*map(secrets_of, environments)))

    def format(self, record: logging.LogRecord) -> str:
        return self._redactor.text(super().format(record))


def keep(folder: Path, *environments: Mapping[str, str]) -> None:
    """From here on. A log that cannot be written keeps nobody from working: then there is none.

    ``environments``: the operator's, and what ``agents.toml`` sets for agents; no secret of them is in the log.
    """
    root = logging.getLogger()
    if any(isinstance(handler, RotatingFileHandler | logging.NullHandler) for handler in root.handlers):
        return
    logging.raiseExceptions = False
    handler: logging.Handler
    try:
        # Made by us first, so that it is nobody else's to read from its first byte on.
        os.close(os.open(folder / NAME, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600))
        handler = RotatingFileHandler(folder / NAME, maxBytes=_BYTES, backupCount=2, delay=True, encoding="utf-8")
        handler.setFormatter(_Redacted(environments))
    except OSError:
        handler = logging.NullHandler()
    handler.setLevel(logging.WARNING)
    root.addHandler(handler)
