"""Chosen texts are taken out of every text of every row, wherever it stands, and out of nothing else."""

import json
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st
from msgspec.structs import replace

from coordinator import eventcodec
from coordinator.drivers import base
from coordinator.review.export import sieve
from coordinator.review.export.redacting import BadPattern, Redactor, TooSlow, compiled
from store.canonical import dumps
from store.decisions import Decision
from store.vocab import DecisionKind, DecisionState, Millis, RunId
from tests.waiting import wait_until

MARK = sieve.MARK


def tool(text: str) -> base.ToolStarted:
    return base.ToolStarted(call=text, name=text, input={text: [text, {"deep": text}], "n": 7}, title=text)


@pytest.mark.parametrize("pattern", ["secret", "re:sec.et", "re:(?i)SECRET"])
def test_texts_are_taken_out_of_keys_values_and_columns(pattern: str) -> None:
    kind, body = eventcodec.encode(tool("a secret"), lambda text: text)
    with Redactor([pattern]) as redactor:
        row = redactor.row("events", {"id": 1, "kind": kind, "body": body})
        title = redactor.row("runs", {"id": 1, "title": "my secret", "outcome": "secret"})
    assert eventcodec.decode(kind, str(row["body"])) == tool(f"a {MARK}")
    assert title == {"id": 1, "title": f"my {MARK}", "outcome": "secret"}, "Footplate's own words stay"
    assert redactor.counts == [7]


def test_an_events_own_words_are_left_whole() -> None:
    asked = base.DecisionAsked(request="r", kind=DecisionKind.PERMISSION, title="permission for this")
    kind, body = eventcodec.encode(asked, lambda text: text)
    with Redactor(["permission"]) as redactor:
        row = redactor.row("events", {"id": 1, "kind": kind, "body": body})
    assert eventcodec.decode(kind, str(row["body"])) == replace(asked, title=f"{MARK} for this")


def test_what_another_version_wrote_is_gone_through_all_the_same() -> None:
    body = dumps({"text": "x", "block": "b", "of_a_later_version": {"secret": "a secret"}})
    with Redactor(["secret"]) as redactor:
        event = redactor.row("events", {"kind": "text", "body": body})
        unknown = redactor.row("events", {"kind": "kind-of-later", "body": body})
        broken = redactor.row("events", {"kind": "text", "body": "{ no JSON, a secret"})
    assert [one for one in (event, unknown, broken) if "secret" in str(one["body"])] == []
    assert json.loads(str(event["body"]))["text"] == "x"


def test_a_decision_and_its_answer() -> None:
    from coordinator import decisioncodec

    asked = base.DecisionAsked(
        request="r", kind=DecisionKind.QUESTION, title="t", questions=(base.Question(text="the secret or allow?"),)
    )
    answer = base.QuestionReply(answers={"the secret or allow?": ("secret",)}, note="secret allow")
    row = Decision(
        id=1,  # type: ignore[arg-type]
        run=RunId(1),
        turn=None,
        kind=DecisionKind.QUESTION,
        state=DecisionState.DELIVERED,
        revision=1,
        request="r",
        generation=1,
        payload=decisioncodec.payload(asked),
        payload_hash="h",
        title="secret",
        subject="/srv/secret/file",
        asked_at=Millis(1),
        answer=decisioncodec.encode_answer(answer),
        answered_by="ada",
        answered_at=Millis(2),
        write_id=None,
        delivered_at=None,
        ended_at=None,
        note="",
    )
    with Redactor(["secret", "allow"]) as redactor:
        clean = redactor.record(row)
    assert "secret" not in repr(clean) and f"/srv/{MARK}/file" == clean.subject
    assert decisioncodec.decode_answer(clean.answer or "") == base.QuestionReply(
        answers={f"the {MARK} or {MARK}?": (MARK,)}, note=f"{MARK} {MARK}"
    )
    assert clean.kind is DecisionKind.QUESTION and clean.id == row.id


def test_bytes_are_text_too() -> None:
    with Redactor(["secret"]) as redactor:
        assert redactor.row("evidence", {"content": b"a secret \xff"}) == {"content": f"a {MARK} \ufffd".encode()}


def test_nothing_to_take_out_changes_nothing() -> None:
    body = '{"b": 1, "a" : "not as we spell it"}'
    with Redactor(["secret"]) as redactor:
        assert redactor.row("events", {"kind": "text", "body": body})["body"] == body
    with Redactor([]) as redactor:
        cells: dict[str, Any] = {"title": "x"}
        assert redactor.row("runs", cells) is cells and not redactor.active


def test_a_mark_is_not_searched_again() -> None:
    with Redactor(["secret", "redacted"]) as redactor:
        assert redactor.text("secret redacted") == f"{MARK} {MARK}"
    assert redactor.counts == [1, 1]


@pytest.mark.parametrize(
    ("pattern", "problem"),
    [
        ("", "empty"),
        ("re:", "empty"),
        ("re:(", "unterminated"),
        ("re:a*", "nothing at all"),
        ("re:(?i)", "nothing at all"),
        ("x" * 2000, "characters"),
        ("re:a{1,99999999999999}", "too large"),
    ],
)
def test_a_bad_pattern_is_named(pattern: str, problem: str) -> None:
    found = compiled(["fine", pattern])
    assert isinstance(found, BadPattern) and found.n == 2
    assert problem in found.problem


@pytest.mark.parametrize("pattern", ["re:(a+)+$", "re:(a|aa)+$", "re:(a*)*b"])
def test_an_expression_without_an_end_is_ended_and_leaves_no_process(pattern: str) -> None:
    with Redactor([pattern], seconds=0.5) as redactor:
        with pytest.raises(TooSlow) as slow:
            redactor.text("a" * 60 + "!" if "b" not in pattern else "a" * 60)
        assert slow.value.characters in (60, 61)
        assert redactor._child is None
        assert redactor.text("short") == "short", "and the next text is tried again"
        child = redactor._child
        assert child is not None
    wait_until(lambda: child.poll() is not None, what="the process is gone")


@given(
    texts=st.lists(st.text(alphabet="abX «»redact\n\u202e😀\ud800"), max_size=6),
    patterns=st.lists(st.text(alphabet="abX", min_size=1, max_size=3), min_size=1, max_size=3),
)
@settings(max_examples=200, deadline=None)
def test_no_pattern_is_left_outside_of_marks(texts: list[str], patterns: list[str]) -> None:
    with Redactor(patterns) as redactor:
        for text in texts:
            pieces = redactor.text(text).split(MARK)
            if MARK not in text:
                assert not any(pattern in piece for pattern in patterns for piece in pieces)


def test_both_ways_of_searching_find_the_same() -> None:
    texts = ["aXbX", "", "X" * 1000, "😀X\ud800X", "\n\tX\x00"]
    with Redactor(["X"]) as here, Redactor(["re:X"]) as apart:
        for text in texts:
            assert here.text(text) == apart.text(text)
        assert here.counts == apart.counts
