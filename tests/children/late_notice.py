"""The practice agent, which says something more after each result: notices that are no turn and no question."""

import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from coordinator.rehearsal import agent
from coordinator.rehearsal.wire import Wire

LATE = [
    {"type": "system", "subtype": "session_state_changed", "state": "requires_action"},
    {"type": "system", "subtype": "notification", "text": "waiting for your input", "priority": "high"},
    {"type": "system", "subtype": "something_new", "needs": "you"},
]
_say = Wire.raw


def raw(self: Wire, data: bytes) -> None:
    _say(self, data)
    if b'"type":"result"' in data.replace(b'": "', b'":"'):
        for line in LATE:
            _say(self, json.dumps(line).encode() + b"\n")


if __name__ == "__main__":
    Wire.raw = raw  # type: ignore[method-assign]
    raise SystemExit(agent.main())
