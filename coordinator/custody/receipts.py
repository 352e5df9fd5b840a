"""A ``gone`` record's facts as a ``Receipt``. Read tolerantly: it is shown even when a field is missing."""

from collections.abc import Mapping

from coordinator.custody.types import EndedProcess, Receipt


def _int(value: object) -> int:
    return int(value) if isinstance(value, int | float) else 0


def process_from_facts(facts: object) -> EndedProcess:
    one: Mapping[str, object] = facts if isinstance(facts, dict) else {}
    return EndedProcess(
        pid=_int(one.get("pid")),
        name=str(one.get("name", "")),
        step=str(one.get("step", "")),
        gone_after_ms=_int(one.get("gone_after_ms")),
        own_session=bool(one.get("own_session")),
        daemonised=bool(one.get("daemonised")),
    )


def _processes(value: object) -> tuple[EndedProcess, ...]:
    return tuple(process_from_facts(one) for one in value) if isinstance(value, list) else ()


def receipt_from_facts(facts: Mapping[str, object]) -> Receipt:
    """What the supervisor wrote in its ``gone`` record."""
    steps = facts.get("steps")
    exit = facts.get("agent_exit")
    return Receipt(
        reason=str(facts.get("reason", "")),
        already_ended=bool(facts.get("already_ended")),
        agent_exit=None if exit is None else str(exit),
        steps=tuple((str(step[0]), _int(step[1])) for step in steps) if isinstance(steps, list) else (),
        ended=_processes(facts.get("ended")),
        remaining=_processes(facts.get("remaining")),
        spared=_processes(facts.get("spared")),
        total_ms=_int(facts.get("total_ms")),
        followed=bool(facts.get("followed")),
    )
