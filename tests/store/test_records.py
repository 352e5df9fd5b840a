"""Control writes, stops, receipts, evidence, attention, commands, settings and drafts."""

import pytest

from store import (
    attention,
    commands,
    control_writes,
    custody,
    drafts,
    entries,
    evidence,
    receipts,
    settings,
    stops,
)
from store.moves import ForbiddenMove
from store.tx import Tx
from store.vocab import (
    AttentionKind,
    CommandState,
    CommandVerb,
    ControlWriteState,
    EvidenceKind,
    IncarnationId,
    StopResult,
    StopState,
)
from tests.store.scenes import INCARNATION, NOON, held, later, register

OTHER = IncarnationId("console-2")


def test_a_control_write_moves_on_and_stays_ended(tx: Tx) -> None:
    run, _ = held(tx)
    control_writes.asked(tx, run=run.id, id="w1", generation=1, what="interrupt", length=10, digest="d")
    assert control_writes.set_state(tx, run=run.id, id="w1", state=ControlWriteState.WRITING) is not None
    assert control_writes.set_state(tx, run=run.id, id="w1", state="wrote") is not None
    assert control_writes.set_state(tx, run=run.id, id="w1", state=ControlWriteState.CANCELLED) is None
    assert [one.state for one in control_writes.of_run(tx, run.id)] == [ControlWriteState.WROTE]
    with pytest.raises(ValueError, match="lost"):
        control_writes.set_state(tx, run=run.id, id="w1", state="lost")


def test_one_open_stop_whoever_asks(tx: Tx) -> None:
    run, _ = held(tx)
    first = stops.ask(tx, run=run.id, reason="stopped", operator="ada")
    assert stops.ask(tx, run=run.id, reason="killed", operator="bo") == first
    ordered = stops.order(tx, run=run.id)
    assert ordered is not None
    assert stops.order(tx, run=run.id) is None
    settled = stops.settle(tx, run=run.id, result=StopResult.HELD)
    assert settled is not None
    assert (settled.state, settled.result, settled.ordered_at) == (StopState.SETTLED, StopResult.HELD, NOON)
    assert stops.settle(tx, run=run.id, result=StopResult.FORCED) is None
    assert stops.open_of(tx, run.id) is None
    stops.ask(tx, run=run.id, reason="again", operator="ada")
    never = stops.settle(tx, run=run.id, result=StopResult.NEVER_STARTED)
    assert never is not None
    assert never.ordered_at is not None
    assert len(stops.of_run(tx, run.id)) == 2


def test_a_receipt_is_replaced_only_by_a_better_one(tx: Tx) -> None:
    run, id = held(tx)
    given = {"custody": id, "generation": 1, "run": run.id}
    first = receipts.add(tx, **given, body='{"a":1}', remaining=2)  # type: ignore[arg-type]
    assert receipts.add(tx, **given, body='{"b":1}', remaining=2) == first  # type: ignore[arg-type]
    receipts.add(tx, **given, body='{"c":1}', remaining=0)  # type: ignore[arg-type]
    assert receipts.add(tx, **given, body='{"d":1}', remaining=1).body == '{"c":1}'  # type: ignore[arg-type]
    assert [(one.body, one.remaining) for one in receipts.of_run(tx, run.id)] == [('{"c":1}', 0)]


def test_what_is_found_again_is_kept_once_and_the_newest_is_how_it_stands(tx: Tx) -> None:
    run, _ = held(tx)
    first = evidence.add(tx, run=run.id, kind=EvidenceKind.MAILBOX, content=b"\xff\x00")
    assert evidence.add(tx, run=run.id, kind=EvidenceKind.MAILBOX, content=b"\xff\x00") == first
    assert evidence.add(tx, run=run.id, kind=EvidenceKind.DIFF, content=b"\xff\x00").id != first.id
    assert (first.size, evidence.get(tx, first.id)) == (2, first)
    assert len(evidence.of_run(tx, run.id)) == 2
    for content in (b"A", b"B", b"A", b"A"):
        last = evidence.add(tx, run=run.id, kind=EvidenceKind.FILES, content=content, note="1 files")
    kept = [one.content for one in evidence.of_run(tx, run.id) if one.kind is EvidenceKind.FILES]
    assert kept == [b"A", b"B", b"A"] and last.content == b"A"
    assert evidence.add(tx, run=run.id, kind=EvidenceKind.FILES, content=b"A", note="not read").id > last.id
    checked = [
        evidence.add(tx, run=run.id, kind=EvidenceKind.CHECK, content=b"", note="passed", again=True) for _ in range(2)
    ]
    assert checked[0].id != checked[1].id
    assert evidence.weight(tx, run.id, EvidenceKind.FILES) == 4


def test_attention_is_said_once_and_served_in_order(tx: Tx) -> None:
    run, _ = held(tx)
    page = attention.raise_(tx, run=None, kind=AttentionKind.PAGE, key="clock", text="the clock jumped")
    stalled = attention.raise_(later(tx, -5), run=run.id, kind=AttentionKind.STALLED, key="", text="no output")
    assert attention.raise_(tx, run=None, kind=AttentionKind.PAGE, key="clock", text="again") == page
    assert attention.open_items(tx) == [stalled, page]
    attention.raise_(tx, run=None, kind=AttentionKind.PAGE, key="disk", text="full")
    assert len(attention.clear(tx, run=None, kind=AttentionKind.PAGE, key="clock", by="ada")) == 1
    assert len(attention.clear(tx, run=None, kind=AttentionKind.PAGE, by="ada")) == 1
    assert attention.open_items(tx) == [stalled]
    assert attention.raise_(tx, run=None, kind=AttentionKind.PAGE, key="clock", text="anew").id != page.id


def test_a_command_is_taken_once_by_the_console_that_holds_the_run(tx: Tx) -> None:
    register(tx, OTHER)
    run, id = held(tx)
    say = commands.ask(tx, run=run.id, verb=CommandVerb.SAY, body='{"text":"hi"}', operator="ada")
    stop_all = commands.ask(tx, run=None, verb=CommandVerb.STOP_ALL, body="{}", operator="ada")
    assert commands.asked_for(tx, INCARNATION) == [say, stop_all]
    assert commands.asked_for(tx, OTHER) == [stop_all]
    custody.seize(tx, id=id, expect_incarnation=INCARNATION, incarnation=OTHER)
    assert commands.asked_for(tx, OTHER) == [say, stop_all]
    assert commands.finish(tx, id=say.id, state=CommandState.DONE, answer="{}") is None, "not before it is taken"
    assert commands.take(tx, id=say.id, incarnation=OTHER) is not None
    assert commands.take(tx, id=say.id, incarnation=INCARNATION) is None
    done = commands.finish(tx, id=say.id, state=CommandState.REFUSED, answer='{"reason":"paused"}')
    assert done is not None
    assert (done.state, done.incarnation, done.ended_at) == (CommandState.REFUSED, OTHER, NOON)
    with pytest.raises(ForbiddenMove):
        commands.finish(tx, id=say.id, state=CommandState.ASKED, answer="")


def test_settings_and_drafts(tx: Tx) -> None:
    assert settings.get(tx, "admission") is None
    settings.put(tx, "admission", "open")
    settings.put(tx, "admission", "shut")
    assert settings.get(tx, "admission") == "shut"
    assert [entry.kind for entry in entries.entries_of(tx, 0)][-2:] == ["setting.put", "setting.put"]
    drafts.put(tx, "run:1", "half a sen")
    drafts.put(tx, "run:1", "half a sentence")
    assert drafts.get(tx, "run:1") == "half a sentence"
    drafts.drop(tx, "run:1")
    assert drafts.get(tx, "run:1") is None
