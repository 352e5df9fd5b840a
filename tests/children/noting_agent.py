"""The practice agent, keeping a diary beside its tree: every line that it heard, every line that it said.

Counted here, at the agent, and not at what the console believes: whether an answer came twice, whether a line was lost.
What is heard is noted before it is acted on, what is said after its last byte went.
"""

import json
import os
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from coordinator.rehearsal import agent, control
from coordinator.rehearsal.session import Session
from coordinator.rehearsal.wire import Wire

_tree = Path.cwd()
_HEARD = os.open(_tree.parent / "heard", os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
_SAID = os.open(_tree.parent / "said", os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
_say = Wire.raw


def hear(session: Session, line: bytes) -> None:
    os.write(_HEARD, json.dumps({"pid": os.getpid(), "line": line.decode()}).encode() + b"\n")
    control.hear(session, line)


def raw(self: Wire, data: bytes) -> None:
    with _order:
        _say(self, data)
        os.write(_SAID, data)


if __name__ == "__main__":
    import threading

    _order = threading.Lock()
    agent.hear = hear
    Wire.raw = raw  # type: ignore[method-assign]
    code = agent.main()
    sys.stdout.flush()
    os._exit(code)
