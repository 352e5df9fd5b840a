"""A home for each run: what is taken into it, and who cannot have one."""

import json
from pathlib import Path

import pytest
from msgspec.structs import replace

from coordinator import abilities, agenthome
from coordinator.agentprofile import PER_RUN, AgentProfile
from coordinator.agentsfile import load
from store.refusal import Refusal
from store.vocab import RefusalReason

PROFILE = AgentProfile(name="codex", driver="codex", program="codex", home=PER_RUN)


@pytest.fixture
def shared(tmp_path: Path) -> Path:
    home = tmp_path / "shared"
    (home / "rules").mkdir(parents=True)
    (home / "rules" / "default.rules").write_text("kept")
    (home / "sessions").mkdir()
    (home / "config.toml").write_text('model = "gpt-5.5"\n')
    return home


@pytest.mark.parametrize(
    "told",
    [
        {"auth_mode": "chatgpt", "tokens": {"refresh_token": "r"}},
        {"OPENAI_API_KEY": None, "tokens": {"refresh_token": "r"}},
        {"auth_mode": "something new"},
        [],
        "{",
    ],
)
def test_an_account_is_never_in_two_homes(shared: Path, told: object) -> None:
    (shared / "auth.json").write_text(told if isinstance(told, str) else json.dumps(told))
    source = {"CODEX_HOME": str(shared)}
    refused = agenthome.problem(PROFILE, source)
    assert isinstance(refused, Refusal) and refused.reason is RefusalReason.ACCOUNT_SHARED
    assert agenthome.problem(replace(PROFILE, home="shared"), source) is None


@pytest.mark.parametrize("signed", [{"auth_mode": "apikey", "OPENAI_API_KEY": "k"}, {"OPENAI_API_KEY": "k"}, None])
def test_a_key_goes_along_with_what_the_operator_decided(shared: Path, tmp_path: Path, signed: object) -> None:
    source = {"CODEX_HOME": str(shared)}
    if signed is None:
        source["OPENAI_API_KEY"] = "k"
    else:
        (shared / "auth.json").write_text(json.dumps(signed))
    folder = tmp_path / "run"
    folder.mkdir()
    assert agenthome.problem(PROFILE, source) is None
    agenthome.make(PROFILE, source, folder)
    home = Path(agenthome.variables(PROFILE, folder)["CODEX_HOME"])
    assert sorted(one.name for one in home.iterdir()) == ["auth.json", "config.toml", "rules"]
    assert json.loads((home / "auth.json").read_text()) == {"auth_mode": "apikey", "OPENAI_API_KEY": "k"}
    assert home.stat().st_mode & 0o777 == 0o700 and (home / "auth.json").stat().st_mode & 0o777 == 0o600
    (home / "rules" / "default.rules").write_text("of this run")
    agenthome.make(PROFILE, source, folder)
    assert (home / "rules" / "default.rules").read_text() == "of this run", "a second start finds its own"
    assert (shared / "rules" / "default.rules").read_text() == "kept"
    able = abilities.capabilities(PROFILE)
    assert able is not None and not able.resumes, "what is removed is not resumed"
    agenthome.remove(folder)
    assert list(folder.iterdir()) == []
    agenthome.remove(folder)


def test_the_shared_home_is_left_alone(shared: Path, tmp_path: Path) -> None:
    profile = replace(PROFILE, home="shared")
    agenthome.make(profile, {"CODEX_HOME": str(shared)}, tmp_path / "none")
    assert agenthome.variables(profile, tmp_path / "none") == {} and not (tmp_path / "none").exists()


@pytest.mark.parametrize(
    ("table", "key"),
    [('[claude]\nhome = "per-run"\n', "claude.home"), ('[codex]\nhome = "elsewhere"\n', "codex.home")],
)
def test_only_codex_can_have_one(tmp_path: Path, table: str, key: str) -> None:
    path = tmp_path / "agents.toml"
    path.write_text(table)
    refused = load(path, {})
    assert isinstance(refused, Refusal) and refused.facts["key"] == key
