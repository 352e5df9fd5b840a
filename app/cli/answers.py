"""What an operator types as an answer, into the answer that is stored and sent. Pure; for ``answer`` and ``--plain``.

Choices are numbers or the choices' own words, ``1=2 2=1,3`` for several questions. What cannot be meant is a
refusal that names the choices; nothing is ever guessed, and nothing has a default.
"""

import re
from collections.abc import Sequence

from msgspec import Struct

from coordinator.drivers.base import Allow, Answer, Chosen, Deny, Offer, OfferKind, Question, QuestionReply
from coordinator.offering import numbered
from store.refusal import Refusal
from store.vocab import DecisionKind, RefusalReason

_ALLOW = ("1", "allow", "yes", "y", "approve", "once")
_DENY = ("2", "3", "deny", "no", "n", "reject")
_ALLOW_RUN = ("4", "allow-run", "allow-for-run", "run")


class Asked(Struct, frozen=True, kw_only=True):
    """As much of a decision as an answer must fit."""

    kind: DecisionKind
    questions: tuple[Question, ...] = ()
    rule: str | None = None
    offers: tuple[Offer, ...] = ()
    """The agent's own options, where it gives some."""


def options(asked: Asked) -> dict[int, str]:
    """The choices of a permission or a plan, in words, by their numbers."""
    if asked.kind is DecisionKind.PLAN:
        return {1: "approve", 2: "send back (add a note to say what you want otherwise)"}
    if asked.kind is DecisionKind.PERMISSION and asked.offers:
        return {digit: _offer(one) for digit, one in numbered(asked.offers)}
    if asked.kind is DecisionKind.PERMISSION:
        rule = {4: f"allow for this run: {asked.rule}"} if asked.rule else {}
        return {1: "allow once", 2: "deny", 3: "deny, and say why in a note", **rule}
    return {}


def _offer(offer: Offer) -> str:
    return f"{offer.label}: {offer.covers}" if offer.covers else offer.label


def read(asked: Asked, choices: Sequence[str], *, note: str = "", text: str | None = None) -> Answer | Refusal:
    """The answer that these words are."""
    if asked.kind in (DecisionKind.QUESTION, DecisionKind.PARK):
        return _reply(asked.questions, choices, note=note, text=text)
    if text is not None:
        return _not_an_option("--text", asked)
    word = " ".join(choices).strip().lower()
    if word == "3" and asked.kind is DecisionKind.PLAN:
        return _not_an_option(word, asked)
    if asked.offers:
        taken = _taken(asked.offers, word)
        # A reason would be lost: these agents take none with an answer.
        return (
            _not_an_option("a note", asked) if note and taken else (taken or _not_an_option(word or "nothing", asked))
        )
    if word in _ALLOW:
        return Allow()
    if word in _DENY:
        return Deny(message=note)
    if word in _ALLOW_RUN and asked.rule:
        return Allow(for_run=True)
    return _not_an_option(word or "nothing", asked)


def _taken(offers: Sequence[Offer], word: str) -> Answer | None:
    for digit, offer in numbered(offers):
        if word in (str(digit), offer.label.lower(), offer.id.lower()):
            return Chosen(offer=offer.id)
    kinds: tuple[tuple[OfferKind, Sequence[str], Answer], ...] = (
        (OfferKind.ALLOW, _ALLOW[1:], Allow()),
        (OfferKind.DENY, _DENY[2:], Deny()),
        (OfferKind.DENY_STOP, _DENY[2:], Deny(interrupt=True)),
        (OfferKind.ALLOW_RUN, _ALLOW_RUN[1:], Allow(for_run=True)),
    )
    return next(
        (meant for kind, said, meant in kinds if word in said and any(one.kind is kind for one in offers)), None
    )


def read_line(asked: Asked, line: str) -> Answer | Refusal:
    """One line of stdin: ``CHOICE…[; note: …]`` or ``text: …``."""
    free = re.match(r"\s*text:\s*(.*)", line, re.IGNORECASE | re.DOTALL)
    if free:
        return read(asked, (), text=free.group(1))
    head, _, tail = line.partition(";")
    note = ""
    if tail.strip():
        found = re.match(r"\s*note:\s*(.*)", tail, re.IGNORECASE | re.DOTALL)
        # Without "note:" the semicolon is part of the answer's own words.
        head, note = (head, found.group(1)) if found else (line, "")
    return read(asked, head.split(), note=note)


def _reply(
    questions: Sequence[Question], choices: Sequence[str], *, note: str, text: str | None
) -> QuestionReply | Refusal:
    if text is not None:
        if not text.strip():
            return Refusal(RefusalReason.UNANSWERED_QUESTIONS, {"n": 1, "of": len(questions)})
        if len(questions) > 1:
            return Refusal(RefusalReason.UNANSWERED_QUESTIONS, {"questions": _list(questions[1:])})
        return QuestionReply(
            answers={questions[0].text: (text,)} if questions else {}, note=note or ("" if questions else text)
        )
    words = " ".join(choices).strip()
    if not questions:
        return QuestionReply(answers={}, note=note or words)
    if len(questions) == 1:
        keyed = re.fullmatch(r"1=(.*)", words, re.DOTALL)
        chosen = _chosen(questions[0], keyed.group(1) if keyed else words)
        return chosen if isinstance(chosen, Refusal) else QuestionReply(answers={questions[0].text: chosen}, note=note)
    return _form(questions, words, note)


def _form(questions: Sequence[Question], words: str, note: str) -> QuestionReply | Refusal:
    answers: dict[str, tuple[str, ...]] = {}
    # "1=2 2=1,3": a part reaches to the next "number=".
    parts = re.findall(r"(\d+)=(.*?)(?=\s+\d+=|$)", words, re.DOTALL)
    rest = re.sub(r"(\d+)=(.*?)(?=\s+\d+=|$)", "", words, flags=re.DOTALL).strip()
    if rest:
        return Refusal(RefusalReason.NOT_AN_OPTION, {"choice": rest, "choices": "1=… 2=… for each question"})
    for number, given in parts:
        if not 1 <= int(number) <= len(questions):
            return Refusal(
                RefusalReason.NOT_AN_OPTION, {"choice": f"question {number}", "choices": f"1 to {len(questions)}"}
            )
        question = questions[int(number) - 1]
        if question.text in answers:
            return Refusal(RefusalReason.NOT_AN_OPTION, {"choice": f"{number}= twice"})
        chosen = _chosen(question, given.strip())
        if isinstance(chosen, Refusal):
            return chosen
        answers[question.text] = chosen
    open_ = [question for question in questions if question.text not in answers]
    if open_:
        return Refusal(RefusalReason.UNANSWERED_QUESTIONS, {"n": len(open_), "questions": _list(open_)})
    return QuestionReply(answers=answers, note=note)


def _chosen(question: Question, given: str) -> tuple[str, ...] | Refusal:
    labels = [choice.label for choice in question.choices]
    if not given:
        return Refusal(RefusalReason.UNANSWERED_QUESTIONS, {"n": 1, "questions": question.header or question.text})
    if not labels:
        return (given,)
    whole = _label(labels, given)
    found = [whole] if whole else [_label(labels, part.strip()) for part in given.split(",")]
    chosen = [label for label in found if label is not None]
    if len(chosen) != len(found):
        return Refusal(RefusalReason.NOT_AN_OPTION, {"choice": given, "choices": _numbered(labels)})
    if len(chosen) > 1 and not question.multiple:
        return Refusal(
            RefusalReason.NOT_AN_OPTION, {"choice": f"{given} (only one may be chosen)", "choices": _numbered(labels)}
        )
    return tuple(dict.fromkeys(chosen))


def _label(labels: Sequence[str], given: str) -> str | None:
    if given.isascii() and given.isdigit():
        return labels[int(given) - 1] if 1 <= int(given) <= len(labels) else None
    return next((label for label in labels if label.casefold() == given.casefold()), None)


def _list(questions: Sequence[Question]) -> str:
    return ", ".join(question.header or question.text for question in questions)


def _numbered(labels: Sequence[str]) -> str:
    return ", ".join(f"{number} {label}" for number, label in enumerate(labels, 1))


def _not_an_option(given: str, asked: Asked) -> Refusal:
    choices = ", ".join(f"{number} {option.split(' (')[0]}" for number, option in options(asked).items())
    return Refusal(RefusalReason.NOT_AN_OPTION, {"choice": given, "choices": choices})
