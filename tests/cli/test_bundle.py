"""The bug report: it says what there is to say of the machine, and nothing of what was said, asked, named or kept."""

import gzip
import json
import os
from contextlib import closing
from pathlib import Path

import pytest

from app.cli import program
from store import migrate, open
from store.tx import Tx
from store.vocab import Millis
from tests.cli.running import Ran, footplate
from tests.store.scenes import new_ledger
from tests.store.test_upgrade import LEDGERS
from tests.store.whole import a_whole_life

ENVIRONMENT = {
    "GITHUB_TOKEN": "tok-of-the-environment-1",
    "DATABASE_URL": "postgres://mara:pw-in-an-address@db/x",
    "ANTHROPIC_API_KEY": "sk-ant-api03-QUJDREVGR0hJSktMTU5PUFFSU1RVVldYWVo5",
    "LANG": "tok-of-the-environment-1",
}
"""The last one: a secret where no secret should be, in what is told with its value."""
CONFIG = """
operator = "Mara Lindqvist"
preset = "overnight"
max_held_sessions = 3
[keys]
stop = "f10"
[notify]
command = ["curl", "https://hooks.example/T0/hook-in-an-address"]
[repository."/srv/clients/acme-rockets"]
setup = "NPM_AUTH=tok-of-a-setup-1 npm ci"
[pools.agents.practice]
day = 4.00
"""
AGENTS = """
[claude]
model = "opus"
args = ["--append-system-prompt", "words of the operator"]
[acme-coder]
driver = "acp"
program = "/opt/acme-rockets/coder"
env = { CODER_PASSWORD = "pass-of-an-agent-1", PLAIN = "plain-of-an-agent-1" }
"""
RULES = """
[[rule]]
is = "allow command deploy --to acme-rockets"
repository = "/srv/clients/acme-rockets"
"""
LOG = """\
2026-11-29 09:00:00,001 4711 WARNING coordinator.turntrees: the tree after turn 2 was not noted: [Errno 28] No space \
left on device: '/srv/clients/acme-rockets/x'
2026-11-29 09:00:01,001 4711 WARNING coordinator.commands: command 7 cannot be read: 'please mend the leaking boiler'
2026-11-29 09:00:02,001 4711 ERROR coordinator.session: run 3: the session's own code failed
Traceback (most recent call last):
  File "/opt/tools/lib/python3.12/site-packages/coordinator/session.py", line 268, in act
    raise ValueError(words_of_a_person)
ValueError: a secret plan of the operator
  | OSError: [Errno 13] Permission denied: '/srv/clients/acme-rockets/y'
the second line of a message with words in it
"""
TRACE = """\
Traceback (most recent call last):
  File "/home/mara/work/footplate/app/cli/looking.py", line 40, in ls
    text = "words in the source"
sqlite3.OperationalError: no such table: turns
"""
PLANTED = (
    *(value for name, value in ENVIRONMENT.items() if name != "DATABASE_URL"), "pw-in-an-address", "Mara", "Lindqvist",
    "hook-in-an-address", "acme", "tok-of-a-setup-1", "words", "pass-of-an-agent-1", "plain-of-an-agent-1", "deploy",
    "boiler", "secret plan", "curl", "npm ci",
)  # fmt: skip


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A house in which secrets lie about, and a ledger with a life in it."""
    folder = tmp_path / "mara" / "house"
    (folder / "logs").mkdir(parents=True, mode=0o700)
    folder.chmod(0o700)
    (folder / "config.toml").write_text(CONFIG)
    (folder / "agents.toml").write_text(AGENTS)
    (folder / "rules.toml").write_text(RULES)
    (folder / "logs" / "footplate.log").write_text(LOG)
    (folder / "logs" / "footplate-trace-abc.txt").write_text(TRACE)
    (folder / "ledger.db").write_bytes(new_ledger())
    with closing(open.connect(folder / "ledger.db")) as conn:
        conn.execute("BEGIN IMMEDIATE")
        a_whole_life(Tx(conn, Millis(1_700_000_000_000)))
        conn.execute("COMMIT")
    return folder


def bundle(home: Path, target: str = "-", **more: str) -> Ran:
    return footplate(home, "doctor", "--bundle", target, more={**ENVIRONMENT, "HOME": str(home.parent), **more})


def texts(home: Path) -> set[str]:
    """Whatever somebody may have written, of every table: values with a blank in them, and what is in them as JSON."""
    found: set[str] = set()
    with closing(open.connect(home / "ledger.db", mode="ro")) as conn:
        tables = [name for (name,) in conn.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        for table in tables:
            for row in conn.execute(f'SELECT * FROM "{table}"'):
                for value in row:
                    text = value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)
                    found |= {part for part in text.replace('"', "\n").split("\n") if " " in part.strip()}
    return {one for one in found if len(one) > 6}


def test_no_planted_secret_no_name_and_no_word_of_a_conversation_is_in_it(home: Path) -> None:
    ran = bundle(home)
    assert (ran.code, ran.err) == (0, "")
    assert [one for one in PLANTED if one in ran.out] == []
    said = texts(home)
    assert len(said) > 5 and any("mend the roof" in one for one in said), "there is something to find"
    assert [one for one in said if one in ran.out] == []
    assert str(home.parent) not in ran.out


def test_only_what_lies_at_home_is_said_to_be_there(home: Path) -> None:
    beside = bundle(home, HOME=str(home)[:-2]).out
    assert "~se" not in beside and str(home) in beside
    home.chmod(0o755)
    told = next(row for row in bundle(home).out.splitlines() if "open to others" in row)
    assert told.count("~/house,") + told.count("~/house ") <= 1, "several folders that are one are named once"


def test_what_helps_is_in_it(home: Path) -> None:
    out = bundle(home).out
    for line in (
        "preset = overnight", "max_held_sessions = 3", "keys.stop = f10", "operator: set",
        "notify.command: 2 in a list",
        "repository.(one of yours, 1).setup: set", "pools.agents.practice.day = 4.0", "claude.model = opus",
        "(one of yours, 2).driver = acp", "(one of yours, 2).env: 2 set", "allow command: 1", "runs: interrupted 1",
        "the tree after turn 2 was not noted: [Errno 28] No space left on device:", "coordinator/session.py:268 in act",
        "app/cli/looking.py:40 in ls", "sqlite3.OperationalError: no such table: turns", "GITHUB_TOKEN",
    ):  # fmt: skip
        assert (line in out) is (line != "GITHUB_TOKEN"), line
    assert "\nValueError\n" in out and "OSError: [Errno 13] Permission denied:" in out
    newest = migrate.newest(migrate.released())
    assert f"schema {newest}, this version writes {newest}\n" in out and "\n  turns: " in out
    for what in ("ok    git: git version", "textual 8.", "SQLite 3.", "ok    sqlite:"):
        assert what in out, what


def test_it_is_one_new_file_for_its_owner_alone(home: Path, tmp_path: Path) -> None:
    path = tmp_path / "report.txt"
    ran = bundle(home, str(path))
    assert (ran.code, ran.err) == (0, "") and "Nothing was sent" in ran.out
    assert path.stat().st_mode & 0o777 == 0o600 and "== ledger ==" in path.read_text()
    path.write_text("mine")
    again = bundle(home, str(path))
    assert (again.code, path.read_text()) == (1, "mine") and "file exists; give the name of a new file." in again.err


def test_what_is_broken_is_said_and_keeps_nothing_else_out(home: Path) -> None:
    whole = (home / "ledger.db").read_bytes()
    (home / "ledger.db").write_bytes(whole[:6000] + os.urandom(2000))
    (home / "config.toml").write_text('operator = "Mara')
    ran = bundle(home)
    assert ran.code == 0 and "config.toml: cannot be read (TOMLDecodeError)" in ran.out
    assert "not readable to its end" in ran.out and "== log" in ran.out
    assert [one for one in PLANTED if one in ran.out] == []


@pytest.mark.parametrize("schema", range(1, migrate.newest(migrate.released())))
def test_a_ledger_of_an_earlier_form_is_counted_as_it_lies(
    home: Path, schema: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    old = gzip.decompress((LEDGERS / f"schema-{schema}.db.gz").read_bytes())
    (home / "ledger.db").write_bytes(old)
    monkeypatch.setenv("FOOTPLATE_HOME", str(home))
    assert program.run(["doctor", "--bundle", "-"]) == 0
    assert f"schema {schema}, this version writes" in capsys.readouterr().out
    assert (home / "ledger.db").read_bytes() == old and not list(home.glob("ledger.db-*")), "a look leaves nothing"


def test_doctor_as_json_says_each_finding_with_its_remedy(home: Path) -> None:
    ran = footplate(home, "doctor", "--json")
    told = json.loads(ran.out)
    assert ran.code == (0 if told["ok"] else 1)
    assert {"footplate", "configuration", "folders", "disk", "sqlite", "ledger", "git"} <= {
        one["what"] for one in told["findings"]
    }
    assert all(one["level"] in ("ok", "note", "bad") for one in told["findings"])
    assert all(one["remedy"] for one in told["findings"] if one["level"] == "bad")
