"""``notify --test`` and ``doctor`` on real terminals: what leaves a bare one, and what leaves tmux."""

import os
import subprocess
import sys
from pathlib import Path

import pexpect
import pytest

from tests.fakes.plain_process import house_environment
from tests.terminal.keyboards import have_tmux

ROOT = Path(__file__).resolve().parents[2]
THEN_WAIT = """TERM_PROGRAM=WezTerm "$@"; printf 'THE %s' END; read -r line"""
OSC9 = b"\x1b]9;footplate"
FOOTPLATE = (sys.executable, "-m", "app.main")


def environment(folder: Path, **more: str) -> dict[str, str]:
    kept = {**house_environment(folder / "house"), "TERM": "xterm-256color", "LANG": "C.UTF-8", "SHELL": "/bin/sh"}
    for name in ("TMUX", "SSH_TTY", "SSH_CONNECTION", "TERM_PROGRAM", "VTE_VERSION"):
        kept.pop(name, None)
    return kept | more


def configured(folder: Path, text: str) -> None:
    home = folder / "house"
    home.mkdir(exist_ok=True)
    (home / "config.toml").write_text(text)


def on_a_terminal(folder: Path, *arguments: str, **more: str) -> tuple[bytes, int]:
    command = [*FOOTPLATE, *arguments]
    child = pexpect.spawn(
        command[0], command[1:], cwd=str(ROOT), env=environment(folder, **more), dimensions=(40, 200), timeout=30
    )
    child.expect(pexpect.EOF)
    child.close()
    return child.before or b"", child.exitstatus or 0


def in_tmux(folder: Path, option: str, *arguments: str) -> bytes:
    """What reaches the terminal that tmux is in."""
    socket, config = str(folder / "tmux"), folder / "tmux.conf"
    config.write_text(
        f"{option}\nset -g status off\nset -g remain-on-exit on\nset-environment -g TERM_PROGRAM WezTerm\n"
    )
    command = ["-S", socket, "-f", str(config), "new-session", "sh", "-c", THEN_WAIT, "sh", *FOOTPLATE, *arguments]
    client = pexpect.spawn("tmux", command, cwd=str(ROOT), env=environment(folder), dimensions=(40, 200), timeout=30)
    try:
        client.expect("THE END")
        return bytes(client.before or b"")
    finally:
        subprocess.run(["tmux", "-S", socket, "kill-server"], capture_output=True, timeout=10, check=False)
        client.close(force=True)


def test_a_bare_terminal_gets_bell_and_notice_and_the_command_runs(tmp_path: Path) -> None:
    got = tmp_path / "got"
    configured(tmp_path, f'[notify]\ncommand = ["sh", "-c", "cat > {got}"]\nsilent = false\n')
    said, code = on_a_terminal(tmp_path, "notify", "--test", TERM_PROGRAM="WezTerm")
    assert code == 0
    assert b"\a" in said and OSC9 in said
    assert b"osc9, sent" in said and b"it ran and ended well" in said
    assert b"not of    silent" in said
    assert '"key": "test"' in got.read_text()


def test_an_unknown_terminal_is_tried_both_ways(tmp_path: Path) -> None:
    configured(tmp_path, "[notify]\nbell = false\n")
    said, code = on_a_terminal(tmp_path, "notify", "--test")
    assert code == 0
    assert OSC9 in said and b"\x1b]777;notify;footplate" in said and b"\a" not in said
    said, _ = on_a_terminal(tmp_path, "notify")
    assert b"\x1b]" not in said and b"notify --test tries them" in said


def test_a_command_that_fails_is_said_with_its_code(tmp_path: Path) -> None:
    configured(tmp_path, '[notify]\ncommand = "false"\n')
    said, code = on_a_terminal(tmp_path, "notify", "--test")
    assert code == 1
    assert b"false ended with 1" in said


@pytest.mark.skipif(not have_tmux(), reason="no tmux on this machine")
def test_out_of_tmux_only_what_it_lets_out(tmp_path: Path) -> None:
    said = in_tmux(tmp_path, "", "notify", "--test")
    assert OSC9 not in said and b"allow-passthrough on" in said and b"\a" in said
    said = in_tmux(tmp_path, "set -g allow-passthrough on", "notify", "--test")
    assert OSC9 in said and b"osc9, sent" in said


@pytest.mark.skipif(not have_tmux(), reason="no tmux on this machine")
def test_doctor_says_what_tmux_keeps(tmp_path: Path) -> None:
    assert b"tmux keeps the terminal's own notices in" in in_tmux(tmp_path, "", "doctor")
    assert b"tmux keeps" not in in_tmux(tmp_path, "set -g allow-passthrough on", "doctor")


def test_without_a_terminal_nothing_is_written_that_one_obeys(tmp_path: Path) -> None:
    ran = subprocess.run(
        [*FOOTPLATE, "notify", "--test"],
        cwd=ROOT,
        env=environment(tmp_path),
        capture_output=True,
        timeout=30,
        check=False,
    )
    assert ran.returncode == 0
    assert b"\x1b" not in ran.stdout and b"\a" not in ran.stdout
    assert os.linesep.encode() in ran.stdout
