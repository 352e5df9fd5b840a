"""``footplate attention``: the queue as the ledger has it, whether a console lives or not."""

import json
from pathlib import Path

from app.wording import forbidden_in
from tests.cli.running import footplate
from tests.cli.test_elsewhere import ASKS, held

CRASHES = '@@{"steps":[{"text":"so far"},{"do":"exit","code":3}]}@@'


def test_without_a_ledger_nothing_waits(tmp_path: Path) -> None:
    assert footplate(tmp_path / "home", "attention").out == "Nothing waits for you.\n"
    assert json.loads(footplate(tmp_path / "home", "attention", "--json").out) == {"attention": []}


def test_what_is_asked_stands_in_it_until_it_is_answered(tmp_path: Path) -> None:
    with held(tmp_path, ASKS) as run:
        asked = run.saw("decision")
        told = footplate(run.home, "attention")
        assert told.code == 0 and "permission" in told.out and "touch made" in told.out
        assert f"footplate answer {asked['id']} CHOICE" in told.out
        assert forbidden_in(told.out) == []
        line = json.loads(footplate(run.home, "attention", "--json").out)["attention"][0]
        assert (line["kind"], line["run"], line["decision"]) == ("decision", 1, asked["id"])
        assert footplate(run.home, "answer", str(asked["id"]), "--allow").code == 0
        assert footplate(run.home, "attention").out == "Nothing waits for you.\n"


def test_one_that_broke_off_stands_in_it_after_its_console_is_gone(tmp_path: Path) -> None:
    with held(tmp_path, CRASHES) as run:
        run.code()
        told = footplate(run.home, "attention").out
        assert "broke off" in told and "ended by itself (exit 3)" in told
        assert forbidden_in(told) == []
