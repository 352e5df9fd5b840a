"""The environment of a real agent in a test: a home of its own, and no way out of this machine."""

import os
from pathlib import Path

DEAD_PROXY = "http://127.0.0.1:9"
"""Nothing listens there: whatever tries to leave loopback fails at once instead of going out."""
PROXIES = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy")
QUIET = {
    "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
    "DISABLE_TELEMETRY": "1",
    "DISABLE_AUTOUPDATER": "1",
    "DISABLE_ERROR_REPORTING": "1",
}


def lonely(home: Path) -> dict[str, str]:
    return {
        "PATH": os.environ["PATH"],
        "LANG": "C.UTF-8",
        "TERM": "xterm-256color",
        "HOME": str(home),
        "TMPDIR": str(home / "tmp"),
        "NO_PROXY": "127.0.0.1",
        "no_proxy": "127.0.0.1",
        **dict.fromkeys(PROXIES, DEAD_PROXY),
        **QUIET,
    }
