"""No secret of an agent's error stream is in the ledger, wherever the stream is cut and whoever reads on."""

import json
import sys
from collections.abc import Sequence
from contextlib import closing
from itertools import combinations, pairwise
from pathlib import Path

import pytest

from coordinator.custody.types import RecordKind, SpoolRecord
from coordinator.drivers.base import AgentEvent, TurnResult
from coordinator.drivers.claude import ClaudeDriver
from coordinator.ids import RealIds
from coordinator.ingest import Batch, Ingest
from coordinator.machine import InFlight, Limits, SessionState
from coordinator.redaction import Redactor
from coordinator.review import checking
from store import pruning
from store.db import read_ledger
from store.events import NewEvent
from store.open import connect
from store.tx import Tx
from store.vocab import CustodyId, MicroUsd, Millis, RunId, TurnId, TurnResultKind, TurnSource
from tests.coordinator.held import holding

SECRET = "gehe-im-ähnlich"
TOKEN = "ghp_" + "a1B2" * 6
TEXT = f"né {SECRET} {TOKEN}\n{SECRET[:6]}"
REDACTOR = Redactor([SECRET])
SAID = TurnId("said")


class Told(ClaudeDriver):
    """Its every output is a turn's end."""

    def feed(self, data: bytes) -> Sequence[AgentEvent]:
        return [TurnResult(turns=(SAID,), kind=TurnResultKind.SUCCESS, subtype="", cumulative=MicroUsd(1))]


def ingest() -> Ingest:
    driver = Told("t")
    return Ingest(run=RunId(1), custody=CustodyId("c"), driver=driver, redactor=REDACTOR, ids=RealIds())


def state() -> SessionState:
    flying = (InFlight(id=SAID, source=TurnSource.BRIEF, accepted=True),)
    return SessionState(limits=Limits(budget=None, max_turns=9), ready=True, turns=flying, turns_used=1)


def records(pieces: Sequence[bytes], *, result_after: int | None = None) -> list[SpoolRecord]:
    """A record for each piece, and the exit; perhaps a turn's result between them."""
    out: list[tuple[RecordKind, bytes]] = [(RecordKind.STDERR, piece) for piece in pieces]
    if result_after is not None:
        out.insert(result_after, (RecordKind.STDOUT, b"x"))
    out.append((RecordKind.EXIT, b""))
    return [
        SpoolRecord(kind=kind, offset=n * 10, next_offset=n * 10 + 10, at_ms=n, generation=1, data=data)
        for n, (kind, data) in enumerate(out)
    ]


def texts(rows: Sequence[NewEvent]) -> list[str]:
    return [json.loads(row.body)["text"] for row in rows if row.kind == "stderr"]


def cut(at: Sequence[int]) -> list[bytes]:
    whole = TEXT.encode()
    return [whole[one:other] for one, other in pairwise((0, *at, len(whole)))]


def all_cuts() -> list[tuple[int, ...]]:
    places = range(1, len(TEXT.encode()))
    return [*combinations(places, 1), *combinations(places, 2), tuple(places)]


def test_no_secret_survives_any_cut() -> None:
    """Cut into two and three everywhere, characters too, and into single bytes: each record its event, together the
    redacted text."""
    wanted = REDACTOR.text(TEXT)
    for at in all_cuts():
        told = texts(ingest().take(state(), records(cut(at))).rows)
        assert "".join(told) == wanted, at
        assert len(told) in (len(at) + 1, len(at) + 2), "one for each record, and perhaps what was kept back"


def test_who_takes_over_reads_on_without_a_gap() -> None:
    """A console goes after any record; the next one has what the ledger has: a snapshot, and how far it was read."""
    wanted = REDACTOR.text(TEXT)
    for (at,) in combinations(range(1, len(TEXT.encode())), 1):
        given = records(cut((at,)), result_after=1)
        for known in range(1, len(given)):
            first = ingest().take(state(), given[:known])
            position = first.snapshot_offset if first.snapshot is not None else 0
            second = ingest()
            second.resume(Told("t"), position=position, known=known * 10, driven=1, generation=1, later=None)
            again: Batch = second.take(state(), [one for one in given if one.offset >= position])
            assert "".join((*texts(first.rows), *texts(again.rows))) == wanted, (at, known)


@pytest.mark.parametrize("cut_at", [3, 14])
async def test_what_an_agent_prints_in_halves_is_in_no_file_of_the_ledger(tmp_path: Path, cut_at: int) -> None:
    """A real process that ends in the middle of a line; its raw output still agrees with what was kept."""
    secret = "tok-4711-geheim-0815"
    program = (
        "import sys, time\n"
        "from pathlib import Path\n"
        f"taken = lambda: sum(one.stat().st_size for one in Path({str(tmp_path)!r}).glob('spool/*/spool'))\n"
        f"for part in ({'x' * 1990 + secret[:cut_at]!r}, {secret[cut_at:]!r}, ' and ', {secret[:9]!r}):\n"
        "    before = taken()\n"
        "    sys.stderr.write(part); sys.stderr.flush()\n"
        "    while taken() == before: time.sleep(0.005)  # each is a record of its own\n"
        "sys.exit(3)\n"
    )
    (tmp_path / "agent.py").write_text(program)
    told = f'[mine]\ndriver = "acp"\nprogram = "{sys.executable}"\nargs = ["{tmp_path}/agent.py"]\n'
    (tmp_path / "agents.toml").write_text(told)
    async with holding(tmp_path, environment={"DEPLOY_TOKEN": secret}) as held:
        await held.try_start("hello", agent="mine")
        await held.until(RunId(1), lambda view: view.outcome is not None)
        await held.coordinator.sessions[RunId(1)].ended.wait()
    kept = b"".join(path.read_bytes() for path in tmp_path.glob("ledger.db*"))
    assert secret.encode() not in kept and secret[2:].encode() not in kept
    with read_ledger(tmp_path / "ledger.db", now=lambda: Millis(0)) as tx:
        rows = tx.conn.execute("SELECT body FROM events WHERE kind = 'stderr' ORDER BY offset, n").fetchall()
        text = "".join(json.loads(body)["text"] for (body,) in rows)
    assert text == "x" * 1990 + "«redacted» and " + secret[:9]
    with closing(connect(tmp_path / "ledger.db")) as conn:
        tx = Tx(conn, Millis(0))
        held_by = pruning.holds_of(tx, RunId(1))[0]
        spool = tmp_path / "spool" / held_by.id / "spool"
        assert list(checking.against_spool(tx, held_by, spool, [])) == []
