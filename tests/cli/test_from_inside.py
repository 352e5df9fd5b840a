"""``footplate`` called by the tools of an agent that is held: real processes below a real keeper.

They may look and they may stop; all else is refused, and that they tried is in the ledger.
"""

import json
import shlex
import signal
import sys
from pathlib import Path

import pytest

from coordinator.custody.processes import carriers
from coordinator.custody.receipts import receipt_from_facts
from coordinator.custody.spoolfile import read_spool, spool_is_locked
from coordinator.custody.types import RecordKind
from store import custody, entries
from store.db import read_ledger
from store.vocab import Millis, RunId
from tests.cli.running import ROOT, environment
from tests.cli.test_elsewhere import Held, held
from tests.waiting import wait_until

FORBIDDEN = (
    "say 1 x",
    "answer 1 --allow",
    "interrupt 1",
    "finish 1",
    "extend 1 --turns 5 --yes",
    "revoke 1",
    "sweep",
    "sweep --settle 1",
    "start x --plain --yes",
    "rules add 'allow command rm'",
    "rules rm 1",
    "queue add x --later",
    "queue agree --yes",
    "queue release",
    "queue run",
)
ALLOWED = ("ls --json", "show 1 --json", "ps --json", "queue ls --json")


def tool(folder: Path, commands: tuple[str, ...], last: str, *, cleared: bool) -> str:
    """A brief whose tool calls each, notes code and output, waits to be told, and then calls the last one.

    ``cleared``: with an environment of its own, so that only its ancestors give it away.
    """
    needed = environment(folder / "h")
    given = " ".join(f"{name}={shlex.quote(value)}" for name, value in needed.items())
    call = f"{'env -i' if cleared else 'env'} {given} {shlex.quote(sys.executable)} -m app.main"
    lines = [f"cd {shlex.quote(str(ROOT))}"]
    lines += [f"{call} {one} >{folder}/{n}.out 2>&1; echo $? >{folder}/{n}.code" for n, one in enumerate(commands)]
    lines += [f"touch {folder}/asked", f"while [ ! -e {folder}/go ]; do sleep 0.05; done"]
    lines += [f"exec {call} {last} >{folder}/last.out 2>&1"]
    (folder / "tool.sh").write_text("\n".join(lines) + "\n")
    return "@@" + json.dumps({"steps": [{"run": f"sh {folder}/tool.sh", "why": "to see"}]}) + "@@"


def rows(home: Path) -> tuple[custody.Custody, list[entries.Entry]]:
    with read_ledger(home / "ledger.db", now=lambda: Millis(0)) as tx:
        hold = custody.of_run(tx, RunId(1))
        facts = entries.entries_of(tx, RunId(1)) + entries.entries_of(tx, entries.LEDGER_CHAIN)
    assert hold is not None
    return hold, facts


def allow(run: Held, folder: Path) -> None:
    asked = run.saw("decision")
    run.type(f"answer {asked['id']} allow")
    wait_until(lambda: (folder / "asked").exists(), 60, "the tool has called all of them")


@pytest.mark.parametrize("cleared", [False, True])
def test_a_tool_may_look_and_stop_and_nothing_else(tmp_path: Path, cleared: bool) -> None:
    brief = tool(tmp_path, (*FORBIDDEN, *ALLOWED), "stop --all --kill", cleared=cleared)
    with held(tmp_path, brief) as run:
        allow(run, tmp_path)
        for n, command in enumerate(FORBIDDEN):
            said = (tmp_path / f"{n}.out").read_text()
            assert (tmp_path / f"{n}.code").read_text() == "1\n", (command, said)
            assert said.startswith("This was called from within a run,"), command
        for n, command in enumerate(ALLOWED, len(FORBIDDEN)):
            assert (tmp_path / f"{n}.code").read_text() == "0\n", command
            json.loads((tmp_path / f"{n}.out").read_text())
        hold, facts = rows(run.home)
        tried = [one.kind for one in facts if one.kind == "command.inside-a-hold"]
        assert len(tried) == len(FORBIDDEN)
        assert not run.events("queued") and len(run.events("answered")) == 1
        (tmp_path / "go").touch()
        assert run.code() == 1
        ended = run.saw("ended")
        assert (ended["outcome"], ended["reason"]) in (("interrupted", "stopped"), ("interrupted", "killed"))
        assert run.saw("receipt")["receipt"]["remaining"] == []
        assert carriers(hold.nonce) == []


def test_a_tool_may_stop_its_run_when_no_console_is_there(tmp_path: Path) -> None:
    with held(tmp_path, tool(tmp_path, ("say 1 x",), "stop 1", cleared=False)) as run:
        allow(run, tmp_path)
        run.process.send_signal(signal.SIGKILL)
        run.process.wait(10)
        hold, _ = rows(run.home)
        folder = run.home / "spool" / hold.id
        assert spool_is_locked(folder)
        (tmp_path / "go").touch()
        wait_until(lambda: not spool_is_locked(folder), 40, "the keeper has ended it")
        records = list(read_spool(folder / "spool"))
        receipt = receipt_from_facts(next(one for one in records if one.kind is RecordKind.GONE).facts)
        assert receipt.reason == "stopped" and not receipt.remaining
        assert carriers(hold.nonce) == []
