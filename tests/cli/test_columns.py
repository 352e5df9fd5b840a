"""Tables and sentences of the command line: heads, and what a narrow terminal leaves of them."""

import random
import re
import sys
from pathlib import Path

import pexpect
import pytest

from app.cli import printing
from app.cli.columns import Column, rendered
from app.console.views.text import cells, cut_front
from tests.cli.running import ROOT, Ran, environment, footplate, repository

SHAPE = (
    Column(),
    Column(head="run", right=True),
    Column(head="title", least=8),
    Column(head="where", least=8, end=True, goes=3),
    Column(head="now", goes=2),
    Column(head="spent", right=True, goes=1),
)
ROWS = [
    ("◆", "7", "a title that is rather long", "/src/a/long/way/down", "asks", "0.84"),
    ("○", "12", "结账测试有时失败 again", "/src/b", "idle", "12.00"),
]


def test_heads_stand_over_their_columns_and_where_nothing_limits_it_nothing_is_cut() -> None:
    head, first, second = rendered(ROWS, SHAPE, None)
    for row, cells_of in ((first, ROWS[0]), (second, ROWS[1])):
        assert row.split("  ")[0] == cells_of[0] and all(cell in row for cell in cells_of)
    assert head.index("where") == first.index("/src") and cells(head[: head.index("spent") + 5]) == cells(first)
    assert cells(second[: second.index("/src")]) == head.index("where"), "by cells, not by letters"


def test_what_is_empty_in_every_row_is_no_column_and_no_rows_are_no_table() -> None:
    assert rendered([], SHAPE, 80) == []
    [head, row] = rendered([("", "7", "a title", "", "idle", "")], SHAPE, 80)
    assert (head.split(), row.split()) == (["run", "title", "now"], ["7", "a", "title", "idle"])
    [head, _] = rendered([("", "7", "a title", "", "idle", "")], SHAPE, None)
    assert head.split() == ["run", "title", "where", "now", "spent"], "for programs it is always the same"
    assert rendered([("a", "b")], (Column(), Column()), 80) == ["a  b"], "nothing to guess: no heads"


def test_names_give_way_first_then_columns_in_their_order_and_what_stays_is_never_missing() -> None:
    before = 99
    for width in range(80, 19, -1):
        head, *rows = rendered(ROWS, SHAPE, width)
        assert max(map(cells, (head, *rows))) <= width
        assert head.split()[:2] == ["run", "title"] and [row.split()[1] for row in rows] == ["7", "12"]
        names = head.split()
        assert names == [one for one in ("run", "title", "where", "now", "spent") if one in names]
        assert ("where" not in names) >= ("now" not in names) >= ("spent" not in names), width
        assert len(names) <= before
        before = len(names)
        # A command or a number is whole or not there.
        for text in ("asks", "0.84"):
            assert (text in rows[0]) == (("now" if text == "asks" else "spent") in names)
    assert before == 2


def test_a_path_keeps_its_end() -> None:
    assert cut_front("/a/b/c", 4) == "…b/c" and cut_front("/a/b", 9) == "/a/b"
    assert cut_front("/漢字/漢", 4) == "…/漢" and cut_front("/漢字/漢", 3) == "…漢" and cut_front("ab", 1) == "…"


def test_a_sentence_goes_on_below_between_its_words() -> None:
    said = (
        "  Find out whether the checks of the 结账测试有时失败请看 work out, and name /a/very/long/way/to/it/all too."
    )
    rng = random.Random(7)
    for width in [20, 40, 60, *(rng.randrange(12, 90) for _ in range(40))]:
        rows = printing.wrapped(said, width)
        assert "".join("".join(rows).split()) == "".join(said.split()), "nothing is lost"
        assert rows[0].startswith("  Find") and all(row.startswith("    ") and row[4] != " " for row in rows[1:])
        for row in rows:
            assert cells(row) <= width or " " not in row.strip(), (width, row)
        narrow = [word for word in said.split() if word.isascii()]
        assert [word for row in rows for word in row.split() if word.isascii()] == narrow, "no word is broken"
    assert printing.wrapped(said, None) == [said]
    assert printing.wrapped("", 40) == [""]


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One that has a run, tasks, a tree and something spent."""
    folder = tmp_path_factory.mktemp("columns")
    tree, home = repository(folder / "shop"), folder / "home"

    def done(*arguments: str) -> Ran:
        ran = footplate(home, *arguments, cwd=tree)
        assert ran.code == 0, ran
        return ran

    long = "Find the reason for the failing 结账测试 in the checkout service and mend it for good"
    practice = ("--agent", "practice", "--script", "plain", "--yes")
    done("start", "--plain", long, *practice, "--worktree")
    done("queue", "add", long, *practice[:2], "--path", "tests", "--yes")
    done("queue", "add", "bump deps", "--after", "1", "--later")
    return home


HEADS = {
    "ls": ["run", "title", "agent", "how", "it", "stands", "spent", "turns", "ago"],
    "queue ls": ["task", "title", "repository", "agent", "state", "ago", "spent", "now"],
    "tree ls": ["run", "title", "its", "tree", "where"],
    "agents": ["agent", "version", "signed", "in", "asks", "you", "its", "cost", "interrupts", "resumes"],
    "spend --practice": ["day", "USD", "turns", "worked"],
    "budget": ["spent", "reserved", "left", "limit"],
}
ESSENTIAL = {"ls": "run title", "queue ls": "task title state", "tree ls": "run title", "agents": "agent signed in"}


@pytest.mark.parametrize("command", HEADS)
def test_each_list_has_heads_where_no_terminal_is_and_none_in_json(home: Path, command: str) -> None:
    ran = footplate(home, *command.split())
    assert ran.code == 0 and ran.out.splitlines()[0].split() == HEADS[command]
    assert footplate(home, *command.split(), "--json").out.lstrip()[0] in "{["


@pytest.mark.parametrize("width", [40, 60, 80])
@pytest.mark.parametrize("command", [*HEADS, "search checkout", "queue show 1", "attention"])
def test_on_a_narrow_terminal_no_line_is_longer_than_it_is_wide(home: Path, command: str, width: int) -> None:
    child = pexpect.spawn(
        sys.executable, ["-m", "app.main", *command.split()], cwd=str(ROOT),
        env={**environment(home), "TERM": "xterm-256color"}, dimensions=(60, width), timeout=30, encoding="utf-8",
    )  # fmt: skip
    child.expect(pexpect.EOF)
    rows = [re.sub(r"\x1b\[[0-9;]*m", "", row) for row in child.before.replace("\r\n", "\n").rstrip("\n").split("\n")]
    assert child.wait() == 0
    for row in rows:
        # A path or a command stays whole; who copies it from a terminal has it in one piece.
        assert cells(row) <= width or " " not in row.strip() or row.strip().startswith(("npm ", "uv ")), row
    essential = ESSENTIAL.get(command, "").split()
    assert [one for one in rows[0].split() if one in essential] == essential
