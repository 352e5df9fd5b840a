"""What the real agents wrote (2.1.197, 2.1.332 and Codex 0.171.0, on a scripted model), read into a ledger."""

from pathlib import Path

import pytest

from coordinator.clock import RealClock
from store import runs, turns
from store.db import read_ledger
from store.vocab import Billing, Millis
from tests.review.importing.made import DATA, content, costs, difference, imported, told

CLAUDE = {
    # Told by the agent itself in its results when the files were made; a summary and a refused call were never priced.
    "claude-197": [29_250, 26_000, 5_500, None, 5_550, None],
    "claude-332": [21_400, 20_800, 6_000, 4_400, None, 4_440, None],
}


@pytest.mark.parametrize("generation", CLAUDE)
def test_every_turn_costs_what_the_agent_itself_said(tmp_path: Path, generation: str) -> None:
    ledger = tmp_path / "ledger.db"
    report = imported(ledger, DATA / generation)
    assert [len(report.made), report.problems, report.torn] == [2, [], []]
    assert costs(ledger, 1) == CLAUDE[generation]
    assert {known for (known,) in told(ledger, "SELECT cost_known FROM turns")} == {"guess", "unknown"}
    assert difference(ledger) is None


@pytest.mark.parametrize("generation", CLAUDE)
def test_the_fork_has_only_what_is_its_own_and_says_what_it_goes_on_from(tmp_path: Path, generation: str) -> None:
    ledger = tmp_path / "ledger.db"
    report = imported(ledger, DATA / generation)
    fork = told(ledger, "SELECT id, continues FROM runs WHERE id = 2")
    assert fork == [(2, 1)]
    (text,) = told(ledger, "SELECT text FROM turns WHERE run = 2")[0]
    assert text.startswith("No, make it ninety.")
    assert report.shared > 10


@pytest.mark.parametrize("generation", CLAUDE)
def test_what_a_helper_did_stands_in_the_turn_that_sent_it(tmp_path: Path, generation: str) -> None:
    ledger = tmp_path / "ledger.db"
    imported(ledger, DATA / generation)
    rows = told(
        ledger,
        "SELECT turns.n, events.kind, json_extract(body, '$.parent') FROM events JOIN turns ON turns.id = events.turn"
        " WHERE json_extract(body, '$.parent') IS NOT NULL ORDER BY events.offset, events.n",
    )
    assert [(n, kind) for n, kind, _ in rows] == [
        (2, "text"), (2, "tool-started"), (2, "tool-finished"), (2, "text"),
    ]  # fmt: skip
    calls = told(ledger, "SELECT json_extract(body, '$.call') FROM events WHERE body LIKE '%\"name\":\"Agent\"%'")
    assert {parent for _, _, parent in rows} == {calls[0][0]}


@pytest.mark.parametrize("generation", CLAUDE)
def test_a_summary_a_failure_and_a_local_command_are_what_they_are(tmp_path: Path, generation: str) -> None:
    ledger = tmp_path / "ledger.db"
    imported(ledger, DATA / generation)
    (run,) = told(ledger, "SELECT outcome, reason, detail FROM runs WHERE id = 1")
    assert run == ("failed", "imported", "API Error: 400 nothing doing")
    last = told(ledger, "SELECT result, failure, failure_text FROM turns WHERE run = 1 ORDER BY n DESC LIMIT 1")
    assert last == [("error", "refused", "API Error: 400 nothing doing")]
    assert told(ledger, "SELECT count(*) FROM events WHERE kind = 'compacted'") == [(1,)]
    assert told(ledger, "SELECT subtype FROM turns WHERE text = '/compact'") == [("local-command",)]
    assert told(ledger, "SELECT count(*) FROM events WHERE kind = 'unknown'") == [(0,)]


def test_codex_counts_cached_tokens_and_reasoning_once(tmp_path: Path) -> None:
    """Field row: reasoning tokens added on top of the output that has them already."""
    ledger = tmp_path / "ledger.db"
    imported(ledger, DATA / "codex-171")
    rows = told(ledger, "SELECT input_tokens, cache_read_tokens, output_tokens, cost FROM turns ORDER BY run, n")
    first = (601 + 602, 800, 180)
    assert rows[0] == (*first, round(1203 * 1.25 + 800 * 0.125 + 180 * 10))
    assert [row[2] for row in rows] == [180, 90, 90]
    assert told(ledger, "SELECT id, continues, outcome FROM runs") == [(1, None, "finished"), (2, 1, "finished")]
    kinds = [kind for (kind,) in told(ledger, "SELECT kind FROM events WHERE run = 1 ORDER BY offset, n")]
    assert kinds == ["thought", "tool-started", "tool-finished", "text", "text"]
    assert difference(ledger) is None


def test_nothing_is_imported_twice_and_an_unchanged_file_is_not_even_opened(tmp_path: Path) -> None:
    ledger = tmp_path / "ledger.db"
    imported(ledger, DATA)
    before = content(ledger), ledger.stat().st_size
    again = imported(ledger, DATA)
    assert [again.made, again.turns, again.unchanged] == [[], 0, 6]
    assert again.bytes == 0
    assert (content(ledger), ledger.stat().st_size) == before


def test_a_dry_run_tells_the_same_and_makes_no_ledger(tmp_path: Path) -> None:
    ledger = tmp_path / "ledger.db"
    dry = imported(ledger, DATA, dry=True)
    assert not ledger.exists()
    real = imported(ledger, DATA)
    same = ("turns", "events", "shared", "micro_usd", "unpriced")
    assert [getattr(dry, name) for name in same] == [getattr(real, name) for name in same]
    assert imported(ledger, DATA, dry=True).turns == 0


def test_it_counts_in_no_day_is_nobodys_to_sweep_and_can_be_found(tmp_path: Path) -> None:
    ledger = tmp_path / "ledger.db"
    imported(ledger, DATA)
    with read_ledger(ledger, now=RealClock().now) as tx:
        assert [turns.spent_since(tx, since=Millis(0), billing=one) for one in Billing] == [0, 0, 0]
        assert runs.listing(tx, live_only=True) == []
    found = told(ledger, "SELECT DISTINCT kind FROM search WHERE search MATCH '\"sixty\"' ORDER BY kind")
    assert found == [("text",), ("turn",)]
    assert told(ledger, "SELECT tool, calls FROM run_tools WHERE run = 1 ORDER BY tool") == [
        ("Agent", 1), ("Bash", 1), ("Read", 1),
    ]  # fmt: skip


def test_the_order_of_files_changes_who_has_the_shared_part_and_nothing_else(tmp_path: Path) -> None:
    forward, backward = tmp_path / "forward.db", tmp_path / "backward.db"
    files = sorted((DATA / "claude-197").rglob("*.jsonl"))
    sessions = [one for one in files if "subagents" not in one.parts]
    for one in sessions:
        imported(forward, one)
    for one in reversed(sessions):
        imported(backward, one)
    total = "SELECT sum(cost), sum(input_tokens), sum(output_tokens) FROM turns"
    assert told(forward, total) == told(backward, total)
    assert difference(backward) is None
