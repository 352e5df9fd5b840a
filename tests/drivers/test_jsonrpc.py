"""JSON-RPC lines as agents print them: what each is, and that an id goes back as it came."""

import json
from typing import Any

import pytest

from coordinator.drivers import jsonrpc


@pytest.mark.parametrize(
    ("line", "kind"),
    [
        ({"id": 0, "method": "ask", "params": {}}, jsonrpc.Request),
        ({"jsonrpc": "2.0", "id": "a", "method": "ask"}, jsonrpc.Request),
        ({"method": "told", "params": {}}, jsonrpc.Notification),
        ({"id": None, "method": "told"}, jsonrpc.Notification),
        ({"id": True, "method": "told"}, jsonrpc.Notification),
        ({"id": "x" * (jsonrpc.LONGEST_ID + 1), "method": "told"}, jsonrpc.Notification),
        ({"id": 2**60, "method": "told"}, jsonrpc.Notification),
        ({"id": 1, "result": None}, jsonrpc.Response),
        ({"id": "a", "error": {"code": -1, "message": "no"}}, jsonrpc.Response),
        ({"id": None, "error": {"code": -32700, "message": "what?"}}, jsonrpc.Response),
        ({"id": 1}, None),
        ({"id": None, "result": {}}, None),
        ({"method": 7, "id": 1, "result": {}}, None),
        ([{"method": "told"}], None),
        ("told", None),
    ],
)
def test_what_a_line_is(line: Any, kind: type | None) -> None:
    read = jsonrpc.read(json.dumps(line).encode())
    assert read is None if kind is None else isinstance(read, kind)


@pytest.mark.parametrize("id", [0, -3, 7, "7", "#7", "", "a-b", "#-x"])
def test_an_id_goes_back_as_it_came(id: str | int) -> None:
    asked = jsonrpc.read(json.dumps({"id": id, "method": "ask"}).encode())
    assert isinstance(asked, jsonrpc.Request)
    answer = json.loads(jsonrpc.result(jsonrpc.from_key(jsonrpc.key(asked.id)), {}, versioned=False))
    assert answer == {"id": id, "result": {}}


@pytest.mark.parametrize("versioned", [True, False])
def test_the_version_stands_where_it_is_wanted(versioned: bool) -> None:
    lines = (
        jsonrpc.request("a", "ask", {}, versioned=versioned),
        jsonrpc.notification("told", versioned=versioned),
        jsonrpc.result(1, None, versioned=versioned),
        jsonrpc.error(1, jsonrpc.METHOD_NOT_FOUND, "no", versioned=versioned),
    )
    assert all(("jsonrpc" in json.loads(line)) is versioned for line in lines)
