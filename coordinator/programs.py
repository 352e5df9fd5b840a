"""Finding an agent's program on this machine, and asking it for its version without trusting it with anything.

The native binary is wanted, not the launcher script around it: a launcher's own process would stand between the
supervisor and the agent.
"""

import json
import os
import platform
import shutil
import signal
import subprocess
import tempfile
import threading
import time
from collections.abc import Sequence
from pathlib import Path

from msgspec import Struct

from coordinator.helperprocess import Guard

_NATIVE = (b"\x7fELF", b"\xcf\xfa\xed\xfe", b"\xca\xfe\xba\xbe")
_KEPT_FOR_PROBE = ("HOME", "USER", "LOGNAME", "LANG", "LC_ALL", "TMPDIR", "XDG_CONFIG_HOME", "CLAUDE_CONFIG_DIR")
_ANSWER_BYTES = 4096
_CANNOT_RUN = (126, 127, -signal.SIGILL)
"""What a script's missing interpreter ends with, and a binary for another kind of processor."""
_ASK_AGAIN = 60.0
"""Seconds after which a program that did not answer is asked again: terms are proposed anew with each change of them,
and each would wait for it."""
_remembering = threading.Lock()
"""Programs are asked side by side, and the cache is one file."""


class Probe(Struct, frozen=True, kw_only=True):
    version: str | None
    problem: str = ""
    """In words, when there is no version."""
    ran: bool = True
    """False: it cannot be run at all."""
    hung: bool = False
    """It did not answer in time."""


_hung: dict[str, tuple[float, Probe]] = {}
"""When and what, by what identifies the file; of this process."""


def find_program(program: str, path_env: str) -> Path | None:
    """Where a program is, as an absolute path; a name is looked for on PATH, but never in the folder one is in."""
    if os.sep in program:
        path = Path(os.path.expanduser(program))  # noqa: PTH111  # one whose home is not there stays as it is
        return path if path.is_absolute() and path.is_file() and os.access(path, os.X_OK) else None
    # An empty or relative entry of PATH would run what an agent put into its tree.
    safe = os.pathsep.join(folder for folder in path_env.split(os.pathsep) if Path(folder).is_absolute())
    found = shutil.which(program, path=safe)
    return Path(found) if found else None


def native_binary(program: Path) -> Path:
    """The binary behind a launcher script of an npm package, from the package for this platform; else the program."""
    real = program.resolve()
    if _is_native(real):
        # The Python of a virtual environment is a link, and finds its packages by where that link is.
        return program if (program.parent.parent / "pyvenv.cfg").is_file() else real
    package = _package_folder(real)
    if package is None:
        return program
    scope = package.parent
    for name in (*_platform_packages(package.name), *_platform_packages(program.name)):
        # Beside the launcher's package, or below it: both are where npm puts it. An alias without a scope, too.
        beside = (scope / name, package / "node_modules" / scope.name / name, package / "node_modules" / name)
        for folder in beside:
            for candidate in _binaries(folder, program.name):
                if candidate.is_file() and os.access(candidate, os.X_OK) and _is_native(candidate):
                    return candidate
    return program


def _binaries(folder: Path, name: str) -> list[Path]:
    """Where packages for one platform keep their binary."""
    return [folder / name, folder / "bin" / name, *sorted(folder.glob(f"vendor/*/*/{name}"))]


def npm_package(program: Path) -> tuple[str, str | None] | None:
    """Name and version of the npm package that a program belongs to; None where it belongs to none."""
    folder = _package_folder(program.resolve())
    if folder is None:
        return None
    try:
        told = json.loads((folder / "package.json").read_bytes())
    except (OSError, ValueError):
        return None
    name, version = (told.get("name"), told.get("version")) if isinstance(told, dict) else (None, None)
    return (name, version if isinstance(version, str) else None) if isinstance(name, str) else None


def _package_folder(real: Path) -> Path | None:
    for folder in real.parents:
        if folder.parent.name.startswith("@") or folder.parent.name == "node_modules":
            return folder
    return None


def probe_version(
    program: Path,
    path_env: str,
    *,
    ask: Sequence[str] = ("--version",),
    silent: bool = False,
    cache: Path | None = None,
    timeout: float = 10.0,
) -> Probe:
    """What ``--version`` answers, from the cache where the file has not changed. Nothing is run where ``ask`` is empty.

    ``silent``: it may well tell none, and that is remembered too. Of one that always tells, another try may succeed.
    """
    if not ask:
        return Probe(version=None, problem="it is not asked")
    key = _key(program)
    hung = _hung.get(key or "")
    if hung is not None and time.monotonic() - hung[0] < _ASK_AGAIN:
        return hung[1]
    known = _remembered(cache).get(key) if key is not None and cache is not None else None
    if known or (silent and known is not None):
        return Probe(version=known or None, problem="" if known else "it tells no version")
    probe = _ask(program, ask, path_env, timeout)
    if probe.hung and key is not None:
        _hung[key] = time.monotonic(), probe
    if key is not None and cache is not None and (probe.version is not None or (silent and probe.ran)):
        with _remembering:
            _remember(cache, key, probe.version or "")
    return probe


def _is_native(path: Path) -> bool:
    try:
        with path.open("rb") as opened:
            return opened.read(4) in _NATIVE
    except OSError:
        return False


def _platform_packages(name: str) -> list[str]:
    system = platform.system().lower()
    machine = {"x86_64": "x64", "amd64": "x64", "aarch64": "arm64"}.get(platform.machine().lower(), platform.machine())
    plain = f"{name}-{system}-{machine}"
    return [f"{plain}-musl", plain] if platform.libc_ver()[0] != "glibc" and system == "linux" else [plain]


def _ask(program: Path, ask: Sequence[str], path_env: str, timeout: float) -> Probe:
    environment = {name: os.environ[name] for name in _KEPT_FOR_PROBE if name in os.environ}
    # A version question must not become an update.
    environment |= {"PATH": path_env, "DISABLE_AUTOUPDATER": "1", "NO_COLOR": "1"}
    # Below a guard: what a launcher started ends with it when it does not answer, and when this process is killed.
    guard = Guard()
    try:
        asked = subprocess.Popen(
            guard.above([str(program), *ask]),
            cwd="/",
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
            pass_fds=(guard.fd,),
        )
    except OSError as problem:
        guard.order_end()
        return Probe(version=None, problem=(problem.strerror or str(problem)).lower(), ran=False)
    finally:
        guard.started()
    try:
        answer, said = asked.communicate(timeout=timeout)
    except subprocess.TimeoutExpired:
        guard.order_end()
        asked.communicate()
        return Probe(version=None, problem=f"it did not answer {' '.join(ask)} within {timeout:g} s", hung=True)
    finally:
        guard.order_end()
    if (why := guard.not_begun(asked.returncode, said)) is not None:
        return Probe(version=None, problem=why, ran=False)
    if asked.returncode != 0:
        ran = asked.returncode not in _CANNOT_RUN
        return Probe(version=None, problem=f"its {' '.join(ask)} ended with {_ending(asked.returncode)}", ran=ran)
    first = answer[:_ANSWER_BYTES].decode("utf-8", "replace").strip().splitlines()
    version = "".join(letter for letter in first[0] if letter.isprintable())[:80] if first else ""
    return Probe(version=version) if version else Probe(version=None, problem=f"its {' '.join(ask)} says nothing")


def _ending(returncode: int) -> str:
    if returncode >= 0:
        return f"exit {returncode}"
    try:
        return signal.Signals(-returncode).name
    except ValueError:
        return f"signal {-returncode}"


def _key(program: Path) -> str | None:
    try:
        seen = program.stat()
    except OSError:
        return None
    return f"{program}|{seen.st_size}|{seen.st_mtime_ns}"


def _remembered(cache: Path) -> dict[str, str]:
    try:
        content = json.loads(cache.read_bytes())
    except (OSError, ValueError):
        return {}
    if not isinstance(content, dict):
        return {}
    return {str(key): value for key, value in content.items() if isinstance(value, str)}


def _remember(cache: Path, key: str, version: str) -> None:
    program = key.split("|", 1)[0]
    kept = {other: known for other, known in _remembered(cache).items() if other.split("|", 1)[0] != program}
    kept[key] = version
    try:
        descriptor, name = tempfile.mkstemp(dir=cache.parent, prefix=cache.name)
        with os.fdopen(descriptor, "w") as written:
            json.dump(kept, written)
        Path(name).replace(cache)
    except OSError:
        pass  # a cache that cannot be kept costs a second next time, nothing else
