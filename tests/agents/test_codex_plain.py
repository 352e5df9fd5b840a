"""Codex as it is, through ``start --plain --json``: what no scene of all agents asks of it."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.agents.conftest import installed
from tests.agents.kinds import CODEX_KIND, Json, codex_home
from tests.agents.surroundings import lonely
from tests.coordinator.held import repository
from tests.fakes.loopback_model import LoopbackModel
from tests.fakes.main_job import directive
from tests.fakes.plain_process import ROOT, PlainProcess, run_footplate
from tests.waiting import wait_until

pytestmark = [pytest.mark.agents, pytest.mark.xdist_group("terminal")]

PATCH = "*** Begin Patch\n*** Add File: note.txt\n+hello\n*** End Patch\n"
QUESTION: Json = {
    "id": "colour",
    "header": "Colour",
    "question": "Which colour?",
    "options": [{"label": "Red", "description": "r"}, {"label": "Blue", "description": "b"}],
}


@pytest.fixture
def model() -> Iterator[LoopbackModel]:
    installed(CODEX_KIND.pinned)
    with LoopbackModel() as served:
        yield served


@pytest.fixture
def environment(tmp_path: Path, model: LoopbackModel) -> dict[str, str]:
    """An operator whose PATH has Codex, signed in with a key."""
    home = tmp_path / "home"
    (home / "tmp").mkdir(parents=True)
    around = lonely(home)
    return {
        **around,
        **codex_home(home, model.url),
        "PATH": f"{CODEX_KIND.pinned.binary.parent}:{around['PATH']}",
        "PYTHONPATH": str(ROOT),
        "PYTHONUTF8": "1",
        "FOOTPLATE_HOME": str(tmp_path / "house"),
    }


def run(command: str) -> Json:
    return {"tools": [CODEX_KIND.run(command)]}


def test_asked_for_everything_and_paid_by_the_list(
    environment: dict[str, str], model: LoopbackModel, tmp_path: Path
) -> None:
    tree = repository(tmp_path / "tree")
    patch = {"tools": [{"name": "apply_patch", "input": PATCH}]}
    brief = "Go. " + directive({"text": "on it"} | run("ls"), run("touch made"), patch, {"text": "first over"})
    with PlainProcess(brief, repository=tree, environment=environment, agent="codex") as plain:
        listed = plain.asked(1)
        assert listed["subject"] == "ls", "even what is harmless"
        plain.type(f"allow {listed['id']}")
        made = plain.asked(2)
        plain.type(f"deny {made['id']}")
        written = plain.asked(3)
        assert "+hello" in written["subject"] and not (tree / "note.txt").exists()
        plain.type(f"allow {written['id']}")
        first = plain.saw("turn", n=1, state="settled")
        assert first["result"] == "success" and (tree / "note.txt").read_text() == "hello\n"
        assert not (tree / "made").exists()

        # What the model counted, by the price of its name: 1,000 tokens in and 100 out for each call.
        calls = len(model.calls)
        assert first["cost_known"] == "guess" and calls == 4
        assert first["cost_micro_usd"] == calls * (1000 * 5 + 100 * 30)
        plain.type("finish")
        assert plain.code() == 0
        shown = json.loads(plain.footplate("show", str(first["run"]), "--json").out)
        assert shown["run"]["outcome"] == "finished"
        assert plain.footplate("verify").code == 0


def test_a_plan_is_made_with_a_question_and_a_stop_settles_the_turn(
    environment: dict[str, str], tmp_path: Path
) -> None:
    tree = repository(tmp_path / "tree")
    ask = {"tools": [{"name": "request_user_input", "input": {"questions": [QUESTION]}}]}
    brief = "Plan. " + directive(ask, {"text": "blue it is"} | run("sleep 7300"), {"text": "never said"})
    options = ("--in-place", "--mode", "plan")
    with PlainProcess(brief, repository=tree, environment=environment, agent="codex", options=options) as plain:
        question = plain.asked(1)
        assert question["kind"] == "question" and question["questions"][0]["text"] == "Which colour?"
        plain.type(f"answer {question['id']} 2")
        waits = plain.asked(2)
        assert waits["subject"] == "sleep 7300"
        assert any("blue it is" in event["text"] for event in plain.events("text"))
        plain.type(f"allow {waits['id']}")
        plain.saw("answered", id=waits["id"], state="delivered")
        plain.type("stop")
        plain.code()
        turn = plain.saw("turn", n=1, state="settled")
        assert turn["result"] == "interrupted", "its last words came before its end"
        receipt = plain.saw("receipt")["receipt"]
        assert receipt["remaining"] == [] and [step for step, _ in receipt["steps"]] == ["farewell", "eof"]
        assert plain.footplate("verify").code == 0


def test_a_home_for_the_run_goes_with_its_receipt(environment: dict[str, str], tmp_path: Path) -> None:
    tree = repository(tmp_path / "tree")
    house = Path(environment["FOOTPLATE_HOME"])
    house.mkdir(mode=0o700)
    (house / "agents.toml").write_text('[codex]\nhome = "per-run"\n')
    brief = "Go. " + directive(run("git status"), {"text": "looked"})
    with PlainProcess(brief, repository=tree, environment=environment, agent="codex") as plain:
        asked = plain.asked(1)
        (own,) = house.glob("spool/*/home")
        plain.type(f"answer {asked['id']} 4")
        plain.saw("turn", n=1, state="settled", result="success")
        assert "git" in (own / "rules" / "default.rules").read_text(), "always is as long as the run"
        plain.type("finish")
        assert plain.code() == 0
    assert not own.exists() and own.parent.exists()
    shared = Path(environment["CODEX_HOME"])
    assert not {"sessions", "rules", "auth.json"} & {one.name for one in shared.iterdir()}


def test_signed_out_is_said_in_a_sentence_and_leaves_nothing(environment: dict[str, str], tmp_path: Path) -> None:
    tree = repository(tmp_path / "tree")
    (Path(environment["CODEX_HOME"]) / "config.toml").unlink()
    del environment["OPENAI_API_KEY"]
    arguments = ("start", "--plain", "--yes", "--agent", "codex", "--repo", str(tree), "--in-place", "Go.")
    ran = run_footplate(environment, *arguments, cwd=tree)
    assert ran.code == 1 and "signed" in ran.err and "Traceback" not in ran.err
    wait_until(lambda: run_footplate(environment, "ps", "--json", cwd=tree).out.count('"pid"') == 0, 20, "nothing held")
