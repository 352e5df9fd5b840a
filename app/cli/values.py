"""What an operator types for money, time and numbers, into what the code counts in. Pure; a bad value is a sentence."""

import re
from collections.abc import Sequence
from datetime import datetime

from app.cli.exits import usage
from store.vocab import DecisionId, MicroUsd, Millis, RunId, TaskId

_UNITS = {"s": 1, "sec": 1, "m": 60, "min": 60, "h": 3600, "d": 86_400}
_LONGEST = 30 * 86_400
_MOST_TASKS = 20_000
"""Named by one span: a slip of the finger must not ask for a billion."""


def money(text: str, option: str = "--budget") -> MicroUsd:
    """``5``, ``5.50``, ``5usd``, ``$5``.

    Raises:
        Leave: with the sentence, as usage.
    """
    found = re.fullmatch(
        r"\$?\s*(\d{1,7}(?:[.,]\d{1,6})?)\s*(?:usd|dollars?|\$)?", text.strip(), re.IGNORECASE | re.ASCII
    )
    if found is None:
        raise usage(f"{option} {text!r} is no amount of money; write it as 5usd or 2.50.")
    micro = MicroUsd(round(float(found.group(1).replace(",", ".")) * 1_000_000))
    if micro <= 0:
        raise usage(f"{option} must be more than nothing; write it as 5usd or 2.50.")
    return micro


def duration_seconds(text: str, option: str = "--expires") -> int:
    """``90s``, ``20m``, ``2h``, ``1h30m``, ``2d``."""
    parts = re.findall(r"(\d+(?:\.\d+)?)\s*([a-z]+)", text.strip().lower(), re.ASCII)
    spelled = "".join(f"{number}{unit}" for number, unit in parts)
    if not parts or spelled != re.sub(r"\s+", "", text.strip().lower()) or any(unit not in _UNITS for _, unit in parts):
        raise usage(f"{option} {text!r} is no length of time; write it as 2h, 90m or 1h30m.")
    total = round(sum(float(number) * _UNITS[unit] for number, unit in parts))
    if not 0 < total <= _LONGEST:
        raise usage(f"{option} must lie between 1s and 30d; write it as 2h, 90m or 1h30m.")
    return total


def expires_seconds(text: str, now: Millis, option: str = "--expires") -> int:
    """A length of time, or a time of day (``18:30``): the next one that comes."""
    clock = re.fullmatch(r"([0-9]{1,2}):([0-9]{2})", text.strip())
    if clock is None:
        try:
            return duration_seconds(text, option)
        except Exception as problem:
            raise usage(
                f"{option} {text!r} is no time to end at; write how long (2h, 90m) or when today (18:30)."
            ) from problem
    hour, minute = int(clock.group(1)), int(clock.group(2))
    if hour > 23 or minute > 59:
        raise usage(f"{option} {text!r} is no time of day; write it as 18:30.")
    # Wall clock on purpose: the operator means the clock on the wall.
    here = datetime.fromtimestamp(now / 1000)
    then = here.replace(hour=hour, minute=minute, second=0, microsecond=0)
    seconds = round((then - here).total_seconds())
    return seconds if seconds > 0 else seconds + 86_400


def turns(number: int | None) -> int | None:
    if number is not None and not 1 <= number <= 10_000:
        raise usage(f"--turns {number} is no number of turns; write one from 1 to 10000.")
    return number


def run_id(text: str) -> RunId:
    """``12`` or ``#12``."""
    return RunId(_number(text, "run", "footplate ls shows the runs"))


def decision_id(text: str) -> DecisionId:
    return DecisionId(_number(text, "question", "footplate ls shows what waits"))


def task_id(text: str) -> TaskId:
    return TaskId(_number(text, "task", "footplate queue ls shows them"))


def task_ids(given: Sequence[str]) -> tuple[TaskId, ...]:
    """``3``, ``#3``, ``3-7``, ``3,4``; each once, in the order given."""
    found: dict[TaskId, None] = {}
    for part in (one for text in given for one in text.split(",")):
        first, dash, last = part.partition("-")
        low = task_id(first if dash else part)
        high = task_id(last) if dash else low
        if not low <= high < low + _MOST_TASKS:
            raise usage(f"{part!r} are no numbers of tasks; write the lower one first, as 3-7.")
        found |= dict.fromkeys(TaskId(one) for one in range(low, high + 1))
    return tuple(found)


def _number(text: str, what: str, where: str) -> int:
    found = re.fullmatch(r"#?([1-9]\d{0,15})", text.strip(), re.ASCII)
    if found is None:
        raise usage(f"{text!r} is no number of a {what}; {where}.")
    return int(found.group(1))
