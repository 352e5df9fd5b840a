"""Any changed byte of the entries is found, and named; and so is one of any row that they tell of, and of what is kept
beside: events, evidence, images."""

import sqlite3
from contextlib import closing
from functools import cache

from hypothesis import assume, given, settings as hypothesis_settings, strategies as st

from store import canonical, pruning, settings
from store.entries import Entry, entries_of
from store.events import Event
from store.refusal import Refusal
from store.rows import Record, columns, names
from store.tx import Tx
from store.verify import NOUNS, verify
from tests.store.scenes import NOON, in_memory
from tests.store.test_entries import a_life
from tests.store.whole import LATER, a_whole_life


@cache
def a_ledger() -> bytes:
    with in_memory() as tx:
        a_life(tx)
        settings.put(tx, "admission", "shut")
        assert verify(tx) is None
        return tx.conn.serialize()


@cache
def the_entries() -> tuple[Entry, ...]:
    with closing(sqlite3.connect(":memory:")) as conn:
        conn.deserialize(a_ledger())
        tx = Tx(conn, NOON)
        return tuple(entries_of(tx, 0)) + tuple(entries_of(tx, 1))  # type: ignore[arg-type]


@st.composite
def changes(draw: st.DrawFn) -> tuple[Entry, str, object]:
    """An entry, a column of it, and another value: one character changed, added or lost, or another number."""
    entry = draw(st.sampled_from(the_entries()))
    column = draw(st.sampled_from(["at", "kind", "body", "prev", "hash", "run", "n", "seq"]))
    was = getattr(entry, column)
    if isinstance(was, int):
        return entry, column, draw(st.integers(min_value=-3, max_value=2**40).filter(lambda value: value != was))
    place = draw(st.integers(min_value=0, max_value=len(was)))
    new = draw(st.sampled_from('0123456789abcdef{}",:. é\x00') | st.just(""))
    now = was[:place] + new + was[place + draw(st.integers(min_value=0, max_value=1)) :]
    assume(now != was)
    return entry, column, now


@given(change=changes())
@hypothesis_settings(max_examples=300, deadline=None)
def test_a_changed_byte_in_the_entries_is_found_and_named(change: tuple[Entry, str, object]) -> None:
    entry, column, value = change
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as conn:
        conn.deserialize(a_ledger())
        conn.execute("DROP TRIGGER entries_no_update")
        try:
            conn.execute(f"UPDATE entries SET {column} = :value WHERE seq = :seq", {"value": value, "seq": entry.seq})
        except sqlite3.IntegrityError:
            assume(False)  # the place is taken: the schema itself does not have it
        found = verify(Tx(conn, NOON))
    assert found is not None
    if column == "seq":
        assert found.what in ("seq", "n")
    else:
        assert found.where.startswith(f"entry {entry.seq} "), found
        assert found.what in (column, "hash", "n", "prev")


# ------------------------------------------------------------------------------------------------------------- the rows

NOT_HASHED = {"run", "turn", "id"}
"""Of an event: which it is and whose is told by where it stands; that it stands elsewhere is found all the same."""
TABLES: dict[str, tuple[type[Record], tuple[str, ...]]] = {
    **{noun: (kind, tuple(set(names(kind)) - set(kind.UNTRACKED))) for noun, kind in NOUNS.items()},
    "event": (Event, tuple(set(names(Event)) - NOT_HASHED)),
}


@cache
def everything() -> bytes:
    """A ledger with a row of every noun, one of its runs pruned."""
    with in_memory() as tx:
        first = a_whole_life(tx)
        a_whole_life(tx, tree="/work/other")
        assert not isinstance(pruning.prune(tx, first, operator="ada", month_began=LATER), Refusal)
        assert verify(tx) is None
        return tx.conn.serialize()


@cache
def the_rows(noun: str) -> tuple[tuple[object, ...], ...]:
    kind, _ = TABLES[noun]
    with closing(sqlite3.connect(":memory:")) as conn:
        conn.deserialize(everything())
        return tuple(conn.execute(f"SELECT rowid, {columns(kind)} FROM {kind.TABLE}").fetchall())


def test_there_is_a_row_of_every_noun() -> None:
    assert all(the_rows(noun) for noun in TABLES)


@st.composite
def row_changes(draw: st.DrawFn) -> tuple[str, object, str, object]:
    """Table, row, column, and another value of its kind: one letter, one byte, or one bit of a number."""
    noun = draw(st.sampled_from(sorted(TABLES)))
    kind, tracked = TABLES[noun]
    row = draw(st.sampled_from(the_rows(noun)))
    column = draw(st.sampled_from(sorted(tracked)))
    was = row[1 + names(kind).index(column)]
    now: object
    match was:
        case None:
            now = draw(st.sampled_from([0, 1, "x", ""]))
        case int():
            now = was ^ (1 << draw(st.integers(min_value=0, max_value=40)))
        case bytes():
            assume(was)
            place = draw(st.integers(min_value=0, max_value=len(was) - 1))
            now = was[:place] + bytes([was[place] ^ (1 << draw(st.integers(0, 7)))]) + was[place + 1 :]
        case _:
            text = str(was)
            place = draw(st.integers(min_value=0, max_value=len(text)))
            new = draw(st.sampled_from('01aé{"\x00'))
            now = text[:place] + new + text[place + draw(st.integers(min_value=0, max_value=1)) :]
            assume(now != was)
    return kind.TABLE, row[0], column, now


@given(change=row_changes())
@hypothesis_settings(max_examples=400, deadline=None)
def test_a_changed_byte_of_any_row_is_found(change: tuple[str, object, str, object]) -> None:
    table, rowid, column, value = change
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as conn:
        conn.deserialize(everything())
        try:
            conn.execute(f"UPDATE {table} SET {column} = :value WHERE rowid = :rowid", {"value": value, "rowid": rowid})
        except (sqlite3.IntegrityError, OverflowError):
            assume(False)  # the schema itself does not have it
        found = verify(Tx(conn, NOON))
    assert found is not None, change


@given(
    value=st.recursive(
        st.none() | st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.text(),
        lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
        max_leaves=12,
    )
)
@hypothesis_settings(max_examples=100, deadline=None)
def test_canonical_json_is_one_spelling_that_reads_back(value: object) -> None:
    text = canonical.dumps(value)
    assert canonical.loads(text) == value
    assert canonical.dumps(canonical.loads(text)) == text


@given(text=st.text(alphabet=st.characters(codec=None) | st.characters(categories=["Cs"])))
def test_any_text_can_be_stored(text: str) -> None:
    with closing(sqlite3.connect(":memory:")) as conn:
        assert conn.execute("SELECT ?", (canonical.storable(text),)).fetchone() == (canonical.storable(text),)
    assert canonical.loads(canonical.dumps({"text": text}))["text"] == canonical.storable(text)
    if text.isascii():
        assert canonical.storable(text) == text
