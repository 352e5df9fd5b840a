"""Terms to show before signing: what the operator asked for, the last run here, a preset, and what is found in the
repository."""

import asyncio
from collections.abc import Mapping
from pathlib import Path

import msgspec
from msgspec.structs import replace

from coordinator import choosing, continuing, githelper, preamble, rulesfile, standing, treesinuse, worktree
from coordinator.agreed import terms_of
from coordinator.api import Proposal, Propose
from coordinator.choosing import Chosen
from coordinator.constants import TURN_BYTES
from coordinator.drivers.base import CostBasis
from coordinator.gitfacts import RepositoryFacts
from coordinator.profiles import Found
from coordinator.starttypes import TreeReason
from coordinator.tasks.desk import Desk
from coordinator.terms import PRESETS, Preset, Terms, TreeKind
from store import attempts, runs, signins
from store.db import Tx
from store.refusal import Refusal
from store.vocab import Billing, Millis, RefusalReason, RunId

COMPARED = ("agent", "model", "mode", "budget", "max_turns", "working_seconds", "tree_kind", "at_budget")
"""Fields whose difference from the last run in this repository is pointed out."""


def last_terms(tx: Tx, repository: str) -> Terms | None:
    """The terms of the newest run in this repository, of a few, that can still be read. An attempt at a task is not one
    to go by: its budget is what was left for it."""
    newest = runs.listing(tx, repository=repository, limit=20)
    told = (terms_of(tx, run) for run in newest if attempts.of_run(tx, run.id) is None)
    return next((terms for terms in told if terms is not None), None)


def _preset(name: str | None, default: str) -> Preset:
    by_name = {preset.name: preset for preset in PRESETS}
    return by_name.get(name or default, by_name["normal"])


async def propose(house: Desk, asked: Propose, found: Mapping[str, Found]) -> Proposal | Refusal:
    if (size := len(asked.instruction.encode("utf-8", "replace"))) > TURN_BYTES:
        # Said before anything is signed, not when it is about to be sent.
        return Refusal(RefusalReason.TURN_TOO_LARGE, {"bytes": size, "limit": TURN_BYTES})
    ended = None if asked.continues is None else await continuing.look(house, asked.continues)
    if isinstance(ended, Refusal):
        return ended
    facts = await githelper.look_at_repository(Path(asked.repository if ended is None else ended.run.repository))
    if isinstance(facts, Refusal):
        return facts
    if not facts.head:
        return Refusal(RefusalReason.NO_COMMIT, {"path": str(facts.top)})
    if ended is not None:
        last = ended.terms
    else:
        last = await house.ledger.read(lambda tx: last_terms(tx, str(facts.top)))
    known = await house.ledger.read(signins.known)
    chosen = choosing.choose_agent(asked.agent, last, house.settings.default_agent, found, known)
    if isinstance(chosen, Refusal):
        return chosen
    profile = chosen.found.profile
    as_before = last.mode if ended is not None and last is not None and last.mode in chosen.can.modes else None
    mode = choosing.mode_of(asked.mode or as_before, chosen)
    if isinstance(mode, Refusal):
        return mode
    preset = _preset(asked.preset, house.settings.preset)
    same_as_last = last is not None and asked.preset is None
    now = house.clock.now()
    base_budget = last.budget if same_as_last and last else preset.budget
    if base_budget is None and last is not None and last.agent != profile.name:
        # That the other agent tells no cost is no reason to let this one spend without a limit.
        base_budget = preset.budget
    untold = chosen.can.cost is CostBasis.UNTOLD
    # A program on a terminal takes what is typed for input, line by line: it would run what is meant to be read.
    added = asked.preamble and not chosen.can.terminal
    # Terms from before there was such a limit say nothing about it.
    base_work = (last.working_seconds if same_as_last and last else None) or preset.working_seconds
    base_turns = last.max_turns if same_as_last and last else preset.max_turns
    seconds = asked.expires_seconds if asked.expires_seconds is not None else int(preset.hours * 3600)
    script = last.script if ended is not None and last is not None else house.settings.practice_script
    last_model = last.model if last is not None and last.agent == profile.name else None
    rules = await asyncio.to_thread(standing_rules, house, asked, str(facts.top), chosen)
    if isinstance(rules, Refusal):
        return rules
    holder = await house.ledger.read(lambda tx: treesinuse.holder(tx, str(facts.top)))
    kind, why = _tree_kind(asked, facts, holder)
    terms = Terms(
        instruction=asked.instruction,
        preamble=added,
        agent=profile.name,
        driver=profile.driver,
        program=chosen.found.program or profile.program,
        agent_version=chosen.found.version or "",
        billing=profile.billing,
        repository=str(facts.top),
        head=facts.head,
        branch=facts.branch,
        tree_kind=kind,
        model=asked.model or profile.model or last_model,
        mode=mode,
        # A limit that could not hold is not agreed to.
        budget=None if untold else asked.budget if asked.budget is not None else base_budget,
        max_turns=asked.max_turns if asked.max_turns is not None else base_turns,
        working_seconds=asked.working_seconds if asked.working_seconds is not None else base_work,
        expires_at=Millis(now + seconds * 1000),
        attendance_seconds=int(house.settings.timing.attendance),
        at_budget=house.settings.at_budget,
        machine=house.settings.machine,
        uid=house.settings.uid,
        prompt=profile.prompt,
        quit=profile.quit,
        rules=rules,
        script=asked.script or (script if profile.billing is Billing.PRACTICE else ""),
    )
    continued = None
    if ended is not None:
        going = await continuing.going(house, ended, asked, terms, chosen.can)
        if isinstance(going, Refusal):
            return going
        terms, continued = going
        why = TreeReason.AS_BEFORE if asked.worktree is None else TreeReason.ASKED
    new_tree = terms.tree_kind is TreeKind.WORKTREE and not terms.tree
    if new_tree:
        terms = replace(terms, setup=house.settings.setups.get(str(facts.top), ""))
    checks = house.settings.checks.get(str(facts.top))
    if checks is not None:
        terms = replace(terms, checks=checks.commands, check_seconds=checks.seconds)
    with_it = (terms.carried, preamble.text(RunId(0)) if added else "")
    moved = tuple(name for name in COMPARED if last is not None and getattr(last, name) != getattr(terms, name))
    return Proposal(
        terms=terms,
        preset=None if same_as_last else preset.name,
        moved=moved,
        own_rules=own_rules(facts.top) if profile.driver == "claude" else (),
        new_rules=tuple(one for one in rules if last is not None and one not in last.rules),
        gone_rules=tuple(one for one in (last.rules if last is not None else ()) if one not in rules),
        preamble_text="\n\n".join(part for part in with_it if part),
        agents=choosing.offered(found, known),
        others=choosing.not_offered(found, known),
        signed_out_at=choosing.signed_out_at(profile.name, known),
        cost=chosen.can.cost,
        cost_note=chosen.can.cost_note,
        caution=profile.caution,
        takes_images=chosen.can.takes_images,
        uncommitted=max(0, facts.dirty_files) if new_tree else 0,
        tree_reason=why,
        holder=holder,
        submodules=await worktree.submodules(facts.top, terms.head) if new_tree else (),
        continued=continued,
    )


def standing_rules(house: Desk, asked: Propose, repository: str, chosen: Chosen) -> tuple[str, ...] | Refusal:
    """The rules to agree to. An agent that asks nobody has none: they would hold nothing."""
    kept = asked.rules
    if kept is None:
        found = rulesfile.of_run(house.settings.rules_file, repository, chosen.found.profile.name)
        if isinstance(found, Refusal):
            return found
        kept = found
    rules = standing.parse_all((*kept, *asked.more_rules))
    if isinstance(rules, Refusal):
        return rules
    return tuple(rule.text for rule in rules) if chosen.can.asks_permission else ()


def _tree_kind(asked: Propose, facts: RepositoryFacts, holder: RunId | None) -> tuple[TreeKind, TreeReason]:
    """In place is what an operator sees and expects, where nothing of theirs or of another run could be mixed with
    it; else a tree of its own."""
    if facts.bare:
        return TreeKind.WORKTREE, TreeReason.BARE
    if asked.worktree is not None:
        return (TreeKind.WORKTREE if asked.worktree else TreeKind.IN_PLACE), TreeReason.ASKED
    if holder is not None:
        return TreeKind.WORKTREE, TreeReason.HELD
    if facts.dirty_files:
        return TreeKind.WORKTREE, TreeReason.DIRTY if facts.dirty_files > 0 else TreeReason.UNREADABLE
    return TreeKind.IN_PLACE, TreeReason.CLEAN


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
