"""How a sentence with places for facts is filled, so that it stands whatever facts it is given. Reached through the
modules that have such sentences.

``{fact}``, ``{this,or,that}``, ``{fact|words for none}``, ``{fact:money}``; a part in ``[…]`` is left out when one of
its facts is missing. No sentence stands here.
"""

import re
from collections.abc import Mapping

from app.wording_endings import end_reason
from app.wording_failures import failure, failure_in_short, sign_in
from app.wording_images import image_problem
from app.wording_measures import clock_seconds, money, others_words, work_time
from store.refusal import Fact
from store.vocab import FailureKind, MicroUsd

_FIELDS = {
    "instruction": "brief",
    "program": "agent's program",
    "agent_version": "agent's version",
    "head": "commit",
    "tree_kind": "kind of tree",
    "max_turns": "number of turns",
    "working_seconds": "working time",
    "expires_at": "end time",
    "attendance_seconds": "time you may be away",
    "uid": "user",
    "at_budget": "rule at the budget",
    "prompt": "line with which it waits",
    "quit": "word that ends it",
    "continues": "run that it goes on from",
    "setup": "command that makes its tree ready",
    "checks": "commands that check its work",
    "check_seconds": "time for each check",
    "base": "commit that its tree begins at",
    "carried": "account of what came before",
    "answers": "answers that ride along",
    "unsent": "number of messages that ride along",
    "in_place": "place where it works",
    "run_seconds": "time of an attempt",
}
"""Fields of the terms whose own name is no word for a person."""

_FAILURES = frozenset(FailureKind)

_PART = re.compile(r"\[([^\]]*)\]")
_PLACE = re.compile(r"\{([\w,]+)(?::([\w-]+))?(?:\|([^}]*))?\}")


def filled(template: str, given: Mapping[str, Fact]) -> str:
    """The sentence with its facts. One that is None or '' counts as missing."""
    facts = {name: value for name, value in given.items() if value is not None and value != ""}
    kept = _PART.sub(lambda part: part.group(1) if _all_there(part.group(1), facts) else "", template)
    # The facts go in last: one that carries a bracket or a brace is text, not template.
    said = _PLACE.sub(lambda place: _fill(place, facts), kept)
    return said[:1].upper() + said[1:] if said[:1].isalpha() and not _begins_with_fact(kept) else said


def _begins_with_fact(template: str) -> bool:
    # A path or a file's name is not capitalised.
    return template.startswith("{")


def _all_there(part: str, facts: Mapping[str, Fact]) -> bool:
    return all(_value(place.group(1), facts) is not None for place in _PLACE.finditer(part))


def _value(names: str, facts: Mapping[str, Fact]) -> Fact:
    return next((facts[name] for name in names.split(",") if name in facts), None)


def _fill(place: "re.Match[str]", facts: Mapping[str, Fact]) -> str:
    names, form, otherwise = place.groups()
    value = _value(names, facts)
    if value is None:
        return otherwise or ""
    match form:
        case "money" if isinstance(value, int):
            return money(MicroUsd(value))
        case "work" if isinstance(value, int):
            return work_time(value)
        case "clock" if isinstance(value, int):
            return clock_seconds(value)
        case "run" | "Run" | "task" | "Task":
            return f"{form} {others_words(str(value))}"
        case "ending":
            return end_reason(str(value))
        case "exit":
            return f"exit {value}" if str(value).isdecimal() else others_words(str(value))
        case "sign-in":
            return sign_in(str(value))
        case "failure" if value in _FAILURES:
            return failure_in_short(FailureKind(str(value)))
        case "remedy" if value in _FAILURES:
            return failure(FailureKind(str(value)), str(facts.get("agent", ""))).partition(": ")[2]
        case "image":
            return image_problem(others_words(str(value)))
        case "field":
            return _FIELDS.get(str(value), others_words(str(value).replace("_", " ")))
        case _:
            return others_words(str(value))
