"""Commands of Claude Code that open something on its own screen, and what an operator does in their place.

Held on its wire the agent has no screen: it lists only what works there, and these are not in that list. Names only;
one that it does list is run.
"""

from typing import Final

_IN_TERMINAL: Final = "run claude by itself in a terminal and do it there"
_SIGN: Final = "run claude by itself in a terminal and sign in or out there"
_SETTINGS: Final = "change its settings files, or run claude by itself in a terminal"

OWN_SCREEN: Final[tuple[tuple[str, str], ...]] = (
    ("login", _SIGN),
    ("logout", _SIGN),
    ("config", _SETTINGS),
    ("settings", _SETTINGS),
    ("permissions", _SETTINGS),
    ("hooks", _SETTINGS),
    ("plugin", _SETTINGS),
    ("agents", _SETTINGS),
    ("mcp", _SETTINGS),
    ("memory", "edit CLAUDE.md in the tree"),
    ("export", "footplate show prints a run, footplate export writes it"),
    ("rewind", "use git in the tree, and say to the agent from where to go on"),
    ("exit", "f finishes the session, ^\\ stops it"),
    ("resume", "c continues an ended session"),
    ("bashes", "t shows what runs in the background"),
    ("tasks", "t shows what runs in the background"),
    ("todos", "t shows the plan"),
    ("status", "l shows the details"),
    ("theme", _IN_TERMINAL),
    ("vim", _IN_TERMINAL),
    ("ide", _IN_TERMINAL),
    ("doctor", _IN_TERMINAL),
    ("upgrade", _IN_TERMINAL),
    ("terminal-setup", _IN_TERMINAL),
    ("statusline", _IN_TERMINAL),
    ("install-github-app", _IN_TERMINAL),
    ("privacy-settings", _IN_TERMINAL),
    ("output-style", _IN_TERMINAL),
)
