"""How long a person waits for ``footplate``: as ratios to ``python -c pass`` (P), side by side in one run."""

import os
import pty
import select
import shutil
import signal
import subprocess
import sysconfig
import tempfile
import time
from pathlib import Path

from tests.bench.figures import PYTHON, Figure, median, middle, scaled, upper

ROOT = Path(__file__).resolve().parents[2]
FIRST_FRAME = (b"footplate", b"\x1b[?1049h")
"""The title, drawn after the alternate screen was opened: nothing of the splash before it counts."""
CONSOLE = ("-m", "app.main")
MINIMAL = ("-m", "tests.children.minimal_app")
"""The least that Textual itself needs: what no application built on it can be quicker than."""


def around(home: Path) -> dict[str, str]:
    kept = {name: os.environ[name] for name in ("PATH", "HOME", "LANG") if name in os.environ}
    return {
        **kept,
        "PYTHONPATH": f"{ROOT}:{sysconfig.get_path('purelib')}",
        "FOOTPLATE_HOME": str(home),
        "TERM": "xterm-256color",
        "PYTHONUTF8": "1",
    }


def once(arguments: list[str], home: Path) -> float:
    before = time.perf_counter()
    subprocess.run([PYTHON, *arguments], env=around(home), cwd=ROOT, stdout=subprocess.DEVNULL, check=True)
    return time.perf_counter() - before


def on_a_terminal(
    home: Path, tree: Path, *arguments: str, words: bytes = FIRST_FRAME[0], most: float = 20.0
) -> tuple[float, float | None]:
    """Seconds to the first byte, and to the first full frame (one that has these words), of a Python program that is
    then ended; of ``footplate`` alone where none is named."""
    before = time.perf_counter()
    pid, master = pty.fork()
    if pid == 0:
        os.chdir(tree)
        os.execve(PYTHON, [PYTHON, *(arguments or CONSOLE)], around(home))
    first, frame, seen = 0.0, None, b""
    try:
        while (left := before + most - time.perf_counter()) > 0 and select.select([master], [], [], left)[0]:
            try:
                chunk = os.read(master, 65_536)
            except OSError:
                break
            now = time.perf_counter() - before
            first = first or now
            seen += chunk
            opened = seen.find(FIRST_FRAME[1])
            if opened >= 0 and words in seen[opened:]:
                frame = now
                break
    finally:
        os.kill(pid, signal.SIGTERM)
        end(pid, master)
    return first, frame


def end(pid: int, master: int) -> None:
    """Read on until it has gone: a terminal that nobody reads holds up the one who writes."""
    until = time.perf_counter() + 15
    while time.perf_counter() < until:
        if os.waitpid(pid, os.WNOHANG)[0]:
            break
        try:
            if select.select([master], [], [], 0.05)[0]:
                os.read(master, 65_536)
        except OSError:
            pass
    else:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
    os.close(master)


def measure(rounds: int = 15) -> list[Figure]:
    home = Path(tempfile.mkdtemp(prefix="footplate-bench-"))
    tree = home / "tree"
    tree.mkdir()
    subprocess.run(["git", "init", "-q", str(tree)], check=True, capture_output=True)
    plain: list[float] = []
    measured: dict[str, list[float]] = {"--version": [], "--help": [], "start --help": []}
    first: list[float] = []
    frames: list[float] = []
    least: list[float] = []
    try:
        for _ in range(rounds):
            plain.append(once(["-c", "pass"], home))
            for name, values in measured.items():
                values.append(once(["-m", "app.main", *name.split()], home))
        for _ in range(rounds):
            byte, frame = on_a_terminal(home / "h", tree)
            first.append(byte)
            if frame is not None:
                frames.append(frame)
            _, frame = on_a_terminal(home / "h", tree, *MINIMAL)
            if frame is not None:
                least.append(frame)
    finally:
        shutil.rmtree(home, ignore_errors=True)
    assert len(frames) == len(least) == rounds, f"the first frame was seen in {len(frames)} of {rounds} rounds"
    base = median(plain)
    return [
        middle("P: python -c pass", scaled(plain, 1000)),
        middle("footplate --version", scaled(measured["--version"], 1 / base), unit="P", goal=1.7),
        middle("footplate --help", scaled(measured["--help"], 1 / base), unit="P", goal=1.7),
        middle("footplate start --help", scaled(measured["start --help"], 1 / base), unit="P", goal=6.5),
        middle("footplate: first byte on the terminal", scaled(first, 1 / base), unit="P", goal=2.0),
        middle("footplate: first full frame, p50", scaled(frames, 1 / base), unit="P", goal=24.0),
        upper("   p95", scaled(frames, 1 / base), 0.95, unit="P", goal=31.0),
        middle("   p50 in time", scaled(frames, 1000)),
        middle("   beside it, a Textual app of one label, p50", scaled(least, 1 / base), unit="P"),
        Figure(name="   of ours, what is Textual's own", value=median(least) / median(frames) * 100, unit="%"),
    ]
