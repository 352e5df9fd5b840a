"""Terms to show before signing: what the operator asked for, the last run here, a preset, and what is found in the
repository."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import msgspec

from coordinator import githelper, preamble
from coordinator.api import Proposal, Propose
from coordinator.constants import TURN_BYTES
from coordinator.drivers import registry
from coordinator.house import House
from coordinator.profiles import Found
from coordinator.terms import PRESETS, Preset, Terms, TreeKind, parse
from store import authorizations, runs
from store.db import Tx
from store.refusal import Refusal
from store.vocab import Billing, Millis, RefusalReason, RunId

COMPARED = ("agent", "model", "mode", "budget", "max_turns", "working_seconds", "tree_kind", "at_budget")
"""Fields whose difference from the last run in this repository is pointed out."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Last:
    terms: Terms | None = None


def last_terms(tx: Tx, repository: str) -> Last:
    """The terms of the newest run in this repository that can still be read."""
    for run in runs.listing(tx, repository=repository, limit=5):
        signed = authorizations.get(tx, run.authorization_id)
        terms = parse(signed.terms) if signed is not None else None
        if isinstance(terms, Terms):
            return Last(terms=terms)
    return Last()


def choose_agent(
    asked: str | None, last: Terms | None, default: str | None, found: Mapping[str, Found]
) -> Found | Refusal:
    """The agent named; else the last one here, the configured one, the first that can run; the practice agent last."""
    names = ", ".join(sorted(found))
    for name in (asked, last.agent if last else None, default):
        if name is None:
            continue
        one = found.get(name)
        if one is None:
            if name == asked:
                return Refusal(RefusalReason.UNKNOWN_AGENT, {"agent": name, "agents": names})
            continue
        if one.problem is None:
            return one
        if name == asked:
            return one.problem
    ready = [one for one in found.values() if one.ready]
    real = [one for one in ready if one.profile.billing is not Billing.PRACTICE]
    if real or ready:
        return (real or ready)[0]
    problems = [one.problem for one in found.values() if one.problem is not None]
    return problems[0] if problems else Refusal(RefusalReason.UNKNOWN_AGENT, {"agent": "", "agents": names})


def _preset(name: str | None, default: str) -> Preset:
    by_name = {preset.name: preset for preset in PRESETS}
    return by_name.get(name or default, by_name["normal"])


async def propose(house: House, asked: Propose, found: Mapping[str, Found]) -> Proposal | Refusal:
    if (size := len(asked.instruction.encode("utf-8", "replace"))) > TURN_BYTES:
        # Said before anything is signed, not when it is about to be sent.
        return Refusal(RefusalReason.TURN_TOO_LARGE, {"bytes": size, "limit": TURN_BYTES})
    facts = await githelper.look_at_repository(Path(asked.repository))
    if isinstance(facts, Refusal):
        return facts
    if not facts.head:
        return Refusal(RefusalReason.NO_COMMIT, {"path": str(facts.top)})
    last = (await house.ledger.read(lambda tx: last_terms(tx, str(facts.top)))).terms
    chosen = choose_agent(asked.agent, last, house.settings.default_agent, found)
    if isinstance(chosen, Refusal):
        return chosen
    profile = chosen.profile
    driver = registry.create(profile.driver, "p")
    if driver is None:
        return Refusal(RefusalReason.UNKNOWN_AGENT, {"agent": profile.name, "agents": ", ".join(sorted(found))})
    modes = driver.capabilities.modes
    mode = asked.mode or profile.mode or (modes[0] if modes else "default")
    if mode not in modes:
        return Refusal(RefusalReason.NOT_POSSIBLE_FOR_AGENT, {"what": f"mode {mode}", "agent": profile.name})
    preset = _preset(asked.preset, house.settings.preset)
    same_as_last = last is not None and asked.preset is None
    now = house.clock.now()
    base_budget = last.budget if same_as_last and last else preset.budget
    # Terms from before there was such a limit say nothing about it.
    base_work = (last.working_seconds if same_as_last and last else None) or preset.working_seconds
    base_turns = last.max_turns if same_as_last and last else preset.max_turns
    seconds = asked.expires_seconds if asked.expires_seconds is not None else int(preset.hours * 3600)
    last_model = last.model if last is not None and last.agent == profile.name else None
    terms = Terms(
        instruction=asked.instruction,
        preamble=asked.preamble,
        agent=profile.name,
        driver=profile.driver,
        program=chosen.program or profile.program,
        agent_version=chosen.version or "",
        billing=profile.billing,
        repository=str(facts.top),
        head=facts.head,
        branch=facts.branch,
        tree_kind=_tree_kind(asked, facts.dirty_files),
        model=asked.model or profile.model or last_model,
        mode=mode,
        budget=asked.budget if asked.budget is not None else base_budget,
        max_turns=asked.max_turns if asked.max_turns is not None else base_turns,
        working_seconds=asked.working_seconds if asked.working_seconds is not None else base_work,
        expires_at=Millis(now + seconds * 1000),
        attendance_seconds=int(house.settings.timing.attendance),
        at_budget=house.settings.at_budget,
        machine=house.settings.machine,
        uid=house.settings.uid,
        script=asked.script or (house.settings.practice_script if profile.billing is Billing.PRACTICE else ""),
    )
    moved = tuple(name for name in COMPARED if last is not None and getattr(last, name) != getattr(terms, name))
    return Proposal(
        terms=terms,
        preset=None if same_as_last else preset.name,
        moved=moved,
        own_rules=own_rules(facts.top) if profile.driver == "claude" else (),
        preamble_text=preamble.text(RunId(0)) if asked.preamble else "",
        agents=tuple(name for name, one in found.items() if one.ready),
        takes_images=driver.capabilities.takes_images,
        uncommitted=max(0, facts.dirty_files) if terms.tree_kind is TreeKind.WORKTREE else 0,
    )


def _tree_kind(asked: Propose, dirty: int) -> TreeKind:
    # In place is what an operator sees and expects; a tree of its own is for who asks for it.
    return TreeKind.WORKTREE if asked.worktree else TreeKind.IN_PLACE


class _Permissions(msgspec.Struct):
    allow: list[str] = msgspec.field(default_factory=list)


class _Settings(msgspec.Struct):
    permissions: _Permissions = msgspec.field(default_factory=_Permissions)


def own_rules(tree: Path) -> tuple[str, ...]:
    """Permission rules of Claude Code itself that let things through in this tree; read, never run."""
    found: list[str] = []
    for name in ("settings.json", "settings.local.json"):
        try:
            raw = (tree / ".claude" / name).read_bytes()[:262_144]
            found += msgspec.json.decode(raw, type=_Settings).permissions.allow
        except (OSError, msgspec.DecodeError, msgspec.ValidationError):
            continue
    return tuple(dict.fromkeys(found))


def retitle(instruction: str) -> str:
    """A short title from a brief: its first line, cut at a word."""
    first = next((line.strip() for line in instruction.splitlines() if line.strip()), "untitled")
    if len(first) <= 48:
        return first
    cut = first[:48].rsplit(" ", 1)[0]
    return f"{cut}…"
