"""The codex driver where no recording leads: what it asks of a person, what it refuses, what comes out of order."""

import json
from typing import Any

import pytest

from coordinator import prices
from coordinator.drivers.base import (
    ActKind,
    AgentEvent,
    CannotStart,
    Chosen,
    DecisionAsked,
    DecisionResolved,
    LimitNotice,
    Notice,
    OfferKind,
    ProtocolFault,
    QuestionReply,
    Reply,
    SessionReady,
    Start,
    ToolStarted,
    TurnAccepted,
    TurnBegunByAgent,
    TurnResult,
    Unknown,
)
from coordinator.drivers.codex import CodexDriver
from store.vocab import DecisionKind, FailureKind, MicroUsd, TurnResultKind
from tests.drivers.codex_recordings import turn_id

Json = dict[str, Any]
THREAD, NATIVE = "thread-1", "native-1"


def line(told: Json) -> bytes:
    return json.dumps(told).encode() + b"\n"


def feed(driver: CodexDriver, *told: Json) -> list[AgentEvent]:
    return [event for one in told for event in driver.feed(line(one))]


def said(method: str, **params: Any) -> Json:
    return {"method": method, "params": {"threadId": THREAD, "turnId": NATIVE, **params}}


def greeted(driver: CodexDriver, **opened: Any) -> list[AgentEvent]:
    thread = {"thread": {"id": THREAD}, "model": "gpt-5.5", "approvalPolicy": "untrusted", "approvalsReviewer": "user"}
    return feed(
        driver,
        {"id": "hs-initialize", "result": {"userAgent": "footplate/0.171.0 (x)"}},
        {"id": "hs-account", "result": {"account": {"type": "apiKey"}, "requiresOpenaiAuth": True}},
        {"id": "hs-thread", "result": {**thread, **opened}},
    )


@pytest.fixture
def driver() -> CodexDriver:
    made = CodexDriver("x")
    made.argv(Start(program="/bin/codex", session="ours", cwd="/tree"))
    greeted(made)
    return made


def working(driver: CodexDriver) -> None:
    """Our first turn is in flight."""
    driver.turn(turn_id(1), "go")
    feed(
        driver,
        {"id": f"turn-{turn_id(1)}", "result": {"turn": {"id": NATIVE, "status": "inProgress"}}},
        said("turn/started", turn={"id": NATIVE}),
    )


def asked(driver: CodexDriver, method: str, **params: Any) -> DecisionAsked:
    found = feed(driver, {"id": 0, **said(method, itemId="call-1", **params)})
    (event,) = found
    assert isinstance(event, DecisionAsked)
    return event


def ended(driver: CodexDriver, native: str = NATIVE, **turn: Any) -> TurnResult:
    found = feed(driver, said("turn/completed", turn={"id": native, "status": "completed", **turn}))
    return next(event for event in found if isinstance(event, TurnResult))


# ------------------------------------------------------------------------------------------------------- the handshake


@pytest.mark.parametrize(
    ("opened", "failure"),
    [
        ({"approvalPolicy": "never"}, FailureKind.REFUSED),
        ({"approvalPolicy": "on-request"}, FailureKind.REFUSED),
        ({"approvalsReviewer": "auto_review"}, FailureKind.REFUSED),
        ({"approvalsReviewer": None}, FailureKind.REFUSED),
    ],
)
def test_a_thread_in_which_nobody_is_asked_is_not_held(opened: Json, failure: FailureKind) -> None:
    driver = CodexDriver("x")
    driver.argv(Start(program="/bin/codex", session="ours", cwd="/tree"))
    found = greeted(driver, **opened)
    assert isinstance(found[-1], CannotStart) and found[-1].failure is failure
    assert not any(isinstance(event, SessionReady) for event in found)


def test_signed_out_is_said_before_anything_is_opened() -> None:
    driver = CodexDriver("x")
    driver.argv(Start(program="/bin/codex", session="ours", cwd="/tree"))
    (found,) = feed(driver, {"id": "hs-account", "result": {"account": None, "requiresOpenaiAuth": True}})
    assert isinstance(found, CannotStart) and found.failure is FailureKind.AUTHENTICATION


@pytest.mark.parametrize(("mode", "sandbox"), [(None, "workspace-write"), ("read-only", "read-only"), ("never", None)])
def test_every_mode_asks_a_person(mode: str | None, sandbox: str | None) -> None:
    driver = CodexDriver("x")
    driver.argv(Start(program="/bin/codex", session="ours", cwd="/tree", mode=mode))
    (reply,) = feed(driver, {"id": "hs-account", "result": {"account": {"type": "apiKey"}}})
    assert isinstance(reply, Reply)
    opened = json.loads(reply.data.splitlines()[0])["params"]
    assert (opened["approvalPolicy"], opened["approvalsReviewer"]) == ("untrusted", "user")
    assert opened["sandbox"] == (sandbox or "workspace-write") and opened["cwd"] == "/tree"


def test_the_thread_goes_where_it_belongs_and_nowhere_in_the_text(driver: CodexDriver) -> None:
    data = driver.turn(turn_id(1), 'say "threadId":"" twice')
    sent = json.loads(driver.addressed(data))["params"]
    assert sent["threadId"] == THREAD and sent["input"][0]["text"] == 'say "threadId":"" twice'
    assert driver.turn(turn_id(1), 'say "threadId":"" twice') == data


# ------------------------------------------------------------------------------------------------------------ approvals


def rule(*prefix: str) -> Json:
    return {"acceptWithExecpolicyAmendment": {"execpolicy_amendment": list(prefix)}}


@pytest.mark.parametrize(
    ("command", "prefix", "offered"),
    [
        ("git status --short", ("git", "status"), True),
        ("git status && rm -rf x", ("git", "status"), False),
        ("git status > x", ("git", "status"), False),
        ("git", ("git",), False),
        ("bash -c x", ("bash", "-c"), False),
        ("/usr/bin/python3 -c x", ("/usr/bin/python3", "-c"), False),
        ("find . -delete", ("find", "."), False),
        ("make install", ("git", "status"), False),
        ("git 'a b'", ("git", "a b"), False),
    ],
)
def test_a_rule_is_offered_only_where_it_can_hold(
    driver: CodexDriver, command: str, prefix: tuple[str, ...], offered: bool
) -> None:
    working(driver)
    event = asked(
        driver,
        "item/commandExecution/requestApproval",
        command=f"/bin/bash -lc {json.dumps(command)}",
        cwd="/tree",
        availableDecisions=["accept", rule(*prefix), "cancel"],
    )
    kinds = [offer.kind for offer in event.offers]
    assert (OfferKind.ALLOW_RUN in kinds) is offered
    assert OfferKind.DENY in kinds and OfferKind.DENY_STOP in kinds
    assert event.subject == command and event.act is not None and event.act.command == command
    if offered:
        wide = next(offer for offer in event.offers if offer.kind is OfferKind.ALLOW_RUN)
        assert "begin with git status" in wide.covers and "later" in wide.covers
        assert json.loads(driver.answer("#0", Chosen(offer=wide.id)))["result"]["decision"] == rule(*prefix)


@pytest.mark.parametrize(
    "more",
    [
        {"additionalPermissions": {"network": {"enabled": True}}},
        {"networkApprovalContext": {"host": "example.org", "protocol": "https"}},
        {"kind": "writeStdin"},
    ],
)
def test_what_reaches_further_than_its_command_is_no_act_for_a_rule(driver: CodexDriver, more: Json) -> None:
    working(driver)
    event = asked(driver, "item/commandExecution/requestApproval", command="ls", **more)
    assert event.act is None
    assert "network" in event.why or "example.org" in event.subject or "Type" in event.title


def test_a_change_is_asked_about_with_its_diff(driver: CodexDriver) -> None:
    working(driver)
    changes = [
        {"path": "/tree/a", "kind": {"type": "add"}, "diff": "one\ntwo\n"},
        {"path": "/tree/b", "kind": {"type": "update", "move_path": "/tree/c"}, "diff": "@@ -1 +1 @@\n-x\n+y\n"},
        {"path": "/tree/d", "kind": {"type": "delete"}, "diff": "gone\n"},
    ]
    (shown,) = feed(driver, said("item/started", item={"type": "fileChange", "id": "call-1", "changes": changes}))
    assert isinstance(shown, ToolStarted) and shown.title.startswith("3 files")
    event = asked(driver, "item/fileChange/requestApproval")
    assert all(row in event.subject for row in ("+two", "-x", "+y", "+++ /tree/c", "-gone"))
    assert event.act is not None and event.act.kind is ActKind.EDIT
    assert set(event.act.paths) == {"/tree/a", "/tree/b", "/tree/c", "/tree/d"}


def test_a_change_is_known_with_what_was_written_of_it_since_it_began(driver: CodexDriver) -> None:
    one = {"path": "/tree/a", "kind": {"type": "add"}, "diff": "one\n"}
    two = {"path": "/etc/b", "kind": {"type": "add"}, "diff": "two\n"}
    feed(driver, said("item/started", item={"type": "fileChange", "id": "call-1", "changes": [one]}))
    assert feed(driver, said("item/fileChange/patchUpdated", itemId="call-1", changes=[one, two])) == []
    assert feed(driver, said("item/fileChange/patchUpdated", itemId="not known", changes=[one])) == []
    event = asked(driver, "item/fileChange/requestApproval")
    assert "+two" in event.subject and event.act is not None and event.act.paths == ("/tree/a", "/etc/b")


def test_more_access_is_given_as_it_was_asked_for_or_not_at_all(driver: CodexDriver) -> None:
    working(driver)
    wanted = {"fileSystem": {"write": ["/etc"]}, "network": {"enabled": True}}
    event = asked(driver, "item/permissions/requestApproval", permissions=wanted, cwd="/tree")
    assert event.subject == "write /etc, the network" and event.act is None
    answers = {offer.kind: json.loads(driver.answer("#0", Chosen(offer=offer.id)))["result"] for offer in event.offers}
    assert answers[OfferKind.ALLOW] == {"permissions": wanted, "scope": "turn"}
    assert answers[OfferKind.ALLOW_RUN]["scope"] == "session" and answers[OfferKind.DENY]["permissions"] == {}


@pytest.mark.parametrize("request_id", ["nobody", "#77"])
def test_an_answer_to_nothing_allows_nothing(driver: CodexDriver, request_id: str) -> None:
    told = json.loads(driver.answer(request_id, Chosen(offer="accept")))
    assert told["result"] == {"decision": "cancel"}


def test_open_requests_are_answered_before_an_interrupt_and_at_the_end(driver: CodexDriver) -> None:
    working(driver)
    asked(driver, "item/commandExecution/requestApproval", command="ls")
    lines = [json.loads(one) for one in driver.interrupt().data.splitlines()]
    assert lines[0] == {"id": 0, "result": {"decision": "cancel"}} and lines[1]["method"] == "turn/interrupt"
    last = [json.loads(one) for one in driver.farewell().splitlines()]
    assert last[0] == lines[0] and last[1]["method"] == "turn/interrupt", "so that its result comes before its end"
    (over,) = feed(driver, said("serverRequest/resolved", requestId=0))
    assert isinstance(over, DecisionResolved)
    ended(driver, status="interrupted")
    assert driver.farewell() == b"", "at rest the end of its input is all there is to say"


# ------------------------------------------------------------------------------------------------------------ questions


def test_a_servers_form_comes_back_in_its_own_types(driver: CodexDriver) -> None:
    working(driver)
    schema = {"properties": {"n": {"type": "integer"}, "ok": {"type": "boolean", "title": "Go on?"}}}
    event = asked(
        driver, "mcpServer/elicitation/request", mode="form", serverName="db", message="Sure?", requestedSchema=schema
    )
    assert event.kind is DecisionKind.QUESTION and [q.text for q in event.questions] == ["n", "Go on?"]
    data = driver.answer("#0", QuestionReply(answers={"n": ("7",), "Go on?": ("yes",)}))
    assert json.loads(data)["result"] == {"action": "accept", "content": {"n": 7, "ok": True}}


def test_questions_that_look_alike_have_answers_of_their_own(driver: CodexDriver) -> None:
    working(driver)
    alike = [{"id": name, "question": "Which?", "options": [{"label": "a"}, {"label": "b"}]} for name in ("x", "y")]
    first, second = (one.text for one in asked(driver, "item/tool/requestUserInput", questions=alike).questions)
    told = json.loads(driver.answer("#0", QuestionReply(answers={first: ("a",), second: ("b",)})))
    assert told["result"]["answers"] == {"x": {"answers": ["a"]}, "y": {"answers": ["b"]}}
    schema = {"properties": {name: {"type": "number", "title": "How much?"} for name in ("x", "y")}}
    form = {"mode": "form", "serverName": "db", "message": "Tell", "requestedSchema": schema}
    first, second = (one.text for one in asked(driver, "mcpServer/elicitation/request", **form).questions)
    data = driver.answer("#0", QuestionReply(answers={first: ("1.5",), second: ("nan",)}))
    assert b"NaN" not in data, "the agent would not read its line"
    assert json.loads(data)["result"]["content"] == {"x": 1.5, "y": "nan"}
    assert json.loads(driver.answer("#0", QuestionReply(answers={})))["result"]["action"] == "decline"


@pytest.mark.parametrize("method", ["item/tool/requestUserInput", "mcpServer/elicitation/request"])
def test_what_nobody_could_answer_is_not_put_to_a_person(driver: CodexDriver, method: str) -> None:
    working(driver)
    many = {"questions": [{"id": str(n), "question": "?"} for n in range(5000)]}
    form = {"mode": "form", "requestedSchema": {"properties": {str(n): {} for n in range(5000)}}}
    found = feed(driver, {"id": 0, **said(method, **many, **form)})
    assert [type(event) for event in found] == [Reply, Unknown]


def test_no_answer_to_a_question_is_an_allowance(driver: CodexDriver) -> None:
    working(driver)
    asked(driver, "mcpServer/elicitation/request", mode="form", serverName="db", message="Drop it?")
    given = QuestionReply(answers={"Drop it?": ("no",)})
    assert json.loads(driver.answer("#0", given))["result"]["action"] == "cancel"
    asked(driver, "item/commandExecution/requestApproval", command="ls")
    assert json.loads(driver.answer("#0", given))["result"] == {"decision": "cancel"}


def test_a_form_without_fields_is_a_permission(driver: CodexDriver) -> None:
    working(driver)
    event = asked(driver, "mcpServer/elicitation/request", mode="form", serverName="db", message="Drop it?")
    assert event.kind is DecisionKind.PERMISSION and event.subject == "Drop it?"
    assert json.loads(driver.answer("#0", Chosen(offer="decline")))["result"]["action"] == "decline"


@pytest.mark.parametrize("method", ["item/tool/call", "attestation/generate", "execCommandApproval", "made/up"])
def test_an_unknown_request_is_answered_with_an_error(driver: CodexDriver, method: str) -> None:
    reply, kept = feed(driver, {"id": "q", "method": method, "params": {}})
    assert isinstance(reply, Reply) and json.loads(reply.data)["error"]["code"] == -32601
    assert isinstance(kept, Unknown)


# ---------------------------------------------------------------------------------------------------------------- turns


def test_a_turn_that_begins_before_it_is_named_waits_for_its_name(driver: CodexDriver) -> None:
    driver.turn(turn_id(1), "go")
    assert feed(driver, said("turn/started", turn={"id": NATIVE})) == []
    (accepted,) = feed(driver, {"id": f"turn-{turn_id(1)}", "result": {"turn": {"id": NATIVE}}})
    assert accepted == TurnAccepted(turn=turn_id(1))


def test_one_that_nobody_sent_is_the_agents_own(driver: CodexDriver) -> None:
    (begun,) = feed(driver, said("turn/started", turn={"id": "other"}))
    assert isinstance(begun, TurnBegunByAgent)
    assert ended(driver, "other").by_agent
    # And one that begins while ours is on its way, but is not it.
    driver.turn(turn_id(1), "go")
    found = feed(
        driver,
        said("turn/started", turn={"id": "third"}),
        {"id": f"turn-{turn_id(1)}", "result": {"turn": {"id": NATIVE}}},
    )
    assert [type(event) for event in found] == [TurnBegunByAgent]


def test_a_message_that_is_not_taken_is_a_result_that_cost_nothing(driver: CodexDriver) -> None:
    driver.turn(turn_id(1), "go")
    (result,) = feed(driver, {"id": f"turn-{turn_id(1)}", "error": {"code": -32600, "message": "thread not found"}})
    assert isinstance(result, TurnResult) and result.kind is TurnResultKind.ERROR and result.marginal == 0
    assert feed(driver, said("turn/completed", turn={"id": NATIVE, "status": "completed"}))[-1].turns == ()  # type: ignore[union-attr]


def test_names_survive_a_console_that_did_not_hear_them(driver: CodexDriver) -> None:
    """The answer to our request fell to the console before; the message that the agent shows names the turn too."""
    state = driver.snapshot()
    again = CodexDriver("y")
    again.argv(Start(program="/bin/codex", session="ours", cwd="/tree"))
    again.restore(state)
    again.turn(turn_id(1), "go")
    found = feed(
        again,
        said("turn/started", turn={"id": NATIVE}),
        said("item/started", item={"type": "userMessage", "id": "m", "clientId": turn_id(1)}),
    )
    assert found == [TurnAccepted(turn=turn_id(1))]
    assert ended(again).turns == (turn_id(1),)


# --------------------------------------------------------------------------------------------------- money and limits


def tokens(fresh: int, said_: int, *, native: str = NATIVE, thread: str = THREAD, cached: int = 0) -> Json:
    total = {"inputTokens": fresh + cached, "cachedInputTokens": cached, "outputTokens": said_, "totalTokens": 1}
    used = {"total": total, "last": total, "modelContextWindow": 1000}
    return said("thread/tokenUsage/updated", tokenUsage=used, turnId=native, threadId=thread)


def test_what_a_total_grows_by_is_paid_once(driver: CodexDriver) -> None:
    working(driver)
    feed(driver, tokens(1000, 10), tokens(1000, 10), tokens(3000, 30, cached=500))
    first = ended(driver)
    assert first.marginal == 3000 * 5 + 500 * 0.5 + 30 * 30
    # Told after its turn is over: it is paid with the next, and with no other.
    feed(driver, tokens(3100, 30, cached=500))
    driver.turn(turn_id(2), "more")
    feed(driver, {"id": f"turn-{turn_id(2)}", "result": {"turn": {"id": "native-2"}}})
    feed(driver, tokens(3200, 30, native="native-2", cached=500), tokens(10, 1, native="sub", thread="a-sub-agent"))
    assert ended(driver, "native-2").marginal == 200 * 5 + 10 * 5 + 30


def test_a_flood_of_names_is_forgotten_from_its_oldest_on(driver: CodexDriver) -> None:
    """Whatever it names without end, what is kept of it has an end, and our own turn is still known."""
    feed(driver, tokens(10, 5))
    for n in range(3000):
        name = f"n{n}"
        feed(
            driver,
            {"id": f"turn-{name}", "result": {"turn": {"id": f"of-{name}"}}},
            said("turn/started", turn={"id": name}),
            {"id": n, **said("item/commandExecution/requestApproval", command="ls", itemId=name)},
            tokens(2**40, 2**40, thread=name, native=name),
        )
    threads = [f"s{n}" for n in range(3000)]
    call = {"type": "collabAgentToolCall", "id": "c", "tool": "spawn", "receiverThreadIds": threads}
    feed(driver, said("item/started", item=call), said("item/completed", item=call))
    assert len(driver.snapshot()) < 500_000
    result = ended(driver, "n2999")
    assert max(result.usage.input_tokens or 0, result.usage.output_tokens or 0) < 2**53
    working(driver)
    assert ended(driver).turns == (turn_id(1),)


def test_a_turn_that_never_went_is_as_if_it_had_not_been_made(driver: CodexDriver) -> None:
    driver.turn(turn_id(9), "refused by the ledger")
    driver.never_went(turn_id(9))
    found = feed(driver, said("turn/started", turn={"id": "own"}))
    assert any(isinstance(event, TurnBegunByAgent) for event in found)
    assert ended(driver, "own").turns == ()


def test_a_model_without_a_price_costs_an_unknown_amount() -> None:
    driver = CodexDriver("x")
    driver.argv(Start(program="/bin/codex", session="ours", cwd="/tree"))
    greeted(driver, model="somebodys-own")
    working(driver)
    feed(driver, tokens(1000, 10))
    assert ended(driver).marginal is None
    table = prices.parse('[models."somebodys-own"]\ninput = 1.0\noutput = 2.0\n')
    assert isinstance(table, prices.Prices)
    driver.argv(Start(program="/bin/codex", session="ours", cwd="/tree", prices=table))
    driver.turn(turn_id(2), "more")
    feed(driver, {"id": f"turn-{turn_id(2)}", "result": {"turn": {"id": "native-2"}}})
    feed(driver, tokens(1500, 10, native="native-2"))
    assert ended(driver, "native-2").marginal == MicroUsd(500)


def test_a_limit_is_told_once_and_its_end_goes_with_the_failure(driver: CodexDriver) -> None:
    working(driver)
    window = {"usedPercent": 100, "windowDurationMins": 300, "resetsAt": 1_800_000_000}
    limits = said("account/rateLimits/updated", rateLimits={"primary": window, "rateLimitReachedType": "x"})
    (notice,) = feed(driver, limits, limits)
    assert notice == LimitNotice(status="rejected", kind="5 hours", resets_at=1_800_000_000, used_fraction=1.0)
    error = {"message": "wait", "codexErrorInfo": "usageLimitExceeded"}
    result = ended(driver, status="failed", error=error)
    assert result.failure is FailureKind.RATE_LIMITED and result.resets_at == 1_800_000_000


@pytest.mark.parametrize(
    ("info", "kind"),
    [
        ("unauthorized", FailureKind.AUTHENTICATION),
        ("serverOverloaded", FailureKind.OVERLOADED),
        ({"responseStreamDisconnected": {"httpStatusCode": None}}, FailureKind.TRANSIENT),
        ({"httpConnectionFailed": {"httpStatusCode": 401}}, FailureKind.AUTHENTICATION),
        ({"httpConnectionFailed": {"httpStatusCode": 503}}, FailureKind.TRANSIENT),
        ({"responseTooManyFailedAttempts": {"httpStatusCode": 429}}, FailureKind.RATE_LIMITED),
        ("something new", FailureKind.UNKNOWN),
        (None, FailureKind.UNKNOWN),
    ],
)
def test_failures_have_kinds(driver: CodexDriver, info: Any, kind: FailureKind) -> None:
    working(driver)
    result = ended(driver, status="failed", error={"message": "no", "codexErrorInfo": info})
    assert result.failure is kind and result.failure_text == "no"


def test_it_is_set_back_when_it_stops_asking_a_person(driver: CodexDriver) -> None:
    asks = {"approvalPolicy": "untrusted", "approvalsReviewer": "user", "sandboxPolicy": {"type": "readOnly"}}
    settings = {"approvalPolicy": "never", "approvalsReviewer": "auto_review", "sandboxPolicy": {"type": "readOnly"}}
    found = feed(driver, said("thread/settings/updated", threadSettings=settings))
    assert any(isinstance(event, Notice) and "never" in event.text for event in found)
    (back,) = [event for event in found if isinstance(event, Reply)]
    told = json.loads(back.data)
    assert told["method"] == "thread/settings/update" and told["params"]["threadId"] == THREAD
    assert (told["params"]["approvalPolicy"], told["params"]["approvalsReviewer"]) == ("untrusted", "user")
    assert told["params"]["sandboxPolicy"] == {"type": "readOnly"}, "and no wider than it was"
    assert feed(driver, {"id": back.id, "result": {}}, said("thread/settings/updated", threadSettings=asks)) == []
    assert not feed(driver, said("thread/settings/updated", threadSettings={"model": "gpt-5.5"}))[1:]
    (no,) = feed(driver, {"id": back.id, "error": {"code": -1, "message": "no"}})
    assert isinstance(no, ProtocolFault), "it would go on without a person"
    again = [feed(driver, said("thread/settings/updated", threadSettings=settings)) for _ in range(30)]
    replies = [event.id for events in again for event in events if isinstance(event, Reply)]
    assert len(replies) == len(set(replies)) < 30, "each is a write of its own, and they end"
    assert any(isinstance(event, ProtocolFault) for events in again for event in events)
