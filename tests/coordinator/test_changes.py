"""What a run changed: in all and turn by turn, on real repositories, with names, sizes and kinds of file that an agent
may leave behind. Nothing of it touches the repository or its index."""

import asyncio
import os
import subprocess
from pathlib import Path
from types import SimpleNamespace

import pytest

from coordinator import changes, deeds, turntrees
from coordinator.api import (
    Changes,
    ChangesFrom,
    ChangesNote,
    Diff,
    FileChange,
    ReadChanges,
    ReadDiff,
    Say,
    Stop,
    TurnSpan,
)
from coordinator.evidence import gather
from coordinator.keptchanges import kept, kept_diff
from coordinator.live import Live
from coordinator.runplace import RunPlace
from store.evidence import Evidence
from store.refusal import Refusal
from store.vocab import EvidenceKind, Millis, RefusalReason, RunId
from tests.coordinator.held import holding
from tests.coordinator.repositories import git, plant, repository
from tests.waiting import eventually

RUN = RunId(3)


def place(top: Path, **values: object) -> RunPlace:
    given: dict[str, object] = {
        "run": RUN, "tree": top, "repository": top, "folder": top.parent / "run-3", "newest": 0,
        "flying": False, "over": False,
    }  # fmt: skip
    if "head" not in values:
        given["head"] = git(top, "rev-parse", "HEAD")
    return RunPlace(**(given | values))  # type: ignore[arg-type]


async def found(where: RunPlace, turn: int | None = None) -> Changes:
    read = await changes.read(where, turn)
    assert isinstance(read, Changes), read
    return read


async def lines(where: RunPlace, *names: bytes, turn: int | None = None) -> str:
    read = await changes.diff(where, turn, names)
    assert isinstance(read, Diff), read
    return read.patch.decode("utf-8", "surrogateescape")


def shown(read: Changes) -> dict[str, tuple[str, int | None, int | None]]:
    return {one.path: (one.status, one.added, one.removed) for one in read.files}


def remarks(read: Changes) -> dict[ChangesNote, int]:
    return {one.what: one.count for one in read.remarks}


async def note(where: RunPlace, turn: int) -> None:
    assert where.folder is not None
    await turntrees.note(where.folder, where.tree, where.head, turn=turn)


async def test_all_kinds_of_change_each_with_its_lines(tmp_path: Path) -> None:
    tree = repository(
        tmp_path / "r", {"a.txt": "one\ntwo\n", "old name.txt": "long enough\n" * 9, "gone": "x\n", "tool": "#!\n"}
    )
    where = place(tree)
    (tree / "a.txt").write_text("one\n2\nthree\n")
    (tree / "old name.txt").rename(tree / "nëw name.txt")
    (tree / "gone").unlink()
    (tree / "tool").chmod(0o755)
    (tree / "sub").mkdir()
    (tree / "sub/new").write_text("n\n")
    (tree / "bin").write_bytes(b"\0\1\2")
    (tree / "link").symlink_to("/etc/passwd")
    read = await found(where)
    assert shown(read) == {
        "a.txt": ("M", 2, 1),
        "nëw name.txt": ("R", 0, 0),
        "gone": ("D", 0, 1),
        "tool": ("M", 0, 0),
        "sub/new": ("A", 1, 0),
        "bin": ("A", None, None),
        "link": ("A", 1, 0),
    }
    by = {one.path: one for one in read.files}
    assert by["nëw name.txt"].was == "old name.txt" and read.base == where.head and read.source is ChangesFrom.TREE
    assert "-two\n+2\n+three\n" in await lines(where, *by["a.txt"].names)
    assert "rename from old name.txt" in await lines(where, *by["nëw name.txt"].names)
    assert "new mode 100755" in await lines(where, *by["tool"].names)
    assert "Binary files /dev/null and b/bin differ" in await lines(where, *by["bin"].names)
    assert "+/etc/passwd" in await lines(where, *by["link"].names), "the link, and not what it leads to"
    whole = await lines(where)
    assert whole.count("diff --git ") == 7 and whole == "".join(
        [await lines(where, *one.names) for one in sorted(read.files, key=lambda one: one.names)]
    )


NAMES = [
    b"with space.txt", b"-dash", b"tab\there", b"line\nend", b'quo"te', b"back\\slash", b"esc\x1b]0;owned\x07",
    "翻訳.py".encode(), b"latin-\xe9", b":(top)magic", b"*.txt", "\u202etxt".encode(), b"diff --git a/x b/x",
]  # fmt: skip


async def test_any_name_is_listed_and_its_own_lines_are_read(tmp_path: Path) -> None:
    tree = repository(tmp_path / "r")
    root = os.fsencode(tree)
    for at, name in enumerate(NAMES):
        Path(os.fsdecode(root + b"/" + name)).parent.mkdir(parents=True, exist_ok=True)
        Path(os.fsdecode(root + b"/" + name)).write_text(f"only in {at}\n")
    where = place(tree)
    read = await found(where)
    assert sorted(one.names[0] for one in read.files) == sorted(NAMES)
    for at, name in enumerate(NAMES):
        patch = await lines(where, name)
        assert sum(row.startswith("diff --git ") for row in patch.split("\n")) == 1, name
        assert f"+only in {at}\n" in patch
    await note(where, 1)
    (tree / "a.txt").write_text("changed\n")
    await note(where, 2)
    later = place(tree, newest=2)
    assert shown(await found(later, 2)) == {"a.txt": ("M", 1, 2)}, "what stood there already is no change of turn 2"


async def test_turn_by_turn_and_what_was_there_before(tmp_path: Path) -> None:
    tree = repository(tmp_path / "r", {"a.txt": "a\n", "b.txt": "b\n", "c.txt": "c\n"})
    (tree / "a.txt").write_text("the operator's\n")
    (tree / "mine.txt").write_text("not committed\n")
    git(tree, "add", "mine.txt")
    git(tree, "status")  # writes the index anew itself
    before = ((tree / ".git/index").read_bytes(), git(tree, "count-objects"))
    where = place(tree)
    await note(where, 0)
    (tree / "b.txt").write_text("turn 1\n")
    await note(where, 1)
    (tree / "b.txt").write_text("turn 2\n")
    (tree / "new.txt").write_text("turn 2\n")
    await note(where, 2)
    (tree / "new.txt").unlink()
    (tree / "a.txt").write_text("turn 3\n")
    where = place(tree, newest=3, flying=True)
    read = await found(where)
    assert {one.path: one.before for one in read.files} == {"a.txt": True, "b.txt": False, "mine.txt": True}
    assert remarks(read) == {ChangesNote.BEFORE: 2}
    assert read.turns == (
        TurnSpan(first=1, last=1), TurnSpan(first=2, last=2), TurnSpan(first=3, last=3, running=True),
    )  # fmt: skip
    assert shown(await found(where, 1)) == {"b.txt": ("M", 1, 1)}
    assert "-b\n+turn 1\n" in await lines(where, b"b.txt", turn=1)
    assert shown(await found(where, 2)) == {"b.txt": ("M", 1, 1), "new.txt": ("A", 1, 0)}
    assert "-turn 1\n+turn 2\n" in await lines(where, turn=2)
    assert shown(await found(where, 3)) == {"a.txt": ("M", 1, 1), "new.txt": ("D", 0, 1)}
    assert "-the operator's\n+turn 3\n" in await lines(where, b"a.txt", turn=3)
    after = ((tree / ".git/index").read_bytes(), git(tree, "count-objects"))
    assert after == before, "neither the index nor the objects of the repository were written to"


async def test_a_turn_whose_end_nobody_saw_is_shown_with_the_next(tmp_path: Path) -> None:
    tree = repository(tmp_path / "r")
    where = place(tree)
    await note(where, 0)
    (tree / "one").write_text("1\n")
    (tree / "two").write_text("2\n")
    await note(where, 2)
    where = place(tree, newest=2)
    assert (await found(where)).turns == (TurnSpan(first=1, last=2),)
    assert set(shown(await found(where, 1))) == set(shown(await found(where, 2))) == {"one", "two"}
    nothing = await found(where, 7)
    assert nothing.files == () and ChangesNote.TURNS_UNKNOWN in remarks(nothing)
    # A half row of a console that was killed, and rubbish, are no turns.
    assert where.folder is not None
    with (where.folder / "trees/list").open("a") as file:
        file.write('{"turn": 3, "tree": "--exec=x", "left": []}\n{"turn": 4, "tr')
    assert (await found(place(tree, newest=4))).turns == (TurnSpan(first=1, last=2), TurnSpan(first=3, last=4))


async def test_where_nothing_was_noted_it_is_said(tmp_path: Path) -> None:
    tree = repository(tmp_path / "r")
    (tree / "a.txt").write_text("x\n")
    read = await found(place(tree, newest=2))
    assert set(remarks(read)) == {ChangesNote.BEFORE_UNKNOWN, ChangesNote.TURNS_UNKNOWN} and read.turns == ()
    own = await found(place(tree, repository=tmp_path / "other"))
    assert remarks(own) == {}, "a tree of its own began as its commit says"


async def test_commits_of_the_run_are_its_changes_too_and_a_base_without_commit(tmp_path: Path) -> None:
    tree = repository(tmp_path / "r", {})
    (tree / "a").write_text("1\n")
    where = place(tree, head="")
    assert shown(await found(where)) == {"a": ("A", 1, 0)}
    assert "+1\n" in await lines(where, b"a")
    await note(where, 1)
    git(tree, "add", "-A")
    git(tree, "commit", "-q", "-m", "its own")
    assert shown(await found(where)) == {"a": ("A", 1, 0)}


async def test_submodules_and_repositories_within_are_not_looked_into_and_that_is_said(tmp_path: Path) -> None:
    inner = repository(tmp_path / "inner", {"deep": "1\n"})
    tree = repository(tmp_path / "r")
    git(tree, "-c", "protocol.file.allow=always", "submodule", "add", "-q", str(inner), "lib")
    git(tree, "commit", "-q", "-m", "with a submodule")
    where = place(tree)
    await note(where, 0)
    (tree / "lib/deep").write_text("2\n")
    repository(tree / "nested", {"n": "1\n"})
    (tree / "a.txt").write_text("x\n")
    await note(where, 1)
    read = await found(place(tree, newest=1))
    assert set(shown(read)) == {"a.txt"} and ChangesNote.SUBMODULES in remarks(read)
    assert shown(await found(place(tree, newest=1), 1)) == {"a.txt": ("M", 1, 2)}


async def test_no_program_of_the_repository_runs(tmp_path: Path) -> None:
    tree = repository(tmp_path / "r", {"a.txt": "1\n", "b.bin": "2\n"})
    canary = tmp_path / "canary"
    where = place(tree)
    plant(tree, canary)
    (tree / "a.txt").write_text("2\n")
    (tree / "new.txt").write_text("2\n")
    await note(where, 1)
    where = place(tree, newest=2)
    assert {"a.txt", "new.txt"} <= set(shown(await found(where)))
    assert "+2\n" in await lines(where, b"new.txt")
    await found(where, 2)
    async with changes.for_tool(where, None, (b"a.txt",)) as told:
        assert not isinstance(told, Refusal)
        arguments, variables = told
        tool = {"GIT_CONFIG_GLOBAL": str(tmp_path / "gitconfig"), "PATH": os.environ["PATH"], "HOME": str(tmp_path)}
        (tmp_path / "gitconfig").write_text(
            f'[diff]\n\ttool = mine\n[difftool "mine"]\n\tcmd = cat "$LOCAL" "$REMOTE" > {tmp_path}/seen\n'
        )
        environment = {**tool, **variables}
        await asyncio.to_thread(
            subprocess.run, arguments, env=environment, check=True, capture_output=True, cwd=tmp_path
        )
    assert (tmp_path / "seen").read_text() == "1\n2\n", "the operator's tool, with both sides"
    assert list(canary.iterdir()) == []


# -------------------------------------------------------------------------------------------------------------- bounds


@pytest.mark.parametrize("folders", [4, pytest.param(100, marks=pytest.mark.soak)])
async def test_ten_thousand_files_are_listed_and_more_are_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, folders: int
) -> None:
    tree = repository(tmp_path / "r", {"a.txt": "1\n"})
    for at in range(folders):
        (tree / f"d{at}").mkdir()
        for n in range(101):
            (tree / f"d{at}" / f"{n}").write_text("x\n")
    if folders < 100:
        monkeypatch.setattr(changes, "MOST_FILES", 100 * folders)
    read = await found(place(tree))
    assert len(read.files) == 100 * folders and remarks(read)[ChangesNote.MORE] == folders
    assert all(one.added == 1 for one in read.files)
    monkeypatch.setattr(changes, "_LISTING", 5_000)
    cut = await found(place(tree))
    assert 0 < len(cut.files) < 1_000 and remarks(cut)[ChangesNote.MORE] == -1
    assert all(one.status == "A" and one.path.startswith("d") for one in cut.files), "no half a record"


@pytest.mark.parametrize("size", [80_000_000, pytest.param(1_073_741_824, marks=pytest.mark.soak)])
async def test_a_file_of_a_gigabyte_is_told_and_not_read(tmp_path: Path, size: int) -> None:
    tree = repository(tmp_path / "r")
    with (tree / "huge").open("wb") as file:
        file.write(b"line\n")
        file.truncate(size)  # a hole: the disk of a test is small
    where = place(tree)
    assert shown(await found(where))["huge"] == ("A", None, None)
    assert "Binary files" in await lines(where, b"huge")
    await note(where, 1)
    (tree / "small").write_text("1\n")
    read = await found(place(tree, newest=2), 2)
    assert set(shown(read)) == {"small"} and remarks(read)[ChangesNote.LEFT_OUT] == 1
    assert where.folder is not None
    stored = sum(path.stat().st_size for path in where.folder.rglob("*") if path.is_file())
    assert stored < 100_000, "nothing of it was copied"


async def test_long_lines_are_cut_and_say_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tree = repository(tmp_path / "r")
    (tree / "long").write_text("0123456789\n" * 400_000)
    read = await changes.diff(place(tree), None, (b"long",))
    assert isinstance(read, Diff) and read.cut and len(read.patch) == changes.DIFF_LIMIT


async def test_what_took_too_long_is_listed_without_counts_or_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tree = repository(tmp_path / "r")
    (tree / "a.txt").write_text("x\n")
    real, late = changes._compared, Refusal(RefusalReason.GIT_FAILED, {"exit": "timeout", "stderr": ""})

    async def slow(lens: object, base: str, other: str | None, how: list[str]) -> object:
        return late if "--numstat" in how else await real(lens, base, other, how)  # type: ignore[arg-type]

    monkeypatch.setattr(changes, "_compared", slow)
    read = await found(place(tree))
    assert shown(read) == {"a.txt": ("M", None, None)} and ChangesNote.UNCOUNTED in remarks(read)

    async def never(*_: object) -> object:
        return late

    monkeypatch.setattr(changes, "_compared", never)
    refused = await changes.read(place(tree))
    assert isinstance(refused, Refusal) and "longer than 20 s" in str(refused.facts["problem"])


async def test_a_tree_or_a_base_that_is_gone_is_refused(tmp_path: Path) -> None:
    tree = repository(tmp_path / "r")
    gone = await changes.read(place(tree, tree=tmp_path / "gone"))
    assert isinstance(gone, Refusal) and gone.reason is RefusalReason.NOT_A_REPOSITORY
    base = await changes.read(place(tree, head="0" * 40))
    assert isinstance(base, Refusal) and base.facts["path"] == str(tree)


# ---------------------------------------------------------------------------------------------------------------- kept


async def as_kept(tree: Path, head: str, **values: object) -> RunPlace:
    pieces = await gather(tree, head, redact=lambda text: text, config_before=None)
    made = {
        one.kind: Evidence(
            id=at, run=RUN, kind=one.kind, sha256="", size=len(one.content), note=one.note, content=one.content,
            at=Millis(0),
        )
        for at, one in enumerate(pieces)
    }  # fmt: skip
    status, diff = made.get(EvidenceKind.STATUS), made.get(EvidenceKind.DIFF)
    return place(tree, head=head, over=True, status=status, diff=diff, **values)


async def test_what_was_kept_is_the_list_with_each_files_lines(tmp_path: Path) -> None:
    tree = repository(
        tmp_path / "r", {"a.txt": "one\ntwo\n", "old name": "long enough\n" * 9, "empty": "", "gone": "x\n"}
    )
    head = git(tree, "rev-parse", "HEAD")
    (tree / "a.txt").write_text("one\n--- 2\n+++ b/evil\ndiff --git a/x b/x\n")
    (tree / "old name").rename(tree / "new name")
    (tree / "gone").unlink()
    (tree / "empty").chmod(0o755)
    (tree / "bin").write_bytes(b"\0\1")
    for name in NAMES[:8]:
        Path(os.fsdecode(os.fsencode(tree) + b"/" + name)).write_text("n\n")
    where = await as_kept(tree, head)
    live = await found(place(tree, head=head))
    # The tree may be gone by then.
    read = kept(where)

    def told(one: FileChange) -> tuple[object, ...]:
        return one.path, one.status, one.added, one.removed, one.was

    assert sorted(map(told, read.files)) == sorted(map(told, live.files)) and read.source is ChangesFrom.KEPT
    for one in read.files:
        mine = kept_diff(where, one.names[:1]).patch.decode()
        its = next(bytes(own.names[0]) + b"\0" + (own.was.encode()) for own in live.files if own.path == one.path)
        assert mine == await lines(place(tree, head=head), *(part for part in its.split(b"\0") if part)), one.path
    assert kept_diff(where, ()).patch.decode() == await lines(place(tree, head=head))
    assert kept_diff(where, (b"nothing",)) == Diff(patch=b"")


async def test_of_a_kept_diff_that_was_cut_what_is_missing_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tree = repository(tmp_path / "r")
    head = git(tree, "rev-parse", "HEAD")
    for name in "pqr":
        (tree / name).write_text(f"{name}\n" * 300)
    monkeypatch.setattr("coordinator.evidence.DIFF_LIMIT", 1_500)
    where = await as_kept(tree, head)
    read = kept(where)
    assert shown(read) == {name: ("A", 300, 0) for name in "pqr"} and ChangesNote.CUT in remarks(read)
    first, second, third = (kept_diff(where, (name.encode(),)) for name in "pqr")
    assert first.patch.count(b"\n+p") == 300 and not first.cut
    assert second.cut and 0 < second.patch.count(b"\n+q") < 300 and third.patch == b""


async def test_nothing_kept_not_read_and_not_over(tmp_path: Path) -> None:
    tree = repository(tmp_path / "r")
    assert set(remarks(kept(place(tree, over=True)))) == {ChangesNote.NOTHING_KEPT}
    assert set(remarks(await found(place(tree, folder=None)))) == {ChangesNote.GOES_ON}
    (tmp_path / "none").mkdir()
    gone = kept(await as_kept(tmp_path / "none", "0" * 40))
    assert gone.files == () and ChangesNote.NOT_READ in remarks(gone)


# ---------------------------------------------------------------------------------------------------------------- held


async def test_a_held_run_live_turn_by_turn_and_after_its_end(tmp_path: Path) -> None:
    async with holding(tmp_path) as house:
        (house.tree / "operator.txt").write_text("mine\n")
        run = await house.start("the brief")
        await house.until(run, lambda view: view.turns and view.in_flight is None and view.changes_known)
        (house.tree / "one.txt").write_text("1\n")
        await house.do(Say(run=run, text="and more"))
        await house.until(
            run, lambda view: len(view.turns) == 2 and view.in_flight is None and "one.txt" in str(view.changed)
        )
        read = await house.do(ReadChanges(run=run))
        assert isinstance(read, Changes), read
        assert {one.path: one.before for one in read.files} == {"operator.txt": True, "one.txt": False}
        assert [(one.first, one.last) for one in read.turns] == [(1, 1), (2, 2)]
        second = await house.do(ReadChanges(run=run, turn=2))
        assert isinstance(second, Changes) and set(shown(second)) == {"one.txt"}
        lines_of = await house.do(ReadDiff(run=run, turn=2, names=(b"one.txt",)))
        assert isinstance(lines_of, Diff) and b"+1\n" in lines_of.patch
        await house.do(Stop(run=run))
        await house.until(run, lambda view: view.outcome is not None)
    (tmp_path / "tree/one.txt").write_text("the operator went on\n")
    async with holding(tmp_path) as house:
        over = await house.do(ReadChanges(run=run))
        assert isinstance(over, Changes) and over.source is ChangesFrom.KEPT
        assert shown(over) == {"one.txt": ("A", 1, 0), "operator.txt": ("A", 1, 0)}
        kept_lines = await house.do(ReadDiff(run=run, names=(b"one.txt",)))
        assert isinstance(kept_lines, Diff) and b"+1\n" in kept_lines.patch
        assert [(one.first, one.last) for one in over.turns] == [(1, 1), (2, 2)]
        turn = await house.do(ReadDiff(run=run, turn=2))
        assert isinstance(turn, Diff) and b"+1\n" in turn.patch, "as it stood then, whatever became of it"
        refused = await house.do(ReadChanges(run=RunId(99)))
        assert isinstance(refused, Refusal) and refused.reason is RefusalReason.NO_SUCH_RUN


async def test_looks_at_a_large_tree_do_not_pile_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Turns that are shorter than a look: one look at a time, and the last one begins after the last turn was over."""
    turns, seen, gate = [SimpleNamespace(n=1, ended_at=1)], [], asyncio.Event()

    async def slow(*_: object, turn: int | None) -> tuple[()]:
        seen.append(turn)
        await gate.wait()
        return ()

    monkeypatch.setattr(turntrees, "note", slow)
    session = SimpleNamespace(
        **{"rows": SimpleNamespace(turns=turns), "folder": tmp_path, "tree": tmp_path, "head": "", "live": Live()},
        **{
            "house": SimpleNamespace(changed=lambda: None),
            "looking": asyncio.Lock(),
            "looks_asked": 0,
            "looks_begun": 0,
        },
    )
    looks: list[asyncio.Task[None]] = []
    for n in range(2, 8):
        looks.append(asyncio.create_task(deeds.look_at_changes(session)))  # type: ignore[arg-type]
        await eventually(lambda: session.looks_asked == len(looks))
        turns.append(SimpleNamespace(n=n, ended_at=1))
    gate.set()
    await asyncio.gather(*looks)
    assert seen == [1, 7]
    assert session.live.changes_known
