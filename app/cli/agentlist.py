"""``agents``: which agents can be run here, what each can do and how its cost is known, and how to get the others.

Read from what is on this machine and from the ledger; no agent is started for it, and ``doctor`` says the same.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path

from msgspec import Struct

from app import wording
from app.cli import printing
from app.cli.columns import Column
from app.console.views.text import cells
from coordinator import profiles
from coordinator.abilities import capabilities
from coordinator.agentprofile import PER_RUN
from coordinator.clock import RealClock
from coordinator.drivers.base import CostBasis
from coordinator.knownversions import in_short, older_than_tried, version_numbers
from coordinator.profiles import AgentProfile, Found
from store.db import LedgerFault, read_ledger
from store.signins import SignIn, known
from store.vocab import Billing, Millis


class AgentLine(Struct, frozen=True, kw_only=True):
    """One agent, as ``--json`` has it."""

    name: str
    title: str
    driver: str
    billing: Billing
    program: str | None
    launcher: str | None
    version: str | None
    tried: str | None
    """The version that Footplate was tried with."""
    older: bool
    """Than that."""
    ready: bool
    problem: str | None
    sentence: str | None
    missing: bool
    """Not on this machine at all."""
    install: str
    signed_in: bool | None
    """As the newest run that tells says; None: no run does."""
    signed_in_at: Millis | None
    asks: bool
    """Before it acts, where its mode says so."""
    interrupts: bool
    resumes: bool
    cost: CostBasis | None
    cost_note: str
    modes: tuple[str, ...]
    home: str
    """``shared``, or ``per-run``."""
    caution: str
    terminal: bool
    """A program with a prompt, held on a terminal."""


def read(listed: Sequence[AgentProfile], source: Mapping[str, str], *, cache: Path, ledger: Path) -> list[AgentLine]:
    """Every profile, in its order. A ledger that cannot be read tells nothing, and hinders nothing.

    ``source``: the operator's environment.
    """
    heard = _heard(ledger)
    found = profiles.discover(listed, source.get("PATH"), cache=cache, source=source)
    return [_line(one, heard.get(one.profile.name)) for one in found]


def _heard(ledger: Path) -> Mapping[str, SignIn]:
    if not ledger.exists():
        return {}
    try:
        with read_ledger(ledger, now=RealClock().now) as tx:
            return known(tx)
    except LedgerFault:
        return {}


def _line(one: Found, heard: SignIn | None) -> AgentLine:
    profile, can = one.profile, capabilities(one.profile)
    return AgentLine(
        name=profile.name,
        title=profile.title or profile.name,
        driver=profile.driver,
        billing=profile.billing,
        program=one.program,
        launcher=one.launcher,
        version=one.version,
        tried=in_short(profile.tried) if profile.tried else None,
        older=older_than_tried(profile, one.version),
        ready=one.ready,
        problem=None if one.problem is None else one.problem.reason.value,
        sentence=None if one.problem is None else wording.sentence(one.problem),
        missing=one.missing,
        install=profile.install,
        signed_in=None if heard is None else heard.signed_in,
        signed_in_at=None if heard is None else heard.at,
        asks=can is not None and can.asks_permission,
        interrupts=can is not None and can.interrupts,
        resumes=can is not None and can.resumes,
        cost=None if can is None else can.cost,
        cost_note="" if can is None else can.cost_note,
        modes=() if can is None else can.modes,
        home=profile.home,
        caution=profile.caution,
        terminal=can is not None and can.terminal,
    )


def short_version(version: str | None) -> str:
    """The numbers alone, where there are some: what an agent says around them is its name again."""
    numbers = version_numbers(version or "")
    return in_short(numbers) if numbers is not None else printing.one_line(version or "–", 24)


_COLUMNS = (
    Column(head="agent"),
    Column(head="version", least=8, goes=2),
    Column(head="signed in", least=9),
    Column(head="asks you", goes=1),
    Column(head="its cost", goes=3),
    Column(head="interrupts", goes=4),
    Column(head="resumes", goes=5),
)


def print_agents(lines: Sequence[AgentLine], now: Millis) -> None:
    here = [one for one in lines if one.ready]
    printing.table([_cells(one, now) for one in here], _COLUMNS)
    said = [f"{one.name}: {note}" for one in here for note in _notes(one)]
    said += [one.sentence for one in lines if one.sentence is not None and not one.missing]
    if said:
        printing.line()
    for sentence in said:
        printing.sentence(printing.one_line(sentence, 1000))
    missing = [one for one in lines if one.missing]
    if missing:
        printing.line()
        printing.line("Not on this machine; get one with:")
        _print_installs([(one.name, printing.one_line(one.install or "(your own)", 200)) for one in missing])


def _print_installs(installs: Sequence[tuple[str, str]]) -> None:
    """Each command whole, to be copied: beside its agent where there is room for that, else below it."""
    width, widest = printing.columns(), max(cells(name) for name, _ in installs)
    if width is None or all(2 + widest + 2 + cells(command) <= width for _, command in installs):
        printing.table([(f"  {name}", command) for name, command in installs], (Column(), Column()))
        return
    for name, command in installs:
        printing.line(f"  {name}")
        printing.line(f"    {command}")


def _cells(one: AgentLine, now: Millis) -> tuple[str, ...]:
    # A program with a prompt fails in its own words, if at all.
    unheard = one.billing is Billing.PRACTICE or one.terminal
    return (
        one.name,
        short_version(one.version),
        "–" if unheard else wording.signed_in_words(one.signed_in, one.signed_in_at, now),
        _yes(one.asks),
        _cost(one),
        _yes(one.interrupts),
        _yes(one.resumes),
    )


def _cost(one: AgentLine) -> str:
    """In a word or two; of one that is known roughly, whether it is estimated or told."""
    if one.cost is CostBasis.ROUGHLY:
        return one.cost_note.split()[0]
    return "–" if one.cost is None else one.cost.value


def _yes(there: bool) -> str:
    return "yes" if there else "no"


def _notes(one: AgentLine) -> list[str]:
    """What the table has no room for."""
    notes = []
    if one.signed_in is False:
        notes.append(f"not signed in when it ran last; {wording.sign_in(one.name)}")
    if one.cost is CostBasis.ROUGHLY:
        notes.append(f"its cost is {one.cost_note}")
    if one.home == PER_RUN:
        notes.append("each run has a home of its own, which goes with its stop report")
    if one.older:
        notes.append(f"older than {one.tried}, with which Footplate was tried; update it if it does not work")
    if one.caution:
        notes.append(one.caution)
    return notes
