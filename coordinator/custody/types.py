"""The values that pass between a session's actor and its supervisor. Wire and spool formats are in ``supervisor/``."""

from collections.abc import Mapping
from enum import StrEnum
from pathlib import Path

from msgspec import Struct, field


class ProcessIdentity(Struct, frozen=True, kw_only=True):
    """A process that cannot be confused with another: pids are reused, this triple is not."""

    boot_id: str
    pid: int
    start_ticks: int
    """When it started: on Linux field 22 of ``/proc/PID/stat`` (clock ticks since boot), on macOS microseconds of the
    wall clock."""


class Ladder(Struct, frozen=True, kw_only=True):
    """Seconds for each step of an ending; the sum never passes ``total``."""

    farewell: float = 5.0
    eof: float = 2.0
    term: float = 3.0
    total: float = 15.0
    not_dying: float = 5.0


class HoldSpec(Struct, frozen=True, kw_only=True):
    """What a supervisor is given at birth, over its stdin (never argv or environment: the cookie is in it)."""

    custody: str
    run: int
    authorization: str
    folder: Path
    """The run's spool folder, 0700; holds ``spool`` and the socket ``s``."""
    cookie: str
    nonce: str
    """Value of ``FOOTPLATE_CUSTODY`` in the agent's environment."""
    hold_seconds: float
    hold_reason: str = "console-lost"
    expires_at_ms: int | None = None
    """Wall clock; the supervisor checks it itself."""
    ladder: Ladder = Ladder()
    spared: tuple[str, ...] = ()
    """Names of shared daemons that an ending leaves alone; the receipt lists them."""
    line_limit: int = 128 * 1024 * 1024
    spool_limit: int = 4 * 1024 * 1024 * 1024
    chunk_limit: int = 256 * 1024
    write_timeout: float = 30.0
    cgroups: str | None = None
    """In which folder the agent's cgroups are made; None: in the supervisor's own cgroup; empty: there are none."""
    linger: float = 10.0
    """How long after ``gone`` the supervisor waits for somebody to read it, while nobody is attached."""

    def __repr__(self) -> str:
        """Without the cookie, which is to be in no log."""
        return f"HoldSpec(custody={self.custody!r}, run={self.run})"

    def __rich_repr__(self) -> list[tuple[str, object]]:
        """As Rich shows it, in a trace say."""
        return [("custody", self.custody), ("run", self.run)]


class AgentSpec(Struct, frozen=True, kw_only=True):
    """How the agent process is started."""

    argv: tuple[str, ...]
    cwd: Path
    environment: Mapping[str, str]
    """Whole and filtered; the supervisor adds the nonce and a private ``TMUX_TMPDIR``."""
    terminal: tuple[int, int] | None = None
    """Rows and columns: the agent gets a pseudo-terminal instead of pipes (``pty`` profiles)."""
    quiet_ms: int = 0
    """On a terminal: after so long without output its silence is recorded, once each time; 0: never."""

    def __repr__(self) -> str:
        """Without the environment, which may hold keys."""
        return f"AgentSpec(argv={self.argv!r}, cwd={self.cwd!r})"

    def __rich_repr__(self) -> list[tuple[str, object]]:
        return [("argv", self.argv), ("cwd", self.cwd)]


class SpawnFailure(Struct, frozen=True, kw_only=True):
    """The supervisor or the agent did not start."""

    what: str
    """``not-found``, ``not-executable``, ``socket-path``, ``no-answer``, ``exited``, ``bad-folder``, ``os-error``; from
    ``start`` also ``fenced``, ``agent-alive``, ``generation``, ``not-attached``; from ``attach`` ``epoch``, ``offset``,
    ``cookie``, ``not-ours``, ``inside-a-hold``."""
    detail: str = ""
    exit: str | None = None
    stderr: str = ""
    """Last lines."""


class RecordKind(StrEnum):
    HEADER = "header"
    STARTED = "started"
    """data: JSON identity of the agent process."""
    STDOUT = "stdout"
    STDERR = "stderr"
    WRITING = "writing"
    """facts: id, sha256, length. Synced before the first byte."""
    WROTE = "wrote"
    CANCELLED = "cancelled"
    WRITE_FAILED = "write-failed"
    FENCE = "fence"
    """facts: reason. The first one in a spool wins."""
    SIGNAL = "signal"
    STEP = "step"
    """facts: step of the ladder reached, pids left with their names: progress for the screen, and for the receipt."""
    EXIT = "exit"
    """facts: code or signal of the agent itself (``1``, ``SIGKILL``)."""
    GAP = "gap"
    OVERFLOW = "overflow"
    """facts: bytes read and thrown away since the flood or the full disk."""
    WORKER_LOST = "worker-lost"
    GONE = "gone"
    """facts: the receipt: every process ended, by which step, when; remaining; spared."""
    END = "end"
    QUIET = "quiet"
    """facts: ms. A terminal has printed nothing for so long, since its last output or the last write to it."""
    RESIZED = "resized"
    """facts: rows, columns. What the terminal shows from here on is laid out for these."""


class SpoolRecord(Struct, frozen=True, kw_only=True):
    """One record of a spool, as read from the file or as it comes over the wire: the same bytes, the same offsets."""

    kind: RecordKind
    offset: int
    """Where the record begins in the spool file."""
    next_offset: int
    at_ms: int
    generation: int
    data: bytes = b""
    """stdout, stderr: the bytes."""
    facts: Mapping[str, object] = field(default_factory=dict)
    """All other kinds: their fields, JSON values."""


class WriteOutcome(StrEnum):
    WROTE = "wrote"
    ALREADY = "already"
    """This id was written whole before; nothing was sent again."""
    CANCELLED = "cancelled"
    """This id was cancelled before; nothing is ever sent for it."""
    BEGUN = "begun"
    """This id was begun and did not end: unproven, never repeated."""
    FENCED = "fenced"
    FAILED = "failed"
    """No progress in time, or the pipe broke."""
    LOST = "lost"
    """The connection went away before the answer; ask ``wrote``."""


class WriteProof(StrEnum):
    NEVER = "never"
    BEGUN = "begun"
    WHOLE = "whole"
    CANCELLED = "cancelled"


class EndedProcess(Struct, frozen=True, kw_only=True):
    pid: int
    name: str
    """Command line, cut to 200 characters, control characters replaced."""
    step: str
    """``exited`` (by itself after farewell/EOF: which), ``farewell``, ``eof``, ``term``, ``kill``, ``nonce``;
    ``cgroup`` where keeper and worker were gone."""
    gone_after_ms: int
    """Since the order."""
    own_session: bool = False
    daemonised: bool = False


class Receipt(Struct, frozen=True, kw_only=True):
    """What an ending did. Built by the supervisor, kept in the spool's ``gone`` record, then in the ledger."""

    reason: str
    already_ended: bool
    """The agent had left before the first signal or farewell."""
    agent_exit: str | None
    steps: tuple[tuple[str, int], ...]
    """(step, ms since the order), in order."""
    ended: tuple[EndedProcess, ...]
    remaining: tuple[EndedProcess, ...]
    spared: tuple[EndedProcess, ...]
    total_ms: int
    followed: bool = False
    """Nothing kept the tree together (macOS): what is told is of those that were seen or carried the nonce."""
