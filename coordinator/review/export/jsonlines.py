"""Every fact of a run as JSON lines, and reading them back: what comes back is equal to what was written.

One line for each record, in the order of ``store.excerpt``; its keys are the record's own. Stored documents (terms,
bodies, payloads) stand in the line as JSON, so that jq can look into them; one that is not spelled as we spell it, or
is very long, stands there as the text that it is, so that its hash can still be computed. The letters are all ASCII: a
terminal that shows the file obeys nothing in it.
"""

import base64
import json
from collections.abc import Iterable, Iterator
from enum import StrEnum
from types import UnionType
from typing import Any, Final, Union, get_args, get_origin, get_type_hints

import msgspec

from store.canonical import dumps
from store.excerpt import OF_RUN
from store.rows import Record, from_row, names
from store.verify import NOUNS

SCHEMA: Final = "footplate.export/1"
"""Grows when a reader of today could misread what is written; new kinds of line and new keys do not count."""
BEGIN: Final = "export"
END: Final = "end"

_NOUNS: Final[dict[type[Record], str]] = {kind: noun for noun, kind in NOUNS.items()}
TYPES: Final[dict[str, type[Record]]] = {_NOUNS.get(kind, kind.__name__.lower()): kind for kind in OF_RUN}
_TYPE_OF: Final = {kind: name for name, kind in TYPES.items()}
DOCUMENTS: Final = {
    "authorization": ("terms",),
    "decision": ("payload", "answer"),
    "receipt": ("body",),
    "command": ("body", "answer"),
    "entry": ("body",),
    "event": ("body",),
}
"""Columns that hold canonical JSON."""
LEFT_OUT: Final = {"custody": {"driver_state": None, "driver_offset": 0}}
"""Bookkeeping that tells nothing of the run: a driver's snapshot, and where it was taken."""
LONGEST: Final = 1_000_000


class Unreadable(ValueError):
    """A line that this version cannot read."""

    def __init__(self, n: int, problem: str) -> None:
        super().__init__(f"line {n}: {problem}")
        self.n = n
        self.problem = problem


def begin(*, ledger: str, runs: Iterable[int], redacted: bool, head: tuple[int, str]) -> str:
    """The first line. ``head``: number and hash of the ledger's newest entry, to be compared with a later look."""
    told = {"ledger": ledger, "runs": list(runs), "redacted": redacted, "seq": head[0], "head": head[1]}
    return _written({"type": BEGIN, "schema": SCHEMA, **told})


def end(*, lines: int, taken_out: Iterable[int]) -> str:
    """The last line: without it the file is not whole."""
    return _written({"type": END, "lines": lines, "taken_out": list(taken_out)})


def line(record: Record) -> str:
    name = _TYPE_OF[type(record)]
    told: dict[str, Any] = {"type": name}
    for column in names(type(record)):
        told[column] = getattr(record, column)
    told.update(LEFT_OUT.get(name, {}))
    for column in DOCUMENTS.get(name, ()):
        if told[column] is not None:
            told[column] = _opened(told[column])
    if isinstance(told.get("content"), bytes):
        told["content"] = _content(told["content"])
    return _written(told)


def read(lines: Iterable[str]) -> Iterator[Record]:
    """The records of an export.

    Raises:
        Unreadable: a line cannot be read, or the last one is missing.
    """
    n = 0
    last: dict[str, Any] = {}
    for n, text in enumerate(lines, 1):
        try:
            last = json.loads(text)
            kind = last["type"]
        except (ValueError, KeyError, TypeError, RecursionError) as error:
            raise Unreadable(n, str(error)) from error
        if n == 1 and (kind != BEGIN or last.get("schema") != SCHEMA):
            raise Unreadable(n, f"this is no {SCHEMA}")
        if kind in TYPES:
            try:
                yield _record(TYPES[kind], kind, last)
            except (KeyError, ValueError, TypeError) as error:
                raise Unreadable(n, str(error)) from error
    if last.get("type") != END or last.get("lines") != n:
        raise Unreadable(n, "the end is missing")


def _record(kind: type[Record], name: str, told: dict[str, Any]) -> Record:
    cells = []
    for column in names(kind):
        value = told[column]
        if column in DOCUMENTS.get(name, ()) and isinstance(value, dict | list):
            value = dumps(value)
        elif isinstance(value, dict):
            value = base64.b64decode(value["base64"]) if "base64" in value else value["text"].encode()
        cells.append(value)
    return from_row(kind, cells)


def _content(raw: bytes) -> dict[str, str]:
    try:
        return {"text": raw.decode()}
    except UnicodeDecodeError:
        return {"base64": base64.b64encode(raw).decode()}


def _opened(text: str) -> object:
    if len(text) > LONGEST or text[:1] not in ("{", "["):
        return text
    try:
        found = msgspec.json.decode(text)
        return found if dumps(found) == text else text
    except (ValueError, RecursionError, OverflowError, msgspec.MsgspecError):
        return text


def _written(told: dict[str, Any]) -> str:
    return json.dumps(told, ensure_ascii=True, separators=(",", ":")).replace("\x7f", "\\u007f") + "\n"


# ----------------------------------------------------------------------------------------------------------- schema


def schema() -> dict[str, Any]:
    """JSON Schema of a line, made from the records themselves."""
    begin_ = {
        "schema": {"const": SCHEMA},
        "ledger": {"type": "string"},
        "runs": {"type": "array", "items": {"type": "integer"}},
        "redacted": {"type": "boolean"},
        "seq": {"type": "integer"},
        "head": {"type": "string"},
    }
    end_ = {"lines": {"type": "integer"}, "taken_out": {"type": "array", "items": {"type": "integer"}}}
    kinds = {name: _properties(name, kind) for name, kind in TYPES.items()}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": f"One line of a Footplate export ({SCHEMA})",
        "description": (
            "The first line is 'export', the last one 'end'; between them, run by run, every record that tells of it. "
            "Times are milliseconds since 1970 UTC, money is millionths of a dollar, null is not known."
        ),
        "oneOf": [_object(name, told) for name, told in {BEGIN: begin_, **kinds, END: end_}.items()],
    }


def _object(name: str, properties: dict[str, Any]) -> dict[str, Any]:
    told = {"type": {"const": name}, **properties}
    return {"type": "object", "properties": told, "required": list(told)}


def _properties(name: str, kind: type[Record]) -> dict[str, Any]:
    hints = get_type_hints(kind)
    found: dict[str, Any] = {}
    for field in names(kind):
        if field in DOCUMENTS.get(name, ()):
            types: dict[str, Any] = {"type": ["object", "array", "string", "null"]}
        else:
            types = _typed(hints[field])
        found[field] = types
    return found


def _typed(hint: Any) -> dict[str, Any]:
    hint = getattr(hint, "__supertype__", hint)
    if get_origin(hint) in (Union, UnionType):
        inner = next(_typed(one) for one in get_args(hint) if one is not type(None))
        if "enum" in inner:
            return {"enum": [*inner["enum"], None]}
        return {"type": [inner["type"], "null"]}
    if isinstance(hint, type) and issubclass(hint, StrEnum):
        return {"enum": [member.value for member in hint]}
    return {"type": {str: "string", bool: "boolean", int: "integer", bytes: "object"}[hint]}
