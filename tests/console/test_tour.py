"""The first minutes of a console: six keys, once and never in the way; and what is missing, with the command for it."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from msgspec.structs import replace

from app.console.app import FootplateApp
from app.console.keymap import with_keymap
from app.console.options import ConsoleOptions
from app.console.screens.tour import Tour
from app.console.views.glyphs import UNICODE
from app.console.views.ink import plain
from app.console.views.start import empty_lines
from app.console.views.tour import STEPS, short_lines, step_lines
from app.wording import forbidden_in
from coordinator import profiles
from coordinator.api import ConsoleSnapshot, Group, Stop
from store.refusal import Refusal
from store.vocab import Billing, RefusalReason, RunOutcome
from tests.console.driving import alone, burst, settled, typed
from tests.console.opened import console
from tests.fakes.backend import ago, make_session, make_snapshot
from tests.waiting import eventually


def new_here(folder: Path, **more: object) -> ConsoleOptions:
    return ConsoleOptions(home="/home/mara", toured=folder / "toured", **more)  # type: ignore[arg-type]


def tour_of(app: FootplateApp) -> Tour | None:
    return app.screen if isinstance(app.screen, Tour) else None


async def shown(app: FootplateApp) -> Tour:
    await eventually(lambda: tour_of(app) is not None)
    tour = tour_of(app)
    assert tour is not None
    return tour


async def test_each_key_can_be_tried_and_does_nothing_else(tmp_path: Path) -> None:
    async with console(make_snapshot(), options=new_here(tmp_path)) as (app, pilot, backend):
        tour = await shown(app)
        for at, key in enumerate(("enter", "ctrl+o", "escape", "ctrl+backslash", "ctrl+p", "ctrl+q")):
            assert tour_of(app) is tour and tour.at == at
            await alone(app, pilot, key)
        assert tour_of(app) is None and app.is_running
        assert backend.given(Stop) == [] and app.drive.composer.has_focus
        assert (tmp_path / "toured").exists()


async def test_it_is_left_with_one_key_and_shown_again_when_asked_for(tmp_path: Path) -> None:
    async with console(make_snapshot(), options=new_here(tmp_path)) as (app, pilot, _):
        await shown(app)
        await alone(app, pilot, "escape")
        assert tour_of(app) is None and app.drive.composer.has_focus
        await alone(app, pilot, "escape")
        await alone(app, pilot, "H")
        tour = await shown(app)
        await alone(app, pilot, "right")
        await alone(app, pilot, "left")
        assert tour.at == 0
    async with console(make_snapshot(), options=new_here(tmp_path)) as (app, pilot, _):
        await settled(pilot)
        assert tour_of(app) is None, "once"
    async with console(make_snapshot(), options=new_here(tmp_path, tour=True)) as (app, pilot, _):
        await shown(app)


async def test_who_writes_is_not_kept_from_it(tmp_path: Path) -> None:
    async with console(make_snapshot(), options=new_here(tmp_path)) as (app, pilot, _):
        await shown(app)
        burst(app, *"mend")
        await settled(pilot)
        await typed(app, pilot, " it")
        assert tour_of(app) is None and app.drive.composer.text == "mend it"


KNOWN = (
    make_snapshot(make_session(1, "one")),
    make_snapshot(last_here=ago(60_000)),
)


@pytest.mark.parametrize("snapshot", KNOWN, ids=("a session is here", "somebody was here"))
async def test_nobody_who_was_here_before_is_shown_it(tmp_path: Path, snapshot: ConsoleSnapshot) -> None:
    async with console(snapshot, options=new_here(tmp_path)) as (app, pilot, _):
        await settled(pilot)
        assert tour_of(app) is None and not (tmp_path / "toured").exists()


async def test_who_tried_the_demo_first_is_shown_it_all_the_same(tmp_path: Path) -> None:
    played = make_session(1, "a demo", billing=Billing.PRACTICE, group=Group.ENDED, outcome=RunOutcome.INTERRUPTED)
    async with console(make_snapshot(played, last_here=ago(60_000)), options=new_here(tmp_path)) as (app, _, _):
        await shown(app)


async def test_a_stop_is_a_stop_where_something_is_held(tmp_path: Path) -> None:
    async with console(make_snapshot(make_session(1, "one")), options=new_here(tmp_path, tour=True)) as (
        app,
        pilot,
        backend,
    ):
        tour = await shown(app)
        for _ in range(3):
            await alone(app, pilot, "right")
        assert STEPS[tour.at].action == "stop"
        foot = plain(tour.foot_lines.rows[0])
        assert "Enter goes on" in foot and "^\\ here stops 1" in foot and "^\\ or Enter" not in foot
        await alone(app, pilot, "ctrl+backslash")
        await eventually(lambda: [one.run for one in backend.given(Stop)] == [1])
        assert tour.at == 3
        for at, key in enumerate(("right", "ctrl+p", "ctrl+q"), start=3):
            assert tour_of(app) is tour and tour.at == at
            await alone(app, pilot, key)
        assert tour_of(app) is None and app.screen is app.drive and app.is_running, "no other key does what it names"


async def test_a_stop_only_goes_on_where_no_session_is_in_view(tmp_path: Path) -> None:
    gone = make_session(1, "one", group=Group.ENDED, outcome=RunOutcome.FINISHED)
    async with console(make_snapshot(gone), options=new_here(tmp_path, tour=True)) as (app, pilot, backend):
        tour = await shown(app)
        for _ in range(3):
            await alone(app, pilot, "right")
        assert "^\\ or Enter goes on" in plain(tour.foot_lines.rows[0])
        await alone(app, pilot, "ctrl+backslash")
        assert tour.at == 4 and backend.given(Stop) == []


async def test_why_nothing_can_start_is_not_covered_by_it(tmp_path: Path) -> None:
    here = make_snapshot()
    assert here.repository is not None
    nowhere = Refusal(RefusalReason.NOT_A_REPOSITORY, {"path": "/tmp"})
    snapshot = replace(here, repository=replace(here.repository, problem=nowhere))
    async with console(snapshot, options=new_here(tmp_path)) as (app, pilot, _):
        await settled(pilot)
        assert tour_of(app) is None and not (tmp_path / "toured").exists()
        hints = "\n".join(map(plain, app.drive.hints.rows))
        assert "show the terms" not in hints and "Esc keys" in hints


def test_it_names_the_operator_s_own_keys_in_words_for_people() -> None:
    table, problems = with_keymap({"stop": "f10", "quit": "f12"})
    assert problems == ()
    rows = "\n".join(short_lines(table))
    assert "  F10 " in rows and "  F12 " in rows and "^\\" not in rows
    for at, step in enumerate(STEPS):
        said = "\n".join("".join(span.text for span in row) for row in step_lines(at, 72, table))
        assert forbidden_in(said) == [] and max(map(len, said.splitlines())) <= 72
        assert step.told.split()[0] in said


# -------------------------------------------------------------------------------------------------- what is missing


def said(snapshot: ConsoleSnapshot, to_get: tuple[tuple[str, str], ...], width: int = 76) -> str:
    rows = empty_lines(snapshot, width, UNICODE, None, to_get=to_get)
    return "\n".join("".join(span.text for span in row) for row in rows)


def test_where_no_agent_is_each_is_named_with_its_command() -> None:
    found = profiles.to_get(profiles.builtin({}), "/nowhere")
    to_get = tuple((one.title, one.install) for one in found)
    text = said(make_snapshot(), to_get)
    for title in ("Claude Code", "Codex", "Gemini CLI", "OpenCode"):
        row = next(line for line in text.splitlines() if line.strip().startswith(title))
        assert row.split("   ")[-1].strip() == next(one.install for one in found if one.title == title)
    assert "practice agent answers" in " ".join(text.split()) and "footplate agents names the others" in text
    assert forbidden_in(text) == [] and "sign in" not in text and "log in" not in text
    assert "No agent" not in said(make_snapshot(), ())


def test_where_nothing_can_start_the_demo_is_offered() -> None:
    nowhere = Refusal(RefusalReason.NOT_A_REPOSITORY, {"path": "/tmp"})
    here = make_snapshot()
    assert here.repository is not None
    text = said(replace(here, repository=replace(here.repository, problem=nowhere)), (("Codex", "get codex"),))
    assert "footplate demo shows the practice agent" in " ".join(text.split()) and "No session can start here" in text


@contextmanager
def program(folder: Path, name: str) -> Iterator[str]:
    (folder / name).write_text("#!/bin/sh\n")
    (folder / name).chmod(0o755)
    yield str(folder)


def test_one_agent_on_the_path_is_enough_and_none_is_started_to_know_it(tmp_path: Path) -> None:
    assert {one.name for one in profiles.to_get(profiles.builtin({}), str(tmp_path))} >= {"claude", "codex", "opencode"}
    with program(tmp_path, "codex") as path:
        assert profiles.to_get(profiles.builtin({}), path) == ()
