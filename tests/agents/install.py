"""Fetch the real agents that the agent tests run, each in one pinned version, into the ignored `.agents/`.

Claude Code is there in two generations: they speak differently enough (see `claude_binary` in conftest.py) that a
driver proven on one is not proven on the other. Versions and digests stand here and nowhere else. All come by package
name through npm and pip alone: no address belongs in this file, no script of a package is run, and what is not needed
to be held is left out. Some are proprietary; they are fetched to be tested against, never shipped.

    python tests/agents/install.py [agent or version …]
"""

import base64
import hashlib
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import IO

ROOT = Path(__file__).resolve().parents[2]
AGENTS = ROOT / ".agents"
AT_ONCE = 3
"""Fetches side by side: one waits for the network while another unpacks."""
FETCH_SECONDS = 300


@dataclass(frozen=True, slots=True, kw_only=True)
class Package:
    name: str
    """The package's name and version as its client takes it."""
    digest: str
    """SHA-512 of the archive, in base64."""
    take: str = "package/"
    """The folder in the archive whose content is kept."""
    leave: tuple[str, ...] = ()
    """Folders below that one which nothing here runs."""
    into: str = ""
    """Where it goes, below the agent's own folder."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pinned:
    agent: str
    version: str
    client: str
    """``npm`` or ``pip``."""
    packages: tuple[Package, ...]
    program: str
    """What is run, below the agent's own folder."""
    generation: str = ""
    """Of Claude Code: ``197`` or ``332``."""

    @property
    def folder(self) -> Path:
        return AGENTS / f"{self.agent}-{self.version}"

    @property
    def binary(self) -> Path:
        return self.folder / self.program

    def __str__(self) -> str:
        return f"{self.agent} {self.version}"


PINNED = (
    Pinned(
        agent="claude",
        version="2.1.197",
        client="npm",
        # The native binary lives in the platform package; its wrapper package would only link to it by a script.
        packages=(
            Package(
                name="@anthropic-ai/claude-code-linux-x64@2.1.197",
                digest="rIlKmrY0QMyHgPRX/MYWNj039vbypICvI9jVe3rs9Xy2RnNklySjyPxqh62QadznzoftEO23uYQ1tFePcQ//bg==",
            ),
        ),
        program="claude",
        generation="197",
    ),
    Pinned(
        agent="claude",
        version="2.1.332",
        client="pip",
        # The SDK's wheel bundles the command line; nothing else of the wheel is kept.
        packages=(
            Package(
                name="claude-agent-sdk==0.2.189",
                digest="WHAa85frWQsL8AEw/VswTaz4K4UiLyVZcU6X1HW0HAx+vFI3sOvzHm/fEMP0AMPAgZ2BLhfVpKV/KAjgxoqbbQ==",
                take="claude_agent_sdk/_bundled/",
            ),
        ),
        program="claude",
        generation="332",
    ),
)
"""Claude Code, the older one first."""

CODEX = Pinned(
    agent="codex",
    version="0.171.0",
    client="npm",
    packages=(
        Package(
            name="@openai/codex@0.171.0-linux-x64",
            digest="l66NZkQgdk2C3pbcfULDz42yEUB581MVA6I+Y43Wp4OIqEy73HCdmZ0GTjeAHY2ycuH4N00d9VsLrwT1jxshTw==",
            take="package/vendor/x86_64-unknown-linux-musl/",
            leave=("codex-resources/voice/", "bin/codex-code-mode-host"),
        ),
    ),
    program="bin/codex",
)
OPENCODE = Pinned(
    agent="opencode",
    version="1.18.33",
    client="npm",
    packages=(
        Package(
            name="opencode-linux-x64@1.18.33",
            digest="q/t/3p2CTxOT9y2kvjesb/LZab2+1eqlhhWA02Be6mjTtmYtNBcBsrI5yDo4Fw7ZSPBW2oyMIGMNRqiKQjiAWw==",
        ),
    ),
    program="bin/opencode",
)
GEMINI = Pinned(
    agent="gemini",
    version="0.61.0",
    client="npm",
    packages=(
        Package(
            name="@google/gemini-cli@0.61.0",
            digest="dbQ9A0qBtFJNi6XBkHvfZ6Azpn6PNgH/P8h2MZ67RLlX8hSAVjup39CRWqdRxZv7YXIuhrFaytr8y0jKnkoxnQ==",
            leave=("bundle/docs/", "bundle/bundled/"),
        ),
        Package(
            name="@lydell/node-pty@1.1.0",
            digest="VDD8LtlMTOrPKWMXUAcB9+LTktzuunqrMwkYR1DMRBkS6LQrCt+0/Ws1o2rMml/n3guePpS7cxhHF7Nm5K4iMw==",
            into="node_modules/@lydell/node-pty",
        ),
        Package(
            name="@lydell/node-pty-linux-x64@1.1.0",
            digest="NcNqRTD14QT+vXcEuqSSvmWY+0+WUBn2uRE8EN0zKtDpIEr9d+YiFj16Uqds6QfcLCHfZmC+Ls7YzwTaqDnanA==",
            into="node_modules/@lydell/node-pty-linux-x64",
        ),
    ),
    program="bundle/gemini.js",
)
CLAUDE_ACP = Pinned(
    agent="claude-agent-acp",
    version="0.101.0",
    client="npm",
    # The Claude Code that it would bring along, 200 MB, is left out: the tests name one of the two above.
    packages=(
        Package(
            name="@agentclientprotocol/claude-agent-acp@0.101.0",
            digest="c9YGBfdJrLcKiinRpXuDuibC+CRGqQpe9+ey/+TuuZ7ejHlVyEELbbvRkxHZN+Hf5XGecJD5i0kvP2opCseATA==",
        ),
        Package(
            name="@agentclientprotocol/sdk@2.4.0",
            digest="7qJ8nnyj7WesC5ve185ioTpB2/svQoeGV4HA4nLEhgDUrcmBe54/08VcXc/oL4p14tDbxxECZzdYmUYQ+4l+Wg==",
            into="node_modules/@agentclientprotocol/sdk",
        ),
        Package(
            name="@anthropic-ai/claude-agent-sdk@0.3.318",
            digest="z5WHCUeW52SKQ3rnvI3zt8X5h2QQ5o3Cgg5xarO5Rimfe67f3pOJt2aOh00S8t/nRzqfs+8nCb9o1EoXe+yccA==",
            into="node_modules/@anthropic-ai/claude-agent-sdk",
        ),
        Package(
            name="diff@9.0.0",
            digest="svtcdpS8CgJyqAjEQIXdb3OjhFVVYjzGAPO8WGCmRbrml64SPw/jJD4GoE98aR7r25A0XcgrK3F02yw9R/vhQw==",
            into="node_modules/diff",
        ),
        Package(
            name="zod@4.6.7",
            digest="g8W2D2kU6a8untc053fX1uVBKzM7yqAxW/3zwk83+6RyF2+SKOuV+c0wBDhUwzV1PaGapmZH+rmcUzPf+3CGwg==",
            into="node_modules/zod",
        ),
    ),
    program="dist/index.js",
)
OTHERS = (CODEX, OPENCODE, GEMINI, CLAUDE_ACP)
EVERY = (*PINNED, *OTHERS)


class NotAsPinned(ValueError):
    """What came is not what was pinned."""


# ------------------------------------------------------------------------------------------------- fetching


def fetch(client: str, package: Package, scratch: Path) -> Path:
    """The archive as it came, in a folder of its own."""
    into = Path(tempfile.mkdtemp(dir=scratch))
    match client:
        case "npm":
            run(["npm", "pack", "--silent", "--ignore-scripts", package.name], into)
        case _:
            pip = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps"]
            run([*pip, "--dest", str(into), package.name], into)
    archive = next(into.iterdir())
    with archive.open("rb") as opened:
        digest = base64.b64encode(hashlib.file_digest(opened, "sha512").digest()).decode()
    if digest != package.digest:
        raise NotAsPinned(f"what came as {package.name} has another digest, {digest}")
    return archive


def run(command: list[str], folder: Path) -> None:
    subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True, timeout=FETCH_SECONDS)


def unpack(package: Package, archive: Path, into: Path) -> None:
    """What is kept of it. The digest was looked at, so the names in it are those that were looked at too."""
    for name, executable, reading in entries(archive):
        path = name.removeprefix(package.take)
        if path == name or path.startswith(package.leave):
            continue
        target = into / package.into / path
        target.parent.mkdir(parents=True, exist_ok=True)
        with reading() as source, target.open("wb") as made:
            shutil.copyfileobj(source, made, 1 << 20)
        target.chmod(0o755 if executable else 0o644)


def entries(archive: Path) -> Iterator[tuple[str, bool, Callable[[], IO[bytes]]]]:
    """Each file's name, whether it is run, and how it is read before the next one is asked for."""
    if archive.suffix == ".whl":
        with zipfile.ZipFile(archive) as wheel:
            for entry in wheel.infolist():
                yield entry.filename, bool(entry.external_attr >> 16 & 0o100), partial(wheel.open, entry)
        return
    with tarfile.open(archive, "r|gz") as package:
        for member in package:
            source = package.extractfile(member) if member.isfile() else None
            if source is not None:
                yield member.name, bool(member.mode & 0o100), partial(lambda opened: opened, source)


def speaks(pinned: Pinned, folder: Path, home: Path) -> bool:
    """Whether it answers to its version; ``home`` takes what some write at each start."""
    environment = {"PATH": os.environ.get("PATH", ""), "HOME": str(home), "TMPDIR": str(home)}
    try:
        told = subprocess.run(
            [folder / pinned.program, "--version"],
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
            env=environment,
            stdin=subprocess.DEVNULL,
        )
    except (OSError, subprocess.TimeoutExpired):
        return False
    return told.returncode == 0 and pinned.version in told.stdout


def install(pinned: Pinned) -> bool:
    where = pinned.binary.relative_to(ROOT)
    AGENTS.mkdir(exist_ok=True)
    # Beside the target, so that the last step is a rename: a half copied agent never carries the final name.
    with tempfile.TemporaryDirectory(prefix="fetch-", dir=AGENTS, ignore_cleanup_errors=True) as made:
        scratch = Path(made)
        if os.access(pinned.binary, os.X_OK) and speaks(pinned, pinned.folder, scratch):
            print(f"{where}: already there", flush=True)
            return True
        try:
            for package in pinned.packages:
                unpack(package, fetch(pinned.client, package, scratch), scratch / "agent")
            (scratch / "agent" / pinned.program).chmod(0o755)
        except NotAsPinned as problem:
            return loud(str(problem), pinned)
        except (OSError, subprocess.SubprocessError, StopIteration, tarfile.TarError, zipfile.BadZipFile) as problem:
            return loud(f"{pinned.client} could not fetch {pinned}: {reason(problem)}", pinned)
        if not speaks(pinned, scratch / "agent", scratch):
            return loud(f"what {pinned.client} fetched does not answer as {pinned} on this machine", pinned)
        shutil.rmtree(pinned.folder, ignore_errors=True)
        (scratch / "agent").replace(pinned.folder)
    print(f"{where}: installed", flush=True)
    return True


def reason(problem: Exception) -> str:
    told = getattr(problem, "stderr", None) or str(problem)
    lines = [line for line in str(told).strip().splitlines() if line.strip()]
    return lines[-1] if lines else type(problem).__name__


def loud(line: str, pinned: Pinned) -> bool:
    print(f"!!! AGENT NOT INSTALLED: {line}. The tests of {pinned} will be skipped.", file=sys.stderr, flush=True)
    return False


def main(wanted: list[str]) -> int:
    known = {name for pinned in EVERY for name in (pinned.agent, pinned.version)}
    if unknown := [name for name in wanted if name not in known]:
        print(f"Nothing pinned is called {', '.join(unknown)}; there are {', '.join(sorted(known))}.", file=sys.stderr)
        return 2
    chosen = [pinned for pinned in EVERY if not wanted or {pinned.agent, pinned.version} & set(wanted)]
    with ThreadPoolExecutor(AT_ONCE) as pool:
        return 0 if all(list(pool.map(install, chosen))) else 1


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
