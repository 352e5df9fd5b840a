"""What a killed process left of its lenses is taken away; what another one works with stays."""

import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from coordinator import lensfolder
from coordinator.clock import RealClock
from store.vocab import Millis

CHILD = """
import sys
from coordinator.lensfolder import lens_folder
with lens_folder() as folder:
    print(folder, flush=True)
    sys.stdin.read()
"""


def test_only_those_of_processes_that_are_gone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    now = RealClock().now()
    later = Millis(now + 3_600_000)
    command = [sys.executable, "-c", CHILD]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout is not None
        theirs = Path(child.stdout.readline().strip())
        (theirs / "objects").mkdir()
        with lensfolder.lens_folder() as ours:
            (tmp_path / "footplate-git-of-somebody").mkdir()
            (tmp_path / "footplate-git-1-1-x").symlink_to(theirs)
            assert lensfolder.take_away_left(later) == 0
            child.kill()
            child.wait()
            assert lensfolder.take_away_left(now) == 0  # too young to be certain
            assert lensfolder.take_away_left(later) == 1
            assert ours.is_dir() and not theirs.exists()
    assert sorted(one.name for one in tmp_path.iterdir()) == ["footplate-git-1-1-x", "footplate-git-of-somebody"]
