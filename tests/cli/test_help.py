"""``help TOPIC``: short, true to what there is, and in the words that a person is to read."""

import re
from pathlib import Path
from typing import Any

import pytest
import typer

from app.cli import helping
from app.cli.help_text import TOP
from app.cli.program import PROGRAM, command_names
from app.paths import find
from app.wording import forbidden_in
from coordinator import profiles
from coordinator.terms import PRESETS
from tests.cli.running import footplate

WORDS_OF_FILES = ("spool", "evidence")
"""A folder is called as it is called."""


def said(topic: str) -> str:
    return (helping.TOPICS / f"{topic}.txt").read_text()


@pytest.mark.parametrize("topic", helping.topics())
def test_a_topic_is_short_and_says_nothing_that_is_not_there(topic: str) -> None:
    text = said(topic)
    assert len(text.splitlines()) <= 40 and max(map(len, text.splitlines())) <= 80
    assert set(forbidden_in(text)) <= (set(WORDS_OF_FILES) if topic == "files" else set())
    # Typer's own copy of click has no public names, so what is read of it has no types.
    program: Any = typer.main.get_command(PROGRAM)
    for words, rest in re.findall(r"footplate ((?:[a-z]+ ?)+)([^`\n]*)", text):
        command, read = program, []
        for word in words.split():
            if word not in getattr(command, "commands", {}):
                break
            command = command.commands[word]
            read.append(word)
        assert read, f"{words!r} is no command"
        known = {name for one in command.params for name in (*one.opts, *one.secondary_opts)}
        named = set(re.findall(r"(?<!\S)--[a-z-]+", rest))
        assert named <= known, (read, named - known)


def test_every_topic_is_named_where_help_begins_and_each_by_its_command(tmp_path: Path) -> None:
    line = next(line for line in TOP.splitlines() if line.startswith("  help TOPIC"))
    assert line.split("TOPIC")[1].strip() == ", ".join(helping.topics())
    for topic in ("keys", "files"):
        ran = footplate(tmp_path / "h", "help", topic)
        assert (ran.code, ran.err) == (0, "") and said(topic).rstrip() in ran.out
    assert not (tmp_path / "h").exists(), "reading makes nothing"


def test_help_on_a_command_is_its_own_and_on_nothing_is_a_sentence(tmp_path: Path) -> None:
    assert footplate(tmp_path / "h", "help", "ls").out == footplate(tmp_path / "h", "ls", "--help").out
    ran = footplate(tmp_path / "h", "help", "cheese")
    assert (ran.code, ran.out) == (2, "") and "There is no help on 'cheese'" in ran.err and "budgets" in ran.err
    assert "help" in command_names()


def test_the_keys_are_those_of_the_table_and_the_operator_s_own(tmp_path: Path) -> None:
    home = tmp_path / "h"
    home.mkdir(mode=0o700)
    (home / "config.toml").write_text('[keys]\nstop = "f10"\n')
    told = footplate(home, "help", "keys").out
    assert re.search(r"^  F10 +stop this session", told, re.MULTILINE)
    assert re.search(r"^  \^O +go to what waits longest", told, re.MULTILINE)


def test_numbers_names_and_commands_in_them_are_those_of_the_code() -> None:
    budgets = said("budgets")
    for preset in PRESETS:
        money = f"{preset.budget / 1_000_000:.2f}"
        row = next(line for line in budgets.splitlines() if line.split()[:1] == [preset.name])
        assert money in row and f"{preset.max_turns} turns" in row, row
        assert re.search(rf"ends after +{preset.hours:g} hours?$", row), row
    agents = said("agents")
    ways = {one.install for one in profiles.builtin({})}
    told = set(re.findall(r"^  (npm install -g \S+)", agents, re.MULTILINE))
    assert len(told) == 4 and told <= ways
    files = said("files")
    paths = find({"FOOTPLATE_HOME": "/h"})
    for path in (paths.config_file, paths.agents_file, paths.rules_file, paths.ledger, paths.mark):
        assert f"\n  {path.name} " in files, path
    for folder in (paths.spool, paths.evidence, paths.worktrees, paths.logs):
        assert f"\n  {folder.name}/ " in files, folder
