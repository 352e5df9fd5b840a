"""A decision as it is shown and an answer as it was given, in the one form that is stored and hashed.

An answer counts only for exactly what was shown, so the payload is the whole of it, in canonical JSON, and its digest
is what an answer names. Also the words for an answer, so that the card, the command line, the ledger's history and
the turn that carries it all say the same. No state of a decision is decided here.
"""

from collections.abc import Callable, Mapping
from typing import Final, Literal

import msgspec

from coordinator import offering
from coordinator.drivers.base import Allow, Answer, Chosen, DecisionAsked, Deny, Offer, OfferKind, QuestionReply
from coordinator.eventcodec import redacted
from store.canonical import dumps
from store.refusal import Refusal
from store.vocab import DecisionKind, RefusalReason

_PAYLOAD: Final = msgspec.json.Decoder(DecisionAsked)
_ANSWERS: Final[Mapping[str, type[Allow] | type[Deny] | type[QuestionReply] | type[Chosen]]] = {
    "allow": Allow,
    "deny": Deny,
    "reply": QuestionReply,
    "chosen": Chosen,
}
_NAMES: Final = {cls: name for name, cls in _ANSWERS.items()}
RECOMMENDATION: Final = "recommendation"
"""Key in a park's ``input`` under which its recommendation stands."""
UNANSWERED: Final = "(unanswered)"
_OFFERED: Final = {
    OfferKind.ALLOW: "allowed once",
    OfferKind.ALLOW_RUN: "allowed for this run",
    OfferKind.DENY: "denied",
    OfferKind.DENY_STOP: "denied, and its turn ended",
}
_SAYS_NO_MORE: Final = frozenset(
    {"allow", "allow once", "yes", "deny", "deny, and end the turn", "reject", "reject once", "no", "cancel"}
)
"""Names of offers that only say again what kind of answer it was."""
_QUESTIONS: Final = (DecisionKind.QUESTION, DecisionKind.PARK)


def payload(event: DecisionAsked, redact: Callable[[str], str] | None = None) -> str:
    """Canonical JSON of all that is shown of a decision, redacted where a redactor is given."""
    return dumps(redacted(event, redact) if redact else event)


def view_parts(stored: str) -> DecisionAsked:
    """
    Raises:
        msgspec.DecodeError: this is no payload; only ``payload`` writes them.
    """
    return _PAYLOAD.decode(stored)


def encode_answer(answer: Answer) -> str:
    return dumps({"answer": _NAMES[type(answer)], "body": answer})


def decode_answer(stored: str) -> Answer:
    """
    Raises:
        msgspec.DecodeError: this is no stored answer; only ``encode_answer`` writes them.
    """
    envelope = msgspec.json.decode(stored, type=_Envelope)
    return msgspec.json.decode(envelope.body, type=_ANSWERS[envelope.answer])


class _Envelope(msgspec.Struct):
    answer: Literal["allow", "deny", "reply", "chosen"]
    body: msgspec.Raw


def words(answer: Answer, decision: DecisionAsked) -> str:
    """The answer for a person: ``allowed once``, ``denied: …``, ``Red; S, M (note: …)``."""
    match answer:
        case Allow():
            return _allowed(answer, decision)
        case Deny():
            if decision.kind is DecisionKind.PLAN:
                said = "sent back" if answer.message else "not approved"
            else:
                said = "denied"
            said = f"{said}: {answer.message}" if answer.message else said
            return f"{said} (and interrupted)" if answer.interrupt else said
        case QuestionReply():
            asked = [question.text for question in decision.questions] or list(answer.answers)
            chosen = "; ".join(", ".join(answer.answers.get(text, ())) or UNANSWERED for text in asked)
            return f"{chosen} (note: {answer.note})" if answer.note else chosen
        case Chosen():
            offer = offer_of(answer, decision)
            if offer is None:
                return "chosen"
            said = _OFFERED[offer.kind]
            return said if offer.label.casefold() in _SAYS_NO_MORE else f"{said}: {offer.label}"


def offer_of(answer: Chosen, decision: DecisionAsked) -> Offer | None:
    """The offer that was chosen; None where the decision has none of that id."""
    return next((offer for offer in offering.offered(decision) if offer.id == answer.offer), None)


def as_offered(answer: Answer, decision: DecisionAsked) -> Answer | Refusal:
    """The answer in the agent's own options, where it gave some: a plain *allow* is its first that allows once.

    ``not-an-option`` where it has none of the kind: an *allow* is never turned into a wider or a narrower one. A *deny*
    is the agent's only no, where that ends the turn as well.
    """
    if not decision.offers or isinstance(answer, Chosen | QuestionReply):
        return answer
    if isinstance(answer, Allow):
        if answer.edited_input is not None:
            return _not_an_option("edited_input", "not editable")
        wanted = OfferKind.ALLOW_RUN if answer.for_run else OfferKind.ALLOW
    else:
        if answer.message:
            return _not_an_option("message", "the agent takes no reason; deny, and say it as a turn")
        plain = any(one.kind is OfferKind.DENY for one in decision.offers) and not answer.interrupt
        wanted = OfferKind.DENY if plain else OfferKind.DENY_STOP
    offer = next((one for one in offering.offered(decision) if one.kind is wanted), None)
    return Chosen(offer=offer.id) if offer is not None else _not_an_option("answer", wanted.value)


def _allowed(answer: Allow, decision: DecisionAsked) -> str:
    if decision.kind is DecisionKind.PLAN:
        said = "approved"
    elif answer.for_run:
        said = f"allowed for this run: {decision.rule}" if decision.rule else "allowed for this run"
    else:
        said = "allowed once"
    return f"{said}, as edited" if answer.edited_input is not None else said


def check_answer(answer: Answer, decision: DecisionAsked) -> Refusal | None:
    """Whether this answer fits this decision at all; whether the decision still waits is the store's to say."""
    if isinstance(answer, QuestionReply) is not (decision.kind in _QUESTIONS):
        return _not_an_option("kind", type(answer).__name__)
    if isinstance(answer, Chosen):
        return None if offer_of(answer, decision) else _not_an_option("offer", answer.offer)
    if decision.offers and not isinstance(answer, QuestionReply):
        return _not_an_option("kind", type(answer).__name__)
    if isinstance(answer, Allow):
        if answer.for_run and decision.rule is None:
            return _not_an_option("for_run", "no rule was offered")
        if answer.edited_input is not None and not decision.editable:
            return _not_an_option("edited_input", "not editable")
    if isinstance(answer, QuestionReply):
        return _check_reply(answer, decision)
    return None


def _check_reply(reply: QuestionReply, decision: DecisionAsked) -> Refusal | None:
    questions = {question.text: question for question in decision.questions}
    for text, chosen in reply.answers.items():
        question = questions.get(text)
        if question is None:
            return _not_an_option("question", text)
        if len(chosen) > 1 and not question.multiple:
            return _not_an_option("choices", ", ".join(chosen))
    missing = [text for text in questions if not any(part.strip() for part in reply.answers.get(text, ()))]
    if len(missing) == len(questions) and not reply.note.strip():
        return Refusal(
            RefusalReason.UNANSWERED_QUESTIONS, {"n": len(missing), "of": len(questions), "first": missing[0]}
        )
    return None


def _not_an_option(field: str, given: str) -> Refusal:
    return Refusal(RefusalReason.NOT_AN_OPTION, {"field": field, "is": given})
