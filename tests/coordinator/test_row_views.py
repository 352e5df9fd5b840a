"""What a screen gets of turns and decisions: the same, whether made anew or kept, and made once for a row."""

from collections.abc import Callable

import pytest
from hypothesis import given, settings, strategies as st
from msgspec.structs import replace

from coordinator import views
from coordinator.rows import SessionRows, read_rows
from coordinator.ruling import BY
from coordinator.views import RowViews
from store import entries
from store.attachments import Attached
from store.db import read_ledger
from store.decisions import Decision
from store.moves import UNFINISHED
from store.turns import Turn
from store.vocab import DecisionState, ImageType, Millis, RunId, TurnId, TurnState
from tests.bench.bigledger import LARGEST, make
from tests.store.scenes import held, in_memory, said


@pytest.fixture(scope="module")
def rows(tmp_path_factory: pytest.TempPathFactory) -> SessionRows:
    """Of a run with many turns."""
    path = make(tmp_path_factory.mktemp("ledger") / "ledger.db", 2_500 * LARGEST // 10)
    with read_ledger(path, now=lambda: Millis(0)) as tx:
        found = max((read_rows(tx, RunId(run)) for run in range(1, 8)), key=lambda one: len(one.decisions))
    assert len(found.turns) > 5 and len(found.decisions) > 2
    return found


def read_again(rows: SessionRows) -> SessionRows:
    """As after a transaction that changed none of it: other objects that say the same."""
    return replace(
        rows,
        turns=tuple(replace(turn) for turn in rows.turns),
        decisions=tuple(replace(decision) for decision in rows.decisions),
    )


def next_turn(rows: SessionRows) -> SessionRows:
    last = rows.turns[-1]
    new = replace(last, id=TurnId(f"{last.id}+"), n=last.n + 1, state=TurnState.RECORDED, text="and on")
    return replace(rows, turns=(*rows.turns, new))


def turn_ends(rows: SessionRows) -> SessionRows:
    return replace(rows, turns=(*rows.turns[:-1], replace(rows.turns[-1], state=TurnState.SETTLED, subtype="later")))


def asked_again(rows: SessionRows) -> SessionRows:
    first, *others = rows.decisions
    return replace(rows, decisions=(replace(first, state=DecisionState.OPEN, revision=first.revision + 1), *others))


def ruled(rows: SessionRows) -> SessionRows:
    """One more that the same rule answered: all of them tell how often it did."""
    by_rule = [one.answered_by.startswith(BY) for one in rows.decisions if one.answered_by]
    place = min(sum(by_rule), len(rows.decisions) - 1)
    changed = [
        replace(one, answered_by=f"{BY}allow read **") if n <= place else one for n, one in enumerate(rows.decisions)
    ]
    return replace(rows, decisions=tuple(changed))


def pruned(rows: SessionRows) -> SessionRows:
    return replace(rows, turns=rows.turns[1:] or rows.turns, decisions=rows.decisions[1:] or rows.decisions)


def with_an_image(rows: SessionRows) -> SessionRows:
    turn = rows.turns[0].id
    image = Attached(id=1, turn=turn, queued=None, name="shot.png", media_type=ImageType.PNG, size=3)
    return replace(rows, attached=(image,))


CHANGES: list[Callable[[SessionRows], SessionRows]] = [
    read_again, next_turn, turn_ends, asked_again, ruled, pruned, with_an_image,
]  # fmt: skip


def test_every_column_of_what_is_kept_is_told_of_in_the_chain() -> None:
    """What changed without an entry would never be read anew."""
    assert Turn.UNTRACKED == Decision.UNTRACKED == ()


@pytest.mark.parametrize("body", ["", "{}", '{"id":null}', "[1]", r'{"id":"\ud800"}', "not JSON", '{"id":{"a":1}}'])
@pytest.mark.parametrize("kind", ["turn.settled", "decision.delivered"])
def test_an_entry_that_says_nothing_of_its_row_is_no_reason_to_end_anything(kind: str, body: str) -> None:
    with in_memory() as tx:
        run = held(tx)[0].id
        said(tx, run)
        before = read_rows(tx, run)
        last = entries.newest_seq(tx)
        tx.conn.execute(
            "INSERT INTO entries (seq, run, n, at, kind, body, prev, hash) VALUES (?, ?, ?, 0, ?, ?, '', 'x')",
            (last + 1, run, before.told + 1, kind, body),
        )
        now = read_rows(tx, run, before)
        assert now == read_rows(tx, run) and now.turns == before.turns


@settings(max_examples=60)
@given(changes=st.lists(st.sampled_from(CHANGES), max_size=8))
def test_kept_or_made_anew_it_is_the_same(
    rows: SessionRows, changes: list[Callable[[SessionRows], SessionRows]]
) -> None:
    kept = RowViews.of(rows)
    for change in changes:
        rows = change(rows)
        kept = RowViews.of(rows, kept)
        assert kept == RowViews.of(rows)
        unfinished = [one.state in UNFINISHED for one in kept.decisions]
        assert unfinished == sorted(unfinished, reverse=True), "who looks for what waits stops at the first other one"


def test_rows_that_did_not_change_cost_nothing(rows: SessionRows, monkeypatch: pytest.MonkeyPatch) -> None:
    kept = RowViews.of(rows)
    assert RowViews.of(rows, kept) is kept
    made: list[object] = []
    monkeypatch.setattr(views, "turn_view", lambda turn, attached: made.append(turn) or views.TurnView)
    monkeypatch.setattr(views, "decision_view", lambda row, uses: made.append(row))
    again = RowViews.of(read_again(rows), kept)
    assert made == [] and again.turns == kept.turns
    assert all(one is other for one, other in zip(again.turns, kept.turns, strict=True))
    assert all(one is other for one, other in zip(again.decisions, kept.decisions, strict=True))
    after = next_turn(read_again(rows))
    RowViews.of(after, kept)
    assert made == [after.turns[-1]]
