"""The practice agent, but for one thing: its ``flood`` is made beforehand and leaves in one piece.

    python -I torrent.py <the practice agent's own flags>

So a bench of what Footplate can take in is not a bench of how fast an agent can print.
"""

import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from coordinator.rehearsal import agent, mischief
from coordinator.rehearsal.session import Session


def flood(session: Session, args: mischief.Args) -> None:
    text = "reads the file and says what it found there, " * 3
    lines = (
        {
            "type": "assistant",
            "message": {
                "id": f"msg_{number}",
                "model": "practice-steady",
                "role": "assistant",
                "content": [{"type": "text", "text": text}],
            },
            "parent_tool_use_id": None,
            "session_id": session.wire.session,
            "uuid": f"00000000-0000-4000-8000-{number:012d}",
        }
        for number in range(int(args["lines"]))
    )
    session.wire.raw(b"".join(json.dumps(line).encode() + b"\n" for line in lines))


mischief.ACTS["flood"] = flood

if __name__ == "__main__":
    sys.exit(agent.main())
