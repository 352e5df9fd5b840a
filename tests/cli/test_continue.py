"""``footplate continue``: as a process of its own, from the run that ended to the one that goes on from it."""

import json
from pathlib import Path
from typing import Any

import pytest

from app import wording
from coordinator.api import Continued, NewConversation
from store.vocab import RunId
from tests.cli.running import Ran, footplate, repository
from tests.cli.test_elsewhere import held
from tests.coordinator.held import bash, script

OPTIONS = ("--plain", "--json", "--yes", "--no-preamble")


def told(ran: Ran, event: str) -> list[dict[str, Any]]:
    return [one for one in map(json.loads, ran.out.splitlines()) if one.get("event") == event]


def test_a_run_that_ended_is_gone_on_from_in_the_same_conversation_or_with_an_account(tmp_path: Path) -> None:
    tree, home = repository(tmp_path / "r"), tmp_path / "h"
    around = {"CLAUDE_CONFIG_DIR": str(tmp_path / "agent"), "FOOTPLATE_REHEARSAL_PACE": "0"}

    def run(*arguments: str, **more: Any) -> Ran:
        return footplate(home, *arguments, more=around, **more)

    first = run("start", *OPTIONS, "--agent", "practice", "--script", "plain", "--repo", str(tree), "mend the roof")
    assert first.code == 0, first.err
    # From anywhere: it works where the first one did.
    second = run("continue", "1", *OPTIONS, "--script", "plain", "now the gutter")
    assert second.code == 0, second.err
    third = run("continue", "2", "--plain", "--yes", "--fresh")
    assert third.code == 0, third.err
    assert "It goes on from 2 in a new conversation, with an account of its 2 turns: as you want it." in third.out

    shown = [json.loads(run("show", str(n), "--json").out) for n in (1, 2, 3)]
    assert [one["run"]["continues"] for one in shown] == [None, 1, 2]
    natives = [one["run"]["native_id"] for one in shown]
    assert natives[0] == natives[1] != natives[2]
    assert {one["run"]["repository"] for one in shown} == {str(tree)}
    assert shown[1]["turns"][0]["text"] == "now the gutter" and "run 1" in shown[1]["turns"][0]["preamble"]
    assert shown[2]["turns"][0]["text"] == "Go on from where you stopped."
    assert "mend the roof" in shown[2]["turns"][0]["preamble"]
    said = run("show", "2").out
    assert "goes on from run 1" in said and "continued by run 3" in said

    nobody = run("continue", "9", *OPTIONS)
    assert nobody.code == 1 and json.loads(nobody.out)["refused"] == "no-such-run"


def test_a_question_that_outlived_its_run_is_answered_and_the_answer_goes_along(tmp_path: Path) -> None:
    note = '{"question": "Red or blue?", "options": [{"label": "Red"}, {"label": "Blue"}]}'
    leaves = script(bash(f"mkdir -p .footplate/1 && echo '{note}' > .footplate/1/decision.json"), {"text": "asked"})
    with held(tmp_path, f"paint it {leaves}") as run:
        home, may = run.home, run.saw("decision")["id"]
        assert footplate(home, "answer", str(may), "--allow").code == 0
        asked = run.saw("decision", kind="park")["id"]
        assert footplate(home, "stop", "1").code == 0
        run.code()
    assert footplate(home, "answer", str(may), "--deny").code == 1
    answered = footplate(home, "answer", str(asked), "2")
    assert answered.code == 0, answered.err
    assert answered.out == (
        f"Question {asked} of run 1 is answered: Blue; it goes to the agent when you continue the run.\n"
    )
    twice = footplate(home, "answer", str(asked), "1")
    assert twice.code == 1 and twice.err.startswith("This was answered by ")
    gone_on = footplate(home, "continue", "1", "--plain", "--yes", "--script", "plain")
    assert gone_on.code == 0, gone_on.err
    assert "With it goes what the agent never got: 1 answer of yours." in gone_on.out
    shown = json.loads(footplate(home, "show", "2", "--json").out)
    assert "The answer: Blue" in shown["turns"][0]["preamble"]
    assert footplate(home, "verify").out == "The ledger is whole.\n"
    # The run alone, without the one that carried its answer, is as whole.
    bundle = tmp_path / "one.bundle"
    made = footplate(home, "export", "1", "-f", "bundle", "-o", str(bundle))
    assert made.code == 0, made.err
    checked = footplate(home, "verify", str(bundle))
    assert checked.code == 0, checked.out + checked.err


@pytest.mark.parametrize("new", [None, *NewConversation])
def test_each_way_to_go_on_has_its_sentences(new: NewConversation | None) -> None:
    continued = Continued(run=RunId(12), title="x", new=new, other=RunId(13), turns=2, answers=1, unsent=2)
    said = wording.continued_words(continued)
    assert all(one[0].isupper() and one.endswith(".") and ": ." not in one for one in said)
    assert "12" in said[0] and [wording.forbidden_in(one) for one in said] == [[]] * len(said)
    if new is not NewConversation.TERMINAL:
        assert said[1] == "With it goes what the agent never got: 1 answer and 2 messages of yours."
