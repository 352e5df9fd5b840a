"""Git under custody: nothing that a repository names is run, nothing is hidden from us, nothing outlives its time."""

import asyncio
import os
import time
from pathlib import Path

import pytest

from coordinator import gitfacts, githelper, helperprocess
from coordinator.api import ChangedFile
from coordinator.githelper import ConfigReading, GitOutput, RepositoryFacts, changed_files, diff_text, run_git
from store.refusal import Refusal
from store.vocab import RefusalReason
from tests.coordinator.repositories import git, plant, repository, try_git
from tests.waiting import eventually


async def _facts(path: Path) -> RepositoryFacts:
    facts = await githelper.look_at_repository(path)
    assert isinstance(facts, RepositoryFacts), facts
    return facts


async def _changed(tree: Path, base: str) -> dict[str, str]:
    found = await changed_files(tree, base)
    assert not isinstance(found, Refusal), found
    return {file.path: file.status for file in found}


# -------------------------------------------------------------------------------------------------------------- looking


async def test_a_repository_is_seen_as_it_is(tmp_path: Path) -> None:
    tree = repository(tmp_path / "orders", {"src/a.py": "1\n", "b.txt": "b\n"})
    facts = await _facts(tree / "src")
    assert facts.top == tree
    assert facts.git_dir == facts.common_dir == tree / ".git"
    assert (facts.head, facts.branch) == (git(tree, "rev-parse", "HEAD"), "main")
    assert (facts.dirty_files, facts.bare) == (0, False)
    (tree / "b.txt").write_text("changed\n")
    (tree / "new").write_text("new\n")
    assert (await _facts(tree)).dirty_files == 2


async def test_without_a_commit_is_a_fact_and_not_a_refusal(tmp_path: Path) -> None:
    tree = repository(tmp_path / "empty", {})
    (tree / "x").write_text("x")
    facts = await _facts(tree)
    assert (facts.head, facts.branch, facts.dirty_files) == ("", "main", 1)


async def test_detached_worktree_and_bare(tmp_path: Path) -> None:
    tree = repository(tmp_path / "r")
    git(tree, "worktree", "add", "-q", "--detach", str(tmp_path / "w"))
    facts = await _facts(tmp_path / "w")
    assert facts.branch == "" and facts.common_dir == tree / ".git" != facts.git_dir
    assert facts.head == git(tree, "rev-parse", "HEAD")
    git(tree, "clone", "-q", "--bare", str(tree), str(tmp_path / "bare.git"))
    assert (await _facts(tmp_path / "bare.git")).bare


@pytest.mark.parametrize("what", ["plain", "absent"])
async def test_no_repository(tmp_path: Path, what: str) -> None:
    path = tmp_path / what
    if what == "plain":
        path.mkdir()
    answer = await githelper.look_at_repository(path)
    assert isinstance(answer, Refusal) and answer.reason is RefusalReason.NOT_A_REPOSITORY
    assert answer.facts["path"] == str(path)


async def test_a_tree_that_the_configuration_points_elsewhere_is_none(tmp_path: Path) -> None:
    tree = repository(tmp_path / "r")
    (tmp_path / "home").mkdir()
    git(tree, "config", "core.worktree", str(tmp_path / "home"))
    answer = await githelper.look_at_repository(tree)
    assert isinstance(answer, Refusal) and answer.reason is RefusalReason.NOT_A_REPOSITORY


# ------------------------------------------------------------------------------------------------------------- changes


async def test_all_kinds_of_change(tmp_path: Path) -> None:
    long = "".join(f"line {n}\n" for n in range(50))
    tree = repository(
        tmp_path / "r", {"same": "s\n", "mod": "a\nb\n", "gone": "g\n", "old name": long, "mode": "m\n", "link": "l\n"}
    )
    base = git(tree, "rev-parse", "HEAD")
    (tree / "mod").write_text("a\nc\nd\n")
    (tree / "gone").unlink()
    (tree / "old name").rename(tree / "new\tname\n ü")
    (tree / "mode").chmod(0o755)
    (tree / "link").unlink()
    (tree / "link").symlink_to("/etc/passwd")
    (tree / "fresh").write_text("1\n2\n3\n")
    (tree / "data").write_bytes(bytes(range(256)))
    (tree / ".gitignore").write_text("ignored\n")
    (tree / "ignored").write_text("x")
    (tree / ".footplate" / "3").mkdir(parents=True)
    (tree / ".footplate" / "3" / "decision.json").write_text("{}")
    found = await changed_files(tree, base)
    assert not isinstance(found, Refusal)
    by_path = {file.path: file for file in found}
    assert by_path["mod"] == ChangedFile(path="mod", status="M", added=2, removed=1)
    assert by_path["fresh"] == ChangedFile(path="fresh", status="A", added=3, removed=0)
    assert by_path["data"] == ChangedFile(path="data", status="A", added=None, removed=None)
    assert by_path["new\tname\n ü"].status == "R"
    assert {path: file.status for path, file in by_path.items()} == {
        "mod": "M",
        "gone": "D",
        "new\tname\n ü": "R",
        "mode": "M",
        "link": "M",
        "fresh": "A",
        "data": "A",
        ".gitignore": "A",
    }
    assert [file.path for file in found] == sorted(by_path)


async def test_commits_of_the_agent_count_as_changes_since_base(tmp_path: Path) -> None:
    tree = repository(tmp_path / "r")
    base = git(tree, "rev-parse", "HEAD")
    (tree / "c.txt").write_text("c\n")
    (tree / ".gitignore").write_text("forced\n")
    (tree / "forced").write_text("f\n")
    git(tree, "add", "-A")
    git(tree, "add", "-f", "forced")
    git(tree, "commit", "-q", "-m", "second")
    assert await _changed(tree, base) == {"c.txt": "A", ".gitignore": "A", "forced": "A"}
    assert await _changed(tree, git(tree, "rev-parse", "HEAD")) == {}
    assert set(await _changed(tree, "")) == {"a.txt", "b.txt", "c.txt", ".gitignore", "forced"}


async def test_an_agent_cannot_hide_a_change(tmp_path: Path) -> None:
    tree = repository(tmp_path / "r")
    base = git(tree, "rev-parse", "HEAD")
    git(tree, "update-index", "--assume-unchanged", "a.txt")
    git(tree, "update-index", "--skip-worktree", "b.txt")
    before = (tree / "a.txt").stat()
    (tree / "a.txt").write_text("ONE\nTWO\n")
    os.utime(tree / "a.txt", ns=(before.st_atime_ns, before.st_mtime_ns))
    (tree / "b.txt").write_text("hidden\n")
    assert git(tree, "status", "--porcelain") == ""
    assert await _changed(tree, base) == {"a.txt": "M", "b.txt": "M"}
    # nor by giving the commit another meaning
    git(tree, "update-index", "--no-assume-unchanged", "a.txt")
    os.utime(tree / "a.txt")
    git(tree, "add", "a.txt")
    git(tree, "commit", "-q", "-m", "x")
    git(tree, "replace", base, git(tree, "rev-parse", "HEAD"))
    assert "a.txt" in await _changed(tree, base)


async def test_looking_writes_nothing_into_the_repository(tmp_path: Path) -> None:
    tree = repository(tmp_path / "r")
    os.utime(tree / "a.txt", (1, 1))  # git would refresh its index for this
    (tree / "n").write_text("n\n")

    def picture() -> dict[str, bytes]:
        return {str(path): path.read_bytes() for path in sorted((tree / ".git").rglob("*")) if path.is_file()}

    before = picture()
    facts = await _facts(tree)
    await diff_text(tree, facts.head)
    assert picture() == before


async def test_strange_things_in_the_tree(tmp_path: Path) -> None:
    tree = repository(tmp_path / "r", {"dir/file": "x\n", "file": "y\n"})
    base = git(tree, "rev-parse", "HEAD")
    (tree / "dir" / "file").unlink()
    (tree / "dir").rmdir()
    (tree / "dir").write_text("now a file\n")
    (tree / "file").unlink()
    (tree / "file").mkdir()
    (tree / "file" / "inside").write_text("z\n")
    os.mkfifo(tree / "pipe")
    (tree / "loop").symlink_to("loop")
    repository(tree / "nested")
    found = await _changed(tree, base)
    assert found["dir"] == "A" and found["dir/file"] == "D"
    assert found["file/inside"] in ("A", "R") and "pipe" not in found
    (tree / "dir").unlink()
    os.mkfifo(tree / "dir")  # a tracked name that would block its reader
    assert (await _changed(tree, base))["dir/file"] == "D"


async def test_split_index_sha256_and_sparse(tmp_path: Path) -> None:
    tree = tmp_path / "r"
    tree.mkdir()
    git(tree, "init", "-q", "--object-format=sha256")
    (tree / "keep").mkdir()
    (tree / "keep" / "a").write_text("a\n")
    (tree / "away").mkdir()
    (tree / "away" / "b").write_text("b\n")
    git(tree, "add", "-A")
    git(tree, "commit", "-q", "-m", "x")
    git(tree, "update-index", "--split-index")
    git(tree, "sparse-checkout", "set", "keep")
    assert not (tree / "away").exists()
    base = git(tree, "rev-parse", "HEAD")
    assert await _changed(tree, base) == {}
    (tree / "keep" / "a").unlink()
    assert await _changed(tree, base) == {"keep/a": "D"}
    assert set(await _changed(tree, "")) == set()


async def test_line_ends_as_configured_are_no_change(tmp_path: Path) -> None:
    tree = repository(tmp_path / "r", {"dos.txt": "a\nb\n"})
    git(tree, "config", "core.autocrlf", "true")
    (tree / "dos.txt").write_bytes(b"a\r\nb\r\n")
    assert await _changed(tree, git(tree, "rev-parse", "HEAD")) == {}


async def test_a_base_that_is_not_there_is_refused(tmp_path: Path) -> None:
    tree = repository(tmp_path / "r")
    answer = await changed_files(tree, "0" * 40)
    assert isinstance(answer, Refusal) and answer.reason is RefusalReason.GIT_FAILED
    assert answer.facts["exit"] == "128" and answer.facts["stderr"]


async def test_a_long_diff_is_cut_and_says_so(tmp_path: Path) -> None:
    tree = repository(tmp_path / "r")
    base = git(tree, "rev-parse", "HEAD")
    (tree / "big").write_text("0123456789\n" * 50_000)
    found = await diff_text(tree, base, limit=100_000)
    assert isinstance(found, GitOutput) and found.cut and len(found.out) == 100_000
    whole = await diff_text(tree, base)
    assert isinstance(whole, GitOutput) and not whole.cut and whole.out.count(b"\n+0123") == 50_000


# --------------------------------------------------------------------------------------------------------------- traps


def _make_dirty(tree: Path) -> None:
    for name in ("a.txt", "c.bin"):
        (tree / name).write_text("changed\n")
    os.utime(tree / "b.txt", (1, 1))


async def test_the_traps_work_at_all(tmp_path: Path) -> None:
    tree = repository(tmp_path / "r", {"a.txt": "a\n", "b.txt": "b\n", "c.bin": "c\n"})
    plant(tree, tmp_path / "canary")
    _make_dirty(tree)
    git(tree, "config", "--unset", "filter.long.required")
    for command in (
        "status",
        "diff --no-ext-diff --textconv",
        "diff",
        "branch x",
        "checkout -q -f",
        "worktree add ../w",
    ):
        try_git(tree, *command.split())
    off = "-c filter.long.process= -c filter.long.required=false"
    for command in (f"{off} log -p", f"{off} log -p --ext-diff"):
        try_git(tree, *command.split())
    sprung = {path.name for path in (tmp_path / "canary").iterdir()}
    assert {"fsmonitor", "textconv", "clean", "smudge", "process"} <= sprung
    assert {"hook-reference-transaction", "hook-post-checkout", "hook-post-index-change"} <= sprung
    assert "driver" in sprung or "external" in sprung


async def test_no_trap_springs(tmp_path: Path) -> None:
    tree = repository(tmp_path / "r", {"a.txt": "a\n", "b.txt": "b\n", "c.bin": "c\n"})
    base = git(tree, "rev-parse", "HEAD")
    canary = tmp_path / "canary"
    plant(tree, canary)
    _make_dirty(tree)
    facts = await _facts(tree)
    assert facts.dirty_files >= 2
    found = await _changed(tree, base)
    assert found["a.txt"] == "M" and found["c.bin"] == "M" and "b.txt" not in found
    diff = await diff_text(tree, base)
    assert isinstance(diff, GitOutput) and b"+changed" in diff.out
    commands = (
        ["status", "--porcelain=v2", "-z", "--ignore-submodules=all"],
        ["diff", "HEAD"],
        ["diff", "--stat", "HEAD"],
        ["log", "-p"],
        ["show", "HEAD"],
        ["ls-files", "-o", "--exclude-standard"],
        ["cat-file", "blob", "HEAD:a.txt"],
        ["branch", "made"],
        ["read-tree", "-u", "--reset", "HEAD"],
        ["worktree", "add", "-q", "-b", "new", str(tmp_path / "w")],
        ["worktree", "remove", "--force", str(tmp_path / "w")],
    )
    for command in commands:
        answer = await run_git(command, cwd=tree)
        assert isinstance(answer, GitOutput), answer
    assert list(canary.iterdir()) == []


async def test_a_missing_object_is_not_fetched(tmp_path: Path) -> None:
    tree = repository(tmp_path / "r")
    base = git(tree, "rev-parse", "HEAD")
    canary = tmp_path / "canary"
    plant(tree, canary)
    (tmp_path / "trap-fetch").write_text(f'#!/bin/sh\n: > "{canary}/fetch"\nexit 1\n')
    (tmp_path / "trap-fetch").chmod(0o755)
    for key, value in {
        "core.repositoryformatversion": "1",
        "extensions.partialClone": "origin",
        "remote.origin.promisor": "true",
        "remote.origin.url": str(tree),
        "remote.origin.uploadpack": str(tmp_path / "trap-fetch"),
        "protocol.allow": "always",
        "protocol.file.allow": "always",
    }.items():
        git(tree, "config", key, value)
    blob = git(tree, "rev-parse", "HEAD:b.txt")
    (tree / ".git" / "objects" / blob[:2] / blob[2:]).unlink()
    for command in (["cat-file", "blob", blob], ["diff", "HEAD"], ["show", "HEAD"]):
        await run_git(command, cwd=tree)
    (tree / "b.txt").write_text("other\n")
    await changed_files(tree, base)
    await diff_text(tree, base)
    assert not (canary / "fetch").exists()
    assert list(canary.iterdir()) == []


async def test_a_filter_planted_between_two_commands_does_not_run(tmp_path: Path) -> None:
    """The race that switching off by name would lose: the configuration changes all the while."""
    tree = repository(tmp_path / "r")
    base = git(tree, "rev-parse", "HEAD")
    canary = tmp_path / "canary"
    plant(tree, canary)
    names = [f"evil{n}" for n in range(50)]
    config = tree / ".git" / "config"
    start = config.read_text()

    async def race() -> None:
        for name in names:
            (tree / ".gitattributes").write_text(f"*.txt filter={name}\n")
            config.write_text(
                f'{start}\n[filter "{name}"]\n\tclean = {tmp_path}/trap-clean\n\tsmudge = {tmp_path}/trap-clean\n'
            )
            await asyncio.sleep(0)

    _make_dirty(tree)
    for _ in range(5):
        await asyncio.gather(race(), changed_files(tree, base), diff_text(tree, base))
    assert list(canary.iterdir()) == []


def test_only_named_subcommands(tmp_path: Path) -> None:
    with pytest.raises(ValueError):
        asyncio.run(run_git(["st"], cwd=tmp_path))
    with pytest.raises(ValueError):
        asyncio.run(run_git(["-c", "alias.x=!true", "x"], cwd=tmp_path))


async def test_git_itself_is_not_taken_from_the_tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tree = repository(tmp_path / "r")
    (tree / "git").write_text(f"#!/bin/sh\n: > {tmp_path}/canary\n")
    (tree / "git").chmod(0o755)
    monkeypatch.chdir(tree)
    monkeypatch.setenv("PATH", f".:{os.environ['PATH']}")
    monkeypatch.setenv("GIT_DIR", str(tmp_path / "elsewhere"))
    assert isinstance(await run_git(["rev-parse", "HEAD"], cwd=tree), GitOutput)
    assert not (tmp_path / "canary").exists()
    monkeypatch.setenv("PATH", ".")
    answer = await run_git(["rev-parse", "HEAD"], cwd=tree)
    assert isinstance(answer, Refusal) and answer.facts["exit"] == "127"


# --------------------------------------------------------------------------------------------------------------- bounds


async def test_a_command_that_hangs_is_ended(tmp_path: Path) -> None:
    tree = repository(tmp_path / "r")
    os.mkfifo(tree / "pipe")
    (tree / ".git" / "config").write_text((tree / ".git" / "config").read_text() + f"[include]\n\tpath = {tree}/pipe\n")
    started = time.monotonic()
    answer = await run_git(["rev-parse", "HEAD"], cwd=tree, timeout=0.3)
    assert time.monotonic() - started < 5
    assert isinstance(answer, Refusal) and answer.facts["exit"] == "timeout"


async def test_output_is_bounded(tmp_path: Path) -> None:
    tree = repository(tmp_path / "r", {"big": "x" * 300_000})
    answer = await run_git(["cat-file", "blob", "HEAD:big"], cwd=tree, limit=1000)
    assert isinstance(answer, Refusal) and answer.facts["exit"] == "too much output"
    exact = await run_git(["cat-file", "blob", "HEAD:big"], cwd=tree, limit=300_000)
    assert isinstance(exact, GitOutput) and len(exact.out) == 300_000


async def test_input_is_passed_whole(tmp_path: Path) -> None:
    tree = repository(tmp_path / "r")
    names = "".join(f"HEAD:a.txt {n}\n" for n in range(5_000)).encode()
    answer = await run_git(["cat-file", "--batch-check=%(rest)"], cwd=tree, input=names)
    assert isinstance(answer, GitOutput) and answer.out.count(b"\n") == 5_000


def _alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


@pytest.mark.parametrize("ends", ["by itself", "by timeout"])
async def test_nothing_of_a_helper_is_left(tmp_path: Path, ends: str) -> None:
    """A child in the group, one in a session of its own that keeps the pipes open, one whose parent is gone."""
    pids = tmp_path / "pids"
    script = (
        f"sleep 300 & echo $! >> {pids}; setsid sleep 300 & echo $! >> {pids};"
        f"(setsid sh -c 'echo $$ >> {pids}; exec sleep 300' </dev/null >/dev/null 2>&1 &) ;"
        f"while [ $(wc -l < {pids}) -lt 3 ]; do :; done;" + ("exit 3" if ends == "by itself" else "exec sleep 300")
    )
    started = time.monotonic()
    environment = {"PATH": os.environ["PATH"]}
    held = asyncio.ensure_future(
        helperprocess.run(["sh", "-c", script], cwd=tmp_path, environment=environment, timeout=1.0, limit=1000)
    )
    ended = await held
    assert time.monotonic() - started < 8
    assert (ended.code, ended.cut) == ((3, "") if ends == "by itself" else (-9, "timeout"))
    left = [int(pid) for pid in pids.read_text().split()]
    assert len(left) == 3
    await eventually(lambda: not any(_alive(pid) for pid in left), what="helpers' children gone")


async def test_a_cancelled_helper_is_ended(tmp_path: Path) -> None:
    pid = tmp_path / "pid"
    script = f"echo $$ > {pid}.new; mv {pid}.new {pid}; exec sleep 300"
    environment = {"PATH": os.environ["PATH"]}
    task = asyncio.create_task(
        helperprocess.run(["sh", "-c", script], cwd=tmp_path, environment=environment, timeout=60, limit=10)
    )
    await eventually(pid.exists)
    assert _alive(int(pid.read_text()))
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert not _alive(int(pid.read_text()))


# -------------------------------------------------------------------------------------------------------- configuration


def _read(tree: Path) -> ConfigReading:
    return githelper.read_config(tree)


def test_reading_the_configuration_tells_every_way_to_plant(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    (tmp_path / "home").mkdir()
    tree = repository(tmp_path / "r")
    (tmp_path / "more").write_text("[user]\n")
    (tree / ".git" / "config").write_text((tree / ".git" / "config").read_text() + "[include]\n\tpath = ../../more\n")
    git(tree, "worktree", "add", "-q", str(tmp_path / "w"))
    seen = {_read(tmp_path / "w")}
    assert seen == {_read(tmp_path / "w")}

    def moved(path: Path, text: str) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        now = _read(tmp_path / "w")
        assert now not in seen, path
        seen.add(now)

    moved(tree / ".git" / "info" / "attributes", "* filter=x\n")
    moved(tree / ".git" / "hooks" / "post-checkout", "#!/bin/sh\n")
    moved(tmp_path / "more", "[core]\n\tfsmonitor = x\n")
    moved(tmp_path / "home" / ".gitconfig", "[alias]\n\tst = !x\n")
    moved(tree / ".git" / "worktrees" / "w" / "config.worktree", "[core]\n\tpager = x\n")
    git(tree, "config", "diff.external", "x")
    assert _read(tree) != _read(tmp_path)
    assert any("external = x" in text for _, text in _read(tree).files)


def test_reading_the_configuration_never_blocks(tmp_path: Path) -> None:
    tree = repository(tmp_path / "r")
    os.mkfifo(tree / ".git" / "info" / "attributes")
    (tree / ".git" / "hooks" / "x").write_bytes(b"\xff\x00binary")
    (tree / ".git" / "config").write_text('[include]\npath = config\n[includeIf "gitdir:x"] path=/dev/zero\n')
    assert any("no text, sha256" in text for _, text in _read(tree).files)
    assert not any(path.endswith("zero") for path, _ in _read(tree).files)


def test_what_programs_a_configuration_names_is_switched_off() -> None:
    listed = gitfacts.parse_config(b"core.fsmonitor\n/x\0user.name\na\0filter.a.b.clean\ncat\0core.bare\0")
    assert gitfacts.neutralising(listed) == (("filter.a.b.clean", ""), ("filter.a.b.required", "false"))
    assert ("core.bare", "true") in listed
