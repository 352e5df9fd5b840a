"""The start form: a brief becomes a proposal, a proposal becomes a run, each by one deliberate Enter.

Nothing starts from the composer: its Enter shows the terms, and only the terms' own Enter starts.
"""

from typing import TYPE_CHECKING

from msgspec.structs import replace

from app.console.screens.fields import Field, Fields
from app.console.screens.reading import Rules
from app.console.views.actions import cannot_start
from app.console.views.attaching import as_text_words, with_brief_words
from app.console.views.ink import one_line
from app.wording import money, sentence, why_not
from coordinator.api import LookAtRepository, Proposal, Propose, RepositoryView, Started, StartRun
from coordinator.standing import parse_all
from coordinator.terms import PRESETS, Terms, TreeKind
from store.refusal import Refusal
from store.vocab import MicroUsd, RunId

if TYPE_CHECKING:
    from app.console.deeds import Deeds

TITLE_CELLS = 48


def title_from(brief: str) -> str:
    """The first sentence or line, short: what the list will call it."""
    first = next((row for row in brief.split("\n") if row.strip()), "")
    words = one_line(first.lstrip("#*->/ ")).split(". ")[0].rstrip(".:")
    if len(words) <= TITLE_CELLS:
        return words
    cut = words[:TITLE_CELLS].rsplit(" ", 1)[0]
    return cut + "…"


def unchanged(*, preamble: bool) -> Propose:
    """Nothing is wished for but what would be proposed anyway; what to do, and where, is said when it is asked for."""
    return Propose(instruction="", repository="", preamble=preamble)


class Starting:
    def __init__(self, deeds: "Deeds") -> None:
        self._deeds = deeds
        options = deeds.app.options
        self._target: RunId | None = None
        """The ended session that is to be continued; None: a new one."""
        new = replace(unchanged(preamble=options.preamble), agent=options.agent, preset=options.preset)
        self._wanted: dict[RunId | None, Propose] = {None: new}
        self._titles: dict[RunId | None, str] = {}
        """As the operator wrote them; a session without one is called by its brief."""
        self._brief = ""
        """What the terms that are shown were asked for with."""
        self._silent: RunId | None = None
        """The session that may be continued without a word."""
        self._busy = False
        self._named: tuple[str, ...] = ()
        """Images that the brief names."""
        self._announced: frozenset[str] = frozenset()

    @property
    def _wishes(self) -> Propose:
        return self._wanted.get(self._target) or unchanged(preamble=self._deeds.app.options.preamble)

    @_wishes.setter
    def _wishes(self, wishes: Propose) -> None:
        self._wanted[self._target] = wishes

    def may_go_on(self, run: RunId) -> None:
        """Asked for by its key: from now on an empty text is an answer too."""
        self._silent = run

    async def continued(self, run: RunId, text: str) -> None:
        """Entered with an ended session in view: the terms under which another one goes on from it."""
        if not text.strip() and self._silent != run:
            self._deeds.drive.say("say how to go on, then Enter")
            return
        self._target, self._named = run, ()
        await self._propose(text)

    async def entered(self, text: str) -> None:
        self._target = None
        if not text.strip():
            self._deeds.drive.say("say first what is to be done")
            return
        problem = await self._problem()
        if problem is not None:
            self._deeds.drive.say(sentence(problem))
            return
        self._named = self._deeds.attaching.named()
        await self._propose(text)

    def look_again(self) -> None:
        """The operator comes to the start form: what kept a session from starting may be mended since."""
        drive = self._deeds.drive
        if drive.session is None and cannot_start(drive.snapshot) is not None:
            self._deeds.aside(self._problem)

    async def _problem(self) -> Refusal | None:
        """Why no session can start here, as it is now; what is shown of it is looked at again first."""
        if (shown := cannot_start(self._deeds.drive.snapshot)) is None:
            return None
        seen = await self._deeds.order(LookAtRepository())
        if isinstance(seen, Refusal):
            return seen
        return seen.problem if isinstance(seen, RepositoryView) else shown

    async def _propose(self, brief: str) -> None:
        drive, wishes, target = self._deeds.drive, self._wishes, self._target
        if self._busy:
            return
        self._busy = True
        try:
            reply = await self._deeds.order(
                replace(wishes, instruction=brief, repository=self._deeds.repository, continues=target)
            )
            seen = await self._deeds.attaching.look(self._named)
        finally:
            self._busy = False
        if isinstance(reply, Refusal):
            drive.say(sentence(reply))
            return
        if isinstance(reply, Proposal) and drive.run_in_view == target:
            if drive.composer.text != brief:
                drive.say("the brief was changed meanwhile: Enter shows the terms for it as it is now")
                return
            drive.proposal, self._brief = reply, brief
            self._announced = frozenset(one.name for one in seen if one.problem is None)
            drive.terms.with_it = with_brief_words(seen) if reply.takes_images else as_text_words(self._named)
            drive.paint()
            drive.call_after_refresh(drive.terms.focus)

    def edited(self) -> None:
        """Another brief: the terms shown are not for it."""
        drive = self._deeds.drive
        if drive.proposal is not None and drive.composer.text != self._brief:
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
                await self._propose(self._brief)
            case "added":
                await self._added(proposal)
            case "tree":
                own = proposal.terms.tree_kind is TreeKind.WORKTREE
                self._wishes = replace(self._wishes, worktree=not own)
                await self._propose(self._brief)
            case "rules":
                self._deeds.app.push_screen(Rules(proposal))
            case "practice":
                self._wishes = replace(self._wishes, agent="practice", model=None, mode=None)
                await self._propose(self._brief)
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
        await self._propose(self._brief)

    async def _start(self, proposal: Proposal) -> None:
        drive = self._deeds.drive
        if self._busy:
            return
        self._busy = True
        drive.terms.say("starting …")
        target = self._target
        # One that is continued keeps its title.
        title = self._titles.get(target) or ("" if target is not None else title_from(proposal.terms.instruction))
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
            self._titles.pop(target, None)
            self._wishes = replace(self._wishes, rules=None, preamble=self._deeds.app.options.preamble)
            drive.proposal = None
            drive.terms.show_added = False
            self._deeds.drafts.sent(target, self._brief)
            self._deeds.viewing.take(self._deeds.app.backend.snapshot())
            if drive.run_in_view != target:
                # The operator went on to another session meanwhile, and stays there.
                drive.say(f"{reply.run} has started", "grey")
                return
            await self._deeds.viewing.view(reply.run)
            drive.composer.focus()

    # ----------------------------------------------------------------------------------------------------- every field

    def _open_form(self, proposal: Proposal) -> None:
        terms = proposal.terms
        hours = max(round((terms.expires_at - self._deeds.drive.now) / 3_600_000, 2), 0)
        agents = ", ".join(one_line(name) for name in proposal.agents)
        notes = (f"Agents that can be had: {agents}." if agents else "", *why_not(proposal.others))
        fields: tuple[Field, ...] = (
            Field(name="title", label="title in the list", value=self._title(proposal)),
            Field(name="agent", label="agent", value=terms.agent),
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
            Field(name="rules", label="rules (; between them)", value="; ".join(terms.rules)),
        )
        if proposal.continued is not None:
            own = "its own" if proposal.continued.new is None else "new"
            fields = (*fields, Field(name="conversation", label="conversation (its own, new)", value=own))
        self._deeds.app.push_screen(
            Fields("Terms of the new session", fields, tuple(note for note in notes if note)),
            lambda values: self._form_filled(proposal, values),
        )

    def _title(self, proposal: Proposal) -> str:
        before = proposal.continued.title if proposal.continued is not None else ""
        return self._titles.get(self._target) or before or title_from(proposal.terms.instruction)

    def _form_filled(self, proposal: Proposal, values: dict[str, str] | None) -> None:
        if values is None:
            return
        wishes = wishes_of(values, self._wishes)
        if not isinstance(wishes, str):
            wishes = rules_of(values, wishes, proposal.terms.rules)
        if not isinstance(wishes, str) and proposal.continued is not None:
            wishes = conversation_of(values, wishes, new=proposal.continued.new is not None)
        if isinstance(wishes, str):
            self._deeds.drive.terms.say(wishes)
            return
        self._titles[self._target] = values["title"].strip()
        self._wishes = for_its_agent(wishes, proposal.terms)
        self._deeds.spawn(self._propose, self._brief)


def for_its_agent(wishes: Propose, proposed: Terms) -> Propose:
    """Models and modes go by each agent's own names: what was proposed for one means nothing to another."""
    if wishes.agent == proposed.agent:
        return wishes
    model = None if wishes.model == proposed.model else wishes.model
    return replace(wishes, model=model, mode=None if wishes.mode == proposed.mode else wishes.mode)


def rules_of(values: dict[str, str], before: Propose, proposed: tuple[str, ...]) -> Propose | str:
    """The standing rules, where the operator wrote others than were proposed."""
    rules = parse_all(tuple(text for text in values["rules"].split(";") if text.strip()))
    if isinstance(rules, Refusal):
        return f"rules: {sentence(rules)}"
    texts = tuple(rule.text for rule in rules)
    return before if texts == proposed else replace(before, rules=texts)


def conversation_of(values: dict[str, str], before: Propose, *, new: bool) -> Propose | str:
    """Which conversation, where the operator wrote another than was proposed."""
    wanted = values["conversation"].strip().lower()
    if wanted not in ("new", "its own"):
        return "conversation: write its own or new"
    return before if (wanted == "new") is new else replace(before, fresh=wanted == "new")


def wishes_of(values: dict[str, str], before: Propose) -> Propose | str:
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
        agent=values["agent"].strip() or before.agent,
        model=values["model"].strip() or None,
        mode=values["mode"].strip() or None,
        budget=budget,
        max_turns=int(turns),
        working_seconds=work,
        expires_seconds=seconds,
        worktree=tree == "new",
    )
