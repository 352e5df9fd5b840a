"""What is offered at Tab, and that the shells that are here show it."""

import os
import shutil
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pexpect
import pytest

from app.cli import completing
from app.cli.completing import offered
from store import open
from store.tx import Tx
from store.vocab import Millis
from tests.cli.running import ROOT, environment, footplate
from tests.store.scenes import new_ledger
from tests.store.whole import a_whole_life


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A house with one run, which has ended."""
    folder = tmp_path / "h"
    folder.mkdir(mode=0o700)
    (folder / "ledger.db").write_bytes(new_ledger())
    with closing(open.connect(folder / "ledger.db")) as conn:
        conn.execute("BEGIN IMMEDIATE")
        a_whole_life(Tx(conn, Millis(1_700_000_000_000)))
        conn.execute("COMMIT")
    monkeypatch.setenv("FOOTPLATE_HOME", str(folder))
    return folder


def words(*line: str) -> list[str]:
    return [word for word, _ in offered(line)]


def test_commands_options_and_values_are_those_that_there_are(home: Path) -> None:
    assert words("sta") == ["start"]
    assert {"ls", "doctor", "completion"} <= set(words(""))
    assert words("start", "mend it", "--pre") == ["--preset"]
    assert words("start", "--preset", "") == ["quick", "normal", "overnight"]
    assert "practice" in words("start", "--agent", "") and words("start", "--agent", "pract") == ["practice"]
    assert "--agent" not in words("start", "--agent", ""), "where a value is due, no option is"
    assert words("start", "--yes", "--js") == ["--json"], "and a flag takes none"
    assert words("help", "bud") == ["budget", "budgets"] or words("help", "bud") == ["budgets", "budget"]
    assert words("completion", "") == ["bash", "zsh", "fish"]
    assert words("start", "--", "--pre") == [] and words("nonsense", "") == []
    assert words("start", "--brief-file", "") == [], "the shell knows files better"


def test_runs_are_offered_with_what_they_are_and_ended_ones_only_where_they_do(home: Path) -> None:
    [(run, what)] = offered(["show", ""])
    assert run == "1" and "mend the roof" in what
    assert words("export", "1", "") == ["1"], "an argument that repeats"
    assert words("say", "") == [] and words("stop", "") == []
    before = (home / "ledger.db").read_bytes()
    assert words("continue", "") == ["1"] and (home / "ledger.db").read_bytes() == before


def test_each_shell_is_answered_as_it_reads(home: Path) -> None:
    assert completing.lines("bash", ["show", ""]) == ["1"]
    assert completing.lines("fish", ["show", ""])[0].startswith("1\t")
    assert completing.lines("zsh", ["show", ""])[0].startswith("1:")
    assert footplate(home, "completion", "bash", "--", "doc").out == "doctor\n"
    ran = footplate(home, "completion", "tcsh")
    assert (ran.code, ran.out) == (2, "") and "bash, zsh, fish" in ran.err
    broken = footplate(home.parent / "none", "completion", "bash", "--", "show", "")
    assert (broken.code, broken.out, broken.err) == (0, "", ""), "where nothing is, nothing is offered"


PROMPT = "ready> "
STARTED = {
    "bash": ["--norc", "--noprofile", "-i"],
    "zsh": ["-f", "-i"],
    "fish": ["--no-config", "-i"],
}
SET_UP = {
    "bash": f"PS1='{PROMPT}'; bind 'set enable-bracketed-paste off'; source <(footplate completion bash)\r",
    "zsh": f"PS1='{PROMPT}'; autoload -U compinit; compinit -u; source <(footplate completion zsh)\r",
    "fish": f"function fish_prompt; printf '{PROMPT}'; end; footplate completion fish | source\r",
}


@pytest.fixture
def shell(request: pytest.FixtureRequest, home: Path) -> Iterator[pexpect.spawn]:
    name = request.param
    program = shutil.which(name)
    if program is None:
        pytest.skip(f"{name} is not on this machine")
    folder = home.parent / "bin"
    folder.mkdir()
    (folder / "footplate").write_text(f'#!/bin/sh\nexec {sys.executable} -m app.main "$@"\n')
    (folder / "footplate").chmod(0o755)
    around = environment(home, TERM="dumb", HOME=str(home.parent), PATH=f"{folder}:{os.environ['PATH']}")
    child = pexpect.spawn(
        program, STARTED[name], cwd=str(ROOT), env=around, timeout=20, encoding="utf-8", dimensions=(24, 120)
    )
    child.send(SET_UP[name])
    child.expect(f"[\r\n]{PROMPT}")
    yield child
    child.close(force=True)


@pytest.mark.parametrize("shell", STARTED, indirect=True)
def test_a_shell_completes_a_command_at_tab(shell: pexpect.spawn) -> None:
    shell.send("footplate verif\t")
    shell.expect("verify ")
    shell.send("--not\t")
    shell.expect("--noted")
