"""A run read by pages and searched, over a real file: every event in exactly one page, every match found, nothing whole
that need not be."""

from pathlib import Path

import pytest
from hypothesis import given, settings, strategies as st

from coordinator import longtexts, transcripts
from coordinator.api import ReadTranscript, ReadWhole, SearchTranscript, TranscriptHits, TranscriptPage
from coordinator.drivers import base
from coordinator.textsearch import Needle
from store import events
from store.events import NewEvent
from store.tx import Tx
from store.vocab import Millis, RunId
from tests.fakes.ledger_backend import LedgerBackend
from tests.store.scenes import admitted, in_memory, said

Key = tuple[int, int]


def block(words: str, name: str = "b") -> base.TextBlock:
    return base.TextBlock(block=name, text=words)


def keep(tx: Tx, run: RunId, *what: base.AgentEvent, at: int = 0) -> list[Key]:
    from coordinator import eventcodec

    rows = []
    for number, event in enumerate(what):
        kind, body = eventcodec.encode(event, lambda text: text)
        rows.append(NewEvent(offset=at + number // 3, n=number % 3, turn=None, at=Millis(1), kind=kind, body=body))
    events.append(tx, run=run, rows=rows)
    return [(row.offset, row.n) for row in rows]


def keys(page: TranscriptPage) -> list[Key]:
    return [event.key for event in page.events if event.key is not None]


@settings(max_examples=60, deadline=None)
@given(st.lists(st.integers(1, 4_000), min_size=1, max_size=60), st.integers(1, 9), st.integers(2_000, 9_000))
def test_pages_in_either_direction_hold_every_event_once(sizes: list[int], limit: int, most: int) -> None:
    with in_memory() as tx, pytest.MonkeyPatch.context() as patch:
        patch.setattr(transcripts, "PAGE_CHARS", most)
        run, other = admitted(tx).id, admitted(tx, tree="/work/b").id
        keep(tx, other, block("of another run"))
        every = keep(tx, run, *(block("x" * size, f"b{n}") for n, size in enumerate(sizes)))
        found: list[Key] = []
        page = transcripts.page(tx, ReadTranscript(run=run, limit=limit))
        assert not page.more_after
        while True:
            found[:0] = keys(page)
            if not page.more_before:
                break
            page = transcripts.page(tx, ReadTranscript(run=run, before=found[0], limit=limit))
            assert page.more_after and keys(page)
        assert found == every
        found = []
        page = transcripts.page(tx, ReadTranscript(run=run, around=(-1, 0), limit=limit))
        assert not page.more_before
        while True:
            found += keys(page)
            if not page.more_after:
                break
            page = transcripts.page(tx, ReadTranscript(run=run, after=found[-1], limit=limit))
            assert page.more_before and keys(page)
        assert found == every
        middle = every[len(every) // 2]
        around = transcripts.page(tx, ReadTranscript(run=run, around=middle, limit=limit))
        assert middle in keys(around)
        assert around.more_before == (keys(around)[0] != every[0])
        assert around.more_after == (keys(around)[-1] != every[-1])


def everything(tx: Tx, run: RunId, text: str, after: Key | None = None) -> list[tuple[Key, int]]:
    found: list[tuple[Key, int]] = []
    before: Key | None = None
    while True:
        page = transcripts.hits(tx, SearchTranscript(run=run, text=text, before=before, after=after))
        found[:0] = [(hit.key, hit.lines) for hit in page.hits]
        if page.before is None:
            return found
        before = page.before


words = st.text(alphabet=st.sampled_from('aAbB"\\é日 \n\t'), max_size=30)


@settings(max_examples=150, deadline=None)
@given(
    st.lists(words, min_size=1, max_size=30),
    st.text(alphabet=st.sampled_from('aAbB"\\é日É'), min_size=1, max_size=3),
    st.integers(1, 7),
)
def test_a_search_finds_what_looking_at_every_event_finds(texts: list[str], wanted: str, at_once: int) -> None:
    with in_memory() as tx, pytest.MonkeyPatch.context() as patch:
        patch.setattr(transcripts, "SEARCHED", at_once)
        run = admitted(tx).id
        every = keep(tx, run, *(block(text, f"block-ab{n}") for n, text in enumerate(texts)))
        needle = Needle(wanted)
        by_hand = [(key, needle.lines(text)) for key, text in zip(every, texts, strict=True) if needle.lines(text)]
        assert everything(tx, run, wanted) == by_hand
        middle = every[len(every) // 2]
        assert everything(tx, run, wanted, after=middle) == [hit for hit in by_hand if hit[0] > middle]


def test_capitals_count_when_the_text_has_some_and_nothing_is_a_pattern() -> None:
    with in_memory() as tx:
        run = admitted(tx).id
        every = keep(tx, run, block("Expire()"), block("expire()"), block("exp.re"))
        assert [key for key, _ in everything(tx, run, "expire(")] == every[:2]
        assert [key for key, _ in everything(tx, run, "Expire")] == every[:1]
        assert [key for key, _ in everything(tx, run, "exp.re")] == every[2:]


def test_names_of_fields_and_ids_are_no_text() -> None:
    with in_memory() as tx:
        run = admitted(tx).id
        keep(tx, run, block("hello", "needle"), base.ToolFinished(call="needle", ok=True, output="out"))
        assert everything(tx, run, "needle") == [] and everything(tx, run, "aborted") == []


def test_what_the_operator_said_is_found_where_its_turn_begins() -> None:
    with in_memory() as tx:
        run = admitted(tx).id
        turn = said(tx, run, text="look for the heron\nthe heron, please")
        keep(tx, run, block("before"))
        events.append(tx, run=run, rows=[NewEvent(offset=50, n=0, turn=turn, at=Millis(1), kind="text", body=BODY)])
        (hit,) = transcripts.hits(tx, SearchTranscript(run=run, text="heron")).hits
        assert (hit.key, hit.lines, hit.turn) == ((50, 0), 2, True)
        assert transcripts.hits(tx, SearchTranscript(run=run, text="heron", after=(50, 0))).hits == ()


BODY = '{"aborted":false,"block":"z","parent":null,"text":"answer"}'


LONG = "begin\n" + "a line of a long text\n" * 60_000 + "the end"


@pytest.mark.parametrize(
    "event",
    [
        base.TextBlock(block="x", text=LONG),
        base.ThoughtBlock(block="x", text=LONG),
        base.ToolFinished(call="c", ok=False, output=LONG, detail={"stdout": LONG, "exit_code": 3}),
        base.Unknown(raw=LONG),
    ],
    ids=lambda event: type(event).__name__,
)
def test_a_long_text_comes_as_its_two_ends_and_is_whole_in_the_ledger(event: base.AgentEvent, tmp_path: Path) -> None:
    backend = LedgerBackend(tmp_path / "ledger.db")
    run = backend.first_run
    (live,) = backend.keep(run, [event])
    page = backend.submit(ReadTranscript(run=run)).result()
    assert isinstance(page, TranscriptPage)
    (read,) = page.events
    field = longtexts.FIELD_OF[{"TextBlock": "text", "ThoughtBlock": "thought"}.get(type(event).__name__, "unknown")]
    for fed in (live, read):
        shown = fed.event.output if isinstance(fed.event, base.ToolFinished) else getattr(fed.event, field)
        assert shown == LONG[: fed.left_at] + LONG[len(LONG) - len(shown) + fed.left_at :]
        assert len(shown) + fed.left_out == len(LONG) and len(shown) < longtexts.LONG
        if isinstance(fed.event, base.ToolFinished):
            assert "stdout" not in fed.event.detail and not fed.event.ok
    assert live.key is not None
    whole = backend.submit(ReadWhole(run=run, key=live.key)).result()
    assert whole == ("" if isinstance(event, base.Unknown) else LONG)
    hits = backend.submit(SearchTranscript(run=run, text="of a long text")).result()
    assert isinstance(hits, TranscriptHits) and len(hits.hits) == (not isinstance(event, base.Unknown))
    backend.close()


def test_a_progress_display_cut_in_its_middle_says_only_its_last_state() -> None:
    progress = "copying\n" + "".join(f"\r{n:>9} of 900000" for n in range(900_000)) + "\ndone"
    shown, at, left_out = longtexts.shortened(base.ToolFinished(call="c", ok=True, output=progress))
    assert isinstance(shown, base.ToolFinished)
    assert shown.output[:at] == "copying\n" and shown.output.endswith("\r   899999 of 900000\ndone")
    assert len(shown.output) + left_out == len(progress)


@given(st.text(alphabet="ab\r\n", max_size=40), st.integers(1, 8))
def test_parts_of_any_text_are_its_beginning_and_its_end(text: str, part: int) -> None:
    if len(text) <= 2 * part:
        return
    shown, at, left_out = longtexts.parts(text[:part], text[-part:], len(text))
    assert text.startswith(shown[:at]) and text.endswith(shown[at:])
    assert len(shown) + left_out == len(text)
