"""Commands of other processes: asked in the ledger, taken by the console that owns the run, answered in the ledger.

The form of each body stands here once, for who asks (``asked_body``) and for who takes (``_command_of``).
"""

import asyncio
import logging
from typing import TYPE_CHECKING, Any

import msgspec

from coordinator import decisioncodec
from coordinator.api import (
    AnswerDecision,
    Closed,
    Extend,
    Finish,
    Interrupt,
    OperatorCommand,
    Reply,
    Revoke,
    Said,
    Say,
    Stop,
    StopAll,
)
from coordinator.house import House
from store import commands
from store.canonical import dumps
from store.db import LedgerFault, Tx
from store.refusal import Refusal
from store.vocab import CommandState, CommandVerb, DecisionId, MicroUsd, RefusalReason, RunId, TurnId

if TYPE_CHECKING:
    from coordinator.coordinator import Coordinator

log = logging.getLogger(__name__)

ForAnother = Say | AnswerDecision | Interrupt | Stop | StopAll | Finish | Extend | Revoke


def asked_body(command: ForAnother) -> tuple[CommandVerb, RunId | None, str]:
    """What goes into the ledger for a command that another process is to carry out."""
    match command:
        case Say():
            return CommandVerb.SAY, command.run, dumps({"text": command.text, "literal": command.literal})
        case AnswerDecision():
            body = {
                "decision": command.decision,
                "revision": command.revision,
                "payload_hash": command.payload_hash,
                "answer": decisioncodec.encode_answer(command.answer),
            }
            return CommandVerb.ANSWER, command.run, dumps(body)
        case Interrupt():
            return CommandVerb.INTERRUPT, command.run, dumps({"turn": command.turn})
        case Stop():
            return CommandVerb.STOP, command.run, dumps({"kill": command.kill})
        case StopAll():
            return CommandVerb.STOP_ALL, None, dumps({})
        case Finish():
            return CommandVerb.FINISH, command.run, dumps({})
        case Extend():
            body = {
                "money": command.money,
                "turns": command.turns,
                "seconds": command.seconds,
                "working_seconds": command.working_seconds,
            }
            return CommandVerb.EXTEND, command.run, dumps(body)
        case Revoke():
            return CommandVerb.REVOKE, command.run, dumps({})


def _command_of(row: commands.Command) -> OperatorCommand:
    body: dict[str, Any] = msgspec.json.decode(row.body.encode())
    run = RunId(row.run or 0)
    match row.verb:
        case CommandVerb.SAY:
            return Say(run=run, text=str(body["text"]), literal=bool(body.get("literal")))
        case CommandVerb.ANSWER:
            return AnswerDecision(
                run=run,
                decision=DecisionId(int(body["decision"])),
                revision=int(body["revision"]),
                payload_hash=str(body["payload_hash"]),
                answer=decisioncodec.decode_answer(str(body["answer"])),
            )
        case CommandVerb.INTERRUPT:
            turn = body.get("turn")
            return Interrupt(run=run, turn=TurnId(turn) if turn else None)
        case CommandVerb.STOP:
            return Stop(run=run, kill=bool(body.get("kill")))
        case CommandVerb.STOP_ALL:
            return StopAll()
        case CommandVerb.FINISH:
            return Finish(run=run)
        case CommandVerb.EXTEND:
            money = body.get("money")
            return Extend(
                run=run,
                money=None if money is None else MicroUsd(int(money)),
                turns=body.get("turns"),
                seconds=body.get("seconds"),
                working_seconds=body.get("working_seconds"),
            )
        case CommandVerb.REVOKE:
            return Revoke(run=run)


async def take(house: House) -> list[commands.Command]:
    """Those asked of this console, now taken by it."""
    waiting = await house.ledger.read(lambda tx: commands.asked_for(tx, house.incarnation))
    taken: list[commands.Command] = []
    for row in waiting:
        mine = await house.ledger.transaction(
            lambda tx, id=row.id: commands.take(tx, id=id, incarnation=house.incarnation)  # type: ignore[misc]
        )
        if isinstance(mine, commands.Command):
            taken.append(mine)
    return taken


async def carry_out(coordinator: "Coordinator", row: commands.Command) -> None:
    try:
        command = _command_of(row)
    except (KeyError, ValueError, TypeError, msgspec.DecodeError, msgspec.ValidationError) as problem:
        log.warning("command %s cannot be read: %s", row.id, problem)
        command = None
    reply: Reply
    if command is None:
        reply = Refusal(RefusalReason.NOT_AN_OPTION, {"option": str(row.verb)})
    else:
        if not isinstance(command, Stop | StopAll):
            # Who orders something from a terminal is there. A stop says nothing of the kind: it may come from a script.
            coordinator.beat()
        reply = await coordinator.handle(command, row.operator)
    state, answer = _answer_of(reply)

    def finish(tx: Tx) -> None:
        commands.finish(tx, id=row.id, state=state, answer=answer)

    while True:
        try:
            await coordinator.house.ledger.transaction(finish)
            return
        except LedgerFault:
            # It was carried out; who asked must not read that nobody took it.
            if coordinator.house.shutting:
                return
            await asyncio.sleep(0.2)


def _answer_of(reply: Reply) -> tuple[CommandState, str]:
    match reply:
        case Refusal():
            return CommandState.REFUSED, dumps({"reason": reply.reason, "facts": dict(reply.facts)})
        case Said():
            return CommandState.DONE, dumps({"turn": reply.turn, "queued": reply.queued})
        case Closed():
            return CommandState.DONE, dumps({"unsettled": list(reply.unsettled)})
        case _:
            return CommandState.DONE, dumps({"note": getattr(reply, "note", "")})
