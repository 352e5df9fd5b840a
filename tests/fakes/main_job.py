"""The main job of the house as one scene, for a real agent and for the practice agent alike.

Brief, permission allowed, another denied, a question with a note, a second turn, an interrupt in the middle of a tool,
a third turn, and a stop while commands run in the foreground, in the background and in a session of their own.
"""

import json
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from tests.fakes.accounts import Hold, agents_total, everything_once, hold_of
from tests.fakes.plain_process import PlainProcess, run_footplate
from tests.waiting import wait_until

Json = dict[str, Any]
QUESTION: Json = {
    "question": "Which colour?",
    "header": "Colour",
    "options": [{"label": "Red", "description": "r"}, {"label": "Blue", "description": "b"}],
    "multiSelect": False,
}


def wait_for(seconds: int) -> str:
    """A command that waits and is always asked about: the real agents let a bare ``sleep`` through, or block it."""
    return f'python3 -c "import time; time.sleep({seconds})"'


SLEEPS = (
    "time.sleep(7301)",
    "sleep 7302",
    "sleep 7303",
    "time.sleep(7304)",
)
"""In the background by the agent's own means, by the shell's, in a session of its own, in the foreground."""
TOOL = "time.sleep(7300)"
"""As the end of a command line: which python3 it is, is the machine's affair."""


_SHELL = re.compile(r"(\S*/)?(env|(ba|da|z)?sh)\s")


def among(wanted: Iterable[str], names: Iterable[str]) -> bool:
    """Whether each runs. What is about to become it (a version manager's shell, in front of ``python3``) does not."""
    known = [name for name in names if not _SHELL.match(name)]
    return all(any(name.endswith(one) for name in known) for one in wanted)


def directive(*steps: Json) -> str:
    """To stand in a turn's text: what the loopback model, or the practice agent, answers."""
    return f"@@{json.dumps({'steps': list(steps)})}@@"


def bash(command: str, **more: object) -> Json:
    return {"tools": [{"name": "Bash", "input": {"command": command, "description": "as asked", **more}}]}


def make(name: str) -> Json:
    return bash(f"python3 -c \"open('{name}', 'w')\"")


BRIEF = "Please look around. " + directive(
    {"text": "on it"} | make("allowed.txt"),
    make("denied.txt"),
    {"tools": [{"name": "AskUserQuestion", "input": {"questions": [QUESTION]}}]},
    {"text": "the first turn is done"},
)
SECOND = "And wait a little. " + directive({"text": "waiting"} | bash(wait_for(7300)), {"text": "never said"})
THIRD = "Once more. " + directive(
    bash(wait_for(7301), run_in_background=True),
    bash(f"(setsid {SLEEPS[2]} &) ; {SLEEPS[1]} & {wait_for(7304)}"),
    {"text": "never said"},
)


def play(plain: PlainProcess, tree: Path) -> Hold:
    """Through the whole scene, to the end of the process; gives the hold as the ledger has it."""
    allowed = plain.asked(1)
    assert allowed["kind"] == "permission" and "allowed.txt" in allowed["subject"]
    assert not (tree / "allowed.txt").exists()
    plain.type(f"allow {allowed['id']}")
    denied = plain.asked(2)
    assert (tree / "allowed.txt").exists(), "what was allowed ran"
    plain.type(f"deny {denied['id']} rather not")
    question = plain.asked(3)
    assert question["kind"] == "question"
    assert question["questions"][0]["text"] == "Which colour?"
    plain.type(f"answer {question['id']} Blue; note: as dark as the sea")
    plain.saw("turn", n=1, state="settled", result="success")
    for asked in (allowed, denied, question):
        plain.saw("answered", id=asked["id"], state="delivered")
    assert not (tree / "denied.txt").exists(), "what was denied did not"
    # What a tool gave is what the model was told next.
    outputs = " ".join(str(event["output"]) for event in plain.events("tool"))
    assert "rather not" in outputs and "as dark as the sea" in outputs
    hold = hold_of(plain.home)

    plain.type(f"say {SECOND}")
    plain.type(f"allow {plain.asked(4)['id']}")
    wait_until(lambda: among([TOOL], hold.living().values()), 20, "the tool runs")
    plain.type("interrupt")
    plain.saw("turn", n=2, state="settled", result="interrupted")
    wait_until(lambda: not among([TOOL], hold.living().values()), 20, "the tool went with its turn")

    plain.type(f"say {THIRD}")
    for number in (5, 6):
        plain.type(f"allow {plain.asked(number)['id']}")
    wait_until(lambda: among(SLEEPS, hold.living().values()), 20, "all four run")
    plain.type("stop")
    assert plain.code() == 1
    assert hold.living() == {}
    return hold


def check_plain(plain: PlainProcess, hold: Hold, driver: str) -> None:
    """What was told at the end, and that the ledger tells the same."""
    ended = plain.saw("ended")
    assert (ended["outcome"], ended["reason"], ended["exit"]) == ("interrupted", "stopped", 1)
    report = check_books(plain.environment, plain.repository, hold, driver)
    assert report["receipt"] == plain.saw("receipt")["receipt"]


def check_books(environment: Mapping[str, str], tree: Path, hold: Hold, driver: str) -> Json:
    """What the ledger tells afterwards, and what ``show`` and ``verify`` make of it; gives the report."""
    told = run_footplate(environment, "show", "1", "--json", cwd=tree)
    assert told.code == 0, told.err
    report: Json = json.loads(told.out)
    run = report["run"]
    assert (run["outcome"], run["reason"], report["custody"]) == ("interrupted", "stopped", "closed")
    turns = report["turns"]
    assert [(one["n"], one["state"], one["result"]) for one in turns] == [
        (1, "settled", "success"),
        (2, "settled", "interrupted"),
        (3, "settled", "interrupted"),
    ]
    assert [one["cost_known"] for one in turns] == ["reported"] * 3
    assert turns[0]["cost"] > 0
    assert sum(one["cost"] for one in turns) == round(agents_total(hold) * 1_000_000) == report["spent"]
    decisions = sorted(report["decisions"], key=lambda one: one["id"])
    kinds = ["permission", "permission", "question", "permission", "permission", "permission"]
    assert [(one["kind"], one["state"]) for one in decisions] == [(kind, "delivered") for kind in kinds]
    assert "rather not" in decisions[1]["answer"]
    assert "Blue" in decisions[2]["answer"] and "as dark as the sea" in decisions[2]["answer"]
    assert report["receipt"]["remaining"] == []
    names = [one["name"] for one in report["receipt"]["ended"]]
    assert among(SLEEPS, names), names

    shown = run_footplate(environment, "show", "1", "--transcript", cwd=tree)
    assert shown.code == 0, shown.err
    for words in ("turn 3", "| the first turn is done", "rather not", "Nothing left running.", SLEEPS[2]):
        assert words in shown.out, words
    assert run_footplate(environment, "verify", cwd=tree).out == "The ledger is whole.\n"
    everything_once(hold.house, driver)
    return report
