"""Ledgers of earlier versions, as their programs left them: opened, copied, brought up to date, verified, and used.

The files in ``tests/data/ledgers`` were written by those versions and are never written anew.
"""

import gzip
from contextlib import closing
from pathlib import Path

import pytest

from coordinator.recording import effective_limits
from coordinator.snapshots import past_view
from coordinator.terms import Terms, parse
from store import authorizations, decisions, lookup, migrate, open, reviewing, runs, turns
from store.db import Ledger, Tx, read_ledger
from store.reviewing import Narrowed
from store.verify import verify
from store.vocab import AuthorizationId, MicroUsd, RunId
from tests.store.scenes import NOON, Ticks, open_ledger

LEDGERS = Path(__file__).parents[1] / "data" / "ledgers"
TERMS = AuthorizationId("terms-1")


@pytest.fixture(params=range(1, migrate.newest(migrate.released())))
def older(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """One of each earlier form. A form without a file here cannot be released."""
    path = tmp_path / "ledger.db"
    path.write_bytes(gzip.decompress((LEDGERS / f"schema-{request.param}.db.gz").read_bytes()))
    with closing(open.connect(path, mode="ro")) as conn:
        assert migrate.version_of(conn) == request.param
    return path


def limits(tx: Tx) -> tuple[int | None, int, int, int | None]:
    signed = authorizations.get(tx, TERMS)
    assert signed is not None
    terms = parse(signed.terms)
    assert isinstance(terms, Terms)
    found = effective_limits(tx, signed, terms)
    return found.budget, found.max_turns, found.expires_at - NOON, found.working_seconds


async def test_it_is_read_as_it_lies_and_left_as_it_is(older: Path) -> None:
    before = older.read_bytes()
    with read_ledger(older, now=Ticks()) as tx:
        assert verify(tx) is None
        assert limits(tx) == (1_500, 7, 7_200_000, None)
    assert older.read_bytes() == before


async def test_it_is_brought_up_to_date_verifies_and_its_run_is_extended(older: Path) -> None:
    before = older.read_bytes()
    ledger = await open_ledger(older)
    assert await ledger.read(lambda tx: migrate.version_of(tx.conn)) == migrate.newest(migrate.released())
    [copy] = older.parent.glob("ledger.db.before-*")
    assert copy.stat().st_size == len(before) and copy.stat().st_mode & 0o777 == 0o600
    assert await ledger.read(verify) is None, "entries from before do not name the new column, and agree with it"
    assert await ledger.read(limits) == (1_500, 7, 7_200_000, None)

    def extend(tx: Tx) -> None:
        authorizations.amend(tx, id=TERMS, operator="Ada", money=MicroUsd(500), turns=1, working_seconds=60)

    await ledger.transaction(extend)
    assert await ledger.read(limits) == (2_000, 8, 7_200_000, None), "terms without such a limit have none"
    assert await ledger.read(verify) is None
    state = await ledger.read(lambda tx: [one.state for one in turns.of_run(tx, RunId(1))])
    assert state == ["settled", "recorded"], "and its turn is in flight as it was"
    assert await ledger.read(lambda tx: runs.live_count(tx)) == 1
    await ledger.close()


async def test_its_run_is_shown_whatever_is_written_of_its_decisions(older: Path) -> None:
    """A start of the console shows the newest runs: one that cannot be read whole must not stand in its way."""
    ledger = await open_ledger(older)
    view = await ledger.read(lambda tx: past_view(tx, RunId(1)))
    assert view is not None and [turn.n for turn in view.turns] == [1, 2]
    rows = await ledger.read(lambda tx: decisions.of_run(tx, RunId(1)))
    assert [(one.id, one.title, one.subject) for one in view.decisions] == [(r.id, r.title, r.subject) for r in rows]
    await ledger.close()


async def test_what_was_searched_before_is_found_by_run_and_tool_after(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"
    path.write_bytes(gzip.decompress((LEDGERS / "schema-2.db.gz").read_bytes()))
    with read_ledger(path, now=Ticks()) as tx:
        assert tx.conn.execute("SELECT tool, calls FROM run_tools").fetchall() == [("Bash", 2), ("Read", 1)]
        assert tx.conn.execute("SELECT first, last, run FROM searched").fetchall() == [(1, 5, 1)]
        assert reviewing.runs_with(tx, '"slates"') == [1] and reviewing.runs_with(tx, '"rain"') == []
        [hit], more = lookup.find(tx, ("slates",), Narrowed(tool=None))
        assert more is None and (hit.kind, hit.run, hit.key) == ("text", 1, (1, 0))


async def test_what_an_old_entry_does_not_name_cannot_be_put_in_unseen(older: Path) -> None:
    ledger = await open_ledger(older)

    def forge(tx: Tx) -> None:
        tx.conn.execute("UPDATE amendments SET working_seconds = 3600 WHERE id = 1")

    await ledger.transaction(forge)
    await differs(ledger, "amendment 1", "working_seconds")
    await ledger.close()


async def differs(ledger: Ledger, where: str, what: str) -> None:
    found = await ledger.read(verify)
    assert found is not None and (found.where, found.what) == (where, what), found
