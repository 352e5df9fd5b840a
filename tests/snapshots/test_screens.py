"""A picture of each screen, and on every one of them: no word that belongs to the code, no control character.

Taken anew with ``pytest tests/snapshots --snapshot-update``, and looked at before they are kept.
"""

from collections.abc import Callable
from typing import Any

import pytest
from textual.pilot import Pilot
from textual.widget import Widget

from app.console.app import FootplateApp
from app.console.options import ConsoleOptions
from app.console.screens.reading import Details
from app.console.views.ink import plain
from app.console.widgets.lines import Lines
from app.wording import forbidden_in
from tests.console.driving import settled
from tests.console.scenes import SCENES, Scene
from tests.console.states import STATES
from tests.fakes.backend import FakeBackend

NAMES = tuple(SCENES)
LOOKS: dict[str, ConsoleOptions] = {
    "ascii": ConsoleOptions(home="/home/mara", ascii=True),
    "nord": ConsoleOptions(home="/home/mara", theme="nord"),
    "no-colour": ConsoleOptions(home="/home/mara", no_color=True),
}
THEMES = ("light", "high-contrast")
FEW = ("driving", "permission", "question", "ended", "commands")
"""Drawn in every theme at every size; all the others in the dark one."""
SIZES = ((80, 24), (120, 34), (200, 50))

Compare = Callable[..., bool]


def rows_on(screen: Widget) -> list[str]:
    """All that our own widgets paint on a screen, row by row."""
    return [plain(row) for widget in screen.query(Lines) if widget.display for row in widget.rows]


def picture(name: str, compare: Compare, size: tuple[int, int], options: ConsoleOptions | None = None) -> bool:
    return take(SCENES[name], compare, size, options)


def take(scene: Scene, compare: Compare, size: tuple[int, int], options: ConsoleOptions | None = None) -> bool:
    backend = FakeBackend(scene.snapshot())
    app = FootplateApp(backend, options or scene.options)

    async def before(pilot: "Pilot[Any]") -> None:
        await settled(pilot)
        if scene.act is not None:
            await scene.act(app, pilot, backend)
        await settled(pilot)
        rows = rows_on(app.drive) + (rows_on(app.screen) if app.screen is not app.drive else [])
        assert rows
        for row in rows:
            assert all(letter.isprintable() for letter in row), repr(row)
            if not isinstance(app.screen, Details):
                assert forbidden_in(row) == [], row

    return compare(app, terminal_size=size, run_before=before)


@pytest.mark.snapshot
@pytest.mark.parametrize("name", NAMES)
def test_at_120_columns(name: str, snap_compare: Compare) -> None:
    assert picture(name, snap_compare, (120, 40))


@pytest.mark.snapshot
@pytest.mark.parametrize("name", NAMES)
def test_at_80_columns(name: str, snap_compare: Compare) -> None:
    assert picture(name, snap_compare, (80, 24))


@pytest.mark.snapshot
@pytest.mark.parametrize("size", [(80, 24), (120, 40)], ids=["80", "120"])
def test_a_session_whose_checks_are_told(snap_compare: Compare, size: tuple[int, int]) -> None:
    assert take(STATES["checked"], snap_compare, size)


@pytest.mark.snapshot
def test_at_200_columns(snap_compare: Compare) -> None:
    assert picture("driving", snap_compare, (200, 50))


@pytest.mark.snapshot
@pytest.mark.parametrize("size", [(170, 45), (200, 50)], ids=["170", "200"])
def test_two_side_by_side(snap_compare: Compare, size: tuple[int, int]) -> None:
    assert picture("beside", snap_compare, size)


@pytest.mark.snapshot
@pytest.mark.parametrize("size", SIZES, ids=lambda size: str(size[0]))
@pytest.mark.parametrize("theme", THEMES)
@pytest.mark.parametrize("name", FEW)
def test_themes(name: str, theme: str, size: tuple[int, int], snap_compare: Compare) -> None:
    assert picture(name, snap_compare, size, ConsoleOptions(home="/home/mara", theme=theme))


@pytest.mark.snapshot
def test_eight_sessions_without_colours_and_in_ascii(snap_compare: Compare) -> None:
    assert picture("driving", snap_compare, (80, 24), ConsoleOptions(home="/home/mara", no_color=True, ascii=True))


@pytest.mark.snapshot
@pytest.mark.parametrize("look", LOOKS)
def test_other_looks(look: str, snap_compare: Compare) -> None:
    assert picture("permission", snap_compare, (120, 34), LOOKS[look])
