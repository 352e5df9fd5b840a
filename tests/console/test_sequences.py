"""No cut makes a key of what was none: every kind of sequence, cut at every byte, at every gap, with both delays.

What the console then does with a key is ``test_rules``; here it is proven that there is none.
"""

from itertools import pairwise

import pytest
from hypothesis import given, strategies as st
from textual import events

from app.console.driver import Noise
from app.console.sequences import CHORD, HELD, PASTE_QUIET, Kind, Piece, Sequences
from tests.console.wire import ALL, DELAYS, ESC, GAPS, Time, Wire, cuts, frozen, told

ESCAPE = ("escape", ESC)
CONTROLS = (("\x03", "ctrl+c"), ("\x1c", "ctrl+backslash"), ("\x1d", "ctrl+right_square_bracket"))


@pytest.fixture
def time(monkeypatch: pytest.MonkeyPatch) -> Time:
    return frozen(monkeypatch)


@pytest.mark.parametrize("delay", DELAYS)
@pytest.mark.parametrize("gap", GAPS)
def test_a_cut_gives_what_the_whole_gives_and_at_most_one_escape_more(time: Time, delay: float, gap: float) -> None:
    tried = 0
    for sequence in ALL:
        whole = told(Wire(time, delay).cut([sequence], 0.0))
        for parts in cuts(sequence):
            tried += 1
            found = told(Wire(time, delay).cut(parts, gap))
            more = [one for one in found if one not in whole]
            assert more in ([], [ESCAPE]), (parts, whole, found)
            # An Esc by itself is a key; nothing else that is cut may be taken for one.
            assert not more or parts[0].strip(ESC) == "" or parts[0].startswith(ESC * 2), (parts, found)
            assert [one for one in found if one != ESCAPE] == [one for one in whole if one != ESCAPE], (parts, found)
    assert tried > 1_500


def test_no_sequence_is_a_character_or_two_escapes(time: Time) -> None:
    """Not one of them types, answers or interrupts, whole or cut; a paste is no key."""
    for sequence in ALL:
        for gap in GAPS:
            for parts in cuts(sequence):
                found = told(Wire(time, 0.5).cut(parts, gap))
                assert [
                    one for one in found if one[0] != "paste" and one[1] and one[1].isprintable() and len(one[1]) == 1
                ] == [], parts
                assert found.count(ESCAPE) <= 1, (parts, found)


def test_a_line_that_sends_byte_by_byte_changes_nothing(time: Time) -> None:
    for sequence in ALL:
        if not sequence.startswith(ESC * 2):
            whole = told(Wire(time, 0.5).cut([sequence], 0.0))
            assert told(Wire(time, 0.5).cut(list(sequence), 0.4)) == whole, sequence


def test_what_nobody_knows_takes_no_key_that_comes_after_it(time: Time) -> None:
    wire = Wire(time, 0.5)
    assert [type(one) for one in wire.read("\x1b[?62;22c")] == [Noise]
    assert told(wire.read("hello")) == [(letter, letter) for letter in "hello"]


@pytest.mark.parametrize("before", ["\x1b", "\x1b[", "\x1b[<0;10", "\x1b[M", "\x1b]11;rgb", "\x1bP1$r", "\x1bO"])
@pytest.mark.parametrize(("byte", "key"), list(CONTROLS))
def test_half_a_sequence_delays_no_stop(time: Time, before: str, byte: str, key: str) -> None:
    wire = Wire(time, 1.0)
    wire.read(before)
    wire.quiet(0.2)
    assert key in [one[0] for one in told(wire.read(byte))]


def test_escape_and_a_letter_are_two_keys_for_a_person_and_one_for_alt(time: Time) -> None:
    quick = Wire(time, 0.5)
    assert told([*quick.read("\x1bw"), *quick.quiet(3.0)]) == [("alt+w", None)]
    person = Wire(time, 0.5)
    found = [*person.read("\x1b"), *person.quiet(CHORD + 0.01), *person.read("w")]
    # At once, without the half second that Textual would wait.
    assert told(found) == [ESCAPE, ("w", "w")]


@pytest.mark.parametrize("letter", "0123456789aXRSM")
def test_alt_types_nothing(time: Time, letter: str) -> None:
    assert [one[1] for one in told(Wire(time, 0.5).cut([f"\x1b{letter}"], 0.0))] == [None]


def test_alone_an_escape_comes_when_its_delay_is_over(time: Time) -> None:
    wire = Wire(time, 0.5)
    assert told([*wire.read(ESC), *wire.quiet(0.49)]) == []
    assert told(wire.quiet(0.02)) == [ESCAPE]


def test_two_escapes_of_a_person_are_two_and_of_a_line_one(time: Time) -> None:
    wire = Wire(time, 0.5)
    found = [*wire.read(ESC), *wire.quiet(0.2), *wire.read(ESC), *wire.quiet(1.0)]
    assert told(found) == [ESCAPE, ESCAPE]
    assert told(Wire(time, 0.5).cut([ESC + ESC], 0.0)) == [ESCAPE]


def test_after_an_escape_a_word_stays_a_word(time: Time) -> None:
    for word in ("OK let us go", "[1] is done", "[", "O", "PS: and more", "]"):
        wire = Wire(time, 0.5)
        found = told([*wire.read(ESC), *wire.quiet(1.0), *wire.read(word)])
        assert "".join(one[1] or "" for one in found[1:]) == word


def test_what_is_never_finished_is_forgotten(time: Time) -> None:
    wire = Wire(time, 0.5)
    wire.read("\x1b[<0;1")
    assert [type(one) for one in wire.quiet(HELD + 0.1)] == [Noise]
    assert told(wire.read("1")) == [("1", "1")]


def test_a_paste_whose_end_never_comes_gives_the_keys_back(time: Time) -> None:
    wire = Wire(time, 0.5)
    assert wire.read("\x1b[200~half of a te") == []
    assert told(wire.quiet(PASTE_QUIET + 0.1)) == [("paste", "half of a te")]
    assert told(wire.read("\x03")) == [("ctrl+c", "\x03")]


def test_a_paste_may_be_cut_anywhere_and_hold_anything(time: Time) -> None:
    text = "a\x1b[201 \x1b[A\r1\n\x1b"
    for parts in cuts(f"\x1b[200~{text}\x1b[201~"):
        found = [one for one in told(Wire(time, 0.5).cut(parts, 0.4)) if one != ESCAPE]
        assert found == [("paste", text)], parts


def test_a_megabyte_pasted_is_one_piece() -> None:
    sequences, text = Sequences(0.5), "line of a log\r" * 80_000
    whole, out = f"\x1b[200~{text}\x1b[201~", []
    for at in range(0, len(whole), 4096):
        out += sequences.feed(whole[at : at + 4096], at / 1e6)
    assert out == [Piece(Kind.PASTE, text)]


@given(st.text(st.characters(codec="utf-8", exclude_characters="\x1b"), max_size=60), st.lists(st.integers(0, 60)))
def test_what_holds_no_escape_is_never_touched(text: str, at: list[int]) -> None:
    sequences, out, places = Sequences(0.5), [], sorted({0, *at, len(text)})
    for n, (begin, end) in enumerate(pairwise(places)):
        out += sequences.feed(text[begin:end], n * 0.3)
    assert "".join(one.text for one in out) == text
    assert all(one.kind is Kind.TEXT for one in out)


@given(st.lists(st.sampled_from([*ALL, "a", "1", "\r", "\x1b"]), max_size=6), st.data())
def test_nothing_that_is_read_is_lost_or_doubled(what: list[str], data: st.DataObject) -> None:
    """Whatever comes, cut wherever: every byte is in a piece, once, in order (a paste without its brackets)."""
    text = "".join(what)
    sequences, out, clock = Sequences(0.5), [], 0.0
    while text:
        size = data.draw(st.integers(1, len(text)))
        clock += data.draw(st.sampled_from([0.0, 0.05, 0.4, 1.2]))
        out += [*sequences.due(clock), *sequences.feed(text[:size], clock)]
        text = text[size:]
    out += [*sequences.due(clock + 10), *sequences.due(clock + 20)]
    bare = "".join(what).replace("\x1b[200~", "").replace("\x1b[201~", "").replace(ESC, "")
    got = "".join(one.text for one in out).replace("\x1b[200~", "").replace("\x1b[201~", "").replace(ESC, "")
    assert got == bare


def test_a_mouse_click_is_still_one(time: Time) -> None:
    found = Wire(time, 0.5).cut(["\x1b[<0;10;5M\x1b[<32;12;5M\x1b[<0;12;5m\x1b[<64;12;5M"], 0.0)
    kinds = [type(one) for one in found]
    assert kinds == [events.MouseDown, events.MouseMove, events.MouseUp, events.MouseScrollUp]
