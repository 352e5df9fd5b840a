"""What goes on beside the messages of a screen: given up before its first step, nothing of it is left lying."""

import ast
import gc
import warnings
from functools import partial
from pathlib import Path

from textual.app import App

from app.console import workers
from tests.waiting import eventually

CONSOLE = Path(workers.__file__).parent


async def test_work_that_is_given_up_before_it_begins_was_no_coroutine_yet() -> None:
    begun: list[int] = []

    async def work(n: int) -> None:
        begun.append(n)

    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        async with App[None]().run_test() as pilot:
            for n in range(3):
                workers.begin(pilot.app, partial(work, n), group="one", exclusive=True)
            await eventually(lambda: begun)
            # And the app ends before this one had its turn.
            workers.begin(pilot.app, partial(work, 3))
            pilot.app.workers.cancel_all()
        gc.collect()
    assert begun == [2], "what a newer one or the end takes away does not begin"
    assert not [one for one in told if "never awaited" in str(one.message)]


def test_only_one_place_gives_work_to_textual() -> None:
    """The whole kind: there the type of ``work`` says that it is called in its turn, and mypy sees to it."""
    for path in CONSOLE.rglob("*.py"):
        names = {node.attr for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Attribute)}
        given = names & {"run_worker", "create_task", "ensure_future"}
        assert not given or path == Path(workers.__file__), f"{path.relative_to(CONSOLE)}: workers.begin does that"
