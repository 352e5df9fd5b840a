"""What every export of a run must hold, whichever agent it was of: all formats, made and looked at."""

import csv
import io
import json
import re
from pathlib import Path

from coordinator.review.export import jsonlines
from store import excerpt
from store.db import read_ledger
from store.vocab import Millis, RunId
from tests.cli.running import footplate

FORMATS = ("md", "html", "jsonl", "csv", "bundle")


def in_every_format(folder: Path, ledger: Path, *words: str) -> dict[str, Path]:
    """Exports run 1 in all formats; ``words`` are told in each that tells a story. Gives the files."""
    before = {path.name: path.read_bytes() for path in ledger.parent.glob("ledger.db*") if path.is_file()}
    home = folder / "elsewhere"
    made = {}
    for format in FORMATS:
        made[format] = folder / f"made.{format}"
        told = footplate(
            home, "export", "1", "--ledger", str(ledger), "-f", format, "-o", str(made[format]), cwd=folder
        )
        assert told.code == 0, told.err
    for format in ("md", "html"):
        text = made[format].read_text()
        for word in words:
            assert word in text, (format, word)
        assert not re.search("[\x00-\x08\x0b-\x1f\x7f\u202a-\u202e\u2066-\u2069]", text), format
    with read_ledger(ledger, now=lambda: Millis(0)) as tx:
        whole = list(excerpt.rows(tx, RunId(1)))
    with made["jsonl"].open() as lines:
        assert [plain(one) for one in jsonlines.read(lines)] == [plain(one) for one in whole]
    table = list(csv.DictReader(io.StringIO(made["csv"].read_text(), newline="")))
    turns = [json.loads(line) for line in made["jsonl"].read_text().splitlines() if '"type":"turn"' in line]
    assert [int(row["turn"]) for row in table] == [turn["n"] for turn in turns]
    costs = [round(float(row["cost_usd"]) * 1_000_000) for row in table if row["cost_usd"]]
    assert costs == [turn["cost"] for turn in turns if turn["cost"] is not None]
    checked = footplate(home, "verify", str(made["bundle"]), cwd=folder)
    assert checked.code == 0 and "every byte of it" in checked.out, checked.out + checked.err
    again = footplate(home, "export", "1", "--ledger", str(made["bundle"]), "-o", "-", cwd=folder)
    tail = "*Exported by"
    assert again.out.split(tail)[0] == made["md"].read_text().split(tail)[0], "the ledger inside tells the same"
    after = {path.name: path.read_bytes() for path in ledger.parent.glob("ledger.db*") if path.is_file()}
    assert after["ledger.db"] == before["ledger.db"], "a look changes no byte"
    return made


def plain(record: object) -> object:
    """Without what is no fact."""
    return {
        name: None if name in ("driver_state", "driver_offset") else getattr(record, name)
        for name in record.__struct_fields__  # type: ignore[attr-defined]
    }
