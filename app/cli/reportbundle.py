"""``doctor --bundle``: what is worth knowing of a machine where something went wrong, in one text that can be read
before it is sent.

It is made of what is known to be harmless, and not by taking the harmful out of everything: of a configuration only
values that are numbers, switches or words of ours; of a trace only where it was and what kind of error; of the ledger
only counts. What is left goes through the redaction that guards the ledger. Nothing is sent from here.
"""

import importlib.metadata
import os
import platform
import re
import sys
import tomllib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from app import logs
from app.cli.checkup import Finding
from app.main import VERSION
from app.paths import Paths
from app.wording_measures import plural
from coordinator import profiles
from coordinator.redaction import SHORTEST, Redactor, secrets_of
from store import census
from store.engine import engine
from store.refusal import Refusal

LOG_LINES: Final = 300
TRACES: Final = 3
_SHORTEST_WORD: Final = 3
_LINE: Final = 400
"""Characters of a line that are kept."""
_PACKAGES: Final = (
    "textual", "rich", "typer", "msgspec", "aiosqlite", "pexpect", "pyte", "platformdirs", "psutil", "textual-serve",
)  # fmt: skip
_TOLD: Final = ("TERM", "COLORTERM", "LANG", "LC_ALL", "LC_CTYPE")
_NAMED: Final = ("TMUX", "STY", "SSH_CONNECTION", "NO_COLOR", "EDITOR", "PAGER", "XDG_RUNTIME_DIR", "PYTHONPATH")
"""Whether they are set says enough."""
_WORDS: Final = frozenset(
    {
        "agent", "preset", "at_budget", "at_lapse", "on_disconnect", "at_timeout", "theme", "terminal", "driver",
        "billing", "mode", "home", "model",
    }
)  # fmt: skip
"""Keys whose value is a word of ours or of an agent, and never the operator's own."""
_BY_NAME: Final = frozenset({("repository",), ("pools", "agents")})
"""Tables of ``config.toml`` whose keys are names that the operator gave; in ``agents.toml`` all are."""
_SECTIONS: Final = frozenset({"keys", "notify", "repository", "pools", "agents", "env", "models"})
"""Names of tables that are ours."""
_COUNTED: Final = frozenset({"env", "models"})
"""Tables of which only the size is told."""
_HEAD: Final = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d+ \d+ [A-Z]+ [\w.]+: ")
_FRAME: Final = re.compile(r'[\s|+]*File "(?P<file>[^"]*)", line (?P<line>\d+), in (?P<name>[\w<>.]+)')
_PLACE: Final = re.compile(r"(?:(?<=site-packages/)|(?<=/)python3[^/]*/|(?<=/)(?=(?:app|coordinator|store)/)).*")
_ERROR: Final = re.compile(r"[\s|+-]*(?P<kind>[A-Za-z_][\w.]*)(?:: (?P<said>.*))?$")
_SYSTEM: Final = re.compile(r"(?:^|\.)(?:\w*OSError|\w*IOError|FileNotFoundError|PermissionError|FileExistsError|"
    r"NotADirectoryError|IsADirectoryError|TimeoutError|BrokenPipeError|Connection\w*Error|BlockingIOError|"
    r"ProcessLookupError|ChildProcessError|ImportError|ModuleNotFoundError|sqlite3\.\w+|MemoryError|LedgerBusy|"
    r"LedgerUnreadable|StorageFault)$")  # fmt: skip
"""Errors of the system and of SQLite: what they say is about files and tables, never about what was said."""
_QUOTED: Final = re.compile(r"'[^']{25,}'|\"[^\"]{25,}\"|'[^']* [^']*'|\"[^\"]* [^\"]*\"")
_PATH: Final = re.compile(r"(?<![\w~.>-])/(?:[^\s'\":;,()<>|]+)")


def make(findings: Iterable[Finding], paths: Paths, environ: Mapping[str, str]) -> str:
    """The whole report. ``environ``: the operator's environment, whose secrets must not be in it."""
    clean = _Clean(paths, environ)
    parts = (
        ("versions", _versions()),
        ("environment", _environment(environ)),
        ("doctor", _doctor(findings)),
        ("configuration", _configuration(paths)),
        ("ledger", _ledger(paths)),
        ("log, newest last", _log(paths.logs / logs.NAME)),
        *((f"trace {path.name}", _trace(path)) for path in _traces(paths.logs)),
    )
    made = datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC")
    rows = [
        f"Footplate {VERSION}: a bug report, made {made}",
        "",
        "No text of any conversation, no brief, no file and no name of a repository is in it, and what looks like a",
        "secret was taken out. Read it all the same before you send it, and write above what you did and what you saw.",
    ]
    for heading, lines in parts:
        rows += ["", f"== {heading} ==", *(clean.line(one) for one in lines)]
    return clean.whole("\n".join(rows) + "\n")


class _Clean:
    """The last look at each line: paths of the operator's own, and secrets that are known or look like one."""

    def __init__(self, paths: Paths, environ: Mapping[str, str]) -> None:
        loaded = profiles.load(paths.agents_file, environ)
        given = [] if isinstance(loaded, Refusal) else [dict(one.env) for one in loaded]
        secrets = secrets_of(environ).union(*map(secrets_of, given), *(one.values() for one in given))
        self._redactor = Redactor(one for one in secrets if len(one) >= SHORTEST)
        self._own = _own_words(paths)
        self._home = str(Path.home())
        self._at_home = re.compile(rf"{re.escape(self._home)}(?![^/\s'\":;,()<>|])")  # not /home/adam for /home/ada
        ours = (str(paths.config_file.parent), str(paths.ledger.parent), str(paths.runtime), str(paths.logs))
        self._harmless = (*ours, sys.prefix, sys.base_prefix, str(Path(__file__).parents[2]), "/usr/", "/proc", "/bin")

    def line(self, text: str) -> str:
        shown = _PATH.sub(self._path, text)
        if len(self._home) > 1:
            shown = self._at_home.sub("~", shown)
        return shown if len(shown) <= _LINE else f"{shown[:_LINE]}…"

    def _path(self, found: re.Match[str]) -> str:
        """Ours and the system's stay; another may be called after whom somebody works for."""
        path = found.group()
        return path if path.startswith(self._harmless) else "<path>"

    def whole(self, text: str) -> str:
        for word in self._own:
            text = re.sub(rf"(?<![\w-]){re.escape(word)}(?![\w-])", "<yours>", text)
        return self._redactor.text(text)


def _own_words(paths: Paths) -> list[str]:
    """What the operator wrote into the files and a finding may repeat: names of agents, commands, paths. The longest
    first, so that none is left over from a longer one."""
    builtin = {one.name for one in profiles.builtin({})}
    found = {word for path in _files(paths) if isinstance(read := _read(path), dict) for word in _strings(read)}
    return sorted((one for one in found - builtin if len(one) >= _SHORTEST_WORD), key=len, reverse=True)


def _strings(value: object, key: str = "") -> Iterator[str]:
    match value:
        case dict() if key != "keys":
            for name, inner in value.items():
                if isinstance(inner, dict) and name not in _SECTIONS:
                    yield name
                yield from _strings(inner, name)
        case list():
            for inner in value:
                yield from _strings(inner, key)
        case str() if key not in _WORDS:
            yield value


def _files(paths: Paths) -> tuple[Path, ...]:
    return paths.config_file, paths.agents_file, paths.rules_file, paths.config_file.with_name("prices.toml")


def _read(path: Path) -> dict[str, object] | str:
    """Its tables, or why there are none."""
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return "none"
    except (OSError, ValueError) as problem:
        return f"cannot be read ({type(problem).__name__})"


# -------------------------------------------------------------------------------------------------------------- parts


def _versions() -> Iterator[str]:
    yield f"footplate {VERSION}"
    yield f"{platform.python_implementation()} {platform.python_version()} ({platform.python_compiler()})"
    yield f"{platform.platform()}, {' '.join(platform.libc_ver()) or 'libc unknown'}"
    yield f"SQLite {engine().version}"
    for name in _PACKAGES:
        try:
            yield f"{name} {importlib.metadata.version(name)}"
        except importlib.metadata.PackageNotFoundError:
            yield f"{name}: not installed"


def _environment(environ: Mapping[str, str]) -> Iterator[str]:
    for name in _TOLD:
        yield f"{name}={environ.get(name, '(not set)')}"
    ours = sorted(name for name in environ if name.startswith(("FOOTPLATE_", "TEXTUAL")))
    for name in (*_NAMED, *ours):
        yield f"{name}: {'set' if environ.get(name) else 'not set'}"


def _doctor(findings: Iterable[Finding]) -> Iterator[str]:
    for one in findings:
        yield f"{one.level.value:<5} {one.what}: {' '.join(one.found.split())}"


def _configuration(paths: Paths) -> Iterator[str]:
    for path in _files(paths):
        read = _read(path)
        if isinstance(read, str):
            yield f"{path.name}: {read}"
        else:
            yield f"{path.name}:"
            yield from _rules(read) if path == paths.rules_file else _values(read, agents=path == paths.agents_file)


def _rules(read: Mapping[str, object]) -> Iterator[str]:
    listed = read.get("rule")
    kinds = Counter(
        " ".join(str(one.get("is", "")).split()[:2]) for one in (listed if isinstance(listed, list) else ())
        if isinstance(one, dict)
    )  # fmt: skip
    for kind, count in sorted(kinds.items()):
        known = re.fullmatch(r"(?:allow|deny) (?:command|edit|read|fetch|tool)", kind)
        yield f"  {kind if known else '(not a rule)'}: {count}"


def _values(read: Mapping[str, object], *, agents: bool, at: tuple[str, ...] = ()) -> Iterator[str]:
    """Every key, with its value where that says nothing of the operator."""
    builtin = {one.name for one in profiles.builtin({})}
    named = at in _BY_NAME or (agents and not at)
    for number, (key, value) in enumerate(read.items(), 1):
        name = f"(one of yours, {number})" if named and key not in builtin else key
        shown = ".".join((*at, name))
        match value:
            case dict() if key in _COUNTED:
                yield f"  {shown}: {len(value)} set"
            case dict():
                yield from _values(value, agents=agents, at=(*at, name))
            case bool() | int() | float():
                yield f"  {shown} = {str(value).lower()}"
            case str() if key in _WORDS or at == ("keys",):
                yield f"  {shown} = {value[:40]}"
            case list():
                yield f"  {shown}: {len(value)} in a list"
            case _:
                yield f"  {shown}: set"


def _ledger(paths: Paths) -> Iterator[str]:
    if not paths.ledger.exists():
        yield "none yet"
        return
    found = census.take(paths.ledger)
    yield f"schema {'unreadable' if found.schema is None else found.schema}, this version writes {found.newest}"
    for path in (paths.ledger, Path(f"{paths.ledger}-wal")):
        if path.exists():
            yield f"{path.name}: {plural(path.stat().st_size, 'byte')}"
    if found.problem:
        yield f"not readable to its end: {found.problem}"
    for name, count in found.rows.items():
        yield f"  {name}: {count}"
    for what, counts in (("runs", found.outcomes), ("custody", found.custodies)):
        yield f"{what}: {', '.join(f'{name} {count}' for name, count in counts.items()) or 'none'}"


def _log(path: Path) -> Iterator[str]:
    return iter(_harmless(_tail(path))[-LOG_LINES:] or ["nothing"])


def _trace(path: Path) -> Iterator[str]:
    return iter(_harmless(_tail(path)))


def _traces(folder: Path) -> list[Path]:
    """The newest few, the oldest of them first."""
    found = [(path.stat().st_mtime, path) for path in folder.glob("footplate-trace-*.txt")]
    return [path for _, path in sorted(found)[-TRACES:]]


def _tail(path: Path, most: int = 256 * 1024) -> list[str]:
    try:
        with path.open("rb") as file:
            file.seek(max(0, os.fstat(file.fileno()).st_size - most))
            return file.read().decode("utf-8", "replace").splitlines()
    except OSError:
        return []


def _harmless(lines: Iterable[str]) -> list[str]:
    """Heads of records, places in the code and kinds of errors; whatever else a line is, it is left out."""
    kept: list[str] = []
    for line in lines:
        if _HEAD.match(line):
            kept.append(_QUOTED.sub("'…'", line))
        elif (frame := _FRAME.match(line)) is not None:
            place = _PLACE.search(frame["file"])
            kept.append(f"  {place.group() if place else '<path>'}:{frame['line']} in {frame['name']}")
        elif line.startswith("Traceback") or line.lstrip(" |+-").startswith("Traceback"):
            kept.append("Traceback")
        elif (error := _ERROR.match(line)) is not None and _is_error(error["kind"]):
            said = error["said"] if error["said"] and _SYSTEM.search(error["kind"]) else None
            kept.append(f"{error['kind']}{'' if said is None else f': {_QUOTED.sub(chr(8230), said)}'}")
    return kept


def _is_error(kind: str) -> bool:
    return kind.rsplit(".", 1)[-1].endswith(("Error", "Exception", "Fault", "Group", "Busy", "Unreadable", "Interrupt"))
