import re
import unicodedata
from itertools import pairwise

import pytest
from hypothesis import given, strategies as st
from rich.cells import cell_len

from app.console.views.text import (
    LINE_MAX,
    Excerpt,
    breaks,
    cells,
    copyable,
    cut,
    excerpt,
    last_state,
    literal,
    one_line,
)

NASTY = st.text(
    st.one_of(
        st.characters(),
        st.sampled_from(
            "\x00\x07\x08\x0b\x0c\x1b\x7f\x80\x84\x9b\x9d\x9f\u200b\u200d\u202e\u2066\u2069\ufeff\ufe0f\U000e0041"
        ),
        st.sampled_from(" ab日本語👩👧❤e\u0301"),
    ),
    max_size=120,
)
OBEYED = re.compile(
    "[\x00-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ud800-\udfff\U000e0000-\U000e0fff]"
)


@pytest.mark.parametrize(
    ("said", "shown"),
    [
        ("plain", "plain"),
        ("\x1b]0;owned\x07", "␛]0;owned␇"),
        ("\x1b[?1049l", "␛[?1049l"),
        ("a\x9b31m", "a⟨9b⟩31m"),
        ("a\x7fb\x00", "a␡b␀"),
        ("user\u202egpj.exe", "user⟨202e⟩gpj.exe"),
        ("zero\u200bwidth", "zero⟨200b⟩width"),
        ("tag\U000e0041", "tag⟨e0041⟩"),
        ("half \ud83d pair", "half \ufffd pair"),
        ("a\tb", "a   b"),
        ("[bold]not markup[/]", "[bold]not markup[/]"),
        ("👩‍👩‍👧 ❤️", "👩‍👩‍👧 ❤️"),
        ("a\u200db", "a⟨200d⟩b"),
        ("می\u200cخواهم", "می\u200cخواهم"),
        ("r\u200cm", "r⟨200c⟩m"),
    ],
)
def test_what_a_terminal_would_obey_is_seen(said: str, shown: str) -> None:
    assert literal(said) == shown


@given(NASTY)
def test_nothing_obeyed_is_left_and_doing_it_twice_changes_nothing(said: str) -> None:
    shown = literal(said.replace("\n", ""))
    assert not OBEYED.search(shown)
    for at, character in enumerate(shown):
        if unicodedata.category(character) == "Cf" and character not in "\u200c\u200d":
            # What is left of the format characters has a shape of its own (Arabic number signs and the like).
            assert cell_len(character) >= 0 and character not in "\u00ad\u180e", (at, hex(ord(character)))
    assert literal(shown) == shown


@given(NASTY)
def test_a_clipboard_gets_no_keys(said: str) -> None:
    assert not OBEYED.search(copyable(said).replace("\n", "").replace("\t", ""))


@given(NASTY, st.integers(2, 60), st.integers(2, 60), st.booleans())
def test_no_row_is_wider_than_it_may_be_and_no_text_is_lost(said: str, width: int, rest: int, by_word: bool) -> None:
    text = literal(said.replace("\n", " "))
    rows = breaks(text, width, rest, by_word=by_word)
    for number, (start, end) in enumerate(rows):
        assert cell_len(text[start:end]) <= (rest if number else width), text[start:end]
    joined = "".join(text[start:end] for start, end in rows)
    if by_word:
        assert joined.replace(" ", "") == text.replace(" ", "")
        assert all(not text[before:after].strip(" ") for (_, before), (after, _) in pairwise(rows))
    else:
        assert joined == text
    assert rows[0][0] == 0 and rows[-1][1] >= len(text.rstrip(" "))


@given(NASTY, st.integers(1, 40))
def test_a_cut_text_fits_and_says_that_it_is_cut(said: str, width: int) -> None:
    text = one_line(said)
    shown = cut(text, width)
    assert cells(shown) <= width
    assert shown == text or shown.endswith("…")


@pytest.mark.parametrize(
    ("text", "width", "rows"),
    [
        ("the quick brown fox", 10, ["the quick", "brown fox"]),
        ("averyveryverylongword x", 8, ["averyver", "yverylon", "gword x"]),
        ("日本語のテキスト", 6, ["日本語", "のテキ", "スト"]),
        ("ab 日本語 cd", 6, ["ab 日", "本語", "cd"]),
        ("👩‍👩‍👧👩‍👩‍👧👩‍👩‍👧", 4, ["👩‍👩‍👧👩‍👩‍👧", "👩‍👩‍👧"]),
        ("  indented words here", 10, ["  indented", "words here"]),
    ],
)
def test_where_rows_end(text: str, width: int, rows: list[str]) -> None:
    assert [text[start:end] for start, end in breaks(text, width, width, by_word=True)] == rows


@given(st.text(st.sampled_from("ab\r"), max_size=30))
def test_progress_leaves_its_last_state(said: str) -> None:
    shown, times = last_state(said)
    states = [state for state in said.rstrip("\r").split("\r")]
    assert shown == states[-1]
    assert times == len(states) - 1


LINES = st.lists(st.text(st.sampled_from("ab \r"), max_size=8), max_size=40)


@given(LINES, st.integers(1, 8), st.integers(0, 8))
def test_an_excerpt_is_the_first_and_the_last_lines(lines: list[str], head: int, tail: int) -> None:
    found = excerpt("\n".join(lines), head, tail)
    states = [last_state(line)[0] for line in "\n".join(lines).removesuffix("\n").split("\n")]
    assert found.lines == len(states)
    if len(states) <= head + tail:
        assert [line.text for line in found.head] == states and not found.hidden
    else:
        assert [line.text for line in found.head] == states[:head]
        assert [line.text for line in found.tail] == (states[-tail:] if tail else [])
        assert found.hidden == len(states) - head - tail


def test_one_endless_line_is_bounded_too() -> None:
    found = excerpt("x" * 5_000_000, 10, 10)
    assert isinstance(found, Excerpt)
    assert len(found.head) == len(found.tail) == 10
    assert all(len(line.text) <= LINE_MAX for line in (*found.head, *found.tail))
    assert found.hidden_chars > 4_800_000
    assert [line.joined for line in found.head] == [False] + [True] * 9


def test_a_hundred_megabytes_of_progress_are_one_line() -> None:
    found = excerpt("\r      1%  of it" * 6_500_000, 60, 140)
    assert [(line.text, line.rewritten) for line in found.head] == [("      1%  of it", 6_500_000)]
