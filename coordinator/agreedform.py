"""What is agreed to, as it is stored: canonical JSON of one value, read again and compared field by field.

Of a run's terms and of those for several attempts alike. Pure; which fields matter when is not known here.
"""

from collections.abc import Callable
from typing import TypeVar

import msgspec
from msgspec import Struct

from store.canonical import dumps
from store.refusal import Refusal
from store.vocab import RefusalReason

V = TypeVar("V", bound=Struct)


def canonical(agreed: object) -> str:
    return dumps(msgspec.to_builtins(agreed))


def parse(kind: type[V], stored: str) -> V | Refusal:
    """``kind``: a Struct. An unknown or missing field, or a wrong type, is ``terms-unreadable``."""
    try:
        raw = msgspec.json.decode(stored.encode())
        extra = set(raw) - set(kind.__struct_fields__) if isinstance(raw, dict) else set()
        if extra:
            return Refusal(RefusalReason.TERMS_UNREADABLE, {"problem": f"unknown field {sorted(extra)[0]}"})
        return msgspec.convert(raw, kind)
    except (msgspec.DecodeError, msgspec.ValidationError, UnicodeEncodeError) as problem:
        return Refusal(RefusalReason.TERMS_UNREADABLE, {"problem": str(problem)})


def first_difference(agreed: V, actual: V, said: Callable[[object], str] = str) -> Refusal | None:
    """The first field in which what would be is not what was agreed to: ``terms-moved``. ``said``: a value as text."""
    for name in type(agreed).__struct_fields__:
        was, now = getattr(agreed, name), getattr(actual, name)
        if was != now:
            return Refusal(RefusalReason.TERMS_MOVED, {"field": name, "was": said(was), "is": said(now)})
    return None
