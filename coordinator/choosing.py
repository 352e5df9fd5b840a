"""Which agent a run is proposed with, which others could be had, and why the rest would not work. Pure."""

from collections.abc import Mapping

from msgspec import Struct

from coordinator.abilities import capabilities
from coordinator.drivers.base import Capabilities
from coordinator.profiles import Found
from coordinator.terms import Terms
from store.refusal import Refusal
from store.signins import SignIn
from store.vocab import Billing, Millis, RefusalReason

UNASKED = "unasked"
"""Mode of an agent that asks nobody anything, because it has no way to."""


class Chosen(Struct, frozen=True, kw_only=True):
    found: Found
    can: Capabilities


def choose_agent(
    asked: str | None,
    last: Terms | None,
    default: str | None,
    found: Mapping[str, Found],
    known: Mapping[str, SignIn],
) -> Chosen | Refusal:
    """The agent named; else the last one here, the configured one, the first that can work; the practice agent last.

    One that is known to be signed out is not chosen by itself while another would do, and a program with a prompt, that
    asks before nothing it does, never.
    """
    names = ", ".join(sorted(found))
    for name in (asked, last.agent if last else None, default):
        if name is None:
            continue
        one = found.get(name)
        if one is None:
            if name == asked:
                return Refusal(RefusalReason.UNKNOWN_AGENT, {"agent": name, "agents": names})
            continue
        chosen = _able(one, names)
        if isinstance(chosen, Chosen) or name == asked:
            return chosen
    able = [chosen for one in found.values() if isinstance(chosen := _able(one, names), Chosen)]
    willing = [chosen for chosen in able if not chosen.can.terminal]
    if willing:
        return min(willing, key=lambda chosen: _rank(chosen, known))
    problems = [one.problem for one in found.values() if one.problem is not None]
    return problems[0] if problems else Refusal(RefusalReason.UNKNOWN_AGENT, {"agent": "", "agents": names})


def _able(one: Found, names: str) -> Chosen | Refusal:
    if one.problem is not None:
        return one.problem
    can = capabilities(one.profile)
    if can is None:
        return Refusal(RefusalReason.UNKNOWN_AGENT, {"agent": one.profile.name, "agents": names})
    return Chosen(found=one, can=can)


def _rank(chosen: Chosen, known: Mapping[str, SignIn]) -> tuple[bool, bool]:
    profile = chosen.found.profile
    return profile.billing is Billing.PRACTICE, signed_out_at(profile.name, known) is not None


def signed_out_at(name: str, known: Mapping[str, SignIn]) -> Millis | None:
    """When it was last heard to be signed out, if nothing went well since."""
    told = known.get(name)
    return told.at if told is not None and not told.signed_in else None


def offered(found: Mapping[str, Found], known: Mapping[str, SignIn]) -> tuple[str, ...]:
    """Agents that would work, as far as anybody knows."""
    return tuple(name for name, one in found.items() if one.ready and signed_out_at(name, known) is None)


def not_offered(found: Mapping[str, Found], known: Mapping[str, SignIn]) -> tuple[Refusal, ...]:
    """Why the others would not: those first that are on this machine."""
    out = [
        Refusal(RefusalReason.AGENT_SIGNED_OUT, {"agent": name, "program": one.program})
        for name, one in found.items()
        if one.ready and signed_out_at(name, known) is not None
    ]
    out += [one.problem for one in found.values() if one.problem is not None and not one.missing]
    return (*out, *(one.problem for one in found.values() if one.problem is not None and one.missing))


def mode_of(asked: str | None, chosen: Chosen) -> str | Refusal:
    """The mode wished for, else the profile's, else that in which a person is asked."""
    profile = chosen.found.profile
    modes = chosen.can.modes or ("default" if chosen.can.asks_permission else UNASKED,)
    mode = asked or profile.mode or modes[0]
    if mode not in modes:
        facts = {"agent": profile.name, "what": f"work in a mode {mode}", "instead": f"choose {' or '.join(modes)}"}
        return Refusal(RefusalReason.NOT_POSSIBLE_FOR_AGENT, facts)
    return mode
