"""Any sequence of what two consoles and an operator do with a queue, against a model that knows who may write.

A console may act on a token that it lost: then nothing changes. No task is worked at by two, no operation leads to two
attempts, what a task waits for is counted right at every moment, and a claim takes exactly the task that the model
takes, by comparing paths as a person would.
"""

from dataclasses import dataclass, field

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from store import attempts, bookcheck, claims, operations, tasks
from store.attempts import Attempt
from store.reservations import overlap, places
from store.tasks import Task
from store.verify import verify
from store.vocab import IncarnationId, OperationId, OperationState, RunId, SeriesId, TaskId, TaskState
from tests.property.parts import parts
from tests.store.inline import begun, ended, now, queued, sign
from tests.store.scenes import INCARNATION, admitted, in_memory, register

CONSOLES = (INCARNATION, IncarnationId("console-2"))
PATHS = ([], ["."], ["src"], ["src/a"], ["src/b", "doc"], ["doc/x"], ["src-old"])
AT = st.integers(0, 99)
"""Which of what there is."""


@dataclass
class Claim:
    """What a console believes it holds, for as long as the test runs: also when that is long past."""

    task: TaskId
    token: str
    series: SeriesId
    operation: OperationId
    runs: list[RunId] = field(default_factory=list)


class Queue(RuleBasedStateMachine):
    @initialize()
    def begin(self) -> None:
        self.scene = in_memory()
        self.tx = self.scene.__enter__()
        register(self.tx, CONSOLES[1])
        self.ids: list[TaskId] = []
        self.held: list[Claim] = []
        self.holder: dict[TaskId, str] = {}
        """Token in force, by the model."""
        self.made = 0
        self.add(0, [], 0)

    def teardown(self) -> None:
        if hasattr(self, "scene"):
            assert verify(self.tx) is None
            self.scene.__exit__(None, None, None)

    def some(self, n: int) -> Task:
        return now(self.tx, self.ids[n % len(self.ids)])

    # -------------------------------------------------------------------------------------------------- the operator

    @rule(priority=st.integers(0, 2), needs=st.lists(AT, max_size=2), paths=st.integers(0, len(PATHS) - 1))
    def add(self, priority: int, needs: list[int], paths: int) -> None:
        wanted = [self.some(n).id for n in needs] if self.ids else []
        task = queued(self.tx, priority=priority, needs=wanted, paths=PATHS[paths], attempts=2)
        self.ids.append(task.id)

    @rule(n=AT, needs=st.lists(AT, max_size=2))
    def edit_needs(self, n: int, needs: list[int]) -> None:
        task = self.some(n)
        wanted = [self.some(one).id for one in needs]
        found = tasks.edit(self.tx, id=task.id, expect_revision=task.revision, needs=wanted)
        if isinstance(found, Task):
            assert set(tasks.needs_of(self.tx, task.id)) == set(wanted)
        self.no_circle()

    def no_circle(self) -> None:
        left = {id: set(tasks.needs_of(self.tx, id)) for id in self.ids}
        while ready := [id for id, needs in left.items() if not needs & left.keys()]:
            for id in ready:
                del left[id]
        assert not left

    @rule(n=AT, deed=st.sampled_from(["retry", "accept", "give_up", "remove", "hold", "let_go", "edit", "sign"]))
    def operate(self, n: int, deed: str) -> None:
        task = self.some(n)
        match deed:
            case "hold" | "let_go":
                tasks.hold(self.tx, id=task.id, held=deed == "hold")
                return
            case "edit":
                tasks.edit(self.tx, id=task.id, expect_revision=task.revision, wishes=f'{{"n":{self.made}}}')
                self.made += 1
                return
            case "sign":
                if task.state in tasks.EDITABLE:
                    sign(self.tx, task, attempts=2)
                return
            case "remove":
                tasks.remove(self.tx, id=task.id)
                if tasks.get(self.tx, task.id) is None:
                    assert task.state is not TaskState.WORKING and not attempts.of_task(self.tx, task.id)
                    self.ids.remove(task.id)
                    self.holder.pop(task.id, None)
                    if not self.ids:
                        self.add(0, [], 0)
                    return
            case _:
                getattr(tasks, deed)(self.tx, id=task.id)
        if now(self.tx, task.id).state is not task.state:
            assert task.state is not TaskState.WORKING, "what is worked at is nobody's but its claim's"
            self.holder.pop(task.id, None)

    # -------------------------------------------------------------------------------------------------- two consoles

    def expected(self) -> TaskId | None:
        every = [now(self.tx, id) for id in self.ids]
        at_work = [task for task in every if task.state is TaskState.WORKING]
        waiting = sorted((task for task in every if task.state is TaskState.QUEUED), key=lambda t: (-t.priority, t.id))
        for task in waiting:
            needs = [now(self.tx, one) for one in tasks.needs_of(self.tx, task.id)]
            counted = [one for one in attempts.of_task(self.tx, task.id) if one.series == task.series and one.counted]
            apart = all(overlap(places(task.paths), places(one.paths)) is None for one in at_work)
            done = all(one.state is TaskState.DONE for one in needs)
            if not task.held and task.series is not None and len(counted) < 2 and done and apart:
                return task.id
        return None

    @rule(who=st.sampled_from(CONSOLES), stale=st.booleans())
    def claim(self, who: IncarnationId, stale: bool) -> None:
        operation = begun(self.tx, incarnation=who)
        if stale:
            operations.move(self.tx, id=operation, expect=[OperationState.BEGUN], to=OperationState.CANCELLED)
        expected = self.expected()
        assert claims.claimable(self.tx) == expected
        token = f"token-of-{operation}"
        found = claims.take(self.tx, operation=operation, token=token, incarnation=who, machine="machine-1", uid=1000)
        assert (found.id if found else None) == (None if stale else expected)
        if found is not None:
            assert found.series is not None and found.id not in self.holder
            self.holder[found.id] = token
            self.held.append(Claim(found.id, token, found.series, operation))

    @precondition(lambda self: self.held)
    @rule(n=AT)
    def begin_attempt(self, n: int) -> None:
        claim = self.held[n % len(self.held)]
        task = tasks.get(self.tx, claim.task)
        run = admitted(self.tx).id
        found = attempts.add(
            self.tx, run=run, task=claim.task, series=claim.series, operation=claim.operation, token=claim.token
        )
        may = self.is_held(claim) and not claim.runs and task is not None and task.state is TaskState.WORKING
        assert isinstance(found, Attempt) == (may and task is not None and task.series == claim.series)
        if isinstance(found, Attempt):
            claim.runs.append(run)

    def is_held(self, claim: Claim) -> bool:
        return self.holder.get(claim.task) == claim.token

    @precondition(lambda self: self.held)
    @rule(
        n=AT,
        to=st.sampled_from(["release", "needs", "resume", TaskState.DONE, TaskState.FAILED, TaskState.STOPPED]),
        counted=st.booleans(),
    )
    def end(self, n: int, to: str, counted: bool) -> None:
        claim = self.held[n % len(self.held)]
        before = tasks.get(self.tx, claim.task)
        key = {"task": claim.task, "token": claim.token}
        match to:
            case "release":
                done = claims.release(self.tx, counted=counted, **key)  # type: ignore[arg-type]
            case "needs":
                done = claims.needs_operator(self.tx, reason="question", detail="{}", **key)  # type: ignore[arg-type]
            case "resume":
                done = claims.resume(self.tx, **key)  # type: ignore[arg-type]
            case _:
                done = claims.finish(self.tx, to=TaskState(to), **key)  # type: ignore[arg-type]
        if not self.is_held(claim):
            assert done is None and tasks.get(self.tx, claim.task) == before
            return
        assert before is not None
        from_state = TaskState.NEEDS_OPERATOR if to == "resume" else TaskState.WORKING
        assert (done is not None) == (before.state is from_state) or to == "resume"
        if done is None:
            return
        if to not in ("needs", "resume"):
            del self.holder[claim.task]
        if to != "resume":
            for run in claim.runs:
                if attempts.of_run(self.tx, run) is not None and not self.over(run):
                    ended(self.tx, run, counted=counted)

    def over(self, run: RunId) -> bool:
        row = self.tx.conn.execute("SELECT outcome FROM runs WHERE id = :run", {"run": run}).fetchone()
        return row[0] is not None

    @precondition(lambda self: self.held)
    @rule(n=AT, who=st.sampled_from(CONSOLES))
    def seize(self, n: int, who: IncarnationId) -> None:
        claim = self.held[n % len(self.held)]
        self.made += 1
        token = f"seized-{self.made}"
        found = claims.seize(self.tx, task=claim.task, expect_token=claim.token, token=token, incarnation=who)
        assert (found is not None) == self.is_held(claim)
        if found is not None:
            self.holder[claim.task] = token
            self.held.append(Claim(claim.task, token, claim.series, claim.operation, claim.runs))

    # ------------------------------------------------------------------------------------------------ at every moment

    @invariant()
    def who_works_at_what(self) -> None:
        if not hasattr(self, "tx"):
            return
        for id in self.ids:
            task = now(self.tx, id)
            assert task.token == self.holder.get(id)
            needed = [now(self.tx, one).state for one in tasks.needs_of(self.tx, id)]
            assert task.unmet == sum(state is not TaskState.DONE for state in needed)
        rows = self.tx.conn.execute("SELECT count(*), count(DISTINCT operation) FROM attempts").fetchone()
        assert rows[0] == rows[1]
        assert [one for one in bookcheck.unsound(self.tx) if one.where.split()[0] in ("task", "operation")] == []


globals().update(parts(Queue, "queue", into=2, steps=40))
