"""The words of a transcript's own lines: turn headers, decisions, notices, endings. What the agent wrote is not made
here.
"""

from msgspec import Struct, field

from app.console.views.attaching import attached_words
from app.console.views.glyphs import UNICODE, Glyphs
from app.console.views.text import excerpt, one_line
from app.console.views.transcript_lines import Line, Run, source_line
from app.console.views.transcript_stream import gap_line, volume
from app.wording import (
    by_rule,
    clock,
    clock_seconds,
    decision_state,
    failure,
    money,
    noun,
    plural,
    turn_line,
    turn_money,
    turn_source,
)
from coordinator.api import DecisionView, SessionView, TurnView
from coordinator.drivers.base import (
    BackgroundTask,
    Compacted,
    DecisionAsked,
    LimitNotice,
    RetryNotice,
    TurnResult,
)
from store.vocab import DecisionKind, DecisionState, MicroUsd, TurnResultKind, TurnSource, TurnState

_ANSWERED = frozenset({DecisionState.ANSWERED, DecisionState.DELIVERING, DecisionState.DELIVERED})


class Look(Struct):
    """What lines are drawn with, beside their own content."""

    glyphs: Glyphs = UNICODE
    tree: str = ""
    operator: str = ""
    agent: str = ""
    """The profile's name: some remedies are a command of its own."""
    opened: set[str] = field(default_factory=set)
    """Targets of the folds that are open."""
    closed: set[str] = field(default_factory=set)
    """Those that the operator closed though they open by themselves."""

    def sign(self, opened: bool) -> Run:
        if self.glyphs.more == ">":
            return ("   v" if opened else "   >", "dim")
        return ("   ▾" if opened else "   ▸", "dim")


def turn_header(
    turn: TurnView | None, look: Look, *, waits: bool, working: bool, so_far: MicroUsd | None, target: str
) -> list[Line]:
    """The rule between turns: number, who, when, what it cost; and what the operator said."""
    if turn is None:
        return [Line((("a turn begins", "head-dim"),), ours=True)]
    source = turn_source(turn)
    # "you" is the operator whose console this is; a turn of somebody else carries the name.
    who = "you" if not turn.operator or turn.operator == look.operator else one_line(turn.operator, 40)
    words: list[Run] = [(f"{turn.n} ", "head-dim")]
    if turn.source in (TurnSource.AGENT, TurnSource.REPAIR):
        words.append((source, "head"))
    else:
        words.append((who, "head"))
        if source:
            words.append((f" · {source}", "head-dim"))
    live = turn.state not in (TurnState.SETTLED, TurnState.CANCELLED, TurnState.UNCERTAIN)
    if waits and live:
        words.append((" · ", "head-dim"))
        words.append((f"{look.glyphs.needs} waits for you", "needs"))
    elif live or turn.state is not TurnState.SETTLED or turn.result is not TurnResultKind.SUCCESS:
        words.append((f" · {turn_line(turn)}", "bad" if turn.result is TurnResultKind.ERROR else "head-dim"))
    right: list[Run] = []
    if not live:
        right = [(clock(turn.recorded_at), "dim"), (f"{turn_money(turn):>7}", "head-dim")]
    elif working and so_far is not None:
        right = [(f"{money(so_far)} so far", "head-dim")]
    else:
        right = [(clock(turn.recorded_at), "dim")]
    lines = [Line(tuple(words), right=tuple(right), fold=True, ours=True, target=target if turn.preamble else "")]
    if turn.source is not TurnSource.AGENT and turn.text:
        lines.extend(_said(turn.text, look, "you" if turn.source is not TurnSource.REPAIR else "dim"))
    if turn.images:
        lines.append(Line(((attached_words(turn.images), "dim"),), ours=True))
    if turn.preamble:
        opened = target in look.opened
        lines.append(
            Line(
                (("with what Footplate adds to it", "dim"),),
                right=(look.sign(opened),),
                fold=True,
                ours=True,
                target=target,
            )
        )
        if opened:
            lines.extend(_said(turn.preamble, look, "dim"))
    return lines


def _said(text: str, look: Look, style: str) -> list[Line]:
    lead = (look.glyphs.bar, "you-bar")
    cut = excerpt(text, 200, 60)
    lines = [source_line(line, style, lead, fill="you-fill") for line in cut.head]
    if cut.hidden:
        lines.append(gap_line(cut.hidden, cut.hidden_chars, lead))
    return lines + [source_line(line, style, lead, fill="you-fill") for line in cut.tail]


# ---------------------------------------------------------------------------------------------------------- decisions


def decision_outcome(view: DecisionView | None, withdrawn: str | None) -> str:
    if view is None:
        return "no longer asked" if withdrawn is not None else ""
    if view.state in _ANSWERED and view.answered_by:
        when = f" {clock_seconds(view.answered_at)}" if view.answered_at is not None else ""
        return f"{_past(view.answer)} by {one_line(view.answered_by, 40)}{when}"
    return decision_state(view)


def outcome_words(view: DecisionView) -> str:
    """As ``decision_outcome``, without who and when."""
    return _past(view.answer) if view.state in _ANSWERED and view.answered_by else decision_state(view)


_DONE = (
    ("allow", "allowed"),
    ("deny", "denied"),
    ("approve", "approved"),
    ("revise", "sent back"),
    ("reject", "not approved"),
)


def _past(answer: str) -> str:
    """The option that was taken, as something that was done."""
    for word, done in _DONE:
        for told in (done, word):
            if answer.startswith(told + ": "):
                # A sentence of the operator's own.
                said, interrupted, _ = answer[len(told) + 2 :].partition(" (and interrupted)")
                return f"{done}: “{one_line(said, 80)}”{interrupted}"
            if answer == told or answer.startswith(told + " "):
                return one_line(done + answer[len(told) :])
    return f"answered “{one_line(answer, 80)}”" if answer else "answered"


def decision_lines(
    asked: DecisionAsked, view: DecisionView | None, withdrawn: str | None, look: Look, target: str
) -> list[Line]:
    waits = view is not None and view.state is DecisionState.OPEN
    opened = target in look.opened
    verb = {DecisionKind.QUESTION: "asked", DecisionKind.PARK: "stopped to ask you"}.get(asked.kind, "asked")
    # A question says more than its heading, which may be one word.
    title = one_line(asked.questions[0].text if len(asked.questions) == 1 else asked.title, 120)
    title = title[:1].lower() + title[1:]
    outcome = decision_outcome(view, withdrawn)
    runs: list[Run] = [(f"{look.glyphs.needs} ", "needs" if waits else "dim")]
    right: list[Run] = []
    # What came of it stands first, where no narrow screen cuts it; who answered, and when, at the right.
    if view is not None and view.state in _ANSWERED and view.answered_by:
        most = 44 if by_rule(view) else 20
        who = "" if view.answered_by == look.operator else f"by {one_line(view.answered_by, most)} "
        when = clock_seconds(view.answered_at) if view.answered_at is not None else ""
        runs += [(_past(view.answer), "asked"), (f" · {title}", "dim")]
        right.append((f"{who}{when}".rstrip(), "dim"))
    elif waits or not outcome:
        runs.append((f"{verb}: {title}", "asked"))
        right.append((outcome, "needs" if waits else "dim"))
    else:
        runs += [(outcome, "asked"), (f" · {title}", "dim")]
    if asked.subject and asked.kind is DecisionKind.PERMISSION:
        runs.append((f"  {title_of_subject(asked.subject, look.tree)}", "dim"))
    lines = [Line(tuple(runs), right=(*right, look.sign(opened)), fold=True, ours=True, target=target)]
    if opened:
        lead = ("    ", "")
        cut = excerpt(asked.subject, 200, 60)
        lines.extend(source_line(line, "code", lead, by_word=False) for line in cut.head if line.text)
        if cut.hidden:
            lines.append(gap_line(cut.hidden, cut.hidden_chars, lead))
        lines.extend(source_line(line, "code", lead, by_word=False) for line in cut.tail)
        for question in asked.questions:
            lines.extend(_text_lines(question.text, "agent", lead))
            for choice in question.choices:
                words: tuple[Run, ...] = ((f"{look.glyphs.dot} {one_line(choice.label)}", "agent"),)
                if choice.description:
                    words = (*words, (f"  {one_line(choice.description)}", "dim"))
                lines.append(Line(words, lead, lead))
        if view is not None and view.answer and asked.questions:
            lines.extend(_text_lines(view.answer, "you", (f"    {look.glyphs.prompt} ", "you-bar")))
        if asked.why:
            lines.extend(_text_lines(asked.why, "dim", lead))
        if view is not None and view.note:
            lines.extend(_text_lines(view.note, "you", (f"    {look.glyphs.prompt} ", "you-bar")))
    return lines


def title_of_subject(subject: str, tree: str) -> str:
    """The first line of a command or a plan; of a diff the path that it is for."""
    lines = subject.strip()[:2_000].split("\n", 2)
    first = lines[0]
    if first.startswith("--- "):
        path = first[4:]
        first = lines[1][4:] if path == "/dev/null" and len(lines) > 1 else path
    shown = one_line(first, 200)
    return shown.replace(tree.rstrip("/") + "/", "") if tree else shown


def _text_lines(text: str, style: str, lead: Run) -> list[Line]:
    cut = excerpt(text, 60, 20)
    lines = [source_line(line, style, lead) for line in (*cut.head, *cut.tail)]
    if cut.hidden:
        lines.insert(len(cut.head), gap_line(cut.hidden, cut.hidden_chars, lead))
    return lines


# ------------------------------------------------------------------------------------------------------------- notices


def ended_lines(result: TurnResult, look: Look) -> list[Line]:
    """Nothing for a turn that went well; the header says its cost."""
    if result.kind is TurnResultKind.SUCCESS:
        return []
    if result.kind is TurnResultKind.INTERRUPTED:
        return [Line(((f"{look.glyphs.ended} interrupted", "dim"),), ours=True)]
    said = "the turn ended with an error"
    if result.failure is not None:
        said = failure(result.failure, look.agent, resets_at=result.resets_at)
    lines = [Line(((f"{look.glyphs.ended} ", "bad"), (said, "bad")), hang=("  ", ""), ours=True)]
    told = result.failure_text.strip()
    if told:
        lines.extend(_text_lines(told, "dim", ("  ", "")))
    return lines


def retry_words(event: RetryNotice) -> str:
    of = f" of {event.of}" if event.of is not None else ""
    wait = f" in {event.wait_seconds:.0f}s" if event.wait_seconds else ""
    why = f": {one_line(event.why, 160)}" if event.why else ""
    return f"trying again{wait}, attempt {event.attempt}{of}{why}"


def limit_words(event: LimitNotice) -> tuple[str, str] | None:
    """The line and its style; None while all is well."""
    kind = one_line(event.kind.replace("_", " "), 60)
    used = f", {event.used_fraction * 100:.0f} % used" if event.used_fraction is not None else ""
    reset = f", until {clock(event.resets_at * 1000)}" if event.resets_at else ""
    if event.status == "rejected":
        return f"the account's limit is reached ({kind}{reset})", "bad"
    if event.status == "warning":
        return f"near the account's limit ({kind}{used}{reset})", "dim"
    return None


def compacted_words(event: Compacted) -> str:
    if event.before is not None and event.after is not None:
        after = f"{_thousands(event.after)} {noun(event.after, 'token')}"
        return f"the conversation was shortened: {_thousands(event.before)} → {after}"
    if event.before is not None:
        return f"the conversation was shortened: it had {_thousands(event.before)} {noun(event.before, 'token')}"
    return "the conversation was shortened"


def _thousands(tokens: int) -> str:
    return f"{tokens / 1000:.0f}k" if tokens >= 1000 else str(tokens)


def background_words(task: BackgroundTask) -> str | None:
    said = {"done": "has ended", "failed": "failed", "stopped": "was stopped"}.get(task.state)
    return f"the background task {said}: {one_line(task.title, 160)}" if said else None


def unreadable_words(lines: int, size: int) -> str:
    what = "unreadable line kept" if lines == 1 else f"{plural(lines, 'unreadable line')} kept"
    return f"{what} ({size:,} {noun(size, 'byte')})" if size < 10_000 else f"{what} ({volume(size)})"


def thought_words(ms: int | None, *, done: bool) -> str:
    if not done:
        return "thinking"
    if ms is None or ms < 3_000:
        return "thought for a moment"
    return f"thought for {ms // 1000}s" if ms < 60_000 else f"thought for {ms // 60_000}m{ms // 1000 % 60:02d}s"


def tree_of(session: SessionView) -> str:
    return session.tree or session.repository


def notice_lines(text: str, style: str = "dim") -> list[Line]:
    """A notice in the agent's own words."""
    return _text_lines(text, style, ("  ", ""))
