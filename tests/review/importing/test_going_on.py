"""An import that is cut off anywhere, files that grow, are copied or read twice: all of it once, whatever happens."""

import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from app import wording_importing
from coordinator import prices
from coordinator.clock import RealClock
from coordinator.review.importing import writing
from store import bulk, custody
from store.bulk import BulkLedger
from store.open import Opening
from store.refusal import Refusal
from store.tx import Tx
from tests.bench.bench_import import claude_lines, write as write_bulk
from tests.review.importing.made import (
    DATA,
    OTHER,
    SESSION,
    Cut,
    Talk,
    content,
    conversation,
    cut_after,
    difference,
    imported,
    told,
    words,
    write,
)
from tests.store.scenes import held, register
from tests.waiting import wait_until

LATER = "1a2b3c4d-0000-4000-8000-000000000008"


def cut_off(ledger: Path, source: Path, commits: int, monkeypatch: pytest.MonkeyPatch) -> bool:
    """Import, and be gone after so many commits; whether that came before the end."""
    real, gone = bulk.BulkLedger.write, cut_after(commits)

    def write_or_be_gone(self: bulk.BulkLedger, body: object) -> object:
        next(gone)
        return real(self, body)  # type: ignore[arg-type]

    with monkeypatch.context() as patched:
        patched.setattr(bulk.BulkLedger, "write", write_or_be_gone)
        try:
            imported(ledger, source)
        except Cut:
            return True
    return False


@pytest.mark.parametrize("source", ["made", "claude-197", "claude-332", "codex-171"])
def test_cut_off_after_any_commit_it_goes_on_to_the_same_ledger(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, source: str
) -> None:
    monkeypatch.setattr(writing, "ROWS", 3)
    place = DATA / source
    if source == "made":
        place = conversation().write(tmp_path / "files")
    whole = tmp_path / "whole.db"
    imported(whole, place)
    wanted = content(whole)
    cuts = 0
    while True:
        ledger = tmp_path / f"cut-{cuts}.db"
        was_cut = cut_off(ledger, place, cuts, monkeypatch)
        assert difference(ledger) is None, f"after {cuts} commits"
        imported(ledger, place)
        assert content(ledger) == wanted, f"after {cuts} commits"
        assert difference(ledger) is None
        if not was_cut:
            break
        cuts += 1
    assert cuts >= 3


def test_cut_off_again_and_again_it_still_comes_to_its_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(writing, "ROWS", 2)
    source = conversation(turns=6).write(tmp_path / "files")
    whole, ledger = tmp_path / "whole.db", tmp_path / "ledger.db"
    imported(whole, source)
    rounds = 0
    while cut_off(ledger, source, 1, monkeypatch):
        rounds += 1
        assert rounds < 500
    assert rounds > 5
    assert content(ledger) == content(whole)
    assert difference(ledger) is None


def test_killed_for_real_it_goes_on(tmp_path: Path) -> None:
    source = tmp_path / "files" / f"{SESSION}.jsonl"
    write_bulk(source, claude_lines(SESSION, newer=False), 6_000_000)
    whole, ledger = tmp_path / "whole.db", tmp_path / "ledger.db"
    imported(whole, source)
    program = (
        "import sys; from pathlib import Path; from tests.review.importing.made import imported;"
        "imported(Path(sys.argv[1]), Path(sys.argv[2]))"
    )
    killed = 0
    for wanted in (1, 400, 900):
        child = subprocess.Popen(
            [sys.executable, "-c", program, str(ledger), str(source)], cwd=Path(__file__).parents[3]
        )
        try:

            def far_enough(child: "subprocess.Popen[bytes]" = child, wanted: int = wanted) -> bool:
                written = ledger.exists() and told(ledger, "SELECT count(*) FROM events")[0][0]
                return written >= wanted or child.poll() is not None

            wait_until(far_enough, timeout=60)
            child.send_signal(signal.SIGKILL)
        finally:
            killed += child.wait(30) == -signal.SIGKILL
        assert difference(ledger) is None
    imported(ledger, source)
    assert killed
    assert content(ledger) == content(whole)
    assert difference(ledger) is None


def test_while_it_runs_its_run_is_nobodys_to_sweep(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(writing, "ROWS", 3)
    source = conversation().write(tmp_path / "files")
    ledger = tmp_path / "ledger.db"
    assert cut_off(ledger, source, 2, monkeypatch)
    assert told(ledger, "SELECT outcome, reason FROM runs") == [("finished", "imported")]
    assert told(ledger, "SELECT count(*) FROM turns WHERE state NOT IN ('settled', 'uncertain')") == [(0,)]
    assert told(ledger, "SELECT count(*) FROM authorizations WHERE state <> 'closed'") == [(0,)]
    assert told(ledger, "SELECT count(*) FROM incarnations WHERE ended_at IS NULL") == [(0,)]


@pytest.mark.parametrize("half", [0, 1])
def test_a_file_that_grew_is_read_on_in_a_run_that_continues_the_first(tmp_path: Path, half: int) -> None:
    talk = conversation(turns=4)
    lines, at = talk.lines, len(talk.lines) // 2 + half
    path, ledger = tmp_path / f"{SESSION}.jsonl", tmp_path / "ledger.db"
    write(path, lines[:at])
    imported(ledger, path)
    write(path, lines)
    report = imported(ledger, path)
    assert told(ledger, "SELECT id, continues FROM runs") == [(1, None), (2, 1)]
    assert report.shared == 0
    whole = tmp_path / "whole.db"
    imported(whole, path)
    bodies = "SELECT kind, body FROM events ORDER BY offset, n"
    assert told(ledger, bodies) == told(whole, bodies)
    total = "SELECT sum(cost), sum(output_tokens) FROM turns"
    assert told(ledger, total) == told(whole, total)
    assert imported(ledger, path).turns == 0
    assert difference(ledger) is None


def test_half_a_last_line_waits_for_its_other_half(tmp_path: Path) -> None:
    talk = conversation(turns=2)
    path, ledger = tmp_path / f"{SESSION}.jsonl", tmp_path / "ledger.db"
    data = talk.write(tmp_path).read_bytes()
    path.write_bytes(data[:-40])
    report = imported(ledger, path)
    assert report.torn == [path]
    assert imported(ledger, path).turns == 0
    path.write_bytes(data)
    imported(ledger, path)
    outputs = told(ledger, "SELECT json_extract(body, '$.output') FROM events WHERE kind = 'tool-finished'")
    assert [output for (output,) in outputs] == [f"output {turn} {call}" for turn in range(2) for call in range(3)]


def test_a_last_line_without_its_newline_is_whole(tmp_path: Path) -> None:
    path, ledger = conversation(turns=1).write(tmp_path), tmp_path / "ledger.db"
    path.write_bytes(path.read_bytes().rstrip(b"\n"))
    assert imported(ledger, path).torn == []
    assert told(ledger, "SELECT count(*) FROM events WHERE kind = 'tool-finished'") == [(3,)]


def test_lines_that_were_copied_under_new_ids_are_known_again(tmp_path: Path) -> None:
    """An older generation resumed a session by copying it: same times and words, other ids."""
    first = conversation(turns=2)
    copy = Talk(OTHER)
    copy.lines = [one | {"uuid": f"new-{n}", "sessionId": OTHER} for n, one in enumerate(first.lines)]
    copy.says("Only here").answers("msg-new", words("Yes"), input_tokens=10, output_tokens=1)
    ledger = tmp_path / "ledger.db"
    imported(ledger, first.write(tmp_path))
    report = imported(ledger, copy.write(tmp_path))
    assert report.shared == len(first.lines)
    assert told(ledger, "SELECT run, n, text FROM turns WHERE run = 2") == [(2, 1, "Only here")]
    assert told(ledger, "SELECT continues FROM runs WHERE id = 2") == [(1,)]


def test_a_fork_that_is_read_in_the_same_go_knows_what_is_not_committed_yet(tmp_path: Path) -> None:
    first = conversation(turns=2)
    fork = Talk(OTHER)
    fork.lines = [one | {"sessionId": OTHER} for one in first.lines]
    fork.says("Only here")
    first.write(tmp_path / "files")
    fork.write(tmp_path / "files")
    ledger = tmp_path / "ledger.db"
    imported(ledger, tmp_path / "files")
    assert told(ledger, "SELECT run, count(*) FROM turns GROUP BY run ORDER BY run") == [(1, 2), (2, 1)]
    assert told(ledger, "SELECT continues FROM runs ORDER BY id") == [(None,), (1,)]


def test_an_older_codex_fork_that_copies_its_session_under_new_times(tmp_path: Path) -> None:
    def line(at: int, kind: str, **payload: object) -> dict[str, object]:
        return {"timestamp": f"2026-11-01T10:00:{at:02d}Z", "type": kind, "payload": payload}

    def said(at: int, role: str, text: str) -> dict[str, object]:
        kind = "input_text" if role == "user" else "output_text"
        return line(at, "response_item", type="message", role=role, content=[{"type": kind, "text": text}])

    def counted(at: int, input: int, output: int, new: int) -> dict[str, object]:
        total, last = {"input_tokens": input, "output_tokens": output}, {"input_tokens": new, "output_tokens": 5}
        return line(at, "event_msg", type="token_count", info={"total_token_usage": total, "last_token_usage": last})

    body = [
        (said, "user", "go on"), (said, "assistant", "Done."), (counted, 100, 5, 100), (counted, 100, 5, 100),
        (said, "user", "go on"), (said, "assistant", "Done."), (counted, 250, 10, 150),
    ]  # fmt: skip
    meta = {"cwd": "/home/op/orders", "cli_version": "0.60.0"}
    model = line(0, "turn_context", model="gpt-5")
    first = [
        line(0, "session_meta", id="s-1", **meta),
        model,
        *(make(n, *given) for n, (make, *given) in enumerate(body)),
    ]
    fork = [
        line(50, "session_meta", id="s-2", forked_from_id="s-1", **meta), line(50, "session_meta", id="s-1", **meta),
        model, *(make(51, *given) for make, *given in body), said(52, "user", "go on"), said(53, "assistant", "Done."),
        counted(54, 400, 15, 150),
    ]  # fmt: skip
    folder, ledger = tmp_path / "sessions", tmp_path / "ledger.db"
    write(folder / "rollout-1.jsonl", first)
    write(folder / "rollout-2.jsonl", fork)
    imported(ledger, folder)
    rows = told(ledger, "SELECT run, n, input_tokens, output_tokens FROM turns ORDER BY run, n")
    assert rows == [(1, 1, 100, 5), (1, 2, 150, 5), (2, 1, 150, 5)]
    assert told(ledger, "SELECT continues FROM runs ORDER BY id") == [(None,), (1,)]


def test_a_file_that_was_moved_or_copied_is_the_same_session(tmp_path: Path) -> None:
    path, ledger = conversation().write(tmp_path / "a"), tmp_path / "ledger.db"
    imported(ledger, path)
    before = content(ledger)
    copy = tmp_path / "b" / path.name
    copy.parent.mkdir()
    shutil.copy(path, copy)
    assert imported(ledger, copy).turns == 0
    both = tmp_path / "both.db"
    imported(both, tmp_path / "a", tmp_path / "b")
    assert content(both)["turns"] == before["turns"]


def test_a_file_that_was_rewritten_is_told_and_left_alone(tmp_path: Path) -> None:
    path, ledger = conversation().write(tmp_path), tmp_path / "ledger.db"
    imported(ledger, path)
    before = content(ledger)
    path.write_bytes(path.read_bytes().replace(b"Question 0", b"Question 9") + b"{}\n")
    report = imported(ledger, path)
    assert [one.trouble for one in report.problems] == ["rewritten"]
    assert content(ledger) == before


def test_a_ledger_that_is_busy_is_waited_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, ledger = conversation().write(tmp_path), tmp_path / "ledger.db"
    program = (
        "import sqlite3, sys; c = sqlite3.connect(sys.argv[1], isolation_level=None); c.execute('BEGIN IMMEDIATE');"
        "print('held', flush=True); sys.stdin.read()"
    )
    imported(ledger, Talk(OTHER).says("Elsewhere").write(tmp_path / "other"))
    holder = subprocess.Popen(
        [sys.executable, "-c", program, str(ledger)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert holder.stdout is not None
    assert holder.stdin is not None
    try:
        assert holder.stdout.readline() == b"held\n"
        real = bulk.BulkLedger._once
        tries = []

        def once(self: bulk.BulkLedger, body: object) -> object:
            tries.append(1)
            if len(tries) == 1:
                self._conn.execute("PRAGMA busy_timeout = 50")
            elif holder.stdin is not None and len(tries) == 3:
                holder.stdin.close()
                holder.wait(20)
            return real(self, body)  # type: ignore[arg-type]

        monkeypatch.setattr(bulk.BulkLedger, "_once", once)
        imported(ledger, path)
    finally:
        if holder.poll() is None:
            os.kill(holder.pid, signal.SIGKILL)
            holder.wait(20)
        holder.stdout.close()
    assert len(tries) >= 3
    assert told(ledger, "SELECT count(*) FROM turns WHERE run = 2") == [(4,)]


def test_a_conversation_that_was_held_here_is_not_taken_a_second_time(tmp_path: Path) -> None:
    """Also the one that it was in before it went over into another one; what was never held comes in."""
    ledger, files = tmp_path / "ledger.db", tmp_path / "files"
    imported(ledger, conversation().write(files))
    opening = Opening(
        path=ledger, now=RealClock().now, machine="machine-1", ledger_id=lambda: "x", live_elsewhere=lambda: False
    )
    with BulkLedger.opened(opening) as writing_to:

        def hold(tx: Tx) -> None:
            register(tx)
            run, id = held(tx, native_id=OTHER)
            assert not isinstance(custody.set_native(tx, id=id, native_id=LATER), Refusal)
            assert custody.fence(tx, id=id, reason="stopped") is not None and run.id == 2

        writing_to.write(hold)
    before = content(ledger)
    for session in (OTHER, LATER):
        conversation(session).write(files)
    report = imported(ledger, files)
    assert sorted((one.native_id, one.runs) for one in report.held) == [(OTHER, (2,)), (LATER, (2,))]
    assert content(ledger) == before and report.made == [] and report.unchanged == 1
    said = wording_importing.summary(report, prices.built_in(), dry=False)
    assert "2 sessions are here already, held by Footplate as run 2." in said
    assert len(imported(ledger, files, DATA / "claude-197").made) == 2 and difference(ledger) is None
