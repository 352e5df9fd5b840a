"""Going on from a run of each real Claude Code: in its own conversation, counted apart; with an account where that is
gone."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.agents.conftest import AgentHome, Binary
from tests.agents.test_end_to_end_plain import house_of
from tests.cli.running import Ran, footplate
from tests.coordinator.held import repository, script
from tests.fakes.loopback_model import LoopbackModel

pytestmark = [pytest.mark.agents, pytest.mark.xdist_group("terminal")]
OPTIONS = ("--plain", "--json", "--yes", "--no-preamble")


def test_the_next_run_goes_on_where_the_first_one_ended(
    claude_binary: Binary, agent_home: AgentHome, loopback: LoopbackModel
) -> None:
    tree, around = repository(agent_home.repository), house_of(agent_home, claude_binary)

    def run(*arguments: str) -> Ran:
        return footplate(Path(around["FOOTPLATE_HOME"]), *arguments, more=around, timeout=90)

    def shown(number: int) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(run("show", str(number), "--json").out)
        return found

    def heard(words: str) -> str:
        """All that the model was told with the first call that has these words."""
        return " ".join(next(one.said for one in loopback.calls if any(words in said for said in one.said)))

    first = run("start", *OPTIONS, "--agent", "claude", "--in-place", "--repo", str(tree), "the roof " + said("tiles"))
    assert first.code == 0, first.out + first.err
    second = run("continue", "1", *OPTIONS, "the gutter " + said("leaves"))
    assert second.code == 0, second.out + second.err
    assert "the roof" in heard("the gutter"), "the model has the whole conversation"
    one, two = shown(1), shown(2)
    assert one["run"]["native_id"] == two["run"]["native_id"] and two["run"]["continues"] == 1
    total, turn = one["spent"], two["turns"][0]
    assert total > 0 and turn["cost_known"] == "reported" and 0 < turn["cost"] < 2 * total, (total, turn)

    # Its conversation is gone: the start fails, nothing was sent, and the next one gets an account instead.
    for kept in agent_home.home.rglob(f"{one['run']['native_id']}*.jsonl"):
        kept.unlink()
    third = run("continue", "2", *OPTIONS, "the chimney " + said("soot"))
    assert third.code == 1 and "No conversation found" in third.out + third.err, third.out + third.err
    three = shown(3)
    assert [turn["state"] for turn in three["turns"]] == ["cancelled"] and three["spent"] == 0
    fourth = run("continue", "3", *OPTIONS, "the window " + said("glass"))
    assert fourth.code == 0, fourth.out + fourth.err
    told = heard("the window")
    assert all(words in told for words in ("the roof", "the gutter", "the chimney"))
    assert shown(4)["run"]["native_id"] != one["run"]["native_id"]
    assert run("verify").code == 0


def said(word: str) -> str:
    return script({"text": word})
