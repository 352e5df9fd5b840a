"""The review on a ledger of the practice agent: lists, one run and its parts, and the ways from one to the other."""

import hashlib
from pathlib import Path

import pytest
from msgspec.structs import replace

from app.console.review import listing
from app.console.review.app import ReviewApp
from app.console.screens.changes import ChangesSheet
from app.console.views.glyphs import UNICODE
from app.console.views.ink import plain
from app.console.views.review_facts import files_kept
from app.console.views.review_rows import spend_line
from app.console.views.transcript_turns import DecisionBlock
from app.wording import forbidden_in, plural
from coordinator.api import ChangesFrom
from coordinator.review.types import Sort, SpendBy, SpendRow
from store.vocab import EvidenceKind, MicroUsd
from tests.bench import bigledger
from tests.console.driving import burst
from tests.console.review.opened import reviewing
from tests.review import played
from tests.waiting import eventually


def fingerprint(ledger: Path) -> dict[str, str]:
    return {one.name: hashlib.sha256(one.read_bytes()).hexdigest() for one in ledger.parent.iterdir() if one.is_file()}


async def test_it_opens_on_the_runs_and_the_newest_of_them(practiced: Path) -> None:
    async with reviewing(practiced) as on:
        assert "1 run," in on.text and "read only" in on.text
        assert "stopped by you" in on.text and "PRACTICE" in on.text
        assert on.review.pane.run == 1
        assert [turn.n for turn in on.review.pane.turns.items] == [1, 2]


async def test_enter_gives_the_run_the_screen_and_esc_steps_back_until_it_is_left(practiced: Path) -> None:
    async with reviewing(practiced) as on:
        await on.press("enter")
        assert on.alone() and not on.review.list.display
        assert on.review.pane.part == "conversation" and on.review.pane.transcript.has_focus
        await on.press("shift+tab")
        assert on.review.pane.part == "turns"
        await on.press("escape")
        assert not on.alone() and on.review.in_list
        await on.filter("repo:tree")
        await on.press("t", "escape")
        assert on.review.list.mode == "runs"
        await on.press("escape")
        assert on.review.line.text == "" and on.app.is_running
        await on.press("escape")
        await eventually(lambda: not on.app.is_running)


async def test_the_facts_say_who_decided_what_and_lead_to_it_and_back(practiced: Path) -> None:
    async with reviewing(practiced) as on:
        await on.press("enter", "tab")
        said = "\n".join(on.said)
        for words in ("agreed", "by Ada", "DECISIONS", "denied: “rather not”", "by Ada", "STOPS", "STOP REPORT"):
            assert words in said, words
        facts = on.review.pane.facts
        denied = next(n for n, one in enumerate(facts.items) if "rather not" in "".join(s.text for s in one.line))
        decision = facts.items[denied].decision
        facts.to(denied)
        await on.press("enter")
        transcript = on.review.pane.transcript
        assert transcript.has_focus
        block = transcript.block_here()
        assert isinstance(block, DecisionBlock) and "denied.txt" in block.asked.subject
        await on.press("enter")
        assert facts.has_focus and facts.chosen is not None and facts.chosen.decision == decision


@pytest.mark.parametrize("size", [(80, 24), (100, 30), (120, 40)])
async def test_the_facts_begin_at_their_top_and_are_read_row_by_row(practiced: Path, size: tuple[int, int]) -> None:
    async with reviewing(practiced, size) as on:
        await on.press("enter", "j", "tab")
        facts = on.review.pane.facts
        assert plain(facts.rows[0]).strip() == "RUN", "not where another part was left"
        below = plain(facts.rows[3])
        await on.press("j")
        if len(facts.items) > facts.tall and facts.at > facts.tall:
            assert plain(facts.rows[2]) == below, "one row further, nothing passed over"
        await on.press("G", "g")
        assert plain(facts.rows[0]).strip() == "RUN"
        assert "its turns" in "".join(plain(one.line) for one in facts.items), "the times of a run are told apart"


async def test_the_conversation_ends_as_the_live_one_did(practiced: Path) -> None:
    async with reviewing(practiced, (80, 24)) as on:
        await on.press("enter")
        assert "stopped by you" in on.text and "Nothing left running" in on.text
        page = on.review.pane.page
        assert page is not None and not page.session.changed
        kept = [one.note for one in page.evidence if one.kind is EvidenceKind.STATUS][-1]
        count = files_kept(page)
        told = f"{plural(count or 0, 'file')} changed"
        assert kept == told and (told if count else "No files") in on.text
        unread = replace(page, evidence=())
        assert files_kept(unread) is None, "nothing is said of what was not looked at"
        await on.press("r")
        assert "Nothing left running" not in on.text, "in a replay the end has not come yet"


@pytest.mark.parametrize("keys", [(), ("enter",)])
async def test_the_way_out_is_said_on_every_screen(practiced: Path, keys: tuple[str, ...]) -> None:
    async with reviewing(practiced, (80, 24)) as on:
        await on.press(*keys)
        assert on.rows[-1].strip().startswith("Esc back") and on.rows[-1].endswith("^Q quit")
        assert not keys or "Tab next part" in on.rows[-1]


def test_bars_of_different_length_stand_beside_different_numbers() -> None:
    one = SpendRow(
        key="1.1", runs=1, turns=1, cost=MicroUsd(13_200), guessed=MicroUsd(0), unknown_turns=0, working_ms=0,
        input_tokens=0, output_tokens=0, cache_read_tokens=0, cache_write_tokens=0,
    )  # fmt: skip
    rows = [one, replace(one, cost=MicroUsd(10_100)), replace(one, cost=MicroUsd(20))]
    drawn = [plain(spend_line(row, 80, SpendBy.TURN, 13_200, UNICODE)) for row in rows]
    assert ["0.0132" in drawn[0], "0.0101" in drawn[1], "<0.0001" in drawn[2]] == [True] * 3
    dear = replace(one, cost=MicroUsd(2_000_000))
    assert " 2.00 " in plain(spend_line(dear, 80, SpendBy.TURN, 2_000_000, UNICODE))


async def test_a_turn_leads_into_the_conversation_and_back(practiced: Path) -> None:
    async with reviewing(practiced) as on:
        await on.press("enter", "shift+tab", "j", "enter")
        assert on.review.pane.transcript.has_focus
        transcript = on.review.pane.transcript
        assert transcript.current_line() == transcript.model.line_of_turn(on.review.pane.turns.items[1].id)
        await on.press("g", "enter")
        assert on.review.pane.part == "turns" and on.review.pane.turns.at == 0


async def test_what_changed_can_be_read(practiced: Path) -> None:
    async with reviewing(practiced) as on:
        for keys in (("enter", "tab", "G", "k", "enter"), ("escape", "d")):
            await on.press(*keys)
            over = on.app.screen
            assert isinstance(over, ChangesSheet)
            await eventually(lambda over=over: over.settled)  # type: ignore[misc]
            assert over.file is not None and over.changes is not None and over.changes.source is ChangesFrom.KEPT
            assert any(line.text.startswith("+") for line in over.view.lines)
            await on.press("o")
            assert any("a review opens nothing" in plain(row) for row in over.foot_lines.rows)
        await on.press("escape")
        assert not over.is_current


async def test_money_is_shown_by_turn_and_in_all_groups(practiced: Path) -> None:
    async with reviewing(practiced) as on:
        await on.press("enter", "shift+tab", "shift+tab")
        assert on.review.pane.part == "money" and "turn 2" in on.text
        await on.press("dollar_sign")
        seen = []
        for _ in listing.SPENDS:
            seen.append(on.review.list.by)
            assert on.review.list.words == f"money by {on.review.list.by.value}"
            await on.press("s")
        assert seen == list(listing.SPENDS) and SpendBy.TURN not in seen
        assert "nothing was spent" in on.text, "the practice agent's money is play money"


# -------------------------------------------------------------------------------------------------------------- search


async def test_what_was_said_is_found_and_gone_to(practiced: Path) -> None:
    async with reviewing(practiced) as on:
        await on.filter("never closed")
        await on.press("t")
        assert on.review.list.hits.items, on.text
        await on.press("enter")
        transcript = on.review.pane.transcript
        await eventually(lambda: transcript.found_line is not None)
        assert transcript.found_line is not None
        assert "never" in transcript.lines[transcript.found_line].text
        assert transcript.has_focus and on.alone()


async def test_each_place_that_is_found_is_gone_to(practiced: Path) -> None:
    """Calls, results, the operator's words, decisions: none of them leads nowhere."""
    async with reviewing(practiced) as on:
        await on.press("t")
        count = len(on.review.list.hits.items)
        kinds = {hit.kind for hit in on.review.list.hits.items}
        assert {"turn", "decision", "text", "tool-started"} <= kinds
        for at in range(count):
            on.review.list.hits.to(at)
            await on.press("enter")
            assert on.review.pane.part == "conversation", on.review.list.hits.items[at]
            assert "does not show" not in on.text
            transcript, hit = on.review.pane.transcript, on.review.list.hits.items[at]
            if hit.kind == "turn" and hit.turn is not None:
                header = transcript.model.line_of_turn(hit.turn)
                assert header is not None and header <= transcript.current_line() <= header + 2
            await on.press("escape")
            assert on.review.in_list


async def test_search_within_the_run_and_its_end(practiced: Path) -> None:
    async with reviewing(practiced) as on:
        await on.press("enter", "slash")
        await on.type("alert")
        await on.press("enter")
        found = on.review.pane.transcript.found_line
        assert found is not None and "alert" in on.conversation[found]
        assert "2 of 2, n and N go on" in on.text
        await on.press("n")
        await on.press("escape")
        assert on.alone() and on.review.pane.transcript.found_line is None


# ---------------------------------------------------------------------------------------------------- filters and pages


async def test_a_bad_filter_is_one_sentence_and_takes_nothing_away(many: Path) -> None:
    async with reviewing(many) as on:
        before = len(on.review.list.runs.items)
        await on.filter("repo:orders")
        assert 0 < len(on.review.list.runs.items) < before
        await on.press("f")
        await on.type(" nonsense:1")
        assert "nonsense:1 is no filter" in on.text and "repo:, agent:" in on.text
        assert forbidden_in(on.text) == []
        assert 0 < len(on.review.list.runs.items) < before
        await on.press("escape")
        assert on.review.line.text == "repo:orders" and "is no filter" not in on.text


async def test_all_orders_and_all_pages(many: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(listing, "PAGE", 5)
    async with reviewing(many) as on:
        for _ in Sort:
            await on.press("G")
            runs = [row.run for row in on.review.list.runs.items]
            assert len(runs) == len(set(runs)) == on.review._sizes.runs > 20  # type: ignore[union-attr]
            assert on.review.list.runs.at == len(runs) - 1
            await on.press("s")


async def test_rows_are_read_on_before_the_last_one_is_reached(many: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(listing, "PAGE", 5)
    monkeypatch.setattr("app.console.review.lists.NEAR", 2)
    async with reviewing(many) as on:
        assert len(on.review.list.runs.items) == 5 and on.review.list.words.startswith("5+ runs")
        await on.press("j", "j", "j")
        assert len(on.review.list.runs.items) == 10 and on.review.list.runs.at == 3


async def test_a_sum_leads_to_its_runs(many: Path) -> None:
    async with reviewing(many) as on:
        await on.press("dollar_sign", "s", "j")
        row = on.review.list.spend.chosen
        assert row is not None
        await on.press("enter")
        assert on.review.list.mode == "runs" and on.review.line.text == f'repo:"{row.key}"'
        assert {one.repository for one in on.review.list.runs.items} == {row.key}


async def test_the_run_below_is_the_one_that_is_lit(many: Path) -> None:
    async with reviewing(many) as on:
        for key in ("j", "j", "pagedown", "k", "g"):
            await on.press(key)
            chosen = on.review.list.runs.chosen
            assert chosen is not None and on.review.pane.run == chosen.run


# --------------------------------------------------------------------------------------------------------------- export


async def test_marked_runs_are_exported_and_nothing_is_overwritten(
    many: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    async with reviewing(many) as on:
        await on.press("space", "j", "space")
        marked = sorted(on.review.list.marked)
        assert len(marked) == 2 and "2 runs marked" in on.text
        for said in ("written: ", "is there already"):
            await on.press("x", "enter")
            await on.press("enter")
            await on.still()
            assert said in on.text
        made = tmp_path / f"runs-{marked[0]}-to-{marked[1]}.md"
        assert made.read_text().count("\n# ") + made.read_text().startswith("# ") == 2


# ----------------------------------------------------------------------------------------------------- what it must not


async def test_it_changes_no_byte_of_the_ledger(practiced: Path) -> None:
    before = fingerprint(practiced)
    async with reviewing(practiced) as on:
        await on.press("enter", "tab", "tab", "tab", "r", "full_stop", "escape", "escape", "t", "dollar_sign")
        assert on.app.is_running
    assert fingerprint(practiced) == before


async def test_no_word_of_the_code_is_on_it(practiced: Path) -> None:
    async with reviewing(practiced, (200, 50)) as on:
        for keys in (("enter",), ("tab",), ("tab",), ("tab",), ("escape", "t"), ("dollar_sign",), ("question_mark",)):
            await on.press(*keys)
            for row in on.said:
                told = row.replace(played.SECRET, "") if "agent.py" not in row else ""  # a command as it runs
                assert forbidden_in(told) == [], told


async def test_what_is_no_ledger_is_said_and_left(tmp_path: Path) -> None:
    bad = tmp_path / "ledger.db"
    bad.write_bytes(b"not a ledger at all" * 100)
    app = ReviewApp(bad)
    async with app.run_test() as pilot:
        await eventually(lambda: app.refusal is not None or not app.is_running)
        await pilot.pause()
    assert app.refusal is not None and app.return_value == 1
    assert bad.read_bytes().startswith(b"not a ledger")


async def test_a_ledger_without_runs_is_no_trouble(tmp_path: Path) -> None:
    bigledger.make(tmp_path / "ledger.db", 0)
    async with reviewing(tmp_path / "ledger.db") as on:
        assert "there is no run in this ledger" in on.text
        await on.press("enter", "tab", "x", "r", "o", "t", "dollar_sign", "enter", "space", "j", "G")
        assert on.app.is_running


async def test_letters_typed_at_once_come_into_the_filter(practiced: Path) -> None:
    """``q`` would leave the review, ``x`` export."""
    async with reviewing(practiced) as on:
        burst(on.app, "f", *"xqrot")
        await on.still()
        assert on.review.line.text == "xqrot" and on.app.screen is on.review


async def test_letters_typed_at_once_come_into_the_search_of_a_run(practiced: Path) -> None:
    async with reviewing(practiced) as on:
        await on.press("enter")
        while on.review.pane.part != "conversation":
            await on.press("tab")
        burst(on.app, "/", *"xqrot")
        await on.still()
        assert on.review.pane.search_line.text == "xqrot" and on.app.screen is on.review
