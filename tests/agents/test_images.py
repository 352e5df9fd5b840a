"""An image that goes with a turn reaches the model as it was: a real Claude Code, and a model that looks at what it is
sent."""

import hashlib
from pathlib import Path

import pytest

from coordinator.api import Said, Say, Stop
from store.verify import verify
from store.vocab import TurnResultKind, TurnState
from tests.agents import noted
from tests.agents.conftest import AgentHome, Binary
from tests.fakes.images import image
from tests.fakes.loopback_model import LoopbackModel

pytestmark = pytest.mark.agents

SECONDS = 60.0


async def test_the_model_sees_the_very_bytes(
    claude_binary: Binary, agent_home: AgentHome, loopback: LoopbackModel, tmp_path: Path
) -> None:
    shot, other = image("shot.png", side=64), image("other.png", side=16, seed=2)
    async with noted.house(tmp_path, claude_binary.path, agent_home.environment) as held:
        (held.tree / "shot.png").write_bytes(b"what the file is by now is not sent")
        run = await held.start("hello", script="")
        await held.until(run, lambda v: v.turns and v.turns[0].state is TurnState.SETTLED, SECONDS)
        text = "/look at @shot.png and @other.png"
        assert isinstance(await held.do(Say(run=run, text=text, images=(shot, other), literal=True)), Said)
        view = await held.until(run, lambda v: len(v.turns) == 2 and v.turns[1].state is TurnState.SETTLED, SECONDS)
        assert view.turns[1].result is TurnResultKind.SUCCESS, view.turns[1]
        assert [one.name for one in view.turns[1].images] == ["shot.png", "other.png"]
        with_images = [call for call in loopback.calls if call.images]
        assert with_images, [call.said for call in loopback.calls]
        assert with_images[0].images == tuple(
            ("image/png", len(one.data), hashlib.sha256(one.data).hexdigest()) for one in (shot, other)
        )
        said = [words.strip() for words in with_images[0].said]
        assert said.count(text) == 1, said
        assert not any("what the file is by now" in words for words in said), "no file is read into them"
        assert await held.coordinator.house.ledger.read(verify) is None
        await held.do(Stop(run=run))
