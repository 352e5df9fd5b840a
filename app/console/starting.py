"""The start form: a brief becomes a proposal, a proposal becomes a run, each by one deliberate Enter.

Nothing starts from the composer: its Enter shows the terms, and only the terms' own Enter starts.
"""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from app.console.screens.fields import Field, Fields
from app.console.views.attaching import as_text_words, with_brief_words
from app.console.views.ink import one_line
from app.wording import money, sentence
from coordinator.api import Proposal, Propose, Started, StartRun
from coordinator.terms import PRESETS, Terms, TreeKind
from store.refusal import Refusal
from store.vocab import MicroUsd

if TYPE_CHECKING:
    from app.console.deeds import Deeds

TITLE_CELLS = 48


@dataclass(frozen=True, slots=True, kw_only=True)
class Wishes:
    """What the operator changed from what would be proposed."""

    agent: str | None = None
    preset: str | None = None
    budget: MicroUsd | None = None
    max_turns: int | None = None
    working_seconds: int | None = None
    expires_seconds: int | None = None
    model: str | None = None
    mode: str | None = None
    worktree: bool | None = None
    preamble: bool = True
    title: str = ""


def title_from(brief: str) -> str:
    """The first sentence or line, short: what the list will call it."""
    first = next((row for row in brief.split("\n") if row.strip()), "")
    words = one_line(first.lstrip("#*->/ ")).split(". ")[0].rstrip(".:")
    if len(words) <= TITLE_CELLS:
        return words
    cut = words[:TITLE_CELLS].rsplit(" ", 1)[0]
    return cut + "…"


class Starting:
    def __init__(self, deeds: "Deeds") -> None:
        self._deeds = deeds
        options = deeds.app.options
        self._wishes = Wishes(agent=options.agent, preset=options.preset, preamble=options.preamble)
        self._busy = False
        self._named: tuple[str, ...] = ()
        """Images that the brief names."""
        self._announced: frozenset[str] = frozenset()

    async def entered(self, text: str) -> None:
        if not text.strip():
            self._deeds.drive.say("say first what is to be done")
            return
        repository = self._deeds.drive.snapshot.repository
        if repository is not None and repository.problem is not None:
            self._deeds.drive.say(sentence(repository.problem))
            return
        self._named = self._deeds.attaching.named()
        await self._propose(text)

    async def _propose(self, brief: str) -> None:
        drive, wishes = self._deeds.drive, self._wishes
        if self._busy:
            return
        self._busy = True
        try:
            reply = await self._deeds.order(
                Propose(
                    instruction=brief,
                    repository=self._deeds.repository,
                    agent=wishes.agent,
                    preset=wishes.preset,
                    budget=wishes.budget,
                    max_turns=wishes.max_turns,
                    working_seconds=wishes.working_seconds,
                    expires_seconds=wishes.expires_seconds,
                    model=wishes.model,
                    mode=wishes.mode,
                    worktree=wishes.worktree,
                    preamble=wishes.preamble,
                )
            )
            seen = await self._deeds.attaching.look(self._named)
        finally:
            self._busy = False
        if isinstance(reply, Refusal):
            drive.say(sentence(reply))
            return
        if isinstance(reply, Proposal) and drive.run_in_view is None:
            if drive.composer.text != brief:
                drive.say("the brief was changed meanwhile: Enter shows the terms for it as it is now")
                return
            drive.proposal = reply
            self._announced = frozenset(one.name for one in seen if one.problem is None)
            drive.terms.with_it = with_brief_words(seen) if reply.takes_images else as_text_words(self._named)
            drive.paint()
            drive.call_after_refresh(drive.terms.focus)

    def edited(self) -> None:
        """Another brief: the terms shown are not for it."""
        drive = self._deeds.drive
        if drive.proposal is not None and drive.composer.text != drive.proposal.terms.instruction:
            self._drop()

    def _drop(self) -> None:
        drive = self._deeds.drive
        drive.proposal = None
        drive.paint()

    async def key(self, verb: str) -> None:
        drive = self._deeds.drive
        proposal = drive.proposal
        if proposal is None:
            return
        match verb:
            case "start":
                await self._start(proposal)
            case "preset":
                names = [preset.name for preset in PRESETS]
                at = names.index(proposal.preset) + 1 if proposal.preset in names else 0
                self._wishes = replace(
                    self._wishes,
                    preset=names[at % len(names)],
                    budget=None,
                    max_turns=None,
                    working_seconds=None,
                    expires_seconds=None,
                )
                await self._propose(proposal.terms.instruction)
            case "added":
                await self._added(proposal)
            case "tree":
                own = proposal.terms.tree_kind is TreeKind.WORKTREE
                self._wishes = replace(self._wishes, worktree=not own)
                await self._propose(proposal.terms.instruction)
            case "practice":
                self._wishes = replace(self._wishes, agent="practice", model=None, mode=None)
                await self._propose(proposal.terms.instruction)
            case "form":
                self._open_form(proposal)
            case _:
                self._drop()
                drive.composer.focus()

    async def _added(self, proposal: Proposal) -> None:
        """First it is shown; again switches it off; again on."""
        drive = self._deeds.drive
        if proposal.terms.preamble and not drive.terms.show_added:
            drive.terms.show_added = True
            drive.paint()
            return
        self._wishes = replace(self._wishes, preamble=not proposal.terms.preamble)
        drive.terms.show_added = not proposal.terms.preamble
        await self._propose(proposal.terms.instruction)

    async def _start(self, proposal: Proposal) -> None:
        drive = self._deeds.drive
        if self._busy:
            return
        self._busy = True
        drive.terms.say("starting …")
        title = self._wishes.title or title_from(proposal.terms.instruction)
        try:
            images = await self._deeds.attaching.taken(self._named, self._announced)
            if images is None:
                # They are other terms now: what goes with the brief is part of what was agreed to.
                self._drop()
                return
            reply = await self._deeds.order(StartRun(terms=proposal.terms, title=title, images=images))
        finally:
            self._busy = False
        if isinstance(reply, Refusal):
            drive.terms.say(sentence(reply))
            return
        if isinstance(reply, Started):
            self._wishes = replace(self._wishes, title="", preamble=self._deeds.app.options.preamble)
            drive.proposal = None
            drive.terms.show_added = False
            self._deeds.drafts.sent(None, proposal.terms.instruction)
            self._deeds.viewing.take(self._deeds.app.backend.snapshot())
            if drive.run_in_view is not None:
                # The operator went on to another session meanwhile, and stays there.
                drive.say(f"{reply.run} has started", "grey")
                return
            await self._deeds.viewing.view(reply.run)
            drive.composer.focus()

    # ----------------------------------------------------------------------------------------------------- every field

    def _open_form(self, proposal: Proposal) -> None:
        terms = proposal.terms
        hours = max(round((terms.expires_at - self._deeds.drive.now) / 3_600_000, 2), 0)
        agents = f"agent ({', '.join(one_line(name) for name in proposal.agents)})" if proposal.agents else "agent"
        fields = (
            Field(name="title", label="title in the list", value=self._wishes.title or title_from(terms.instruction)),
            Field(name="agent", label=agents, value=terms.agent),
            Field(name="model", label="model (empty: its own)", value=terms.model or ""),
            Field(
                name="budget",
                label="money at most, USD",
                value=money(terms.budget) if terms.budget is not None else "",
            ),
            Field(name="turns", label="turns at most", value=str(terms.max_turns)),
            Field(
                name="work",
                label="minutes of work at most",
                value=f"{terms.working_seconds / 60:g}" if terms.working_seconds is not None else "",
            ),
            Field(name="hours", label="hours from now", value=f"{hours:g}"),
            Field(name="mode", label="mode, by its own name", value=terms.mode),
            Field(
                name="tree",
                label="tree (new, or in place)",
                value="new" if terms.tree_kind is TreeKind.WORKTREE else "in place",
            ),
        )
        self._deeds.app.push_screen(
            Fields("Terms of the new session", fields), lambda values: self._form_filled(terms, values)
        )

    def _form_filled(self, terms: Terms, values: dict[str, str] | None) -> None:
        if values is None:
            return
        wishes = wishes_of(values, self._wishes)
        if isinstance(wishes, str):
            self._deeds.drive.terms.say(wishes)
            return
        self._wishes = wishes
        self._deeds.spawn(self._propose(terms.instruction))


def wishes_of(values: dict[str, str], before: Wishes) -> Wishes | str:
    """The form read; a sentence where a field can not be."""
    budget = before.budget
    if text := values["budget"].strip():
        try:
            budget = MicroUsd(round(float(text) * 1_000_000))
        except (ValueError, OverflowError):
            return f"money: {one_line(text)} is no number; write it as 5.00"
        if budget <= 0:
            return "money: it must be more than nothing"
    turns = values["turns"].strip()
    if not turns.isdecimal() or int(turns) < 1:
        return f"turns: {one_line(turns) or 'nothing'} is no whole number; write it as 40"
    work = before.working_seconds
    if text := values["work"].strip():
        try:
            work = round(float(text) * 60)
        except (ValueError, OverflowError):
            return f"minutes of work: {one_line(text)} is no number; write it as 60"
        if work <= 0:
            return "minutes of work: it must be more than nothing"
    try:
        seconds = int(float(values["hours"]) * 3600)
    except (ValueError, OverflowError):
        return f"hours: {one_line(values['hours']) or 'nothing'} is no number; write it as 2 or 0.5"
    if seconds <= 0:
        return "hours: the end must lie ahead"
    tree = values["tree"].strip().lower()
    if tree not in ("new", "in place"):
        return "tree: write new or in place"
    return replace(
        before,
        title=values["title"].strip(),
        agent=values["agent"].strip() or before.agent,
        model=values["model"].strip() or None,
        mode=values["mode"].strip() or None,
        budget=budget,
        max_turns=int(turns),
        working_seconds=work,
        expires_seconds=seconds,
        worktree=tree == "new",
    )
