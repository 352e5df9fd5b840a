"""One line of stdin, into what the operator means. Pure; for ``--plain`` only."""

import re

from msgspec import Struct

HELP = (
    "say TEXT                  say something; while a turn runs it waits in line",
    "answer ID CHOICE          by number or words; 1=2 2=1,3 for several questions; text: for your own words",
    "answer ID CHOICE; note: … with a word of yours",
    "allow ID, allow-run ID    allow once, or this and its like for this run",
    "deny ID [why]             deny",
    "interrupt                 interrupt the turn",
    "queue                     what waits in line; queue go sends it, queue drop N takes one out",
    "finish                    end well, after the turn",
    "stop, kill                stop and everything it started; kill does not ask first",
    "help                      this",
)


class SayLine(Struct, frozen=True):
    text: str


class AnswerLine(Struct, frozen=True):
    decision: int
    words: str
    """As ``answers.read_line`` takes them."""


class DenyLine(Struct, frozen=True):
    decision: int
    why: str


class QueueLine(Struct, frozen=True):
    go: bool = False
    drop: int | None = None


class Word(Struct, frozen=True):
    """``interrupt``, ``stop``, ``kill``, ``finish`` or ``help``."""

    word: str


class NotUnderstood(Struct, frozen=True):
    sentence: str


Line = SayLine | AnswerLine | DenyLine | QueueLine | Word | NotUnderstood | None

_WORDS = ("interrupt", "stop", "kill", "finish", "help")


def parse(line: str) -> Line:
    """None for an empty line. Words are case-blind; what follows them is taken as it stands."""
    verb, _, rest = line.strip().partition(" ")
    verb, rest = verb.lower(), rest.strip()
    if not verb:
        return None
    if verb in _WORDS:
        return NotUnderstood(f"{verb} takes nothing after it.") if rest else Word(verb)
    if verb == "say":
        return SayLine(rest) if rest else NotUnderstood("say what? for example: say run the tests again")
    if verb == "queue":
        return _queue(rest)
    if verb in ("answer", "allow", "allow-run", "deny"):
        return _about(verb, rest)
    # Never taken as something to say: a word that was meant for us must not reach an agent.
    return NotUnderstood(f"{verb[:40]!r} is no command; help lists them, and say TEXT speaks to the agent.")


def _about(verb: str, rest: str) -> Line:
    found = re.match(r"#?(\d{1,15})(?:\s+|$|:)(.*)", rest, re.DOTALL)
    if found is None:
        return NotUnderstood(f"{verb} which question? for example: {verb} 7{' 1' if verb == 'answer' else ''}")
    number, more = int(found.group(1)), found.group(2).strip()
    match verb:
        case "answer":
            if not more:
                return NotUnderstood(f"answer {number} how? for example: answer {number} 1")
            return AnswerLine(number, more)
        case "deny":
            return DenyLine(number, more)
        case _:
            if more:
                return NotUnderstood(f"{verb} {number} takes nothing after it.")
            return AnswerLine(number, verb)


def _queue(rest: str) -> Line:
    if not rest:
        return QueueLine()
    if rest.lower() == "go":
        return QueueLine(go=True)
    found = re.fullmatch(r"drop\s+#?(\d{1,15})", rest.lower())
    return QueueLine(drop=int(found.group(1))) if found else NotUnderstood("queue, queue go, or queue drop N.")
