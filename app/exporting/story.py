"""A run told from its beginning to its end, in blocks and in the house's words, for Markdown and HTML alike.

One pass over what was said, in the order in which it was said, and nothing of it is kept: a run of a million events is
told like a short one. A tool's call is told where its result came; what one of its own agents said stands before that.
"""

from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from typing import Final

import msgspec
from msgspec import Struct

from app import wording
from coordinator import decisioncodec, eventcodec, terms, views
from coordinator.custody.receipts import receipt_from_facts
from coordinator.drivers import base
from coordinator.review.export.blocks import Block, Card, Code, Facts, Fold, Heading, Mood, Note, Prose, Quote, Title
from coordinator.viewtypes import DecisionView
from store.attachments import Attachment
from store.authorizations import Amendment, Authorization
from store.decisions import Decision
from store.events import Event
from store.evidence import Evidence
from store.queued import QueuedTurn
from store.receipts import StoredReceipt
from store.runs import Run
from store.stops import Stop
from store.turns import Turn
from store.vocab import (
    Billing,
    DecisionKind,
    DecisionState,
    EvidenceKind,
    MicroUsd,
    Millis,
    QueuedTurnState,
    RunOutcome,
    TurnResultKind,
    TurnState,
)

LONGEST: Final = 60_000
TAIL: Final = 15_000
"""Characters of one text that are told, and how many of them are its end."""
PENDING: Final = 500
"""Calls of tools that may wait for their results at once."""

_MOODS: Final = {
    TurnResultKind.SUCCESS: Mood.GOOD,
    TurnResultKind.ERROR: Mood.BAD,
    TurnResultKind.INTERRUPTED: Mood.BAD,
}


class Told(Struct, frozen=True, kw_only=True):
    """The rows of a run that a story needs beside what was said, redacted already where that was asked."""

    run: Run
    authorization: Authorization | None
    amendments: tuple[Amendment, ...]
    turns: tuple[Turn, ...]
    queued: tuple[QueuedTurn, ...]
    attachments: tuple[Attachment, ...]
    decisions: tuple[Decision, ...]
    stops: tuple[Stop, ...]
    receipts: tuple[StoredReceipt, ...]
    evidence: tuple[Evidence, ...]


def story(told: Told, events: Iterable[Event]) -> Iterator[Block]:
    yield from _opening(told)
    yield from _Telling(told).blocks(events)
    yield from _ending(told)


def moment(at: Millis | None) -> str:
    """In UTC: who reads it may sit anywhere."""
    if at is None:
        return "–"
    try:
        return datetime.fromtimestamp(at / 1000, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
    except (ValueError, OverflowError, OSError):
        return str(at)


def cut(text: str) -> str:
    """A very long text as its beginning and its end. Cut here, behind the redaction, so that no half secret is left."""
    text = text.replace("\r\n", "\n")
    if len(text) <= LONGEST:
        return text
    left = len(text) - LONGEST
    told = f"{wording.plural(left, 'character')} {'is' if left == 1 else 'are'} left out here"
    return f"{text[: LONGEST - TAIL]}\n(… {told}; the JSON lines have all of it …)\n{text[-TAIL:]}"


# ------------------------------------------------------------------------------------------------------ the beginning


def _opening(told: Told) -> Iterator[Block]:
    run = told.run
    mood = {None: Mood.OPEN, RunOutcome.FINISHED: Mood.GOOD}.get(run.outcome, Mood.BAD)
    below = "has not ended yet"
    if run.outcome is not None:
        detail = f" ({run.detail})" if run.detail else ""
        below = f"{wording.outcome(run.outcome)}: {wording.end_reason(run.reason or '')}{detail}"
    yield Title(text=run.title or f"Run {run.id}", below=below, mood=mood)
    yield Facts(rows=tuple((name, value) for name, value in _facts(told) if value))


def _facts(told: Told) -> Iterator[tuple[str, str]]:
    run = told.run
    agreed = terms.parse(told.authorization.terms) if told.authorization is not None else None
    limits = agreed if isinstance(agreed, terms.Terms) else None
    yield "Run", str(run.id)
    version = f" {limits.agent_version}" if limits is not None and limits.agent_version else ""
    yield "Agent", f"{wording.agent_title(run.agent)}{version}" + (f", {run.model}" if run.model else "")
    yield "Repository", run.repository + (f" on {run.branch}" if run.branch else "")
    yield "Tree", run.tree if run.tree != run.repository else ""
    yield "Commit", run.head
    yield "Operator", run.operator
    yield "Began", moment(run.created_at)
    yield "Ended", moment(run.ended_at) if run.ended_at is not None else ""
    yield "Cost", _spent(told)
    yield "Turns", str(sum(1 for turn in told.turns if turn.state is not TurnState.CANCELLED))
    yield "Terms", "" if limits is None else _terms(limits)
    for more in told.amendments:
        yield "Extended", _extended(more)


def _spent(told: Told) -> str:
    known = [turn for turn in told.turns if turn.cost is not None]
    unknown = sum(1 for turn in told.turns if turn.cost is None and turn.state is TurnState.SETTLED)
    money = MicroUsd(sum(turn.cost or 0 for turn in known))
    said = wording.money(money if known else None, guess=any(turn.cost_known == "guess" for turn in known))
    said = f"{said} USD" if known else "not known"
    if known and unknown:
        said += f", and {wording.plural(unknown, 'turn')} of unknown cost"
    return said + {Billing.PRACTICE: ", play money", Billing.SUBSCRIPTION: ", nominal"}.get(told.run.billing, "")


def _terms(limits: terms.Terms) -> str:
    most = [wording.plural(limits.max_turns, "turn")]
    if limits.budget is not None:
        most.insert(0, f"{wording.money(limits.budget)} USD")
    if limits.working_seconds is not None:
        most.append(f"{wording.work_time(limits.working_seconds * 1000)} of work")
    rules = f"; rules: {'; '.join(limits.rules)}" if limits.rules else ""
    until = moment(limits.expires_at)
    return f"at most {', '.join(most)}, until {until}, {wording.mode_words(limits.mode, limits.agent)}{rules}"


def _extended(more: Amendment) -> str:
    parts = []
    if more.money:
        parts.append(f"{wording.money(more.money)} USD more")
    if more.turns:
        parts.append(f"{wording.plural(more.turns, 'turn')} more")
    if more.working_seconds:
        parts.append(f"{wording.work_time(more.working_seconds * 1000)} of work more")
    if more.expires_at is not None:
        parts.append(f"until {moment(more.expires_at)}")
    return f"{', '.join(parts)}, by {more.operator} at {moment(more.at)}"


# ------------------------------------------------------------------------------------------------------ what was said


class _Telling:
    """Turn after turn. What is kept is only what is not over: calls without a result, decisions not told yet."""

    def __init__(self, told: Told) -> None:
        self._agent = told.run.agent
        self._turns = list(told.turns)
        self._by_id = {turn.id: turn for turn in told.turns}
        self._left = {one.id: one for one in told.decisions}
        self._asked: dict[str, list[Decision]] = {}
        for one in told.decisions:
            self._asked.setdefault(one.request, []).append(one)
        self._attached: dict[str, list[Attachment]] = {}
        for image in told.attachments:
            if image.turn is not None and not image.dropped:
                self._attached.setdefault(image.turn, []).append(image)
        self._next = 0
        self._here: str | None = None
        self._calls: dict[str, tuple[base.ToolStarted, Millis]] = {}
        self._parents: set[str] = set()

    def blocks(self, events: Iterable[Event]) -> Iterator[Block]:
        for event in events:
            if event.turn is not None and event.turn != self._here:
                yield from self._go_to(event.turn)
            yield from self._event(eventcodec.decode(event.kind, event.body), event.at)
        yield from self._unfinished()
        while self._next < len(self._turns):
            yield from self._turn(self._turns[self._next])
        yield from self._parked(None)

    def _go_to(self, id: str) -> Iterator[Block]:
        yield from self._unfinished()
        turn = self._by_id.get(id)  # type: ignore[call-overload]  # an event's turn may be one that nobody knows
        if turn is None:
            return
        if turn in self._turns[: self._next]:
            yield Note(text=f"turn {turn.n} goes on")
        while self._next < len(self._turns) and self._turns[self._next].n <= turn.n:
            yield from self._turn(self._turns[self._next])
        self._here = id

    def _turn(self, turn: Turn) -> Iterator[Block]:
        if self._here is not None:
            yield from self._parked(self._here)
        self._next += 1
        self._here = turn.id
        view = views.turn_view(turn)
        source = wording.turn_source(view)
        mood = _MOODS.get(turn.result, Mood.PLAIN) if turn.result is not None else Mood.OPEN
        name = f"Turn {turn.n}" + (f" ({source})" if source else "")
        yield Heading(text=f"{name}: {wording.turn_line(view)}", beside=_measures(turn), mood=mood)
        if turn.text:
            yield Quote(who=f"{turn.operator or 'operator'}, {moment(turn.recorded_at)}", text=cut(turn.text))
        for image in self._attached.get(turn.id, ()):
            yield Note(text=f"attached: {image.name} ({image.media_type.value}, {wording.plural(image.size, 'byte')})")
        if turn.preamble:
            yield Fold(line="What Footplate added", parts=(("", cut(turn.preamble)),))
        if view.failure is not None:
            yield Note(text=wording.failure(view.failure, self._agent))
            if turn.failure_text:
                yield Note(text=f"In its own words: {cut(turn.failure_text)}")

    def _event(self, event: base.AgentEvent, at: Millis) -> Iterator[Block]:
        parent = getattr(event, "parent", None)
        if parent is not None and parent in self._calls and parent not in self._parents:
            self._parents.add(parent)
            yield Note(
                text=f"{self._calls[parent][0].name}: {self._calls[parent][0].title} (an agent of its own begins)"
            )
        match event:
            case base.TextBlock():
                yield Prose(text=cut(event.text) + ("\n\n(cut off)" if event.aborted else ""))
            case base.ThoughtBlock() if event.text.strip():
                yield Fold(line="Thought", parts=(("", cut(event.text)),), prose=True)
            case base.ToolStarted():
                if len(self._calls) >= PENDING:
                    yield _call(*self._calls.pop(next(iter(self._calls))), None, at)
                self._calls[event.call] = (event, at)
            case base.ToolFinished():
                known = self._calls.pop(event.call, None)
                self._parents.discard(event.call)
                started = known or (base.ToolStarted(call=event.call, name="A tool", input={}, title=""), at)
                yield _call(*started, event, at)
            case base.DecisionAsked():
                yield from self._question(event)
            case base.PlanUpdated():
                yield _plan(event)
            case _:
                said = _note(event)
                if said:
                    yield Note(text=said)

    def _question(self, event: base.DecisionAsked) -> Iterator[Block]:
        for one in self._asked.get(event.request, []):
            if self._left.pop(one.id, None) is not None:
                yield _card(one)
                return

    def _parked(self, turn: str | None) -> Iterator[Block]:
        """What was asked in no line of the conversation: at the end of its turn, or of all."""
        for one in [one for one in self._left.values() if turn is None or one.turn == turn]:
            del self._left[one.id]
            yield _card(one)

    def _unfinished(self) -> Iterator[Block]:
        for call in list(self._calls):
            yield _call(*self._calls.pop(call), None, None)
        self._parents.clear()


def _measures(turn: Turn) -> str:
    view = views.turn_view(turn)
    parts = []
    if turn.cost_known is not None and turn.cost is not None:
        parts.append(f"{wording.turn_money(view)} USD")
    if turn.input_tokens is not None or turn.output_tokens is not None:
        cached = f" (+{_count(turn.cache_read_tokens)} cached)" if turn.cache_read_tokens else ""
        tokens = wording.noun(turn.input_tokens or 0, "token")
        parts.append(f"{_count(turn.input_tokens)}{cached} {tokens} in, {_count(turn.output_tokens)} out")
    if turn.duration_ms is not None:
        parts.append(wording.age(turn.duration_ms) if turn.duration_ms >= 10_000 else wording.seconds(turn.duration_ms))
    return ", ".join(parts)


def _count(tokens: int | None) -> str:
    return "?" if tokens is None else f"{tokens:,}".replace(",", " ")


def _call(started: base.ToolStarted, began: Millis, ended: base.ToolFinished | None, at: Millis | None) -> Fold:
    took = f"{wording.seconds(at - began)}" if at is not None and ended is not None and at > began else ""
    if ended is None:
        mood, how = Mood.OPEN, "no result was seen"
    else:
        mood, how = (Mood.GOOD, took) if ended.ok else (Mood.BAD, f"failed {took}".strip())
    title = started.title or started.name
    given = _given(started)
    name = f"{started.name}: {title}" if title != started.name else title
    shown = given if given.strip() != title.strip() else ""
    output = "" if ended is None else cut(ended.output)
    return Fold(line=_one_line(name), beside=how, mood=mood, parts=(("Given", shown), ("Output", output)))


def _given(started: base.ToolStarted) -> str:
    """What the tool was given: a command as it is, all else field by field."""
    command = started.input.get("command")
    if isinstance(command, str):
        return cut(command)
    lines = []
    for name, value in started.input.items():
        text = value if isinstance(value, str) else msgspec.json.encode(value).decode()
        lines.append(f"{name}:\n{text}" if "\n" in text else f"{name}: {text}")
    return cut("\n".join(lines))


def _one_line(text: str) -> str:
    flat = " ".join(text.split())
    return flat if len(flat) <= 200 else flat[:199] + "…"


def _plan(event: base.PlanUpdated) -> Fold:
    done = sum(1 for state, _ in event.items if state == "done")
    marks = {"done": "[x]", "active": "[>]"}
    lines = "\n".join(f"{marks.get(state, '[ ]')} {text}" for state, text in event.items)
    return Fold(line=f"Plan: {done} of {len(event.items)} done", parts=(("", cut(lines)),))


def _note(event: base.AgentEvent) -> str:
    match event:
        case base.RetryNotice():
            of = f" of {event.of}" if event.of else ""
            return f"the agent tries again ({event.attempt}{of}): {event.why}"
        case base.LimitNotice() if event.status != "allowed":
            return f"limit {event.kind}: {event.status}"
        case base.Notice():
            return f"notice: {cut(event.text)}"
        case base.Compacted():
            return "the agent shortened the conversation to fit its model"
        case base.ConversationChanged():
            return "the agent began a new conversation"
        case base.ModelChanged():
            return f"the model is now {event.model}"
        case base.ModeChanged():
            return f"from here on {wording.mode_words(event.mode)}"
        case base.TurnBegunByAgent():
            return f"the agent began a turn by itself ({event.why})"
        case base.BackgroundChanged() if event.tasks:
            return "in the background: " + ", ".join(f"{one.title} ({one.state})" for one in event.tasks)
        case base.CannotStart():
            return f"the agent would not begin: {event.text}"
        case base.ProtocolFault():
            return f"what the agent sent could not be understood: {event.what}"
        case base.Stderr() if event.text.strip():
            return f"on its error stream: {cut(event.text)}"
        case _:
            return ""


# ---------------------------------------------------------------------------------------------------------- decisions


def _card(one: Decision) -> Card:
    try:
        view = views.decision_view(one)
    except (msgspec.DecodeError, msgspec.ValidationError):
        # Written by another version, or not as it was: what the row itself says still stands.
        return Card(line=f"Question {one.id}: {one.title}", text=cut(one.subject), answer="it cannot be read any more")
    asked = decisioncodec.view_parts(one.payload)
    questions = tuple(
        (
            question.text,
            tuple(f"{one.label}: {one.description}" if one.description else one.label for one in question.choices),
        )
        for question in view.questions
    )
    why = f" ({asked.why})" if asked.why else ""
    line = f"Question {one.id} ({wording.decision_kind(one.kind)}): {one.title}{why}"
    answer, mood = _answer(view)
    about = view.subject
    if len(view.questions) == 1 and about.strip() == view.questions[0].text.strip():
        about = ""
    return Card(line=line, text=cut(about), questions=questions, answer=answer, mood=mood)


def _answer(view: DecisionView) -> tuple[str, Mood]:
    """Who answered what and when, and whether it reached the agent."""
    if view.answered_by is None:
        return {
            DecisionState.OPEN: ("waits for an answer", Mood.OPEN),
            DecisionState.WITHDRAWN: ("no longer asked" + (f": {view.note}" if view.note else ""), Mood.OPEN),
        }.get(view.state, (wording.decision_state(view), Mood.OPEN))
    said = f"{view.answered_by} at {moment(view.answered_at)}: {view.answer or 'answered'}"
    refused = view.answer.startswith(("denied", "not approved", "sent back"))
    match view.state:
        case DecisionState.DELIVERED:
            return said, Mood.BAD if refused else Mood.GOOD
        case DecisionState.ANSWERED | DecisionState.DELIVERING:
            return f"{said}; on its way", Mood.OPEN
        case DecisionState.UNDELIVERED if view.kind in (DecisionKind.QUESTION, DecisionKind.PARK):
            return f"{said}; not delivered, kept for the next run", Mood.OPEN
        case DecisionState.UNDELIVERED:
            return f"{said}; not delivered", Mood.OPEN
        case _:
            return f"{said}; {wording.decision_state(view)}", Mood.OPEN


# ------------------------------------------------------------------------------------------------------------ the end


def _ending(told: Told) -> Iterator[Block]:
    not_sent = [one for one in told.queued if one.state in (QueuedTurnState.WAITING, QueuedTurnState.UNSENT)]
    if not_sent:
        yield Heading(text="Not sent")
        for one in not_sent:
            yield Quote(who=f"{one.operator}, {moment(one.at)}", text=cut(one.text))
    yield from _evidence(told.evidence)
    if told.stops or told.receipts:
        yield Heading(text="Stop report")
        for stop in told.stops:
            yield Note(text=_stop(stop))
        for receipt in told.receipts:
            lines = wording.receipt_lines(receipt_from_facts(msgspec.json.decode(receipt.body.encode())))
            if len(told.receipts) > 1:
                yield Note(text=f"start {receipt.generation} of the agent, {moment(receipt.at)}")
            yield Code(text="\n".join(lines))


def _stop(stop: Stop) -> str:
    settled = f", over at {moment(stop.settled_at)}" if stop.settled_at is not None else ""
    return f"asked to stop by {stop.operator} at {moment(stop.asked_at)}{settled}"


def _evidence(kept: tuple[Evidence, ...]) -> Iterator[Block]:
    words = {
        EvidenceKind.HANDOFF: "Its note when it finished",
        EvidenceKind.STATUS: "What changed",
        EvidenceKind.DIFF: "Changes",
        EvidenceKind.GIT_CONFIG: "Changes of git's own configuration",
        EvidenceKind.MAILBOX: "Its question as it wrote it",
    }
    newest = {one.kind: one for one in kept}
    for kind, heading in words.items():
        shown = [one for one in kept if one.kind is kind]
        if kind in (EvidenceKind.STATUS, EvidenceKind.DIFF):
            shown = [newest[kind]] if kind in newest else []
        for one in shown:
            text = cut(one.content.decode("utf-8", "replace")).rstrip("\n")
            yield Heading(text=heading, beside=one.note)
            if not text:
                yield Note(text="nothing")
            elif kind is EvidenceKind.HANDOFF:
                yield Prose(text=text)
            else:
                yield Code(text=text, language="diff" if kind is not EvidenceKind.STATUS else "")
