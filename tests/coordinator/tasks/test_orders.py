"""Orders about the queue, on a real ledger and real repositories: put in line, agreed to, changed, taken out."""

import sqlite3
import subprocess
from pathlib import Path

import pytest
from msgspec.structs import replace

from app.wording import forbidden_in, sentence
from coordinator.api import (
    AcceptTask,
    AddTasks,
    Done,
    EditTask,
    HoldLine,
    HoldTask,
    NewTask,
    QueueCommand,
    QueueView,
    ReadQueue,
    ReleaseAgent,
    RemoveTask,
    RetryTask,
    SignSeries,
    TaskReason,
    Waits,
    Wishes,
)
from coordinator.attendance import Attendance
from coordinator.clock import RealClock
from coordinator.tasks import reading, seriesterms
from store import agentwaits, attention, claims, series
from store.refusal import Refusal
from store.tx import Tx
from store.vocab import MicroUsd, RefusalReason, TaskId, TaskState
from tests.coordinator.held import holding, repository
from tests.coordinator.tasks.desks import Hand, WallClock, at_a_desk


async def test_one_task_waits_for_its_terms_and_begins_next_once_they_are_agreed_to(tmp_path: Path) -> None:
    async with at_a_desk(tmp_path) as hand:
        id = await hand.add_one("Mend the clock.\nAnd the bell.", paths=("src/", "./src/clock", "docs"), priority=3)
        view = await hand.task(id)
        assert (view.title, view.paths, view.priority, view.operator) == ("Mend the clock.", ("docs", "src"), 3, "Ada")
        assert (view.state, view.waits, view.attempts_left) == (TaskState.QUEUED, Waits.SIGNING, None)
        (terms,) = await hand.terms(id)
        assert (terms.repository, terms.agent, terms.attempts, terms.in_place) == (str(hand.tree), "practice", 3, False)
        await hand.done(SignSeries(terms=(terms,)))
        view = await hand.task(id)
        assert (view.waits, view.attempts_left, view.budget) == (Waits.CONSOLE, 3, terms.budget)
        stored = await hand.desk.ledger.read(lambda tx: series.newest(tx, id))
        assert stored is not None and seriesterms.parse(stored.terms) == terms, "what was shown is what stands"
        assert stored.digest == seriesterms.digest_of(stored.terms)


async def test_several_repositories_are_a_task_each_or_none(tmp_path: Path) -> None:
    other = repository(tmp_path / "other")
    async with at_a_desk(tmp_path) as hand:
        inside = hand.tree / "deep"
        inside.mkdir()
        both = (str(hand.tree), str(other), str(inside))
        first, second = await hand.add(hand.new(repositories=both, name="both"))
        assert (await hand.task(first)).parent is None and (await hand.task(second)).parent == first
        after = await hand.add_one(needs=(first, second))
        assert (await hand.task(after)).needs == (first, second)
        refused = await hand.no(AddTasks(tasks=(hand.new(), hand.new(repositories=(str(other), "/nowhere")))))
        assert refused.reason is RefusalReason.NOT_A_REPOSITORY and refused.facts["path"] == "/nowhere"


async def test_tasks_of_one_order_name_each_other_in_any_order(tmp_path: Path) -> None:
    async with at_a_desk(tmp_path) as hand:
        last, first = await hand.add(
            hand.new("last", name="last", needs=("first",)), hand.new("first", name="first", priority=-5)
        )
        assert first < last and (await hand.task(last)).needs == (first,)
        assert (await hand.task(last)).waits is Waits.NEED


def _outside(hand: Hand, tmp_path: Path) -> dict[str, tuple[NewTask, ...]]:
    (hand.tree / "out").symlink_to(tmp_path)
    (hand.tree / "round").symlink_to("round")
    empty = tmp_path / "empty"
    empty.mkdir()
    plain, new = tmp_path / "plain", hand.new
    plain.mkdir()
    repository_without_commit(empty)
    return {
        "dependency-cycle": (
            new(name="a", needs=("c",)),
            new(name="b", needs=("a",)),
            new(name="c", needs=("b",)),
            new(name="d"),
        ),
        "no-such-task": (new(needs=(TaskId(99),)),),
        "no-such-task by name": (new(name="a", needs=("b",)),),
        "queue-file-invalid": (new(name="a"), new(name="a")),
        "queue-file-invalid for nothing": (),
        "queue-file-invalid for attempts": (new(wishes=Wishes(attempts=0)),),
        "empty-turn": (new(" \n"),),
        "turn-too-large": (new("x" * (1024 * 1024 + 1)),),
        "path-outside": (new(paths=("../other",)),),
        "path-outside absolute": (new(paths=("/etc/passwd",)),),
        "path-outside by a link": (new(paths=("src", "out/file")),),
        "path-outside with a line end": (new(paths=("a\nb",)),),
        "not-a-repository": (new(repositories=(str(plain),)),),
        "not-a-repository for none": (new(repositories=()),),
        "not-a-repository for rubbish": (new(repositories=("a\0b",)),),
        "no-commit": (new(repositories=(str(empty),)),),
        "unknown-agent": (new(wishes=Wishes(agent="nobody")),),
        "rule-invalid": (new(wishes=Wishes(agent="practice", rules=("do as you like",))),),
    }


def repository_without_commit(folder: Path) -> None:
    subprocess.run(["git", "init", "-q"], cwd=folder, check=True)


async def test_bad_orders_are_one_sentence_and_add_nothing(tmp_path: Path) -> None:
    async with at_a_desk(tmp_path) as hand:
        await hand.add_one("is there before")
        for reason, tasks in _outside(hand, tmp_path).items():
            refused = await hand.no(AddTasks(tasks=tasks))
            assert refused.reason == reason.partition(" ")[0], (reason, refused)
            said = sentence(refused)
            assert said.endswith(".") and "\n" not in said and forbidden_in(said) == [], said
            # The same mistake among others: which one it is is said.
            if len(tasks) == 1 and reason.startswith(("empty", "turn", "path")):
                among = await hand.no(AddTasks(tasks=(hand.new(name="good"), replace(tasks[0], name="wrong one"))))
                assert sentence(among).startswith("Task 2 (wrong one): ")
        assert sentence(await hand.no(AddTasks(tasks=_outside_cycle(hand)))).startswith(
            "These tasks would wait for each other: a → c → b → a,"
        )


def _outside_cycle(hand: Hand) -> tuple[NewTask, ...]:
    edges = {"z": (), "a": ("c", "z"), "b": ("a",), "c": ("b",)}
    return tuple(hand.new(name=name, needs=needs) for name, needs in edges.items())


async def test_a_circle_by_editing_is_refused_and_an_edit_makes_the_terms_stale_with_old_and_new_shown(
    tmp_path: Path,
) -> None:
    async with at_a_desk(tmp_path) as hand:
        first = await hand.add_one("first")
        second = await hand.add_one("second", needs=(first,))
        revision = (await hand.task(first)).revision
        refused = await hand.no(EditTask(task=first, revision=revision, needs=(second,)))
        assert refused.reason is RefusalReason.DEPENDENCY_CYCLE
        await hand.agree(first)
        seen = (await hand.task(first)).revision
        await hand.done(EditTask(task=first, revision=seen, priority=9))
        assert (await hand.task(first)).waits is Waits.CONSOLE, "how soon it is begun is no part of the terms"
        seen = (await hand.task(first)).revision
        assert (await hand.no(EditTask(task=first, revision=seen - 1, title="x"))).reason is RefusalReason.STALE
        await hand.done(EditTask(task=first, revision=seen, instruction="another thing", paths=("lib",)))
        assert (await hand.task(first)).waits is Waits.EDITED
        (proposal,) = (await hand.proposed(first)).proposals
        assert proposal.before is not None
        assert (proposal.before.instruction, proposal.terms.instruction) == ("first", "another thing")
        assert proposal.moved == ("instruction", "paths")
        assert (await hand.no(EditTask(task=first, revision=seen + 1, paths=("../x",)))).reason == "path-outside"


async def test_several_are_agreed_to_at_once_exactly_as_shown_or_not_at_all(tmp_path: Path) -> None:
    async with at_a_desk(tmp_path) as hand:
        one, two, three = [await hand.add_one(f"do {n}", priority=-n) for n in range(3)]
        shown = await hand.terms()
        assert [terms.task for terms in shown] == [one, two, three], "all that wait for terms, as they would be begun"
        await hand.done(EditTask(task=two, revision=1, instruction="do something else"))
        refused = await hand.no(SignSeries(terms=shown))
        assert refused == Refusal(RefusalReason.STALE, {"task": two})
        assert sentence(refused).startswith(f"Task {two} has changed since it was shown")
        assert all(view.waits is Waits.SIGNING for view in (await hand.line()).tasks)
        for wrong, reason in (
            (replace(shown[0], instruction="do nothing"), RefusalReason.STALE),
            (replace(shown[0], repository="/"), RefusalReason.STALE),
            (replace(shown[0], paths=("x",)), RefusalReason.STALE),
            (replace(shown[0], task=TaskId(77)), RefusalReason.NO_SUCH_TASK),
            (replace(shown[0], machine="another"), RefusalReason.WRONG_RUNNER),
            (replace(shown[0], expires_at=hand.desk.clock.now()), RefusalReason.EXPIRED),
        ):
            refused = await hand.no(SignSeries(terms=(shown[2], wrong)))
            assert refused.reason is reason and refused.facts["task"] == wrong.task
        assert (await hand.no(SignSeries(terms=()))).reason is RefusalReason.NOTHING_TO_SIGN
        assert (await hand.no(SignSeries(terms=(shown[0], shown[0])))).reason is RefusalReason.NOTHING_TO_SIGN
        await hand.done(SignSeries(terms=await hand.terms(one, two, three)))
        assert {view.attempts_left for view in (await hand.line()).tasks} == {3}
        assert (await hand.proposed()).proposals == ()


async def test_terms_that_cannot_be_proposed_are_told_beside_the_others(tmp_path: Path) -> None:
    gone = repository(tmp_path / "gone")
    async with at_a_desk(tmp_path) as hand:
        here, away = await hand.add(hand.new(), hand.new(repositories=(str(gone),)))
        gone.rename(tmp_path / "elsewhere")
        found = await hand.proposed()
        assert [one.terms.task for one in found.proposals] == [here]
        ((task, refused),) = found.refused
        assert task == away and refused.reason is RefusalReason.NOT_A_REPOSITORY
        (tmp_path / "elsewhere").rename(gone)
        await hand.agree(away)
        gone.rename(tmp_path / "elsewhere")
        assert (await hand.task(away)).waits is Waits.REPOSITORY


async def test_wishes_and_settings_become_the_terms(tmp_path: Path) -> None:
    async with at_a_desk(tmp_path, setups={str(tmp_path / "tree"): "make ready"}) as hand:
        wishes = Wishes(
            agent="practice",
            budget=MicroUsd(2_000_000),
            max_turns=7,
            working_seconds=90,
            expires_seconds=3600,
            attempts=2,
            rules=("allow command pytest",),
            preset="quick",
        )
        id = await hand.add_one(wishes=wishes, paths=(".",))
        (terms,) = await hand.terms(id)
        assert (terms.budget, terms.max_turns, terms.working_seconds, terms.attempts) == (2_000_000, 7, 90, 2)
        assert terms.expires_at == hand.desk.clock.now() + 3_600_000 and terms.run_seconds == 3600
        assert (terms.paths, terms.rules, terms.setup) == ((".",), ("allow command pytest",), "make ready")
        in_place = await hand.add_one(wishes=replace(wishes, in_place=True))
        (terms,) = await hand.terms(in_place)
        assert terms.in_place and terms.setup == ""


async def test_what_is_used_up_or_past_waits_for_new_terms(tmp_path: Path) -> None:
    async with at_a_desk(tmp_path) as hand:
        id = await hand.add_one()
        await hand.agree(id)
        clock = hand.desk.clock
        assert isinstance(clock, WallClock)
        clock.at += 25 * 3_600_000
        view = await hand.task(id)
        assert (view.waits, view.waits_facts) == (Waits.SPENT, {"what": "time"})
        (proposal,) = (await hand.proposed()).proposals
        assert proposal.before is not None and proposal.moved == (), "the same again, for another day"
        await hand.done(SignSeries(terms=(proposal.terms,)))
        assert (await hand.task(id)).waits is Waits.CONSOLE


async def test_one_at_work_is_left_alone_and_one_that_needs_the_operator_is_theirs(tmp_path: Path) -> None:
    async with at_a_desk(tmp_path) as hand:
        id = await hand.add_one(paths=("src",))
        other = await hand.add_one("other", paths=("src/deep",), priority=-1)
        await hand.agree(id, other)
        shown = await hand.terms(id)
        assert (await hand.claim()) is not None
        view = await hand.task(id)
        assert (view.state, view.owner) == (TaskState.WORKING, "the console of Ada")
        assert (await hand.task(other)).waits_facts == {"task": id, "run": None, "path": "src/deep"}
        busy: tuple[QueueCommand, ...] = (
            SignSeries(terms=shown),
            EditTask(task=id, revision=view.revision, title="x"),
            RetryTask(task=id),
            AcceptTask(task=id),
            RemoveTask(task=id),
        )
        for command in busy:
            assert (await hand.no(command)).reason is RefusalReason.TASK_WORKING, command

        def stuck(tx: Tx) -> None:
            claims.needs_operator(tx, task=id, token="a-token", reason=TaskReason.SIGN_AGAIN, detail='{"what":"money"}')

        await hand.desk.ledger.transaction(stuck)
        view = await hand.task(id)
        assert (view.reason, view.detail) == (TaskReason.SIGN_AGAIN, {"what": "money"})
        assert [one.id for one in (await hand.line()).tasks] == [id, other], "who needs the operator comes first"
        assert [one.terms.task for one in (await hand.proposed()).proposals] == [id]
        await hand.done(SignSeries(terms=await hand.terms(id)))
        assert (await hand.task(id)).state is TaskState.QUEUED, "new terms are what it needed"
        assert (await hand.claim("b-token")) is not None

        def asks(tx: Tx) -> None:
            claims.needs_operator(tx, task=id, token="b-token", reason=TaskReason.QUESTION, detail="{}")

        await hand.desk.ledger.transaction(asks)
        ((_, refused),) = (await hand.proposed(id)).refused
        assert refused.reason is RefusalReason.NOTHING_TO_SIGN
        await hand.done(AcceptTask(task=id))
        assert (await hand.task(id)).state is TaskState.DONE
        for command in (RetryTask(task=id), AcceptTask(task=id), HoldTask(task=id, held=True)):
            assert (await hand.no(command)).reason is RefusalReason.TASK_OVER, command
        assert await hand.desk.ledger.read(attention.open_items) == []


async def test_keeping_back_and_letting_go_one_or_the_line_or_an_agent(tmp_path: Path) -> None:
    async with at_a_desk(tmp_path) as hand:
        id = await hand.add_one()
        await hand.agree(id)
        await hand.done(HoldTask(task=id, held=True))
        assert (await hand.task(id)).waits is Waits.HELD and await hand.claim() is None
        await hand.done(HoldTask(task=id, held=False))
        await hand.done(HoldLine(held=True))
        line = await hand.line()
        assert line.held == "operator" and line.tasks[0].waits is Waits.QUEUE_HELD
        await hand.done(HoldLine(held=True))
        await hand.done(HoldLine(held=False))
        assert (await hand.line()).held == ""

        def signed_out(tx: Tx) -> None:
            agentwaits.wait(tx, agent="practice", reason="authentication", until=None, run=None)

        await hand.desk.ledger.transaction(signed_out)
        line = await hand.line()
        assert [one.agent for one in line.agents] == ["practice"] and line.tasks[0].waits is Waits.AGENT
        assert await hand.claim() is None
        assert (await hand.no(ReleaseAgent(agent="nobody"))).reason is RefusalReason.UNKNOWN_AGENT
        await hand.done(ReleaseAgent(agent="practice"))
        assert (await hand.task(id)).waits is Waits.CONSOLE


async def test_an_agent_that_is_not_there_is_why_its_task_waits(tmp_path: Path) -> None:
    async with at_a_desk(tmp_path) as hand:
        id = await hand.add_one(wishes=Wishes(agent="claude"))
        found = await hand.proposed(id)
        installed = not found.refused
        if not installed:
            assert found.refused[0][1].reason is RefusalReason.AGENT_NOT_FOUND
        # Agreed to while it was there, and taken off the machine since.
        (terms,) = await hand.terms(await hand.add_one())
        revision = (await hand.task(id)).revision
        await hand.done(SignSeries(terms=(replace(terms, task=id, revision=revision, agent="gone"),)))
        view = await hand.task(id)
        assert (view.agent, view.waits, view.waits_facts["why"]) == ("gone", Waits.AGENT, "not-installed")


async def test_what_others_need_stays_and_a_failed_need_is_told(tmp_path: Path) -> None:
    async with at_a_desk(tmp_path) as hand:
        id = await hand.add_one()
        after = await hand.add_one(needs=(id,))
        refused = await hand.no(RemoveTask(task=id))
        assert refused.reason is RefusalReason.TASK_NEEDED and f"task {id}" in sentence(refused)
        await hand.agree(id)
        assert await hand.claim() is not None
        await hand.desk.ledger.transaction(
            lambda tx: claims.finish(tx, task=id, token="a-token", to=TaskState.FAILED, reason="failed", detail="{}")
        )
        view = await hand.task(after)
        assert (view.waits, view.waits_facts) == (Waits.NEED_FAILED, {"task": id})
        await hand.done(RetryTask(task=id))
        assert (await hand.task(after)).waits is Waits.NEED
        await hand.done(RemoveTask(task=after))
        await hand.done(RemoveTask(task=id))
        assert (await hand.line()).tasks == ()
        for command in (RetryTask(task=id), HoldTask(task=id, held=True), RemoveTask(task=id), AcceptTask(task=id)):
            assert (await hand.no(command)).reason is RefusalReason.NO_SUCH_TASK


async def test_a_secret_in_a_title_is_no_secret_told_and_the_order_itself_is_kept(tmp_path: Path) -> None:
    async with at_a_desk(tmp_path) as hand:
        hand.desk.redactor.__init__({"hunter2-hunter2"})  # type: ignore[misc]
        id = await hand.add_one("Use hunter2-hunter2 to log in")
        view = await hand.task(id)
        assert "hunter2" not in view.title and view.instruction == "Use hunter2-hunter2 to log in"


async def test_ten_thousand_tasks_are_one_order_and_the_line_shows_as_many_as_asked(tmp_path: Path) -> None:
    async with at_a_desk(tmp_path) as hand:
        plain = hand.new(name="t0")
        many = [plain] + [replace(plain, name=f"t{n}", needs=(f"t{n - 1}",)) for n in range(1, 10_000)]
        added = await hand.add(*many)
        assert len(added) == 10_000
        view = await hand.line(20)
        assert view.more and len(view.tasks) == 20 and view.counts[TaskState.QUEUED] == 10_000
        assert [one.waits for one in view.tasks[:2]] == [Waits.SIGNING, Waits.NEED]
        shown = await hand.terms()
        assert len(shown) == 10_000, "alike, so the repository was looked at once"
        await hand.done(SignSeries(terms=shown[:50]))
        (integrity,) = sqlite3.connect(tmp_path / "ledger.db").execute("PRAGMA integrity_check").fetchone()
        assert integrity == "ok"


@pytest.mark.parametrize("ended", [True, False])
async def test_more_is_told_where_the_list_is_cut(tmp_path: Path, ended: bool) -> None:
    async with at_a_desk(tmp_path) as hand:
        ids = await hand.add(*(hand.new(f"do {n}") for n in range(3)))
        whole = await hand.do(ReadQueue(limit=3, ended=ended))
        part = await hand.do(ReadQueue(limit=2, ended=ended))
        assert isinstance(whole, QueueView) and isinstance(part, QueueView)
        assert (len(whole.tasks), whole.more, len(part.tasks), part.more) == (len(ids), False, 2, True)


async def test_one_task_is_read_as_the_whole_line_tells_it_and_no_other_is_looked_at(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with at_a_desk(tmp_path) as hand:
        first, held, over = await hand.add(*(hand.new(f"do {n}") for n in range(3)))
        await hand.done(HoldTask(task=held, held=True))
        await hand.done(RemoveTask(task=over))
        whole = await hand.do(ReadQueue())
        assert isinstance(whole, QueueView)
        looked: list[TaskId] = []
        view_of = reading._view
        monkeypatch.setattr(reading, "_view", lambda tx, row, mine: looked.append(row.id) or view_of(tx, row, mine))
        for task in (first, held, over, TaskId(99)):
            found = await hand.do(ReadQueue(task=task))
            assert isinstance(found, QueueView)
            assert (found.tasks, found.more) == (tuple(one for one in whole.tasks if one.id == task), False)
        assert looked == [one.id for one in sorted(whole.tasks, key=lambda one: one.id)]


async def test_a_command_and_a_console_work_at_one_line(tmp_path: Path) -> None:
    """What a command orders beside a living console, that console shows; and the other way round."""
    async with holding(tmp_path, dispatches=False) as held, at_a_desk(tmp_path, clock=RealClock()) as hand:
        id = await hand.add_one("from a command")
        await hand.agree(id)
        view = await held.do(ReadQueue())
        assert isinstance(view, QueueView)
        assert [(one.id, one.waits) for one in view.tasks] == [(id, Waits.NEXT)], "this console would begin it"
        assert (await hand.task(id)).waits is Waits.NEXT
        assert isinstance(await held.do(HoldTask(task=id, held=True)), Done)
        assert (await hand.task(id)).waits is Waits.HELD
        now = held.coordinator.house.clock.monotonic()
        held.coordinator.house.attendance = Attendance(window=60, grace=60, last_beat=now - 61)
        await hand.done(HoldTask(task=id, held=False))
        view = await held.do(ReadQueue())
        assert isinstance(view, QueueView) and view.tasks[0].waits is Waits.AWAY


async def test_a_day_that_is_paid_out_is_why_a_task_waits(tmp_path: Path) -> None:
    async with at_a_desk(tmp_path, day_budget=MicroUsd(1_000_000)) as hand:
        dear, cheap = await hand.add(
            *(hand.new(wishes=Wishes(agent="paid", budget=MicroUsd(n))) for n in (2_000_000, 500_000))
        )
        await hand.agree(dear, cheap)
        assert (await hand.task(dear)).waits_facts == {"agent": "paid", "why": "pool-exhausted"}
        assert (await hand.task(cheap)).waits is Waits.CONSOLE
