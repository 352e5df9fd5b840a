"""Which agents there are: what is built in, what ``agents.toml`` adds, which versions can be held, and what the list of
them and ``doctor`` say."""

import json
import os
import platform
import re
from pathlib import Path

import pytest

from app import wording
from app.cli import agentlist, checkup
from coordinator import knownversions, profiles, programs
from coordinator.abilities import capabilities
from coordinator.builtinagents import UNTRIED
from coordinator.drivers.base import CostBasis
from coordinator.drivers.registry import DRIVERS
from coordinator.environment import agent_environment
from coordinator.profiles import AgentProfile
from store.refusal import Refusal
from store.vocab import Billing, RefusalReason
from tests.cli.made import program
from tests.cli.running import ROOT, footplate, repository

BUILT_IN = {one.name: one for one in profiles.builtin({})}


def native(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(Path("/bin/true").resolve().read_bytes())
    path.chmod(0o755)
    return path


def load(tmp_path: Path, text: str) -> dict[str, AgentProfile] | Refusal:
    file = tmp_path / "agents.toml"
    file.write_text(text)
    loaded = profiles.load(file, {})
    return loaded if isinstance(loaded, Refusal) else {one.name: one for one in loaded}


# ------------------------------------------------------------------------------------------------------------ profiles


def test_every_built_in_agent_can_be_held_and_says_how_to_get_it() -> None:
    for one in BUILT_IN.values():
        can = capabilities(one)
        assert one.driver in DRIVERS and can is not None, one.name
        assert one.title and one.title == wording.agent_title(one.name)
        assert one.install or one.name in ("practice", "bash", "python"), "these come with the machine"
        # Who is asked nothing is a program on a terminal, and nothing else.
        assert can.asks_permission is not can.terminal, one.name
        if can.modes:
            assert not wording.mode_words(can.modes[0]).startswith("in its mode"), f"{one.name} {can.modes[0]}"


def test_who_pays_is_seen_from_the_environment_and_the_sign_in(tmp_path: Path) -> None:
    def billing(name: str, **source: str) -> Billing:
        return {one.name: one.billing for one in profiles.builtin(source)}[name]

    assert billing("gemini") is Billing.SUBSCRIPTION
    assert billing("gemini", GEMINI_API_KEY="k") is Billing.KEY
    assert billing("codex", HOME=str(tmp_path)) is Billing.SUBSCRIPTION
    assert billing("codex", HOME=str(tmp_path), OPENAI_API_KEY="k") is Billing.KEY
    signed_in = tmp_path / ".codex" / "auth.json"
    signed_in.parent.mkdir()
    for said, expected in (
        ('{"auth_mode": "apikey"}', Billing.KEY),
        ('{"auth_mode": "chatgpt"}', Billing.SUBSCRIPTION),
        ("[]", Billing.KEY),
        ("not json", Billing.KEY),
    ):
        signed_in.write_text(said)
        assert billing("codex", HOME=str(tmp_path), OPENAI_API_KEY="k") is expected, said


def test_an_unknown_agent_takes_three_lines(tmp_path: Path) -> None:
    loaded = load(tmp_path, '[mine]\ndriver = "acp"\nprogram = "mine-acp"\n')
    assert not isinstance(loaded, Refusal)
    assert loaded["mine"] == AgentProfile(
        name="mine", driver="acp", program="mine-acp", title="mine", caution=UNTRIED
    ), "the terms say that nobody knows whether it asks"


def test_every_key_of_a_table_is_taken(tmp_path: Path) -> None:
    loaded = load(
        tmp_path,
        '[mine]\ndriver = "pty"\nprogram = "~/psql"\ntitle = "psql"\nargs = ["-X"]\nenv_allow = ["PGPASS*"]\n'
        'env_deny = ["AWS_*"]\nbilling = "subscription"\nspared = ["d"]\ninstall = "apt"\nversion_args = ["-V"]\n'
        'prompt = "=[>#] $"\nquiet_ms = 300\nquit = "\\\\q"\n[mine.env]\nPAGER = "cat"\n'
        '[codex]\nmode = "read-only"\nmodel = "m"\n[gemini]\nargs = ["--acp", "--debug"]\n',
    )
    assert not isinstance(loaded, Refusal)
    mine = loaded["mine"]
    assert (mine.program, mine.args, mine.version_args) == (str(Path("~/psql").expanduser()), ("-X",), ("-V",))
    assert (mine.prompt, mine.quiet_ms, mine.quit) == ("=[>#] $", 300, "\\q")
    assert loaded["codex"].mode == "read-only" and loaded["codex"].install
    assert loaded["gemini"].args == ("--acp", "--debug")
    given = agent_environment({"PAGER": "less", "PGPASSWORD": "p", "AWS_X": "a", "MY_TOKEN": "t"}, mine)
    assert given == {"PAGER": "cat", "PGPASSWORD": "p"}
    assert agent_environment({}, mine, {"PAGER": "driver"}) == {"PAGER": "driver"}


def test_what_the_readme_shows_is_taken(tmp_path: Path) -> None:
    blocks = re.findall(r"```toml\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)
    (shown,) = [block for block in blocks if "[claude]" in block]
    loaded = load(tmp_path, shown)
    assert not isinstance(loaded, Refusal), loaded
    assert loaded["psql"].quit == "\\q" and loaded["mine"].driver == "acp"
    named = re.findall(r"Built in are (.*?);", (ROOT / "README.md").read_text(), re.DOTALL)[0]
    assert sorted(re.findall(r"`([\w-]+)`", named)) == sorted(BUILT_IN)


def test_a_table_for_another_protocol_takes_nothing_of_the_built_in_one(tmp_path: Path) -> None:
    loaded = load(tmp_path, '[gemini]\ndriver = "pty"\n')
    assert not isinstance(loaded, Refusal)
    assert (loaded["gemini"].program, loaded["gemini"].args) == ("gemini", ()), "--acp is no use on a terminal"


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ('[mine]\ndriver = "acp"\nprogram = "x"\nprompt = "> "', "mine.prompt"),
        ("[claude]\nquiet_ms = 100", "claude.quiet_ms"),
        ("[bash]\nquiet_ms = 1", "bash.quiet_ms"),
        ('[bash]\nprompt = "("', "bash.prompt"),
        ('[mine]\ndriver = "acp"\nprogram = "~nobody-of-this-name/x"', "mine.program"),
        ('[bash.env]\n"NO WAY" = "x"', "bash.env"),
        ("[bash.env]\nNUMBER = 3", "bash.env[...]"),
    ],
)
def test_a_mistake_names_its_key(tmp_path: Path, text: str, key: str) -> None:
    refusal = load(tmp_path, text)
    assert isinstance(refusal, Refusal)
    assert refusal.facts["key"] == key


# ------------------------------------------------------------------------------------------------- programs, versions


def test_one_that_tells_no_version_can_be_held_if_it_runs(tmp_path: Path) -> None:
    mine = AgentProfile(name="mine", driver="acp", program="mine")
    where = f"{tmp_path}{os.pathsep}{os.environ['PATH']}"
    program(tmp_path / "mine", "#!/bin/sh\nexit 3\n")
    found = profiles.look(mine, where)
    assert found.ready and found.version is None
    program(tmp_path / "mine", "#!/usr/bin/env no-such-interpreter-here\n")
    found = profiles.look(mine, where)
    assert found.problem is not None and found.problem.reason is RefusalReason.AGENT_VERSION
    assert "127" in wording.sentence(found.problem)
    asked = tmp_path / "asked"
    program(tmp_path / "mine", f"#!/bin/sh\ntouch {asked}\n")
    assert profiles.look(AgentProfile(name="m", driver="pty", program="mine", version_args=()), where).ready
    assert not asked.exists(), "it may be told not to ask"


def test_that_one_tells_no_version_is_remembered_and_that_claude_does_not_is_not(tmp_path: Path) -> None:
    asked, cache = tmp_path / "asked", tmp_path / "versions.json"
    program(tmp_path / "agent", f"#!/bin/sh\necho x >> {asked}\nexit 3\n")
    for driver, times in (("acp", 1), ("claude", 3)):
        asked.write_text("")
        for _ in range(3):
            found = profiles.look(AgentProfile(name="a", driver=driver, program="agent"), str(tmp_path), cache=cache)
            assert found.ready is (driver == "acp")
        assert asked.read_text().count("x") == times, driver


def package(folder: Path, name: str, version: str) -> Path:
    """An npm package with a launcher, as a global installation leaves it; its program is on the path of ``bin``."""
    home = folder / "lib" / "node_modules" / name
    home.mkdir(parents=True)
    (home / "package.json").write_text(json.dumps({"name": name, "version": version}))
    launcher = program(home / "bin" / "run.js", "#!/bin/sh\nexit 9\n")
    (folder / "bin").mkdir(exist_ok=True)
    return launcher


def test_a_version_known_to_be_broken_is_refused_with_the_reason(tmp_path: Path) -> None:
    adapter = BUILT_IN["claude-agent-acp"]
    for place, name, version, ready in (
        ("old", "@zed-industries/claude-agent-acp", "0.23.1", False),
        ("new", "@agentclientprotocol/claude-agent-acp", "0.101.0", True),
    ):
        (tmp_path / place / "bin").mkdir(parents=True)
        (tmp_path / place / "bin" / "claude-agent-acp").symlink_to(package(tmp_path / place, name, version))
        found = profiles.look(adapter, str(tmp_path / place / "bin"))
        assert (found.version, found.ready) == (version, ready), "where it does not tell, its package does"
        if found.problem is not None:
            said = wording.sentence(found.problem)
            assert "interrupt" in said and said.endswith(f"with: {adapter.install}."), said


def test_older_than_tried_is_said_and_not_refused() -> None:
    codex = BUILT_IN["codex"]
    assert knownversions.older_than_tried(codex, "codex-cli 0.99.9")
    assert not knownversions.older_than_tried(codex, "codex-cli 0.171.0")
    assert not knownversions.older_than_tried(codex, "nightly")
    assert knownversions.unfit(codex, "codex-cli 0.99.9", "@openai/codex") is None


@pytest.mark.parametrize(
    ("name", "started", "holds"),
    [
        ("@openai/codex", "codex", "@openai/codex-{here}/vendor/triple/bin/codex"),
        ("@openai/codex", "codex", "@openai/codex/node_modules/@openai/codex-{here}/vendor/triple/codex/codex"),
        ("opencode-ai", "opencode", "opencode-{here}/bin/opencode"),
        ("@zed-industries/codex-acp", "codex-acp", "@zed-industries/codex-acp-{here}/bin/codex-acp"),
    ],
)
def test_the_native_binary_is_found_where_each_package_keeps_it(
    tmp_path: Path, name: str, started: str, holds: str
) -> None:
    launcher = package(tmp_path, name, "1.2.3")
    on_path = tmp_path / "bin" / started
    on_path.symlink_to(launcher)
    assert programs.native_binary(on_path) == on_path, "nothing native is there yet"
    machine = {"x86_64": "x64", "aarch64": "arm64"}.get(platform.machine(), platform.machine())
    binary = native(tmp_path / "lib" / "node_modules" / holds.format(here=f"linux-{machine}"))
    assert programs.native_binary(on_path) == binary


# ------------------------------------------------------------------------------------------------- the list and doctor


def test_the_list_says_what_each_can_do_and_how_to_get_the_others(tmp_path: Path) -> None:
    program(tmp_path / "bin" / "claude", "#!/bin/sh\necho '2.1.300 (Claude Code)'\n")
    program(tmp_path / "bin" / "bash", "#!/bin/sh\necho 'GNU bash, version 5.2.15(1)'\n")
    program(tmp_path / "bin" / "qwen", "#!/bin/sh\nexit 127\n")
    ran = footplate(tmp_path / "h", "agents", more={"PATH": str(tmp_path / "bin")})
    assert ran.code == 0, ran.err
    rows = {row.split()[0]: row for row in ran.out.splitlines() if row.strip()}
    assert rows["claude"].split() == ["claude", "2.1.300", "not", "known", "yes", "told", "yes", "yes"]
    assert rows["bash"].split() == ["bash", "5.2.15", "–", "no", "not", "told", "yes", "no"]
    assert "older than 2.1.332" in rows["claude:"]
    assert rows["gemini"].strip() == "gemini            npm install -g @google/gemini-cli"
    assert "cannot be held" in ran.out and not ran.out.splitlines()[1].startswith("qwen")
    assert wording.forbidden_in(ran.out) == []
    as_json = json.loads(footplate(tmp_path / "h", "agents", "--json", more={"PATH": str(tmp_path / "bin")}).out)
    told = {one["name"]: one for one in as_json["agents"]}
    assert told["claude"] | {"ready": True, "older": True, "signed_in": None, "cost": "told"} == told["claude"]
    assert told["bash"]["cost"] == CostBasis.UNTOLD and told["bash"]["terminal"] is True
    assert told["codex"]["missing"] is True and told["qwen"]["problem"] == "agent-version"


def test_an_account_that_cannot_be_used_as_asked_is_no_agent_to_offer(tmp_path: Path) -> None:
    program(tmp_path / "bin" / "codex", "#!/bin/sh\necho codex-cli 0.171.0\n")
    signed_in = tmp_path / ".codex" / "auth.json"
    signed_in.parent.mkdir()
    loaded = load(tmp_path, '[codex]\nhome = "per-run"\n')
    assert not isinstance(loaded, Refusal)
    for said, ready in (('{"auth_mode": "chatgpt", "tokens": {"x": "y"}}', False), ('{"auth_mode": "apikey"}', True)):
        signed_in.write_text(said)
        around = {"HOME": str(tmp_path), "PATH": str(tmp_path / "bin")}
        (found,) = profiles.discover([loaded["codex"]], around["PATH"], source=around)
        assert found.ready is ready
        (line,) = agentlist.read([loaded["codex"]], around, cache=tmp_path / "v.json", ledger=tmp_path / "none.db")
        assert line.home == "per-run" and (line.problem is None) is ready


def test_a_start_says_what_no_limit_can_hold_and_never_a_cost_that_nobody_knows(tmp_path: Path) -> None:
    repo = repository(tmp_path / "r")
    (tmp_path / "h").mkdir()
    (tmp_path / "h" / "agents.toml").write_text('[mine]\ndriver = "pty"\nprogram = "cat"\nquiet_ms = 200\n')
    command = ("start", "hello", "--plain", "--agent", "mine", "--yes", "--in-place", "--budget", "5usd")
    ran = footplate(tmp_path / "h", *command, given=b"finish\n", cwd=repo)
    assert ran.code == 0, ran.err
    assert "with no limit of money, asking you nothing before it acts." in ran.out
    assert "Its cost is not told by mine: no limit of money can hold, those of turns and time do." in ran.out
    assert "turn 1 done (brief), – this turn, – so far" in ran.out and "– spent" in ran.out
    shown = footplate(tmp_path / "h", "show", "1").out
    assert "spent: –, and 1 turn of unknown cost" in shown, shown


def findings(home: Path, path: Path) -> dict[str, checkup.Finding]:
    found = checkup.examine({"FOOTPLATE_HOME": str(home), "PATH": str(path), "TERM": "dumb", "HOME": str(home)})
    return {one.what: one for one in found}


def test_doctor_is_silent_about_agents_that_nobody_missed(tmp_path: Path) -> None:
    home = tmp_path / "h"
    home.mkdir()
    (tmp_path / "bin").mkdir()
    alone = findings(home, tmp_path / "bin")
    assert alone["agent claude"].level is checkup.Level.BAD and "npm install" in alone["agent claude"].remedy
    assert alone["other agents"].level is checkup.Level.OK and "gemini" in alone["other agents"].found
    assert "agent gemini" not in alone
    program(tmp_path / "bin" / "codex", "#!/bin/sh\necho codex-cli 0.171.0\n")
    (home / "agents.toml").write_text('[gemini]\nmodel = "flash"\n')
    seen = findings(home, tmp_path / "bin")
    assert seen["agent codex"].level is checkup.Level.OK and "estimated" in seen["agent codex"].found
    assert seen["agent claude"].level is checkup.Level.NOTE, "another one works"
    assert seen["agent gemini"].level is checkup.Level.NOTE, "somebody counts on it"


def test_a_version_is_shown_by_its_numbers() -> None:
    assert agentlist.short_version("GNU bash, version 5.2.15(1)-release (x86_64)") == "5.2.15"
    assert agentlist.short_version(None) == "–"
    assert agentlist.short_version("nightly\x1b[31m") == "nightly␛[31m"
