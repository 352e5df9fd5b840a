"""The terms that the operator agrees to for all attempts of a task, their stored form, and what is cut from them for
one attempt.

As ``coordinator.terms`` does it for one run. Pure: what is found now comes in as ``Terms`` (``proposing``), what was
spent as a number. What may be chosen is taken from what was agreed to; what is found (agent, repository, machine) must
be the same, else nothing is begun.
"""

from typing import Final

from msgspec.structs import replace

from coordinator import agreedform
from coordinator.starttypes import Propose
from coordinator.tasks.tasktypes import SeriesTerms
from coordinator.terms import Terms, TreeKind
from store.canonical import digest
from store.refusal import Refusal
from store.vocab import MicroUsd, Millis, RefusalReason, RunId

FOUND: Final = (
    "agent",
    "driver",
    "billing",
    "repository",
    "preamble",
    "mode",
    "attendance_seconds",
    "machine",
    "uid",
    "rules",
    "setup",
    "checks",
)
"""Fields of the agreement that what is found now must agree with, in the order in which they are looked at."""
NOT_SHOWN: Final = ("task", "revision", "expires_at")
"""Fields that differ between two agreements for one task whatever was changed."""


canonical = agreedform.canonical


def digest_of(stored: str) -> str:
    return digest(stored)


def parse(stored: str) -> SeriesTerms | Refusal:
    """Stored terms, read again; ``terms-unreadable`` where they are none of this version."""
    return agreedform.parse(SeriesTerms, stored)


def first_difference(agreed: SeriesTerms, actual: SeriesTerms) -> Refusal | None:
    """The first field in which two of them differ."""
    return agreedform.first_difference(agreed, actual, said=_said)


def moved(before: SeriesTerms, now: SeriesTerms) -> tuple[str, ...]:
    """Names of the fields that differ and that say something to a person."""
    names = (name for name in SeriesTerms.__struct_fields__ if name not in NOT_SHOWN)
    return tuple(name for name in names if getattr(before, name) != getattr(now, name))


def asked(series: SeriesTerms, *, continues: RunId | None = None) -> Propose:
    """How the terms of an attempt are looked for: exactly what was agreed to, whatever the last run here had.

    ``continues``: the attempt before it, where it goes on from that.
    """
    return Propose(
        instruction=series.instruction,
        repository=series.repository,
        agent=series.agent,
        budget=series.budget,
        max_turns=series.max_turns,
        working_seconds=series.working_seconds,
        expires_seconds=series.run_seconds,
        model=series.model,
        mode=series.mode,
        worktree=not series.in_place,
        preamble=series.preamble,
        rules=series.rules,
        script=series.script,
        continues=continues,
    )


def cut(series: SeriesTerms, found: Terms, *, spent: MicroUsd, now: Millis, telling: str = "") -> Terms | Refusal:
    """The terms of one attempt, from what was agreed to for all of them and what is found now (``asked``).

    ``spent``: by the attempts before it. ``telling``: what its agent is told of those, before what it is told of the
    run that it goes on from. ``terms-moved`` (field, was, is) where what is found is not what was agreed to;
    ``series-spent`` (what) where its money or its time is used up.
    """
    if now >= series.expires_at:
        return Refusal(RefusalReason.SERIES_SPENT, {"what": "time"})
    left = None if series.budget is None else series.budget - spent
    if left is not None and left <= 0:
        return Refusal(RefusalReason.SERIES_SPENT, {"what": "money"})
    for name in FOUND:
        was, is_ = getattr(series, name), getattr(found, name)
        if name == "setup" and not _new_tree(found):
            continue  # it is run in a tree that is just made, and in no other
        if was != is_:
            return _moved(name, was, is_)
    kind = TreeKind.IN_PLACE if series.in_place else TreeKind.WORKTREE
    if found.tree_kind is not kind:
        return _moved("in_place", series.in_place, found.tree_kind is TreeKind.IN_PLACE)
    return replace(
        found,
        instruction=series.instruction,
        # What the last run here had, and nobody agreed to for this task, is not taken over.
        model=series.model,
        budget=None if left is None else MicroUsd(left),
        max_turns=series.max_turns,
        working_seconds=series.working_seconds,
        expires_at=Millis(now + series.run_seconds * 1000),
        at_budget=series.at_budget,
        script=series.script,
        carried="\n\n".join(part for part in (telling, found.carried) if part),
    )


def _new_tree(terms: Terms) -> bool:
    return terms.tree_kind is TreeKind.WORKTREE and not terms.tree


def _moved(field: str, was: object, now: object) -> Refusal:
    return Refusal(RefusalReason.TERMS_MOVED, {"field": field, "was": _said(was), "is": _said(now)})


def _said(value: object) -> str:
    """A field as one short text."""
    if value is None:
        return ""
    return ", ".join(map(str, value)) if isinstance(value, tuple) else str(value)
