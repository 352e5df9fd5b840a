"""How long a person waits for ``footplate``: as ratios to ``python -c pass``, side by side in one run.

    python tests/bench/bench_start.py [rounds]

Goals: ``--version`` and ``--help`` ≤ 1.7 P, ``--help`` of a command ≤ 6.5 P, first byte on the terminal ≤ 2 P, the
console's first full frame p50 ≤ 24 P, p95 ≤ 31 P.
"""

import os
import pty
import select
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FIRST_FRAME = (b"footplate", b"\x1b[?1049h")
"""The title, drawn after the alternate screen was opened: nothing of the splash before it counts."""


def around(home: Path) -> dict[str, str]:
    kept = {name: os.environ[name] for name in ("PATH", "HOME", "LANG") if name in os.environ}
    return {**kept, "PYTHONPATH": str(ROOT), "FOOTPLATE_HOME": str(home), "TERM": "xterm-256color", "PYTHONUTF8": "1"}


def once(arguments: list[str], home: Path) -> float:
    before = time.perf_counter()
    subprocess.run([sys.executable, *arguments], env=around(home), cwd=ROOT, stdout=subprocess.DEVNULL, check=True)
    return time.perf_counter() - before


def on_a_terminal(home: Path, tree: Path, most: float = 20.0) -> tuple[float, float | None]:
    """Seconds to the first byte, and to the first full frame, of ``footplate`` alone; the console is then ended."""
    before = time.perf_counter()
    pid, master = pty.fork()
    if pid == 0:
        os.chdir(tree)
        os.execve(sys.executable, [sys.executable, "-m", "app.main"], around(home))
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
            if opened >= 0 and FIRST_FRAME[0] in seen[opened:]:
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


def p95(values: list[float]) -> float:
    return sorted(values)[max(0, round(len(values) * 0.95) - 1)]


def told(name: str, values: list[float], base: float, goal: float, *, high: bool = False) -> bool:
    value = (p95(values) if high else statistics.median(values)) / base
    print(f"{name:<34} {value:6.2f} P   goal {goal:5.1f} P   {'ok' if value <= goal else 'MISSED'}")
    return value <= goal


def main(rounds: int = 15) -> int:
    home = Path(tempfile.mkdtemp(prefix="footplate-bench-"))
    tree = home / "tree"
    tree.mkdir()
    subprocess.run(["git", "init", "-q", str(tree)], check=True, capture_output=True)
    plain: list[float] = []
    measured: dict[str, list[float]] = {"--version": [], "--help": [], "start --help": []}
    first: list[float] = []
    frames: list[float] = []
    try:
        for _ in range(rounds):
            plain.append(once(["-c", "pass"], home))
            for name, values in measured.items():
                values.append(once(["-m", "app.main", *name.split()], home))
        for _ in range(max(5, rounds // 2)):
            byte, frame = on_a_terminal(home / "h", tree)
            first.append(byte)
            if frame is not None:
                frames.append(frame)
    finally:
        shutil.rmtree(home, ignore_errors=True)
    base = statistics.median(plain)
    print(f"P = python -c pass = {base * 1000:.1f} ms, {rounds} rounds")
    good = [
        told("--version", measured["--version"], base, 1.7),
        told("--help", measured["--help"], base, 1.7),
        told("start --help", measured["start --help"], base, 6.5),
        told("first byte on the terminal", first, base, 2.0),
    ]
    if frames:
        good += [
            told("first full frame, p50", frames, base, 24),
            told("first full frame, p95", frames, base, 31, high=True),
        ]
    else:
        print("first full frame: not seen")
    return 0 if all(good) and frames else 1


if __name__ == "__main__":
    raise SystemExit(main(int(sys.argv[1]) if len(sys.argv) > 1 else 15))
