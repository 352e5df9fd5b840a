from itertools import pairwise

from hypothesis import given, settings, strategies as st

from app.console.views.text import SourceLine
from app.console.views.transcript import TranscriptModel
from app.console.views.transcript_lines import plain, source_line
from app.console.views.transcript_stream import STEP, Stream, hidden_of
from coordinator.drivers import base
from tests.console.transcript.conversation import Script, session, shown, text, working

WORDS = st.text(st.sampled_from("ab \n\r\t日👩\u200d\x1b"), max_size=120)


def cut_up(said: str, places: list[int]) -> list[str]:
    marks = [0, *sorted(place % (len(said) + 1) for place in places), len(said)]
    return [said[a:b] for a, b in pairwise(marks)]


def streamed(parts: list[str], flush_each: bool, head: int = 4, tail: int = 6) -> Stream:
    stream = Stream("agent", ("", ""), head=head, tail=tail)
    for part in parts:
        stream.put(part)
        if flush_each:
            stream.settle()
    stream.settle()
    return stream


@given(WORDS, st.lists(st.integers(0, 200), max_size=12), st.booleans())
def test_however_it_is_cut_the_lines_are_the_same(said: str, places: list[int], flush_each: bool) -> None:
    whole = streamed([said], True)
    assert plain(streamed(cut_up(said, places), flush_each).lines) == plain(whole.lines)


@given(WORDS)
def test_a_stream_shows_what_the_finished_lines_show(said: str) -> None:
    lines = said.rstrip("\r").removesuffix("\n").split("\n")
    expected: list[str] = []
    for row in lines:
        states = row.rstrip("\r").split("\r")
        line = source_line(SourceLine(states[-1], False, len(states) - 1), "agent")
        expected.extend(plain([line]))
    assert plain(streamed([said], True).lines) == (expected if said else [])


@settings(max_examples=25)
@given(st.lists(st.integers(1, 900), min_size=1, max_size=8))
def test_the_middle_of_a_long_stream_is_counted(sizes: list[int]) -> None:
    numbered = [f"line {number}" for number in range(sum(sizes))]
    parts, at = [], 0
    for size in sizes:
        parts.append("".join(f"{row}\n" for row in numbered[at : at + size]))
        at += size
    stream = streamed(parts, True)
    hidden = hidden_of(len(numbered), 4, 6)
    seen = plain(stream.lines)
    if not hidden:
        assert seen == numbered
    else:
        assert seen[:4] == numbered[:4]
        assert f"{hidden:,} lines" in seen[4]
        assert seen[5:] == numbered[4 + hidden :]
        assert len(seen) <= 4 + 6 + STEP + 1
    assert seen == plain(streamed(["".join(parts)], True).lines)


@given(WORDS, st.lists(st.integers(0, 200), max_size=8))
def test_what_changed_is_told(said: str, places: list[int]) -> None:
    stream = Stream("agent", ("", ""), head=4, tail=6)
    mirror: list[object] = []
    for part in cut_up(said, places):
        stream.put(part)
        stream.settle()
        del mirror[stream.changed_from :]
        mirror.extend(stream.lines[stream.changed_from :])
        stream.changed_from = len(stream.lines)
        assert mirror == stream.lines


@given(WORDS.filter(str.strip), st.lists(st.integers(0, 200), max_size=8), st.lists(st.booleans(), max_size=8))
def test_live_and_ledger_end_alike(said: str, places: list[int], flushes: list[bool]) -> None:
    live = TranscriptModel()
    live.show(session(working(1)), Script().page())
    script = Script()
    for part in cut_up(said, places):
        script.say(base.TextDelta(block="b", text=part))
    script.say(text(said, "b"))
    for number, event in enumerate(script.events):
        live.feed((event,))
        if flushes[number : number + 1] == [True]:
            live.flush()
    told = TranscriptModel()
    told.show(session(working(1)), script.page())
    assert shown(live) == shown(told)


def test_an_endless_line_goes_on_in_the_next() -> None:
    stream = streamed(["x" * 5_000, "y" * 5_000], False, 50, 50)
    assert "".join(line.text for line in stream.lines) == "x" * 5_000 + "y" * 5_000
    assert [line.joined for line in stream.lines] == [False, True, True]
