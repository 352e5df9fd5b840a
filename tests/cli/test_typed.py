"""What an operator types: money, time, briefs, answers. Bad values are one sentence, and nothing is guessed."""

from pathlib import Path

import pytest
from hypothesis import given, strategies as st

from app.cli import answers, brief, plain_commands, values
from app.cli.exits import Leave
from coordinator.drivers.base import Allow, Choice, Chosen, Deny, Offer, OfferKind, Question, QuestionReply
from store.refusal import Refusal
from store.vocab import DecisionKind, Millis, RefusalReason
from tests.cli.made import NOW
from tests.cli.running import footplate


@pytest.mark.parametrize(
    ("text", "micro"),
    [
        ("5", 5_000_000),
        ("5usd", 5_000_000),
        ("2.50", 2_500_000),
        ("$0.10", 100_000),
        ("1,5 USD", 1_500_000),
        ("7$", 7_000_000),
    ],
)
def test_money(text: str, micro: int) -> None:
    assert values.money(text) == micro


@pytest.mark.parametrize("text", ["5potatoes", "", "-1", "0", "1e9", "nan", "5 euro", "٥", "0.0000001"])
def test_what_is_no_money(text: str) -> None:
    with pytest.raises(Leave) as left:
        values.money(text)
    assert left.value.code == 2
    assert "\n" not in left.value.sentence


@pytest.mark.parametrize(
    ("text", "seconds"), [("2h", 7200), ("90m", 5400), ("1h30m", 5400), ("45s", 45), ("2d", 172_800), ("1.5h", 5400)]
)
def test_durations(text: str, seconds: int) -> None:
    assert values.expires_seconds(text, NOW) == seconds


@pytest.mark.parametrize("text", ["yesterday", "", "2", "h", "2x", "-2h", "0s", "99d", "25:00", "12:99", "2h later"])
def test_what_is_no_time(text: str) -> None:
    with pytest.raises(Leave) as left:
        values.expires_seconds(text, NOW)
    assert left.value.code == 2


@given(st.integers(0, 23), st.integers(0, 59), st.integers(1_700_000_000_000, 1_900_000_000_000))
def test_a_time_of_day_is_the_next_one(hour: int, minute: int, now: int) -> None:
    seconds = values.expires_seconds(f"{hour}:{minute:02d}", Millis(now))
    assert 0 < seconds <= 86_400


def test_bad_values_from_the_shell_are_usage(tmp_path: Path) -> None:
    ran = footplate(tmp_path / "h", "start", "x", "--plain", "--budget", "5potatoes")
    assert (ran.code, ran.out) == (2, "")
    assert ran.err == "--budget '5potatoes' is no amount of money; write it as 5usd or 2.50.\n"
    ran = footplate(tmp_path / "h", "start", "x", "--plain", "--expires", "yesterday")
    assert ran.code == 2
    assert ran.err == ("--expires 'yesterday' is no time to end at; write how long (2h, 90m) or when today (18:30).\n")


# --------------------------------------------------------------------------------------------------------------- brief


def test_briefs_that_cannot_be(tmp_path: Path) -> None:
    file = tmp_path / "brief.md"
    for content, code in (
        (b"", 1),
        (b" \n\t", 1),
        (b"x" * 1_048_577, 1),
        (b"a\x1b[31mb", 2),
        (b"\xff\xfe", 2),
        (b"a\x00", 2),
    ):
        file.write_bytes(content)
        with pytest.raises(Leave) as left:
            brief.read(None, str(file))
        assert left.value.code == code, content[:20]
        assert "\x1b" not in left.value.sentence
    for words, code in (("", 1), ("/clear", 2), ("  /compact now", 2), ("a\x07", 2), ("\ud800", 2)):
        with pytest.raises(Leave) as left:
            brief.read(words, None)
        assert left.value.code == code, words
    with pytest.raises(Leave) as left:
        brief.read(None, str(tmp_path))
    assert left.value.code == 2


def test_a_brief_from_a_file_is_always_text(tmp_path: Path) -> None:
    file = tmp_path / "brief.md"
    file.write_bytes("\ufeff/clear the table\r\nand ünïcode\n".encode())
    given_brief = brief.read(None, str(file))
    assert given_brief == brief.Brief(text="/clear the table\nand ünïcode\n", from_file=True)


def test_a_brief_of_exactly_the_limit_goes(tmp_path: Path) -> None:
    file = tmp_path / "brief.md"
    file.write_bytes(b"x" * 1_048_576)
    assert brief.read(None, str(file)) is not None


# -------------------------------------------------------------------------------------------------------------- answers

PERMISSION = answers.Asked(kind=DecisionKind.PERMISSION, rule="Bash commands that begin with pytest")
NO_RULE = answers.Asked(kind=DecisionKind.PERMISSION)
COLOUR = Question(text="Which colour?", header="colour", choices=(Choice(label="Red"), Choice(label="Blue, dark")))
SIZES = Question(text="Which sizes?", header="sizes", choices=tuple(Choice(label=x) for x in "SML"), multiple=True)
ONE = answers.Asked(kind=DecisionKind.QUESTION, questions=(COLOUR,))
FORM = answers.Asked(kind=DecisionKind.QUESTION, questions=(COLOUR, SIZES))
PLAN = answers.Asked(kind=DecisionKind.PLAN)
OFFERS = answers.Asked(
    kind=DecisionKind.PERMISSION,
    offers=(
        Offer(id="proceed_always", label="Allow always", kind=OfferKind.ALLOW_RUN),
        Offer(id="proceed_once", label="Allow", kind=OfferKind.ALLOW),
        Offer(id="stop", label="Reject", kind=OfferKind.DENY_STOP),
    ),
)
FREE = answers.Asked(kind=DecisionKind.PARK, questions=(Question(text="How?"),))


@pytest.mark.parametrize(
    ("asked", "line", "answer"),
    [
        (PERMISSION, "1", Allow()),
        (PERMISSION, "allow", Allow()),
        (PERMISSION, "2", Deny()),
        (PERMISSION, "deny; note: not here", Deny(message="not here")),
        (PERMISSION, "3; note: why", Deny(message="why")),
        (PERMISSION, "4", Allow(for_run=True)),
        (PLAN, "1", Allow()),
        (PLAN, "2; note: smaller steps", Deny(message="smaller steps")),
        (OFFERS, "1", Chosen(offer="proceed_once")),
        (OFFERS, "2", Chosen(offer="stop")),
        (OFFERS, "4", Chosen(offer="proceed_always")),
        (OFFERS, "allow always", Chosen(offer="proceed_always")),
        (OFFERS, "proceed_once", Chosen(offer="proceed_once")),
        (OFFERS, "allow", Chosen(offer="proceed_once")),
        (OFFERS, "yes", Allow()),
        (OFFERS, "no", Deny(interrupt=True)),
        (ONE, "1", QuestionReply(answers={"Which colour?": ("Red",)})),
        (ONE, "red", QuestionReply(answers={"Which colour?": ("Red",)})),
        (ONE, "blue, dark", QuestionReply(answers={"Which colour?": ("Blue, dark",)})),
        (ONE, "1=2; note: soon", QuestionReply(answers={"Which colour?": ("Blue, dark",)}, note="soon")),
        (ONE, "text: neither; really", QuestionReply(answers={"Which colour?": ("neither; really",)})),
        (FORM, "1=2 2=1,3", QuestionReply(answers={"Which colour?": ("Blue, dark",), "Which sizes?": ("S", "L")})),
        (FORM, "2=m 1=Blue, dark", QuestionReply(answers={"Which colour?": ("Blue, dark",), "Which sizes?": ("M",)})),
        (FREE, "as you like; it is fine", QuestionReply(answers={"How?": ("as you like; it is fine",)})),
    ],
)
def test_answers(asked: answers.Asked, line: str, answer: object) -> None:
    assert answers.read_line(asked, line) == answer


@pytest.mark.parametrize(
    ("asked", "line", "reason"),
    [
        (PERMISSION, "5", RefusalReason.NOT_AN_OPTION),
        (PLAN, "3", RefusalReason.NOT_AN_OPTION),
        (PERMISSION, "", RefusalReason.NOT_AN_OPTION),
        (PERMISSION, "yes please", RefusalReason.NOT_AN_OPTION),
        (NO_RULE, "4", RefusalReason.NOT_AN_OPTION),
        (OFFERS, "3", RefusalReason.NOT_AN_OPTION),
        (OFFERS, "1; note: well", RefusalReason.NOT_AN_OPTION),
        (ONE, "3", RefusalReason.NOT_AN_OPTION),
        (ONE, "0", RefusalReason.NOT_AN_OPTION),
        (ONE, "1,2", RefusalReason.NOT_AN_OPTION),
        (ONE, "²", RefusalReason.NOT_AN_OPTION),
        (ONE, "", RefusalReason.UNANSWERED_QUESTIONS),
        (FORM, "1=1", RefusalReason.UNANSWERED_QUESTIONS),
        (FORM, "1=1 2=9", RefusalReason.NOT_AN_OPTION),
        (FORM, "1=1 1=2", RefusalReason.NOT_AN_OPTION),
        (FORM, "1", RefusalReason.NOT_AN_OPTION),
        (FORM, "1=1 3=1", RefusalReason.NOT_AN_OPTION),
        (FORM, "text: both", RefusalReason.UNANSWERED_QUESTIONS),
    ],
)
def test_what_is_no_answer(asked: answers.Asked, line: str, reason: RefusalReason) -> None:
    answer = answers.read_line(asked, line)
    assert isinstance(answer, Refusal)
    assert answer.reason is reason


@given(st.text(max_size=60), st.sampled_from([PERMISSION, NO_RULE, PLAN, ONE, FORM, FREE]))
def test_no_line_answers_by_accident(line: str, asked: answers.Asked) -> None:
    """Whatever is typed is a refusal, or an answer that names only choices that there are."""
    answer = answers.read_line(asked, line)
    if isinstance(answer, Allow):
        assert asked.kind in (DecisionKind.PERMISSION, DecisionKind.PLAN)
        assert not answer.for_run or asked.rule
    if isinstance(answer, QuestionReply) and not line.lower().lstrip().startswith("text:"):
        for question in asked.questions:
            chosen = answer.answers[question.text]
            assert chosen
            assert not question.choices or set(chosen) <= {choice.label for choice in question.choices}


# --------------------------------------------------------------------------------------------------- lines of --plain


@pytest.mark.parametrize(
    ("line", "meant"),
    [
        ("say hello there", plain_commands.SayLine("hello there")),
        ("SAY stop", plain_commands.SayLine("stop")),
        ("answer 7 1=2 2=1,3", plain_commands.AnswerLine(7, "1=2 2=1,3")),
        ("answer #7 2; note: no", plain_commands.AnswerLine(7, "2; note: no")),
        ("allow 7", plain_commands.AnswerLine(7, "allow")),
        ("allow-run 7", plain_commands.AnswerLine(7, "allow-run")),
        ("deny 7 it deletes files", plain_commands.DenyLine(7, "it deletes files")),
        ("stop", plain_commands.Word("stop")),
        ("queue drop 3", plain_commands.QueueLine(drop=3)),
        ("queue go", plain_commands.QueueLine(go=True)),
        ("   ", None),
    ],
)
def test_lines(line: str, meant: object) -> None:
    assert plain_commands.parse(line) == meant


@pytest.mark.parametrize(
    "line", ["hello", "stop now", "answer", "answer seven 1", "answer 7", "allow 7 8", "kill -9", "1", "queue x"]
)
def test_lines_that_do_nothing(line: str) -> None:
    assert isinstance(plain_commands.parse(line), plain_commands.NotUnderstood)
