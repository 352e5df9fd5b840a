"""``footplate queue …`` on a real ledger, and worked through by a real process; pure, what the line still comes to."""

import io
import json
import re
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any

import pexpect
import pytest
from msgspec.structs import replace

from app import wording, wording_tasks
from app.cli import tasklist, taskterms
from app.cli.columns import rendered
from app.cli.exits import Leave, outcome_of
from app.cli.program import run
from app.cli.queueleft import left_of
from app.cli.values import task_ids
from coordinator.api import QueueView, SeriesProposal, SeriesTerms, TaskReason, TaskView, Waits, Wishes
from store.vocab import Billing, MicroUsd, Millis, RunId, TaskId, TaskState
from tests.cli.made import NOW
from tests.cli.running import ROOT, Ran, footplate, repository
from tests.cli.test_door import modules_after
from tests.cli.test_elsewhere import LONG, Held
from tests.cli.test_hostile import lines
from tests.cli.test_terminal import spawn
from tests.console.hostile import HOSTILE


def view(id: int, waits: Waits | None = None, *, needs: tuple[int, ...] = (), **more: Any) -> TaskView:
    made = TaskView(
        id=TaskId(id),
        state=TaskState.QUEUED,
        title=f"task {id}",
        instruction="x",
        repository="/srv/orders",
        agent="practice",
        priority=0,
        paths=(),
        needs=tuple(map(TaskId, needs)),
        held=waits is Waits.HELD,
        revision=1,
        created_at=NOW,
        operator="Mara",
        wishes=Wishes(),
        waits=waits,
    )
    return replace(made, **more)


def line(*tasks: TaskView) -> QueueView:
    return QueueView(tasks=tasks, counts={})


def series_terms(**changes: Any) -> SeriesTerms:
    made = SeriesTerms(
        task=TaskId(3),
        revision=1,
        instruction="Fix it.",
        preamble=True,
        agent="claude",
        driver="claude",
        billing=Billing.KEY,
        repository="/srv/orders",
        paths=(),
        in_place=False,
        model=None,
        mode="default",
        budget=MicroUsd(5_000_000),
        attempts=3,
        max_turns=40,
        working_seconds=3600,
        run_seconds=7200,
        expires_at=Millis(NOW + 7_200_000),
        attendance_seconds=1800,
        at_budget="hold",
        machine="m",
        uid=1000,
    )
    return replace(made, **changes)


# ---------------------------------------------------------------------------------------------------------------- pure


@pytest.mark.parametrize(
    ("tasks", "comes", "needs", "kept"),
    [
        ((), False, [], 0),
        ((view(1, Waits.NEXT),), True, [], 0),
        ((view(1, Waits.LATER), view(2, Waits.SIGNING)), True, [2], 0),
        ((view(1, Waits.SPENT), view(2, Waits.NEED, needs=(1,)), view(3, Waits.NEED, needs=(2,))), False, [1, 2, 3], 0),
        ((view(1, Waits.HELD), view(2, Waits.NEED, needs=(1,))), False, [], 2),
        ((view(1, state=TaskState.WORKING),), True, [], 0),
        ((view(1, state=TaskState.WORKING, owner="another console"),), False, [], 0),
        ((view(1, state=TaskState.WORKING, owner="o"), view(2, Waits.NEED, needs=(1,))), True, [], 0),
        ((view(1, state=TaskState.NEEDS_OPERATOR, reason=TaskReason.CUT_OFF),), False, [1], 0),
        ((view(1, Waits.AGENT, waits_facts={"agent": "claude", "until": NOW}),), True, [], 0),
        ((view(1, Waits.AGENT, waits_facts={"agent": "claude"}),), False, [1], 0),
        ((view(2, Waits.NEED, needs=(1,)),), False, [], 0),  # what it needs was not read: nothing is said of it
        ((view(1, state=TaskState.DONE), view(2, state=TaskState.FAILED, ended_at=NOW - 1)), False, [], 0),
    ],
)  # fmt: skip
def test_what_the_line_still_comes_to(tasks: tuple[TaskView, ...], comes: bool, needs: list[int], kept: int) -> None:
    left = left_of(line(*tasks), NOW)
    assert (left.comes, [one.task for one in left.needs], left.held_back, left.failed) == (comes, needs, kept, ())
    assert wording.forbidden_in(left.sentence()) == []


def test_a_chain_as_long_as_the_line_is_judged_by_its_first() -> None:
    chain = [view(1, Waits.EDITED), *(view(n, Waits.NEED, needs=(n - 1,)) for n in range(2, 5001))]
    assert len(left_of(line(*reversed(chain)), NOW).needs) == 5000
    assert left_of(line(replace(chain[0], waits=Waits.NEXT), *chain[1:]), NOW).comes


def test_numbers_of_tasks_are_typed_and_told_the_same_way() -> None:
    assert task_ids(["3", "#5-7,9", "6"]) == (3, 5, 6, 7, 9)
    for wrong in ("0", "-3", "7-5", "1-99999999", "x", "3-", "³"):
        with pytest.raises(Leave):
            task_ids([wrong])
    assert wording_tasks.numbers(map(TaskId, (4, 3, 9, 5))) == "3–5 and 9"
    assert wording_tasks.numbers(map(TaskId, range(1, 10_001))) == "1–10000"
    assert wording_tasks.numbers(map(TaskId, range(1, 100, 2))).endswith("13 and 50 in all")


def test_what_is_agreed_to_is_one_sentence_with_all_that_matters() -> None:
    until = wording.clock(NOW + 7_200_000)
    assert wording_tasks.series_sentence(series_terms(), NOW) == (
        f"Claude Code may work in /srv/orders on a tree of its own, in at most 3 attempts begun until {until}, "
        "for at most 5.00 USD in all, 40 turns, 60m of work and 120m for each until it ends, "
        "asking you before commands and edits that its own rules "
        "do not let through."
    )
    once = series_terms(attempts=1, working_seconds=None, budget=None, in_place=True, rules=("allow command pytest",))
    assert wording_tasks.series_sentence(once, NOW) == (
        f"Claude Code may work in /srv/orders in place, in one attempt begun until {until}, with no limit of money, "
        "40 turns and 120m until it ends, asking you before commands and edits that its own rules "
        "do not let through, but for what 1 standing rule answers."
    )
    moved = SeriesProposal(
        terms=series_terms(paths=("src",), checks=("pytest -q",)),
        title="t",
        before=series_terms(budget=MicroUsd(3_000_000)),
        moved=("budget", "instruction", "checks"),
    )
    said = wording_tasks.series_remarks(moved)
    assert wording_tasks.keeps(moved.terms) == "keeps src to itself"
    assert said == ["When it says that it is finished, it is checked in its tree by: `pytest -q`", said[-1]]
    assert said[-1] == "Not as agreed to before: money (was 3.00, is 5.00), what is to be done, checks."
    for text in (*said, *(wording_tasks.task_state(one) for one in TaskState)):
        assert text and wording.forbidden_in(text) == []


# ------------------------------------------------------------------------------------------------- on a real ledger


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    repository(tmp_path / "r")
    monkeypatch.setenv("FOOTPLATE_HOME", str(tmp_path / "h"))
    monkeypatch.chdir(tmp_path / "r")
    return tmp_path / "h"


def queue(_home: Path, *arguments: str) -> Ran:
    """``footplate queue …`` as the process does it, in this one: a start of Python for each would take minutes."""
    with redirect_stdout(io.StringIO()) as out, redirect_stderr(io.StringIO()) as err:
        code = outcome_of(lambda: run(["queue", *arguments]))
    return Ran(code=code, out=out.getvalue(), err=err.getvalue())


@pytest.mark.parametrize("name", HOSTILE)
def test_text_of_others_is_text_in_every_line(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    said = HOSTILE[name]
    facts = dict.fromkeys(("agent", "why", "path", "task", "run", "what", "check", "failure", "reason", "until"), said)
    of = {"title": said, "instruction": said, "repository": said, "agent": said, "paths": (said,), "operator": said}
    tasks = [view(n, waits, waits_facts=facts, **of) for n, waits in enumerate(Waits, start=1)]
    tasks += [view(90, state=TaskState.NEEDS_OPERATOR, reason=one, detail=facts, **of) for one in TaskReason]
    tasks.append(view(99, state=TaskState.WORKING, owner=said, runs=(RunId(4),), **of))
    for row in tasklist.rows(tasks, NOW, ascii=False):
        assert len(lines("  ".join(row))) == 1
    for one in tasks:
        facts_ = tasklist.facts_of(one, NOW)
        assert sum(len(lines(row)) for row in facts_) == len(facts_)
    terms = series_terms(model=said, repository=said, paths=(said,), setup=said, checks=(said,), agent=said, mode=said)
    before = series_terms(paths=("a",))
    moved = ("paths", "agent", "model", "repository", "mode")
    for more in ((), (series_terms(task=TaskId(4)),)):
        offered = [SeriesProposal(terms=one, title=said, before=before, moved=moved, own_rules=(said,), caution=said)
                   for one in (terms, *more)]  # fmt: skip
        taskterms.show(offered, NOW)
    assert len(lines(capsys.readouterr().out)) > 15


def test_on_a_narrow_terminal_a_task_is_still_one_row() -> None:
    long = view(7, Waits.NEED, needs=(3,), waits_facts={"task": 3}, title="x" * 90, repository="/a/" + "b" * 90)
    late = replace(long, state=TaskState.NEEDS_OPERATOR, reason=TaskReason.NOTHING_RECORDED, budget=MicroUsd(9))
    rows = tasklist.rows([long, late], NOW, ascii=True)
    assert [row[-1] for row in rows] == ["after 3", "no trace of work"]
    for width in (40, 60, 80, 120):
        head, *shown = rendered(rows, tasklist.COLUMNS, width)
        assert max(map(len, (head, *shown))) <= width and len(shown) == 2
        assert "needs you" in shown[1] and "…" in shown[1] and (width == 40 or "no trace" in shown[1])


def listed(home: Path) -> dict[int, dict[str, Any]]:
    return {one["id"]: one for one in json.loads(queue(home, "ls", "--json").out)["tasks"]}


def test_looking_makes_no_ledger_and_loads_no_screen(home: Path) -> None:
    assert queue(home).out == queue(home, "ls").out
    assert queue(home, "ls").out.startswith("Nothing waits in line.")
    assert json.loads(queue(home, "ls", "--json").out)["tasks"] == []
    for arguments in (("show", "1"), ("retry", "1"), ("edit", "1", "--title", "x")):
        refused = queue(home, *arguments, "--json")
        assert refused.code == 1 and "no-such-task" in refused.out, arguments
    assert not (home / "ledger.db").exists()
    assert not {one for one in modules_after(home, "queue", "ls") if one.split(".")[0] == "textual"}


def test_what_is_typed_wrongly_adds_nothing_and_is_one_sentence(home: Path, tmp_path: Path) -> None:
    for code, arguments in (
        (2, ("add",)),
        (2, ("add", "x", "--yes", "--later")),
        (2, ("add", "x", "--repo", "/nowhere", "--yes")),
        (2, ("add", "x", "--after", "0", "--yes")),
        (2, ("add", "x", "--budget", "much", "--yes")),
        (2, ("add", "x", "--attempts", "0", "--yes")),
        (2, ("add", "x", "--file", "y", "--yes")),
        (2, ("add", "--file", "nowhere.toml", "--yes")),
        (2, ("add", "--file", ".", "--yes")),
        (2, ("add", "/clear", "--yes")),
        (2, ("rm",)),
        (2, ("edit", "1")),
        (2, ("release", "1", "--agent", "claude")),
        (1, ("add", "x")),
        (1, ("add", "x", "--repo", str(tmp_path), "--yes")),
        (1, ("add", "x", "--path", "../h", "--later")),
        (1, ("add", "x", "--path", "/etc", "--later")),
        (1, ("add", "x", "--after", "7", "--later")),
    ):
        ran = queue(home, *arguments)
        assert ran.code == code, (arguments, ran)
        assert ran.out == "" and len(ran.err.strip().splitlines()) == 1, (arguments, ran)
    assert listed(home) == {}


def test_a_task_from_added_to_removed_and_the_ledger_is_whole(home: Path) -> None:
    assert queue(home, "add", "Fix it", "--agent", "practice", "--later").out.startswith("Task 1 is in line.\n")
    one = ("--agent", "practice", "--path", "docs", "--path", "docs/a", "--budget", "2usd", "--attempts", "2", "--yes")
    added = json.loads(queue(home, "add", "Then this", "--after", "1", "--priority", "5", *one, "--json").out)
    assert (added["added"], added["agreed"], added["refused"]) == ([2], [2], [])
    assert (added["terms"][0]["budget"], added["terms"][0]["attempts"]) == (2_000_000, 2)
    tasks = listed(home)
    assert (tasks[1]["waits"], tasks[2]["waits"], tasks[2]["waits_facts"]["task"]) == ("signing", "need", 1)
    assert (tasks[2]["paths"], tasks[2]["attempts_left"], tasks[2]["priority"]) == (["docs"], 2, 5)
    told = queue(home, "ls").out
    assert "no terms yet" in told and "after 1" in told and told.endswith("2 wait\n")
    shown = queue(home, "show", "2").out
    assert "It waits until task 1 is done." in shown and "agreed to, 2 attempts left" in shown
    assert [one for text in (told, shown) for one in wording.forbidden_in(text)] == []

    circle = queue(home, "edit", "1", "--after", "2", "--json")
    assert circle.code == 1 and json.loads(circle.out)["refused"] == "dependency-cycle"
    assert json.loads(queue(home, "edit", "2", "--priority", "1", "--json").out)["agree_again"] is False
    anew = json.loads(queue(home, "edit", "2", "--text", "Then that", "--after", "none", "--json").out)
    assert anew["agree_again"] is True
    again = queue(home, "agree", "2", "--yes")
    assert "Not as agreed to before: what is to be done." in again.out
    assert json.loads(queue(home, "agree", "--yes", "--json").out)["agreed"] == [1]
    assert queue(home, "agree", "--yes").out == "No task waits for you to agree to its terms.\n"
    assert queue(home, "agree").code == 2, "nobody is there to be asked"

    queue(home, "hold", "1")
    assert queue(home, "hold").out.startswith("The line is kept back")
    whole = json.loads(queue(home, "ls", "--json").out)
    assert whole["held"] == "operator" and {one["id"]: one["held"] for one in whole["tasks"]} == {1: True, 2: False}
    assert queue(home, "ls").out.startswith("The whole line is kept back")
    both = queue(home, "release", "1-2", "7", "--json")
    assert both.code == 1 and [one["ok"] for one in json.loads(both.out)["tasks"]] == [True, True, False]
    assert queue(home, "release").out == "The line is let go.\n"
    assert queue(home, "retry", "1").code == queue(home, "accept", "1").code == 1
    assert queue(home, "rm", "2").code == 0 and list(listed(home)) == [1]
    assert footplate(home, "verify").out == "The ledger is whole.\n"


def test_on_a_terminal_one_enter_agrees_and_anything_else_leaves_it_in_line(home: Path) -> None:
    for typed, agreed in (("\r", True), ("yes\r", False), ("\x03", False)):
        where = ["--repo", str(home.parent / "r"), "--agent", "practice"]
        terminal = spawn(home, "queue", "add", "Fix it", *where)
        terminal.expect("Enter agrees to these terms, Ctrl-C leaves them for later: ")
        terminal.send(typed)
        terminal.expect(pexpect.EOF)
        terminal.close()
        assert terminal.exitstatus == {"\r": 0, "yes\r": 1, "\x03": 130}[typed]
        newest = max(listed(home).items())[1]
        assert (newest["state"], newest["waits"]) == ("queued", "console" if agreed else "signing")


def test_ten_thousand_tasks_come_in_together_and_are_seen_a_few_at_a_time(home: Path, tmp_path: Path) -> None:
    many = tmp_path / "many.jsonl"
    lines = [{"instruction": f"Do {n}", "name": f"t{n}", "needs": [f"t{n - 1}"] if n else []} for n in range(10_000)]
    many.write_text("\n".join(map(json.dumps, lines)))
    # A mistake in the last line leaves nothing behind.
    (tmp_path / "wrong.jsonl").write_text(many.read_text() + '\n{"instruction": 7}')
    wrong = queue(home, "add", "--file", str(tmp_path / "wrong.jsonl"), "--later")
    assert wrong.code == 1 and "line 10001" in wrong.err and not (home / "ledger.db").exists()
    done = queue(home, "add", "--file", str(many), "--agent", "practice", "--yes")
    assert done.code == 0 and done.out.startswith("Tasks 1–10000 are in line.\nTasks 1–10000: The practice agent may")
    assert len(done.out.splitlines()) < 20, "what is the same is said once"
    told = queue(home, "ls", "--limit", "3").out.splitlines()
    assert [one.split()[1] for one in told[1:4]] == ["1", "2", "3"]
    assert told[-1] == "10000 wait (3 shown; --limit N shows more)"
    assert "It waits until task 9999 is done." in queue(home, "show", "10000").out


@pytest.mark.parametrize(
    ("name", "text", "says"),
    [
        ("x.toml", b"[[task]]\ninstruction = 'a'\nneeds = ['b']", "task 1: it needs 'b'"),
        ("x.toml", b"[[task]\n", "it is not TOML"),
        ("x.toml", b"[[task]]\ninstruction = 'a'\nbudgett = 3", "there is no such key: budgett"),
        ("x.toml", b"", "it has no task"),
        ("x.jsonl", b'{"instruction": "a"}\n[1]', "line 2"),
        ("x.jsonl", b'{"instruction": "a", "name": "n", "needs": ["n"]}', "wait for each other"),
        ("x.jsonl", b'{"instruction": "a", "repository": "/nowhere"}', "/nowhere is not a git repository"),
        ("x.jsonl", b'{"instruction": "a", "paths": ["../.."]}', "cannot be kept for a task"),
        ("x.jsonl", b"\xff\xfe\x00", "not valid UTF-8"),
        ("x.jsonl", b"[" * 50_000, "line 1"),
    ],
)
def test_a_file_with_a_mistake_adds_nothing(home: Path, name: str, text: bytes, says: str) -> None:
    (home.parent / name).write_bytes(text)
    ran = queue(home, "add", "--file", str(home.parent / name), "--later")
    assert ran.code in (1, 2) and says in ran.err and len(ran.err.splitlines()) == 1, ran
    assert listed(home) == {}


def test_the_file_that_the_readme_shows_is_taken(home: Path) -> None:
    blocks = re.findall(r"```toml\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)
    (shown,) = [block for block in blocks if "[[task]]" in block]
    for name in ("shop", "site"):
        repository(home.parent / name)
    (home.parent / "r" / "night.toml").write_text(shown)
    assert queue(home, "add", "--file", "night.toml", "--later").code == 0
    told = [(Path(one["repository"]).name, one["needs"], one["wishes"]["budget"]) for one in listed(home).values()]
    assert told == [("r", [], None), ("shop", [1], 2_000_000), ("site", [1], 2_000_000)]


# --------------------------------------------------------------------------------------------- the line worked through

SAYS = '@@{"steps":[{"text":"done"},{"run":"touch made","why":"to see"}]}@@'
ASKS = '@@{"steps":[{"ask":"Which colour?","options":["Red","Blue"]}]}@@'
NOTHING = '@@{"steps":[{"do":"exit","code":3}]}@@'
PRACTICE = ("--agent", "practice", "--script", "plain", "--rule", "allow command touch", "--yes")


def test_the_line_is_worked_through_in_its_order_and_what_is_added_meanwhile_too(home: Path) -> None:
    queue(home, "add", SAYS, "--title", "first", *PRACTICE)
    queue(home, "add", SAYS, "--title", "second", "--after", "1", *PRACTICE)
    with working(home) as line_:
        started = line_.saw("started", run=1)
        assert started["title"] == "first"
        assert queue(home, "add", ASKS, "--title", "asks", *PRACTICE).code == 0
        asked = line_.saw("decision", kind="question")
        head, first, *others = queue(home, "ls").out.splitlines()
        assert head.split() == ["task", "title", "repository", "agent", "state", "ago", "spent", "now"]
        assert first.split()[:2] == ["◆", "3"] and "asks you" in first and f"question {asked['id']}" in first
        assert f"Answer one with: footplate answer {asked['id']} CHOICE" in others
        line_.type(f"answer {asked['id']} blue")
        assert line_.code() == 0
        ended = line_.events("ended")
        assert [one["outcome"] for one in ended] == ["finished"] * 3
        assert line_.saw("over")["needs"] == []
    tasks = listed(home)
    assert {one["state"] for one in tasks.values()} == {"done"} and tasks[2]["runs"] > tasks[1]["runs"]
    assert footplate(home, "verify").out == "The ledger is whole.\n"


def test_what_is_left_for_the_operator_ends_it_with_3_and_says_so(home: Path) -> None:
    queue(home, "add", SAYS, "--agent", "practice", "--later")
    queue(home, "add", SAYS, "--after", "1", *PRACTICE)
    ran = footplate(home, "queue", "run")
    assert ran.code == 3
    assert ran.err == "Nothing more begins by itself: tasks 1 and 2 need you; footplate queue ls says why.\n"


def test_a_task_that_failed_ends_it_with_1_and_waits_for_attention(home: Path) -> None:
    queue(home, "add", NOTHING, "--title", "nothing", *PRACTICE, "--attempts", "1")
    ran = footplate(home, "queue", "run")
    task = listed(home)[1]
    assert (ran.code, task["state"], task["reason"]) == (3, "needs-operator", "attempts"), (ran, task)
    told = footplate(home, "attention")
    assert "task 1" in told.out and "footplate queue show 1" in told.out
    items = json.loads(footplate(home, "attention", "--json").out)["attention"]
    assert ("task", 1) in [(one["kind"], one["task"]) for one in items]
    assert "More on a task: footplate queue show 1" in told.out
    anew = queue(home, "retry", "1").out
    assert anew == "Task 1 is in line again, once you agree to new terms: footplate queue agree 1.\n"
    assert "task 1" not in footplate(home, "attention").out


def test_who_starts_one_run_begins_no_task(home: Path) -> None:
    queue(home, "add", SAYS, *PRACTICE)
    plain = ["start", SAYS, "--plain", "--yes", "--agent", "practice", "--script", "plain"]
    ran = footplate(home, *plain, "--rule", "allow command touch", "--repo", str(home.parent / "r"))
    assert ran.code == 0, ran
    task = listed(home)[1]
    assert (task["state"], task["runs"]) == ("queued", [])


def test_a_stop_of_all_keeps_the_line_back_until_it_is_let_go(home: Path) -> None:
    queue(home, "add", LONG, *PRACTICE)
    queue(home, "add", LONG, "--title", "next", *PRACTICE[:-1], "--after", "1", "--later")
    queue(home, "add", LONG, "--title", "beside", *PRACTICE)
    (home / "config.toml").write_text("max_held_sessions = 1\n")
    with working(home) as line_:
        line_.saw("turn", n=1, state="accepted")
        stopped = footplate(home, "stop", "--all")
        assert stopped.out.endswith("The line of tasks is kept back; footplate queue release lets it go.\n")
        assert line_.code() == 3
        assert [one["run"] for one in line_.events("ended")] == [1], "nothing began in its place"
    tasks = listed(home)
    assert [tasks[n]["state"] for n in (1, 2, 3)] == ["stopped", "queued", "queued"]
    assert (tasks[2]["waits"], tasks[3]["waits"]) == ("need-failed", "queue-held")


@contextmanager
def working(home: Path) -> Iterator[Held]:
    one = Held(home, home.parent / "r", "", ["queue", "run", "--json"])
    try:
        yield one
    finally:
        one.end()
