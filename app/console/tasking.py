"""``Q``: the tasks in line. The panel opened and kept up to date, and what its keys ask of the coordinator.

A task is added or changed on a form, agreed to on a sheet of its terms, and opened as the session that its attempt is.
"""

from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING

from msgspec.structs import replace

from app.console.screens.taskform import TaskForm
from app.console.screens.tasks import TasksSheet
from app.console.screens.taskterms import AGREE, EDIT, TaskTerms
from app.console.starting import title_from
from app.console.views.standing import session_of
from app.console.views.taskform import INSTRUCTION, edited, fields_of, new_fields, new_task, touches_terms
from app.wording import plural, sentence
from app.wording_tasks import tasks_words
from coordinator.api import (
    AcceptTask,
    AddTasks,
    ConsoleSnapshot,
    EditTask,
    HoldLine,
    HoldTask,
    OperatorCommand,
    ProposeSeries,
    ReadQueue,
    ReleaseAgent,
    RemoveTask,
    Reply,
    RetryTask,
    SeriesProposals,
    SignSeries,
    TasksAdded,
    TaskView,
    Wishes,
)
from store.refusal import Refusal
from store.vocab import RunId, TaskId

if TYPE_CHECKING:
    from app.console.deeds import Deeds


class Tasking:
    def __init__(self, deeds: "Deeds") -> None:
        self._deeds = deeds
        self._left: dict[str, str] | None = None
        """What was written for a new task and not added: it is there when the form is opened again."""

    def acts(self) -> Mapping[str, Callable[[], Awaitable[None]]]:
        """By the action's name in the key table."""
        return {"tasks": self._open}

    # -------------------------------------------------------------------------------------------------------- the panel

    async def _open(self) -> None:
        session = self._deeds.session
        self.show(session.task if session is not None else None)

    def show(self, task: TaskId | None) -> None:
        """The panel, at a task where one is named."""
        drive = self._deeds.drive
        self._deeds.app.push_screen(
            TasksSheet(
                drive.snapshot,
                self._read,
                self,
                lambda: drive.now,
                drive.glyphs,
                self._deeds.app.options.home,
                at=task,
            )
        )

    async def _read(self, command: ReadQueue) -> Reply:
        return await self._deeds.order(command)

    @property
    def _panel(self) -> TasksSheet | None:
        return next((one for one in self._deeds.app.screen_stack if isinstance(one, TasksSheet)), None)

    def take(self, snapshot: ConsoleSnapshot) -> None:
        panel = self._panel
        if panel is not None:
            panel.take(snapshot)

    def act(self, verb: str, task: TaskView | None, marked: tuple[TaskId, ...]) -> None:
        """A key of the panel that is not dead."""
        match verb:
            case "add":
                self._add()
            case "hold-line":
                panel = self._panel
                held = panel is not None and panel.view is not None and bool(panel.view.held)
                self._do(HoldLine(held=not held), "the line goes on" if held else "the line is kept back")
            case "all-terms":
                self._deeds.aside(self._propose, ())
            case "terms":
                self._deeds.aside(self._propose, marked or ((task.id,) if task is not None else ()))
            case _ if task is not None:
                self._act_on(verb, task)

    def _act_on(self, verb: str, task: TaskView) -> None:
        n = task.id
        match verb:
            case "open":
                self._deeds.spawn(self._open_run, task.runs[-1])
            case "edit":
                self._edit(task)
            case "hold":
                said = f"task {n} goes on in line" if task.held else f"task {n} is kept back"
                self._do(HoldTask(task=n, held=not task.held), said)
            case "retry":
                self._do(RetryTask(task=n), f"task {n} is in line again")
            case "accept":
                self._do(AcceptTask(task=n), f"task {n} is done as it stands")
            case "remove":
                self._do(RemoveTask(task=n), f"task {n} is out of the line")
            case "agent":
                self._do(ReleaseAgent(agent=task.agent), f"tasks of {task.agent} may begin again")
            case "sooner" | "later":
                priority = task.priority + (1 if verb == "sooner" else -1)
                order = EditTask(task=n, revision=task.revision, priority=priority)
                self._do(order, f"task {n} has priority {priority:+d}" if priority else "")
            case _:
                pass

    def _do(self, command: OperatorCommand, done: str) -> None:
        self._deeds.aside(self._order, command, done)

    async def _order(self, command: OperatorCommand, done: str) -> bool:
        reply = await self._deeds.order(command)
        if isinstance(reply, Refusal):
            self._say(sentence(reply))
        elif done:
            self._say(done, "grey")
        self._look()
        return not isinstance(reply, Refusal)

    def _look(self) -> None:
        if (panel := self._panel) is not None:
            panel.look()

    def _say(self, words: str, ink: str = "amber") -> None:
        if (panel := self._panel) is not None:
            panel.say(words, ink)
        else:
            self._deeds.drive.say(words, ink)

    async def _open_run(self, run: RunId) -> None:
        if session_of(self._deeds.drive.snapshot, run) is None:
            self._say(f"session {run} is not in the list any more: v, the review, has it")
            return
        self._deeds.close_sheets()
        await self._deeds.viewing.view(run)

    # --------------------------------------------------------------------------------------------------------- the form

    def _add(self) -> None:
        options = self._deeds.app.options
        before = self._left or {}
        wishes = Wishes(agent=options.agent, preamble=options.preamble)
        fields = tuple(
            replace(one, value=before.get(one.name, one.value)) for one in new_fields(self._deeds.repository, wishes)
        )
        form = TaskForm(
            "A task for the line", "adds it", before.get(INSTRUCTION, ""), fields, self._deeds.app.gate,
            lambda values: self._added(values, wishes),
        )  # fmt: skip
        self._deeds.app.push_screen(form, lambda _: self._keep(form))

    def _keep(self, form: TaskForm) -> None:
        self._left = form.values if not form.taken and form.values[INSTRUCTION].strip() else None

    async def _added(self, values: dict[str, str], wishes: Wishes) -> str:
        order = new_task(values, wishes, title_from(values[INSTRUCTION]))
        if isinstance(order, str):
            return order
        reply = await self._deeds.order(AddTasks(tasks=(order,)))
        if isinstance(reply, Refusal):
            return sentence(reply)
        if isinstance(reply, TasksAdded):
            if (panel := self._panel) is not None and reply.tasks:
                panel.lit = reply.tasks[0]
            self._look()
            self._say(f"{tasks_words(reply.tasks)} in line: s shows the terms", "grey")
            # Once the form has gone: the terms are the next thing to look at.
            self._deeds.app.call_later(lambda: self._deeds.aside(self._propose, reply.tasks))
        return ""

    def _edit(self, task: TaskView) -> None:
        form = TaskForm(
            f"Task {task.id}", "saves it", task.instruction, fields_of(task), self._deeds.app.gate,
            lambda values: self._edited(values, task),
        )  # fmt: skip
        self._deeds.app.push_screen(form)

    async def _edited(self, values: dict[str, str], task: TaskView) -> str:
        order = edited(values, task)
        if isinstance(order, str):
            return order
        reply = await self._deeds.order(order)
        if isinstance(reply, Refusal):
            return sentence(reply)
        self._look()
        if touches_terms(order):
            self._say(f"task {task.id} is changed: s shows its new terms", "grey")
            self._deeds.app.call_later(lambda: self._deeds.aside(self._propose, (task.id,)))
        else:
            self._say(f"task {task.id} is changed", "grey")
        return ""

    # -------------------------------------------------------------------------------------------------------- the terms

    async def _propose(self, tasks: tuple[TaskId, ...]) -> None:
        reply = await self._deeds.order(ProposeSeries(tasks=tasks))
        if isinstance(reply, Refusal):
            self._say(sentence(reply))
        elif isinstance(reply, SeriesProposals):
            if not reply.proposals:
                refused = [f"task {task}: {sentence(why)}" for task, why in reply.refused[:1]]
                self._say(refused[0] if refused else "nothing waits for terms")
            elif isinstance(self._deeds.app.screen, TasksSheet):
                # Only over the panel: whoever went elsewhere meanwhile is not called back.
                options = self._deeds.app.options
                sheet = TaskTerms(reply, self._deeds.drive.now, options.home, self._deeds.app.gate, options.monotonic)
                self._deeds.app.push_screen(sheet, lambda chosen: self._chosen(reply, chosen))

    def _chosen(self, proposals: SeriesProposals, chosen: str | None) -> None:
        panel = self._panel
        first = proposals.proposals[0].terms.task
        if chosen == AGREE:
            self._deeds.aside(self._agree, proposals)
        elif chosen == EDIT and panel is not None:
            task = next((one for one in panel.tasks if one.id == first), None)
            if task is not None:
                self._edit(task)

    async def _agree(self, proposals: SeriesProposals) -> None:
        terms = tuple(one.terms for one in proposals.proposals)
        tasks = [one.task for one in terms]
        attempts = f"for {plural(terms[0].attempts, 'attempt')}" if len(terms) == 1 else "each as shown"
        if await self._order(SignSeries(terms=terms), f"{tasks_words(tasks)}: agreed, {attempts}"):
            panel = self._panel
            if panel is not None:
                panel.marked.clear()
