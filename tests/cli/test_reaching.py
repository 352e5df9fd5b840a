"""Poking a console, knowing whether one is inside a run, and what doctor finds on a machine that is not well."""

import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from app.cli import checkup
from coordinator import ancestry
from coordinator.poke import poke


@pytest.mark.parametrize("depth", [0, 12])
def test_a_poke_reaches_a_socket_however_long_its_path(tmp_path: Path, depth: int) -> None:
    folder = tmp_path.joinpath(*["a-long-name"] * depth)
    folder.mkdir(parents=True, exist_ok=True)
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    before = Path.cwd()
    os.chdir(folder)
    try:
        listener.bind("s")
    finally:
        os.chdir(before)
    listener.listen(1)
    listener.settimeout(5)
    assert poke(folder / "s")
    peer, _ = listener.accept()
    assert peer.recv(1) == b""
    peer.close()
    listener.close()
    assert not poke(folder / "s")
    assert not poke(folder / "nothing")


def stat_line(pid: int, parent: int, name: str = "sh") -> str:
    return f"{pid} ({name}) S {parent} 1 1 0"


def fake_proc(folder: Path, *, environ: bytes = b"", cmdline: bytes = b"sh\0") -> Path:
    """This process's parent is 900's child, and 900 is what the test says."""
    for pid, parent, what in ((os.getppid(), 900, b""), (900, 1, environ)):
        process = folder / str(pid)
        process.mkdir(parents=True)
        (process / "stat").write_text(stat_line(pid, parent, "a) R 1 (b"))
        (process / "environ").write_bytes(what)
        (process / "cmdline").write_bytes(cmdline if pid == 900 else b"sh\0")
    return folder


def test_inside_a_hold_by_the_environment_an_ancestor_or_a_supervisor(tmp_path: Path) -> None:
    assert ancestry.inside_a_hold({"FOOTPLATE_CUSTODY": "n"}, proc=tmp_path)
    assert not ancestry.inside_a_hold({}, proc=fake_proc(tmp_path / "1"))
    assert ancestry.inside_a_hold({}, proc=fake_proc(tmp_path / "2", environ=b"A=1\0FOOTPLATE_CUSTODY=n\0"))
    assert not ancestry.inside_a_hold({}, proc=fake_proc(tmp_path / "3", environ=b"NOT_FOOTPLATE_CUSTODY=n\0"))
    supervisor = b"/usr/bin/python3\0-I\0-S\0/x/coordinator/supervisor\0"
    assert ancestry.inside_a_hold({}, proc=fake_proc(tmp_path / "4", cmdline=supervisor))
    grep = b"grep\0/x/coordinator/supervisor\0"
    assert not ancestry.inside_a_hold({}, proc=fake_proc(tmp_path / "5", cmdline=grep))


def test_the_real_supervisor_is_known_by_its_command_line() -> None:
    from coordinator.custody import launching

    entry = Path(launching.__file__).resolve().parents[1] / "supervisor"
    assert entry.is_dir()
    assert ancestry._SUPERVISOR[0] in str(entry)


def test_an_ancestor_with_the_nonce_is_found_for_real(tmp_path: Path) -> None:
    ask = "import coordinator.ancestry as a; print(a.inside_a_hold({}))"
    around = {"PATH": os.environ["PATH"], "PYTHONPATH": str(Path(__file__).parents[2])}
    cleared = f"env={{'PYTHONPATH': {around['PYTHONPATH']!r}}}"
    run = [sys.executable, "-c", f"import subprocess, sys; subprocess.run([sys.executable, '-c', {ask!r}], {cleared})"]
    for more, seen in (({"FOOTPLATE_CUSTODY": "n"}, "True"), ({}, "False")):
        told = subprocess.run(run, env={**around, **more}, capture_output=True, text=True, check=True)
        assert told.stdout.strip() == seen


def test_doctor_gives_a_remedy_for_each_finding(tmp_path: Path) -> None:
    (tmp_path / "h").mkdir()
    (tmp_path / "h" / "config.toml").write_text("dya_budget = 1")
    (tmp_path / "h" / "ledger.db").write_bytes(b"this is no ledger at all" * 10)
    found = checkup.examine({"FOOTPLATE_HOME": str(tmp_path / "h"), "PATH": str(tmp_path), "TERM": "dumb"})
    bad = {one.what: one for one in found if one.level is checkup.Level.BAD}
    assert {"configuration", "ledger", "git"} <= set(bad)
    assert "dya_budget" in bad["configuration"].found
    assert all(one.remedy for one in found if one.level is not checkup.Level.OK)
    assert not [one for one in found if "itself broke" in one.found]


@pytest.mark.parametrize(("text", "level"), [("KillUserProcesses=yes\n", "note"), ("#KillUserProcesses=yes\n", "ok")])
def test_doctor_warns_where_logging_out_kills(tmp_path: Path, text: str, level: str) -> None:
    (tmp_path / "logind.conf").write_text(f"[Login]\n{text}")
    assert checkup._logout((tmp_path,)).level == level
