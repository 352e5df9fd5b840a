"""The splitter: no limit, no copy per read, nothing lost."""

from hypothesis import given, strategies as st

from coordinator.drivers.lines import LineSplitter


@given(st.lists(st.binary(max_size=30).map(lambda b: b.replace(b"x", b"\n"))))
def test_lines_are_the_bytes_between_line_ends(pieces: list[bytes]) -> None:
    splitter = LineSplitter()
    lines = [line for piece in pieces for line in splitter.feed(piece)]
    assert b"\n".join([*lines, splitter.rest()]) == b"".join(pieces)
    assert all(b"\n" not in line for line in lines)


def test_a_line_of_megabytes_in_small_reads() -> None:
    splitter = LineSplitter()
    for _ in range(4096):
        assert splitter.feed(b"y" * 4096) == []
    (line,) = splitter.feed(b"\n")
    assert len(line) == 16 * 1024 * 1024
    assert splitter.rest() == b""


def test_the_rest_goes_into_a_new_one() -> None:
    splitter = LineSplitter()
    assert splitter.feed(b"a\nb") == [b"a"]
    assert LineSplitter(splitter.rest()).feed(b"c\n") == [b"bc"]
    assert splitter.take_rest() == b"b" and splitter.take_rest() == b""
