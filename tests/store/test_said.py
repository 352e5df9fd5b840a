"""What was said in a repository: each text once, newest last, bounded, by indices only."""

import pytest

from store import said, turns
from store.tx import Tx
from store.vocab import Millis, RunId, TurnSource
from tests.store.scenes import NOON, admitted, later, said as recorded

HERE = "/work/repository"


def say(tx: Tx, run: RunId, n: int, text: str, source: TurnSource = TurnSource.OPERATOR) -> None:
    turn = recorded(later(tx, n), run, f"turn-{run}-{n}", text=text, source=source)
    turns.cancel(tx, id=turn)


def texts(tx: Tx) -> list[str]:
    return [one.text for one in said.said_in(tx, HERE)]


def test_it_goes_over_all_runs_and_each_text_is_there_once(tx: Tx) -> None:
    first, second = admitted(tx).id, admitted(tx, tree="/work/other").id
    say(tx, first, 1, "mend it", TurnSource.BRIEF)
    say(tx, second, 2, "port it", TurnSource.BRIEF)
    say(tx, second, 3, "go on")
    say(tx, first, 4, "add a test")
    say(tx, first, 5, "port it")
    assert texts(tx) == ["mend it", "go on", "add a test", "port it"]
    assert said.said_in(tx, "/work/elsewhere") == []


@pytest.mark.parametrize("source", [source for source in TurnSource if source not in ("brief", "operator")])
def test_only_what_the_operator_said(tx: Tx, source: TurnSource) -> None:
    say(tx, admitted(tx).id, 1, "not mine", source)
    assert texts(tx) == []


def test_a_long_text_comes_as_its_beginning_and_is_had_whole(tx: Tx) -> None:
    run = admitted(tx).id
    long = "x" * (said.WHOLE_BYTES + 1)
    say(tx, run, 1, long)
    say(tx, run, 2, "short")
    found = said.said_in(tx, HERE)
    assert [(one.whole, one.bytes) for one in found] == [(False, len(long)), (True, 5)]
    assert long.startswith(found[0].text) and len(found[0].text) < 1000
    assert said.text_of(tx, found[0].turn) == long


def test_all_of_them_together_are_bounded(tx: Tx) -> None:
    run = admitted(tx).id
    size = said.WHOLE_BYTES - 100
    for n in range(1, said.ALL_BYTES // size + 4):
        say(tx, run, n, f"{n:04}" + "x" * (size - 4))
    found = said.said_in(tx, HERE)
    assert sum(len(one.text) for one in found) < said.ALL_BYTES + 10_000
    assert found[-1].whole and not found[0].whole


def test_the_newest_are_kept(tx: Tx) -> None:
    run = admitted(tx).id
    for n in range(1, said.MOST + 11):
        say(tx, run, n, f"text {n}")
    found = texts(tx)
    assert (len(found), found[0], found[-1]) == (said.MOST, "text 11", f"text {said.MOST + 10}")


def test_nothing_is_sorted_or_read_in_full(tx: Tx) -> None:
    asked = {"repository": HERE, "whole": 1, "head": 1, "limit": 1}
    plan = " / ".join(row[3] for row in tx.conn.execute(f"EXPLAIN QUERY PLAN {said.SAID_IN}", asked))
    assert "SCAN" not in plan and "TEMP B-TREE" not in plan, plan
    assert Millis(NOON) == tx.now
