"""Where no session can start: what is shown of it is looked at again, and what is mended is no longer said."""

import pytest
from msgspec.structs import replace
from textual import events

from app.console.views.ink import plain
from coordinator.api import LookAtRepository, Propose, RepositoryView
from store.refusal import Refusal
from store.vocab import RefusalReason
from tests.console.driving import alone, settled, typed
from tests.console.opened import console
from tests.console.scenes import make_session
from tests.fakes.backend import FakeBackend, make_snapshot
from tests.waiting import eventually

GOOD = make_snapshot().repository
assert GOOD is not None
NONE_YET = replace(GOOD, head="", problem=Refusal(RefusalReason.NO_COMMIT, {"path": GOOD.path}))
NO_REPOSITORY = replace(NONE_YET, problem=Refusal(RefusalReason.NOT_A_REPOSITORY, {"path": GOOD.path}))
CANNOT = "No session can start here"


def mended(backend: FakeBackend) -> None:
    def look(_: object) -> RepositoryView:
        assert GOOD is not None
        backend.change(repository=GOOD)
        return GOOD

    backend.replies[LookAtRepository] = look


@pytest.mark.parametrize("problem", [NONE_YET, NO_REPOSITORY])
async def test_enter_looks_again_and_shows_the_terms(problem: RepositoryView) -> None:
    async with console(make_snapshot(repository=problem)) as (app, pilot, backend):
        assert plain(app.drive.empty.rows[0]) == CANNOT
        await typed(app, pilot, "mend it")
        await alone(app, pilot, "enter")
        await eventually(lambda: app.drive.said.text)
        assert backend.given(LookAtRepository) and not backend.given(Propose) and app.drive.proposal is None
        assert app.drive.composer.text == "mend it"
        mended(backend)
        await alone(app, pilot, "enter")
        await eventually(lambda: app.drive.proposal is not None)
        assert plain(app.drive.empty.rows[0]) != CANNOT


@pytest.mark.parametrize("how", ["terminal", "composer", "snapshot"])
async def test_it_is_looked_at_when_the_operator_comes_back(how: str) -> None:
    async with console(make_snapshot(repository=NONE_YET)) as (app, pilot, backend):
        await alone(app, pilot, "escape")
        before = len(backend.given(LookAtRepository))
        mended(backend)
        match how:
            case "terminal":
                app.post_message(events.AppFocus())
            case "composer":
                await alone(app, pilot, "i")
            case _:
                backend.change(repository=GOOD)  # the coordinator came by
        await eventually(lambda: plain(app.drive.empty.rows[0]) != CANNOT)
        assert (len(backend.given(LookAtRepository)) > before) == (how != "snapshot")


async def test_nobody_looks_where_nothing_is_the_matter_or_a_session_is_in_view() -> None:
    for snapshot in (make_snapshot(), make_snapshot(make_session(4, "port"), repository=NONE_YET)):
        async with console(snapshot) as (app, pilot, backend):
            app.post_message(events.AppFocus())
            await alone(app, pilot, "escape")
            await alone(app, pilot, "i")
            await settled(pilot)
            assert backend.given(LookAtRepository) == []
