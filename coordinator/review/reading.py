"""What a review shows of a ledger, from its rows: runs, a run's page, its conversation, hits of a search, money.

Pure given a ``Tx`` and synchronous: whoever calls puts it on a thread (``source``) or is a command that ends. What was
said by agents comes through as it is; that it moves no cursor is for whoever shows it.
"""

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Callable, Iterable
from datetime import datetime, tzinfo

import msgspec
from msgspec.structs import replace

from coordinator import decisioncodec, dispositions, transcripts
from coordinator.api import ReadTranscript, ReadWhole, SearchTranscript, SessionView, TranscriptHits, TranscriptPage
from coordinator.pastview import past_session
from coordinator.review.types import (
    AmendmentRow,
    AuthorizationFacts,
    CustodyFacts,
    EvidenceRow,
    ReceiptRow,
    RunFilter,
    RunPage,
    RunRow,
    RunsPage,
    SearchHit,
    SearchPage,
    Sizes,
    Sort,
    SpendBy,
    SpendRow,
    StopRow,
    TurnMore,
)
from coordinator.rows import SessionRows, read_rows
from coordinator.terms import Terms, TreeKind, parse
from coordinator.worktime import Span, merged, without
from store import (
    authorizations,
    control_writes,
    custody,
    evidence as evidence_,
    imports,
    incarnations,
    lookup,
    receipts,
    reviewing,
    stops,
    turns as turns_,
)
from store.authorizations import Authorization
from store.evidence import Evidence
from store.refusal import Refusal
from store.reviewing import Listed, Narrowed, Place, SpentTurn
from store.runs import Run
from store.tx import Tx
from store.vocab import Billing, CostKnowledge, EndReason, MicroUsd, Millis, RefusalReason, RunId

PAGE = 50


# ---------------------------------------------------------------------------------------------------------------- runs


def runs(
    tx: Tx, wanted: RunFilter | None = None, *, sort: Sort = Sort.NEWEST, limit: int = PAGE, more: object = None
) -> RunsPage:
    """A page of the table of runs; ``more`` is that of the page before it, with the same filter and order."""
    which = narrowed(tx, wanted or RunFilter())
    after = more if isinstance(more, Place) else None
    found, place = reviewing.listing(tx, which, order=sort.value, limit=limit, after=after)
    return RunsPage(rows=tuple(_run_row(one) for one in found), more=place)


def narrowed(tx: Tx, wanted: RunFilter) -> Narrowed:
    """The filter as the store takes it: the repositories that are meant, by their whole paths."""
    names = None if wanted.repository is None else repositories_named(wanted.repository, reviewing.repositories(tx))
    return Narrowed(
        words=wanted.words,
        repositories=names,
        agent=wanted.agent,
        model=wanted.model,
        tool=wanted.tool,
        outcome=wanted.outcome,
        reason=wanted.reason,
        cost_min=wanted.cost_min,
        cost_max=wanted.cost_max,
        since=wanted.since,
        until=wanted.until,
        imported=wanted.imported,
    )


def repositories_named(name: str, every: Iterable[str]) -> tuple[str, ...]:
    """Those called exactly so, by their whole path or its last parts; else those with that in their last part."""
    wanted = name.rstrip("/").casefold() or name
    known = [(path, path.rstrip("/").casefold()) for path in every]
    exact = [path for path, folded in known if folded == wanted or folded.endswith("/" + wanted)]
    return tuple(exact or [path for path, folded in known if wanted in folded.rsplit("/", 1)[-1]])


def _run_row(listed: Listed) -> RunRow:
    run = listed.run
    known = CostKnowledge.REPORTED
    if listed.unknown or (listed.cost is None and listed.turns):
        known = CostKnowledge.UNKNOWN
    elif listed.guessed:
        known = CostKnowledge.GUESS
    return RunRow(
        run=run.id,
        title=run.title,
        agent=run.agent,
        driver=run.driver,
        billing=run.billing,
        model=run.model,
        repository=run.repository,
        branch=run.branch,
        created_at=run.created_at,
        ended_at=run.ended_at,
        outcome=run.outcome,
        reason=run.reason or "",
        turns=listed.turns,
        cost=listed.cost,
        cost_known=known,
        decisions=listed.decisions,
        events=run.events,
        imported=run.reason == EndReason.IMPORTED,
        operator=run.operator,
    )


# ------------------------------------------------------------------------------------------------------------- one run


def run_page(tx: Tx, run: RunId) -> RunPage | Refusal:
    """A run, whole but for what was said and what is kept as evidence. What cannot be read any more is named."""
    rows, problems = _readable(read_rows(tx, run))
    if rows.run is None or rows.authorization is None:
        return Refusal(RefusalReason.NO_SUCH_RUN, {"run": run})
    signed = rows.authorization
    terms = parse(signed.terms)
    problem = ""
    if isinstance(terms, Refusal):
        problem = str(terms.facts.get("problem", ""))
        terms = _told_by_the_run(rows.run, signed)
    files = imports.of_run(tx, run)
    return RunPage(
        session=_session(tx, rows, rows.run, terms),
        authorization=AuthorizationFacts(
            id=signed.id,
            state=signed.state,
            operator=signed.operator,
            digest=signed.digest,
            signed_at=signed.signed_at,
            expires_at=signed.expires_at,
            closed_at=signed.closed_at,
            close_reason=signed.close_reason,
            problem=problem,
        ),
        turns=tuple(_turn_more(turn) for turn in rows.turns),
        amendments=tuple(
            AmendmentRow(
                at=one.at,
                operator=one.operator,
                money=one.money,
                turns=one.turns,
                expires_at=one.expires_at,
                working_seconds=one.working_seconds,
            )
            for one in authorizations.amendments(tx, signed.id)
        ),
        stops=tuple(_stop_row(one) for one in stops.of_run(tx, run)),
        receipts=tuple(
            ReceiptRow(generation=one.generation, at=one.at, remaining=one.remaining, body=one.body)
            for one in receipts.of_run(tx, run)
        ),
        evidence=evidence_rows(tx, run),
        custody=tuple(_custody_facts(one) for one in custody.each_of_run(tx, run)),
        became=dispositions.of_run(tx, run),
        control_writes=len(control_writes.of_run(tx, run)),
        events=rows.run.events,
        continues=rows.run.continues,
        continued_by=tuple(reviewing.continued_by(tx, run)),
        imported=rows.run.reason == EndReason.IMPORTED,
        imported_from=files[0].path if files else "",
        problems=problems,
    )


def evidence_rows(tx: Tx, run: RunId) -> tuple[EvidenceRow, ...]:
    return tuple(
        EvidenceRow(id=id, kind=kind, sha256=sha256, size=size, note=note, at=at)
        for id, kind, sha256, size, note, at in evidence_.listing(tx, run)
    )


def evidence(tx: Tx, id: int) -> Evidence | None:
    """One piece with its content."""
    return evidence_.get(tx, id)


def _session(tx: Tx, rows: SessionRows, run: Run, terms: Terms) -> SessionView:
    view = past_session(tx, rows, terms)
    if run.outcome is not None:
        return view
    # Whether that console lives is a question to its machine, and this may be a copy of its ledger elsewhere.
    owner = incarnations.get(tx, run.incarnation)
    return replace(view, owner=f"the console of {run.operator if owner is None else owner.operator}")


def _readable(rows: SessionRows) -> tuple[SessionRows, tuple[str, ...]]:
    """Without the decisions that nobody can read, which are named: the rest of the run is still worth seeing."""
    kept, problems = [], []
    for one in rows.decisions:
        try:
            asked = decisioncodec.view_parts(one.payload)
            if one.answer:
                decisioncodec.words(decisioncodec.decode_answer(one.answer), asked)
            kept.append(one)
        except (msgspec.DecodeError, UnicodeEncodeError) as error:
            problems.append(f"decision {one.id}: {error}")
    receipt = rows.receipt
    try:
        if receipt and not isinstance(msgspec.json.decode(receipt), dict):
            raise msgspec.DecodeError("not an object")
    except msgspec.DecodeError as error:
        receipt = ""
        problems.append(f"stop report: {error}")
    return replace(rows, decisions=tuple(kept), receipt=receipt), tuple(problems)


def _told_by_the_run(run: Run, signed: Authorization) -> Terms:
    """In the place of terms that cannot be read: what the run's own row says, and no limit that nobody signed."""
    return Terms(
        instruction="",
        preamble=False,
        agent=run.agent,
        driver=run.driver,
        program="",
        agent_version="",
        billing=run.billing,
        repository=run.repository,
        head=run.head,
        branch=run.branch,
        tree_kind=TreeKind.IN_PLACE if run.tree == run.repository else TreeKind.WORKTREE,
        model=run.model,
        mode=run.mode or "",
        budget=None,
        max_turns=0,
        working_seconds=None,
        expires_at=signed.expires_at,
        attendance_seconds=0,
        machine="",
        uid=0,
    )


def _turn_more(turn: turns_.Turn) -> TurnMore:
    return TurnMore(
        id=turn.id,
        n=turn.n,
        generation=turn.generation,
        written_at=turn.written_at,
        accepted_at=turn.accepted_at,
        bytes=turn.bytes,
        cumulative=turn.cumulative,
        cache_read_tokens=turn.cache_read_tokens,
        cache_write_tokens=turn.cache_write_tokens,
        events_hash=turn.events_hash,
    )


def _stop_row(stop: stops.Stop) -> StopRow:
    return StopRow(
        state=stop.state,
        reason=stop.reason,
        operator=stop.operator,
        asked_at=stop.asked_at,
        ordered_at=stop.ordered_at,
        settled_at=stop.settled_at,
        result=stop.result,
    )


def _custody_facts(held: custody.Custody) -> CustodyFacts:
    return CustodyFacts(
        id=held.id,
        state=held.state,
        epoch=held.epoch,
        generation=held.generation,
        in_place=held.in_place,
        tree=held.tree,
        native_id=held.native_id,
        boot_id=held.boot_id,
        supervisor_pid=held.supervisor_pid,
        keeper_pid=held.keeper_pid,
        agent_pid=held.agent_pid,
        fence_reason=held.fence_reason,
        created_at=held.created_at,
        closed_at=held.closed_at,
    )


# -------------------------------------------------------------------------------------------- what was said, and found


def feed(tx: Tx, asked: ReadTranscript) -> TranscriptPage:
    """A page of a run's conversation, as the live console gets it of a run that has ended."""
    return transcripts.page(tx, asked)


def hits(tx: Tx, asked: SearchTranscript) -> TranscriptHits:
    """Places of a text in one run."""
    return transcripts.hits(tx, asked)


def whole(tx: Tx, asked: ReadWhole) -> str | Refusal:
    """One event's text, however long."""
    return transcripts.whole(tx, asked)


def search(tx: Tx, wanted: RunFilter, *, limit: int = PAGE, before: int | None = None) -> SearchPage:
    """Texts in which all the words stand, in the runs that the fields let through, newest first."""
    which = replace(narrowed(tx, wanted), words=())
    found, more = lookup.find(tx, wanted.words, which, limit=limit, before=before)
    return SearchPage(hits=tuple(_hit(one) for one in found), more=more)


def _hit(found: lookup.Found) -> SearchHit:
    snippet, marks = marked(found.snippet)
    return SearchHit(
        id=found.id,
        run=found.run,
        title=found.title,
        agent=found.agent,
        repository=found.repository,
        turn=found.turn,
        turn_n=found.turn_n,
        event=found.event,
        key=found.key,
        decision=found.decision,
        kind=found.kind,
        at=found.at,
        text=found.text,
        snippet=snippet,
        marks=marks,
    )


def marked(piece: str) -> tuple[str, tuple[tuple[int, int], ...]]:
    """A piece of text without what stands around the words looked for, and where they are."""
    text = ""
    marks: list[tuple[int, int]] = []
    for part in piece.split(lookup.OPENED):
        inside, closed, rest = part.partition(lookup.CLOSED)
        if closed and inside:
            marks.append((len(text), len(text) + len(inside)))
        text += inside + rest.replace(lookup.CLOSED, "")
    return text, tuple(marks)


# ------------------------------------------------------------------------------------------------------ money and time


def spend(
    tx: Tx,
    by: SpendBy,
    wanted: RunFilter | None = None,
    *,
    run: RunId | None = None,
    zone: tzinfo | None = None,
    practice: bool = False,
) -> tuple[SpendRow, ...]:
    """What the turns of these runs cost and how long they worked, by what they have in common.

    ``since`` and ``until`` are the turns' own here: a run that goes over midnight is in both days. Days are those of
    ``zone`` (None: of this machine) and come in order, as turns do; all else by what it cost. The practice agent's play
    money only where it is asked for, or its run is.
    """
    wanted = wanted or RunFilter()
    which = replace(narrowed(tx, replace(wanted, since=None, until=None)), run=run)
    if not practice and run is None:
        which = replace(which, billing=Billing.PRACTICE)
    key_of = _KEYS[by]
    groups: dict[str, list[SpentTurn]] = defaultdict(list)
    for turn in reviewing.spent(tx, which, since=wanted.since, until=wanted.until):
        groups[_day(turn.ended or turn.recorded, zone) if by is SpendBy.DAY else key_of(turn)].append(turn)
    waits = {
        one: merged((since, until or tx.now) for since, until in spans)
        for one, spans in reviewing.waited(tx, which).items()
    }
    rows = [_spend_row(key, group, waits, tx.now) for key, group in groups.items()]
    match by:
        case SpendBy.DAY:
            rows.sort(key=lambda row: row.key)
        case SpendBy.TURN:
            pass
        case _:
            rows.sort(key=lambda row: (-row.cost, row.key))
    return tuple(rows)


_KEYS: dict[SpendBy, Callable[[SpentTurn], str]] = {
    SpendBy.DAY: lambda turn: "",
    SpendBy.REPOSITORY: lambda turn: turn.repository,
    SpendBy.AGENT: lambda turn: turn.agent,
    SpendBy.MODEL: lambda turn: turn.model or "",
    SpendBy.RUN: lambda turn: str(turn.run),
    SpendBy.TURN: lambda turn: f"{turn.run}.{turn.n}",
}


def _day(at: Millis, zone: tzinfo | None) -> str:
    return datetime.fromtimestamp(at / 1000, zone).date().isoformat()


def _spend_row(key: str, group: list[SpentTurn], waits: dict[RunId, list[Span]], now: Millis) -> SpendRow:
    spans: dict[RunId, list[Span]] = defaultdict(list)
    for turn in group:
        if turn.began is not None:
            spans[turn.run].append((turn.began, turn.ended or now))
    return SpendRow(
        key=key,
        runs=len({turn.run for turn in group}),
        turns=len(group),
        cost=MicroUsd(sum(turn.cost or 0 for turn in group)),
        guessed=MicroUsd(sum(turn.cost or 0 for turn in group if turn.known == CostKnowledge.GUESS)),
        unknown_turns=sum(turn.known == CostKnowledge.UNKNOWN for turn in group),
        working_ms=sum(_worked(merged(own), waits.get(run, [])) for run, own in spans.items()),
        input_tokens=sum(turn.input_tokens or 0 for turn in group),
        output_tokens=sum(turn.output_tokens or 0 for turn in group),
        cache_read_tokens=sum(turn.cache_read_tokens or 0 for turn in group),
        cache_write_tokens=sum(turn.cache_write_tokens or 0 for turn in group),
    )


def _worked(own: list[Span], waits: list[Span]) -> int:
    """Of a run's waits only those that can matter: a turn of a long run must not look at all of them."""
    first = bisect_right(waits, own[0][0], key=lambda wait: wait[1]) if own else 0
    last = bisect_left(waits, own[-1][1], key=lambda wait: wait[0]) if own else 0
    return sum(end - start for start, end in without(own, waits[first:last]))


def sizes(tx: Tx) -> Sizes:
    found = reviewing.sizes(tx)

    def number(name: str) -> int:
        return found[name] or 0

    oldest, newest = found["oldest"], found["newest"]
    return Sizes(
        file=number("file"),
        free=number("free"),
        runs=number("runs"),
        live=number("live"),
        turns=number("turns"),
        events=number("events"),
        entries=number("entries"),
        evidence=number("evidence"),
        oldest=None if oldest is None else Millis(oldest),
        newest=None if newest is None else Millis(newest),
    )
