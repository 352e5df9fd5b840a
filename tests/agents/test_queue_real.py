"""The line with a real Claude Code: ten tasks whose consoles are killed at any moment, what its provider's *no* does to
a task, and the line worked through without a screen.

The same is tried on the practice agent, at every step and in every way (``tests/faults``, ``tests/coordinator/tasks``);
this is what keeps that honest. The pretended model is a witness of its own here: it knows what it was asked, and how
often, whoever died meanwhile.
"""

import json
import random
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from coordinator.api import Done, ReleaseAgent
from store import agentwaits, attempts
from store.db import Tx
from store.vocab import FailureKind, TaskId, TaskState
from tests.agents import lined
from tests.agents.conftest import AgentHome, Binary
from tests.agents.install import PINNED
from tests.agents.test_end_to_end_plain import house_of
from tests.coordinator.held import Holding, repository
from tests.coordinator.tasks import lining
from tests.fakes.accounts import leave_nothing
from tests.fakes.loopback_model import LoopbackModel
from tests.fakes.plain_process import Ran, run_footplate
from tests.faults import queueing
from tests.faults.consoles import KILLED, Consoles

pytestmark = pytest.mark.agents

OLD, NEW = PINNED
MOST = 40
"""Consoles for one scene; about fourteen do."""


def named(case: object) -> str:
    return str(getattr(case, "version", case))


@pytest.fixture(scope="module")
def consoles() -> Iterator[Consoles]:
    made = Consoles()
    yield made
    made.close()


SCENES = [(NEW, 7), *(pytest.param(*one, marks=pytest.mark.soak) for one in [(OLD, 7), (NEW, 8), (NEW, 9), (OLD, 10)])]


@pytest.mark.parametrize(("claude_binary", "seed"), SCENES, indirect=["claude_binary"], ids=named)
async def test_ten_tasks_are_each_done_once_however_their_consoles_end(
    claude_binary: Binary,
    agent_home: AgentHome,
    loopback: LoopbackModel,
    consoles: Consoles,
    tmp_path: Path,
    seed: int,
) -> None:
    chance = random.Random(seed)
    queueing.made_ready(tmp_path, lined.TEN)
    told = {"queue": True, "binary": str(claude_binary.path), "environment": agent_home.environment}
    ended = [KILLED]
    while ended[-1] == KILLED:
        assert len(ended) < MOST, "it never comes to its end"
        # Some die on their way up, the others at work; the first that comes through has nothing left to do.
        after = chance.uniform(0.1, 0.7) if chance.random() < 0.3 else chance.uniform(1.0, 6.0)
        ended.append(await consoles.fly(tmp_path, after=after, **told))
    assert ended[-1] == 0 and ended.count(KILLED) > 4, ended
    async with lined.house(tmp_path, claude_binary.path, agent_home.environment) as held:
        await queueing.check(held, tmp_path, lined.TEN)
    asked = Counter((part.name, call.step) for call in loopback.calls for part in lined.TEN if _heard(part, call.said))
    assert asked == Counter({(part.name, step): 1 for part in lined.TEN for step in (0, 1)}), "each answer once"


def _heard(part: queueing.Part, said: tuple[str, ...]) -> bool:
    return any(part.instruction in text for text in said)


@dataclass(frozen=True, slots=True, kw_only=True)
class No:
    """How the provider refuses, and what that is called."""

    failure: FailureKind
    answer: dict[str, Any]
    calls: int
    """With which the agent has had enough: it tries some of them again by itself."""
    told: bool = False
    """It says when that is over."""

    def __str__(self) -> str:
        return f"{self.failure}{'-told' if self.told else ''}"


LIMIT = {"status": 429, "type": "rate_limit_error", "message": "This request would exceed your rate limit"}
NOS = (
    No(failure=FailureKind.RATE_LIMITED, answer={**LIMIT, "headers": {"retry-after": "1"}}, calls=2),
    # Only who signs in with a subscription is told when it is over, and then does not try again.
    No(failure=FailureKind.RATE_LIMITED, answer=LIMIT, calls=1, told=True),
    No(
        failure=FailureKind.AUTHENTICATION,
        answer={"status": 401, "type": "authentication_error", "message": "invalid x-api-key"},
        calls=2,
    ),
)
SUBSCRIBED = {"CLAUDE_CODE_OAUTH_TOKEN": "sk-ant-oat01-dummy"}
HOUR = 3600


@pytest.mark.parametrize(
    ("claude_binary", "no"),
    [*((NEW, no) for no in NOS), *(pytest.param(OLD, no, marks=pytest.mark.soak) for no in NOS)],
    indirect=["claude_binary"],
    ids=named,
)
async def test_what_its_provider_refuses_costs_no_attempt_and_holds_the_others_back(
    claude_binary: Binary, agent_home: AgentHome, loopback: LoopbackModel, tmp_path: Path, no: No
) -> None:
    clock = lining.SetClock()
    resets = clock.now() // 1000 + HOUR
    answer = {**no.answer, "times": no.calls}
    environment = {**agent_home.environment, "CLAUDE_CODE_MAX_RETRIES": str(no.calls - 1)}
    if no.told:
        del environment["ANTHROPIC_API_KEY"]
        environment |= SUBSCRIBED
        answer["headers"] = {
            "anthropic-ratelimit-unified-status": "rejected",
            "anthropic-ratelimit-unified-reset": str(resets),
            "anthropic-ratelimit-unified-representative-claim": "five_hour",
            "retry-after": str(HOUR),
        }
    first, other = lined.Told(name="a", refused=answer), lined.Told(name="b")
    queueing.made_ready(tmp_path, (first, other))
    async with lined.house(tmp_path, claude_binary.path, environment, clock=clock) as held:
        refused = await lining.put(held, first.instruction, script="")
        waits = await lining.seen(held, lambda tx: next(iter(agentwaits.listing(tx)), None))
        assert waits.reason == no.failure and waits.until == (resets * 1000 if no.told else None)
        task = await lining.until(held, refused, TaskState.QUEUED)
        assert task.counted == 0 and await _counted(held, refused) == [False]
        behind = await lining.put(held, other.instruction, script="", priority=1)
        await lining.at_rest(held)
        assert (await lining.get(held, behind)).begun == 0, "no other task of this agent would fare better"

        if no.told:
            clock.ahead += (HOUR + 1) * 1000
            held.coordinator.dispatcher.poke()
        else:
            assert isinstance(await held.do(ReleaseAgent(agent="practice")), Done)
        for id in (behind, refused):
            await lining.until(held, id, TaskState.DONE)
        assert await _counted(held, refused) == [False, True]
        runs = [*await lining.runs_of(held, refused), *await lining.runs_of(held, behind)]
        parts = zip(runs[1:], (first, other), strict=True)
        written = [(Path(run.tree) / f"{part.name}.txt").read_text() for run, part in parts]
        assert written == ["a", "b"]
    assert len(loopback.calls) == no.calls + 4, "the refused ones, and two for each task"


async def _counted(held: Holding, id: TaskId) -> list[bool]:
    def look(tx: Tx) -> list[bool]:
        return [one.counted for one in attempts.of_task(tx, id)]

    return await held.coordinator.house.ledger.read(look)


@pytest.mark.xdist_group("terminal")
@pytest.mark.parametrize("claude_binary", [NEW], indirect=True, ids=named)
def test_the_line_is_worked_through_without_a_screen(
    claude_binary: Binary, agent_home: AgentHome, loopback: LoopbackModel
) -> None:
    """By two, the first of which is killed at work; until one task waits for the operator, and after that one."""
    around = {**house_of(agent_home, claude_binary), "CLAUDE_CODE_MAX_RETRIES": "0"}
    tree, other = repository(agent_home.repository), repository(agent_home.repository.with_name("other"))
    no = {"status": 401, "type": "authentication_error", "message": "invalid x-api-key", "times": 1}
    parts = [lined.Told(name="a"), lined.Told(name="b", needs=("a",)), lined.Told(name="c", tree="other")]
    parts.append(lined.Told(name="d", needs=("b", "c"), refused=no))
    told = [
        {"name": one.name, "instruction": one.instruction, "needs": one.needs, "repository": str(where)}
        for one, where in zip(parts, (tree, tree, other, tree), strict=True)
    ]

    def run(*arguments: str, given: str = "") -> Ran:
        return run_footplate(around, *arguments, cwd=tree, given=given.encode(), timeout=90)

    lines = "\n".join(map(json.dumps, told))
    added = run("queue", "add", "--file", "-", "--agent", "claude", "--mode", "acceptEdits", "--yes", given=lines)
    assert added.code == 0, added.err
    try:
        _killed_at_work(around, tree)
        first = run("queue", "run")
        assert first.code == 3 and "task 4 needs you" in first.err, first.out + first.err
        assert "footplate queue release --agent claude" in run("queue", "ls").out
        assert run("queue", "release", "--agent", "claude").code == 0
        second = run("queue", "run", "--json")
        over = json.loads(second.out.splitlines()[-1])
        assert (second.code, over["event"], over["exit"]) == (0, "over", 0), second.out + second.err
        listed = json.loads(run("queue", "ls", "--json").out)
        assert [one["state"] for one in listed["tasks"]] == ["done"] * 4, listed
        assert run("verify").code == 0
        assert "Nothing is held" in run("ps").out
    finally:
        leave_nothing(Path(around["FOOTPLATE_HOME"]))
    asked = Counter((part.name, call.step) for call in loopback.calls for part in parts if _heard(part, call.said))
    assert asked == Counter({(part.name, step): 1 for part in parts for step in (0, 1)} | {("d", 0): 2}), asked


def _killed_at_work(around: dict[str, str], tree: Path) -> None:
    """Once an agent has written its file."""
    arguments = [sys.executable, "-m", "app.main", "queue", "run", "--json"]
    with subprocess.Popen(
        arguments, cwd=tree, env=around, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True
    ) as killed:
        assert killed.stdout is not None
        for line in killed.stdout:
            if json.loads(line).get("event") == "tool":
                break
        killed.kill()
    assert killed.returncode == KILLED
