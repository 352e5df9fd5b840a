"""The practice agent's stdout: one JSON object a line, from whichever thread has something to say.

All bytes leave through this class, so that two threads never mix their lines and a host that stopped listening does not
kill the agent (the real one lives on with a closed stdout). What the lines mean belongs to their callers.
"""

import json
import os
import threading
import uuid
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

Json = dict[str, Any]


class Wire:
    def __init__(self, descriptor: int, session: str) -> None:
        self._descriptor = descriptor
        self._lock = threading.Lock()
        self.session = session

    def say(self, line: Mapping[str, Any]) -> None:
        """A line of the session: its id and an id of its own are filled in."""
        self.send({"session_id": self.session, "uuid": new_uuid()} | dict(line))

    def system(self, subtype: str, **fields: Any) -> None:
        self.say({"type": "system", "subtype": subtype} | fields)

    def send(self, line: Mapping[str, Any]) -> None:
        """A line exactly as given."""
        self.raw(json.dumps(line).encode() + b"\n")

    def raw(self, data: bytes) -> None:
        with self._lock:
            rest = memoryview(data)
            while rest:
                try:
                    rest = rest[os.write(self._descriptor, rest) :]
                except OSError:
                    return


def new_uuid() -> str:
    return str(uuid.uuid4())


def now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
