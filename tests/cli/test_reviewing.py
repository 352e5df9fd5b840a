"""``search``, ``spend`` and ``review`` from a shell, on a ledger that lies somewhere else."""

import csv
import io
import json
from itertools import pairwise
from pathlib import Path

import pexpect
import pytest

from app.wording import forbidden_in
from tests.bench import bigledger
from tests.cli.running import footplate
from tests.cli.test_terminal import spawn


@pytest.fixture(scope="module")
def ledger(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return bigledger.make(tmp_path_factory.mktemp("ledger") / "ledger.db", 4_000)


def test_search_is_newest_first_by_fields_and_phrases(ledger: Path, tmp_path: Path) -> None:
    home = tmp_path / "home"
    made = footplate(home, "search", "cart", "--ledger", str(ledger), "--limit", "7", "--json")
    assert made.code == 0, made.err
    told = json.loads(made.out)
    assert len(told["hits"]) == 7 and told["more"] is True
    ids = [hit["id"] for hit in told["hits"]]
    assert ids == sorted(ids, reverse=True)
    for hit in told["hits"]:
        for start, end in hit["marks"]:
            assert hit["snippet"][start:end].lower() == "cart"
    found = told["hits"][0]
    words = found["text"].split()
    phrase = next(f"{a} {b}" for a, b in pairwise(words) if "cart" in (a, b) and (a + b).isalnum())
    name = found["repository"].rsplit("/", 1)[-1]
    again = footplate(home, "search", f"repo:{name}", phrase, "--ledger", str(ledger), "--json")
    hits = json.loads(again.out)["hits"]
    assert found["id"] in [hit["id"] for hit in hits]
    assert all(phrase in hit["text"] for hit in hits if len(hit["text"]) < 4_000)
    one = footplate(home, "search", f"repo:{name} cart", "--ledger", str(ledger), "--json")
    assert json.loads(one.out)["hits"], "a whole line of a filter may be one argument"
    assert not home.exists(), "nothing is made where one only looks"


def test_search_in_words(ledger: Path, tmp_path: Path) -> None:
    said = footplate(tmp_path / "home", "search", "cart", "--ledger", str(ledger), "--limit", "3")
    assert said.code == 0 and said.out.startswith("run ") and "cart" in said.out and "\x1b" not in said.out
    assert "These are the newest 3" in said.out and forbidden_in(said.out) == []
    nothing = footplate(tmp_path / "home", "search", "nowhereatall", "--ledger", str(ledger))
    assert nothing.code == 0 and nothing.out == "Nobody said that in any run.\n"


def test_a_bad_filter_is_usage_and_one_sentence(ledger: Path, tmp_path: Path) -> None:
    for command in ("search", "spend"):
        bad = footplate(tmp_path / "home", command, "cost:x", "--ledger", str(ledger))
        assert bad.code == 2 and bad.out == "" and bad.err.count("\n") == 1 and "cost:x is no filter" in bad.err
    as_json = footplate(tmp_path / "home", "search", "colour:red", "--ledger", str(ledger), "--json")
    assert as_json.code == 2 and json.loads(as_json.out)["refused"] == "filter-invalid"


def test_spend_is_the_same_sum_however_it_is_grouped(ledger: Path, tmp_path: Path) -> None:
    home, sums = tmp_path / "home", set()
    for by in ("day", "repository", "agent", "model", "run", "turn"):
        made = footplate(home, "spend", "--by", by, "--ledger", str(ledger), "--json")
        rows = json.loads(made.out)["rows"]
        assert rows and len({row["key"] for row in rows}) == len(rows)
        sums.add((sum(row["cost"] for row in rows), sum(row["turns"] for row in rows)))
    assert len(sums) == 1
    total = sums.pop()[0]
    table = footplate(home, "spend", "--by", "run", "--ledger", str(ledger), "--csv")
    found = list(csv.DictReader(io.StringIO(table.out)))
    assert sum(round(float(row["cost_usd"]) * 1_000_000) for row in found) == total
    text = footplate(home, "spend", "--by", "agent", "--ledger", str(ledger))
    assert "━" in text.out and " USD in " in text.out and forbidden_in(text.out) == []


def test_where_the_budget_of_one_run_went(ledger: Path, tmp_path: Path) -> None:
    made = footplate(tmp_path / "home", "spend", "--by", "turn", "--run", "3", "--ledger", str(ledger), "--json")
    rows = json.loads(made.out)["rows"]
    assert [row["key"] for row in rows] == [f"3.{n}" for n in range(1, len(rows) + 1)]


def test_what_cannot_be_meant_is_said(ledger: Path, tmp_path: Path) -> None:
    home = tmp_path / "home"
    for arguments, words in (
        (("spend", "--by", "hour"), "--by 'hour' is none; there are day, repository, agent, model, run and turn."),
        (("spend", "--csv", "--json"), "--csv or --json, not both."),
        (("spend", "--run", "x"), ""),
        (("search",), ""),
    ):
        said = footplate(home, *arguments, *(("--ledger", str(ledger)) if arguments[0] == "spend" else ()))
        assert said.code == 2 and words in said.err and said.err.count("\n") == 1, said.err
    gone = footplate(home, "search", "x", "--ledger", str(tmp_path / "none.db"))
    assert gone.code == 1 and "There is no file" in gone.err
    none = footplate(home, "review")
    assert none.code == 1 and "needs a terminal" in none.err and "footplate search" in none.err


def test_the_review_in_a_terminal(ledger: Path, tmp_path: Path) -> None:
    terminal = spawn(tmp_path / "home", "review", str(ledger))
    terminal.expect("footplate review")
    terminal.expect("read only")
    terminal.expect("newest first")
    terminal.send("q")
    terminal.expect(pexpect.EOF)
    terminal.close()
    assert terminal.exitstatus == 0
    assert not (tmp_path / "home").exists(), "nothing is made where one only looks"


def test_a_file_that_is_no_ledger_ends_in_one_sentence(tmp_path: Path) -> None:
    bad = tmp_path / "notes.db"
    bad.write_text("not a ledger\n" * 500)
    terminal = spawn(tmp_path / "home", "review", str(bad))
    terminal.expect(pexpect.EOF)
    terminal.close()
    assert terminal.exitstatus == 1
    said = str(terminal.before)
    assert "Traceback" not in said and "ledger" in said
    assert bad.read_text().startswith("not a ledger")
