"""What is looked up for who writes: tracked files through the held helper, what was said before, in any state of a
run."""

from pathlib import Path

import pytest

from app.wording import sentence
from coordinator import desk
from coordinator.api import ListFiles, Propose, ReadSaid, ReadSaidBefore, Said, SaidBefore, Say, Stop, TrackedFiles
from coordinator.constants import TURN_BYTES
from store.refusal import Refusal
from store.vocab import RefusalReason, RunId
from tests.coordinator.held import Holding, holding
from tests.coordinator.repositories import git, plant, repository


async def listed(house: Holding, tree: Path) -> TrackedFiles:
    found = await house.do(ListFiles(run=None, repository=str(tree)))
    assert isinstance(found, TrackedFiles), found
    return found


async def test_tracked_files_are_listed_and_no_other(tmp_path: Path) -> None:
    tree = repository(
        tmp_path / "r", {"src/a.py": "1", "docs/read me.md": "2", ".gitignore": "build\n", "ünïcode": "3"}
    )
    (tree / "new.py").write_text("not tracked")
    (tree / "build").mkdir()
    async with holding(tmp_path / "house") as house:
        found = await listed(house, tree)
        assert set(found.paths) == {"src/a.py", "docs/read me.md", ".gitignore", "ünïcode"}
        assert not found.more


async def test_no_program_that_a_repository_names_is_run(tmp_path: Path) -> None:
    tree = repository(tmp_path / "r", {"a.txt": "1", "b.bin": "2"})
    canary = tmp_path / "canary"
    plant(tree, canary)
    async with holding(tmp_path / "house") as house:
        assert set((await listed(house, tree)).paths) == {"a.txt", "b.bin"}
    assert list(canary.iterdir()) == []


@pytest.mark.parametrize("name", [b"a\nb", b"esc\x1b[2J", b"tab\t", b"latin-\xe9", "‮txt".encode()])
async def test_a_name_that_no_text_can_hold_is_not_offered(tmp_path: Path, name: bytes) -> None:
    tree = repository(tmp_path / "r", {"good.txt": "1"})
    (Path(str(tree).encode().decode()) / name.decode("utf-8", "surrogateescape")).write_text("strange")
    git(tree, "add", "-A")
    async with holding(tmp_path / "house") as house:
        assert (await listed(house, tree)).paths == ("good.txt",)


async def test_the_list_is_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tree = repository(tmp_path / "r", {f"f{n}": "" for n in range(20)})
    monkeypatch.setattr(desk, "MOST_FILES", 7)
    async with holding(tmp_path / "house") as house:
        found = await listed(house, tree)
        assert (len(found.paths), found.more) == (7, True)
        monkeypatch.setattr(desk, "MOST_FILES", 100)
        monkeypatch.setattr(desk, "_LISTING", 25)
        cut = await listed(house, tree)
        assert cut.more and set(cut.paths) < {f"f{n}" for n in range(20)}, "no half a name"


async def test_no_repository_is_a_refusal(tmp_path: Path) -> None:
    (tmp_path / "plain").mkdir()
    async with holding(tmp_path / "house") as house:
        for folder in (tmp_path / "plain", tmp_path / "gone"):
            assert isinstance(await house.do(ListFiles(run=None, repository=str(folder))), Refusal)
        refused = await house.do(ListFiles(run=RunId(77), repository=""))
        assert isinstance(refused, Refusal) and refused.reason is RefusalReason.NO_SUCH_RUN


async def test_what_was_said_is_there_for_the_next_console_and_after_the_end(tmp_path: Path) -> None:
    async with holding(tmp_path) as house:
        run = await house.start("the brief")
        await house.until(run, lambda view: view.turns and view.in_flight is None and view.native_id)
        await house.do(Say(run=run, text="and more"))
        await house.until(run, lambda view: len(view.turns) == 2 and view.in_flight is None)
        await house.do(Stop(run=run))
    async with holding(tmp_path) as house:
        found = await house.do(ReadSaidBefore(repository=str(house.tree)))
        assert isinstance(found, SaidBefore)
        assert [one.text for one in found.texts] == ["the brief", "and more"]
        assert await house.do(ReadSaid(turn=found.texts[1].turn)) == "and more"
        files = await house.do(ListFiles(run=run, repository=""))
        assert isinstance(files, TrackedFiles) and files.paths == ()


async def test_a_brief_over_the_limit_is_refused_with_size_and_limit_before_any_terms(tmp_path: Path) -> None:
    async with holding(tmp_path) as house:
        refused = await house.do(
            Propose(instruction="x" * (TURN_BYTES + 1), repository=str(house.tree), agent="practice")
        )
        assert isinstance(refused, Refusal)
        assert (refused.reason, dict(refused.facts)) == (
            RefusalReason.TURN_TOO_LARGE,
            {"bytes": TURN_BYTES + 1, "limit": TURN_BYTES},
        )


async def test_a_command_for_the_agents_own_screen_is_refused_with_what_to_do(tmp_path: Path) -> None:
    async with holding(tmp_path) as house:
        run = await house.start("the brief")
        view = await house.until(run, lambda view: view.turns and view.in_flight is None and view.commands)
        assert "login" in dict(view.own_screen) and "login" not in dict(view.commands)
        refused = await house.do(Say(run=run, text="/login now"))
        assert isinstance(refused, Refusal) and refused.reason is RefusalReason.NOT_POSSIBLE_FOR_AGENT
        assert "/login" in sentence(refused) and "sign in" in sentence(refused)
        for text, literal in (("/login now", True), (" /login", False), ("/loginx", False), ("/context", False)):
            said = await house.do(Say(run=run, text=text, literal=literal))
            assert isinstance(said, Said), (text, said)
            await house.until(run, lambda view: view.in_flight is None and not view.queued)
