"""Usage is told often and counted once; its price is an estimate, by a table with a date, and never nothing."""

from pathlib import Path

import pytest

from coordinator import pricefile, prices
from coordinator.prices import Tokens
from coordinator.review.importing.claude import tokens_of
from coordinator.review.importing.codex import tokens_of as codex_tokens_of
from store.refusal import Refusal
from tests.review.importing.made import OTHER, Talk, imported, told, words

SUMS = "SELECT sum(input_tokens), sum(output_tokens), sum(cost) FROM turns"


def test_usage_that_each_block_of_an_answer_repeats_counts_once(tmp_path: Path) -> None:
    """Field row: the same usage on every line of an answer, added up."""
    talk = Talk().says("Why?")
    talk.answers("msg-1", *(words(f"block {n}") for n in range(7)), input_tokens=1000, output_tokens=100)
    ledger = tmp_path / "ledger.db"
    imported(ledger, talk.write(tmp_path))
    assert told(ledger, SUMS) == [(1000, 100, 1000 * 5 + 100 * 25)]


def test_of_an_answer_that_is_told_while_it_streams_the_last_telling_counts(tmp_path: Path) -> None:
    talk = Talk().says("Why?")
    for said in (1, 40, 250):
        talk.answers("msg-1", words("more"), input_tokens=1000, output_tokens=said)
    ledger = tmp_path / "ledger.db"
    imported(ledger, talk.write(tmp_path))
    assert told(ledger, SUMS) == [(1000, 250, 1000 * 5 + 250 * 25)]


def test_an_answer_that_is_told_again_in_another_turn_or_session_was_paid_once(tmp_path: Path) -> None:
    first = Talk().says("Why?").answers("msg-1", words("so"), input_tokens=1000, output_tokens=100)
    first.says("And?").answers("msg-1", words("as I said"), input_tokens=1000, output_tokens=100)
    other = Talk(OTHER).says("Elsewhere").answers("msg-1", words("again"), input_tokens=1000, output_tokens=100)
    ledger = tmp_path / "ledger.db"
    imported(ledger, first.write(tmp_path))
    imported(ledger, other.write(tmp_path))
    assert told(ledger, SUMS) == [(1000, 100, 7500)]


def test_the_same_id_under_another_request_is_another_answer(tmp_path: Path) -> None:
    talk = Talk().says("Why?").answers("msg-1", words("so"), input_tokens=1000, output_tokens=100)
    talk.answers("msg-1", words("so"), input_tokens=1000, output_tokens=100)
    talk.lines[-1]["requestId"] = "req-2"
    ledger = tmp_path / "ledger.db"
    imported(ledger, talk.write(tmp_path))
    assert told(ledger, SUMS) == [(2000, 200, 15_000)]


def test_a_model_that_no_table_has_costs_an_unknown_amount(tmp_path: Path) -> None:
    """Field row: a cost of 0 where nobody knew."""
    talk = Talk().says("Why?").answers("msg-1", words("so"), model="some-new-model", input_tokens=9, output_tokens=9)
    talk.says("And?").answers("msg-2", words("so"), input_tokens=1000, output_tokens=100)
    talk.answers("msg-3", words("so"), model="some-new-model", input_tokens=9, output_tokens=9)
    talk.says("Last").answers("msg-4", words("so"))
    ledger = tmp_path / "ledger.db"
    report = imported(ledger, talk.write(tmp_path))
    rows = told(ledger, "SELECT cost, cost_known, output_tokens FROM turns ORDER BY n")
    assert rows == [(None, "unknown", 9), (None, "unknown", 109), (None, "unknown", None)]
    assert (report.unpriced, report.micro_usd) == (3, 0)


def test_what_the_report_says_is_what_the_ledger_has(tmp_path: Path) -> None:
    """Field row: two ways of adding up, two sums."""
    talk = Talk()
    for turn in range(5):
        talk.says(f"q{turn}").answers(f"msg-{turn}", words("a"), words("b"), input_tokens=10**turn, output_tokens=turn)
    ledger = tmp_path / "ledger.db"
    report = imported(ledger, talk.write(tmp_path))
    assert told(ledger, "SELECT sum(cost) FROM turns") == [(report.micro_usd,)]


def test_cached_tokens_have_their_own_price() -> None:
    usage = {
        "input_tokens": 100, "output_tokens": 10, "cache_read_input_tokens": 1000, "cache_creation_input_tokens": 500,
        "cache_creation": {"ephemeral_5m_input_tokens": 200, "ephemeral_1h_input_tokens": 300},
        "server_tool_use": {"web_search_requests": 2},
    }  # fmt: skip
    tokens = tokens_of(usage)
    assert tokens == Tokens(fresh=100, read=1000, written=200, written_long=300, said=10, searches=2)
    assert prices.built_in().cost("claude-opus-4-8", tokens) == 500 + 500 + 1250 + 3000 + 250 + 20_000


@pytest.mark.parametrize(
    "usage", [{}, {"input_tokens": "many"}, {"input_tokens": -5}, {"input_tokens": 1e300}, {"input_tokens": True}]
)
def test_a_count_that_is_none_counts_nothing(usage: dict[str, object]) -> None:
    assert tokens_of(usage) == Tokens() == codex_tokens_of(usage)


def test_codex_tells_cached_input_and_reasoning_as_parts() -> None:
    usage = {"input_tokens": 1000, "cached_input_tokens": 900, "output_tokens": 90, "reasoning_output_tokens": 60}
    assert codex_tokens_of(usage) == Tokens(fresh=100, read=900, said=90)


@pytest.mark.parametrize(
    ("name", "known"),
    [
        ("claude-opus-4-8", True), ("claude-opus-4-8[1m]", True), ("claude-sonnet-4-5-20250929", True),
        ("us.anthropic.claude-sonnet-4-5-20250929-v1:0", True), ("anthropic/claude-haiku-4-5", True),
        ("claude-haiku-4-5@20251001", True), ("openai/GPT-5", True), ("gpt-5-2025-08-07", True),
        ("claude-opus-4-8@fast", False), ("claude-opus-9", False), ("gpt-50", False), ("", False),
        ("<synthetic>", False),
    ],
)  # fmt: skip
def test_a_model_is_found_under_the_names_that_hosts_give_it(name: str, known: bool) -> None:
    assert (prices.built_in().find(name) is not None) is known


def test_the_operators_prices_go_over_the_built_in_ones(tmp_path: Path) -> None:
    path = tmp_path / "prices.toml"
    path.write_text('dated = "2027-01-01"\n[models."some-new-model"]\ninput = 2\noutput = 8.5\n[models."gpt-5"]\n'
                    "input = 1.0\noutput = 2.0\ncache_read = 0.5\n")  # fmt: skip
    table = pricefile.load(path)
    assert isinstance(table, prices.Prices)
    assert (table.dated, table.own) == ("2027-01-01", True)
    tokens = Tokens(fresh=100, read=100, written=100, written_long=100, said=100)
    assert table.cost("some-new-model", tokens) == 4 * 200 + 850
    assert table.cost("gpt-5", tokens) == 100 + 50 + 100 + 100 + 200
    assert table.cost("claude-opus-4-8", tokens) == prices.built_in().cost("claude-opus-4-8", tokens)


@pytest.mark.parametrize(
    "text", ["[models", "[models.x]\ninput = -1\noutput = 1", "[models.x]\ninput = 1", "[models.x]\nin = 1", "\xff"]
)
def test_prices_that_cannot_be_read_are_refused_by_file(tmp_path: Path, text: str) -> None:
    path = tmp_path / "prices.toml"
    path.write_bytes(text.encode("latin-1"))
    table = pricefile.load(path)
    assert isinstance(table, Refusal)
    assert table.facts["file"] == str(path)


def test_without_a_file_the_built_in_table_stands_with_its_date(tmp_path: Path) -> None:
    table = pricefile.load(tmp_path / "none.toml")
    assert isinstance(table, prices.Prices)
    assert (table.dated, table.own) == (prices.DATED, False)
