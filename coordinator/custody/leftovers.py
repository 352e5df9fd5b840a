"""When keeper and worker are both gone: what still carries the hold's nonce is proven ours, and is ended from here."""

import time
from typing import Any

from coordinator.custody.processes import carriers, kill_carriers, name_of

PATIENCE = 5.0
"""Seconds after which a process that does not die is *remaining*."""


def end_carriers(nonce: str, *, reason: str) -> dict[str, Any]:
    """Kill every carrier until none is left; gives the facts of a receipt. Blocks for at most ``PATIENCE`` seconds."""
    begun = time.monotonic()
    names: dict[int, str] = {}
    while True:
        for pid in carriers(nonce):
            names.setdefault(pid, name_of(pid))
        left = kill_carriers(nonce)
        if not left or time.monotonic() - begun > PATIENCE:
            break
        time.sleep(0.005)
    took = int((time.monotonic() - begun) * 1000)
    alive = set(carriers(nonce))

    def facts(pid: int) -> dict[str, Any]:
        return {"pid": pid, "name": names[pid], "step": "nonce", "gone_after_ms": took}

    return {
        "reason": reason,
        "already_ended": not names,
        "agent_exit": None,
        "steps": [["nonce", took]],
        "ended": [facts(pid) for pid in names if pid not in alive],
        "remaining": [facts(pid) for pid in names if pid in alive],
        "spared": [],
        "total_ms": took,
    }
