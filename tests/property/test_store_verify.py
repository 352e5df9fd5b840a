"""Any changed byte of the entries is found, and named."""

import sqlite3
from contextlib import closing
from functools import cache

from hypothesis import assume, given, settings as hypothesis_settings, strategies as st

from store import canonical, settings
from store.entries import Entry, entries_of
from store.tx import Tx
from store.verify import verify
from tests.store.scenes import NOON, in_memory
from tests.store.test_entries import a_life


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
