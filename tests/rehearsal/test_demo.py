"""The demo, played through on the scratch repository as a newcomer would: it must be in step with the files."""

import subprocess
from functools import partial
from pathlib import Path

import pytest

from coordinator.rehearsal.scratch import make_scratch_repository
from tests.fakes.stream_json import Talker, alive, marked
from tests.rehearsal.conftest import Rehearse
from tests.waiting import wait_until

PACE = ("--pace", "0")


@pytest.fixture
def shop(stage: Path) -> Path:
    return make_scratch_repository(stage / "tea-shop")


def test_the_repository_is_a_repository(shop: Path) -> None:
    told = subprocess.run(
        ["git", "status", "--porcelain"], cwd=shop, capture_output=True, text=True, timeout=10, check=True
    )
    assert told.stdout == ""
    with pytest.raises(FileExistsError):
        make_scratch_repository(shop)


def test_its_test_is_truly_flaky(shop: Path) -> None:
    ran = subprocess.run(["python3", "soak.py"], cwd=shop, capture_output=True, text=True, timeout=60, check=False)
    lines = ran.stdout.splitlines()
    assert ran.returncode == 1
    assert any(line.endswith("ok") for line in lines)
    assert any(line.endswith("FAILED") for line in lines)


@pytest.mark.parametrize("choice", ["Alphabetical", "Strongest first"])
def test_a_turn_a_permission_a_question_and_a_stop(rehearse: Rehearse, shop: Path, choice: str) -> None:
    talker = rehearse(*PACE, script="demo", cwd=shop)
    talker.say("One of our tests fails now and then. Find out why.")
    request = talker.asked(1)
    assert request["request"]["input"]["command"] == "python3 soak.py --rounds 6"
    talker.allow(request)
    assert "of 6 rounds failed" in talker.result(1)["result"]

    talker.say("go on")
    question = talker.asked(2)
    asked = question["request"]["input"]["questions"][0]
    talker.allow(question, {"questions": [asked], "answers": {asked["question"]: choice}})
    allow_all_from(talker, 3, until_result=2)
    assert "*0 of 6 rounds failed*" in talker.result(2)["result"]

    talker.say("go on")
    background = talker.asked(len(talker.all("control_request")) + 1)
    assert background["request"]["input"]["run_in_background"] is True
    talker.allow(background)
    wait_until(lambda: (shop / "soak.log").is_file() and "ok" in (shop / "soak.log").read_text(), 10)
    soaking = marked(f"CLAUDE_PID={talker.process.pid}")
    assert soaking
    talker.ask("end_session")
    assert talker.left() == 1
    assert talker.all("result")[-1]["subtype"] == "error_during_execution"
    wait_until(lambda: not any(alive(pid) for pid in soaking), 5)
    changed = subprocess.run(
        ["git", "diff", "--stat"], cwd=shop, capture_output=True, text=True, timeout=10, check=True
    )
    assert "teashop/menu.py" in changed.stdout
    assert ("tests/test_menu.py" in changed.stdout) == (choice == "Strongest first")


def test_the_usual_story_of_any_other_folder_leaves_something_to_stop(rehearse: Rehearse, stage: Path) -> None:
    """It needs no file that is there, and what it writes is one file of its own."""
    talker = rehearse(*PACE, script="", cwd=stage)
    talker.say("whatever")
    talker.allow(talker.asked(1))
    assert "counted to *5*" in talker.result(1)["result"]
    talker.say("go on")
    question = talker.asked(2)
    asked = question["request"]["input"]["questions"][0]
    talker.allow(question, {"questions": [asked], "answers": {asked["question"]: "good evening"}})
    talker.allow(talker.asked(3))
    assert "It is written" in talker.result(2)["result"]
    written = {one.name: one.read_text() for one in stage.iterdir()}
    assert written == {"footplate-practice.txt": "good evening\n"}, "the operator's own words, as they were given"
    talker.say("go on")
    talker.allow(talker.asked(4))
    wait_until(lambda: len(marked(f"CLAUDE_PID={talker.process.pid}")) > 0, 10)
    left = marked(f"CLAUDE_PID={talker.process.pid}")
    talker.ask("end_session")
    assert talker.left() == 1
    wait_until(lambda: not any(alive(pid) for pid in left), 5)


@pytest.mark.parametrize("story", ["demo", "anywhere"])
def test_everything_denied_is_understood(rehearse: Rehearse, shop: Path, story: str) -> None:
    talker = rehearse(*PACE, script="" if story == "demo" else story, cwd=shop)
    asked = 0
    for number in (1, 2, 3, 4):
        talker.say("go on")
        while len(talker.all("result")) < number:
            wait_until(partial(turned, talker, number, asked))
            if len(talker.all("control_request")) > asked:
                asked += 1
                talker.answer(talker.asked(asked), {"behavior": "deny", "message": "no"})
        assert talker.result(number)["subtype"] == "success"
    assert asked >= 3
    assert "stop" in talker.result(4)["result"]
    told = subprocess.run(
        ["git", "status", "--porcelain"], cwd=shop, capture_output=True, text=True, timeout=10, check=True
    )
    assert told.stdout == ""


def turned(talker: Talker, results: int, requests: int) -> bool:
    """A turn has ended, or something more was asked."""
    return len(talker.all("result")) >= results or len(talker.all("control_request")) > requests


def allow_all_from(talker: Talker, first: int, *, until_result: int) -> None:
    number = first
    while len(talker.all("result")) < until_result:
        wait_until(partial(turned, talker, until_result, number - 1))
        if len(talker.all("control_request")) >= number:
            talker.allow(talker.asked(number))
            number += 1
