"""The door: what is answered before anything is loaded, and what is loaded by what."""

import ast
import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from app.cli.help_text import TOP
from app.main import VERSION
from tests.cli.running import ROOT, environment, footplate

LOADED_AFTER = """
import sys, runpy
sys.argv = ["footplate", *{arguments!r}]
try:
    runpy.run_module("app.main", run_name="__main__")
except SystemExit:
    pass
print(file=sys.stderr)
print(" ".join(sorted(sys.modules)), file=sys.stderr)
"""


def modules_after(home: Path, *arguments: str) -> set[str]:
    done = subprocess.run(
        [sys.executable, "-c", LOADED_AFTER.format(arguments=list(arguments))],
        cwd=ROOT,
        env=environment(home),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    return set(done.stderr.rpartition("\n\n")[2].split() or done.stderr.split())


def test_the_version_is_the_package_s(tmp_path: Path) -> None:
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    assert declared == VERSION
    ran = footplate(tmp_path / "h", "--version")
    assert (ran.code, ran.out, ran.err) == (0, f"footplate {VERSION}\n", "")


@pytest.mark.parametrize("argument", ["--help", "-h", "help"])
def test_help_is_the_static_text(tmp_path: Path, argument: str) -> None:
    ran = footplate(tmp_path / "h", argument)
    assert (ran.code, ran.out, ran.err) == (0, TOP, "")
    assert not (tmp_path / "h").exists()


def test_the_static_help_names_every_command_there_is() -> None:
    from app.cli.program import PROGRAM

    named = {command.name for command in (*PROGRAM.registered_commands, *PROGRAM.registered_groups)}
    told = set(re.findall(r"^  ([a-z]+)(?: |$)", TOP, re.MULTILINE)) - {"footplate"}
    assert named - {"demo", "tour"} <= told
    assert "footplate demo" in TOP and "footplate tour" in TOP
    assert told <= named
    assert all(len(line) <= 79 for line in TOP.splitlines())


@pytest.mark.parametrize("argument", ["--version", "--help"])
def test_the_door_loads_nothing(tmp_path: Path, argument: str) -> None:
    loaded = modules_after(tmp_path / "h", argument)
    assert "app.main" in loaded or "__main__" in loaded
    ours = {
        name for name in loaded if name.split(".")[0] in ("coordinator", "store", "typer", "textual", "msgspec", "rich")
    }
    assert ours == set()


@pytest.mark.parametrize(
    "arguments",
    [
        ("start", "--help"),
        ("ls",),
        ("show", "1"),
        ("say", "1", "x"),
        ("agents",),
        ("start", "x", "--plain"),
        ("doctor",),
    ],
)
def test_the_command_line_loads_no_textual(tmp_path: Path, arguments: tuple[str, ...]) -> None:
    loaded = modules_after(tmp_path / "h", *arguments)
    assert "app.cli.program" in loaded
    assert not {name for name in loaded if name.split(".")[0] == "textual"}


def test_help_of_a_command_loads_no_ledger_and_no_rich(tmp_path: Path) -> None:
    loaded = modules_after(tmp_path / "h", "start", "--help")
    assert not {"rich", "asyncio", "aiosqlite", "sqlite3", "msgspec", "coordinator.api"} & loaded


def test_what_is_typed_wrongly_is_usage_in_one_sentence(tmp_path: Path) -> None:
    home = tmp_path / "h"
    for arguments in (
        ("nonsense",),
        ("ls", "--nope"),
        ("ls", "--limit", "many"),
        ("show",),
        ("stop",),
        ("stop", "1", "--all"),
    ):
        ran = footplate(home, *arguments)
        assert ran.code == 2, arguments
        assert ran.out == ""
        assert len(ran.err.strip().splitlines()) == 1, ran.err
        assert "Traceback" not in ran.err


def test_an_unforeseen_error_is_one_sentence_and_a_file(tmp_path: Path) -> None:
    broken = (
        "import sys; sys.argv=['footplate','ls']; import app.cli.looking as l, app.cli.overview as o\n"
        "def bad(*a, **k): raise RuntimeError('boom [bold]')\n"
        "o.read = bad\n"
        "from app.main import main; main()"
    )
    home = tmp_path / "h"
    done = subprocess.run(
        [sys.executable, "-c", broken], cwd=ROOT, env=environment(home), capture_output=True, text=True, check=False
    )
    assert done.returncode == 70
    said = done.stderr.strip().splitlines()
    assert len(said) == 1, done.stderr
    found = re.fullmatch(
        r"Something went wrong inside Footplate \(RuntimeError\); the trace is in (\S+): "
        r"please report it with that file\.",
        said[0],
    )
    assert found
    trace = Path(found.group(1))
    assert trace.parent == home / "logs"
    assert trace.stat().st_mode & 0o777 == 0o600
    assert "boom [bold]" in trace.read_text()


def test_a_reader_that_leaves_is_no_error(tmp_path: Path) -> None:
    done = subprocess.run(
        f"{sys.executable} -m app.main config --json | head -c 1; exit ${{PIPESTATUS[0]}}",
        shell=True,
        executable="/bin/bash",
        cwd=ROOT,
        env=environment(tmp_path / "h"),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stderr == ""
    assert done.returncode in (0, 141)


def test_refusals_come_as_json_too(tmp_path: Path) -> None:
    ran = footplate(tmp_path / "h", "show", "41", "--json")
    assert ran.code == 1
    told = json.loads(ran.out)
    assert told["refused"] == "no-such-run"
    assert told["facts"] == {"run": 41}
    assert ran.err.strip() == told["sentence"] == "There is no run 41; footplate ls shows the runs there are."


def test_the_console_needs_a_terminal(tmp_path: Path) -> None:
    ran = footplate(tmp_path / "h")
    assert ran.code == 1
    assert (
        ran.err
        == "The console needs a terminal; without one, use footplate start --plain, or footplate ls and show to look.\n"
    )
    assert not (tmp_path / "h" / "ledger.db").exists()


def test_the_console_is_opened_for_a_repository_that_is_named(tmp_path: Path) -> None:
    there, nowhere, misplaced = (
        footplate(tmp_path / "h", *words)
        for words in (("--repo", str(tmp_path)), ("--repo", "/nowhere"), ("--repo", str(tmp_path), "ls"))
    )
    assert there.code == 1 and there.err.startswith("The console needs a terminal")
    assert (nowhere.code, nowhere.err) == (2, "--repo /nowhere: there is no such folder.\n")
    assert misplaced.code == 2 and "write it behind ls" in misplaced.err


def literals(path: Path) -> list[str]:
    """The sentences of a module: its string literals with a blank in them, but no docstrings."""
    tree = ast.parse(path.read_text())
    holders = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    documented = {
        id(node.body[0].value)
        for node in ast.walk(tree)
        if isinstance(node, holders) and node.body and isinstance(node.body[0], ast.Expr)
    }
    loose = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    found = [node for node in ast.walk(tree) if isinstance(node, ast.Constant) and isinstance(node.value, str)]
    return [node.value for node in found if id(node) not in documented | loose and " " in node.value.strip()]


def test_no_word_of_the_code_reaches_a_person_by_the_command_line() -> None:
    from app.wording import forbidden_in

    said = [TOP]
    for path in sorted((ROOT / "app" / "cli").glob("*.py")):
        if path.name != "checkup.py":  # doctor may be technical
            said += literals(path)
    assert len(said) > 100
    assert {word: text for text in said for word in forbidden_in(text)} == {}
