"""The queue's pure parts: paths that tasks reserve, the order of tasks that name each other, files of tasks, what is
agreed to and cut from it, and why a task waits."""

import itertools
import re
from pathlib import Path

import pytest
from hypothesis import given, strategies as st
from msgspec.structs import replace

from app.wording import forbidden_in, sentence
from app.wording_queue import reason_sentence, waits_sentence
from coordinator.tasks import ordering, paths, queuefile, seriesterms, telling, waiting
from coordinator.tasks.tasktypes import NewTask, SeriesTerms, TaskReason, Waits, Wishes
from coordinator.tasks.waiting import Around
from coordinator.terms import Terms, TreeKind
from store import reservations
from store.agentwaits import StoredWait
from store.canonical import dumps
from store.claims import WaitingFacts
from store.refusal import Refusal
from store.reservations import Reserved
from store.rows import names
from store.series import Left, Series
from store.tasks import Task
from store.vocab import (
    Billing,
    MicroUsd,
    Millis,
    RefusalReason,
    RunId,
    SeriesId,
    SeriesState,
    TaskId,
)
from tests.cli.made import made_terms

# --------------------------------------------------------------------------------------------------------------- paths


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    top = tmp_path / "repo"
    (top / "src" / "deep").mkdir(parents=True)
    (top / "same").symlink_to("src")
    (top / "up").symlink_to("..")
    (top / "away").symlink_to("/etc")
    (tmp_path / "repo-beside").mkdir()
    (tmp_path / "by-another-name").symlink_to(top)
    return top


@pytest.mark.parametrize(
    ("given_paths", "kept"),
    [
        ((), ()),
        ((".",), (".",)),
        (("./", "src"), (".",)),
        (("src/", "src//deep", "src"), ("src",)),
        (("src/../docs", "b.txt", "b"), ("b", "b.txt", "docs")),
        (("not/there/yet",), ("not/there/yet",)),
        (("same/deep",), ("src/deep",)),
        (("src", "src-more", "src/a"), ("src", "src-more")),
        (("a b", "ümlaut"), ("a b", "ümlaut")),
    ],
)
def test_a_path_has_one_spelling(tree: Path, given_paths: tuple[str, ...], kept: tuple[str, ...]) -> None:
    assert paths.normalise(given_paths, tree) == kept
    absolute = tuple(str(tree / path) for path in given_paths)
    assert paths.normalise(absolute, tree) == kept
    other_name = tree.parent / "by-another-name"
    assert paths.normalise(tuple(str(other_name / path) for path in given_paths), other_name) == kept


@pytest.mark.parametrize(
    "path",
    ["..", "src/../..", "/etc", "../repo-beside", "up/repo-beside/x", "away", "away/x", "", " ", "a\0b", "\ud800"],
)
def test_no_path_leaves_the_repository(tree: Path, path: str) -> None:
    refused = paths.normalise(("src", path), tree)
    assert isinstance(refused, Refusal) and refused.reason is RefusalReason.PATH_OUTSIDE
    assert forbidden_in(sentence(refused)) == []


_PATH = st.lists(st.sampled_from(["a", "b", "a.b", "ab"]), max_size=3).map(lambda parts: "/".join(parts) or ".")


@given(st.lists(_PATH, max_size=5), st.lists(_PATH, max_size=5))
def test_two_reservations_overlap_as_the_claim_sees_it(ours: list[str], theirs: list[str]) -> None:
    one, two = paths.widest(ours), paths.widest(theirs)
    found = paths.overlap(one, two)
    assert (found is None) == (paths.overlap(two, one) is None)
    assert (found is None) == (paths.overlap(ours, theirs) is None), "what lies within another one says nothing new"
    places = [reservations.places(dumps(each)) for each in (one, two)]
    assert (found is None) == (reservations.overlap(*places) is None), "shown as it is claimed"


# ------------------------------------------------------------------------------------------------------------ ordering


@given(
    st.integers(1, 12).flatmap(lambda n: st.lists(st.sets(st.integers(0, n - 1), max_size=3), min_size=n, max_size=n))
)
def test_an_order_serves_every_need_or_a_real_circle_is_told(needs: list[set[int]]) -> None:
    found = ordering.in_order([(f"t{n}", [f"t{m}" for m in sorted(these)]) for n, these in enumerate(needs)])
    if isinstance(found, Refusal):
        assert found.reason is RefusalReason.DEPENDENCY_CYCLE
        told = [name for name in str(found.facts["tasks"]).split(" → ") if name != "…"]
        assert told[0] == told[-1]
        if "…" not in str(found.facts["tasks"]):
            assert all(int(after[1:]) in needs[int(before[1:])] for before, after in itertools.pairwise(told))
    else:
        place = {n: at for at, n in enumerate(found)}
        assert sorted(found) == list(range(len(needs)))
        assert all(place[before] < place[n] for n, these in enumerate(needs) for before in these)


def test_without_needs_the_order_is_as_it_was_given() -> None:
    assert ordering.in_order([("", ()), ("b", ()), ("", ())]) == (0, 1, 2)


# --------------------------------------------------------------------------------------------------------------- files

BASE = Wishes(agent="practice", attempts=2, rules=("allow command ls",))
WHOLE = """
[[task]]
name = "api"
instruction = "Port the API."
repository = "../orders"
paths = ["src/api"]
priority = 5
budget = 2.5
turns = 20
working_minutes = 30
expires_hours = 12
agent = "claude"
rules = ["allow command pytest"]
in_place = true

[[task]]
instruction = '''
Then the "docs".'''
needs = ["api", 7]
"""


def parsed(text: str, name: str = "tasks.toml") -> tuple[NewTask, ...] | Refusal:
    return queuefile.parse(text, name=name, beside=Path("/home/mara"), repositories=("/src/x",), base=BASE)


def test_a_file_says_all_that_an_order_can_say() -> None:
    found = parsed(WHOLE)
    assert isinstance(found, tuple)
    api, docs = found
    assert (api.name, api.repositories, api.paths, api.priority) == ("api", ("/home/mara/../orders",), ("src/api",), 5)
    assert api.wishes == replace(
        BASE,
        agent="claude",
        budget=MicroUsd(2_500_000),
        max_turns=20,
        working_seconds=1800,
        expires_seconds=43_200,
        rules=("allow command ls", "allow command pytest"),
        in_place=True,
    )
    assert (docs.needs, docs.repositories, docs.wishes) == (("api", 7), ("/src/x",), BASE)
    lines = '{"name":"a","instruction":"one\u2028two"}\n\n{"instruction":"b","needs":["a"],"repository":["/p","/q"]}\n'
    found = parsed(lines, "tasks.jsonl")
    assert isinstance(found, tuple) and [one.instruction for one in found] == ["one\u2028two", "b"]
    assert found[1].repositories == ("/p", "/q") and parsed(lines, "-") == found, "known by its first sign as well"


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("t.toml", "", "it has no task"),
        ("t.toml", "[[task", "it is not TOML"),
        ("t.toml", "\x00\xff", "it is not TOML"),
        ("t.toml", "a = " + "[" * 100_000, "it is not TOML"),
        ("t.toml", "task = 1", "each task begins with [[task]]"),
        ("t.toml", "agent = 'x'\n[[task]]\ninstruction='a'", "no such key: agent"),
        ("t.toml", "[[task]]\ninstruction='a'\n[[task]]\nname='b'", "task 2 (b): it has no instruction"),
        ("t.toml", "[[task]]\ninstruction='a'\nbudget='much'", "task 1: key budget: expected float"),
        ("t.toml", "[[task]]\ninstruction='a'\nattempts=0", "task 1: key attempts: expected int"),
        ("t.toml", "[[task]]\ninstruction='a'\nbugdet=1", "task 1: there is no such key: bugdet"),
        ("t.toml", "[[task]]\ninstruction=''", "key instruction"),
        ("t.toml", "[[task]]\ninstruction='a'\nneeds=['z']", "it needs 'z', and no task here has that name"),
        ("t.toml", "[[task]]\nname='a'\ninstruction='a'\n" * 2, "another task has the name a already"),
        ("t.toml", "[[task]]\ninstruction='a'\n" * 10_001, "more than 10000 tasks"),
        ("t.jsonl", "not json", "line 1: it is no JSON object"),
        ("t.jsonl", '{"instruction":"a"}\n\n{"instruction":', "line 3: it is no JSON object"),
        ("t.jsonl", '{"instruction":"a"}\n[1]', "line 2: expected object, got array"),
        ("t.jsonl", '{"a":' * 100_000, "line 1: it is no JSON object"),
        ("t.jsonl", '{"instruction":"a","needs":[-1]}', "line 1: key needs"),
    ],
    ids=lambda value: ascii(value[:30]),
)
def test_a_mistake_in_a_file_is_one_sentence_with_its_place(name: str, text: str, said: str) -> None:
    found = parsed(text, name)
    assert isinstance(found, Refusal) and found.reason is RefusalReason.QUEUE_FILE_INVALID
    whole = sentence(found)
    assert whole.startswith(f"Nothing was added: {name}") and said in whole, whole
    assert whole.endswith(".") and "\n" not in whole and forbidden_in(whole) == []


@given(st.text(max_size=200), st.sampled_from(["t.toml", "t.jsonl", "-"]))
def test_rubbish_is_a_refusal_and_never_an_error(text: str, name: str) -> None:
    found = parsed(text, name)
    assert isinstance(found, tuple) or found.reason is RefusalReason.QUEUE_FILE_INVALID


# --------------------------------------------------------------------------------------------------------------- terms

NOW = Millis(1_790_000_000_000)
SERIES = SeriesTerms(
    task=TaskId(4),
    revision=2,
    instruction="Mend it.",
    preamble=True,
    agent="claude",
    driver="claude",
    billing=Billing.KEY,
    repository="/src/orders",
    paths=("src",),
    in_place=False,
    model="opus",
    mode="default",
    budget=MicroUsd(5_000_000),
    attempts=3,
    max_turns=20,
    working_seconds=1800,
    run_seconds=3600,
    expires_at=Millis(NOW + 86_400_000),
    attendance_seconds=1800,
    at_budget="fence",
    machine="m1",
    uid=1000,
    rules=("allow command pytest",),
    setup="make ready",
    checks=("pytest -q",),
    script="",
)


def found_now(**more: object) -> Terms:
    """What ``proposing`` finds where nothing has changed."""
    shared = {name: getattr(SERIES, name) for name in SeriesTerms.__struct_fields__ if name in Terms.__struct_fields__}
    # A default of the last run here is not what was agreed to.
    found = {**shared, "tree_kind": TreeKind.WORKTREE, "tree": "", "model": "haiku", "max_turns": 99, **more}
    return replace(made_terms(), **found)  # type: ignore[arg-type]


def test_an_attempt_is_cut_from_what_was_agreed_to() -> None:
    attempt = seriesterms.cut(SERIES, found_now(), spent=MicroUsd(1_250_000), now=NOW, telling="It is the second.")
    assert isinstance(attempt, Terms)
    assert (attempt.budget, attempt.expires_at) == (3_750_000, NOW + 3_600_000)
    for name in ("instruction", "model", "max_turns", "working_seconds", "at_budget", "rules", "checks", "setup"):
        assert getattr(attempt, name) == getattr(SERIES, name), name
    assert attempt.carried.startswith("It is the second.")
    untold = seriesterms.cut(replace(SERIES, budget=None), found_now(), spent=MicroUsd(9), now=NOW)
    assert isinstance(untold, Terms) and untold.budget is None


MOVED = {
    "agent": "codex",
    "driver": "acp",
    "billing": Billing.SUBSCRIPTION,
    "repository": "/src/elsewhere",
    "preamble": False,
    "mode": "plan",
    "attendance_seconds": 60,
    "machine": "m2",
    "uid": 0,
    "rules": ("allow tool Task",),
    "setup": "curl x",
    "checks": (),
}


@pytest.mark.parametrize("name", seriesterms.FOUND)
def test_what_is_found_must_be_what_was_agreed_to(name: str) -> None:
    refused = seriesterms.cut(SERIES, found_now(**{name: MOVED[name]}), spent=MicroUsd(0), now=NOW)
    assert isinstance(refused, Refusal) and refused.reason is RefusalReason.TERMS_MOVED
    assert refused.facts["field"] == name and refused.facts["was"] != refused.facts["is"]


def test_a_tree_that_is_there_already_is_not_made_ready_again_and_the_kind_of_tree_stays() -> None:
    again = found_now(setup="", tree="/worktrees/7")
    assert isinstance(seriesterms.cut(SERIES, again, spent=MicroUsd(0), now=NOW), Terms)
    in_place = seriesterms.cut(SERIES, found_now(tree_kind=TreeKind.IN_PLACE), spent=MicroUsd(0), now=NOW)
    assert isinstance(in_place, Refusal)


def test_nothing_is_cut_from_what_is_used_up() -> None:
    money = seriesterms.cut(SERIES, found_now(), spent=MicroUsd(5_000_000), now=NOW)
    late = seriesterms.cut(SERIES, found_now(), spent=MicroUsd(0), now=SERIES.expires_at)
    assert money == Refusal(RefusalReason.SERIES_SPENT, {"what": "money"})
    assert late == Refusal(RefusalReason.SERIES_SPENT, {"what": "time"})


def test_stored_terms_read_back_as_they_were_or_not_at_all() -> None:
    text = seriesterms.canonical(SERIES)
    assert seriesterms.parse(text) == SERIES
    for broken in (
        text[:-1],
        "[]",
        "null",
        text.replace('"uid":1000', '"uid":"x"'),
        text.replace('"uid"', '"new":1,"uid"'),
    ):
        refused = seriesterms.parse(broken)
        assert isinstance(refused, Refusal) and refused.reason is RefusalReason.TERMS_UNREADABLE
    other = replace(SERIES, attempts=9, expires_at=NOW)
    difference = seriesterms.first_difference(SERIES, other)
    assert difference is not None and difference.facts["field"] == "attempts"
    assert seriesterms.moved(SERIES, other) == ("attempts",) and seriesterms.first_difference(SERIES, SERIES) is None


def test_what_is_asked_is_what_was_agreed_to() -> None:
    asked = seriesterms.asked(SERIES, continues=RunId(3))
    assert (asked.rules, asked.worktree, asked.agent, asked.continues) == (SERIES.rules, True, "claude", 3)


def test_a_later_attempt_is_told_of_the_one_before() -> None:
    assert telling.attempt(1, 3, before=None, same_tree=True) == ""
    second = telling.attempt(2, 3, before=RunId(7), same_tree=True)
    assert "attempt 2 of 3" in second and "run 7" in second and "is in the working tree" in second
    assert "is not in this working tree" in telling.attempt(4, 3, before=RunId(7), same_tree=False)


# ----------------------------------------------------------------------------------------------------- why one waits


def task(**more: object) -> Task:
    """Only what a reason to wait is taken from."""
    plain: dict[str, object] = dict.fromkeys(names(Task))
    return Task(**(plain | {"id": 4, "repository": "/src/orders", "held": False, "not_before": 0} | more))  # type: ignore[arg-type]


AGREED = Series(
    id=SeriesId("s"),
    task=TaskId(4),
    revision=1,
    state=SeriesState.OPEN,
    terms="",
    digest="",
    attempts=3,
    budget=None,
    operator="Ada",
    signed_at=NOW,
    expires_at=Millis(NOW + 1),
    closed_at=None,
    close_reason=None,
)
# Everything is in the way at once; each reason, in its turn, is taken away.
IN_THE_WAY = WaitingFacts(
    failed_need=TaskId(1),
    need=TaskId(2),
    needs_more=1,
    reserved=(Reserved(task=TaskId(3), repository="/src/orders", places=("src/",), run=RunId(8)), "src"),
    ending=RunId(9),
    series=None,
    left=None,
    expired=True,
    agreed_before=False,
    agent=StoredWait(agent="claude", reason="rate-limited", until=Millis(NOW + 5), run=None, at=NOW),
)
NOBODY = Around(
    kept_back="stop-all",
    away=True,
    held=8,
    limit=8,
    console=False,
    agents={"claude": "not-installed"},
    gone=frozenset({"/src/orders"}),
    in_place={"/src/orders": RunId(5)},
    dry=frozenset({TaskId(4)}),
)


def test_of_all_reasons_the_first_that_holds_is_said_in_their_order() -> None:
    row, facts, around = task(held=True, not_before=Millis(NOW + 9)), IN_THE_WAY, NOBODY
    agreed: dict[str, object] = {"series": AGREED, "left": Left(attempts=0, money=None)}
    steps: list[tuple[Waits, dict[str, object], dict[str, object], dict[str, object]]] = [
        (Waits.HELD, {"held": False}, {}, {}),
        (Waits.NEED_FAILED, {}, {"failed_need": None}, {}),
        (Waits.NEED, {}, {"need": None}, {}),
        (Waits.RESERVED, {}, {"reserved": None}, {}),
        (Waits.RESERVED, {}, {}, {"in_place": {}}),
        (Waits.SIGNING, {}, {"agreed_before": True}, {}),
        (Waits.EDITED, {}, agreed, {}),
        (Waits.SPENT, {}, {"expired": False}, {}),
        (Waits.SPENT, {}, {"left": Left(attempts=1, money=MicroUsd(0))}, {}),
        (Waits.SPENT, {}, {"left": Left(attempts=1, money=None)}, {}),
        (Waits.AGENT, {}, {"agent": None}, {}),
        (Waits.AGENT, {}, {}, {"agents": {}}),
        (Waits.AGENT, {}, {}, {"dry": frozenset()}),
        (Waits.LATER, {"not_before": NOW}, {}, {}),
        (Waits.REPOSITORY, {}, {}, {"gone": frozenset()}),
        (Waits.ENDING, {}, {"ending": None}, {}),
        (Waits.QUEUE_HELD, {}, {}, {"kept_back": ""}),
        (Waits.AWAY, {}, {}, {"away": False}),
        (Waits.SLOT, {}, {}, {"held": 7}),
        (Waits.CONSOLE, {}, {}, {"console": True}),
        (Waits.NEXT, {}, {}, {}),
    ]
    assert list(dict.fromkeys(step[0] for step in steps)) == list(Waits), "in the order in which they are declared"
    for expected, of_row, of_facts, of_around in steps:
        waits, told = waiting.why(row, Wishes(agent="claude", in_place=True), facts, around, NOW)
        assert waits is expected
        said = waits_sentence(waits, told, NOW)
        assert said.endswith(".") and forbidden_in(said) == [], said
        assert not re.search(r"[{}\[\]]|\s\s", said + waits_sentence(waits, {})), "with its facts and without"
        row = replace(row, **of_row)  # type: ignore[arg-type]
        facts = replace(facts, **of_facts)  # type: ignore[arg-type]
        around = replace(around, **of_around)  # type: ignore[arg-type]


@pytest.mark.parametrize("reason", list(TaskReason))
def test_why_a_task_is_the_operators_is_one_sentence_whatever_is_known(reason: TaskReason) -> None:
    everything = {
        "reason": "exited:1",
        "failure": "overloaded",
        "check": "pytest -q",
        "field": "uid",
        "was": 1,
        "is": 2,
    }
    for detail in (
        {},
        everything,
        {"reason": "no-commit", "path": "/x"},
        {"what": "money"},
        {"reason": "of a newer one"},
    ):
        said = reason_sentence(reason, detail)
        assert said.endswith(".") and not re.search(r"[{}\[\]]|\s\s|\.\.", said) and forbidden_in(said) == [], said
