"""Floods, full disks, and what is still kept then."""

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from coordinator.custody.receipts import receipt_from_facts
from coordinator.custody.spoolfile import read_spool
from coordinator.custody.types import Ladder, RecordKind
from tests.supervisor.holding import Holds
from tests.waiting import eventually


async def test_a_line_over_the_limit_is_a_flood_and_the_rest_is_counted(holds: Holds) -> None:
    hold = await holds.launch(line_limit=1 << 20)
    await hold.start("long_line", str(64 << 20))
    receipt = await hold.gone()
    assert receipt.reason == "output-flood"
    kept = len(hold.stdout())
    assert kept <= 2 << 20
    (overflow,) = hold.all(RecordKind.OVERFLOW)
    assert int(str(overflow.facts["bytes"])) > 0
    assert hold.kinds().index(RecordKind.OVERFLOW) < hold.kinds().index(RecordKind.GONE)


async def test_a_long_line_under_the_limit_is_kept_whole(holds: Holds) -> None:
    hold = await holds.launch()
    await hold.start("long_line", str(8 << 20))
    await hold.until(lambda h: h.stdout().endswith(b"\nafter\n"))
    assert len(hold.stdout()) == len(b"ready\n\nafter\n") + (8 << 20)
    assert all(len(r.data) <= hold.spec.chunk_limit for r in hold.all(RecordKind.STDOUT))


async def test_a_spool_over_its_limit_is_a_flood(holds: Holds) -> None:
    hold = await holds.launch(spool_limit=1 << 20)
    await hold.start("chatter")
    assert (await hold.gone()).reason == "output-flood"
    assert (hold.spec.folder / "spool").stat().st_size < (1 << 20) + 65536


async def test_an_agent_that_goes_on_printing_is_read_while_it_is_ended(holds: Holds) -> None:
    hold = await holds.launch(line_limit=500, ladder=Ladder(farewell=0.1, eof=0.2, term=1.0, total=3.0))
    await hold.start("chatter")
    receipt = await hold.gone()
    assert receipt.reason == "output-flood"
    assert receipt.steps[-1][0] == "term"  # it was not blocked on a full pipe: the signal found it running


@pytest.fixture
def tiny_disk(tmp_path: Path) -> Iterator[Path]:
    place = tmp_path / "disk"
    place.mkdir()
    try:
        subprocess.run(["mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", place], check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("no small file system can be mounted here: a full disk is not tried; root may")
    yield place
    subprocess.run(["umount", "-l", place], check=True)


async def test_a_full_disk_fences_and_the_receipt_is_still_written(holds: Holds, tiny_disk: Path) -> None:
    folder = tiny_disk / "run"
    hold = await holds.launch(folder=folder)
    await hold.start("chatter")
    receipt = await hold.gone()
    assert receipt.reason == "storage" and not receipt.remaining
    kinds = hold.kinds()
    assert kinds[-1] is RecordKind.END and RecordKind.OVERFLOW in kinds
    assert RecordKind.FENCE in kinds
    on_disk = list(read_spool(folder / "spool"))
    assert [r.kind for r in on_disk] == kinds
    await hold.supervisor.end()
    await eventually(lambda: not (folder / "reserve").exists())


async def test_a_disk_that_others_fill_fences_at_the_next_write(holds: Holds, tiny_disk: Path) -> None:
    folder = tiny_disk / "run"
    hold = await holds.launch(folder=folder)
    await hold.start("echo")
    with (tiny_disk / "others").open("wb") as file:
        try:
            while True:
                os.write(file.fileno(), b"0" * 65536)
        except OSError:
            pass
        try:
            while True:
                os.write(file.fileno(), b"0")
        except OSError:
            pass
    for i in range(200):
        if RecordKind.FENCE in hold.kinds():
            break
        await hold.supervisor.write(f"t{i}", b"q" * 500 + b"\n")
    receipt = await hold.gone()
    assert receipt.reason == "storage"
    assert receipt_from_facts(list(read_spool(folder / "spool"))[-2].facts).reason == "storage"
    await hold.supervisor.end()
