"""When the evidence of a run is kept: as it comes to rest, at a park, at its end; and nothing where nothing changed."""

import hashlib
from pathlib import Path

import pytest

from coordinator import deeds, evidence as gathering
from coordinator.api import Say, Stop
from store import evidence
from store.db import read_ledger
from store.verify import verify
from store.vocab import EvidenceKind, Millis, RunId
from tests.coordinator.held import Holding, holding, repository, script
from tests.coordinator.test_parks import PARK, mailbox

K = EvidenceKind
OF_THE_TREE = (K.STATUS, K.DIFF, K.FILES)


async def kept(held: Holding, run: RunId, *kinds: EvidenceKind) -> list[evidence.Evidence]:
    rows = await held.coordinator.house.ledger.read(lambda tx: evidence.of_run(tx, run))
    return [one for one in rows if one.kind in (kinds or OF_THE_TREE)]


async def rest(held: Holding, run: RunId, text: str) -> None:
    """A turn more; once it has ended, and what it left was looked at."""
    view = await held.until(run, lambda v: v.turns and v.turns[-1].ended_at is not None)
    before = len(view.turns)
    await held.do(Say(run=run, text=f"{text} " + script({"text": "ok"})))
    await held.settled(run, before + 1)
    await deeds.look_and_keep(held.coordinator.sessions[run])


async def test_each_rest_keeps_what_is_another_than_before(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tree = repository(tmp_path / "tree")
    async with holding(tmp_path) as held:
        run = await held.start("go " + script({"text": "hello"}))
        await held.settled(run)
        await deeds.look_and_keep(held.coordinator.sessions[run])
        assert await kept(held, run) == [], "nothing changed, nothing is kept"
        for content in (b"A\n", b"B\n", b"A\n"):
            (tree / "made").write_bytes(content)
            await rest(held, run, "on")
        files = await kept(held, run, K.FILES)
        assert [one.content.split(b"\t")[2].decode() for one in files] == [
            hashlib.sha256(content).hexdigest() for content in (b"A\n", b"B\n", b"A\n")
        ]
        assert [one.content.split(b"\n+")[-1] for one in await kept(held, run, K.DIFF)] == [b"A\n", b"B\n", b"A\n"]
        session, rows = held.coordinator.sessions[run], await kept(held, run)
        looked = 0

        async def counted(*_: object, **__: object) -> tuple[gathering.Piece, ...]:
            nonlocal looked
            looked += 1
            return ()

        with monkeypatch.context() as patched:
            patched.setattr(gathering, "gather", counted)
            await rest(held, run, "and on")
        assert looked == 0 and await kept(held, run) == rows, "where nothing changed, git is not asked again"
        (tree / "made").unlink()
        await rest(held, run, "take it back")
        newest = {one.kind: one for one in await kept(held, run)}
        assert newest[K.STATUS].note == "0 files changed"
        assert {(newest[kind].content, newest[kind].note) for kind in (K.DIFF, K.FILES)} == {(b"", "nothing any more")}
        (tree / "made").write_bytes(b"C\n")
        await held.do(Stop(run=run))
        await session.ended.wait()
        assert (await kept(held, run, K.FILES))[-1].content.endswith(b"\tmade\n"), "its end keeps what stands then"
    with read_ledger(tmp_path / "ledger.db", now=lambda: Millis(0)) as tx:
        assert verify(tx) is None


async def test_a_park_has_the_evidence_of_its_moment(tmp_path: Path) -> None:
    tree = repository(tmp_path / "tree")
    async with holding(tmp_path) as held:
        (tree / "before").write_text("x\n")
        run = await held.start("go " + script(mailbox(1, decision=PARK), {"text": "I wait for you"}))
        await held.until(run, lambda view: view.decisions)
        await deeds.look_and_keep(held.coordinator.sessions[run])
        note = (await kept(held, run, K.MAILBOX))[0]
        assert b"Which database?" in note.content
        assert [one.kind for one in await kept(held, run)] == [K.STATUS, K.DIFF, K.FILES]


async def test_what_is_kept_between_is_bounded_and_its_end_is_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tree = repository(tmp_path / "tree")
    monkeypatch.setattr(gathering, "BETWEEN", 3000)
    async with holding(tmp_path) as held:
        run = await held.start("go " + script({"text": "hello"}))
        for n in range(4):
            (tree / "made").write_text(f"{n}\n" * 500)
            await rest(held, run, "on")
        assert sum(one.size for one in await kept(held, run, K.DIFF)) <= 3000
        assert len(await kept(held, run, K.FILES)) == 4, "that a file is another one now is always known"
        await held.do(Stop(run=run))
        await held.coordinator.sessions[run].ended.wait()
        assert (await kept(held, run, K.DIFF))[-1].content.endswith(b"+3\n")
