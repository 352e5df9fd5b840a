"""Turns as a table: read back whole by any reader of CSV, and no cell is a formula."""

import csv
import io

import pytest
from hypothesis import given, settings, strategies as st

from app.console.views.text import copyable
from coordinator.review.export import csv as ours
from store import runs, turns
from store.vocab import CostKnowledge, MicroUsd, Millis, RunId, TurnResultKind
from tests.store.scenes import held, in_memory, said

NASTY = st.text(alphabet=st.sampled_from([*"=+-@\t\r\n \",;ab|'é＝", "\u202e", "\x1b"]), max_size=20)


@given(title=NASTY, text=NASTY)
@settings(max_examples=200, deadline=None)
def test_a_table_reads_back_and_holds_no_formula(title: str, text: str) -> None:
    with in_memory() as tx:
        run, _ = held(tx)
        runs.rename(tx, id=run.id, title=title)
        turn = said(tx, run.id, text=text or "x")
        turns.settle(tx, id=turn, result=TurnResultKind.SUCCESS, cost=MicroUsd(123), cost_known=CostKnowledge.REPORTED)
        row = runs.get(tx, run.id)
        assert row is not None
        table = ours.header() + "".join(ours.turns(row, turns.of_run(tx, run.id), visible=copyable))
    head, line = list(csv.reader(io.StringIO(table, newline="")))
    assert table.count("\r\n") >= 2 and table.endswith("\r\n")
    told = dict(zip(head, line, strict=True))
    assert told["cost_usd"] == "0.000123" and told["turn"] == "1"
    plain = copyable((text or "x").replace("\r\n", "\n"))
    assert told["text"] in (plain, f"'{plain}")
    for cell in line:
        assert not cell.lstrip().startswith(("=", "+", "-", "@", "＝")), cell
        assert not cell.startswith(("\t", "\r", "\n"))


@pytest.mark.parametrize(("micro", "shown"), [(None, ""), (0, "0.000000"), (1_230_000, "1.230000"), (-5, "-0.000005")])
def test_money_is_exact(micro: int | None, shown: str) -> None:
    assert ours.dollars(None if micro is None else MicroUsd(micro)) == shown


@pytest.mark.parametrize(
    ("at", "shown"),
    [(None, ""), (0, "1970-01-01T00:00:00.000Z"), (10**17, "100000000000000000"), (-1, "1969-12-31T23:59:59.999Z")],
)
def test_times_are_utc(at: int | None, shown: str) -> None:
    assert ours.moment(None if at is None else Millis(at)) == shown
    assert RunId(1)
