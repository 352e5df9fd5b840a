"""Runs held by a real ``start --plain`` in one process, seen and acted on from others: real parts only."""

import fcntl
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from store import commands, incarnations
from store.db import read_ledger, write_ledger
from store.vocab import CommandState, IncarnationId, Millis
from tests.cli.made import NOW
from tests.cli.running import ROOT, environment, footplate, repository
from tests.waiting import wait_until

ASKS = '@@{"steps":[{"run":"touch made","why":"to see"},{"text":"thanks"}]}@@'
QUESTION = '@@{"steps":[{"ask":"Which colour?","options":["Red","Blue"]},{"text":"thanks"}]}@@'
LONG = '@@{"steps":[{"text":"a long while","delay":60}]}@@'


class Held:
    """One ``footplate start --plain --json`` in the background, or another command that tells JSON lines."""

    def __init__(self, home: Path, tree: Path, brief: str, command: list[str] | None = None) -> None:
        self.home = home
        self._out = (home.parent / f"out-{os.urandom(3).hex()}").open("w+b")
        start = ["start", brief, "--plain", "--json", "--yes", "--agent", "practice", "--script", "plain"]
        self.process = subprocess.Popen(
            [sys.executable, "-m", "app.main", *(command or [*start, "--repo", str(tree), "--in-place"])],
            cwd=ROOT,
            env=environment(home),
            stdin=subprocess.PIPE,
            stdout=self._out,
            stderr=subprocess.PIPE,
        )

    def events(self, name: str | None = None) -> list[dict[str, Any]]:
        text = Path(self._out.name).read_text()
        whole = text[: text.rfind("\n") + 1].splitlines()
        return [event for line in whole if (event := json.loads(line))["event"] == name or name is None]

    def saw(self, name: str, **facts: object) -> dict[str, Any]:
        def look() -> dict[str, Any] | None:
            for event in self.events(name):
                if all(event.get(key) == value for key, value in facts.items()):
                    return event
            assert self.process.poll() is None or self.events("ended"), self.process.stderr.read()  # type: ignore[union-attr]
            return None

        found = wait_until(look, 20, f"{name} {facts}: {self.events()[-3:]}")
        assert found is not None
        return found

    def type(self, line: str) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(line.encode() + b"\n")
        self.process.stdin.flush()

    def code(self) -> int:
        return self.process.wait(30)

    def end(self) -> None:
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            self.process.wait(30)
            footplate(self.home, "stop", "--all")  # told to go, it leaves what it holds
        for stream in (self.process.stdin, self.process.stderr, self._out):
            if stream is not None:
                stream.close()


@contextmanager
def held(folder: Path, brief: str) -> Iterator[Held]:
    one = Held(folder / "h", repository(folder / "r"), brief)
    try:
        yield one
    finally:
        one.end()


def test_a_run_is_seen_asked_answered_and_finished_from_another_process(tmp_path: Path) -> None:
    with held(tmp_path, ASKS) as run:
        asked = run.saw("decision")
        home = run.home
        listed = json.loads(footplate(home, "ls", "--json").out)["runs"]
        assert [(one["run"], one["group"], one["agent"]) for one in listed] == [(1, "needs you", "PRACTICE")]
        assert listed[0]["questions"][0]["subject"] == "touch made"
        text = footplate(home, "ls").out
        assert f"question {asked['id']} of run 1 (permission," in text

        processes = json.loads(footplate(home, "ps", "--json").out)["holds"]
        assert {one["role"] for one in processes[0]["processes"]} >= {"keeper", "agent"}

        wrong = footplate(home, "answer", str(asked["id"]), "9")
        assert wrong.code == 1
        assert wrong.err.startswith("9 is not one of the choices: 1 allow once, 2 deny")
        ran = footplate(home, "answer", str(asked["id"]), "--allow")
        assert (ran.code, ran.err) == (0, "")
        assert ran.out == f"Question {asked['id']} of run 1 is answered: allowed once.\n"
        run.saw("turn", n=1, state="settled")
        assert (tmp_path / "r" / "made").exists()
        again = footplate(home, "answer", str(asked["id"]), "--deny")
        assert again.code == 1
        assert again.err.startswith("This was answered by ")

        assert footplate(home, "say", "1", "and now?").out == "Said to run 1.\n"
        run.saw("turn", n=2, state="settled")
        assert footplate(home, "finish", "1").out == "Run 1 is finishing.\n"
        assert run.code() == 0
        ended = run.saw("ended")
        assert (ended["outcome"], ended["exit"]) == ("finished", 0)

        shown = footplate(home, "show", "1", "--transcript")
        assert shown.code == 0
        assert "turn 2" in shown.out
        assert "| thanks" in shown.out
        assert "Nothing left running." in shown.out
        report = json.loads(footplate(home, "show", "1", "--json").out)
        assert report["run"]["outcome"] == "finished"
        assert [one["state"] for one in report["turns"]] == ["settled", "settled"]
        late = footplate(home, "say", "1", "hello?")
        assert (late.code, late.err) == (1, "Run 1 has ended already; footplate show 1 says how.\n")
        assert footplate(home, "verify").out == "The ledger is whole.\n"


def test_interrupt_and_stop_from_another_process(tmp_path: Path) -> None:
    with held(tmp_path, LONG) as run:
        run.saw("turn", n=1, state="accepted")
        queued = footplate(run.home, "say", "1", "later")
        assert queued.out == "Waits in line of run 1; it is sent when the turn ends.\n"
        run.saw("queued")
        assert footplate(run.home, "interrupt", "1").out == "Interrupting turn 1 of run 1.\n"
        run.saw("turn", n=1, result="interrupted")
        nothing = footplate(run.home, "interrupt", "1", "--json")
        assert nothing.code == 1
        assert json.loads(nothing.out)["refused"] == "nothing-to-interrupt"
        ran = footplate(run.home, "stop", "1")
        assert (ran.code, ran.err) == (0, "")
        assert ran.out.startswith("Run 1 is ending;")
        assert run.code() == 1
        assert run.saw("ended")["reason"] == "stopped"
        assert run.saw("receipt")["receipt"]["remaining"] == []


def test_a_question_in_words_and_stdin_that_ends(tmp_path: Path) -> None:
    with held(tmp_path, QUESTION) as run:
        asked = run.saw("decision", kind="question")
        run.type(f"answer {asked['id']} blue; note: like the sky")
        run.saw("answered", id=asked["id"], state="delivered")
        assert run.process.stdin is not None
        run.process.stdin.close()
        assert run.code() == 0
        assert "Blue" in run.saw("answered", state="delivered")["answer"]


def test_with_its_console_killed_only_a_stop_acts(tmp_path: Path) -> None:
    with held(tmp_path, LONG) as run:
        run.saw("turn", n=1, state="accepted")
        run.process.kill()
        run.process.wait()
        before = json.loads(footplate(run.home, "ps", "--json").out)["holds"][0]
        assert before["alive"]
        refused = footplate(run.home, "say", "1", "still there?")
        assert refused.code == 3
        assert refused.err.startswith("No console holds run 1 just now;")
        ran = footplate(run.home, "stop", "--all")
        assert ran.code == 0, ran.err
        assert "Run 1 was stopped without a console; the next one closes its books." in ran.out
        assert "Nothing left running." in ran.out
        # The keeper itself stays for a while, for a console that wants its report.
        pids = {one["pid"] for one in before["processes"] if one["role"] != "keeper"}
        assert pids
        wait_until(lambda: not [pid for pid in pids if running(pid)], 10, "every process of the run is gone")


def running(pid: int) -> bool:
    try:
        return " Z " not in Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2][:4]
    except OSError:
        return False


def test_from_within_a_run_only_reading_and_stopping(tmp_path: Path) -> None:
    home = tmp_path / "h"
    with held(tmp_path, ASKS) as run:
        asked = run.saw("decision")
        inside = {"FOOTPLATE_CUSTODY": "nonce"}
        for arguments in (
            ("say", "1", "x"),
            ("answer", str(asked["id"]), "--allow"),
            ("interrupt", "1"),
            ("finish", "1"),
            ("start", "x", "--plain", "--yes", "--repo", str(tmp_path / "r")),
        ):
            ran = footplate(home, *arguments, more=inside)
            assert ran.code == 1, arguments
            assert ran.err.startswith("This was called from within a run,")
        # A cleared environment does not help: the ancestors are looked at as well.
        script = f"env -u FOOTPLATE_CUSTODY {sys.executable} -m app.main say 1 x; exit $?"
        by_ancestor = subprocess.run(
            ["bash", "-c", script], cwd=ROOT, env={**environment(home), **inside}, capture_output=True, check=False
        )
        assert by_ancestor.returncode == 1
        assert footplate(home, "ls", more=inside).code == 0
        assert run.events("answered") == []
        assert footplate(home, "stop", "1", more=inside).code == 0
        assert run.code() == 1


# ------------------------------------------------------------------------------------------------- a console of our own


def now() -> Millis:
    return NOW


@pytest.fixture
def foreign(tmp_path: Path) -> Iterator[tuple[Path, str]]:
    """A run whose console is killed and then, in the ledger, replaced by this very process, which answers nothing."""
    with held(tmp_path, LONG) as run:
        run.saw("turn", n=1, state="accepted")
        run.process.kill()
        run.process.wait()
        home = run.home
        with read_ledger(home / "ledger.db", now=now) as tx:
            row = incarnations.not_ended(tx)[0]
        descriptor = os.open(row.lock_path, os.O_RDWR | os.O_CREAT, 0o600)
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        try:
            yield home, row.id
        finally:
            os.close(descriptor)
            assert footplate(home, "stop", "--all", "--kill").code == 0


def test_a_console_that_does_not_answer_is_exit_3(foreign: tuple[Path, str], monkeypatch: pytest.MonkeyPatch) -> None:
    home, _ = foreign
    short = (
        "import sys, app.cli.elsewhere as e; e.WAIT_SECONDS = 0.3; sys.argv = ['f', 'say', '1', 'x']\n"
        "from app.main import main; main()"
    )
    done = subprocess.run(
        [sys.executable, "-c", short], cwd=ROOT, env=environment(home), capture_output=True, text=True, check=False
    )
    assert done.returncode == 3
    assert done.stderr.startswith("The console that holds run 1 did not answer within 0.3 s;")


def test_what_the_console_refused_is_said(foreign: tuple[Path, str]) -> None:
    home, owner = foreign
    asking = subprocess.Popen(
        [sys.executable, "-m", "app.main", "say", "1", "x"],
        cwd=ROOT,
        env=environment(home),
        stderr=subprocess.PIPE,
        text=True,
    )

    def take() -> bool:
        with write_ledger(home / "ledger.db", now=now) as tx:
            for row in commands.asked_for(tx, IncarnationId(owner)):
                commands.take(tx, id=row.id, incarnation=IncarnationId(owner))
                answer = json.dumps(
                    {"reason": "budget-exhausted", "facts": {"run": 1, "spent": 5020000, "limit": 5000000}}
                )
                return commands.finish(tx, id=row.id, state=CommandState.REFUSED, answer=answer) is not None
        return False

    wait_until(take, 10, "the command is in the ledger")
    _, said = asking.communicate(timeout=10)
    assert asking.returncode == 1
    assert said == "Run 1 is at its budget: 5.02 of 5.00; extend it, finish it or stop it.\n"


# ------------------------------------------------------------------------------------------------------------- starting


def test_what_is_no_place_to_work(tmp_path: Path) -> None:
    home = tmp_path / "h"
    plain = ("start", "x", "--plain", "--yes", "--agent", "practice", "--repo")
    (tmp_path / "none").mkdir()
    ran = footplate(home, *plain, str(tmp_path / "none"))
    assert (ran.code, ran.err.count("\n")) == (1, 1)
    assert "is not a git repository; go to one" in ran.err
    subprocess.run(["git", "init", "-q", str(tmp_path / "empty")], check=True, capture_output=True)
    ran = footplate(home, *plain, str(tmp_path / "empty"))
    assert ran.code == 1
    assert "has no commit yet" in ran.err
    ran = footplate(home, *plain, str(tmp_path / "nowhere"))
    assert (ran.code, ran.err) == (2, f"--repo {tmp_path / 'nowhere'}: there is no such folder.\n")
    repository(tmp_path / "r")
    ran = footplate(home, "start", "x", "--plain", "--yes", "--agent", "nobody", "--repo", str(tmp_path / "r"))
    assert ran.code == 1
    assert ran.err.startswith("There is no agent nobody; there are ")


def test_without_a_terminal_terms_need_yes(tmp_path: Path) -> None:
    ran = footplate(tmp_path / "h", "start", "x", "--plain", given=b"\n")
    assert ran.code == 1
    assert (
        ran.err
        == "Nobody is at the keyboard to agree to the terms; add --yes to start under them without being asked.\n"
    )
    assert not (tmp_path / "h" / "ledger.db").exists()


def test_a_detached_head_and_a_brief_from_stdin(tmp_path: Path) -> None:
    tree = repository(tmp_path / "r")
    subprocess.run(["git", "checkout", "-q", "--detach"], cwd=tree, check=True, capture_output=True)
    options = ("--plain", "--yes", "--agent", "practice", "--script", "plain", "--in-place", "--repo", str(tree))
    ran = footplate(tmp_path / "h", "start", *options, "--brief-file", "-", given=b"/clear is only text here\n")
    assert (ran.code, ran.err) == (0, ""), ran.out
    assert "in place, on no branch" in ran.out
    assert "| ok" in ran.out
    assert ran.out.splitlines()[-1].startswith("run 1 finished:")


def test_demo_without_a_screen(tmp_path: Path) -> None:
    ran = footplate(tmp_path / "h", "demo", "--plain", given=b"stop\n")
    assert ran.code == 1
    assert ran.out.startswith("The practice agent may work in ")
    assert "play money" in ran.out
    assert "Nothing left running." in ran.out
    assert not list((tmp_path / "h" / "run").glob("*.lock"))
