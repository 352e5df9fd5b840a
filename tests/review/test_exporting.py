"""``footplate export`` as a person meets it: all formats, redaction, files that are not lost, and every bad input."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from app import wording
from coordinator.review.export import bundle
from tests.cli.running import ROOT, environment, footplate
from tests.review.exported import FORMATS, in_every_format
from tests.review.played import OUTPUT, SECRET


def test_a_run_of_the_practice_agent_in_every_format(ledger: Path, tmp_path: Path) -> None:
    words = ("Turn 1", "rather not", "as the sea", "done for today", "Nothing left running")
    made = in_every_format(tmp_path, ledger, *words)
    page, text = made["html"].read_text(), made["md"].read_text()
    assert "<script" not in page and "&lt;script&gt;" in page and "⟨202e⟩" in page
    assert "> &lt;script>alert(1)&lt;/script> ⟨202e⟩gnp.exe" in text
    assert f"`````\n{OUTPUT}\n{SECRET}\n`````" in text
    assert text.index("Question 1") > text.index("Turn 1"), "what was asked stands where it was asked"
    assert text.index("Question 4") < text.index("Turn 2")
    told = page.split("</style>")[1].split("The practice agent")[1].split("Turn 1")[0]
    assert wording.forbidden_in(told) == []


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("pattern", [SECRET, "re:hunter[0-9]-the-[a-z]+"])
def test_what_is_redacted_is_in_no_byte(ledger: Path, tmp_path: Path, format: str, pattern: str) -> None:
    out = tmp_path / "made"
    told = footplate(
        tmp_path, "export", "1", "--ledger", str(ledger), "-f", format, "-o", str(out), "--redact", pattern,
        "--redact", "nowhere-at-all", cwd=tmp_path,
    )  # fmt: skip
    assert told.code == 0, told.err
    assert "--redact number 1 was taken out in" in told.err and "number 2 was found nowhere" in told.err
    assert SECRET not in told.err
    texts = [out.read_bytes()]
    if format == "bundle":
        with bundle.opened(out) as inside:
            texts.append(inside.read_bytes())
        checked = footplate(tmp_path, "verify", str(out), cwd=tmp_path)
        assert checked.code == 0 and "taken out of it on purpose" in checked.out
    assert all(SECRET.encode() not in text for text in texts)
    assert any(b"redacted" in text for text in texts)


def test_a_file_that_is_there_is_not_written_over(ledger: Path, tmp_path: Path) -> None:
    (tmp_path / "run-1.md").write_text("mine")
    refused = footplate(tmp_path, "export", "1", "--ledger", str(ledger), cwd=tmp_path)
    assert refused.code == 1 and "run-1.md is there already; add --force" in refused.err
    assert (tmp_path / "run-1.md").read_text() == "mine"
    assert footplate(tmp_path, "export", "1", "--ledger", str(ledger), "--force", cwd=tmp_path).code == 0
    assert (tmp_path / "run-1.md").read_text().startswith("# Mend")
    assert (tmp_path / "run-1.md").stat().st_mode & 0o077 == 0
    assert sorted(path.name for path in tmp_path.iterdir()) == ["run-1.md"]


def test_many_runs_and_a_filter(ledger: Path, tmp_path: Path) -> None:
    every = footplate(tmp_path, "export", "--all", "agent:practice", "--ledger", str(ledger), "-o", "-", cwd=tmp_path)
    named = footplate(tmp_path, "export", "1", "1", "--ledger", str(ledger), "-o", "-", cwd=tmp_path)
    assert every.code == 0 and every.out == named.out
    none = footplate(tmp_path, "export", "--all", "agent:nobody", "--ledger", str(ledger), cwd=tmp_path)
    assert none.code == 1 and none.err == "No run is like that; nothing was saved.\n"


def test_the_schema_is_told(tmp_path: Path) -> None:
    told = footplate(tmp_path, "export", "--schema", cwd=tmp_path)
    assert json.loads(told.out)["oneOf"][0]["properties"]["type"] == {"const": "export"}


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (("9", "--ledger", "LEDGER"), 1, "9"),
        (("x",), 2, "is no number of a run"),
        ((), 2, "Which runs?"),
        (("1", "--all", ""), 2, "not both"),
        (("--all", "nonsense:1", "--ledger", "LEDGER"), 2, "the fields are"),
        (("1", "-f", "pdf"), 2, "there are md, html, jsonl, csv and bundle"),
        (("1",), 1, "There is no ledger yet"),
        (("1", "--ledger", "nowhere"), 1, "There is no file nowhere"),
        (("1", "--ledger", "."), 1, "without a ledger.db"),
        (("1", "--ledger", "text"), 1, "cannot be read"),
        (("1", "--ledger", "empty"), 1, "cannot be read"),
        (("1", "--ledger", "half"), 1, "half"),
        (("1", "--ledger", "LEDGER", "--redact", "re:("), 2, "is no regular expression"),
        (("1", "--ledger", "LEDGER", "--redact", ""), 2, "it is empty"),
        (("1", "--ledger", "LEDGER", "-o", "no/such/folder/x"), 1, "could not be saved: no such file"),
        (("1", "--ledger", "LEDGER", "-o", ".", "--force"), 1, "could not be saved: it is a folder"),
    ],
)
def test_bad_input_is_one_sentence(
    ledger: Path, tmp_path: Path, arguments: tuple[str, ...], code: int, said: str
) -> None:
    (tmp_path / "text").write_text("no ledger at all\n" * 100)
    (tmp_path / "empty").touch()
    (tmp_path / "half").write_bytes(ledger.read_bytes()[: ledger.stat().st_size // 2])
    given = [str(ledger) if one == "LEDGER" else one for one in arguments]
    told = footplate(tmp_path / "home", "export", *given, cwd=tmp_path)
    assert (told.code, told.out) == (code, ""), told.err
    assert said in told.err and told.err.count("\n") == 1 and "Traceback" not in told.err
    assert sorted(path.name for path in tmp_path.iterdir() if path.name != "home") == ["empty", "half", "text"]


def test_an_expression_without_an_end_is_a_sentence(ledger: Path, tmp_path: Path) -> None:
    from app.cli import exits
    from app.cli.exporting import _write
    from app.exporting.formats import Export, Format
    from coordinator.review.export.redacting import Redactor
    from store.db import read_ledger
    from store.vocab import Millis, RunId

    with (
        read_ledger(ledger, now=lambda: Millis(0)) as tx,
        Redactor(["re:(.|.)*\\Z$x"], seconds=0.5) as redactor,
        pytest.raises(exits.Leave, match=r"make them simpler\. Nothing was saved\."),
    ):
        _write(Export(tx, (RunId(1),), redactor), Format.HTML, str(tmp_path / "x"), False)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no device that is always full")
def test_no_space_is_a_sentence(ledger: Path, tmp_path: Path) -> None:
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run(
            [sys.executable, "-m", "app.main", "export", "1", "--ledger", str(ledger), "-f", "jsonl", "-o", "-"],
            env=environment(tmp_path), cwd=tmp_path, stdout=full, stderr=subprocess.PIPE, text=True, timeout=40,
        )  # fmt: skip
    assert done.returncode == 1 and "no space left" in done.stderr and done.stderr.count("\n") == 1


def test_a_read_only_ledger_in_a_read_only_folder(ledger: Path, tmp_path: Path) -> None:
    folder = tmp_path / "disk"
    folder.mkdir()
    shutil.copyfile(ledger, folder / "ledger.db")
    (folder / "ledger.db").chmod(0o400)
    folder.chmod(0o500)
    try:
        told = footplate(tmp_path, "export", "1", "--ledger", str(folder), "-o", "-", cwd=tmp_path)
    finally:
        folder.chmod(0o700)
    assert told.code == 0 and told.out.startswith("# Mend")
    assert [path.name for path in folder.iterdir()] == ["ledger.db"] or os.getuid() == 0


# ---------------------------------------------------------------------------------------------------------- streaming

LONG = """
import json, sqlite3, sys
from pathlib import Path
from store import identity, migrate, turns
from store.events import NewEvent, append
from store.tx import Tx
from tests.store.scenes import NOON, held, register, said
path, count = Path(sys.argv[1]), int(sys.argv[2])
conn = sqlite3.connect(path, isolation_level=None)
migrate.migrate(conn)
conn.execute("BEGIN")
tx = Tx(conn, NOON)
identity.create(tx, id="l", machine="m", digest_key="k")
register(tx)
run, _ = held(tx)
turn = said(tx, run.id)
body = json.dumps({"block": "b", "text": "many words " * 300}, separators=(",", ":"))
append(tx, run=run.id, rows=[NewEvent(offset=n, n=0, turn=turn, at=NOON, kind="text", body=body) for n in range(count)])
conn.execute("COMMIT")
"""
EVENTS = 20_000
"""Of 3.3 kB each: 66 MB together."""
EXPORT = """
import sys
from pathlib import Path
from app.cli import program
code = program.run(sys.argv[1:])
# Not ru_maxrss: that begins with the peak of the process that started this one.
peak = next(line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM"))
print(code, peak.split()[1], file=sys.stderr)
"""


@pytest.mark.parametrize("format", FORMATS)
def test_a_long_run_is_not_held_in_memory(tmp_path: Path, format: str) -> None:
    ledger = tmp_path / "ledger.db"
    around = environment(tmp_path)
    subprocess.run([sys.executable, "-c", LONG, str(ledger), str(EVENTS)], env=around, cwd=ROOT, check=True)
    out = tmp_path / "out"
    done = subprocess.run(
        [sys.executable, "-c", EXPORT, "export", "1", "--ledger", str(ledger), "-f", format, "-o", str(out)],
        env=around, cwd=ROOT, capture_output=True, text=True, timeout=110,
    )  # fmt: skip
    code, peak = done.stderr.split()[-2:]
    assert code == "0", done.stderr
    assert int(peak) < 80_000, f"{peak} kB for {EVENTS} events"
    assert format == "csv" or out.stat().st_size > 60_000
