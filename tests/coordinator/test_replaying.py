"""What is read a second time: a console that takes over sends for it what the agent that lives still waits for."""

import json

from coordinator.custody.types import RecordKind, SpoolRecord
from coordinator.drivers.codex import CodexDriver
from coordinator.ids import RealIds
from coordinator.ingest import Ingest
from coordinator.machine import Limits, SendReply, SessionState
from coordinator.redaction import Redactor
from store.vocab import CustodyId, RunId


def printed(offset: int, generation: int, id: int) -> SpoolRecord:
    line = json.dumps({"id": id, "method": "nobody/knows", "params": {}}).encode() + b"\n"
    kind = RecordKind.STDOUT
    return SpoolRecord(kind=kind, offset=offset, next_offset=offset + 10, at_ms=1, generation=generation, data=line)


def test_no_reply_to_a_process_that_is_gone_is_sent_to_the_one_after_it() -> None:
    """Their requests have the same numbers: what one was told is no answer to what the other asked."""
    old, new = CodexDriver("a"), CodexDriver("b")
    ingest = Ingest(run=RunId(1), custody=CustodyId("c"), driver=new, redactor=Redactor(()), ids=RealIds())
    ingest.resume(old, position=0, known=1000, driven=1, generation=2, later=new)
    state = SessionState(limits=Limits(budget=None, max_turns=9))
    batch = ingest.take(state, [printed(0, 1, 0), printed(10, 2, 1), printed(1000, 2, 2)])
    assert [act.id for act in batch.acts if isinstance(act, SendReply)] == ["reply-#1", "reply-#2"]
