"""What the configuration and the command line say to the console before its first frame."""

import subprocess
import sys
from pathlib import Path

from msgspec.structs import replace

from app.console.options import ConsoleOptions
from app.console.views.announcing import announced
from app.wording import forbidden_in
from coordinator.api import Group, Propose
from store.vocab import RunId, RunOutcome
from tests.cli.running import ROOT, environment
from tests.console.driving import alone, typed
from tests.console.test_rules import console
from tests.fakes.backend import make_decision, make_session, make_snapshot
from tests.waiting import eventually

WAITS = make_session(12, "waits", group=Group.NEEDS_YOU, decisions=(make_decision(1, 12),))
NEW = make_session(13, "just begun")


async def test_the_run_that_was_just_started_is_in_view() -> None:
    snapshot = make_snapshot(WAITS, NEW)
    async with console(snapshot, options=ConsoleOptions(run=RunId(13))) as (app, _, _backend):
        assert app.drive.run_in_view == 13
    async with console(snapshot) as (app, _, _backend):
        assert app.drive.run_in_view == 12
    async with console(snapshot, options=ConsoleOptions(run=RunId(99))) as (app, _, _backend):
        assert app.drive.run_in_view == 12, "one that is not there is not waited for"


async def test_what_is_added_to_a_brief_is_off_where_the_configuration_says_so() -> None:
    async with console(make_snapshot(), options=ConsoleOptions(preamble=False)) as (app, pilot, backend):
        await typed(app, pilot, "look")
        await alone(app, pilot, "enter")
        asked = await eventually(lambda: [one for one in backend.commands if isinstance(one, Propose)])
        assert asked[0].preamble is False


def test_a_change_of_state_in_words() -> None:
    before = make_snapshot(replace(WAITS, group=Group.WORKING, decisions=()), NEW)
    assert announced(before, before) == ()
    assert announced(before, make_snapshot(WAITS, NEW)) == ("12 waits: needs you, permission",)
    ended = replace(NEW, group=Group.ENDED, outcome=RunOutcome.INTERRUPTED, reason="stopped", receipt=None)
    assert announced(before, make_snapshot(before.sessions[0], ended)) == ("13 just begun: stopped by you",)
    assert announced(make_snapshot(), make_snapshot(NEW, ended)) == ("13 just begun: working",)
    assert forbidden_in("; ".join(announced(before, make_snapshot(WAITS, ended)))) == []


async def test_it_is_said_where_that_is_wanted() -> None:
    quiet = make_snapshot(replace(WAITS, group=Group.WORKING, decisions=()))
    for wanted in (True, False):
        async with console(quiet, options=ConsoleOptions(announce=wanted)) as (app, _, backend):
            backend.push(make_snapshot(WAITS))
            await eventually(lambda app=app: app.drive.snapshot.sessions[0].group is Group.NEEDS_YOU)  # type: ignore[misc]
            assert ("needs you, permission" in app.drive.said.text) is wanted


def test_the_operators_own_escape_delay_and_nobody_elses(tmp_path: Path) -> None:
    ask = (
        "import app.console.before_textual, os; from textual import constants\n"
        "print(constants.ESCAPE_DELAY, os.environ.get('FOOTPLATE_ESCAPE_DELAY'))"
    )
    for more, seen in (
        ({"FOOTPLATE_ESCAPE_DELAY": "120", "SSH_TTY": "/dev/pts/1"}, "0.12 None"),
        ({"ESCDELAY": "25"}, "0.5 None"),
        ({"ESCDELAY": "25", "SSH_TTY": "/dev/pts/1"}, "1.0 None"),
    ):
        told = subprocess.run(
            [sys.executable, "-c", ask],
            cwd=ROOT,
            env=environment(tmp_path, **more),
            capture_output=True,
            text=True,
            check=True,
        )
        assert told.stdout.strip() == seen
