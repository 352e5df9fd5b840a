"""Pictures of a rich conversation, 100 × 30. Look at them when they change."""

import pytest
from textual.pilot import Pilot

from tests.console.transcript.conversation import rich_conversation
from tests.console.transcript.stage import Stage

pytestmark = pytest.mark.snapshot


class Shown(Stage):
    def __init__(self, top: int | None = None, opened: tuple[str, ...] = (), theme: str = "dark") -> None:
        super().__init__(theme)
        self._top, self._opened = top, opened

    def on_mount(self) -> None:
        super().on_mount()
        self.call_after_refresh(self._fill)

    def _fill(self) -> None:
        view, script = rich_conversation()
        self.transcript.show(view, script.page())
        self.transcript.feed(tuple(event for event in script.events if event.key is None))
        self.transcript.flush()
        for target in self._opened:
            line = self.transcript.model.first_line(target)
            assert line is not None
            self.transcript._toggle(line)
        if self._top is not None:
            self.transcript.go_to(self._top)


async def filled(pilot: Pilot[None]) -> None:
    await pilot.pause()
    await pilot.pause()


def test_the_end(snap_compare) -> None:  # type: ignore[no-untyped-def]
    assert snap_compare(Shown(), terminal_size=(100, 30), run_before=filled)


def test_the_start_with_an_open_group(snap_compare) -> None:  # type: ignore[no-untyped-def]
    assert snap_compare(Shown(0, ("group:c1",)), terminal_size=(100, 30), run_before=filled)


def test_open_tools_in_light(snap_compare) -> None:  # type: ignore[no-untyped-def]
    targets = ("tool:e1", "tool:b1", "decision:r3", "tool:s1")
    assert snap_compare(Shown(23, targets, "light"), terminal_size=(100, 30), run_before=filled)
