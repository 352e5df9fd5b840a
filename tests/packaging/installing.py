"""A wheel of these sources, built apart from them, and virtual environments that it is installed into.

The sources are copied first: a build in the checkout leaves a folder behind whose old files come back in the next
wheel. No test runs what is installed with the checkout in reach: no PYTHONPATH, and never from its folder.
"""

import os
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ("app", "coordinator", "store")
BESIDE = ("pyproject.toml", "README.md", "LICENSE")


def build_wheel(folder: Path) -> Path:
    """The wheel, built with the backend that is locked: nothing is fetched for it."""
    source, out = folder / "source", folder / "dist"
    for name in PACKAGES:
        shutil.copytree(ROOT / name, source / name, ignore=shutil.ignore_patterns("__pycache__"))
    # What lies beside the packages in a checkout must not find its way in by itself.
    (source / "tests").mkdir()
    (source / "tests" / "__init__.py").touch()
    (source / "tests" / "test_nothing.py").touch()
    for name in BESIDE:
        shutil.copy(ROOT / name, source / name)
    run(sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(out), str(source))
    [wheel] = out.glob("*.whl")
    return wheel


def bare_environment(folder: Path, *, lends: bool) -> Path:
    """A virtual environment without pip; ``lends``: what the tests run with can be imported in it, but for Footplate.

    Footplate itself is an editable install here, which hangs on a ``.pth`` file of its own, and in a folder that
    another such file names they are not read.
    """
    run(sys.executable, "-m", "venv", "--without-pip", str(folder))
    if lends:
        site = Path(sysconfig.get_path("purelib", vars={"base": str(folder), "platbase": str(folder)}))
        (site / "lent.pth").write_text(sysconfig.get_path("purelib") + "\n")
    return folder


def install(environment: Path, *arguments: str) -> None:
    """``pip install`` into it, by the pip of whoever runs the tests."""
    python = str(environment / "bin" / "python")
    run(sys.executable, "-m", "pip", "--python", python, "--disable-pip-version-check", "install", "-q", *arguments)


def operator(folder: Path, **more: str) -> dict[str, str]:
    """The environment of somebody who knows nothing of the checkout, with a house and a home of their own."""
    folder.mkdir(parents=True, exist_ok=True)
    kept = {name: os.environ[name] for name in ("PATH", "LANG", "TMPDIR") if name in os.environ}
    home = {"HOME": str(folder), "FOOTPLATE_HOME": str(folder / "house")}
    return {**kept, **home, "PYTHONUTF8": "1", "TERM": "xterm-256color", "FOOTPLATE_REHEARSAL_PACE": "0", **more}


def run(*command: str, cwd: Path | None = None, env: dict[str, str] | None = None, timeout: float = 300) -> str:
    """What it printed.

    Raises:
        AssertionError: it failed; with all that it said.
    """
    done = subprocess.run(command, cwd=cwd, env=env, capture_output=True, text=True, timeout=timeout, check=False)
    assert done.returncode == 0, f"{' '.join(command)}: {done.returncode}\n{done.stdout}\n{done.stderr}"
    return done.stdout
