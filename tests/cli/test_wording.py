"""The words: one sentence for every *no* and every ending, and none of the words that belong in the code."""

import re
import sqlite3
from typing import Any

import pytest

from app import wording
from app.wording_endings import _OUTCOMES, _STEPS
from coordinator.api import DecisionView, Proposal
from coordinator.builtinagents import builtin
from coordinator.custody.types import EndedProcess, Receipt
from coordinator.drivers.base import CostBasis
from store.faults import typed
from store.refusal import Refusal
from store.vocab import (
    AttentionKind,
    Billing,
    CustodyState,
    DecisionId,
    DecisionKind,
    DecisionState,
    EndReason,
    FailureKind,
    MicroUsd,
    Millis,
    RefusalReason,
    RunId,
    RunOutcome,
    TurnState,
)
from tests.cli.made import NOW, made_terms

FACTS = {
    "run": 12,
    "n": 3,
    "limit": 5,
    "path": "/home/mara/src",
    "problem": "no space left on device",
    "agent": "claude",
    "program": "/usr/bin/claude",
    "version": "1.0.2",
    "oldest": "2.1.197",
    "field": "head",
    "was": "a1b2c3d",
    "is": "e4f5a6b",
    "by": "Mara",
    "at": NOW,
    "answer": "allow once",
    "spent": 5_020_000,
    "file": "/home/mara/config.toml",
    "key": "day_budget",
    "decision": 7,
    "agents": "claude, practice",
    "choice": "9",
    "choices": "1, 2",
    "install": "npm install x",
    "kind": "nfs4",
}


@pytest.mark.parametrize("reason", list(RefusalReason))
@pytest.mark.parametrize("facts", [{}, FACTS], ids=["no facts", "all facts"])
def test_every_refusal_is_one_sentence_that_says_what_to_do(reason: RefusalReason, facts: dict[str, str]) -> None:
    said = wording.sentence(Refusal(reason, facts))
    assert said.endswith(".")
    assert said[0].isupper() or said.startswith(("/", "git", "claude", "9"))
    assert "\n" not in said
    assert "  " not in said
    assert not re.search(r"[{}\[\]|]", said), said
    assert not re.search(r"\(\s*\)| ,| ;", said), said
    assert re.search(r"[;,:] ", said), f"it must say what to do: {said}"
    assert wording.forbidden_in(said) == []


@pytest.mark.parametrize("reason", list(EndReason))
def test_every_ending_has_words(reason: EndReason) -> None:
    said = wording.end_reason(reason.value)
    assert said
    assert said != reason.value
    assert wording.forbidden_in(said) == []


def test_how_an_agent_exited_is_named() -> None:
    assert wording.end_reason("exited:1").startswith("the agent ended by itself (exit 1)")
    assert wording.end_reason("exited:SIGKILL").startswith("the agent ended by itself (signal KILL)")
    assert wording.end_reason("something-new") == "something new"


def test_what_an_agent_did_against_its_terms_is_said() -> None:
    unasked = wording.end_reason("protocol-error:unasked-turn")
    assert "while its question waited for you" in unasked and "could not be understood" not in unasked
    taken = wording.end_reason("protocol-error:conversation-of-12")
    assert "the conversation that run 12 holds" in taken
    for said in (unasked, taken):
        assert said.startswith("ended by Footplate: ") and wording.forbidden_in(said) == []
    assert wording.end_reason("protocol-error:from-a-newer-version") == wording.end_reason("protocol-error")


def test_golden_sentences() -> None:
    def said(reason: RefusalReason, /, **facts: str | int) -> str:
        return wording.sentence(Refusal(reason, facts))

    assert said(RefusalReason.NOT_A_REPOSITORY, path="/tmp/x") == (
        "/tmp/x is not a git repository; go to one, name one with --repo, or make one with git init."
    )
    assert said(RefusalReason.BUDGET_EXHAUSTED, run=12, spent=5_020_000, limit=5_000_000) == (
        "Run 12 is at its budget: 5.02 of 5.00; extend it, finish it or stop it."
    )
    worked = {"budget": "working-time", "worked_ms": 3_660_000, "limit_ms": 3_600_000}
    assert said(RefusalReason.BUDGET_EXHAUSTED, run=12, **worked) == (
        "Run 12 is at its budget of working time: 61m of 60m; extend it, finish it or stop it."
    )
    dry = {"period": "month", "spent": 9_000_000, "limit": 10_000_000}
    assert said(RefusalReason.POOL_EXHAUSTED, **dry) == (
        "The budget of the month has too little left: 9.00 of 10.00 spent; raise it in config.toml, or wait."
    )
    assert said(RefusalReason.POOL_EXHAUSTED, agent="claude", reserved=500_000, wanted=5_000_000, **dry) == (
        "The budget of the month for claude has too little left: 9.00 of 10.00 spent, 0.50 set aside for what is held, "
        "5.00 wanted; raise it in config.toml, or wait."
    )
    assert said(RefusalReason.TERMS_MOVED, field="head", was="a1b2c3d", **{"is": "e4f5a6b"}) == (
        "What would run is not what you agreed to: the commit was a1b2c3d and is e4f5a6b; "
        "start again to see the new terms."
    )
    assert said(RefusalReason.CONFIG_INVALID, file="/h/config.toml", key="day_budget", problem="expected float") == (
        "/h/config.toml cannot be used: key day_budget: expected float; correct it, or move it away."
    )
    assert said(RefusalReason.AGENT_NOT_FOUND, agent="claude", program="claude", install="npm install -g c") == (
        "The agent claude was not found (claude is not there); get it with: npm install -g c; "
        "or try the practice agent with footplate demo, or set its program in agents.toml."
    )
    assert said(RefusalReason.SESSION_CAP, held=8, limit=8).startswith("As many runs are held as you allow (8 of 8);")
    assert said(RefusalReason.AUTHORIZATION_CLOSED, reason="stopped").startswith(
        "These terms are no longer in force (stopped by you);"
    )


def test_a_fact_is_text_and_never_template_or_control() -> None:
    said = wording.sentence(Refusal(RefusalReason.NO_COMMIT, {"path": "/tmp/[x] {run} \x1b]0;t\x07\n"}))
    assert said.startswith("/tmp/[x] {run} ]0;t has no commit yet")


@pytest.mark.parametrize(
    ("micro", "shown"),
    [(840_000, "0.84"), (0, "0.00"), (1, "<0.01"), (5_000, "0.01"), (123_456_789, "123.46"), (None, "–")],
)
def test_money(micro: int | None, shown: str) -> None:
    assert wording.money(None if micro is None else MicroUsd(micro)) == shown


def test_money_that_is_guessed_or_unknown() -> None:
    assert wording.money(MicroUsd(840_000), guess=True) == "~0.84"
    assert wording.money(None) == "–"
    assert wording.money_so_far(MicroUsd(0), guess=False, told=False) == "–"
    assert wording.money_so_far(MicroUsd(0), guess=False, told=True) == "0.00"
    assert wording.money_so_far(MicroUsd(20_000), guess=False, told=False) == "0.02"


@pytest.mark.parametrize(
    ("ms", "shown"),
    [
        (20_000, "20s"),
        (72_000, "1m12s"),
        (47 * 60_000, "47m"),
        (101 * 60_000, "1h41m"),
        (-5, "0s"),
        (3 * 86_400_000, "3d"),
    ],
)
def test_age(ms: int, shown: str) -> None:
    assert wording.age(ms) == shown


@pytest.mark.parametrize(
    ("ms", "shown"),
    [
        (0, "0s"),
        (59_999, "59s"),
        (6 * 60_000, "6m"),
        (120 * 60_000, "120m"),
        (150 * 60_000, "2h30m"),
        (8 * 3_600_000, "8h"),
    ],
)
def test_work_time(ms: int, shown: str) -> None:
    assert wording.work_time(ms) == shown


def test_the_terms_are_one_sentence_with_all_that_matters() -> None:
    terms = made_terms(working_seconds=3600)
    assert wording.terms_sentence(terms, NOW) == (
        f"Claude Code may work in /srv/orders on a new tree from a1b2c3d until {wording.clock(NOW + 7_200_000)}, "
        "for at most 5.00 USD, 40 turns and 60m of work, "
        "asking you before commands and edits that its own rules do not let through."
    )
    assert wording.forbidden_in(wording.terms_sentence(terms, NOW)) == []


def test_terms_without_a_money_limit_say_so() -> None:
    said = wording.terms_sentence(made_terms(budget=None, billing=Billing.SUBSCRIPTION), NOW)
    assert "with no limit of money" in said
    assert "only nominal" in said


def test_every_state_has_words_and_none_is_a_code_word() -> None:
    said = [wording.turn_state(state) for state in TurnState]
    said += [wording.custody_state(state) for state in CustodyState]
    said += [wording.attention_kind(kind) for kind in AttentionKind]
    said += [wording.failure(kind) for kind in FailureKind]
    said += [wording.decision_kind(kind) for kind in DecisionKind]
    said += [wording.outcome(outcome) for outcome in RunOutcome]
    said += [wording.decision_state(view_in(state)) for state in DecisionState]
    said += [*_STEPS.values(), *_OUTCOMES.values()]
    for words in said:
        assert words
        assert wording.forbidden_in(words) == []


@pytest.mark.parametrize("kind", list(FailureKind))
def test_each_failure_of_each_agent_is_one_sentence_and_one_remedy(kind: FailureKind) -> None:
    for agent in ("", "somebodys-own", *(one.name for one in builtin({}))):
        said = wording.failure(kind, agent)
        what, colon, remedy = said.partition(": ")
        assert what == wording.failure_in_short(kind) and colon and remedy, said
        assert ":" not in remedy and "\n" not in said and len(said) <= 130, said
        assert wording.forbidden_in(said) == []


def test_a_remedy_is_the_agents_own_command_where_it_has_one() -> None:
    assert "codex login" in wording.failure(FailureKind.AUTHENTICATION, "codex")
    assert "/login" in wording.failure(FailureKind.AUTHENTICATION, "claude")
    assert "run it once by itself" in wording.failure(FailureKind.AUTHENTICATION, "mine")
    signed_out = Refusal(RefusalReason.AGENT_SIGNED_OUT, {"agent": "gemini", "detail": "no key"})
    assert wording.sentence(signed_out) == (
        "gemini is not signed in (no key); run gemini once and choose how to sign in, or set GEMINI_API_KEY, "
        "then start again."
    )


def test_a_start_that_the_agent_refused_says_why_at_once_and_afterwards() -> None:
    facts = {"agent": "codex", "what": "model-not-found", "failure": "model-not-found", "detail": "no such model"}
    assert wording.sentence(Refusal(RefusalReason.SPAWN_FAILED, facts)) == (
        "The agent could not be started: the model is not known to the account (no such model); "
        "choose another one; /model in codex lists them."
    )
    for kind in FailureKind:
        said = wording.end_reason(f"{EndReason.SPAWN_FAILED}:{kind}")
        assert said.startswith("the agent could not be started"), said
        assert (wording.failure_in_short(kind) in said) is (kind is not FailureKind.UNKNOWN)
        assert wording.forbidden_in(said) == []
    assert wording.end_reason("spawn-failed:something-newer") == wording.end_reason("spawn-failed")


def test_a_limit_says_when_it_resets_where_that_was_told() -> None:
    at = wording.clock(1_700_000_000_000)
    said = wording.failure(FailureKind.RATE_LIMITED, "claude", resets_at=1_700_000_000)
    assert said == f"the account's limit is reached: it resets at {at}, start again then"
    assert wording.failure(FailureKind.OVERLOADED, resets_at=1_700_000_000) == wording.failure(FailureKind.OVERLOADED)


def test_terms_say_how_the_cost_is_known_and_what_is_to_be_seen_first() -> None:
    def proposal(**more: Any) -> Proposal:
        return Proposal(terms=made_terms(agent="codex"), preset=None, **more)

    assert wording.warnings(proposal(), NOW) == [] and wording.remarks(proposal()) == []
    untold = proposal(cost=CostBasis.UNTOLD, signed_out_at=Millis(NOW - 60_000), caution="it is slow")
    assert wording.warnings(untold, NOW) == [
        f"it was not signed in at {wording.clock(NOW - 60_000)}: run codex login first",
        "its cost is not told by Codex: no limit of money can hold, those of turns and time do",
    ]
    assert wording.remarks(untold) == ["it is slow"]
    estimated = proposal(cost=CostBasis.ROUGHLY, cost_note="estimated from a list")
    assert wording.remarks(estimated) == ["its cost is estimated from a list: the limit of money holds by that"]
    assert wording.warnings(estimated, NOW) == []


def test_agents_that_are_not_offered_are_said_with_the_reason_and_those_not_there_in_one_line() -> None:
    others = [
        Refusal(RefusalReason.AGENT_SIGNED_OUT, {"agent": "codex"}),
        Refusal(RefusalReason.AGENT_NOT_FOUND, {"agent": "gemini"}),
        Refusal(RefusalReason.AGENT_NOT_FOUND, {"agent": "qwen"}),
    ]
    said = wording.why_not(others)
    assert said == [
        "codex is not signed in; run codex login, then start again.",
        "Not on this machine: gemini, qwen; footplate agents says how to get each.",
    ]
    assert [one for words in said for one in wording.forbidden_in(words)] == []


def view_in(state: DecisionState) -> DecisionView:
    return DecisionView(
        id=DecisionId(7),
        run=RunId(12),
        turn=None,
        kind=DecisionKind.QUESTION,
        state=state,
        revision=1,
        payload_hash="h",
        title="t",
        subject="s",
        asked_at=NOW,
        answered_by="Mara",
        answered_at=NOW,
        answer="Red",
        delivered_at=NOW,
    )


def test_who_answered_first_is_told() -> None:
    at = wording.clock_seconds(NOW)
    assert wording.answered(view_in(DecisionState.DELIVERED)) == f"answered by Mara at {at} (Red)"


def test_the_stop_report_begins_with_the_answer() -> None:
    ended = EndedProcess(pid=41190, name="pytest -q", step="term", gone_after_ms=2100, own_session=True)
    receipt = Receipt(
        reason="stopped",
        already_ended=False,
        agent_exit="1",
        steps=(("asked", 20), ("term", 400), ("gone", 2400)),
        ended=(ended,),
        remaining=(),
        spared=(),
        total_ms=2400,
    )
    lines = wording.receipt_lines(receipt)
    assert lines[0] == "Nothing left running. 1 process ended, 2.4 s."
    assert "41190  pytest -q  ended by TERM after 2.1 s  own session" in lines
    left = Receipt(
        reason="stopped",
        already_ended=False,
        agent_exit=None,
        steps=(),
        ended=(),
        remaining=(ended,),
        spared=(),
        total_ms=1,
    )
    assert "1 process left (41190)" in wording.receipt_lines(left)[0]
    for line in wording.receipt_lines(left) + lines:
        assert wording.forbidden_in(line) == []


def test_the_left_column_is_found_and_its_allowed_phrases_are_not() -> None:
    assert wording.forbidden_in("The custody was fenced") == ["custody", "fenced"]
    assert wording.forbidden_in("not delivered, kept for the next run; not signed in") == []
    assert wording.forbidden_in("overwritten by parking") == []
    assert Millis(NOW) == NOW


@pytest.mark.parametrize("code", [sqlite3.SQLITE_BUSY, sqlite3.SQLITE_CANTOPEN])
def test_a_ledger_that_takes_nothing_is_said_in_words_while_it_lasts(code: int) -> None:
    error = sqlite3.OperationalError("unable to open database file")
    error.sqlite_errorcode = code
    fault = typed(error, "/home/mara/.local/ledger.db")
    assert fault is not None
    said = wording.trouble_words(fault.refusal, "/home/mara")
    assert "{" not in said and "then repeat this" not in said, "nobody has to do again what waits"
    assert "in use by another program" in said or ("~/.local/ledger.db" in said and "unable to open" in said)
