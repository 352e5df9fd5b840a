"""The codecs: whatever was encoded comes back, and no damage goes unseen."""

import pytest
from hypothesis import given, settings, strategies as st

from coordinator.supervisor import spoolformat, wireformat

_raw = st.tuples(st.sampled_from(["stdout", "stderr"]), st.binary(max_size=300))
_facts = st.tuples(
    st.sampled_from(sorted(set(spoolformat.NUMBERS) - spoolformat.RAW)),
    st.dictionaries(st.text(max_size=8), st.one_of(st.text(max_size=20), st.integers(), st.none()), max_size=4).map(
        spoolformat.encode_facts  # type: ignore[arg-type]
    ),
)
_records = st.lists(
    st.tuples(st.one_of(_raw, _facts), st.integers(0, 2**63), st.integers(0, 2**32 - 1)), min_size=1, max_size=12
)


def _encode(records: list[tuple[tuple[str, bytes], int, int]]) -> list[bytes]:
    return [spoolformat.encode(k, p, at_ms=at, generation=g) for (k, p), at, g in records]


@given(_records, st.data())
def test_records_come_back_whatever_the_cuts(
    records: list[tuple[tuple[str, bytes], int, int]], data: st.DataObject
) -> None:
    blob = b"".join(_encode(records))
    cuts = sorted(data.draw(st.lists(st.integers(0, len(blob)), max_size=6)))
    decoder = spoolformat.Decoder()
    found = []
    for start, end in zip([0, *cuts], [*cuts, len(blob)], strict=True):
        found += decoder.feed(blob[start:end])
    assert [((r.kind, r.payload), r.at_ms, r.generation) for r in found] == records
    assert decoder.pending == 0 and decoder.broken is None and decoder.offset == len(blob)
    assert [r.offset for r in found] == [0, *(r.next_offset for r in found[:-1])]


@given(_records, st.data())
def test_any_truncation_is_seen(records: list[tuple[tuple[str, bytes], int, int]], data: st.DataObject) -> None:
    parts = _encode(records)
    blob = b"".join(parts)
    length = data.draw(st.integers(0, len(blob) - 1))
    decoder = spoolformat.Decoder()
    found = decoder.feed(blob[:length])
    ends = [sum(map(len, parts[: i + 1])) for i in range(len(parts))]
    assert len(found) == sum(end <= length for end in ends)
    assert (decoder.pending > 0) == (length not in (0, *ends))


@settings(max_examples=200)
@given(_records, st.data())
def test_any_changed_byte_is_seen(records: list[tuple[tuple[str, bytes], int, int]], data: st.DataObject) -> None:
    parts = _encode(records)
    blob = bytearray(b"".join(parts))
    at = data.draw(st.integers(0, len(blob) - 1))
    blob[at] ^= data.draw(st.integers(1, 255))
    decoder = spoolformat.Decoder()
    found = decoder.feed(bytes(blob))
    damaged = next(i for i in range(len(parts)) if at < sum(map(len, parts[: i + 1])))
    assert len(found) == damaged  # nothing at or after the damage is believed
    assert decoder.broken is not None or decoder.pending > 0


def test_the_numbers_on_disk_are_unique_and_known_to_the_console() -> None:
    from coordinator.custody.types import RecordKind

    assert len(spoolformat.NAMES) == len(spoolformat.NUMBERS)
    assert set(spoolformat.NUMBERS) == {kind.value for kind in RecordKind}


_heads = st.dictionaries(st.text(max_size=8), st.one_of(st.text(max_size=20), st.integers(), st.none()), max_size=4)


@given(st.lists(st.tuples(_heads, st.binary(max_size=200)), max_size=8), st.data())
def test_frames_come_back_whatever_the_cuts(frames: list[tuple[dict[str, object], bytes]], data: st.DataObject) -> None:
    blob = b"".join(wireformat.frame(head, body) for head, body in frames)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(blob)), max_size=6)))
    reader = wireformat.FrameReader()
    found = []
    for start, end in zip([0, *cuts], [*cuts, len(blob)], strict=True):
        found += reader.feed(blob[start:end])
    assert found == frames


@pytest.mark.parametrize("blob", [b"\xff" * 8, b"\0\0\0\x04\0\0\0\0null", b"\0\0\0\x02\0\0\0\0{]"])
def test_what_is_no_frame_is_refused(blob: bytes) -> None:
    with pytest.raises(wireformat.BrokenFrame):
        wireformat.FrameReader().feed(blob)
