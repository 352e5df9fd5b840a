"""Every *no* about a task of the queue, with what to do. Reached through ``app.wording``, which says all others too.

Templates as in ``wording_templates``.
"""

from typing import Final

from store.vocab import RefusalReason

_R = RefusalReason

REFUSALS: Final[dict[RefusalReason, str]] = {
    _R.NO_SUCH_TASK: "There is no task {task|of that number}; footplate queue ls shows those there are.",
    _R.TASK_WORKING: (
        "An agent is at {task:task|this task} just now[ ({run:run})]; finish or stop that first, then repeat this."
    ),
    _R.TASK_OVER: "{task:Task|This task} is over[ ({state})]; add a new one for what is left to do.",
    _R.TASK_NOT_OVER: (
        "{task:Task|This task} is not over[ ({state})]: only one that failed, was stopped or needs you can be tried "
        "again; wait for it, or take it out of the line."
    ),
    _R.TASK_NEEDED: (
        "Other tasks wait for {task:task|this one}[ ({by,tasks})]; take those out of the line first, or let them go "
        "without it."
    ),
    _R.DEPENDENCY_CYCLE: (
        "These tasks would wait for each other[: {tasks}], and none could ever begin; leave one of them out."
    ),
    _R.PATH_OUTSIDE: (
        "{path|This path} cannot be kept for a task[: {why}]; name a file or folder within its repository."
    ),
    _R.QUEUE_FILE_INVALID: (
        "Nothing was added[: {file}][, {where}][: {problem}]; correct it, and add all of it again."
    ),
    _R.NOTHING_TO_SIGN: (
        "There is nothing to agree to[: {task:task} {why}]; footplate queue ls shows what each task waits for."
    ),
    _R.SERIES_SPENT: (
        "What you agreed to for {task:task|this task} is used up[: its {what}]; look at new terms for it, and agree to "
        "those."
    ),
}

OF_A_TASK: Final[dict[RefusalReason, str]] = {
    _R.STALE: "{task:Task} has changed since it was shown to you; look at it again, and say then what is to be done.",
    _R.EXPIRED: "The time of these terms for {task:task} has passed; look at new ones, and agree to those.",
    _R.WRONG_RUNNER: (
        "These terms for {task:task} are for another machine or user ({was|elsewhere}; here it is {is|this one}); "
        "agree to them there, or look at new ones here."
    ),
}
"""Said instead where a *no* is about a task and not about a run."""
