"""The turn that is being read: what happened in it, what it used, how it ended. Pure but for the order of its calls."""

import hashlib
from collections.abc import Callable

from msgspec import Struct, field

from coordinator.prices import Prices, Tokens
from coordinator.review.importing.claude import COMPACT, LOCAL
from coordinator.review.importing.said import Begins, Ends, Spends
from store.imported import ImportedTurn, TurnDigest
from store.vocab import CostKnowledge, MicroUsd, Millis, TurnId, TurnResultKind


def turn_id(identity: str, place: int) -> TurnId:
    """Made of where it stands, so that an import that was cut off goes on in the same turn."""
    made = hashlib.sha256(f"{identity}\n{place}".encode("utf-8", "replace")).hexdigest()
    return TurnId("-".join((made[:8], made[8:12], made[12:16], made[16:20], made[20:32])))


class OpenTurn(Struct, kw_only=True):
    id: TurnId
    begins: Begins
    began: Millis
    digest: TurnDigest = field(default_factory=TurnDigest)
    through: int = 0
    """Row id of its newest event in the ledger."""
    resumed: bool = False
    """Some of it was written before the import was cut off."""
    _last: Millis = Millis(0)
    _worked: bool = False
    _end: Ends | None = None
    _duration: int | None = None
    _spent: dict[str, tuple[str, Tokens]] = field(default_factory=dict)

    def worked(self, at: Millis) -> None:
        self._worked = True
        self._last = max(self._last, at)

    def ends(self, end: Ends) -> None:
        """The first bad end counts: what comes after it says at most how long it took."""
        if end.subtype == LOCAL and self._worked:
            return  # the output of a command that nobody noted, after a turn of the model's
        self._duration = end.duration_ms if end.duration_ms is not None else self._duration
        if self._end is None or self._end.kind is TurnResultKind.SUCCESS:
            self._end = end

    def spends(self, spent: Spends) -> None:
        was = self._spent.get(spent.answer)
        self._spent[spent.answer] = (spent.model, spent.tokens if was is None else was[1].larger(spent.tokens))

    def has_spent(self, answer: str) -> bool:
        return answer in self._spent

    def over(
        self, prices: Prices, *, text: str, keyed: str, operator: str, followed: bool, redact: Callable[[str], str]
    ) -> ImportedTurn:
        """``followed``: more was said to the agent after it."""
        end = self._end
        result: TurnResultKind | None = TurnResultKind.SUCCESS
        if end is not None:
            result = end.kind
        elif not self._worked:
            result = TurnResultKind.SUCCESS if followed else None
        total = sum((tokens for _, tokens in self._spent.values()), Tokens())
        told = bool(self._spent)
        cost, known = self._cost(prices, merged=followed and end is None and not self._worked)
        last = max(self._last, self.began)
        duration = self._duration if self._duration is not None else last - self.began
        return ImportedTurn(
            id=self.id,
            source=self.begins.source,
            text=text,
            keyed=keyed,
            operator=operator,
            began=self.began,
            ended=last,
            result=result,
            subtype="" if end is None else end.subtype,
            failure=None if end is None else end.failure,
            failure_text="" if end is None else redact(end.text),
            cost=cost,
            cost_known=known,
            input_tokens=total.fresh if told else None,
            output_tokens=total.said if told else None,
            cache_read_tokens=total.read if told else None,
            cache_write_tokens=total.written + total.written_long if told else None,
            duration_ms=min(duration, 1 << 52),
        )

    def _cost(self, prices: Prices, *, merged: bool) -> tuple[MicroUsd | None, CostKnowledge]:
        if merged:
            # Two lines in a row: the agent took them together, and the second one's answer has the cost of both.
            return MicroUsd(0), CostKnowledge.MERGED
        if not self._spent:
            # The program answered by itself. A summary, though, was made by a model, and nothing tells what it took.
            free = self._end is not None and self._end.subtype == LOCAL and not self.begins.text.startswith(COMPACT)
            return (MicroUsd(0), CostKnowledge.GUESS) if free else (None, CostKnowledge.UNKNOWN)
        by_model: dict[str, Tokens] = {}
        for model, tokens in self._spent.values():
            by_model[model] = by_model.get(model, Tokens()) + tokens
        money = 0
        for model, tokens in by_model.items():
            cost = prices.cost(model, tokens)
            if cost is None and tokens != Tokens():
                return None, CostKnowledge.UNKNOWN
            money += cost or 0
        return MicroUsd(money), CostKnowledge.GUESS
