"""Files that are none, halves of files, lines of no known kind: a reason each, and as much of the rest as can be."""

import json
import os
import random
from pathlib import Path

import pytest
from hypothesis import given, settings, strategies as st

from coordinator.review.importing import blocks
from coordinator.review.importing.claude import ClaudeReader
from coordinator.review.importing.codex import CodexReader
from tests.bereft import nothing_above_the_modes
from tests.review.importing.made import DATA, Talk, conversation, difference, imported, told, words, write

REAL = [line for path in sorted(DATA.rglob("*.jsonl")) for line in path.read_bytes().splitlines()]


@pytest.mark.parametrize(
    ("data", "trouble"),
    [(b"", "empty"), (b"\n\n", "no-transcript"), (b"no json\n", "no-transcript"), (b'{"a": 1}\n', "no-transcript"),
     (b"[1, 2]\n", "no-transcript"), (b'"text"\n', "no-transcript"), (b"\x00" * 5000, "no-transcript"),
     (b"{" * 100_000, "no-transcript"), (b"\xff\xfe\xfa\n", "no-transcript")],
)  # fmt: skip
def test_a_file_that_is_no_transcript_is_told_and_the_rest_goes_on(tmp_path: Path, data: bytes, trouble: str) -> None:
    folder, ledger = tmp_path / "files", tmp_path / "ledger.db"
    conversation(turns=1).write(folder)
    (folder / "a.jsonl").write_bytes(data)
    report = imported(ledger, folder)
    assert [(one.path.name, one.trouble, one.named) for one in report.problems] == [("a.jsonl", trouble, False)]
    assert report.turns == 1


def test_a_folder_without_any_and_a_file_that_is_named(tmp_path: Path) -> None:
    ledger, folder = tmp_path / "ledger.db", tmp_path / "files"
    (folder / "deep").mkdir(parents=True)
    (folder / "deep" / "notes.txt").write_text("nothing")
    report = imported(ledger, folder, folder / "deep" / "notes.txt")
    assert [(one.trouble, one.named) for one in report.problems] == [("none-inside", True), ("no-transcript", True)]


def test_a_file_that_may_not_be_read(tmp_path: Path) -> None:
    path = conversation().write(tmp_path)
    path.chmod(0)
    with nothing_above_the_modes():
        report = imported(tmp_path / "ledger.db", tmp_path)
    assert [(one.trouble, one.detail) for one in report.problems] == [("unreadable", "permission denied")]


def test_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "a.jsonl")
    report = imported(tmp_path / "ledger.db", tmp_path)
    assert [one.trouble for one in report.problems] == ["no-transcript"]


def test_lines_of_no_known_kind_are_kept_whole(tmp_path: Path) -> None:
    talk = Talk().says("Why?").line(type="a-kind-of-tomorrow", content={"x": [1, 2]})
    talk.line(type="system", subtype="of-tomorrow").answers("msg-1", {"type": "hologram", "data": 1}, input_tokens=1)
    talk.line(type="user", message="no object").line(type="assistant", message={"content": 7})
    path, ledger = talk.write(tmp_path), tmp_path / "ledger.db"
    path.write_bytes(path.read_bytes() + b"this is no json at all\n")
    report = imported(ledger, path)
    raw = [one for (one,) in told(ledger, "SELECT json_extract(body, '$.raw') FROM events WHERE kind = 'unknown'")]
    assert [("a-kind-of-tomorrow" in raw[0]), ("of-tomorrow" in raw[1]), json.loads(raw[2])["type"]] == [
        True, True, "hologram",
    ]  # fmt: skip
    assert "no object" in raw[3]
    assert raw[4] == "this is no json at all"
    assert report.unknown == len(raw) == 5


def test_bytes_that_are_no_utf8_and_halves_of_emoji_hide_nothing(tmp_path: Path) -> None:
    talk = Talk().says("before")
    line = json.dumps(talk.line(type="user", message={"role": "user", "content": "caf@"}).lines.pop()).encode()
    half = json.dumps(
        talk.line(type="user", message={"role": "user", "content": "half \ud83d end"}, uuid="another").lines.pop()
    ).encode()
    path = write(tmp_path / f"{talk.session}.jsonl", [*talk.lines, line.replace(b"@", b"\xe9") + b"\n", half + b"\n"])
    ledger = tmp_path / "ledger.db"
    imported(ledger, path)
    assert [text for (text,) in told(ledger, "SELECT text FROM turns ORDER BY n")] == [
        "before",
        "caf\ufffd",
        "half \ufffd end",
    ]
    assert difference(ledger) is None


def test_a_clock_that_goes_backwards_or_is_none_makes_no_negative_time(tmp_path: Path) -> None:
    talk = conversation(turns=3)
    for n, line in enumerate(talk.lines):
        line["timestamp"] = [f"2026-11-01T10:00:{59 - n % 60:02d}Z", "yesterday", None, 17, "0001-01-01T00:00:00Z"][
            n % 5
        ]
    ledger = tmp_path / "ledger.db"
    imported(ledger, talk.write(tmp_path))
    rows = told(ledger, "SELECT ended_at - recorded_at, duration_ms FROM turns")
    assert len(rows) == 3
    assert all(lasted >= 0 and duration >= 0 for lasted, duration in rows)
    assert told(ledger, "SELECT count(*) FROM runs WHERE ended_at < created_at") == [(0,)]
    assert difference(ledger) is None


def test_a_line_that_nobody_can_have_meant_is_left_out_and_the_rest_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(blocks, "LONGEST", 5_000)
    talk = Talk().says("before").answers("msg-1", words("x" * 40_000), input_tokens=1).answers("msg-2", words("after"))
    ledger = tmp_path / "ledger.db"
    imported(ledger, talk.write(tmp_path))
    texts = told(ledger, "SELECT kind, json_extract(body, '$.text') FROM events ORDER BY offset, n")
    assert texts[0][0] == "notice"
    assert texts[0][1].endswith("bytes was left out")
    assert texts[1] == ("text", "after")


def test_known_secrets_and_shapes_of_tokens_do_not_come_in(tmp_path: Path) -> None:
    token = "ghp_" + "a1B2" * 9
    talk = Talk().says("use verysecretvalue1").calls("call-1", f'export TOKEN="{token}"')
    talk.line(type="of-tomorrow", content=token)
    ledger = tmp_path / "ledger.db"
    imported(ledger, talk.write(tmp_path))
    for suffix in ("", "-wal"):
        path = Path(f"{ledger}{suffix}")
        data = path.read_bytes() if path.exists() else b""
        assert b"verysecretvalue1" not in data
        assert token.encode() not in data
    assert told(ledger, "SELECT count(*) FROM events WHERE body LIKE '%«redacted»%'") == [(2,)]


def test_hostile_names_of_helpers_lead_nowhere(tmp_path: Path) -> None:
    secret = conversation().write(tmp_path / "elsewhere")
    talk = Talk().says("go")
    result = {"type": "tool_result", "tool_use_id": "c", "content": "ok"}
    for name in (f"../../elsewhere/{secret.stem}", "a\0b", "", ".", "x" * 5000, 7):
        talk.line(type="user", message={"role": "user", "content": [result]}, toolUseResult={"agentId": name})
    ledger = tmp_path / "ledger.db"
    imported(ledger, talk.write(tmp_path / "files"))
    assert told(ledger, "SELECT count(*) FROM turns") == [(1,)]


def test_a_helper_whose_session_is_gone_is_a_session_like_any_other(tmp_path: Path) -> None:
    source = next((DATA / "claude-197").rglob("agent-*.jsonl"))
    copy = tmp_path / "projects" / "x" / "subagents" / source.name
    copy.parent.mkdir(parents=True)
    copy.write_bytes(source.read_bytes())
    ledger = tmp_path / "ledger.db"
    report = imported(ledger, tmp_path / "projects")
    assert (len(report.made), report.problems) == (1, [])
    assert told(ledger, "SELECT count(*) FROM events WHERE kind = 'text'") == [(2,)]
    assert difference(ledger) is None


# ------------------------------------------------------------------------------------------------- whatever comes along

anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=12),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)


@given(st.sampled_from(REAL), st.randoms(use_true_random=False), anything)
@settings(max_examples=300, deadline=None)
def test_no_line_makes_a_reader_raise(line: bytes, chance: random.Random, other: object) -> None:
    """Real lines, with any value in them replaced by anything, and with any bytes of them changed."""
    told = json.loads(line)
    place = told
    for _ in range(chance.randrange(1, 5)):
        if not isinstance(place, dict) or not place:
            break
        name = chance.choice(sorted(place))
        if chance.random() < 0.5 or not isinstance(place[name], dict):
            place[name] = other
            break
        place = place[name]
    changed = bytearray(line)
    for _ in range(chance.randrange(1, 4)):
        changed[chance.randrange(len(changed))] = chance.randrange(256)
    for raw in (json.dumps(told).encode("utf-8", "surrogatepass"), bytes(changed), line[: chance.randrange(len(line))]):
        for reader in (ClaudeReader(), CodexReader(root="r")):
            for place_of in (0, 1):
                reader.line(raw, place_of)


@given(st.lists(st.sampled_from(REAL), min_size=1, max_size=40), st.randoms(use_true_random=False))
@settings(max_examples=25, deadline=None)
def test_any_lines_in_any_order_make_a_whole_ledger(
    tmp_path_factory: pytest.TempPathFactory, lines: list[bytes], chance: random.Random
) -> None:
    folder = tmp_path_factory.mktemp("any")
    mixed = [line[: chance.randrange(len(line))] if chance.random() < 0.1 else line for line in lines]
    path = write(folder / "mixed.jsonl", [line + b"\n" for line in mixed])
    ledger = folder / "ledger.db"
    imported(ledger, path)
    if ledger.exists():
        assert difference(ledger) is None
        assert imported(ledger, path).turns == 0
