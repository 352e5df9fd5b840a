"""``extend``, ``revoke``, ``budget``, ``ps`` and ``sweep`` on runs held, left or stuck, from another process."""

import asyncio
import json
import os
import signal
import sys
from pathlib import Path
from typing import Any

import pexpect
import pytest
from msgspec.structs import replace

from app.cli import sweeping
from app.cli.surroundings import Surroundings
from app.config import Config
from app.paths import find
from app.wiring import house_settings
from app.wording import forbidden_in
from coordinator.clock import RealClock
from coordinator.constants import Timing
from coordinator.custody.client import read_cookie, status_by_socket
from coordinator.custody.processes import carriers, kill_carriers
from coordinator.custody.spoolfile import spool_is_locked
from coordinator.custody.types import Ladder
from coordinator.ids import RealIds
from coordinator.passing import Passed, pass_by
from store import custody, entries
from store.db import read_ledger
from store.vocab import CustodyState, Millis, RunId
from tests.cli.running import ROOT, environment, footplate
from tests.cli.test_elsewhere import LONG, held, running
from tests.waiting import wait_until

DEAR = '@@{"steps":[{"text":"dear","cost":0.5}]}@@'
FIRST = RunId(1)
IMPATIENT = Timing(attach=0.3, ladder=Ladder(farewell=0.1, eof=0.1, term=0.1, total=0.1, not_dying=0.5))
"""For a keeper that will not answer however long it is waited for."""


def hold_of(home: Path) -> custody.Custody:
    with read_ledger(home / "ledger.db", now=lambda: Millis(0)) as tx:
        row = custody.of_run(tx, FIRST)
    assert row is not None
    return row


def ours(text: str) -> str:
    """Without the lines that are commands as they run."""
    return "\n".join(line for line in text.splitlines() if sys.executable not in line and "coordinator" not in line)


def status(home: Path) -> dict[str, Any]:
    folder = home / "spool" / hold_of(home).id
    told = asyncio.run(status_by_socket(folder, read_cookie(folder) or ""))
    assert told is not None
    return told


def end_by_hand(hold: custody.Custody) -> None:
    """As an operator would, with what ``ps`` showed."""
    for pid in (hold.keeper_pid, hold.supervisor_pid):
        if pid is not None and running(pid):
            os.kill(pid, signal.SIGKILL)
    wait_until(lambda: kill_carriers(hold.nonce) == [], 10)


# -------------------------------------------------------------------------------------------------- extend and revoke


def test_a_run_is_given_more_and_its_agent_is_started_again_for_it(tmp_path: Path) -> None:
    with held(tmp_path, DEAR) as run:
        run.saw("turn", n=1, state="settled")
        nothing = footplate(run.home, "extend", "1")
        assert (nothing.code, nothing.err) == (
            2,
            "Extend by what? Give --money 5usd, --turns 10, --work 30m or --until 2h.\n",
        )
        asks = footplate(run.home, "extend", "1", "--money", "2usd")
        assert asks.code == 1 and asks.err.startswith("Nobody is at the keyboard to agree to it;")
        assert asks.out.startswith("Run 1 (practice) may go on for 2.00 more (7.00 in all), under the terms")
        more = ("--money", "2usd", "--turns", "3", "--work", "30m", "--until", "2h")
        ran = footplate(run.home, "extend", "1", *more, "--yes", "--json")
        assert ran.code == 0, ran.err
        told = json.loads(ran.out)
        assert told["added"] == {
            "money_micro_usd": 2_000_000,
            "turns": 3,
            "working_seconds": 1800,
            "seconds": 7200,
        }
        assert "for 3 more turns (43 in all), for 30m more of work (90m in all) and until" in told["sentence"]
        assert "instead of" in told["sentence"]
        assert told["note"].startswith("extended; the agent was started again")
        assert hold_of(run.home).generation == 2
        budget = json.loads(footplate(run.home, "budget", "--json").out)
        assert [(one["limit_micro_usd"], one["spent_micro_usd"]) for one in budget["runs"]] == [(7_000_000, 500_000)]
        assert budget["runs"][0]["left_micro_usd"] == 6_500_000 and budget["runs"][0]["max_turns"] == 43
        # How long such a short turn took may be less than a millisecond.
        assert budget["runs"][0]["working_limit_ms"] == 90 * 60_000 > budget["runs"][0]["worked_ms"] >= 0
        # Play money is nobody's money: not in the pools, and named as what it is.
        assert [one["spent_micro_usd"] for one in budget["pools"]] == [0, 0]
        assert [one["reserved_micro_usd"] for one in budget["pools"]] == [0, 0]
        assert budget["agents"] == [
            {"agent": "practice", "billing": "practice", "day_micro_usd": 500_000, "month_micro_usd": 500_000}
        ]
        text = footplate(run.home, "budget").out
        assert "0.50  6.50   7.00  1 of 43" in text and "play money" in text, text
        assert forbidden_in(text) == []
        earlier = footplate(run.home, "extend", "1", "--until", "0s")
        assert earlier.code == 2

        assert footplate(run.home, "revoke", "1").out.startswith("The terms of run 1 are taken back")
        assert run.code() == 1
        ended = run.saw("ended")
        assert (ended["outcome"], ended["reason"]) == ("interrupted", "revoked")
        late = footplate(run.home, "extend", "1", "--turns", "1", "--yes")
        assert late.code == 1 and late.err.startswith("Run 1 has ended already")
        assert footplate(run.home, "verify").out == "The ledger is whole.\n"


def test_on_a_terminal_one_enter_agrees(tmp_path: Path) -> None:
    with held(tmp_path, LONG) as run:
        run.saw("turn", n=1, state="accepted")
        for typed, said in (("no\r", "Not extended: only a bare Enter agrees to it."), ("\r", "Run 1 is extended.")):
            terminal = pexpect.spawn(
                sys.executable,
                ["-m", "app.main", "extend", "1", "--turns", "5"],
                cwd=str(ROOT),
                env={**environment(run.home), "TERM": "xterm"},
                dimensions=(24, 160),
                timeout=20,
                encoding="utf-8",
            )
            terminal.expect_exact("may go on for 5 more turns (45 in all), under the terms that you agreed to.")
            terminal.expect_exact("Enter extends it so, Ctrl-C leaves: ")
            terminal.send(typed)
            terminal.expect_exact(said)
            terminal.expect(pexpect.EOF)
            terminal.close()
        for command in (
            ("extend", "1", "--turns", "1", "--yes"),
            ("revoke", "1"),
            ("sweep",),
            ("sweep", "--settle", "1"),
        ):
            refused = footplate(run.home, *command, more={"FOOTPLATE_CUSTODY": "nonce"})
            assert refused.code == 1 and refused.err.startswith("This was called from within a run,"), command
        busy = footplate(run.home, "extend", "1", "--money", "1usd", "--yes")
        assert busy.code == 1 and "turn" in busy.err, "an agent is not started again in the middle of a turn"


# --------------------------------------------------------------------------------------------------------------- sweep


def test_a_look_that_passes_by_changes_nothing_of_what_lives_on(tmp_path: Path) -> None:
    with held(tmp_path, LONG) as run:
        run.saw("turn", n=1, state="accepted")
        home = run.home
        assert footplate(home, "sweep").out == "Nothing to settle. Held by a console: 1.\n"
        run.process.kill()
        run.process.wait()
        before, hold = status(home), hold_of(home)
        ran = footplate(home, "sweep")
        assert (ran.code, ran.err) == (0, "")
        assert ran.out.startswith("Run 1 is held by its keeper until ") and "footplate picks it up" in ran.out
        assert forbidden_in(ran.out) == []
        after = status(home)
        assert after["hold_remaining"] <= before["hold_remaining"]
        assert after["epoch"] == before["epoch"] and hold_of(home) == hold, "nobody took it over"
        told = json.loads(footplate(home, "sweep", "--json").out)
        assert [one["run"] for one in told["living"]] == [1] and told["settled"] == []

        refused = footplate(home, "sweep", "--settle", "1", "--yes")
        assert refused.code == 1 and refused.err.endswith(
            "Run 1 is held and can be ended: footplate stop 1 does that.\n"
        )

        for pid in (hold.keeper_pid, hold.supervisor_pid):
            assert pid is not None
            os.kill(pid, signal.SIGKILL)
        wait_until(lambda: not spool_is_locked(home / "spool" / hold.id))
        ran = footplate(home, "sweep")
        assert ran.out == "Run 1 has ended, and its books are closed; footplate show 1 has the report.\n"
        assert hold_of(home).state is CustodyState.CLOSED
        assert carriers(hold.nonce) == []
        assert footplate(home, "sweep").out == "Nothing to settle.\n"
        assert footplate(home, "verify").out == "The ledger is whole.\n"


def test_what_cannot_be_proven_is_closed_over_a_persons_name(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with held(tmp_path, LONG) as run:
        run.saw("turn", n=1, state="accepted")
        home = run.home
        run.process.kill()
        run.process.wait()
        hold = hold_of(home)
        assert hold.supervisor_pid is not None
        here = Surroundings(paths=find({"FOOTPLATE_HOME": str(home)}), config=Config(), operator="Ada")
        os.kill(hold.supervisor_pid, signal.SIGSTOP)  # alive, and answers nothing
        try:
            passed = asyncio.run(
                pass_by(
                    settings=replace(house_settings(here.config, here.paths, os.environ), timing=IMPATIENT),
                    profiles=(),
                    ledger_path=here.paths.ledger,
                    clock=RealClock(),
                    ids=RealIds(),
                )
            )
            assert isinstance(passed, Passed) and passed.unsettled == (1,)
            assert sweeping._tell(here, passed, as_json=False) == 3
            said = capsys.readouterr().out
            assert "The end of run 1 cannot be proven; footplate sweep --settle 1 shows why" in said
            listed = json.loads(footplate(home, "ps", "--json").out)
            assert [one["state"] for one in listed["holds"]] == ["fencing"] and listed["leftovers"] == []

            asks = footplate(home, "sweep", "--settle", "1")
            assert asks.code == 1 and asks.err.startswith("Nobody is at the keyboard to answer for it;")
            assert "Its keeper process is alive and does not answer" in asks.out
            assert f"  {hold.agent_pid}  " in asks.out
            assert hold_of(home).state is CustodyState.FENCING, "nothing was closed"

            closed = footplate(home, "sweep", "--settle", "1", "--yes")
            assert closed.code == 0, closed.err
            assert "The books of run 1 are closed over the name of " in closed.out
            assert forbidden_in(ours(closed.out)) == []
            assert hold_of(home).state is CustodyState.CLOSED
            with read_ledger(home / "ledger.db", now=lambda: Millis(0)) as tx:
                signed = [one for one in entries.entries_of(tx, FIRST) if one.kind == "operator.settled"]
            assert len(signed) == 1 and json.loads(signed[0].body)["operator"]
            shown = json.loads(footplate(home, "show", "1", "--json").out)
            assert (shown["run"]["outcome"], shown["run"]["reason"]) == ("interrupted", "orphaned")
            assert hold.agent_pid in {one["pid"] for one in shown["receipt"]["remaining"]}
            assert footplate(home, "verify").out == "The ledger is whole.\n"

            # No process was touched, and what is left over is found and listed.
            assert carriers(hold.nonce)
            left = json.loads(footplate(home, "ps", "--json").out)
            assert left["holds"] == [] and [one["run"] for one in left["leftovers"]] == [1]
            assert hold.agent_pid in {one["pid"] for one in left["leftovers"][0]["processes"]}
            text = footplate(home, "ps").out
            assert "Left over from runs that have ended:" in text and forbidden_in(ours(text)) == []
            again = footplate(home, "sweep", "--settle", "1", "--yes")
            assert again.code == 1 and "Run 1 has ended already" in again.err
        finally:
            os.kill(hold.supervisor_pid, signal.SIGCONT)
            end_by_hand(hold)


def test_what_slipped_away_from_a_run_that_ended_is_listed(tmp_path: Path) -> None:
    with held(tmp_path, LONG) as run:
        run.saw("turn", n=1, state="accepted")
        table = footplate(run.home, "ps").out.splitlines()
        assert table[0].split() == ["run", "pid", "age", "memory", "session", "process"]
        assert {line.split()[0] for line in table[1:]} == {"1"}
        assert footplate(run.home, "stop", "1").code == 0
        assert run.code() == 1
        hold = hold_of(run.home)
        # A process with the mark of a run that has ended: there should be none, so it is made.
        import subprocess

        stray = subprocess.Popen(
            [sys.executable, "-c", "input()"], stdin=subprocess.PIPE, env={"FOOTPLATE_CUSTODY": hold.nonce}
        )
        try:
            found = wait_until(lambda: json.loads(footplate(run.home, "ps", "--json").out)["leftovers"])
            assert [(one["run"], [p["pid"] for p in one["processes"]]) for one in found] == [(1, [stray.pid])]
            assert found[0]["processes"][0]["role"] == "slipped-away"
        finally:
            stray.kill()
            stray.communicate()
        assert footplate(run.home, "ps").out == "Nothing is held.\n"


def test_where_there_is_nothing(tmp_path: Path) -> None:
    home = tmp_path / "h"
    assert footplate(home, "sweep").out == "There is no ledger yet, so there is nothing to settle.\n"
    assert footplate(home, "sweep", "--settle", "7").code == 1
    assert footplate(home, "budget").out.splitlines()[-1] == "Nothing is held."
    assert footplate(home, "ps").out == "Nothing is held.\n"
    assert footplate(home, "extend", "x", "--turns", "1").code == 2
    assert footplate(home, "revoke", "1").code == 1


def test_verify_knows_a_ledger_that_was_put_back(tmp_path: Path) -> None:
    with held(tmp_path, '@@{"steps":[{"text":"hi"}]}@@') as run:
        run.saw("turn", n=1, state="settled")
        run.type("finish")
        assert run.code() == 0
        home = run.home
    told = json.loads(footplate(home, "verify", "--json").out)
    assert told["ok"] and told["noted"]["of_this_ledger"] and told["noted"]["seq"] > 10
    mark = json.loads((home / "ledger.mark").read_text())
    (home / "ledger.mark").write_text(json.dumps({**mark, "seq": mark["seq"] + 5}))
    behind = footplate(home, "verify")
    assert behind.code == 1 and "noted head" in behind.out
    (home / "ledger.mark").write_text(json.dumps({**mark, "ledger": "another"}))
    other = footplate(home, "verify")
    assert other.code == 0 and "of another ledger" in other.out


def test_the_log_is_ours_alone_and_keeps_no_secret(tmp_path: Path) -> None:
    import subprocess

    secret = "s3cret-value-of-a-token"
    ask = (
        "import logging, os, sys; from pathlib import Path; from app import logs\n"
        "logs.keep(Path(sys.argv[1]), os.environ); logs.keep(Path(sys.argv[1]), os.environ)\n"
        f"logging.getLogger('x').warning('with %s in it', {secret!r})\n"
        f"try: raise ValueError({secret!r})\n"
        "except ValueError: logging.getLogger('x').exception('broke')\n"
    )
    for folder in (tmp_path, tmp_path / "not" / "there"):
        told = subprocess.run(
            [sys.executable, "-c", ask, str(folder)],
            cwd=ROOT,
            env=environment(tmp_path, MY_API_TOKEN=secret),
            capture_output=True,
            text=True,
            check=True,
        )
        assert told.stderr == "", "stderr belongs to the screen"
    log = tmp_path / "footplate.log"
    text = log.read_text()
    assert secret not in text and text.count("with ") == 1 and "ValueError" in text
    assert log.stat().st_mode & 0o077 == 0
