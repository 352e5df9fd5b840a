"""``footplate import`` as a person types it: what it says, its exit codes, its progress, Ctrl-C."""

import json
import os
import pty
import signal
import subprocess
import sys
from pathlib import Path

from tests.bench.bench_import import claude_lines, write
from tests.cli.running import ROOT, environment, footplate
from tests.review.importing.made import DATA, SESSION, conversation, told
from tests.waiting import wait_until


def test_it_says_what_came_in_and_that_costs_are_estimates(tmp_path: Path) -> None:
    home = tmp_path / "home"
    ran = footplate(home, "import", str(DATA))
    assert (ran.code, ran.err) == (0, "")
    assert "Imported 6 sessions with 18 turns" in ran.out
    assert "(an estimate; of 4 turns the cost is not known)" in ran.out
    assert "goes on from" in ran.out
    listed = footplate(home, "ls").out
    assert listed.count("imported") == 6
    assert "failed, imported" in listed
    shown = footplate(home, "show", "1", "--transcript").out
    assert "DAYS is thirty." in shown
    assert "terms:" not in shown
    assert footplate(home, "verify").out == "The ledger is whole.\n"
    again = footplate(home, "import", str(DATA))
    assert (again.code, again.out) == (0, "There is nothing new to import.\nNothing new in 6 files.\n")


def test_json_and_a_dry_run(tmp_path: Path) -> None:
    home = tmp_path / "home"
    dry = json.loads(footplate(home, "import", "--dry-run", "--json", str(DATA)).out)
    assert not (home / "ledger.db").exists()
    real = json.loads(footplate(home, "import", "--json", str(DATA)).out)
    for name in ("files", "sessions", "turns", "events", "cost_micro_usd", "cost_unknown_turns"):
        assert dry[name] == real[name]
    assert dry["runs"][0]["run"] is None
    assert [one["continues"] for one in real["runs"] if one["run"] in (2, 4, 6)] == [1, 3, 5]


def test_one_sentence_for_each_file_that_is_none_and_the_exit_code_that_fits(tmp_path: Path) -> None:
    home, folder = tmp_path / "home", tmp_path / "files"
    conversation().write(folder)
    (folder / "empty.jsonl").touch()
    (folder / "notes.jsonl").write_text("hello\n")
    beside = footplate(home, "import", str(folder))
    assert beside.code == 0
    assert sorted(beside.err.splitlines()) == [
        f"{folder}/empty.jsonl is empty; there is nothing in it to import.",
        f"{folder}/notes.jsonl is no transcript of Claude Code or Codex; it was left alone.",
    ]
    assert footplate(home, "import", str(folder / "notes.jsonl")).code == 1
    (tmp_path / "none").mkdir()
    nothing = footplate(home, "import", str(tmp_path / "none"))
    assert (nothing.code, nothing.err.count("\n")) == (1, 1)
    missing = footplate(home, "import", str(tmp_path / "nowhere"), str(folder))
    assert (missing.code, missing.err) == (2, f"{tmp_path}/nowhere: there is no such file or folder.\n")
    assert footplate(home, "import").code == 2


def test_names_of_files_move_no_cursor(tmp_path: Path) -> None:
    folder = tmp_path / "files"
    folder.mkdir()
    (folder / "\x1b[2Jevil.jsonl").write_text("no\n")
    ran = footplate(tmp_path / "home", "import", str(folder))
    assert "\x1b" not in ran.err + ran.out


def test_own_prices_are_used_and_bad_ones_refused(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir(mode=0o700)
    (home / "prices.toml").write_text('dated = "2027-01-01"\n[models."claude-opus-4-8"]\ninput = 0\noutput = 0\n')
    ran = footplate(home, "import", str(DATA / "claude-197"))
    assert "By your prices.toml of 2027-01-01 they cost ~0.00 (an estimate" in ran.out
    (home / "prices.toml").write_text("[models.x]\ninput = 'dear'\n")
    bad = footplate(home, "import", str(DATA))
    assert bad.code == 1
    assert str(home / "prices.toml") in bad.err
    # What is held would be reckoned by it too.
    held = footplate(home, "start", "--plain", "--yes", "--agent", "practice", "Go.", cwd=tmp_path)
    assert held.code == 1 and str(home / "prices.toml") in held.err


def test_ctrl_c_leaves_what_is_in_and_progress_is_shown_on_a_terminal(tmp_path: Path) -> None:
    home = tmp_path / "home"
    source = tmp_path / "files" / f"{SESSION}.jsonl"
    write(source, claude_lines(SESSION, newer=False), 12_000_000)
    leader, follower = pty.openpty()
    child = subprocess.Popen(
        [sys.executable, "-m", "app.main", "import", str(source)],
        cwd=ROOT, env=environment(home), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=follower,
    )  # fmt: skip
    os.close(follower)
    shown = b""
    try:
        while b"%  " not in shown:
            shown += os.read(leader, 4096)
        wait_until(lambda: told(home / "ledger.db", "SELECT count(*) FROM events")[0][0] > 0, timeout=30)
        child.send_signal(signal.SIGINT)
        while True:
            try:
                data = os.read(leader, 4096)
            except OSError:
                break
            if not data:
                break
            shown += data
        assert child.wait(30) == 130
    finally:
        if child.poll() is None:
            child.kill()
            child.wait(30)
        os.close(leader)
    assert b"the same command goes on from there." in shown
    assert b"Traceback" not in shown
    ran = footplate(home, "import", str(source))
    assert ran.code == 0
    assert footplate(home, "verify").code == 0
    assert footplate(home, "import", str(source)).out.startswith("There is nothing new")


def test_a_run_that_is_held_may_not_import(tmp_path: Path) -> None:
    ran = footplate(tmp_path / "home", "import", str(DATA), more={"FOOTPLATE_CUSTODY": "nonce"})
    assert ran.code == 1
    assert not (tmp_path / "home" / "ledger.db").exists()
