"""What ``--plain``, a sentence and a notice say of hostile text: lines, and nothing that a terminal obeys."""

import re

import pytest

from app import wording
from app.cli.plain_output import TextOutput
from app.notices.items import Kind, Notice, NoticeSettings
from app.notices.ways import Surrounding, written
from app.wording_refusals import _TEMPLATES
from coordinator.api import FeedEvent, SessionView
from store.refusal import Refusal
from store.vocab import RefusalReason, RunId
from tests.console.hostile import CONTROL, HOSTILE, Spoiler
from tests.console.test_hostile_screens import stuffed
from tests.console.transcript.test_hostile import EVENTS
from tests.fakes.backend import NOW

GOES = range(len(HOSTILE))


def lines(text: str) -> list[str]:
    """What was said, line by line, each checked to be text."""
    rows = text.split("\n")
    for row in rows:
        assert not CONTROL.search(row), repr(row)
    return rows


@pytest.mark.parametrize("first", GOES)
def test_all_that_a_run_without_a_screen_tells(first: int, capsys: pytest.CaptureFixture[str]) -> None:
    session: SessionView = Spoiler(first, spare=first % 2 == 0).spoil(stuffed()).sessions[0]
    out = TextOutput()
    assert session.terms is not None and session.ending is not None and session.receipt is not None
    out.started(NOW, session, wording.terms_sentence(session.terms, NOW))
    for turn in session.turns:
        out.turn(NOW, session, turn)
    for decision in session.decisions:
        out.decision(NOW, decision)
        out.answered(NOW, decision)
    out.queued(NOW, session)
    for step, ms in session.ending.steps:
        out.ending(NOW, session.ending.reason, step, ms)
    out.receipt(NOW, session.receipt)
    out.ended(NOW, session, 1)
    assert len(lines(capsys.readouterr().out)) > 20


@pytest.mark.parametrize("name", HOSTILE)
@pytest.mark.parametrize("way", EVENTS)
def test_all_that_an_agent_tells(way: str, name: str, capsys: pytest.CaptureFixture[str]) -> None:
    session = stuffed().sessions[0]
    for event in EVENTS[way](HOSTILE[name]):
        TextOutput().event(FeedEvent(run=session.run, turn=None, at=NOW, event=event, key=(1, 0)))
    lines(capsys.readouterr().out)


@pytest.mark.parametrize("reason", RefusalReason)
def test_every_refusal_whatever_its_facts(reason: RefusalReason) -> None:
    # Whatever place the templates have; a refusal may come from any version.
    names = set(re.findall(r"\{([\w,]+)", " ".join(_TEMPLATES.values())))
    names = {name for several in names for name in several.split(",")}
    for said in HOSTILE.values():
        assert len(lines(wording.sentence(Refusal(reason, dict.fromkeys(names, said))))) == 1


@pytest.mark.parametrize("name", HOSTILE)
def test_every_word_for_an_ending(name: str) -> None:
    said = HOSTILE[name]
    for made in (wording.end_reason(said), wording.end_reason(f"exited:{said}"), wording.stop_step(said)):
        assert len(lines(made)) == 1


@pytest.mark.parametrize("name", HOSTILE)
@pytest.mark.parametrize("way", ["osc9", "osc777"])
def test_a_notice_is_one_sequence_that_ends_where_it_should(way: str, name: str) -> None:
    said = HOSTILE[name]
    notice = Notice(key="k", kind=Kind.DECISION, run=RunId(1), title=said, words=said, since=NOW)
    sent = written([notice], NoticeSettings(bell=False), Surrounding(way=way))
    begin = "\x1b]9;" if way == "osc9" else "\x1b]777;notify;"
    assert sent.startswith(begin) and sent.endswith("\x1b\\")
    inside = sent[len(begin) : -2]
    assert not CONTROL.search(inside), repr(inside)
    if way == "osc777":
        assert inside.count(";") == 1, "a semicolon of somebody else would be a field of its own"
