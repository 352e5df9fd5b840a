"""A ledger to export from: a run of the practice agent with one of most things in it, and hostile text in them."""

from pathlib import Path

from coordinator.api import AnswerDecision, Rename, Say, SessionView, Stop
from coordinator.drivers.base import Allow, Answer, Deny, QuestionReply
from store.vocab import DecisionState, RunId, RunOutcome
from tests.coordinator.held import Holding, holding, script

SECRET = "hunter2-the-password"
HOSTILE = "<script>alert(1)</script> \u202egnp.exe \x1b[31mred\x1b[0m ![x](http://tracker.invalid/p.png) [y](http://z.invalid)"
TITLE = f"Mend the <b>flaky</b> test of {SECRET}"
QUESTION = "Which colour do you want?"
OUTPUT = "```` and ``` and ~~~"
BRIEF = "Please mend the test & say why. " + script(
    {"think": "let me see", "text": f"# Plan\n\nI look at `tests/<a>.py`, **then** mend it.\n\n{HOSTILE}"},
    {"tools": [{"name": "Bash", "input": {"command": f"echo '{OUTPUT}'; echo {SECRET}"}}]},
    {"tools": [{"name": "Bash", "input": {"command": "touch denied.txt"}}]},
    {"write": f"{SECRET}.py", "content": "print('=cmd()')\n"},
    {"ask": QUESTION, "options": ["Red", "Blue"]},
    {"text": "```python\nprint('never closed')\n"},
)
SECOND = "=HYPERLINK(1) " + script({"text": "done for today"})


async def play(folder: Path) -> RunId:
    """Plays it in a house of its own; the ledger is ``folder/ledger.db`` then, and nobody holds it."""
    async with holding(folder) as held:
        run = await held.start(BRIEF)
        await held.do(Rename(run=run, title=TITLE))
        await _answer_all(held, run)
        await held.do(Say(run=run, text=SECOND))
        await held.until(run, lambda view: len(view.turns) == 2 and view.turns[1].ended_at, 60)
        await held.do(Stop(run=run))
        ended = await held.until(run, lambda view: view.outcome, 60)
        assert ended.outcome is RunOutcome.INTERRUPTED
    return run


async def _answer_all(held: Holding, run: RunId) -> None:
    while True:
        view = await held.until(run, lambda view: _open(view) or view.turns[0].ended_at, 60)
        if not _open(view):
            return
        asked = _open(view)[0]
        answer: Answer = Allow()
        if asked.questions:
            answer = QuestionReply(answers={QUESTION: ("Blue",)}, note="as the sea")
        elif "denied.txt" in asked.subject:
            answer = Deny(message="rather not")
        await held.do(
            AnswerDecision(
                run=run, decision=asked.id, revision=asked.revision, payload_hash=asked.payload_hash, answer=answer
            )
        )
        id = asked.id
        await held.until(run, lambda view, id=id: all(one.id != id for one in _open(view)))  # type: ignore[misc]


def _open(view: SessionView) -> list:  # type: ignore[type-arg]
    return [one for one in view.decisions if one.state is DecisionState.OPEN]
