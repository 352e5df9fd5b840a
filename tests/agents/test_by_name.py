"""An operator who has the agents on their path and nothing configured: what `footplate agents` finds, and one of them
held from the command line, by its name alone."""

import json
from pathlib import Path

import pytest

from tests.agents.conftest import installed
from tests.agents.kinds import CODEX_KIND, KINDS
from tests.agents.surroundings import lonely
from tests.coordinator.held import repository, script
from tests.fakes.accounts import everything_once
from tests.fakes.loopback_model import LoopbackModel
from tests.fakes.plain_process import ROOT, Json, PlainProcess, run_footplate

pytestmark = [pytest.mark.agents, pytest.mark.xdist_group("terminal")]


@pytest.fixture
def operator(tmp_path: Path, loopback: LoopbackModel) -> dict[str, str]:
    """Their environment. Each program is a link in a folder of the path, as their installers leave them."""
    home, programs = tmp_path / "home", tmp_path / "programs"
    programs.mkdir()
    (home / "tmp").mkdir(parents=True)
    environment = lonely(home)
    for kind in KINDS:
        installed(kind.pinned, *kind.needs)
        (programs / kind.profile).symlink_to(kind.pinned.binary)
        environment |= kind.prepare(home, loopback.url)
    environment["PATH"] = f"{programs}:{environment['PATH']}"
    return environment | {"PYTHONPATH": str(ROOT), "PYTHONUTF8": "1", "FOOTPLATE_HOME": str(tmp_path / "house")}


def test_found_chosen_held_and_known_to_be_signed_in(operator: dict[str, str], tmp_path: Path) -> None:
    tree = repository(tmp_path / "tree")

    def agents() -> dict[str, Json]:
        told = run_footplate(operator, "agents", "--json", cwd=tree)
        assert told.code == 0, told.err
        return {one["name"]: one for one in json.loads(told.out)["agents"]}

    found = agents()
    for kind in KINDS:
        one = found[kind.profile]
        assert one["ready"] and kind.pinned.version in one["version"], one
        assert (one["signed_in"], one["resumes"]) == (None, kind.resumes), one

    write = CODEX_KIND.write(tree / "made.txt", "by hand")
    brief = "Make it. " + script({"text": "on it", "tools": [write]}, {"text": "it is made"})
    with PlainProcess(brief, repository=tree, environment=operator, agent="codex") as plain:
        asked = plain.asked(1)
        assert "+by hand" in asked["subject"]
        plain.type(f"allow {asked['id']}")
        plain.saw("turn", n=1, state="settled", result="success")
        plain.type("finish")
        assert plain.code() == 0
    assert (tree / "made.txt").read_text() == "by hand\n"
    assert agents()["codex"]["signed_in"] is True
    everything_once(tmp_path / "house", "codex")
