"""What becomes of an ended session's tree, from its key: what is offered, what asks twice, what is said of it."""

import os
from pathlib import Path

import pytest

from app.console.keys import Where
from app.console.options import ConsoleOptions
from app.console.screens.choose import Choose
from app.console.trees import rows_of
from app.console.views.actions import Situation, why_dead
from coordinator.api import CheckAgain, Disposal, Disposed, DisposeOfTree, Done, LookAtTree, TreeView
from store.refusal import Refusal
from store.vocab import Millis, RefusalReason, RunId
from tests.console.driving import alone
from tests.console.opened import console
from tests.console.scenes import checkout, stopped
from tests.fakes.backend import FakeBackend, make_snapshot
from tests.waiting import eventually

OVER = RunId(7)
OPTIONS = ConsoleOptions(home="/home/mara", run=OVER)


def view(**more: object) -> TreeView:
    facts = {"tree": "/w/orders-7", "branch": "footplate/7", "target": "main", "changed": 2, "commits": 1, **more}
    return TreeView(run=OVER, title="fix it", repository="/r", **facts)  # type: ignore[arg-type]


def scripted(backend: FakeBackend, found: object) -> None:
    backend.replies[LookAtTree] = found  # type: ignore[assignment]
    backend.replies[DisposeOfTree] = lambda asked: Disposed(
        run=asked.run, how=asked.how, branch="footplate/7", commit="c" * 40, target="main"
    )


async def test_it_is_merged_by_its_key_and_discarded_only_by_a_second_one() -> None:
    async with console(make_snapshot(stopped(), checkout()), options=OPTIONS) as (app, pilot, backend):
        scripted(backend, view())
        await alone(app, pilot, "escape")
        await alone(app, pilot, "B")
        await eventually(lambda: isinstance(app.screen, Choose))
        await pilot.press("down", "enter")
        await eventually(lambda: backend.given(DisposeOfTree))
        assert backend.given(DisposeOfTree)[0].how is Disposal.MERGE
        await eventually(lambda: "is merged into main" in app.drive.said.text)

        await alone(app, pilot, "B")
        await eventually(lambda: isinstance(app.screen, Choose))
        await pilot.press("down", "down", "down", "down", "down", "enter")
        await eventually(lambda: isinstance(app.screen, Choose) and "Discard what 7 left?" in app.screen.heading)
        await pilot.press("enter")  # what is lit first leaves it
        await eventually(lambda: not isinstance(app.screen, Choose))
        assert len(backend.given(DisposeOfTree)) == 1
        await alone(app, pilot, "B")
        await eventually(lambda: isinstance(app.screen, Choose))
        await pilot.press("down", "down", "down", "down", "down", "enter")
        await eventually(lambda: isinstance(app.screen, Choose) and "Discard what 7 left?" in app.screen.heading)
        await pilot.press("down", "enter")
        await eventually(lambda: len(backend.given(DisposeOfTree)) == 2)
        order = backend.given(DisposeOfTree)[1]
        assert (order.how, order.ignored) == (Disposal.DISCARD, False)


async def test_a_refusal_is_said_in_its_sentence() -> None:
    async with console(make_snapshot(stopped(), checkout()), options=OPTIONS) as (app, pilot, backend):
        scripted(backend, Refusal(RefusalReason.TREE_GONE, {"run": OVER}))
        await alone(app, pilot, "escape")
        await alone(app, pilot, "B")
        await eventually(lambda: "Neither the tree nor the branch of run 7" in app.drive.said.text)
        backend.replies[LookAtTree] = view()
        backend.replies[DisposeOfTree] = Refusal(
            RefusalReason.CONFLICTS, {"branch": "footplate/7", "target": "main", "files": "a.txt"}
        )
        await alone(app, pilot, "B")
        await eventually(lambda: isinstance(app.screen, Choose))
        await pilot.press("down", "enter")
        await eventually(lambda: "Nothing was changed: footplate/7 and main both changed a.txt" in app.drive.said.text)


@pytest.mark.parametrize(
    ("found", "alive"),
    [
        (view(), {"keep", "merge", "pick", "shell", "check", "discard"}),
        (view(changed=0, commits=0), {"shell", "check", "discard"}),
        (view(changed=0, landed=True), {"shell", "check", "discard"}),
        (view(target=""), {"keep", "shell", "check", "discard"}),
        (view(tree=""), {"keep", "merge", "pick", "discard"}),
        (view(tree="", branch="", changed=0), set()),
        (view(tree="", branch="", discarded_at=Millis(1)), {"restore"}),
    ],
)
def test_only_what_leads_somewhere_is_alive(found: TreeView, alive: set[str]) -> None:
    rows = rows_of(found)
    assert {row.value for row in rows if row.dead is None} == alive
    assert all("\x1b" not in row.label for row in rows_of(view(branch="a\x1b[2J")))


def test_the_key_says_why_it_is_dead() -> None:
    def said(*sessions: object, run: int) -> str | None:
        snapshot = make_snapshot(*sessions)  # type: ignore[arg-type]
        return why_dead("tree", Situation(snapshot=snapshot, run=RunId(run), focus=Where.KEYS))

    assert said(stopped(in_place=False), run=7) is None
    assert "worked in yours" in str(said(stopped(in_place=True), run=7))
    assert "stop or finish it first" in str(said(checkout(), run=checkout().run))
    assert said(run=7) == "no session is in view"


async def test_its_checks_are_run_again_and_a_refusal_is_said() -> None:
    async with console(make_snapshot(stopped(), checkout()), options=OPTIONS) as (app, pilot, backend):
        scripted(backend, view())
        backend.replies[CheckAgain] = Done()
        await alone(app, pilot, "escape")
        for said in ("the checks of 7 run again", "No checks were agreed to"):
            await alone(app, pilot, "B")
            await eventually(lambda: isinstance(app.screen, Choose))
            await pilot.press("down", "down", "down", "down", "enter")
            await eventually(lambda said=said: said in app.drive.said.text)  # type: ignore[misc]
            backend.replies[CheckAgain] = Refusal(RefusalReason.NO_CHECKS, {"run": OVER, "repository": "/r"})
        assert [one.run for one in backend.given(CheckAgain)] == [OVER, OVER]


async def test_a_shell_is_lent_the_terminal_in_the_tree(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    from app.console import trees

    lent: list[tuple[list[str], str | None]] = []

    async def lend(deeds: object, argv: list[str], cwd: str | None = None) -> int:
        lent.append((argv, cwd))
        return 0

    monkeypatch.setattr(trees, "lend", lend)
    monkeypatch.setenv("SHELL", "/bin/zsh")
    async with console(make_snapshot(stopped(), checkout()), options=OPTIONS) as (app, pilot, backend):
        scripted(backend, view(tree=os.fspath(tmp_path)))
        await alone(app, pilot, "escape")
        await alone(app, pilot, "B")
        await eventually(lambda: isinstance(app.screen, Choose))
        await pilot.press("down", "down", "down", "enter")
        await eventually(lambda: lent == [(["/bin/zsh"], os.fspath(tmp_path))])
