"""``doctor``: what is looked at on this machine, what was found, and what to do about it.

It changes nothing but a scratch file and a scratch cgroup. Technical words are allowed here: a person who runs it
wants to know which thing of the machine is meant.
"""

import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from enum import StrEnum
from pathlib import Path

from msgspec import Struct

from app import platforms, wording
from app.cli import agentlist
from app.cli.agentlist import AgentLine
from app.cli.glyphs import width_of_glyphs
from app.config import load, unknown_agent
from app.main import VERSION
from app.paths import Paths, find
from coordinator import profiles, rulesfile, tomlfiles
from coordinator.clock import RealClock
from coordinator.supervisor import cgroup
from coordinator.supervisor.kernel import kernel
from store.refusal import Refusal
from store.vocab import Billing

_SLOW_SYNC_MS = 20.0
_FIRST = "claude"
"""The agent that a first start is meant for."""


class Level(StrEnum):
    OK = "ok"
    NOTE = "note"
    """Works; good to know."""
    BAD = "bad"
    """Something will not work until it is done."""


class Finding(Struct, frozen=True, kw_only=True):
    what: str
    level: Level
    found: str
    remedy: str = ""


def examine(environ: Mapping[str, str] | None = None, *, ask_terminal: bool = False) -> list[Finding]:
    """Every check, in an order in which the remedies make sense. One that breaks is a finding too, never an end.

    ``ask_terminal``: draw on it to measure its glyphs.
    """
    around = os.environ if environ is None else environ
    paths = find(around)
    checks: list[tuple[str, Callable[[], list[Finding]]]] = [
        ("footplate", lambda: [_footplate()]),
        ("system", lambda: _system(sys.platform, around)),
        ("configuration", lambda: [_configuration(paths)]),
        ("folders", lambda: _folders(paths)),
        ("sockets", lambda: [_sockets(paths)]),
        ("disk", lambda: [_sync(paths)]),
        ("sqlite", lambda: [_sqlite()]),
        ("ledger", lambda: [_ledger(paths)]),
        ("sizes", lambda: [_sizes(paths)]),
        ("git", lambda: [_git(around)]),
        ("agent", lambda: _agents(paths, around)),
        ("terminal", lambda: _terminal(around, ask=ask_terminal)),
        ("notices", lambda: [_notices(paths, around)]),
    ]
    if sys.platform == "linux":
        checks += [("logout", lambda: [_logout()]), ("cgroup", lambda: [_cgroup(cgroup.why_none())])]
    found: list[Finding] = []
    for what, check in checks:
        try:
            found += check()
        except Exception as problem:
            remedy = "Report this with the output of footplate doctor --json."
            found.append(
                Finding(what=what, level=Level.BAD, found=f"the check itself broke: {problem!r}", remedy=remedy)
            )
    return found


def _from_refusal(what: str, refusal: Refusal) -> Finding:
    return _said(what, wording.sentence(refusal))


def _said(what: str, sentence: str) -> Finding:
    """What is the case, and behind the semicolon what to do."""
    said, _, remedy = sentence.partition("; ")
    return Finding(what=what, level=Level.BAD, found=said, remedy=remedy[:1].upper() + remedy[1:])


def _footplate() -> Finding:
    python = ".".join(map(str, sys.version_info[:3]))
    found = f"{VERSION}, Python {python}, {os.uname().sysname} {os.uname().release}"
    if sys.platform == "linux" and not hasattr(os, "pidfd_open"):
        remedy = "Run it on Linux 5.4 or newer: without pidfds an ending cannot be proven."
        return Finding(what="footplate", level=Level.BAD, found=f"{found}, no pidfds", remedy=remedy)
    return Finding(what="footplate", level=Level.OK, found=found)


def _system(platform: str, environ: Mapping[str, str]) -> list[Finding]:
    """Nothing is said of Linux."""
    if platform != platforms.MACOS:
        return []
    refused = platforms.untried(platform, environ)
    if refused is not None:
        return [_from_refusal("system", refused)]
    remedy = f"Unset {platforms.TRY} to start none; after a stop, look for what you did not start with ps -x."
    found = "macOS, where nobody has run sessions yet: a stop ends what was seen of one, and proves no more"
    return [Finding(what="system", level=Level.NOTE, found=found, remedy=remedy)]


def _configuration(paths: Paths) -> Finding:
    config = load(paths)
    if isinstance(config, Refusal):
        return _from_refusal("configuration", config)
    loaded = profiles.load(paths.agents_file)
    if isinstance(loaded, Refusal):
        return _from_refusal("configuration", loaded)
    mistyped = unknown_agent(paths.config_file, config, [one.name for one in loaded])
    if mistyped is not None:
        return _from_refusal("configuration", mistyped)
    rules = rulesfile.load(paths.rules_file)
    if isinstance(rules, Refusal):
        return _from_refusal("configuration", rules)
    names = {one.name for one in loaded}
    nobody = next((number for number, one in enumerate(rules, 1) if one.agent and one.agent not in names), None)
    if nobody is not None:
        there_is = f"there is no agent of that name, there are {', '.join(sorted(names))}"
        return _from_refusal("configuration", tomlfiles.invalid(paths.rules_file, f"rule {nobody}.agent", there_is))
    there = [str(file) for file in (paths.config_file, paths.agents_file, paths.rules_file) if file.exists()]
    return Finding(what="configuration", level=Level.OK, found=", ".join(there) or "defaults (no file)")


def _folders(paths: Paths) -> list[Finding]:
    from store.place import check_place

    refusal = paths.ensure()
    if refusal is not None:
        return [_from_refusal("folders", refusal)]
    network = check_place(paths.ledger.parent)
    if network is not None:
        return [_from_refusal("folders", network)]
    found = [Finding(what="folders", level=Level.OK, found=f"{paths.ledger.parent}, runtime {paths.runtime}")]
    # Several of them may be one folder.
    open_ = list(dict.fromkeys(str(folder) for folder in paths.folders() if folder.stat().st_mode & 0o077))
    if open_:
        remedy = f"Others on this machine can look in; close it with: chmod 700 {' '.join(open_)}"
        found.append(
            Finding(what="folders", level=Level.NOTE, found=f"open to others: {', '.join(open_)}", remedy=remedy)
        )
    free = shutil.disk_usage(paths.ledger.parent).free
    if free < 2 * 1024**3:
        remedy = "Make room, or set FOOTPLATE_HOME to a larger disk: when it is full, runs are ended."
        found.append(Finding(what="folders", level=Level.NOTE, found=f"{free // 1024**2} MiB free", remedy=remedy))
    return found


def _sockets(paths: Paths) -> Finding:
    longest = paths.longest_socket
    found = f"paths of {wording.plural(longest, 'byte')}, {kernel.SOCKET_PATH_BYTES} at most"
    from app.wiring import sockets_fit

    refused = sockets_fit(paths)
    if refused is not None:
        return _from_refusal("sockets", refused)
    if longest > kernel.SOCKET_PATH_BYTES:
        remedy = "It works through a handle on the folder; for older tools set FOOTPLATE_HOME to a shorter folder."
        return Finding(what="sockets", level=Level.NOTE, found=found, remedy=remedy)
    return Finding(what="sockets", level=Level.OK, found=found)


def _sync(paths: Paths) -> Finding:
    took: list[float] = []
    with tempfile.NamedTemporaryFile(dir=paths.ledger.parent, prefix=".doctor-") as scratch:
        for _ in range(9):
            scratch.write(b"x" * 4096)
            scratch.flush()
            before = time.perf_counter()
            kernel.sync(scratch.fileno())
            took.append((time.perf_counter() - before) * 1000)
    median = statistics.median(took)
    found = f"{kernel.SYNC} takes {median:.1f} ms (worst of {len(took)}: {max(took):.1f} ms)"
    if median > _SLOW_SYNC_MS:
        remedy = "Each turn waits for it a few times; set FOOTPLATE_HOME to a faster disk."
        return Finding(what="disk", level=Level.NOTE, found=found, remedy=remedy)
    return Finding(what="disk", level=Level.OK, found=found)


def _sqlite() -> Finding:
    from store.engine import engine

    found = engine()
    said = f"{found.version}, {'with' if found.fts5 else 'without'} FTS5"
    if not found.will_do:
        remedy = "Use a Python whose SQLite is 3.37 or newer and has FTS5."
        return Finding(what="sqlite", level=Level.BAD, found=said, remedy=remedy)
    return Finding(what="sqlite", level=Level.OK, found=said)


def _ledger(paths: Paths) -> Finding:
    from store import runs
    from store.db import LedgerFault, read_ledger

    if not paths.ledger.exists():
        return Finding(what="ledger", level=Level.OK, found="none yet; the first start makes it")
    try:
        with read_ledger(paths.ledger, now=RealClock().now) as tx:
            live = runs.live_count(tx)
    except LedgerFault as fault:
        return _from_refusal("ledger", fault.refusal)
    size = paths.ledger.stat().st_size // 1024
    return Finding(
        what="ledger", level=Level.OK, found=f"{paths.ledger}, {size} KiB, {wording.plural(live, 'run')} live"
    )


def _sizes(paths: Paths) -> Finding:
    from app.wording_housekeeping import sizes_line
    from coordinator.housekeeping import Places, sizes

    places = Places(
        ledger=paths.ledger, spool=paths.spool, evidence=paths.evidence, worktrees=paths.worktrees, mark=paths.mark
    )
    return Finding(what="sizes", level=Level.OK, found=sizes_line(sizes(places)))


def _git(environ: Mapping[str, str]) -> Finding:
    program = shutil.which("git", path=environ.get("PATH"))
    if program is None:
        remedy = "Install git: a run needs a repository to work in."
        return Finding(what="git", level=Level.BAD, found="not on your PATH", remedy=remedy)
    told = subprocess.run([program, "--version"], cwd="/", capture_output=True, text=True, timeout=10, check=False)
    return Finding(what="git", level=Level.OK, found=f"{told.stdout.strip() or 'no version'} ({program})")


def _agents(paths: Paths, environ: Mapping[str, str]) -> list[Finding]:
    loaded = profiles.load(paths.agents_file, environ)
    if isinstance(loaded, Refusal):
        return []  # already said under configuration
    cache = paths.runtime / "versions.json"
    seen = agentlist.read(loaded, environ, cache=cache, ledger=paths.ledger)
    real = any(_works(one) for one in seen)
    builtin = profiles.builtin(environ)
    # Of most agents it is no news that they are not here; of the first one, and of those in agents.toml, it is.
    quiet = {one.name for one in loaded if one in builtin and one.name != _FIRST}
    told = [one for one in seen if not one.missing or one.name not in quiet]
    findings = [_agent(one) for one in told]
    absent = [one.name for one in seen if one not in told]
    if absent:
        found = f"not on this machine: {', '.join(absent)} (footplate agents says how to get each)"
        findings.append(Finding(what="other agents", level=Level.OK, found=found))
    # One that is missing is no fault while another can work.
    return [one if one.level is not Level.BAD or not real else _as_note(one) for one in findings]


def _works(one: AgentLine) -> bool:
    return one.ready and one.billing is not Billing.PRACTICE and not one.terminal


def _agent(one: AgentLine) -> Finding:
    what = f"agent {one.name}"
    if one.sentence is not None:
        return _said(what, one.sentence)
    launcher = f", behind the launcher {one.launcher}" if one.launcher else ""
    version = one.version or "tells no version"
    cost = "" if one.cost is None else f", its cost is {one.cost_note or one.cost.value}"
    found = f"{version} ({one.program}{launcher}), billing: {one.billing.value}{cost}"
    if one.signed_in is False:
        remedy = f"{wording.sign_in(one.name)}, then start it again."
        when = "" if one.signed_in_at is None else f" ({wording.moment(one.signed_in_at, RealClock().now())})"
        return Finding(
            what=what,
            level=Level.NOTE,
            found=f"{found}; not signed in when it ran last{when}",
            remedy=remedy[:1].upper() + remedy[1:],
        )
    if one.older:
        remedy = f"It may work; if it does not, update it: Footplate was tried with {one.tried}."
        return Finding(what=what, level=Level.NOTE, found=found, remedy=remedy)
    return Finding(what=what, level=Level.OK, found=found)


def _as_note(one: Finding) -> Finding:
    return Finding(what=one.what, level=Level.NOTE, found=one.found, remedy=one.remedy)


def _terminal(environ: Mapping[str, str], *, ask: bool) -> list[Finding]:
    term = environ.get("TERM", "")
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        remedy = "The console needs one; without, use footplate start --plain."
        return [Finding(what="terminal", level=Level.NOTE, found="this is not a terminal", remedy=remedy)]
    if term in ("", "dumb"):
        remedy = "Set TERM to what your terminal is, or use footplate start --plain."
        return [Finding(what="terminal", level=Level.NOTE, found=f"TERM is {term or 'empty'}", remedy=remedy)]
    size = os.get_terminal_size()
    colour = "full colour" if environ.get("COLORTERM") in ("truecolor", "24bit") else "256 colours or fewer"
    if environ.get("NO_COLOR"):
        colour = "no colour (NO_COLOR)"
    inside = "tmux" if environ.get("TMUX") else "screen" if environ.get("STY") else ""
    where = f", in {inside}" if inside else ""
    remote = ", over ssh" if environ.get("SSH_CONNECTION") else ""
    found = [
        Finding(
            what="terminal", level=Level.OK, found=f"{term}, {size.columns} × {size.lines}, {colour}{where}{remote}"
        )
    ]
    if size.columns < 80 or size.lines < 24:
        remedy = "Make it at least 80 × 24, or use footplate start --plain."
        found.append(Finding(what="terminal", level=Level.NOTE, found="smaller than 80 × 24", remedy=remedy))
    if "utf" not in (sys.stdout.encoding or "").lower():
        remedy = "Set LANG to a UTF-8 locale, for example C.UTF-8, or set ascii = true in config.toml."
        found.append(Finding(what="terminal", level=Level.NOTE, found=f"encoding {sys.stdout.encoding}", remedy=remedy))
    elif ask and (width := width_of_glyphs()) not in (None, 1):
        remedy = "Set ascii = true in config.toml: the lists would be ragged."
        found.append(Finding(what="terminal", level=Level.NOTE, found=f"glyphs take {width} cells", remedy=remedy))
    return found


def _notices(paths: Paths, environ: Mapping[str, str]) -> Finding:
    from app.cli.noticing import doctor_line

    config = load(paths)
    if isinstance(config, Refusal):
        return _from_refusal("notices", config)
    well, found, remedy = doctor_line(config.notify, environ)
    return Finding(what="notices", level=Level.OK if well else Level.NOTE, found=found, remedy=remedy)


def _cgroup(why_none: str) -> Finding:
    if not why_none:
        return Finding(what="cgroup", level=Level.OK, found="each agent gets one of its own, and ends with it at once")
    remedy = (
        "Agents end without one as well; it helps where a keeper is killed. With systemd you get one by starting "
        "the console so: systemd-run --user --scope -p Delegate=yes footplate"
    )
    return Finding(what="cgroup", level=Level.NOTE, found=f"agents get none of their own: {why_none}", remedy=remedy)


def _logout(
    folders: tuple[Path, ...] = (Path("/usr/lib/systemd"), Path("/run/systemd"), Path("/etc/systemd")),
) -> Finding:
    value = ""
    for folder in folders:
        for file in (folder / "logind.conf", *sorted((folder / "logind.conf.d").glob("*.conf"))):
            try:
                text = file.read_text(errors="replace")
            except OSError:
                continue
            for said in re.findall(r"^\s*KillUserProcesses\s*=\s*(\S+)", text, re.MULTILINE):
                value = said.lower()
    if value in ("yes", "true", "1", "on"):
        remedy = "Let yours live with: loginctl enable-linger"
        return Finding(
            what="logout", level=Level.NOTE, found="logging out kills your processes, runs too", remedy=remedy
        )
    return Finding(what="logout", level=Level.OK, found="logging out does not kill your processes")
