"""An agent's own options: an answer is sent as one of them, never as a wider or a narrower one."""

from itertools import permutations

import pytest

from coordinator import decisioncodec, offering
from coordinator.drivers.base import Allow, Answer, Chosen, DecisionAsked, Deny, Offer, OfferKind
from store.refusal import Refusal
from store.vocab import DecisionKind, RefusalReason

ONCE = Offer(id="a", label="Yes", kind=OfferKind.ALLOW)
SECOND = Offer(id="b", label="Yes, and watch", kind=OfferKind.ALLOW)
ALWAYS = Offer(id="c", label="Always", kind=OfferKind.ALLOW_RUN, covers="every command")
NO = Offer(id="d", label="No", kind=OfferKind.DENY)
CANCEL = Offer(id="e", label="Cancel", kind=OfferKind.DENY_STOP)


def asked(*offers: Offer) -> DecisionAsked:
    return DecisionAsked(request="r", kind=DecisionKind.PERMISSION, title="Run a command?", offers=offers)


@pytest.mark.parametrize(
    ("given", "offer"),
    [
        (Allow(), "a"),
        (Allow(for_run=True), "c"),
        (Deny(), "d"),
        (Deny(interrupt=True), "e"),
        (Chosen(offer="b"), "b"),
    ],
)
def test_an_answer_is_the_first_offer_of_its_kind(given: Answer, offer: str) -> None:
    found = decisioncodec.as_offered(given, asked(ONCE, SECOND, ALWAYS, NO, CANCEL))
    assert found == Chosen(offer=offer)
    assert decisioncodec.decode_answer(decisioncodec.encode_answer(found)) == found


@pytest.mark.parametrize(
    ("given", "offers"),
    [
        (Allow(), (ALWAYS, NO)),
        (Allow(for_run=True), (ONCE, NO)),
        (Deny(), (ONCE, ALWAYS)),
        (Deny(interrupt=True), (ONCE, NO)),
        (Deny(message="because"), (ONCE, NO)),
        (Allow(edited_input={"command": "ls"}), (ONCE, NO)),
    ],
)
def test_what_it_does_not_offer_is_refused(given: Answer, offers: tuple[Offer, ...]) -> None:
    found = decisioncodec.as_offered(given, asked(*offers))
    assert isinstance(found, Refusal)
    assert found.reason is RefusalReason.NOT_AN_OPTION


def test_a_plain_no_is_the_only_no_there_is() -> None:
    assert decisioncodec.as_offered(Deny(), asked(ONCE, CANCEL)) == Chosen(offer="e")


def test_an_offer_of_another_request_is_no_option() -> None:
    refused = decisioncodec.check_answer(Chosen(offer="z"), asked(ONCE, NO))
    assert refused is not None
    assert refused.reason is RefusalReason.NOT_AN_OPTION
    assert decisioncodec.check_answer(Chosen(offer="a"), asked()) is not None
    assert decisioncodec.check_answer(Allow(), asked(ONCE)) is not None


def test_the_words_say_what_kind_it_was_and_by_what_name() -> None:
    shown = asked(ONCE, ALWAYS, NO, CANCEL)
    said = [decisioncodec.words(Chosen(offer=offer.id), shown) for offer in shown.offers]
    assert decisioncodec.words(Chosen(offer="b"), asked(SECOND)) == "allowed once: Yes, and watch"
    assert said == [
        "allowed once",
        "allowed for this run: Always",
        "denied",
        "denied, and its turn ended",
    ]


def test_what_a_digit_means_does_not_depend_on_the_agents_order() -> None:
    for order in permutations((ONCE, ALWAYS, NO, CANCEL)):
        digits = dict(offering.numbered(order))
        assert (digits[1], digits[2]) == (ONCE, NO)
        assert 3 not in digits
        assert {digits[4], digits[5]} == {ALWAYS, CANCEL}
    assert dict(offering.numbered((ALWAYS, CANCEL))) == {2: CANCEL, 4: ALWAYS}
    many = [Offer(id=str(n), label=str(n), kind=OfferKind.ALLOW) for n in range(20)]
    assert [digit for digit, _ in offering.numbered(many)] == [1, 4, 5, 6, 7, 8, 9]


@pytest.mark.parametrize("sign", offering.UNCOVERED)
def test_what_no_rule_could_hold_is_not_allowed_for_the_run(sign: str) -> None:
    shown = DecisionAsked(
        request="r",
        kind=DecisionKind.PERMISSION,
        title="Run a command?",
        input={"command": f"pytest {sign} x"},
        offers=(ONCE, ALWAYS, NO),
    )
    assert offering.offered(shown) == (ONCE, NO)
    assert decisioncodec.check_answer(Chosen(offer="c"), shown) is not None
    assert isinstance(decisioncodec.as_offered(Allow(for_run=True), shown), Refusal)
