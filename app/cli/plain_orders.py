"""What the operator types about one run that is held without a screen, carried out. What a line means is
``plain_commands``'; which run is meant is for ``plain`` and ``queuerun`` to say."""

from app.cli import answers, plain_commands
from app.cli.plain_output import asked_of
from app.cli.plain_telling import RunTelling
from coordinator.api import (
    AnswerDecision,
    Backend,
    EditQueued,
    Finish,
    Interrupt,
    OperatorCommand,
    ReleaseQueue,
    Reply,
    Said,
    Say,
    Stop,
)
from coordinator.drivers.base import Deny
from store.refusal import Refusal
from store.vocab import DecisionKind, RefusalReason


class RunOrders:
    def __init__(self, backend: Backend, telling: RunTelling) -> None:
        self.finish_asked = False
        self._backend = backend
        self._telling = telling
        self._run = telling.run
        self._out = telling.out

    def obey(self, meant: plain_commands.Line) -> None:
        match meant:
            case plain_commands.NotUnderstood(sentence=sentence):
                self._note(sentence)
            case plain_commands.SayLine(text=said):
                reply = self.order(Say(run=self._run, text=said))
                if isinstance(reply, Said) and reply.queued is not None:
                    self._note("waits in line, sent when the turn ends")
            case plain_commands.AnswerLine(decision=number, words=words):
                self._answer(number, words=words)
            case plain_commands.DenyLine(decision=number, why=why):
                self._answer(number, deny=why)
            case plain_commands.QueueLine():
                self._queue(meant)
            case plain_commands.Word(word=word):
                self._word(word)
            case None:
                pass

    def interrupt(self) -> None:
        session = self._telling.session()
        self.order(Interrupt(run=self._run, turn=session.in_flight if session is not None else None))

    def stop(self, *, kill: bool = False) -> None:
        self.order(Stop(run=self._run, kill=kill))

    def finish(self) -> None:
        self.finish_asked = not isinstance(self.order(Finish(run=self._run)), Refusal)

    def order(self, command: OperatorCommand) -> Reply:
        reply = self._backend.submit(command).result()
        if isinstance(reply, Refusal):
            self._out.refused(self._telling.now(), reply)
        return reply

    def _word(self, word: str) -> None:
        match word:
            case "interrupt":
                self.interrupt()
            case "finish":
                self.finish()
            case "help":
                for said in plain_commands.HELP:
                    self._note(said)
            case _:
                self.stop(kill=word == "kill")

    def _answer(self, number: int, *, words: str = "", deny: str | None = None) -> None:
        session = self._telling.session()
        decisions = session.decisions if session is not None else ()
        found = next((one for one in decisions if one.id == number), None)
        if found is None:
            self._refused(Refusal(RefusalReason.NO_SUCH_DECISION, {"decision": number}))
            return
        answer = Deny(message=deny) if deny is not None else answers.read_line(asked_of(found), words)
        if isinstance(answer, Deny) and found.kind is DecisionKind.PARK:
            answer = Refusal(RefusalReason.NOT_AN_OPTION, {"choice": "deny"})
        if isinstance(answer, Refusal):
            self._refused(answer)
            return
        self.order(
            AnswerDecision(
                run=self._run,
                decision=found.id,
                revision=found.revision,
                payload_hash=found.payload_hash,
                answer=answer,
            )
        )

    def _queue(self, meant: plain_commands.QueueLine) -> None:
        if meant.drop is not None:
            self.order(EditQueued(run=self._run, queued=meant.drop, text=""))
        elif meant.go:
            self.order(ReleaseQueue(run=self._run))
        elif (session := self._telling.session()) is not None:
            self._out.queued(self._telling.now(), session)

    def _note(self, sentence: str) -> None:
        self._out.note(self._telling.now(), sentence)

    def _refused(self, refusal: Refusal) -> None:
        self._out.refused(self._telling.now(), refusal)
