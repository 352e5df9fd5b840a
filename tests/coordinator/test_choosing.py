"""Which agent terms are proposed with, which are offered beside it, and what is said of its cost and its sign-in."""

import sys
from pathlib import Path

from msgspec.structs import replace

from app.wording import sentence
from coordinator import choosing
from coordinator.agentprofile import AgentProfile
from coordinator.api import AnswerDecision, Proposal, Propose, ReadTranscript
from coordinator.choosing import Chosen
from coordinator.drivers.base import Allow, CostBasis
from coordinator.profiles import Found, builtin
from coordinator.redaction import MARK
from coordinator.terms import Terms, TreeKind
from store import signins
from store.refusal import Refusal
from store.signins import SignIn
from store.vocab import Billing, MicroUsd, Millis, RefusalReason, RunId, RunOutcome
from tests.cli.made import made_terms
from tests.coordinator.held import Holding, bash, holding, script

PROFILES = {one.name: one for one in builtin({})}
OUT, IN = SignIn(signed_in=False, at=Millis(5)), SignIn(signed_in=True, at=Millis(5))


def here(*names: str, missing: tuple[str, ...] = (), broken: tuple[str, ...] = ()) -> dict[str, Found]:
    found = {name: Found(profile=PROFILES[name], program=f"/bin/{name}", version="1.0.0") for name in names}
    for reason, those in ((RefusalReason.AGENT_NOT_FOUND, missing), (RefusalReason.AGENT_VERSION, broken)):
        found |= {
            name: Found(profile=PROFILES[name], program=None, problem=Refusal(reason, {"agent": name}))
            for name in those
        }
    return found


def chosen(
    found: dict[str, Found],
    *,
    asked: str | None = None,
    last: Terms | None = None,
    default: str | None = None,
    known: dict[str, SignIn] | None = None,
) -> str | RefusalReason:
    one = choosing.choose_agent(asked, last, default, found, known or {})
    return one.found.profile.name if isinstance(one, Chosen) else one.reason


def test_who_is_chosen_by_itself() -> None:
    everything = here("claude", "practice", "codex", "bash", "python", missing=("aider",))
    assert chosen(everything) == "claude"
    assert chosen(everything, default="codex") == "codex"
    assert chosen(everything, default="codex", last=made_terms(agent="practice")) == "practice"
    assert chosen(everything, last=made_terms(agent="aider")) == "claude", "it is gone"
    assert chosen(everything, asked="aider") is RefusalReason.AGENT_NOT_FOUND
    assert chosen(everything, asked="nobody") is RefusalReason.UNKNOWN_AGENT
    assert chosen(here("practice", "codex", "bash", missing=("claude",))) == "codex"


def test_a_program_that_asks_nothing_is_never_chosen_by_itself() -> None:
    assert chosen(here("bash", "python", "practice", missing=("claude",))) == "practice"
    assert chosen(here("bash", "python", missing=("claude",))) is RefusalReason.AGENT_NOT_FOUND
    assert chosen(here("bash", "practice"), asked="bash") == "bash"
    assert chosen(here("bash", "practice"), last=made_terms(agent="bash")) == "bash"


def test_one_that_is_signed_out_comes_after_the_others_and_before_the_practice_agent() -> None:
    both = here("claude", "practice", "codex")
    assert chosen(both, known={"claude": OUT}) == "codex"
    assert chosen(both, known={"claude": OUT, "codex": OUT}) == "claude"
    assert chosen(both, known={"claude": OUT, "codex": IN}, last=made_terms(agent="claude")) == "claude"
    assert chosen(both, known={"claude": OUT}, asked="claude") == "claude", "who has signed in since may say so"


def test_what_is_offered_and_why_the_rest_is_not() -> None:
    found = here("claude", "codex", "bash", missing=("aider",), broken=("python",))
    known = {"codex": OUT, "claude": IN}
    assert choosing.offered(found, known) == ("claude", "bash")
    told = [(one.reason, one.facts["agent"]) for one in choosing.not_offered(found, known)]
    assert told == [
        (RefusalReason.AGENT_SIGNED_OUT, "codex"),
        (RefusalReason.AGENT_VERSION, "python"),
        (RefusalReason.AGENT_NOT_FOUND, "aider"),
    ]


def test_modes_are_those_of_the_driver_and_none_where_nobody_is_asked() -> None:
    def mode(name: str, asked: str | None = None) -> str | RefusalReason:
        one = choosing.choose_agent(name, None, None, here(name), {})
        assert isinstance(one, Chosen)
        said = choosing.mode_of(asked, one)
        return said.reason if isinstance(said, Refusal) else said

    assert mode("bash") == choosing.UNASKED
    assert mode("bash", "default") is RefusalReason.NOT_POSSIBLE_FOR_AGENT, "it would promise what nobody keeps"
    assert mode("claude") == "default"
    assert mode("codex", "read-only") == "read-only"
    assert mode("codex", "never") is RefusalReason.NOT_POSSIBLE_FOR_AGENT
    one = choosing.choose_agent("codex", None, None, here("codex"), {})
    assert isinstance(one, Chosen)
    refused = choosing.mode_of("never", one)
    assert isinstance(refused, Refusal)
    assert sentence(refused) == "codex cannot work in a mode never; choose ask or read-only or plan."


async def proposed(held: Holding, agent: str | None, budget: MicroUsd | None = None) -> Proposal:
    reply = await held.do(Propose(instruction="go", repository=str(held.tree), agent=agent, budget=budget))
    assert isinstance(reply, Proposal), reply
    return reply


async def test_no_limit_of_money_is_agreed_to_where_none_could_hold(tmp_path: Path) -> None:
    shell = AgentProfile(name="shell", driver="pty", program="/bin/sh", version_args=())
    async with holding(tmp_path, profiles=(PROFILES["practice"], shell)) as held:
        untold = await proposed(held, "shell", MicroUsd(5_000_000))
        assert (untold.cost, untold.terms.budget, untold.terms.mode) == (CostBasis.UNTOLD, None, choosing.UNASKED)
        assert untold.terms.max_turns and untold.terms.working_seconds, "turns and time hold"
        await held.start("go " + script({"text": "one"}), budget=None)
        told = await proposed(held, None)
        assert told.terms.agent == "practice" and told.terms.budget is None, "as last time"
        assert told.cost is CostBasis.TOLD


async def test_the_limit_comes_back_with_another_agent(tmp_path: Path) -> None:
    # The last run here had no limit because its agent tells no cost.
    known = PROFILES["practice"]
    second = AgentProfile(name="second", driver=known.driver, program=known.program, billing=Billing.PRACTICE)
    async with holding(tmp_path, profiles=(known, second)) as held:
        await held.start("go " + script({"text": "one"}), budget=None)
        assert (await proposed(held, "second")).terms.budget == MicroUsd(5_000_000)


async def test_a_failed_sign_in_is_said_with_the_next_terms_until_a_turn_goes_well(tmp_path: Path) -> None:
    async with holding(tmp_path, profiles=(PROFILES["practice"],)) as held:

        async def after(*steps: dict[str, object]) -> Proposal:
            run: RunId = await held.start("go " + script(*steps), tree_kind=TreeKind.WORKTREE)
            await held.until(run, lambda view: view.turns and view.turns[-1].result is not None)
            return await proposed(held, "practice")

        failed = await after({"fail": {"kind": "no_key"}})
        assert failed.signed_out_at is not None
        assert failed.agents == () and failed.others[0].reason is RefusalReason.AGENT_SIGNED_OUT
        heard = await held.coordinator.house.ledger.read(signins.known)
        assert heard["practice"].signed_in is False
        well = await after({"text": "hello"})
        assert well.signed_out_at is None and well.agents == ("practice",)


async def test_an_agent_that_comes_or_changes_while_the_console_is_open_is_seen(tmp_path: Path) -> None:
    program = tmp_path / "agent"
    mine = AgentProfile(name="mine", driver="pty", program=str(program))
    async with holding(tmp_path, profiles=(PROFILES["practice"], mine), version_cache=tmp_path / "v.json") as held:
        assert (await proposed(held, None)).others[0].facts["agent"] == "mine"
        for version in ("1.0.0", "1.0.10"):
            program.write_text(f"#!/bin/sh\necho {version}\n")
            program.chmod(0o755)
            assert (await proposed(held, "mine")).terms.agent_version == version


async def test_a_secret_that_is_set_for_an_agent_is_in_no_ledger(tmp_path: Path) -> None:
    known = PROFILES["practice"]
    secret = "sk-set-in-agents-toml-1234567890"
    mine = replace(known, name="mine", env=(("MY_API_KEY", secret),))
    async with holding(tmp_path, profiles=(known, mine)) as held:
        run = await held.start("go " + script(bash("echo $MY_API_KEY")), agent="mine", script="")
        (asked,) = (await held.until(run, lambda view: view.decisions)).decisions
        await held.do(
            AnswerDecision(run=run, decision=asked.id, revision=1, payload_hash=asked.payload_hash, answer=Allow())
        )
        ended = await held.until(run, lambda view: view.turns and view.turns[-1].result is not None)
        said = await held.do(ReadTranscript(run=ended.run))
        assert secret not in repr(said) and MARK in repr(said), "it was given, printed, and not kept"
    assert secret.encode() not in (tmp_path / "ledger.db").read_bytes()


SIGNED_OUT = """
import json, sys
for line in sys.stdin:
    asked = json.loads(line)
    said = {"jsonrpc": "2.0", "id": asked.get("id")}
    if asked["method"] == "initialize":
        said["result"] = {"protocolVersion": 1, "agentCapabilities": {}, "agentInfo": {"name": "t", "version": "1.0.0"}}
    else:
        said["error"] = {"code": -32000, "message": "Authentication required"}
    print(json.dumps(said), flush=True)
"""


async def test_an_agent_that_refuses_to_begin_says_why_and_is_remembered(tmp_path: Path) -> None:
    program = tmp_path / "agent.py"
    program.write_text(SIGNED_OUT)
    mine = AgentProfile(
        name="mine", driver="acp", program=sys.executable, args=("-I", "-u", str(program)), version_args=()
    )
    async with holding(tmp_path, profiles=(PROFILES["practice"], mine)) as held:
        refused = await held.try_start("go", agent="mine")
        assert isinstance(refused, Refusal) and refused.reason is RefusalReason.AGENT_SIGNED_OUT, refused
        assert "Authentication required" in str(refused.facts["detail"])
        ended = await held.until(RunId(1), lambda view: view.outcome is not None)
        assert (ended.outcome, ended.reason) == (RunOutcome.FAILED, "spawn-failed:authentication")
        assert ended.receipt is not None and not ended.receipt.remaining
        again = await proposed(held, "mine")
        assert again.signed_out_at is not None and again.cost is CostBasis.UNTOLD and again.terms.mode == "ask"
        assert "mine" not in (await proposed(held, "practice")).agents
