"""At most once, provable, in order, and in nobody's way."""

import asyncio

from coordinator.custody.spoolfile import proof_of_write
from coordinator.custody.types import RecordKind, WriteOutcome, WriteProof
from tests.supervisor.holding import Holds
from tests.waiting import eventually


async def test_a_write_reaches_the_agent_once_and_a_repeat_says_already(holds: Holds) -> None:
    hold = await holds.launch()
    await hold.start("echo")
    assert await hold.supervisor.wrote("t1") is WriteProof.NEVER
    assert await hold.supervisor.write("t1", b"one\n") is WriteOutcome.WROTE
    assert await hold.supervisor.write("t1", b"one\n") is WriteOutcome.ALREADY
    assert await hold.supervisor.write("t2", b"two\n") is WriteOutcome.WROTE
    await hold.until(lambda h: b"heard two\n" in h.stdout())
    assert hold.stdout().count(b"heard one\n") == 1
    assert await hold.supervisor.wrote("t1") is WriteProof.WHOLE
    assert proof_of_write(hold.spec.folder / "spool", "t1") is WriteProof.WHOLE
    writing = hold.all(RecordKind.WRITING)[0]
    assert (writing.facts["id"], writing.facts["length"]) == ("t1", 4)


async def test_many_at_once_stay_in_order_and_whole(holds: Holds) -> None:
    hold = await holds.launch()
    await hold.start("echo")
    sent = [f"{i}" + "z" * (i * 997 % 50_000) for i in range(60)]
    outcomes = await asyncio.gather(*(hold.supervisor.write(f"w{i}", s.encode() + b"\n") for i, s in enumerate(sent)))
    assert set(outcomes) == {WriteOutcome.WROTE}
    await hold.until(lambda h: h.stdout().count(b"heard") == 60)
    assert hold.stdout().decode().splitlines()[1:] == [f"heard {s}" for s in sent]


async def test_a_cancelled_id_is_never_sent(holds: Holds) -> None:
    hold = await holds.launch()
    await hold.start("echo")
    assert await hold.supervisor.cancel("t1")
    assert await hold.supervisor.write("t1", b"one\n") is WriteOutcome.CANCELLED
    assert await hold.supervisor.write("t2", b"two\n") is WriteOutcome.WROTE
    assert not await hold.supervisor.cancel("t2")
    await hold.until(lambda h: b"heard two\n" in h.stdout())
    assert b"heard one" not in hold.stdout()
    assert proof_of_write(hold.spec.folder / "spool", "t1") is WriteProof.CANCELLED


async def test_unread_writes_are_begun_or_never_and_delay_no_fence(holds: Holds) -> None:
    hold = await holds.launch()
    await hold.start("deaf")
    await hold.supervisor.farewell(b"bye\n")
    big = asyncio.create_task(hold.supervisor.write("big", b"b" * 1_000_000))
    later = asyncio.create_task(hold.supervisor.write("later", b"l\n"))
    await hold.until(lambda h: RecordKind.WRITING in h.kinds())
    assert await hold.supervisor.wrote("big") is WriteProof.BEGUN
    assert not await hold.supervisor.cancel("big")
    assert await hold.supervisor.cancel("later")
    assert await later is WriteOutcome.CANCELLED
    third = asyncio.create_task(hold.supervisor.write("third", b"3\n"))
    await hold.supervisor.fence("stopped")
    assert await third is WriteOutcome.FENCED
    receipt = await hold.gone()
    assert await big is WriteOutcome.BEGUN
    assert [name for name, _ in receipt.steps] == ["eof", "term", "kill"]  # after half a line no farewell
    spool = hold.spec.folder / "spool"
    assert proof_of_write(spool, "big") is WriteProof.BEGUN
    assert proof_of_write(spool, "third") is WriteProof.NEVER
    assert await hold.supervisor.write("big", b"b") is WriteOutcome.BEGUN
    failed = hold.all(RecordKind.WRITE_FAILED)[0].facts
    assert 0 < failed["written"] < 1_000_000  # type: ignore[operator]


async def test_no_progress_for_too_long_is_write_failed(holds: Holds) -> None:
    hold = await holds.launch(write_timeout=0.2)
    await hold.start("deaf")
    assert await hold.supervisor.write("big", b"b" * 1_000_000) is WriteOutcome.BEGUN
    receipt = await hold.gone()
    assert receipt.reason == "write-failed"


async def test_a_write_without_an_agent_is_refused_and_stays_never(holds: Holds) -> None:
    hold = await holds.launch()
    assert await hold.supervisor.write("t1", b"x\n") is WriteOutcome.FAILED
    await hold.start("quiet_end")
    await hold.until(lambda h: RecordKind.EXIT in h.kinds())
    assert await hold.supervisor.write("t1", b"x\n") is WriteOutcome.FAILED
    assert await hold.supervisor.wrote("t1") is WriteProof.NEVER


async def test_what_was_not_begun_is_not_delivered_while_nobody_is_attached(holds: Holds) -> None:
    hold = await holds.launch()
    await hold.start("deaf")
    waiting = [asyncio.create_task(hold.supervisor.write(i, b"b" * 500_000)) for i in ("big", "next")]
    await hold.until(lambda h: RecordKind.WRITING in h.kinds())
    await hold.supervisor.detach()
    assert [await task for task in waiting] == [WriteOutcome.LOST, WriteOutcome.LOST]
    await hold.reading
    again = await hold.attach(2)
    assert await again.wrote("big") is WriteProof.BEGUN
    assert await again.wrote("next") is WriteProof.NEVER
    assert await again.cancel("next")
    await eventually(lambda: RecordKind.CANCELLED in hold.kinds())
