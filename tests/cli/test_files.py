"""Configuration, folders, agent profiles, and what of the environment an agent is given."""

import os
import stat
import sys
from pathlib import Path

import pytest
from msgspec.structs import replace

from app import config, paths
from app.cli.configwords import as_written
from coordinator import profiles, programs
from coordinator.environment import ALWAYS_LEFT_BEHIND, agent_environment
from coordinator.profiles import AgentProfile
from coordinator.recording import Pool
from store.refusal import Refusal
from store.vocab import Billing, MicroUsd, RefusalReason
from tests.cli.made import program
from tests.cli.running import footplate


def home(tmp_path: Path) -> paths.Paths:
    return paths.find({"FOOTPLATE_HOME": str(tmp_path / "home")})


# --------------------------------------------------------------------------------------------------------------- paths


def test_everything_lies_under_the_home(tmp_path: Path) -> None:
    found = home(tmp_path)
    assert all(str(folder).startswith(str(tmp_path / "home")) for folder in found.folders())
    old = os.umask(0)
    try:
        assert found.ensure() is None
    finally:
        os.umask(old)
    for folder in found.folders():
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700, folder


def test_folders_that_others_can_look_into_are_closed(tmp_path: Path) -> None:
    found = home(tmp_path)
    found.spool.mkdir(parents=True)
    found.spool.chmod(0o755)
    assert found.ensure() is None
    assert stat.S_IMODE(found.spool.stat().st_mode) == 0o700


def test_a_file_in_the_way_is_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "home").write_text("")
    refusal = home(tmp_path).ensure()
    assert refusal is not None
    assert refusal.reason is RefusalReason.STORAGE
    ran = footplate(tmp_path / "home", "start", "x", "--plain", "--yes")
    assert ran.code == 1
    assert len(ran.err.strip().splitlines()) == 1
    assert "Traceback" not in ran.err


def test_without_a_home_the_folders_are_the_system_s(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME", "XDG_RUNTIME_DIR"):
        monkeypatch.setenv(name, str(tmp_path / name))
    found = paths.find({})
    assert found.config_file == tmp_path / "XDG_CONFIG_HOME" / "footplate" / "config.toml"
    assert found.ledger == tmp_path / "XDG_DATA_HOME" / "footplate" / "ledger.db"
    assert found.runtime == tmp_path / "XDG_RUNTIME_DIR" / "footplate"


# -------------------------------------------------------------------------------------------------------------- config


def write(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def test_no_file_is_the_defaults(tmp_path: Path) -> None:
    assert config.load(home(tmp_path)) == config.Config()


def test_a_whole_file(tmp_path: Path) -> None:
    write(
        home(tmp_path).config_file,
        'operator = "Mara"\nday_budget = 20\nmonth_budget = 100.5\nattendance_minutes = 45\nascii = true\n'
        'preset = "quick"\nhold_seconds = 120\nagent = "practice"\n[keys]\nstop = "f9"\n',
    )
    loaded = config.load(home(tmp_path))
    assert isinstance(loaded, config.Config)
    assert loaded.operator == "Mara"
    assert (loaded.day_budget, loaded.month_budget) == (MicroUsd(20_000_000), MicroUsd(100_500_000))
    assert loaded.attendance_seconds == 2700
    assert loaded.timing().attendance == 2700
    assert loaded.timing().hold_seconds == 120
    assert loaded.keys == {"stop": "f9"}


def test_what_is_in_force_is_shown_as_the_file_would_say_it(tmp_path: Path) -> None:
    """Whoever copies the lines has the same configuration again."""
    text = (
        'operator = "Mara \u00e9\U0001f9ea"\nday_budget = 0.5\nattendance_minutes = 0.75\nturn_timeout_minutes = 7\n'
        'stalled_minutes = 1.5\nmouse = false\n[keys]\nstop = "f9"\n[notify]\ncommand = "say \'it is\' me"\n'
        "silent = false\n"
        f'[pools.agents.claude]\nday = 10\n[repository."{tmp_path}"]\nsetup = "npm ci"\nchecks = ["a \\"b\\"", "c"]\n'
    )
    for number, one in enumerate(("", text)):
        first = config.parse_file(write(tmp_path / f"{number}.toml", one))
        assert isinstance(first, config.Config), first
        shown = list(as_written(first, operator=first.operator or "root"))
        again = config.parse_file(write(tmp_path / f"{number}-again.toml", "\n".join(shown)))
        assert again == replace(first, operator=first.operator or "root")
        assert not any("seconds" in said for said in shown if not said.startswith(("hold_", "command_")))


@pytest.mark.parametrize(
    ("text", "key", "part"),
    [
        ('day_budget = "lots"', "day_budget", "expected"),
        ("day_budget = -1", "day_budget", "expected"),
        ("dya_budget = 1", "dya_budget", "no such key"),
        ('preset = "huge"', "preset", "quick, normal, overnight"),
        ('on_disconnect = "perhaps"', "on_disconnect", "invalid"),
        ("max_held_sessions = 0", "max_held_sessions", "expected"),
        ("[keys]\nstop = 3", "keys[...]", "expected"),
        ("this is = = not", "", "not TOML"),
        ("[pools]\nclaude = 3", "pools.claude", "no such key"),
        ("[pools.agents]\nclaude = 3", "pools.agents.claude", "expected"),
        ("[pools.agents.claude]\nday = -1", "pools.agents.claude.day", "expected"),
        ("[pools.agents.claude]\nweek = 1", "pools.agents.claude.week", "no such key"),
        ("[pools.agents.claude]", "pools.agents.claude", "give day, month or both"),
    ],
)
def test_an_error_names_file_and_key(tmp_path: Path, text: str, key: str, part: str) -> None:
    file = write(home(tmp_path).config_file, text)
    refusal = config.load(home(tmp_path))
    assert isinstance(refusal, Refusal)
    assert refusal.reason is RefusalReason.CONFIG_INVALID
    assert refusal.facts["file"] == str(file)
    assert refusal.facts["key"] == key
    assert part in str(refusal.facts["problem"])


def test_a_bad_configuration_refuses_each_command_in_one_sentence(tmp_path: Path) -> None:
    write(home(tmp_path).config_file, "dya_budget = 1")
    ran = footplate(tmp_path / "home", "ls")
    assert ran.code == 1
    assert ran.err == (
        f"{home(tmp_path).config_file} cannot be used: key dya_budget: there is no such key; "
        "correct it, or move it away.\n"
    )


def test_an_agents_own_pool_is_read_shown_and_must_be_an_agents(tmp_path: Path) -> None:
    file = write(home(tmp_path).config_file, "[pools.agents.claude]\nday = 10.00\nmonth = 100\n")
    loaded = config.load(home(tmp_path))
    assert isinstance(loaded, config.Config)
    assert loaded.agent_pools == {"claude": Pool(day=MicroUsd(10_000_000), month=MicroUsd(100_000_000))}
    assert '[pools.agents."claude"]\nday = 10.00\nmonth = 100.00\n' in footplate(tmp_path / "home", "config").out
    budget = footplate(tmp_path / "home", "budget")
    assert budget.code == 0 and "today, claude" in budget.out and "this month, claude" in budget.out
    write(file, "[pools.agents.cluade]\nday = 10.00\n")
    mistyped = footplate(tmp_path / "home", "config")
    assert (mistyped.code, mistyped.err) == (
        1,
        f"{file} cannot be used: key pools.agents.cluade: there is no agent of that name, there are "
        f"{', '.join(sorted(one.name for one in profiles.builtin({})))}; correct it, or move it away.\n",
    )


def test_who_the_operator_is(tmp_path: Path) -> None:
    around = {"PATH": os.environ["PATH"], "HOME": str(tmp_path)}
    assert config.operator_name(config.Config(operator="Mara"), around) == "Mara"
    write(tmp_path / ".gitconfig", "[user]\n\tname = Mara Git\x07\n")
    assert config.operator_name(config.Config(), around) == "Mara Git"
    (tmp_path / ".gitconfig").unlink()
    assert config.operator_name(config.Config(), around)


# ------------------------------------------------------------------------------------------------------------ profiles


def claude(path: Path, version: str = "2.1.332 (Claude Code)") -> Path:
    return program(path, f"#!/bin/sh\necho '{version}'\n")


def test_builtin_profiles() -> None:
    by_name = {one.name: one for one in profiles.builtin({})}
    assert list(by_name)[:2] == ["claude", "practice"]
    assert by_name["claude"].billing is Billing.SUBSCRIPTION
    assert by_name["practice"].billing is Billing.PRACTICE
    assert by_name["practice"].program == sys.executable
    assert Path(by_name["practice"].args[-1]).is_file()
    assert {one.name: one for one in profiles.builtin({"ANTHROPIC_API_KEY": "k"})}["claude"].billing is Billing.KEY


def test_agents_file_changes_and_adds(tmp_path: Path) -> None:
    file = write(
        tmp_path / "agents.toml",
        '[claude]\nmodel = "opus"\nspared = ["gpg-agent"]\n'
        '[mine]\ndriver = "claude"\nprogram = "/opt/c"\nenv_allow = ["X_TOKEN"]\n',
    )
    loaded = profiles.load(file, {})
    assert not isinstance(loaded, Refusal)
    by_name = {one.name: one for one in loaded}
    assert by_name["claude"].model == "opus"
    assert by_name["claude"].install
    assert by_name["mine"].program == "/opt/c"


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ('[mine]\ndriver = "telepathy"\nprogram = "x"', "mine.driver"),
        ('[mine]\ndriver = "claude"', "mine.program"),
        ('[mine]\nprogram = "x"', "mine.driver"),
        ("[claude]\nmodle = 1", "claude.modle"),
        ("[claude]\nargs = [1]", "claude.args[0]"),
        ('[claude]\nbilling = "practice"', "claude.billing"),
        ('[practice]\nbilling = "key"', "practice.billing"),
        ('["Bad Name"]\ndriver = "claude"\nprogram = "x"', "Bad Name"),
        ("claude = 3", "claude"),
    ],
)
def test_an_agents_file_error_names_file_and_key(tmp_path: Path, text: str, key: str) -> None:
    refusal = profiles.load(write(tmp_path / "agents.toml", text), {})
    assert isinstance(refusal, Refusal)
    assert refusal.facts["key"] == key


def only_claude(tmp_path: Path, version: str) -> profiles.Found:
    claude(tmp_path / "bin" / "claude", version)
    return profiles.look(profiles.builtin({})[0], str(tmp_path / "bin"))


def test_a_found_agent(tmp_path: Path) -> None:
    found = only_claude(tmp_path, "2.1.332 (Claude Code)")
    assert found.ready
    assert found.program == str(tmp_path / "bin" / "claude")
    assert found.version == "2.1.332 (Claude Code)"


@pytest.mark.parametrize("version", ["1.0.3 (Claude Code)", "2.1.196", "unknown"])
def test_a_version_that_cannot_be_held(tmp_path: Path, version: str) -> None:
    found = only_claude(tmp_path, version)
    assert found.problem is not None
    assert found.problem.reason is RefusalReason.AGENT_VERSION
    assert found.problem.facts["oldest"] == "2.1.197"


def test_no_agent_found_and_never_one_from_the_tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    claude(tmp_path / "claude")
    monkeypatch.chdir(tmp_path)
    found = profiles.look(profiles.builtin({})[0], f":.:{tmp_path / 'nowhere'}")
    assert found.problem is not None
    assert found.problem.reason is RefusalReason.AGENT_NOT_FOUND
    assert found.problem.facts["install"] == "npm install -g @anthropic-ai/claude-code"


def test_a_version_is_asked_without_secrets_and_in_bounded_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-secret")
    seen = tmp_path / "seen"
    asked = program(tmp_path / "bin" / "claude", f"#!/bin/sh\nenv > {seen}\necho 2.1.400\n")
    assert programs.probe_version(asked, os.environ["PATH"]).version == "2.1.400"
    assert "sk-secret" not in seen.read_text()
    slow = program(tmp_path / "bin" / "slow", f"#!/bin/sh\necho x >> {seen}.slow\nsleep 60 &\nwait\n")
    for _ in range(3):  # as with each change of the terms
        probe = programs.probe_version(slow, os.environ["PATH"], timeout=1.0)
        assert probe.version is None
        assert "did not answer" in probe.problem
    assert Path(f"{seen}.slow").read_text() == "x\n", "it was waited for once"
    broken = program(tmp_path / "bin" / "broken", "#!/bin/sh\nexit 3\n")
    assert programs.probe_version(broken, os.environ["PATH"]).problem == "its --version ended with exit 3"


def test_versions_are_remembered_until_the_file_changes(tmp_path: Path) -> None:
    count = tmp_path / "count"
    asked = program(tmp_path / "bin" / "claude", f"#!/bin/sh\necho x >> {count}\necho 2.1.400\n")
    cache = tmp_path / "versions.json"
    for _ in range(3):
        assert programs.probe_version(asked, os.environ["PATH"], cache=cache).version == "2.1.400"
    assert count.read_text().count("x") == 1
    program(asked, f"#!/bin/sh\necho x >> {count}\necho 2.1.401 longer\n")
    assert programs.probe_version(asked, os.environ["PATH"], cache=cache).version == "2.1.401 longer"
    cache.write_text("{broken")
    assert programs.probe_version(asked, os.environ["PATH"], cache=cache).version == "2.1.401 longer"


def test_the_native_binary_behind_a_launcher_script(tmp_path: Path) -> None:
    scope = tmp_path / "lib" / "node_modules" / "@anthropic-ai"
    launcher = program(scope / "claude-code" / "cli.js", "#!/usr/bin/env node\n")
    (tmp_path / "bin").mkdir()
    linked = tmp_path / "bin" / "claude"
    linked.symlink_to(launcher)
    assert programs.native_binary(linked) == linked
    for name in programs._platform_packages("claude-code"):
        native = scope / name / "claude"
        native.parent.mkdir(parents=True)
        native.write_bytes(Path("/bin/true").resolve().read_bytes())
        native.chmod(0o755)
    found = programs.native_binary(linked)
    assert found.parent.name.startswith("claude-code-")
    assert found.name == "claude"


def test_claude_can_be_named_for_tests(tmp_path: Path) -> None:
    named = claude(tmp_path / "elsewhere" / "claude-next")
    ran = footplate(tmp_path / "h", "agents", "--json", more={"FOOTPLATE_CLAUDE": str(named)})
    assert ran.code == 0
    assert f'"program": "{named}"' in ran.out


# --------------------------------------------------------------------------------------------------------- environment

PLAIN = AgentProfile(name="p", driver="claude", program="p")
CLAUDE = profiles.builtin({})[0]


@pytest.mark.parametrize(
    "name",
    [
        "TMUX", "TMUX_PANE", "STY", "FOOTPLATE_HOME", "FOOTPLATE_CUSTODY", "GITHUB_TOKEN", "github_token", "NPM_TOKEN",
        "AWS_SECRET_ACCESS_KEY", "DB_PASSWORD", "OPENAI_API_KEY", "CLAUDECODE", "SENTRY_DSN", "DATABASE_URL",
        "GOOGLE_APPLICATION_CREDENTIALS", "TOKEN",
    ],
)  # fmt: skip
def test_what_is_left_behind(name: str) -> None:
    assert agent_environment({name: "x", "PATH": "/bin"}, PLAIN) == {"PATH": "/bin"}


@pytest.mark.parametrize(
    "name", ["PATH", "HOME", "LANG", "SSH_AUTH_SOCK", "EDITOR", "KEYBOARD", "NO_COLOR", "TOKENIZERS"]
)
def test_what_goes_along(name: str) -> None:
    assert agent_environment({name: "x"}, PLAIN) == {name: "x"}


def test_a_profile_lets_through_and_keeps_back() -> None:
    source = {"ANTHROPIC_API_KEY": "k", "CLAUDE_CODE_OAUTH_TOKEN": "t", "GITHUB_TOKEN": "g", "TMUX": "x"}
    assert agent_environment(source, CLAUDE) == {"ANTHROPIC_API_KEY": "k", "CLAUDE_CODE_OAUTH_TOKEN": "t"}
    bold = AgentProfile(name="p", driver="claude", program="p", env_allow=("*",), env_deny=("GITHUB_*",))
    assert agent_environment(source | {"FOOTPLATE_CUSTODY": "n"}, bold) == {
        "ANTHROPIC_API_KEY": "k",
        "CLAUDE_CODE_OAUTH_TOKEN": "t",
    }


def test_the_driver_sets_and_drops() -> None:
    given = agent_environment({"A": "1", "B": "2"}, PLAIN, {"CLAUDE_CODE_X": "1", "A": "9"}, {"B"})
    assert given == {"A": "9", "CLAUDE_CODE_X": "1"}
    assert agent_environment({}, PLAIN, {"FOOTPLATE_CUSTODY": "forged", "TMUX": "x"}) == {}
    assert all(pattern == pattern.upper() for pattern in ALWAYS_LEFT_BEHIND)
