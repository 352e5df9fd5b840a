"""What is done by slices for a line of 64 MB is what doing it in one go would give: decoding, redaction, writing, the
digest. With slices of a few characters, so that every cut comes up."""

import json

import msgspec
import pytest
from hypothesis import given, settings, strategies as st

from coordinator import eventcodec, longtexts, redaction
from coordinator.drivers import base, longlines
from coordinator.drivers.json_fields import decode
from store import canonical, events
from store.canonical import dumps
from store.events import NewEvent
from store.vocab import Millis
from tests.store.scenes import admitted, in_memory, said

texts = st.text(alphabet=st.sampled_from('ab"\\/\n\t\x00é日😀u0d8'), max_size=60)
values = st.recursive(
    texts | st.integers() | st.booleans() | st.none(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts, inner, max_size=4),
    max_leaves=12,
)


@pytest.fixture
def slices(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(longlines, "SLICE", 9)
    monkeypatch.setattr(longlines, "LONG_STRING", 8)
    monkeypatch.setattr(canonical, "SLICE", 5)
    monkeypatch.setattr(events, "SLICE", 5)
    monkeypatch.setattr(eventcodec, "LONG", 6)


pytestmark = pytest.mark.usefixtures("slices")


@settings(max_examples=400)
@given(values, st.booleans())
def test_a_line_decoded_by_slices_is_the_line(value: object, ascii_only: bool) -> None:
    raw = json.dumps(value, ensure_ascii=ascii_only).encode()
    assert longlines.decode_long(raw) == msgspec.json.decode(raw) == value


@settings(max_examples=400)
@given(st.text(alphabet=st.sampled_from('"\\{}:,ud8a3DC '), max_size=60))
def test_what_is_no_json_is_refused_in_the_same_way(text: str) -> None:
    raw = f'{{"a": "{text}"}}'.encode()
    try:
        wanted = msgspec.json.decode(raw)
    except msgspec.DecodeError:
        with pytest.raises(msgspec.DecodeError):
            longlines.decode_long(raw)
    else:
        assert longlines.decode_long(raw) == wanted


def test_a_line_of_very_many_strings_and_one_with_a_mark_in_it_are_read_whole() -> None:
    many = [str(n) for n in range(30_000)]
    assert longlines.decode_long(json.dumps(many).encode()) == many
    marked = {"a": "\x00long:0", "b": "a long string, longer than that"}
    assert longlines.decode_long(json.dumps(marked).encode()) == marked


def test_a_long_line_takes_this_way() -> None:
    text = 'line with "quotes" and 😀\n' * 60_000
    assert decode(json.dumps({"text": text}).encode()) == {"text": text}


@given(texts)
def test_an_event_written_by_slices_is_the_event(text: str) -> None:
    for event in (base.TextBlock(block="b", text=text), base.ToolFinished(call="c", ok=True, output=text)):
        kind, body = eventcodec.encode(event, lambda given: given)
        assert body == dumps(event) and eventcodec.decode(kind, body) == event


pieces = st.sampled_from(
    [
        "sk-abcdef1234567890abcdef",
        "AKIAABCDEFGHIJKLMNOP",
        "AKIAABCDEFGHIJKLMNOPq",
        "https://ada:hunter2@example.org/",
        "x",
        " ",
    ]
)


@settings(max_examples=300)
@given(st.lists(pieces, max_size=30).map("".join), st.integers(1, 40))
def test_secrets_are_found_whatever_slices_they_lie_in(text: str, size: int) -> None:
    redactor = redaction.Redactor(["a value that is known"])
    whole = redactor.text(text)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(redaction, "SLICE", size)
        patch.setattr(redaction, "CARRY", 60)
        assert redactor.text(text) == whole


def test_a_long_body_has_the_digest_that_it_has_in_one_go(monkeypatch: pytest.MonkeyPatch) -> None:
    with in_memory() as tx:
        run = admitted(tx).id
        turn = said(tx, run)
        rows = []
        for n, text in enumerate(("short", 'a heron "quoted" in 日本 and more', "the end")):
            kind, body = eventcodec.encode(base.TextBlock(block="b", text=text), lambda given: given)
            rows.append(NewEvent(offset=n, n=0, turn=turn, at=Millis(5), kind=kind, body=body))
        events.append(tx, run=run, rows=rows)
        sliced = events.hash_of(tx, turn)
        monkeypatch.setattr(events, "SLICE", 1 << 30)
        assert events.hash_of(tx, turn) == sliced


def test_the_kinds_that_can_be_long_are_those_of_the_codec() -> None:
    for kind, field in longtexts.FIELD_OF.items():
        assert field in {one.name for one in msgspec.inspect.type_info(eventcodec.KINDS[kind]).fields}  # type: ignore[attr-defined]
