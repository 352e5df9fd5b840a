"""What a supervisor is told, at birth over stdin and later by ``start``: JSON to checked values, nothing else.

The cookie and the agent's environment are in it, so none of it is ever printed or put into an error.
"""

from __future__ import annotations

import json

from . import cgroup
from .agent import Order
from .kernel import kernel
from .process import CUSTODY_VARIABLE


class BadConfig(Exception):
    """A field is missing or of the wrong kind; the message names the field, never its value."""


class Config:
    """The hold's facts."""

    def __init__(self, text: bytes) -> None:
        """Raises:
        BadConfig: it is not what a console of this version sends.
        """
        try:
            facts = json.loads(text)
            self.custody = str(facts["custody"])
            self.run = int(facts["run"])
            self.authorization = str(facts["authorization"])
            self.folder = str(facts["folder"])
            self.cookie = str(facts["cookie"])
            self.nonce = str(facts["nonce"])
            self.hold_seconds = float(facts["hold_seconds"])
            self.hold_reason = str(facts["hold_reason"])
            at = facts["expires_at_ms"]
            self.expires_at_ms = int(at) if at is not None else None
            ladder = facts["ladder"]
            names = ("farewell", "eof", "term", "total", "not_dying")
            self.seconds = {name: float(ladder[name]) for name in names}
            self.spared = tuple(str(name) for name in facts["spared"])
            self.line_limit = int(facts["line_limit"])
            self.spool_limit = int(facts["spool_limit"])
            self.chunk_limit = int(facts["chunk_limit"])
            self.write_timeout = float(facts["write_timeout"])
            self.linger = float(facts["linger"])
            under = facts["cgroups"]
            # One kill for all spares nobody, so who spares somebody has none.
            self.cgroups = cgroup.of_hold(self.custody, "" if self.spared else under)
        except KeyError as error:
            raise BadConfig(f"missing: {error.args[0]}") from None
        except (ValueError, TypeError):
            raise BadConfig("a field is of the wrong kind") from None
        if not self.cookie or not self.nonce:
            raise BadConfig("empty cookie or nonce")
        self.boot_id = kernel.boot_id()
        self.keeper_ticks = 0
        self.worker_ticks = 0

    def order(self, facts: dict[str, object]) -> Order:
        """What ``start`` asks for. The environment is the console's filtered one, with what custody adds.

        Raises:
            ValueError: it is no argv, folder and environment.
        """
        argv, cwd, environment = facts.get("argv"), facts.get("cwd"), facts.get("environment")
        terminal = facts.get("terminal")
        if not isinstance(argv, list) or not argv or not isinstance(cwd, str) or not isinstance(environment, dict):
            raise ValueError("start needs argv, cwd and environment")
        whole = {str(name): str(value) for name, value in environment.items()}
        # A tmux that the agent starts must be a server of its own: an existing one is no descendant of ours.
        for name in ("TMUX", "TMUX_PANE"):
            whole.pop(name, None)
        whole["TMUX_TMPDIR"] = f"{self.folder}/t"
        whole[CUSTODY_VARIABLE] = self.nonce
        size: tuple[int, int] | None = None
        if isinstance(terminal, list) and len(terminal) == 2:
            size = (int(terminal[0]), int(terminal[1]))
        quiet = facts.get("quiet_ms")
        seconds = quiet / 1000 if isinstance(quiet, int) and size is not None else 0.0
        return Order([str(part) for part in argv], cwd, whole, size, seconds)
