"""Pictures of the tasks in line: the panel in each of its states, its form and its terms, at three sizes."""

import pytest

from app.console.options import ConsoleOptions
from tests.console.tasks import TASK_SCENES
from tests.snapshots.test_screens import Compare, take

SIZES = ((80, 24), (120, 40), (200, 50))


@pytest.mark.snapshot
@pytest.mark.parametrize("size", SIZES, ids=lambda size: str(size[0]))
@pytest.mark.parametrize("name", TASK_SCENES)
def test_tasks(name: str, size: tuple[int, int], snap_compare: Compare) -> None:
    assert take(TASK_SCENES[name], snap_compare, size)


@pytest.mark.snapshot
@pytest.mark.parametrize("look", [{"ascii": True, "no_color": True}, {"theme": "light"}], ids=["ascii", "light"])
def test_other_looks(look: dict[str, object], snap_compare: Compare) -> None:
    assert take(TASK_SCENES["tasks"], snap_compare, SIZES[1], ConsoleOptions(home="/home/mara", **look))  # type: ignore[arg-type]
