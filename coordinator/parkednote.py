"""What an agent's note says: its decision file parsed, with every problem named at once so that one repair can mend
them.

Pure, because a note is hostile text and every form of it must be tried by tests without a file. How it is reached
safely is ``mailbox``; what follows from it is the machine's.
"""

from typing import Any, Final

import msgspec
from msgspec import Struct

from coordinator.decisioncodec import RECOMMENDATION
from coordinator.drivers.base import Choice, DecisionAsked, Question
from store.canonical import storable
from store.vocab import DecisionKind

ROOT: Final = ".footplate"
DECISION: Final = "decision.json"
HANDOFF: Final = "handoff.md"
MOST_OPTIONS: Final = 9
"""One digit key each."""
_LONGEST_LABEL: Final = 200
_RAW_SHOWN: Final = 8 * 1024


class ParkedQuestion(Struct, frozen=True, kw_only=True):
    question: str
    context: str = ""
    options: tuple[Choice, ...] = ()
    recommendation: str = ""
    """One of the labels, or free text where there are no options."""
    multiple: bool = False


class Malformed(Struct, frozen=True, kw_only=True):
    problems: tuple[str, ...]
    """Sentences without a full stop, said to the agent as they are."""
    raw: str = ""
    """What stood there, cut; put to the operator when repairs fail."""


def folder_of(run: int) -> str:
    return f"{ROOT}/{run}"


def parse_decision(data: bytes) -> ParkedQuestion | Malformed:
    """Pure. All problems at once, so that one repair can mend them all."""
    try:
        given = msgspec.json.decode(data.decode("utf-8").removeprefix("\ufeff"))
    except UnicodeDecodeError:
        return Malformed(problems=(f"{DECISION} is not UTF-8",), raw=raw_of(data))
    except (msgspec.DecodeError, RecursionError) as problem:
        said = "it is empty" if not data.strip() else str(problem)
        return Malformed(problems=(f"{DECISION} is not valid JSON: {said}",), raw=raw_of(data))
    if not isinstance(given, dict):
        return Malformed(problems=(f"{DECISION} must hold one JSON object",), raw=raw_of(data))
    problems: list[str] = []
    options = _options(given.get("options"), problems)
    parked = ParkedQuestion(
        question=_text(given, "question", problems, needed=True),
        context=_text(given, "context", problems),
        options=options,
        recommendation=_recommendation(_text(given, "recommendation", problems), options, problems),
        multiple=_flag(given, "multiple", problems),
    )
    return Malformed(problems=tuple(problems), raw=raw_of(data)) if problems else parked


def _text(given: dict[str, Any], name: str, problems: list[str], *, needed: bool = False) -> str:
    value = given.get(name)
    if value is None and not needed:
        return ""
    if isinstance(value, str) and (value.strip() or not needed):
        return storable(value.strip())
    problems.append(
        f'"{name}" is missing' if value is None or value == "" else f'"{name}" must be text that is not empty'
    )
    return ""


def _flag(given: dict[str, Any], name: str, problems: list[str]) -> bool:
    value = given.get(name)
    if value is None or isinstance(value, bool):
        return bool(value)
    problems.append(f'"{name}" must be true or false')
    return False


def _options(value: Any, problems: list[str]) -> tuple[Choice, ...]:
    if value is None:
        return ()
    if not isinstance(value, list):
        problems.append('"options" must be a list')
        return ()
    if len(value) > MOST_OPTIONS:
        problems.append(f'"options" has {len(value)} entries, at most {MOST_OPTIONS} can be shown')
        return ()
    out: list[Choice] = []
    for n, entry in enumerate(value, 1):
        fields = {"label": entry} if isinstance(entry, str) else entry  # a plain label is clear enough
        if not isinstance(fields, dict):
            problems.append(f'option {n} must be an object with a "label"')
            continue
        wrong: list[str] = []
        label = _text(fields, "label", wrong, needed=True)
        description = _text(fields, "description", wrong)
        if len(label) > _LONGEST_LABEL or "\n" in label:
            wrong.append(f'"label" must be one line of at most {_LONGEST_LABEL} characters')
        if any(label and label == other.label for other in out):
            wrong.append(f'"label" is the same as another option\'s: {label}')
        problems += [f"option {n}: {problem}" for problem in wrong]
        out.append(Choice(label=label, description=description))
    return tuple(out)


def _recommendation(said: str, options: tuple[Choice, ...], problems: list[str]) -> str:
    if not said or not options:
        return said
    for same in (str.__eq__, lambda a, b: a.casefold() == b.casefold()):
        for option in options:
            if same(option.label, said):
                return option.label
    problems.append(f'"recommendation" must be one of the labels, it is: {said[:_LONGEST_LABEL]}')
    return ""


def raw_of(data: bytes) -> str:
    return data[:_RAW_SHOWN].decode("utf-8", "replace")


# -------------------------------------------------------------------------------------------------------- as a decision


def decision_of(parked: ParkedQuestion, request: str) -> DecisionAsked:
    """A park as any other decision is shown."""
    question = Question(text=parked.question, choices=parked.options, multiple=parked.multiple)
    return DecisionAsked(
        request=request,
        kind=DecisionKind.PARK,
        title="Stopped to ask you",
        subject=parked.context,
        why=f"It recommends: {parked.recommendation}" if parked.recommendation else "",
        input={RECOMMENDATION: parked.recommendation} if parked.recommendation else {},
        questions=(question,),
    )


def free_question(malformed: Malformed, request: str) -> DecisionAsked:
    """A park that stayed unreadable: its raw text, to be answered freely."""
    return DecisionAsked(
        request=request,
        kind=DecisionKind.PARK,
        title="Stopped to ask you, in a form that could not be read",
        subject=malformed.raw,
        why="; ".join(malformed.problems),
        questions=(
            Question(text=malformed.raw.strip() or "The question could not be read. What should the agent do?"),
        ),
    )
