"""Running the command line as a person does: a process of its own, with a home of its own and none of ours."""

import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True, slots=True, kw_only=True)
class Ran:
    code: int
    out: str
    err: str


def environment(home: Path, **more: str) -> dict[str, str]:
    kept = {name: os.environ[name] for name in ("PATH", "HOME", "LANG", "TMPDIR") if name in os.environ}
    return {**kept, "PYTHONPATH": str(ROOT), "FOOTPLATE_HOME": str(home), "PYTHONUTF8": "1", **more}


def footplate(
    home: Path,
    *arguments: str,
    given: bytes = b"",
    cwd: Path | None = None,
    more: Mapping[str, str] | None = None,
    timeout: float = 40,
) -> Ran:
    """``footplate …`` with ``given`` on stdin, to its end."""
    done = subprocess.run(
        [sys.executable, "-m", "app.main", *arguments],
        cwd=cwd or home.parent,
        env=environment(home, **(more or {})),
        input=given,
        capture_output=True,
        timeout=timeout,
        check=False,
    )
    return Ran(code=done.returncode, out=done.stdout.decode(), err=done.stderr.decode())


def repository(folder: Path) -> Path:
    """A repository with one commit, made without the operator's own git configuration."""
    folder.mkdir(parents=True)
    who = {f"GIT_{role}_{key}": "t" for role in ("AUTHOR", "COMMITTER") for key in ("NAME", "EMAIL")}
    around = {"PATH": os.environ["PATH"], "HOME": str(folder), "GIT_CONFIG_GLOBAL": os.devnull, **who}
    (folder / "a.txt").write_text("one\n")
    for arguments in (("init", "-q", "-b", "main"), ("add", "-A"), ("commit", "-q", "-m", "one")):
        subprocess.run(["git", *arguments], cwd=folder, env=around, check=True, capture_output=True)
    return folder
