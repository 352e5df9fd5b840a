"""What the terms and the form of a new session say of agents: the one proposed, those that can be had, and the rest."""

import pytest
from msgspec.structs import replace

from app.console.starting import for_its_agent, unchanged
from app.console.views.ink import literal
from app.console.views.start import terms_lines
from coordinator.api import OperatorCommand, Proposal, Propose
from coordinator.drivers.base import CostBasis
from store.refusal import Refusal
from store.vocab import Millis, RefusalReason
from tests.console.driving import alone, settled
from tests.console.hostile import HOSTILE, faults, screen_rows
from tests.console.opened import console
from tests.console.scenes import ripe_terms, terms
from tests.fakes.backend import NOW, FakeBackend, make_snapshot, make_terms
from tests.waiting import eventually

AS_PROPOSED = unchanged(preamble=True)
OTHERS = (
    Refusal(RefusalReason.AGENT_SIGNED_OUT, {"agent": "codex"}),
    Refusal(RefusalReason.AGENT_NOT_FOUND, {"agent": "gemini"}),
    Refusal(RefusalReason.AGENT_NOT_FOUND, {"agent": "qwen"}),
)


def said(proposal: Proposal, width: int = 100) -> str:
    rows = terms_lines(proposal, NOW, width, show_added=False)
    return " ".join("".join(span.text for span in row).strip() for row in rows)


def test_the_terms_say_what_no_limit_of_money_can_hold() -> None:
    untold = Proposal(terms=make_terms(agent="bash", budget=None), preset=None, cost=CostBasis.UNTOLD)
    assert "not told by bash: no limit of money can hold, those of turns and time do" in said(untold)
    assert "not told" not in said(Proposal(terms=make_terms(), preset=None))


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
def test_nothing_of_an_agent_is_obeyed_there(text: str) -> None:
    at = Millis(NOW - 1)
    for cost in CostBasis:
        proposal = Proposal(
            terms=make_terms(agent=text), preset=None, cost=cost, cost_note=text, caution=text, signed_out_at=at
        )
        assert literal(said(proposal)) == said(proposal), "it was made literal, once and for all"


@pytest.mark.parametrize("size", [(80, 24), (120, 34)])
async def test_the_form_offers_what_works_and_says_why_the_rest_does_not(size: tuple[int, int]) -> None:
    async with console(make_snapshot(), size) as (app, pilot, backend):
        plain = FakeBackend()

        def proposal(command: OperatorCommand) -> Proposal:
            assert isinstance(command, Propose)
            made = plain._propose(command)
            return Proposal(terms=made.terms, preset=None, agents=("claude", "practice"), others=OTHERS)

        backend.replies[Propose] = proposal
        await terms(app, pilot, backend)
        await ripe_terms(app)
        await alone(app, pilot, "e")
        await eventually(lambda: app.screen is not app.drive and app.screen.size == app.size)
        await settled(pilot)
        rows = " ".join(" ".join(screen_rows(app)).split())
        assert faults(app) == []
        assert "Agents that can be had: claude, practice." in rows
        assert "codex is not signed in; run codex login, then start again." in rows
        assert "Not on this machine: gemini, qwen;" in rows
        assert "Enter takes them" in rows, "and the foot is still there"


def test_another_agent_takes_neither_model_nor_mode_of_the_one_before() -> None:
    proposed = make_terms(agent="claude", model="opus", mode="default")
    same = replace(AS_PROPOSED, agent="claude", model="opus", mode="default")
    assert for_its_agent(same, proposed) == same
    assert for_its_agent(replace(AS_PROPOSED, agent="codex", model="opus", mode="default"), proposed) == replace(
        AS_PROPOSED, agent="codex"
    )
    chosen = replace(AS_PROPOSED, agent="codex", model="gpt", mode="read-only")
    assert for_its_agent(chosen, proposed) == chosen, "what was written for it stands"
