"""``d``: what a run changed, on the screen. Its keys, what is asked for and when, what leaves the console, and text
that an agent wrote."""

import asyncio
import sys
from collections.abc import Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from textual.pilot import Pilot

from app.console import changing
from app.console.app import FootplateApp
from app.console.screens.changes import ChangesSheet
from app.console.views.changes import MOST_LINES, heading, patch_lines
from app.console.views.ink import plain
from coordinator import changes as changes_
from coordinator.api import (
    Changes,
    ChangesFrom,
    ChangesNote,
    Diff,
    OperatorCommand,
    ReadChanges,
    ReadDiff,
    Remark,
    Stop,
)
from store.refusal import Refusal
from store.vocab import RefusalReason, RunOutcome
from tests.console.changed import FILES, PATCH, answering, changes, file, lines_there
from tests.console.driving import alone, settled
from tests.console.hostile import HOSTILE, Spoiler, faults, screen_rows
from tests.console.opened import console
from tests.console.scenes import checkout
from tests.coordinator.held import holding
from tests.fakes.backend import ago, make_snapshot
from tests.waiting import eventually

WORKER = 4
"""The file whose diff ``PATCH`` is, among ``FILES``."""


async def opened(app: FootplateApp, pilot: "Pilot[int]", *keys: str) -> ChangesSheet:
    for key in ("escape", "d"):
        await alone(app, pilot, key)
    await lines_there(app)
    for key in keys:
        await alone(app, pilot, key)
        await lines_there(app)
    assert isinstance(app.screen, ChangesSheet)
    return app.screen


def told(sheet: ChangesSheet) -> str:
    return "\n".join(plain(row) for row in (*sheet.head_lines.rows, *sheet.remarks.rows, *sheet.foot_lines.rows))


async def test_files_hunks_and_turns_by_their_keys() -> None:
    async with console(make_snapshot(checkout())) as (app, pilot, backend):
        answering(backend, changes())
        sheet = await opened(app, pilot)
        assert sheet.file == FILES[0] and "1 file (*) was uncommitted before the run" in told(sheet)
        await alone(app, pilot, "K")
        assert "first file" in told(sheet) and sheet.file == FILES[0]
        for _ in range(WORKER):
            await alone(app, pilot, "J")
        await lines_there(app)
        assert sheet.file == FILES[WORKER]
        assert backend.given(ReadDiff)[-1].names == FILES[WORKER].names
        view = sheet.view
        assert view.number == 12, "at the first hunk"
        await alone(app, pilot, "right_curly_bracket")
        assert view.number == 41
        await alone(app, pilot, "right_curly_bracket")
        assert "J is the next file" in told(sheet)
        for _ in range(4):
            await alone(app, pilot, "j")
        assert view.lines[view._cursor or 0].text.startswith("-            self.cancel") and view.number == 44
        await alone(app, pilot, "left_curly_bracket")
        await alone(app, pilot, "left_curly_bracket")
        assert view.number == 12
        turns = []
        for _ in range(4):
            await alone(app, pilot, "left_square_bracket")
            await lines_there(app)
            turns.append(sheet.turn)
        assert turns == [4, 3, 1, None] and [one.turn for one in backend.given(ReadChanges)] == [None, 4, 3, 1, None]
        assert sheet.file == FILES[WORKER], "the same file, whichever turn"
        await alone(app, pilot, "d")
        assert app.screen is app.drive


async def test_it_is_live_and_the_reader_stays_where_they_are() -> None:
    async with console(make_snapshot(checkout())) as (app, pilot, backend):
        answering(backend, changes())
        sheet = await opened(app, pilot, *["J"] * WORKER, "right_curly_bracket", "j")
        here, asked = sheet.view.number, len(backend.given(ReadChanges))
        backend.change_session(12, status="says something")
        app.take()
        await settled(pilot)
        assert len(backend.given(ReadChanges)) == asked, "only where a turn or the run has ended"
        more = (file("a new one.py", "A", 1, 0), *FILES)
        answering(backend, changes(files=more))
        backend.change_session(12, turn_ended_at=ago(0))
        app.take()
        await eventually(lambda: sheet.changes is not None and len(sheet.changes.files) == len(more))
        await lines_there(app)
        assert sheet.file == FILES[WORKER] and sheet.view.number == here
        await alone(app, pilot, "r")
        await eventually(lambda: len(backend.given(ReadChanges)) == asked + 2)


async def test_no_key_waits_and_an_answer_that_comes_late_is_not_shown() -> None:
    async with console(make_snapshot(checkout())) as (app, pilot, backend):
        answering(backend, changes())
        sheet = await opened(app, pilot)
        backend.held_back.add(ReadDiff)
        for _ in range(3):
            await alone(app, pilot, "J")
        assert sheet.at == 3 and len(backend.open) == 1, "one thing is asked for at a time"
        backend.complete(Diff(patch=b"@@ -1 +1 @@\n+late\n"))
        await eventually(lambda: len(backend.open) == 1)
        command, _ = backend.open[0]
        assert isinstance(command, ReadDiff) and command.names == FILES[3].names
        assert "late" not in "".join(line.text for line in sheet.view.lines)
        backend.held_back.clear()
        backend.complete(Diff(patch=PATCH.encode()))
        await lines_there(app)
        assert any("Before anybody" in line.text for line in sheet.view.lines)


async def test_a_refusal_is_said_and_what_is_kept_a_moment_later_is_looked_for() -> None:
    async with console(make_snapshot(checkout())) as (app, pilot, backend):
        backend.replies[ReadChanges] = Refusal(RefusalReason.NOT_A_REPOSITORY, {"path": "/home/mara/gone"})
        sheet = await opened(app, pilot)
        assert "gone" in told(sheet) and sheet.file is None
        for key in ("J", "right_curly_bracket", "left_square_bracket", "o", "P", "D", "j", "G", "pageup"):
            await alone(app, pilot, key)
            assert faults(app) == []
        answers = iter([changes(files=(), remarks=(Remark(what=ChangesNote.NOTHING_KEPT),)), changes()])
        backend.replies[ReadChanges] = lambda command: next(answers)
        backend.change_session(12, outcome=RunOutcome.FINISHED, turn_ended_at=ago(0))
        app.take()
        await eventually(lambda: sheet.file is not None, 10.0)


# ------------------------------------------------------------------------------------------------- out of the console


async def test_the_editor_at_its_line_the_pager_and_the_diff_tool(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lent: list[tuple[list[str], Mapping[str, str] | None, str]] = []

    async def lend(_: object, argv: Sequence[str], environment: Mapping[str, str] | None = None) -> int | str:
        path = Path(argv[-1])
        lent.append((list(argv), environment, path.read_text() if path.is_file() else ""))
        return 0

    monkeypatch.setattr(changing, "lend", lend)
    monkeypatch.setenv("EDITOR", "my-editor")
    monkeypatch.delenv("VISUAL", raising=False)
    monkeypatch.setenv("PAGER", "my-pager -x")
    work = tmp_path / "src/orders/checkout/worker.py"
    work.parent.mkdir(parents=True)
    work.write_text("x\n")
    (work.parent / "subscriptions.py").symlink_to("/etc/passwd")
    async with console(make_snapshot(checkout())) as (app, pilot, backend):
        evil = PATCH.replace("Before anybody", "\x1b]0;owned\x07 Before")
        answering(backend, changes(tree=str(tmp_path)), evil.encode())
        sheet = await opened(app, pilot, *["J"] * 3)
        await alone(app, pilot, "o")
        assert lent == [] and "no file to edit" in told(sheet), "a link may lead anywhere"
        await alone(app, pilot, "J")
        await lines_there(app)
        await alone(app, pilot, "right_curly_bracket")
        await alone(app, pilot, "o")
        await eventually(lambda: len(lent) == 1)
        assert lent[0][0] == ["my-editor", "+41", str(work)]
        await alone(app, pilot, "P")
        await eventually(lambda: len(lent) == 2)
        assert lent[1][0][:2] == ["my-pager", "-x"] and "Before" in lent[1][2] and "\x1b" not in lent[1][2]
        assert not Path(lent[1][0][2]).exists() and backend.given(ReadDiff)[-1].names == ()
        await alone(app, pilot, "D")
        assert len(lent) == 2 and "where its ledger lies" in told(sheet)
        answering(backend, changes(tree=str(tmp_path), source=ChangesFrom.KEPT))
        await alone(app, pilot, "r")
        await lines_there(app)
        await alone(app, pilot, "D")
        assert len(lent) == 2 and "a diff tool needs two files" in told(sheet)


async def test_a_diff_tool_that_is_none_is_told_with_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    @asynccontextmanager
    async def for_tool(*_: object):  # type: ignore[no-untyped-def]
        yield [sys.executable, "-c", "raise SystemExit(3)"], {"GIT_DIR": "/x"}

    async def lend(_: object, argv: Sequence[str], environment: Mapping[str, str] | None = None) -> int | str:
        assert environment is not None and environment["GIT_DIR"] == "/x" and "PATH" in environment
        return 3

    monkeypatch.setattr(changes_, "for_tool", for_tool)
    monkeypatch.setattr(changing, "lend", lend)
    monkeypatch.setattr(changing.Programs, "_place", lambda self, found: object())
    async with console(make_snapshot(checkout())) as (app, pilot, backend):
        answering(backend, changes())
        sheet = await opened(app, pilot)
        await alone(app, pilot, "D")
        await eventually(lambda: "git config --global diff.tool" in told(sheet))


# -------------------------------------------------------------------------------------------------------- hostile text


@pytest.mark.parametrize("size", [(80, 24), (120, 34), (200, 50)], ids=lambda size: str(size[0]))
async def test_names_remarks_and_lines_that_an_agent_chose(size: tuple[int, int]) -> None:
    evil = "\n".join(f" {said}\n+{said}\n-{said}\n@@ {said}\nrename to {said}" for said in HOSTILE.values())
    patch = (PATCH + evil + "\n@@ -1 +999999999999999999999999 @@\n+x").encode("utf-8", "replace")
    async with console(make_snapshot(checkout()), size) as (app, pilot, backend):
        answering(backend, changes(), patch)
        sheet = await opened(app, pilot)
        for first in range(0, len(HOSTILE), 7):
            found = Spoiler(first).spoil(changes())
            backend.replies[ReadChanges] = lambda command, found=found: found
            await alone(app, pilot, "r")
            await lines_there(app)
            for key in ("J", "right_curly_bracket", "right_square_bracket", "G"):
                await alone(app, pilot, key)
                await lines_there(app)
                assert faults(app) == [], (first, key)
                screen_rows(app)
        for _ in range(60):
            sheet.view.page(-1)
            await settled(pilot)
            screen_rows(app)
            if sheet.view.scroll_offset.y == 0:
                break


async def test_a_refusal_with_hostile_facts() -> None:
    async with console(make_snapshot(checkout()), (80, 24)) as (app, pilot, backend):
        for said in list(HOSTILE.values())[::2]:

            def refused(command: OperatorCommand, said: str = said) -> Refusal:
                return Refusal(RefusalReason.GIT_FAILED, {"problem": said, "path": said})

            backend.replies[ReadChanges] = refused
            if isinstance(app.screen, ChangesSheet):
                await alone(app, pilot, "r")
                await lines_there(app)
            else:
                await opened(app, pilot)
            assert faults(app) == [], said
            screen_rows(app)


# ---------------------------------------------------------------------------------------------------------- pure parts


def test_a_long_diff_is_laid_out_so_far_and_says_so() -> None:
    rows = "".join(f"+{n}\n" for n in range(3 * MOST_LINES))
    made = patch_lines(Diff(patch=f"@@ -0,0 +1,9 @@\n{rows}".encode()), file("a.py"))
    assert len(made.lines) == len(made.numbers) == MOST_LINES + 1
    assert made.numbers[500] == 500 and "P shows more" in made.lines[-1].text
    one_row = patch_lines(Diff(patch=b"@@ -0,0 +1 @@\n+" + b"x" * 2_000_000, cut=True), file("a.py"))
    assert max(len(line.text) for line in one_row.lines) <= 4_096
    assert set(one_row.numbers) == {1, 2}


@pytest.mark.parametrize(
    ("one", "words"),
    [
        (file("logo.png", "A", None, None), "no text, or too large"),
        (file("a.py", "M", 5, 1), "were not kept"),
        (file("a.py", "M", 0, 0), "are the same"),
        (file("a.py", "A", 0, 0), "an empty file"),
    ],
)
def test_where_there_are_no_lines_it_is_said_why(one: object, words: str) -> None:
    made = patch_lines(Diff(patch=b""), one)  # type: ignore[arg-type]
    assert words in made.lines[0].text and made.hunks == ()


def test_the_line_of_the_file_is_counted_as_it_is_now() -> None:
    made = patch_lines(Diff(patch=b"@@ -5,3 +7,3 @@\n a\n-b\n+c\n+d\n e\n\\ No newline at end of file\n"), None)
    assert made.numbers == (7, 7, 8, 8, 9, 10, 11)


async def test_the_diff_tool_gets_both_sides_of_a_real_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "gitconfig").write_text(
        f'[diff]\n\ttool = mine\n[difftool "mine"]\n\tcmd = cat "$LOCAL" "$REMOTE" > {tmp_path}/seen\n'
    )
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(tmp_path / "gitconfig"))
    said: list[str] = []
    options = SimpleNamespace(ledger=tmp_path / "ledger.db", spool=tmp_path / "spool")

    async def lend(_: object, argv: Sequence[str], environment: Mapping[str, str] | None = None) -> int | str:
        process = await asyncio.create_subprocess_exec(*argv, env=environment)
        return await process.wait()

    monkeypatch.setattr(changing, "lend", lend)
    deeds = cast(Any, SimpleNamespace(app=SimpleNamespace(options=options), say=said.append))
    async with holding(tmp_path) as house:
        run = await house.start("the brief")
        await house.until(run, lambda view: view.turns and view.in_flight is None and view.changes_known)
        (house.tree / "a new one.txt").write_text("its line\n")
        found = await house.do(ReadChanges(run=run))
        assert isinstance(found, Changes)
        await changing.Programs(deeds).compare(found, found.files[0])
        assert said == [] and (tmp_path / "seen").read_text() == "its line\n"
        await house.do(Stop(run=run))


@pytest.mark.parametrize("width", [60, 80, 120])
def test_title_and_what_is_shown_never_run_into_one_another(width: int) -> None:
    row = plain(heading(1, "Write a note about the last three orders", changes(), width))
    before, told = row.rsplit("all turns", 1)
    assert before.endswith((" · ", "   ")), row
    assert told
