"""What is made findable and when: turns at their end, what was asked and answered, which tools a run called."""

import json

import pytest
from hypothesis import given, settings, strategies as st

from store import decisions, events, lookup, reviewing, search, turns
from store.lookup import Found
from store.reviewing import Narrowed
from store.tx import Tx
from store.vocab import DecisionKind, RunId, TurnId, TurnResultKind, TurnSource
from tests.store.scenes import event, held, in_memory, said

ALL = Narrowed()


def found(tx: Tx, *words: str, which: Narrowed = ALL) -> list[Found]:
    hits, more = lookup.find(tx, words, which)
    assert more is None
    return hits


def texts(tx: Tx, *words: str) -> list[str]:
    return [hit.text for hit in found(tx, *words)]


def ask(tx: Tx, run: RunId, turn: str | None, subject: str, request: str = "r1") -> decisions.Decision:
    return decisions.ask(
        tx, run=run, turn=None if turn is None else TurnId(turn), kind=DecisionKind.PARK, request=request, generation=1,
        payload=json.dumps({"subject": subject}), title="Which gutter?", subject=subject,
    )  # fmt: skip


def answer(tx: Tx, asked: decisions.Decision, words: str) -> None:
    stored = json.dumps({"answer": "reply", "body": {"answers": {"Which gutter?": [words]}, "note": None}})
    answered = decisions.answer(
        tx, id=asked.id, revision=1, payload_hash=asked.payload_hash, answer=stored, operator="ada"
    )
    assert isinstance(answered, decisions.Decision)


def test_a_turn_is_found_once_it_has_ended_newest_first(tx: Tx) -> None:
    run, _ = held(tx)
    turn = said(tx, run.id, text="please mend the gutter")
    rows = [
        event(1, body='{"text":"The gutter is mended."}'),
        event(2, kind="tool-started", body='{"title":"ladder --against gutter","input":{"x":"hidden"},"name":"Bash"}'),
        event(3, kind="tool-finished", body='{"output":"gutter gutter"}'),
        event(4, body="no json"),
        event(5, kind="tool-started", body='{"title":["none"],"name":7}'),
    ]
    events.append(tx, run=run.id, rows=rows)
    assert found(tx, "gutter") == [], "not before the turn has ended"
    turns.settle(tx, id=turn, result=TurnResultKind.SUCCESS)
    hits = found(tx, "GUTTER")
    assert [(hit.kind, hit.run, hit.turn, hit.turn_n) for hit in hits] == [
        (kind, run.id, turn, 1) for kind in ("tool-started", "text", "turn")
    ]
    assert [hit.key for hit in hits] == [(2, 0), (1, 0), None]
    first, more = lookup.find(tx, ("gutter",), ALL, limit=1)
    assert [hit.id for hit in first] == [hits[0].id] and more == hits[0].id
    assert [hit.id for hit in lookup.find(tx, ("gutter",), ALL, before=more)[0]] == [hits[1].id, hits[2].id]
    assert texts(tx, "mend*", "gutt*") == ["The gutter is mended.", "please mend the gutter"]
    assert texts(tx, "the gutter") == ["The gutter is mended.", "please mend the gutter"], "a phrase"
    assert texts(tx, "gutter the") == [] and texts(tx, "gutter", "the") != [], "words in any order"
    assert texts(tx, "the gut*") != [] and texts(tx, "hidden") == []


def test_what_was_asked_in_a_turn_comes_with_it_and_a_late_answer_later(tx: Tx) -> None:
    run, _ = held(tx)
    turn = said(tx, run.id, text="go")
    early, late = ask(tx, run.id, turn, "the northern one"), ask(tx, run.id, turn, "the southern one", "r2")
    answer(tx, early, "copper")
    assert texts(tx, "northern") == texts(tx, "copper") == []
    turns.settle(tx, id=turn, result=TurnResultKind.SUCCESS)
    assert texts(tx, "northern", "copper") == ["Which gutter?\nthe northern one\nreply\ncopper"]
    assert texts(tx, "southern") == ["Which gutter?\nthe southern one"]
    answer(tx, late, "zinc")
    assert texts(tx, "zinc") == ["reply\nzinc"] and len(texts(tx, "southern")) == 1
    [hit] = found(tx, "zinc")
    assert (hit.kind, hit.decision, hit.event, hit.key, hit.turn) == ("decision", late.id, None, None, turn)
    loose = ask(tx, run.id, None, "the western one")
    assert texts(tx, "western") == ["Which gutter?\nthe western one"], "no turn will bring it"
    answer(tx, loose, "lead")
    assert [hit.decision for hit in found(tx, "lead")] == [loose.id]


def test_every_text_is_in_the_line_of_its_run(tx: Tx) -> None:
    first, _ = held(tx)
    second, _ = held(tx, tree="/work/other")
    for n, run in enumerate((first, second, first)):
        turn = said(tx, run.id, f"t{n}", text=f"number {n}", source=TurnSource.OPERATOR)
        events.append(tx, run=run.id, rows=[event(n * 10 + k, turn=turn) for k in range(3)])
        turns.settle(tx, id=turn, result=TurnResultKind.SUCCESS)
    ask(tx, second.id, None, "loose")
    by_text = tx.conn.execute("SELECT rowid, run FROM search ORDER BY rowid").fetchall()
    by_line = [
        (id, run)
        for low, high, run in tx.conn.execute("SELECT first, last, run FROM searched ORDER BY first")
        for id in range(low, high + 1)
    ]
    assert by_line == by_text and len(by_text) == 13
    assert {*(reviewing.runs_with(tx, '"done"') or ())} == {first.id, second.id}
    assert reviewing.runs_with(tx, '"loose"') == [second.id]


def test_the_tools_of_a_run_are_counted(tx: Tx) -> None:
    run, _ = held(tx)
    for n, names in enumerate((["Bash", "Read", "Bash"], ["bash", "Edit"])):
        turn = said(tx, run.id, f"t{n}", source=TurnSource.OPERATOR)
        rows = [
            event(n * 10 + k, turn=turn, kind="tool-started", body=json.dumps({"name": name, "title": ""}))
            for k, name in enumerate(names)
        ]
        events.append(tx, run=run.id, rows=rows)
        turns.settle(tx, id=turn, result=TurnResultKind.SUCCESS)
    counted = tx.conn.execute("SELECT run, tool, calls FROM run_tools ORDER BY tool").fetchall()
    assert counted == [(run.id, "Bash", 3), (run.id, "Edit", 1), (run.id, "Read", 1)]


def test_a_tool_narrows_a_search_to_its_calls(tx: Tx) -> None:
    run, _ = held(tx)
    turn = said(tx, run.id, text="make it")
    rows = [
        event(n, kind="tool-started", body=json.dumps({"name": name, "title": f"make {n}"}))
        for n, name in enumerate(("Bash", "Read", "BASH"), 1)
    ]
    events.append(tx, run=run.id, rows=rows)
    turns.settle(tx, id=turn, result=TurnResultKind.SUCCESS)
    bash = Narrowed(tool="bash")
    assert [hit.text for hit in found(tx, "make", which=bash)] == ["make 3", "make 1"]
    assert [hit.text for hit in found(tx, which=bash)] == ["make 3", "make 1"], "and with no word at all"
    assert [hit.text for hit in found(tx)] == ["make 3", "make 2", "make 1", "make it"]


@pytest.mark.parametrize("word", ['"', "-gutter", "a:b", "NEAR(", "AND OR NOT", "*", "", "( )", 'x" OR "y', "\x00"])
def test_no_search_text_is_an_error(tx: Tx, word: str) -> None:
    assert lookup.find(tx, (word,), ALL) == ([], None)
    assert reviewing.listing(tx, Narrowed(words=(word,)), order="newest", limit=5) == ([], None)


def test_what_was_found_is_marked_and_a_very_long_text_is_shown_around_it(tx: Tx) -> None:
    run, _ = held(tx)
    turn = said(tx, run.id, text="lead " + "copper " * 30_000 + "zinc and tin")
    turns.settle(tx, id=turn, result=TurnResultKind.SUCCESS)
    other = said(tx, run.id, "t2", text="a zinc gutter, a zincked one", source=TurnSource.OPERATOR)
    turns.settle(tx, id=other, result=TurnResultKind.SUCCESS)
    short, long = found(tx, "zinc*")
    opened, closed = lookup.OPENED, lookup.CLOSED
    assert short.snippet == f"a {opened}zinc{closed} gutter, a {opened}zincked{closed} one"
    assert "zinc and tin" in long.snippet and len(long.snippet) <= 240
    assert len(long.text) == lookup.PART


alphabet = st.sampled_from(["tin", "zinc", "lead", "zincked"])


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.tuples(st.integers(0, 2), st.lists(alphabet, min_size=1, max_size=3)), min_size=1, max_size=25),
    st.lists(alphabet, min_size=1, max_size=2),
    st.integers(1, 4),
    st.sampled_from([None, 0, 1, 2]),
)
def test_pages_of_a_search_are_what_looking_at_every_text_finds(
    said_so: list[tuple[int, list[str]]], wanted: list[str], limit: int, only: int | None
) -> None:
    with in_memory() as tx, pytest.MonkeyPatch.context() as patch:
        patch.setattr(lookup, "LOOKED", 5)
        runs = [held(tx, tree=f"/work/{n}")[0].id for n in range(3)]
        expected: list[str] = []
        for n, (place, words) in enumerate(said_so):
            turn = said(tx, runs[place], f"t{n}", text=" ".join(words), source=TurnSource.OPERATOR)
            turns.settle(tx, id=turn, result=TurnResultKind.SUCCESS)
            if {*wanted} <= {*words} and only in (None, place):
                expected.insert(0, turn)
        which = Narrowed(run=None if only is None else runs[only])
        hits: list[str | None] = []
        more: int | None = events.NEWEST_ID
        pages = 0
        while more is not None:
            page, more = lookup.find(tx, tuple(wanted), which, limit=limit, before=more)
            assert len(page) <= limit
            hits += [hit.turn for hit in page]
            pages += 1
            assert pages < 60
        assert hits == expected


@given(st.text(max_size=20))
def test_an_answer_of_any_form_gives_its_texts(word: str) -> None:
    assert list(search.spoken(json.dumps({"a": [word, {"b": word}], "c": 1, "d": None}))) == [word, word]
    assert list(search.spoken(None)) == list(search.spoken("no json")) == []
