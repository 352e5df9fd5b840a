"""The decision card: what it says, its options, how it folds, and whether its options are alive. Pure.

The rules of the card (console.md) that concern what is shown are here; those that concern keys are in ``presses`` and
in the widget. No option is ever marked as the default.
"""

import json
import posixpath
from typing import Any

from msgspec import Struct

from app.console.views import form as forms
from app.console.views.diff import diff_of_input, diff_rows, looks_like_diff
from app.console.views.form import Form
from app.console.views.glyphs import Glyphs
from app.console.views.ink import Line, Span, cells, cut, flow, indent, literal, one_line, sides, wrap
from app.wording import plural, short_path
from coordinator.api import DecisionView, SessionView
from coordinator.drivers.asks import OfferKind
from coordinator.offering import numbered, uncovered
from store.vocab import DecisionKind


class Option(Struct, frozen=True, kw_only=True):
    key: str
    label: str
    verb: str
    """What the widget does with it: ``allow``, ``deny-why`` …"""
    choice: int = 0
    offer: str = ""
    """Id of the agent's own option."""
    safe: bool = False
    """It lets nothing happen: it may be taken before the end of the card was seen."""


class Face(Struct, frozen=True, kw_only=True):
    """All that a card says, before it is fitted to its room."""

    head: str
    body: tuple[Line, ...]
    facts: tuple[Span, ...]
    options: tuple[Option, ...]
    reach: tuple[Span, ...] = ()
    """Facts that change what an answer means: where there is no room for them they are part of what folds."""
    listed: bool = False
    """The options stand in the body already, one a row, as choices do."""
    hint: str = ""


def command_of(given: dict[str, Any]) -> str | None:
    command = given.get("command")
    return command if isinstance(command, str) else None


def offers_rule(decision: DecisionView) -> bool:
    return decision.rule is not None and uncovered(decision.input) is None


def editable_text(decision: DecisionView) -> str:
    """What ``e`` opens: the command alone where there is one, else the whole input as JSON."""
    command = command_of(decision.input)
    if command is not None:
        return command
    return json.dumps(decision.input, indent=2, ensure_ascii=False)


def edited_input(decision: DecisionView, text: str) -> dict[str, Any] | str:
    """The input as edited, whole; a sentence where it can not be read."""
    if command_of(decision.input) is not None:
        if not text.strip():
            return "the command is empty: write one, or Esc to leave it as it was"
        return {**decision.input, "command": text}
    try:
        value = json.loads(text)
    except ValueError as problem:
        return f"this is not JSON ({problem}): mend it, or Esc to leave the input as it was"
    if not isinstance(value, dict):
        return "the input must stay a JSON object: mend it, or Esc to leave it as it was"
    return value


def face_of(
    decision: DecisionView,
    form: Form | None,
    edited: str | None,
    session: SessionView,
    width: int,
    glyphs: Glyphs,
    home: str = "",
) -> Face:
    match decision.kind:
        case DecisionKind.PERMISSION:
            return _permission(decision, edited, session, width, home)
        case DecisionKind.PLAN:
            body = _text_rows(decision.subject or decision.title, width)
            options = (
                Option(key="1", label="approve the plan", verb="approve"),
                Option(key="2", label="send it back, saying what to change", verb="revise"),
            )
            return Face(
                head=one_line(decision.title) or "Approve this plan?",
                body=body,
                facts=_facts(decision),
                options=options,
            )
        case DecisionKind.QUESTION | DecisionKind.PARK:
            return _question(decision, form, width, glyphs)


def _text_rows(text: str, width: int) -> tuple[Line, ...]:
    return tuple((Span(row, "text"),) for row in wrap(literal(text, newlines=True), width))


def _permission(decision: DecisionView, edited: str | None, session: SessionView, width: int, home: str) -> Face:
    # What a digit means never moves: who denies with 2 by habit must not find another thing there.
    options = [
        Option(key="1", label="allow once" if edited is None else "allow once, as edited", verb="allow"),
        Option(key="2", label="deny", verb="deny", safe=True),
        Option(key="3", label="deny, and say why", verb="deny-why", safe=True),
    ]
    facts = list(_facts(decision))
    facts.insert(0, Span(f"in {one_line(short_path(session.tree, home))}", "grey"))
    reach: list[Span] = []
    if decision.blocked_path:
        inside = _inside(decision.blocked_path, session.tree)
        words = "it asks because of" if inside else "outside what it may touch:"
        reach.append(Span(f"{words} {one_line(decision.blocked_path)}", "grey" if inside else "amber"))
    sign = uncovered(decision.input)
    if decision.offers:
        options = [
            Option(
                key=str(digit),
                label=one_line(offer.label),
                verb="offer",
                offer=offer.id,
                safe=offer.kind in (OfferKind.DENY, OfferKind.DENY_STOP),
            )
            for digit, offer in numbered(decision.offers)
        ]
        wide = [(digit, one) for digit, one in numbered(decision.offers) if one.kind is OfferKind.ALLOW_RUN]
        reach += [Span(f"{digit} covers: {one_line(one.covers)}", "text") for digit, one in wide if one.covers]
    elif offers_rule(decision) and edited is None:
        uses = decision.rule_uses
        used = f", used {plural(uses, 'time')} so far" if uses else ", not used yet"
        options.append(Option(key="4", label="allow for this run", verb="allow-run"))
        reach.append(Span(f"4 covers: {one_line(decision.rule or '')}{used}", "text"))
    if sign is not None and session.terms is not None and session.terms.rules:
        # Where none was agreed to, none could be missed.
        named = "a new line" if sign == chr(10) else f"`{sign}`"
        facts.append(Span(f"rules never answer a command with {named}", "grey"))
    return Face(
        head=one_line(decision.title) or "Allow this?",
        body=_subject_rows(decision, edited, width),
        facts=tuple(facts),
        reach=tuple(reach),
        options=tuple(options),
        hint=f"e edit {'its input' if command_of(decision.input) is None else 'the command'}"
        if decision.editable
        else "",
    )


def _inside(path: str, tree: str) -> bool:
    """By its name: some agents tell of a path that they guard themselves, in the tree too."""
    whole = posixpath.normpath(posixpath.join(tree, path))
    return not path.startswith("~") and (whole == tree or whole.startswith(tree.rstrip("/") + "/"))


def _subject_rows(decision: DecisionView, edited: str | None, width: int) -> tuple[Line, ...]:
    if edited is not None:
        rows = [(Span("edited by you:", "amber"),)]
        return (*rows, *_text_rows(edited, width))
    subject = decision.subject
    if looks_like_diff(subject):
        return tuple(diff_rows(subject, width))
    change = diff_of_input(decision.input)
    if change is not None:
        return (*_bright_rows(subject, width), *diff_rows(change, width))
    if not subject:
        # An agent may ask with next to nothing; it stays answerable, and what there is is shown whole.
        subject = (
            json.dumps(decision.input, indent=2, ensure_ascii=False) if decision.input else "(the agent says no more)"
        )
    return _bright_rows(subject, width)


def _bright_rows(text: str, width: int) -> tuple[Line, ...]:
    return tuple((Span(row, "bright"),) for row in wrap(literal(text, newlines=True), width)) if text else ()


def _facts(decision: DecisionView) -> tuple[Span, ...]:
    facts: list[Span] = []
    if decision.agent:
        facts.append(Span(f"asked by its sub-agent {one_line(decision.agent)}", "grey"))
    if decision.why:
        facts.append(Span(one_line(decision.why), "grey"))
    return tuple(facts)


def _question(decision: DecisionView, form: Form | None, width: int, glyphs: Glyphs) -> Face:
    if form is None or not form.questions:
        body = _text_rows(decision.subject or decision.title, width)
        options = (Option(key="1", label="answer in your own words", verb="own-words"),)
        return Face(head=one_line(decision.title) or "It asks you", body=body, facts=_facts(decision), options=options)
    question = form.questions[form.at]
    count = len(form.questions)
    # One word ("Order") by itself reads like a command.
    about = one_line(question.header or decision.title)
    head = f"It asks you: {about}" if about else "It asks you"
    if count > 1:
        head = f"{head} ({form.at + 1} of {count})"
    rows: list[Line] = list(_bright_rows(question.text, width))
    options_list: list[Option] = []
    for index, choice in enumerate(question.choices):
        picked = index in form.chosen[form.at]
        mark = ("[x] " if picked else "[ ] ") if question.multiple else (f"{glyphs.done} " if picked else "")
        at = glyphs.prompt if form.cursor == index else " "
        key = str(index + 1) if index < 8 else " "
        if key != " ":
            options_list.append(Option(key=key, label=one_line(choice.label), verb="choose", choice=index))
        label = f"{at}{key} {mark}{one_line(choice.label)}"
        ink = "green" if picked else "text"
        rows += [(Span(row, ink),) for row in wrap(label, width)]
        if choice.description:
            rows += [
                indent((Span(row, "grey"),), 3) for row in wrap(literal(choice.description, newlines=True), width - 3)
            ]
    own = form.free[form.at]
    number = str(min(len(question.choices), 8) + 1)
    options_list.append(Option(key=number, label="in your own words", verb="own-words"))
    words = f" {number} " + (f"in your own words: {one_line(own)}" if own else "in your own words …")
    rows += [(Span(row, "green" if own else "text"),) for row in wrap(words, width)]
    facts = [Span(f"note to it: {one_line(form.note)}", "green")] if form.note else []
    hint = "Enter sends" if not forms.simple(form) else ""
    if question.multiple:
        # Short, for the keys after it (note, back) must fit beside it on a card of 56 cells.
        hint = f"Space, 1–{number} choose   Enter sends"
    if count > 1:
        hint += "   ← →"
    return Face(
        head=head,
        body=tuple(rows),
        facts=(*facts, *_facts(decision)),
        options=tuple(options_list),
        listed=True,
        hint=hint.strip(),
    )


def unanswered_words(form: Form) -> str:
    names = [
        f"“{one_line(form.questions[index].header or form.questions[index].text)}”" for index in forms.unanswered(form)
    ]
    return f"not answered: {', '.join(names)}. Enter again sends it so"


class CardState(Struct, frozen=True, kw_only=True):
    """How a card stands just now, beside what it says."""

    focused: bool
    offset: int = 0
    seen: int = 0
    """Rows of the body that have been on the screen, counted from the top."""
    place: int = 1
    count: int = 1
    waited: str = ""
    said: str = ""
    """What the operator is told about his last key."""
    busy: str = ""
    writing: str = ""
    """What Enter does with the text that is being written on it."""
    draft: bool = False
    """There is one in the composer."""
    others: bool = False


class CardPicture(Struct, frozen=True, kw_only=True):
    lines: tuple[Line, ...]
    body_rows: int
    """Rows of the body in view."""
    max_offset: int
    alive: bool
    """The end of the body was seen: the options may be used."""


def card_picture(face: Face, state: CardState, width: int, height: int, glyphs: Glyphs) -> CardPicture:
    """Fit a face to at most ``height`` rows. What does not fit folds: the body scrolls, options wait for its end."""
    inner = max(width - 2, 10)
    options = [] if face.listed else _option_rows(face, inner, state)
    body, facts, reach = _fitted(face, inner, height - 1 - len(options) - 1)
    body_rows = min(len(body), max(height - 1 - len(options) - 1 - len(facts) - len(reach), 1))
    folded = body_rows < len(body)
    if folded:
        body_rows = max(body_rows - 1, 1)
    max_offset = max(len(body) - body_rows, 0)
    offset = min(state.offset, max_offset)
    alive = not folded or max(state.seen, offset + body_rows) >= len(body)
    if not alive and not face.listed:
        options = _option_rows(face, inner, state, only_safe=True)
    place = f"{state.place} of {state.count} · waiting {state.waited}"
    lines: list[Line] = [
        sides(
            (Span(f"{glyphs.needs} ", "amber"), Span(face.head.upper(), "amber strong")), (Span(place, "grey"),), width
        )
    ]
    lines += [indent(row, 2) for row in body[offset : offset + body_rows]]
    if folded:
        lines.append(indent(_fold_row(len(body) - offset - body_rows, inner, alive=alive), 2))
    lines += [indent(row, 2) for row in facts]
    lines += [indent(_dim(row) if state.busy else row, 2) for row in options]
    lines += [indent(row, 2) for row in reach]
    lines.append(indent(_foot(face, state, inner, glyphs, folded=folded), 2))
    return CardPicture(lines=tuple(lines), body_rows=body_rows, max_offset=max_offset, alive=alive)


def _fitted(face: Face, width: int, room: int) -> tuple[tuple[Line, ...], list[Line], list[Line]]:
    """The body, the facts under it, and what an answer reaches. What only explains gives way; the last never does."""
    body = face.body
    while body and not "".join(span.text for span in body[-1]).strip():
        body = body[:-1]
    facts, reach = _fact_rows(face.facts, width), _fact_rows(face.reach, width)
    while facts and room - len(facts) - len(reach) < min(len(body), 3):
        facts = facts[:-1]
    if reach and room - len(reach) < min(len(body), 3):
        return (*body, *reach), facts, []
    return body, facts, reach


def _fold_row(below: int, width: int, *, alive: bool) -> Line:
    if not below:
        return (Span("this is the end; ↑ goes back", "grey"),)
    more = plural(below, "more row")
    if alive:
        return (Span(cut(f"{more}: ↓", width), "amber"),)
    words = f"{more}: ↓ or PgDn to the end, then answer"
    return (Span(words if len(words) <= width else cut(f"{more}: ↓, then answer", width), "amber"),)


def _fact_rows(facts: tuple[Span, ...], width: int) -> list[Line]:
    parts: list[Line] = []
    for fact in facts:
        parts += [(Span(row, fact.ink),) for row in wrap(fact.text, width)]
    return flow(parts, width) if parts else []


def _option_rows(face: Face, width: int, state: CardState, *, only_safe: bool = False) -> list[Line]:
    """In full colour what a key would do just now; the rest in grey."""
    parts: list[Line] = []
    for option in face.options:
        on = state.focused and (option.safe or not only_safe)
        parts.append(
            (Span(f"{option.key} ", "blue strong" if on else "grey"), Span(option.label, "text" if on else "grey"))
        )
    if face.hint:
        key, _, rest = face.hint.partition(" ")
        on = state.focused and not only_safe
        parts.append((Span(f"{key} ", "blue strong" if on else "grey"), Span(rest, "text" if on else "grey")))
    return flow(parts, width, gap=4 if width >= 70 else 2)


def _dim(row: Line) -> Line:
    return tuple(Span(span.text, "grey") for span in row)


def _foot(face: Face, state: CardState, width: int, glyphs: Glyphs, *, folded: bool) -> Line:
    if state.busy:
        return (Span(state.busy, "grey"),)
    if state.said:
        return (Span(cut(state.said, width), "amber"),)
    if state.writing:
        return (Span(cut(f"Enter {state.writing}   Esc back", width), "text"),)
    right: Line = (Span("o open all", "grey"),) if folded and state.focused else ()
    if not state.focused:
        words = f"{glyphs.waiting_key} to answer here" + (" · your draft stays" if state.draft else "")
        return (Span(glyphs.waiting_key, "blue strong"), Span(cut(words, width)[len(glyphs.waiting_key) :], "text"))
    else:
        parts = [face.hint] if face.listed and face.hint else []
        parts += ["n add a note"] if face.listed else []
        parts += ["[ ] other waiting ones"] if state.others else []
        parts.append("Esc back")
        # Whole or not at all: the row of hints below tells of Esc and of the others too.
        while len(parts) > 1 and cells((Span("   ".join(parts), "grey"),)) + cells(right) >= width:
            parts.pop()
        words = "   ".join(parts)
    row = sides((Span(words, "grey"),), right, width)
    return row if cells(row) else ()
