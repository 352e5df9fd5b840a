"""Who looks elsewhere is told: once, of what was not turned off, and never while at the keys."""

import json
import os
import sys
import time
from pathlib import Path

import pytest
from msgspec.structs import replace

from app.config import Config, load
from app.console.options import ConsoleOptions
from app.notices.items import AT_IT, Due, Kind, Notice, NoticeSettings, notices
from app.notices.telling import Teller, Told, run_command
from app.notices.ways import BELL, Surrounding, look_around, sequence, through_tmux, written
from app.paths import find
from coordinator.api import AttentionView, ConsoleSnapshot, Group
from store.refusal import Refusal
from store.vocab import AttentionKind, Millis, RunId
from tests.console.driving import alone
from tests.console.opened import console
from tests.fakes.backend import ago, make_decision, make_session, make_snapshot
from tests.waiting import eventually, wait_until

ASKED = Notice(key="attention 1", kind=Kind.DECISION, run=RunId(12), title="fix it", words="run it", since=Millis(5))
WEZTERM = {"TERM": "xterm-256color", "TERM_PROGRAM": "WezTerm", "PATH": os.environ["PATH"]}


def attention(number: int, kind: AttentionKind, run: int | None = 12) -> AttentionView:
    return AttentionView(
        id=number, run=None if run is None else RunId(run), kind=kind, text="so it is", since=ago(number)
    )


def waiting(*items: AttentionView, **changes: object) -> ConsoleSnapshot:
    session = make_session(12, "fix it", group=Group.NEEDS_YOU, decisions=(make_decision(1),))
    return replace(make_snapshot(session), attention=items, **changes)  # type: ignore[arg-type]


# --------------------------------------------------------------------------------------------------------- what is told


def test_each_kind_of_what_waits_is_one_item() -> None:
    found = notices(waiting(*(attention(n, kind) for n, kind in enumerate(AttentionKind, 1))))
    assert {one.kind for one in found} == set(Kind) - {Kind.TURN_ENDED}
    assert len({one.key for one in found}) == len(AttentionKind)


def test_a_turn_that_ended_is_told_until_it_was_seen() -> None:
    session = make_session(9, "docs", group=Group.YOUR_MOVE, in_flight=None, turn_ended_at=ago(100))
    assert [one.kind for one in notices(make_snapshot(session))] == [Kind.TURN_ENDED]
    assert notices(make_snapshot(replace(session, group=Group.IDLE))) == ()


def test_what_another_console_holds_is_told_there() -> None:
    session = make_session(12, "fix it", owner="mara, in another console")
    snapshot = replace(make_snapshot(session), attention=(attention(1, AttentionKind.DECISION),))
    assert notices(snapshot) == ()


def test_none_while_the_operator_is_at_it_and_each_once() -> None:
    due, found = Due(frozenset()), (ASKED,)
    assert due.take(found, 100.0, 95.0) == ((), AT_IT - 5.0)
    assert due.take(found, 95.0 + AT_IT, 95.0) == (found, None)
    assert due.take(found, 300.0, 95.0) == ((), None)
    later = replace(ASKED, key="attention 2")
    assert due.take((ASKED, later), 301.0, 95.0) == ((later,), None)


@pytest.mark.parametrize("kind", Kind)
def test_a_kind_that_is_off_is_never_told(kind: Kind) -> None:
    assert Due(frozenset({kind})).take((replace(ASKED, kind=kind),), 300.0, 0.0) == ((), None)
    assert Due(frozenset(Kind) - {kind}).take((replace(ASKED, kind=kind),), 300.0, 0.0)[0] != ()


def test_two_consoles_and_the_next_one_tell_an_item_once(tmp_path: Path) -> None:
    file = tmp_path / "notices"
    later = replace(ASKED, key="attention 2")
    assert Told(file).claim((ASKED,)) == (ASKED,)
    assert Told(file).claim((ASKED, later)) == (later,)
    assert Told(file).claim((ASKED, later)) == ()
    assert file.stat().st_mode & 0o077 == 0


def test_a_file_that_cannot_be_used_tells_twice_rather_than_never(tmp_path: Path) -> None:
    assert Told(tmp_path / "no" / "folder").claim((ASKED,)) == (ASKED,)


# ------------------------------------------------------------------------------------------------------ what is written


def test_the_terminal_is_asked_in_its_own_way() -> None:
    assert look_around(NoticeSettings(), WEZTERM).way == "osc9"
    assert look_around(NoticeSettings(), {"TERM": "rxvt-unicode-256color"}).way == "osc777"
    assert look_around(NoticeSettings(), {"TERM": "linux"}).way == "off"
    around = Surrounding(way="osc9")
    assert written([ASKED], NoticeSettings(), around) == BELL + "\x1b]9;12 fix it: run it\x1b\\"
    assert written([ASKED], NoticeSettings(bell=False), Surrounding(way="off")) == ""
    assert sequence("osc777", "a", "b") == "\x1b]777;notify;a;b\x1b\\"


def test_inside_tmux_only_what_gets_out_is_written() -> None:
    assert written([ASKED], NoticeSettings(), Surrounding(way="osc9", tmux=True)) == BELL
    out = written([ASKED], NoticeSettings(), Surrounding(way="osc9", tmux=True, passthrough=True))
    assert out == BELL + through_tmux(sequence("osc9", "12 fix it", "run it"))
    assert out.startswith(BELL + "\x1bPtmux;\x1b\x1b]9;")


def test_nothing_in_an_agents_words_ends_a_sequence() -> None:
    hostile = replace(ASKED, title="a\x07b\x1b]52;c;eA==\x07", words="x\x1b\\\x9c;y\x00\n\u202ez" * 50)
    for way in ("osc9", "osc777"):
        out = written([hostile], NoticeSettings(bell=False), Surrounding(way=way))
        body = out[2:-2]
        assert out.startswith("\x1b]") and out.endswith("\x1b\\")
        assert all(one.isprintable() for one in body), body
        assert body.count(";") == (1 if way == "osc9" else 3)


def test_a_flood_of_items_is_a_few_notices_and_one_bell() -> None:
    out = written([replace(ASKED, key=str(n)) for n in range(100)], NoticeSettings(), Surrounding(way="osc9"))
    assert out.count(BELL) == 1
    assert out.count("\x1b]9;") == 6
    assert "95 more wait for you" in out


# ---------------------------------------------------------------------------------------------- the operator's program


def program(folder: Path, text: str) -> tuple[str, ...]:
    file = folder / "program.py"
    file.write_text(text)
    return (sys.executable, "-I", "-S", str(file))


def test_the_item_is_json_on_stdin(tmp_path: Path) -> None:
    out = tmp_path / "out"
    told = program(tmp_path, f"import sys; open({str(out)!r}, 'w').write(sys.stdin.read())")
    assert run_command(NoticeSettings(command=told), ASKED, os.environ) is None
    said = json.loads(out.read_text())
    assert (said["kind"], said["run"], said["text"], said["key"]) == ("decision", 12, "run it", "attention 1")


def test_no_shell_reads_the_command(tmp_path: Path) -> None:
    made = tmp_path / "made"
    assert run_command(NoticeSettings(command=("true", f"; touch {made}")), ASKED, os.environ) is None
    assert not made.exists()


@pytest.mark.parametrize(
    ("text", "words"),
    [("raise SystemExit(3)", "ended with 3"), ("import os; os.close(0); raise SystemExit(0)", None)],
)
def test_how_it_ended_is_known(tmp_path: Path, text: str, words: str | None) -> None:
    assert run_command(NoticeSettings(command=program(tmp_path, text)), ASKED, os.environ) == words


def test_one_that_is_not_there_is_said() -> None:
    assert "did not start" in str(run_command(NoticeSettings(command=("/no/such/program",)), ASKED, os.environ))


def test_one_that_hangs_is_ended_with_what_it_started(tmp_path: Path) -> None:
    pid = tmp_path / "pid"
    text = (
        "import subprocess, time\n"
        f"child = subprocess.Popen(['sleep', '600']); open({str(pid)!r}, 'w').write(str(child.pid))\n"
        "time.sleep(600)"
    )
    began = time.monotonic()
    settings = NoticeSettings(command=program(tmp_path, text), command_seconds=1.5)
    assert "took longer than 1.5 s" in str(run_command(settings, ASKED, os.environ))
    assert time.monotonic() - began < 10
    child = int(pid.read_text())
    wait_until(lambda: not Path(f"/proc/{child}/cmdline").exists() or not Path(f"/proc/{child}/cmdline").read_bytes())


def test_a_failure_is_said_once(tmp_path: Path) -> None:
    said: list[str] = []
    teller = Teller(
        NoticeSettings(command=("/no/such",)), Told(tmp_path / "told"), lambda out: None, said.append, WEZTERM
    )
    for n in range(3):
        teller.tell([replace(ASKED, key=str(n))]).join(10)
    assert len(said) == 1


# ---------------------------------------------------------------------------------------------------------- the console


async def test_an_operator_who_is_away_is_told_once_over_restarts(tmp_path: Path) -> None:
    out = tmp_path / "out"
    command = program(tmp_path, f"import sys; open({str(out)!r}, 'a').write(sys.stdin.read())")
    ahead = [0.0]
    options = ConsoleOptions(
        notify=NoticeSettings(command=command),
        told_file=tmp_path / "told",
        monotonic=lambda: time.monotonic() + ahead[0],
    )
    snapshot = make_snapshot(make_session(12, group=Group.WORKING))
    for _ in range(2):
        ahead[0] = 0.0
        async with console(snapshot, options=options) as (
            app,
            pilot,
            backend,
        ):
            await alone(app, pilot, "x")
            backend.change(attention=(attention(1, AttentionKind.DECISION),))
            await eventually(lambda: app.drive.snapshot.attention)
            assert app.noticing._timer is not None, "it waits for the operator's quiet"
            ahead[0] = AT_IT + 1
            app.take()
            await eventually(lambda: out.exists() and out.read_text().count("\n") == 1)
            app.take()
    assert [json.loads(line)["key"] for line in out.read_text().splitlines()] == ["attention 1"]


# ---------------------------------------------------------------------------------------------------- the configuration


def configured(folder: Path, text: str) -> Config | Refusal:
    paths = find({"FOOTPLATE_HOME": str(folder)})
    paths.config_file.write_text(text)
    return load(paths)


def test_every_kind_can_be_turned_off_by_its_name(tmp_path: Path) -> None:
    for kind in Kind:
        config = configured(tmp_path, f"[notify]\n{kind.name.lower()} = false\n")
        assert isinstance(config, Config)
        assert config.notify.off == {kind}


def test_a_command_is_words_or_a_list(tmp_path: Path) -> None:
    config = configured(tmp_path, "[notify]\ncommand = \"say 'one word' two\"\n")
    assert isinstance(config, Config)
    assert config.notify.command == ("say", "one word", "two")
    config = configured(tmp_path, '[notify]\ncommand = ["sh", "-c", "cat >> ~/asked"]\n')
    assert isinstance(config, Config)
    assert config.notify.command == ("sh", "-c", "cat >> ~/asked")


@pytest.mark.parametrize(
    "text", ['command = "un\'closed"', 'command = ""', "sound = true", 'terminal = "osc1"', "command = []"]
)
def test_a_mistake_is_told_with_its_key(tmp_path: Path, text: str) -> None:
    refusal = configured(tmp_path, f"[notify]\n{text}\n")
    assert isinstance(refusal, Refusal)
    assert str(refusal.facts["key"]).startswith("notify")
