"""An agent's notes: read whatever it put there, never blocked, never led out of the tree."""

import json
import os
import threading
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, strategies as st

from coordinator import mailbox
from coordinator.constants import MAILBOX_BYTES
from coordinator.drivers.base import Choice
from coordinator.mailbox import Malformed, ParkedQuestion, parse_decision, read_mailbox
from store.vocab import DecisionKind
from tests.bereft import nothing_above_the_modes

GOOD = {"question": "Red or blue?", "options": [{"label": "Red", "description": "warm"}, {"label": "Blue"}]}


@pytest.fixture
def box(tmp_path: Path) -> Path:
    folder = tmp_path / "tree" / ".footplate" / "7"
    folder.mkdir(parents=True)
    return folder


def _tree(box: Path) -> Path:
    return box.parent.parent


def _problems(read: mailbox.MailboxRead) -> str:
    assert isinstance(read.decision, Malformed), read
    return "; ".join(read.decision.problems)


def test_nothing_there(tmp_path: Path) -> None:
    assert read_mailbox(tmp_path, 7) == mailbox.MailboxRead()
    assert not mailbox.present(tmp_path, 7)
    (tmp_path / ".footplate" / "7").mkdir(parents=True)
    assert read_mailbox(tmp_path, 7) == mailbox.MailboxRead()
    assert not mailbox.present(tmp_path, 7)
    assert not mailbox.unlink(tmp_path, 7, mailbox.DECISION, "")


def test_a_decision_and_a_handoff(box: Path) -> None:
    data = json.dumps({**GOOD, "recommendation": "Blue", "context": "c", "multiple": True}).encode()
    (box / "decision.json").write_bytes(data)
    (box / "handoff.md").write_text("# Done ✓\n")
    assert mailbox.present(_tree(box), 7) and not mailbox.present(_tree(box), 8)
    read = read_mailbox(_tree(box), 7)
    options = (Choice(label="Red", description="warm"), Choice(label="Blue"))
    assert read.decision == ParkedQuestion(
        question="Red or blue?", context="c", options=options, recommendation="Blue", multiple=True
    )
    assert (read.decision_bytes, read.handoff) == (data, "# Done ✓\n")
    assert mailbox.unlink(_tree(box), 7, mailbox.DECISION, read.decision_sha256)
    assert mailbox.unlink(_tree(box), 7, mailbox.HANDOFF, read.handoff_sha256)
    assert not mailbox.present(_tree(box), 7)


def test_a_note_that_changed_since_is_not_taken_away(box: Path) -> None:
    (box / "decision.json").write_text(json.dumps(GOOD))
    read = read_mailbox(_tree(box), 7)
    (box / "decision.json").write_text(json.dumps({"question": "another"}))
    assert not mailbox.unlink(_tree(box), 7, mailbox.DECISION, read.decision_sha256)
    assert (box / "decision.json").exists()


@pytest.mark.parametrize("name", ["decision.json", "handoff.md"])
@pytest.mark.parametrize(
    "what", ["fifo", "socketlike", "link", "dangling", "folder", "hard link", "unreadable", "device"]
)
def test_what_is_no_plain_file_is_never_read(box: Path, what: str, name: str) -> None:
    secret = box.parent.parent.parent / "secret"
    secret.write_text('{"question": "the key of someone"}')
    path = box / name
    match what:
        case "fifo":
            os.mkfifo(path)
        case "socketlike":
            os.mkfifo(path, 0)
        case "link":
            path.symlink_to(secret)
        case "dangling":
            path.symlink_to("/nowhere")
        case "folder":
            path.mkdir()
            (path / "work").write_text("of the agent")
        case "hard link":
            path.hardlink_to(secret)
        case "unreadable":
            path.write_text(json.dumps(GOOD))
            path.chmod(0)
        case "device":
            path.symlink_to("/dev/zero")
    done: list[mailbox.MailboxRead] = []
    reader = threading.Thread(target=lambda: done.append(read_mailbox(_tree(box), 7)), daemon=True)
    with nothing_above_the_modes():
        reader.start()
    reader.join(5)
    assert done, "it blocked"
    read = done[0]
    assert mailbox.present(_tree(box), 7)
    if name == "handoff.md":
        assert read.handoff is None and read.handoff_problems and read.decision is None
        digest = read.handoff_sha256
    else:
        assert "decision.json" in _problems(read) and read.decision_bytes == b""
        digest = read.decision_sha256
    assert "someone" not in repr(read)
    with nothing_above_the_modes():
        assert not mailbox.unlink(_tree(box), 7, name, "0" * 64)
        assert mailbox.unlink(_tree(box), 7, name, digest)
    assert not mailbox.present(_tree(box), 7)
    assert secret.exists()
    if what == "folder":
        assert [kept.read_text() for kept in box.glob("*/work")] == ["of the agent"]


@pytest.mark.parametrize("level", ["root", "run"])
@pytest.mark.parametrize("what", ["link", "file"])
def test_a_folder_that_is_none(tmp_path: Path, level: str, what: str) -> None:
    elsewhere = tmp_path / "elsewhere" / "7"
    elsewhere.mkdir(parents=True)
    (elsewhere / "decision.json").write_text(json.dumps(GOOD))
    tree = tmp_path / "tree"
    tree.mkdir()
    name = tree / ".footplate" if level == "root" else tree / ".footplate" / "7"
    name.parent.mkdir(exist_ok=True)
    if what == "link":
        name.symlink_to(elsewhere.parent if level == "root" else elsewhere)
    else:
        name.write_text("x")
    read = read_mailbox(tree, 7)
    assert "cannot be read" in _problems(read) and read.handoff is None
    assert mailbox.present(tree, 7)
    assert not mailbox.unlink(tree, 7, mailbox.DECISION, read.decision_sha256)
    assert (elsewhere / "decision.json").exists()


def test_the_limit_of_size(box: Path) -> None:
    room = MAILBOX_BYTES - len('{"question":""}')
    (box / "decision.json").write_text('{"question":"%s"}' % ("q" * room))
    assert isinstance(read_mailbox(_tree(box), 7).decision, ParkedQuestion)
    (box / "decision.json").write_text('{"question":"%s"}' % ("q" * (room + 1)))
    (box / "handoff.md").write_text("h" * (MAILBOX_BYTES * 3))
    read = read_mailbox(_tree(box), 7)
    assert "larger than 64 KiB" in _problems(read)
    assert isinstance(read.decision, Malformed) and len(read.decision.raw) <= 8 * 1024
    assert read.handoff == "h" * MAILBOX_BYTES and read.handoff_problems
    assert mailbox.unlink(_tree(box), 7, mailbox.DECISION, read.decision_sha256)


def test_a_handoff_counts_whatever_its_bytes(box: Path) -> None:
    (box / "handoff.md").write_bytes(b"\xef\xbb\xbfdone \xff\xfe")
    assert read_mailbox(_tree(box), 7).handoff == "done \ufffd\ufffd"
    (box / "handoff.md").write_bytes(b"")
    assert read_mailbox(_tree(box), 7).handoff == ""


# ------------------------------------------------------------------------------------------------------------- parsing


@pytest.mark.parametrize(
    ("given_", "said"),
    [
        ("", "it is empty"),
        ("{", "not valid JSON"),
        ("[]", "must hold one JSON object"),
        ("{}", '"question" is missing'),
        ('{"question": "  "}', "not empty"),
        ('{"question": 3}', '"question" must be text'),
        ('{"question": "q", "context": []}', '"context" must be text'),
        ('{"question": "q", "multiple": "yes"}', "true or false"),
        ('{"question": "q", "options": {}}', '"options" must be a list'),
        ('{"question": "q", "options": [3]}', "option 1 must be an object"),
        ('{"question": "q", "options": [{"label": "a"}, {"label": "a"}]}', "option 2"),
        ('{"question": "q", "options": [{"name": "a"}]}', 'option 1: "label" is missing'),
        ('{"question": "q", "options": [{"label": "a\\nb"}]}', "one line"),
        ('{"question": "q", "options": [{"label": "a"}], "recommendation": "b"}', "one of the labels"),
        (json.dumps({"question": "q", "options": [str(n) for n in range(10)]}), "at most 9"),
        ('{"a":' * 5000 + "1" + "}" * 5000, ""),  # how deep is too deep differs by version of Python
    ],
)
def test_problems_are_named(given_: str, said: str) -> None:
    read = parse_decision(given_.encode())
    assert isinstance(read, Malformed) and said in "; ".join(read.problems), read


def test_all_problems_at_once() -> None:
    read = parse_decision(b'{"context": 1, "multiple": 1, "options": [1, {"label": ""}]}')
    assert isinstance(read, Malformed) and len(read.problems) == 5, read.problems


def test_what_is_clear_enough_is_taken() -> None:
    read = parse_decision(
        '\ufeff{"question": " q ", "options": ["Yes", "No"], "recommendation": "yes", "x": 1}'.encode()
    )
    assert read == ParkedQuestion(question="q", options=(Choice(label="Yes"), Choice(label="No")), recommendation="Yes")
    assert isinstance(parse_decision("{'question': 'ü'}".encode("latin-1")), Malformed)
    free = parse_decision(b'{"question": "q", "recommendation": "anything", "options": null}')
    assert free == ParkedQuestion(question="q", recommendation="anything")


@given(st.binary(max_size=200))
def test_any_bytes_come_to_a_value(data: bytes) -> None:
    parse_decision(data)


_json: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["label", "description", "x"]), inner),
    max_leaves=10,
)


@given(
    st.fixed_dictionaries(
        {}, optional=dict.fromkeys(("question", "context", "options", "recommendation", "multiple"), _json)
    )
)
def test_any_object_is_a_question_or_says_why_not(given_: dict[str, Any]) -> None:
    read = parse_decision(json.dumps(given_).encode())
    if isinstance(read, Malformed):
        assert read.problems and all(problem and "\n" not in problem for problem in read.problems)
    else:
        assert read.question and (not read.options or read.recommendation in ("", *(o.label for o in read.options)))


# -------------------------------------------------------------------------------------------------------- as a decision


def test_a_park_is_a_decision_like_any_other() -> None:
    parked = ParkedQuestion(question="q", context="c", options=(Choice(label="a"),), recommendation="a", multiple=True)
    asked = mailbox.decision_of(parked, "park-1")
    assert (asked.kind, asked.subject, asked.input) == (DecisionKind.PARK, "c", {"recommendation": "a"})
    assert asked.questions[0].multiple and asked.questions[0].choices == (Choice(label="a"),)
    raw = mailbox.free_question(Malformed(problems=("x", "y"), raw="what?"), "park-2")
    assert raw.questions[0].text == "what?" and raw.why == "x; y"
    assert mailbox.free_question(Malformed(problems=("x",)), "park-3").questions[0].text
