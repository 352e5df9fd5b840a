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
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

_NATIVE = (b"\x7fELF", b"\xcf\xfa\xed\xfe", b"\xca\xfe\xba\xbe")
_KEPT_FOR_PROBE = ("HOME", "USER", "LOGNAME", "LANG", "LC_ALL", "TMPDIR", "XDG_CONFIG_HOME", "CLAUDE_CONFIG_DIR")
_ANSWER_BYTES = 4096


@dataclass(frozen=True, slots=True, kw_only=True)
class Probe:
    version: str | None
    problem: str = ""
    """In words, when there is no version."""


def find_program(program: str, path_env: str) -> Path | None:
    """Where a program is, as an absolute path; a name is looked for on PATH, but never in the folder one is in."""
    if os.sep in program:
        path = Path(program).expanduser()
        return path if path.is_absolute() and path.is_file() and os.access(path, os.X_OK) else None
    # An empty or relative entry of PATH would run what an agent put into its tree.
    safe = os.pathsep.join(folder for folder in path_env.split(os.pathsep) if Path(folder).is_absolute())
    found = shutil.which(program, path=safe)
    return Path(found) if found else None


def native_binary(program: Path) -> Path:
    """The binary behind a launcher script of an npm package, from the package for this platform; else the program."""
    real = program.resolve()
    if _is_native(real):
        return real
    for package in real.parents:
        if package.parent.name.startswith("@") or package.parent.name == "node_modules":
            for name in _platform_packages(package.name):
                for folder in (package.parent / name, package / "node_modules" / package.parent.name / name):
                    candidate = folder / program.name
                    if candidate.is_file() and os.access(candidate, os.X_OK) and _is_native(candidate):
                        return candidate
            break
    return program


def probe_version(program: Path, path_env: str, *, cache: Path | None = None, timeout: float = 10.0) -> Probe:
    """What ``--version`` answers, from the cache where the file has not changed."""
    key = _key(program)
    if key is not None and cache is not None and (known := _remembered(cache).get(key)):
        return Probe(version=known)
    probe = _ask(program, path_env, timeout)
    if key is not None and cache is not None and probe.version is not None:
        _remember(cache, key, probe.version)
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


def _ask(program: Path, path_env: str, timeout: float) -> Probe:
    environment = {name: os.environ[name] for name in _KEPT_FOR_PROBE if name in os.environ}
    # A version question must not become an update.
    environment |= {"PATH": path_env, "DISABLE_AUTOUPDATER": "1", "NO_COLOR": "1"}
    try:
        # A session of its own, so that what a launcher started ends with it when it does not answer.
        asked = subprocess.Popen(
            [str(program), "--version"],
            cwd="/",
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
    except OSError as problem:
        return Probe(version=None, problem=(problem.strerror or str(problem)).lower())
    try:
        answer, _ = asked.communicate(timeout=timeout)
    except subprocess.TimeoutExpired:
        with suppress(ProcessLookupError):
            os.killpg(asked.pid, signal.SIGKILL)
        if asked.stdout is not None:
            asked.stdout.close()
        asked.wait()
        return Probe(version=None, problem=f"it did not answer --version within {timeout:g} s")
    if asked.returncode != 0:
        return Probe(version=None, problem=f"its --version ended with {_ending(asked.returncode)}")
    first = answer[:_ANSWER_BYTES].decode("utf-8", "replace").strip().splitlines()
    version = "".join(letter for letter in first[0] if letter.isprintable())[:80] if first else ""
    return Probe(version=version) if version else Probe(version=None, problem="its --version says nothing")


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
