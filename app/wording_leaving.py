"""What stays when a console goes, what a look for leftovers found, and what is added to terms: their sentences.

Pure, and without Textual, as ``app.wording``; for both front ends.
"""

from collections.abc import Iterable

from app.wording_measures import age, moment, money, plural, work_time
from coordinator.api import Extend
from store.vocab import MicroUsd, Millis, RunId


def _listed(words: list[str]) -> str:
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"


def runs_named(runs: Iterable[RunId]) -> str:
    """``run 3``, ``runs 3, 4 and 7``."""
    numbers = [str(run) for run in sorted(runs)]
    return f"run {numbers[0]}" if len(numbers) == 1 else f"runs {_listed(numbers)}"


def stays_held(until: Iterable[tuple[RunId, Millis]], now: int) -> list[str]:
    """One sentence for each time until which something stays held; nothing where nothing does."""
    by_end: dict[str, list[RunId]] = {}
    for run, at in sorted(until, key=lambda one: one[1]):
        by_end.setdefault(moment(at, now), []).append(run)
    said = []
    for end, runs in by_end.items():
        stay, them = ("stays", "it") if len(runs) == 1 else ("stay", "them")
        named = runs_named(runs)
        said.append(f"{named[:1].upper()}{named[1:]} {stay} held until {end}; footplate picks {them} up.")
    return said


def extension_sentence(
    command: Extend,
    *,
    agent: str,
    budget: MicroUsd | None,
    max_turns: int,
    working_seconds: int | None,
    expires_at: int,
    now: int,
) -> str:
    """What is agreed to with one Enter: what is added, and what is then allowed in all."""
    added = []
    if command.money is not None:
        added.append(f"for {money(command.money)} more ({money(MicroUsd((budget or 0) + command.money))} in all)")
    if command.turns is not None:
        added.append(f"for {plural(command.turns, 'more turn')} ({max_turns + command.turns} in all)")
    if command.working_seconds is not None:
        whole = (working_seconds or 0) + command.working_seconds
        more = work_time(command.working_seconds * 1000)
        added.append(f"for {more} more of work ({work_time(whole * 1000)} in all)")
    if command.seconds is not None:
        end = expires_at + command.seconds * 1000
        added.append(f"until {moment(end, now)} instead of {moment(expires_at, now)}")
    return f"Run {command.run} ({agent}) may go on {_listed(added)}, under the terms that you agreed to."


def lives_on(run: RunId, until: Millis, now: int) -> str:
    """A run whose console is gone and which is held all the same."""
    left = age(max(0, until - now))
    return f"Run {run} is held by its keeper until {moment(until, now)} ({left}); footplate picks it up."
