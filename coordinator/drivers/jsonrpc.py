"""JSON-RPC as agents speak it on stdio: one object a line, requests in both directions, each side with its own ids.

Some leave out the ``jsonrpc`` member, so reading never looks at it and writing is told whether to give it. Nothing of
any agent's methods may come in, and nothing that counts: ids are the caller's, made so that an answer can be matched
after a console was restarted.
"""

from typing import Any, Final

from msgspec import Struct

from coordinator.drivers.json_fields import Json, decode, encode_line, mapping, text, whole

METHOD_NOT_FOUND: Final = -32601
LONGEST_ID: Final = 64 * 1024
"""Characters; a longer one counts as none, because what is written is named after it, in the ledger and on the wire."""

Id = str | int
"""Ours are strings always; an agent's own are what it chose, and go back as they came."""


class Request(Struct, frozen=True, kw_only=True):
    """The agent asks; it waits until it is answered."""

    id: Id
    method: str
    params: Json


class Notification(Struct, frozen=True, kw_only=True):
    method: str
    params: Json


class Failure(Struct, frozen=True, kw_only=True):
    """A request of ours was answered with a no."""

    code: int | None
    message: str
    data: Json


class Response(Struct, frozen=True, kw_only=True):
    """The answer to a request of ours."""

    id: Id | None
    """None: the agent could not even read the id."""
    result: Json
    """Empty where it answered with no object, or with an error."""
    error: Failure | None = None


Message = Request | Notification | Response


def read(line: bytes) -> Message | None:
    """What a line is; None for all that is no message (a program's own print, a batch, half an object)."""
    try:
        told = decode(line)
    except (ValueError, RecursionError):
        return None
    if not isinstance(told, dict):
        return None
    id = _id(told.get("id"))
    method = told.get("method")
    if isinstance(method, str) and method:
        params = mapping(told, "params")
        if id is not None:
            return Request(id=id, method=method, params=params)
        # An id of no lawful kind cannot be answered, so nobody can be waiting for it by that.
        return Notification(method=method, params=params)
    if "method" in told or not ("result" in told or "error" in told):
        return None
    if id is None and told.get("error") is None:
        return None
    return Response(id=id, result=mapping(told, "result"), error=_failure(told.get("error")))


def request(id: str, method: str, params: Json, *, versioned: bool) -> bytes:
    """A line that asks. ``versioned``: with the ``jsonrpc`` member."""
    return encode_line({**_version(versioned), "id": id, "method": method, "params": params})


def notification(method: str, params: Json | None = None, *, versioned: bool) -> bytes:
    line: Json = {**_version(versioned), "method": method}
    if params is not None:
        line["params"] = params
    return encode_line(line)


def result(id: Id, body: Json | None, *, versioned: bool) -> bytes:
    """The answer to a request of the agent's."""
    return encode_line({**_version(versioned), "id": id, "result": body})


def error(id: Id, code: int, message: str, *, versioned: bool) -> bytes:
    """The no to a request of the agent's, so that nothing in it waits for ever."""
    return encode_line({**_version(versioned), "id": id, "error": {"code": code, "message": message}})


def key(id: Id) -> str:
    """An id as a name of ours for the request: ``7`` and ``"7"`` are two requests."""
    return f"#{id}" if isinstance(id, int) or id.startswith("#") else id


def from_key(name: str) -> Id:
    """The id behind ``key``'s name."""
    if not name.startswith("#"):
        return name
    # A string that began with the mark was given one more.
    return int(name[1:]) if name[1:].removeprefix("-").isdecimal() else name[1:]


def _version(versioned: bool) -> Json:
    return {"jsonrpc": "2.0"} if versioned else {}


def _id(value: Any) -> Id | None:
    if isinstance(value, str):
        return value if len(value) <= LONGEST_ID else None
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) <= 2**53:
        return value
    return None


def _failure(value: Any) -> Failure | None:
    if value is None:
        return None
    if not isinstance(value, dict):
        return Failure(code=None, message=str(value), data={})
    data = value.get("data")
    return Failure(
        code=whole(value, "code"),
        message=text(value, "message"),
        data=data if isinstance(data, dict) else {"data": data} if data is not None else {},
    )
