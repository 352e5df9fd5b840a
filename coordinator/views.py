"""From a session's rows and live facts to the frozen view that the screen gets. Pure; the words are the app's."""

from collections import Counter
from collections.abc import Sequence
from typing import Self

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from coordinator import checkresults, decisioncodec, images, offering
from coordinator.api import (
    AttentionView,
    BudgetView,
    DecisionView,
    Group,
    QueuedView,
    SessionView,
    TurnView,
)
from coordinator.checktypes import CheckView
from coordinator.custody.types import Receipt
from coordinator.drivers.base import Capabilities
from coordinator.live import Live
from coordinator.machine import SessionState
from coordinator.recording import EffectiveLimits
from coordinator.rows import SessionRows
from coordinator.ruling import BY
from coordinator.terms import Terms, TreeKind
from coordinator.worktime import Work
from store import attention, decisions, turns
from store.attachments import Attached
from store.moves import FLYING, UNFINISHED
from store.vocab import (
    AttentionKind,
    CostKnowledge,
    DecisionId,
    FailureKind,
    MicroUsd,
    Millis,
    TaskId,
    TurnId,
)


def turn_view(turn: turns.Turn, attached: Sequence[Attached] = ()) -> TurnView:
    return TurnView(
        id=turn.id,
        n=turn.n,
        source=turn.source,
        state=turn.state,
        text=turn.text,
        operator=turn.operator,
        recorded_at=turn.recorded_at,
        ended_at=turn.ended_at,
        result=turn.result,
        subtype=turn.subtype,
        cost=turn.cost,
        cost_known=turn.cost_known,
        failure=FailureKind(turn.failure) if turn.failure else None,
        failure_text=turn.failure_text,
        input_tokens=turn.input_tokens,
        output_tokens=turn.output_tokens,
        duration_ms=turn.duration_ms,
        preamble=turn.preamble,
        images=images.shown([one for one in attached if one.turn == turn.id]),
    )


def readable_view(decision: decisions.Decision, rule_uses: int = 0) -> DecisionView:
    """``decision_view``, or what the row alone says where its payload or answer is not as this version writes them:
    one decision of an old run must not keep a console from starting."""
    try:
        return decision_view(decision, rule_uses)
    except (msgspec.DecodeError, UnicodeEncodeError):
        return _of_row(decision)


def decision_view(decision: decisions.Decision, rule_uses: int = 0) -> DecisionView:
    asked = decisioncodec.view_parts(decision.payload)
    answer = ""
    if decision.answer:
        answer = decisioncodec.words(decisioncodec.decode_answer(decision.answer), asked)
    return replace(
        _of_row(decision),
        subject=asked.subject,
        tool=asked.tool,
        input=asked.input,
        why=asked.why,
        questions=asked.questions,
        editable=asked.editable,
        rule=asked.rule,
        rule_uses=rule_uses,
        blocked_path=asked.blocked_path,
        agent=asked.agent,
        offers=offering.offered(asked),
        answer=answer,
    )


def _of_row(decision: decisions.Decision) -> DecisionView:
    return DecisionView(
        id=decision.id,
        run=decision.run,
        turn=decision.turn,
        kind=decision.kind,
        state=decision.state,
        revision=decision.revision,
        payload_hash=decision.payload_hash,
        title=decision.title,
        subject=decision.subject,
        asked_at=decision.asked_at,
        answered_by=decision.answered_by,
        answered_at=decision.answered_at,
        delivered_at=decision.delivered_at,
        request=decision.request,
        note=decision.note,
    )


class RowViews(Struct, frozen=True, kw_only=True):
    """What a run's turns and decisions look like, kept from one picture to the next.

    Pictures are made many times a second and rows change a few times a turn, while a run may have thousands of both:
    made anew each time, eight long runs took most of the coordinator's loop.
    """

    rows: SessionRows
    turns: tuple[TurnView, ...]
    decisions: tuple[DecisionView, ...]
    """Those that wait first."""
    asks: bool
    """Some decision waits for the operator."""
    work: Work
    last_end: Millis | None
    """When the last turn that is over ended."""
    flying: TurnId | None
    guessed: bool
    """What some turn has cost is a guess."""

    @classmethod
    def of(cls, rows: SessionRows, before: Self | None = None) -> Self:
        """``before``: the last ones of the same run; of a row that is as it was the same view is taken again."""
        if before is not None and before.rows is rows:
            return before
        if before is not None and before.rows.turns is rows.turns and before.rows.decisions is rows.decisions:
            same_images = before.rows.attached == rows.attached
            return replace(before, rows=rows, turns=before.turns if same_images else _turn_views(rows, before))
        return cls(
            rows=rows,
            turns=_turn_views(rows, before),
            decisions=_decision_views(rows, before),
            asks=bool(rows.open_decisions),
            work=Work.of(rows.turns, rows.decisions),
            last_end=max((turn.ended_at for turn in rows.turns if turn.ended_at), default=None),
            flying=next((turn.id for turn in rows.turns if turn.state in FLYING), None),
            guessed=any(turn.cost_known is CostKnowledge.GUESS for turn in rows.turns),
        )


def _turn_views(rows: SessionRows, before: RowViews | None) -> tuple[TurnView, ...]:
    if before is None or before.rows.attached != rows.attached:
        return tuple(turn_view(turn, rows.attached) for turn in rows.turns)
    had, views = before.rows.turns, before.turns
    return tuple(
        views[n] if n < len(had) and _same(had[n], turn) else turn_view(turn, rows.attached)
        for n, turn in enumerate(rows.turns)
    )


def _same(had: object, row: object) -> bool:
    """Most rows are the very same object: thousands are not compared column by column."""
    return had is row or had == row


def _decision_views(rows: SessionRows, before: RowViews | None) -> tuple[DecisionView, ...]:
    if before is not None and before.rows.decisions is rows.decisions:
        return before.decisions
    ruled = Counter(d.answered_by for d in rows.decisions if (d.answered_by or "").startswith(BY))
    had = {} if before is None else {view.id: view for view in before.decisions}
    same = {} if before is None else {row.id: row for row in before.rows.decisions}
    views = []
    for row in sorted(rows.decisions, key=lambda d: (d.state not in UNFINISHED, d.asked_at)):
        uses = ruled[row.answered_by]
        if not _same(same.get(row.id), row):
            views.append(readable_view(row, uses))
        else:
            view = had[row.id]
            views.append(view if view.rule_uses == uses else replace(view, rule_uses=uses))
    return tuple(views)


def group_of(made: RowViews, *, at_budget: bool, past_work: bool, paged: bool, ended: bool) -> Group:
    rows = made.rows
    if made.asks and not ended:
        return Group.NEEDS_YOU
    if paged:
        return Group.NEEDS_YOU
    if ended:
        return Group.ENDED
    if past_work:
        return Group.NEEDS_YOU
    if made.flying is not None:
        return Group.WORKING
    if at_budget:
        return Group.NEEDS_YOU
    if rows.run is not None and (made.last_end or 0) > rows.run.seen_at:
        return Group.YOUR_MOVE
    return Group.IDLE if rows.turns else Group.WORKING


def budget_view(made: RowViews, limits: EffectiveLimits, now: Millis) -> BudgetView:
    spend = made.rows.spend
    return BudgetView(
        spent=spend.money if spend else MicroUsd(0),
        limit=limits.budget,
        guessed=made.guessed,
        unknown_turns=spend.unknown if spend else 0,
        turns=spend.turns if spend else 0,
        max_turns=limits.max_turns,
        working_ms=made.work.at(now),
        working_limit_ms=limits.working_ms,
        expires_at=Millis(limits.expires_at),
    )


def session_view(
    rows: SessionRows,
    *,
    terms: Terms,
    limits: EffectiveLimits,
    live: Live | None,
    state: SessionState | None,
    capabilities: Capabilities | None,
    receipt: Receipt | None,
    now: Millis,
    owner: str = "",
    paged: bool = False,
    checking: tuple[CheckView, ...] = (),
    kept: RowViews | None = None,
) -> SessionView:
    """One session as the screen sees it. ``live`` and ``state`` are there only while this console holds it.

    ``checking``: its checks while some wait or run; else the ledger tells what they came to. ``kept``: the views of
    these very rows, where they were made already.
    """
    run = rows.run
    assert run is not None
    ended = run.outcome is not None
    at_budget = state is not None and state.at_budget and state.at_rest and not ended
    past_work = state is not None and state.past_work and not ended
    shown = live or Live()
    made = RowViews.of(rows, kept)
    return SessionView(
        run=run.id,
        title=run.title,
        group=group_of(made, at_budget=at_budget, past_work=past_work, paged=paged, ended=ended),
        agent=run.agent,
        driver=run.driver,
        billing=run.billing,
        repository=run.repository,
        tree=run.tree,
        in_place=terms.tree_kind is TreeKind.IN_PLACE,
        branch=run.branch,
        head=run.head,
        created_at=run.created_at,
        operator=run.operator,
        budget=budget_view(made, limits, now),
        model=shown.model or run.model or terms.model,
        models=shown.models,
        mode=shown.mode or run.mode or terms.mode,
        modes=capabilities.modes if capabilities else (),
        commands=shown.commands,
        own_screen=capabilities.own_screen if capabilities else (),
        takes_images=capabilities.takes_images if capabilities else False,
        terminal=capabilities.terminal if capabilities else False,
        native_id=shown.native_id or run.native_id,
        custody=rows.custody.state if rows.custody else None,
        outcome=run.outcome,
        reason=run.reason or "",
        detail=run.detail,
        ended_at=run.ended_at,
        last_event_at=shown.last_event_at,
        turn_ended_at=made.last_end,
        turns=made.turns,
        in_flight=made.flying,
        queued=tuple(
            QueuedView(
                id=q.id,
                place=q.place,
                text=q.text,
                images=images.shown([one for one in rows.attached if one.queued == q.id]),
            )
            for q in rows.queued
        ),
        paused=state.paused if state else False,
        queue_held=state.queue_held if state else False,
        decisions=made.decisions,
        plan=shown.plan,
        background=shown.background,
        changed=shown.changed,
        changes_known=shown.changes_known,
        context_used=shown.context_used,
        context_size=shown.context_size,
        tools=tuple(shown.tools.values()),
        at_budget=at_budget,
        past_work=past_work,
        finishing=(state.finishing or state.concluding) if state else False,
        interrupting=state.interrupting is not None if state else False,
        ending=shown.ending if not ended or shown.ending is None else None,
        receipt=receipt,
        processes=shown.processes,
        owner=owner,
        pinned=run.pinned,
        seen_at=Millis(run.seen_at),
        status=shown.status,
        task=rows.attempt.task if rows.attempt is not None else None,
        attempt=rows.attempt.n if rows.attempt is not None else 0,
        attempts=rows.attempts,
        terms=terms,
        handoff=shown.handoff,
        checks=checking if ended and checking else checkresults.as_agreed(terms, rows.checks, run.outcome),
    )


def attention_view(item: attention.AttentionItem) -> AttentionView:
    decision = DecisionId(int(item.key)) if item.kind is AttentionKind.DECISION and item.key.isdigit() else None
    number = item.key.partition(":")[0] if item.kind is AttentionKind.TASK else ""
    return AttentionView(
        id=item.id,
        run=item.run,
        kind=item.kind,
        text=item.text,
        since=item.since,
        decision=decision,
        task=TaskId(int(number)) if number.isdecimal() else None,
        to_see=attention.to_see(item),
    )
