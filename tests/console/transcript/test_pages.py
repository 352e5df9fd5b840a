"""A conversation that comes in pages: what is put together, what is let go, what stays open."""

from app.console.views import transcript as transcript_module
from app.console.views.transcript import TranscriptModel
from coordinator.api import TranscriptPage
from coordinator.drivers import base
from tests.console.transcript.conversation import (
    Script,
    session,
    shown,
    text,
    used,
)


def numbered(count: int) -> Script:
    script = Script()
    for n in range(count):
        script.say(text(f"message {n}", f"m{n}"))
        script.say(*used(f"c{n}", "Edit", f"f{n}", old_string="a", new_string="b"))
    return script


def test_pages_put_together_are_the_whole() -> None:
    script = numbered(40)
    whole = TranscriptModel()
    whole.show(session(), script.page())
    events = script.kept
    for border in range(1, len(events)):
        model = TranscriptModel()
        model.show(session(), TranscriptPage(events=events[border:], more_before=True))
        assert model.more_before and model.before == events[border].key
        model.prepend(TranscriptPage(events=events[:border], more_before=False))
        assert not model.more_before
        assert shown(model) == shown(whole), border


def test_a_page_that_overlaps_brings_only_what_is_new() -> None:
    script = numbered(20)
    whole = TranscriptModel()
    whole.show(session(), script.page())
    model = TranscriptModel()
    model.show(session(), TranscriptPage(events=script.kept[30:], more_before=True))
    _, more = model.prepend(TranscriptPage(events=script.kept[40:], more_before=True))
    assert more == 0 and model.more_before
    model.prepend(script.page())
    assert shown(model) == shown(whole)


def test_live_events_that_the_page_has_are_not_shown_twice() -> None:
    script = numbered(5)
    model = TranscriptModel()
    model.show(session(), script.page())
    before = shown(model)
    model.feed(script.events)
    model.feed([e for e in Script().say(base.TextDelta(block="m4", text="late")).events])
    assert shown(model) == before


def test_the_window_lets_go_of_the_oldest_and_can_read_them_again() -> None:
    script = numbered(100)
    model = TranscriptModel(window=50)
    model.show(session(), script.page())
    assert model.trim() == []
    while len(model.lines) <= 50 + transcript_module._SLACK:
        script.say(text("more\n" * 200))
        model.feed(script.events[-1:])
        model.flush()
    whole = shown(model)
    (splice,) = model.trim()
    assert splice.at == 0 and splice.removed and not splice.added
    assert model.more_before and model.before is not None
    assert shown(model) == whole[splice.removed :]
    model.prepend(script.page())
    assert shown(model) == whole


def test_folds_stay_open_when_a_session_is_shown_again() -> None:
    model = TranscriptModel()
    script = Script().say(*used("e", "Edit", "a", old_string="a", new_string="b"))
    model.show(session(), script.page())
    assert model.toggle(3)
    rows = shown(model)
    model.show(session(run=13), Script().page())
    assert shown(model) != rows
    model.show(session(), script.page())
    assert shown(model) == rows


def test_copies_are_what_was_written() -> None:
    said = "# Title\n\n**bold** and\n\n```make\nall:\n\tcc\n```"
    model = TranscriptModel()
    model.show(session(), Script().say(text(said), *used("c", "Read", "a"), text("second")).page())
    line = next(n for n, line in enumerate(model.lines) if "Title" in line.text)
    assert model.block_text(line) == said
    assert model.message_at(line) == said + "\n\nsecond"
    assert model.block_text(1) == "turn 1"
