"""On a system where nobody has run sessions, and on one where nothing of it can run: what is said, and what works."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from app import platforms, wiring, wording
from app.cli import checkup
from app.config import Config
from app.main import VERSION, no_home
from app.paths import find
from coordinator.custody.receipts import receipt_from_facts
from coordinator.custody.types import EndedProcess, Receipt
from coordinator.supervisor import darwin
from store import open as opening, place
from store.refusal import Refusal
from store.vocab import RefusalReason
from tests.cli.running import Ran, environment, repository
from tests.platforms import elsewhere
from tests.review.importing.made import DATA

ENDED = EndedProcess(pid=41190, name="pytest -q", step="kill", gone_after_ms=2100)


def on(platform: str, home: Path, *arguments: str, **more: str) -> Ran:
    """``footplate …`` in a process that believes to be there."""
    done = subprocess.run(
        [sys.executable, elsewhere.__file__, platform, *arguments],
        cwd=home.parent,
        env=environment(home, **more),
        input=b"",
        capture_output=True,
        timeout=60,
        check=False,
    )
    return Ran(code=done.returncode, out=done.stdout.decode(), err=done.stderr.decode())


# ------------------------------------------------------------------------------------------------- where it cannot run


@pytest.mark.parametrize("platform", ["win32", "cygwin", "freebsd14", "sunos5"])
def test_where_it_cannot_run_one_sentence_says_so(platform: str) -> None:
    said = no_home(platform)
    assert "Linux" in said and said.endswith(".") and "\n" not in said


@pytest.mark.parametrize("platform", ["linux", "darwin"])
def test_where_it_can_nothing_is_said(platform: str) -> None:
    assert no_home(platform) == ""


@pytest.mark.parametrize("arguments", [(), ("ls",), ("doctor",), ("start", "x", "--plain", "--yes"), ("--nonsense",)])
def test_on_windows_it_leaves_with_a_sentence(tmp_path: Path, arguments: tuple[str, ...]) -> None:
    ran = on("win32", tmp_path / "home", *arguments)
    assert (ran.code, ran.out, ran.err) == (1, "", no_home("win32") + "\n")
    assert not (tmp_path / "home").exists()


def test_on_windows_its_version_and_help_are_told(tmp_path: Path) -> None:
    assert on("win32", tmp_path / "home", "--version") == Ran(code=0, out=f"footplate {VERSION}\n", err="")
    helped = on("win32", tmp_path / "home", "--help")
    assert helped.code == 0 and "footplate" in helped.out


# ------------------------------------------------------------------------------------------------------------ on a Mac


def test_every_module_can_be_imported_there(tmp_path: Path) -> None:
    ran = on("darwin", tmp_path / "home", "all")
    assert (ran.code, ran.err) == (0, "")


def test_no_session_starts_until_its_operator_says_so() -> None:
    refused = platforms.untried("darwin", {})
    assert refused is not None and refused.reason is RefusalReason.UNTRIED_PLATFORM
    said = wording.sentence(refused)
    assert "macOS" in said and "FOOTPLATE_UNTRIED_PLATFORM=1" in said and "proves less" in said
    assert wording.forbidden_in(said) == []
    for value in ("", "0", "yes"):
        assert platforms.untried("darwin", {platforms.TRY: value}) is not None
    assert platforms.untried("darwin", {platforms.TRY: "1"}) is None
    assert platforms.untried("linux", {}) is None


@pytest.mark.parametrize(
    "command",
    [("start", "x", "--plain", "--yes", "--agent", "practice"), ("demo", "--plain"), ("queue", "run")],
)
def test_each_way_to_start_one_is_refused_in_one_sentence(tmp_path: Path, command: tuple[str, ...]) -> None:
    repository(tmp_path / "repo")
    ran = on("darwin", tmp_path / "home", *command)
    assert ran.code == 1 and ran.err.count("\n") == 1
    assert "FOOTPLATE_UNTRIED_PLATFORM=1" in ran.err
    assert not (tmp_path / "home" / "ledger.db").exists()


def test_a_console_is_refused_before_anything_is_opened(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(sys, "platform", "darwin")
    around = {"FOOTPLATE_HOME": str(tmp_path / "home")}
    with wiring.open_backend(Config(), find(around), (), environment=around) as backend:
        assert isinstance(backend, Refusal) and backend.reason is RefusalReason.UNTRIED_PLATFORM
    assert not (tmp_path / "home").exists()


def test_looking_through_a_ledger_needs_nothing(tmp_path: Path) -> None:
    home = tmp_path / "home"
    assert "Imported 6 sessions" in on("darwin", home, "import", str(DATA)).out
    for command in (
        ("ls",),
        ("show", "1", "--transcript"),
        ("search", "DAYS"),
        ("spend",),
        ("export", "1", "-o", "-"),
        ("verify",),
        ("agents",),
        ("backup", str(tmp_path / "copy.db")),
    ):
        ran = on("darwin", home, *command)
        assert ran.code == 0, (command, ran.err)
        assert "UNTRIED" not in ran.err
    assert on("darwin", home, "verify").out == "The ledger is whole.\n"


def test_doctor_says_what_is_weaker(tmp_path: Path) -> None:
    assert checkup._system("linux", {}) == []
    (bad,) = checkup._system("darwin", {})
    assert bad.level is checkup.Level.BAD and "proves less" in bad.found and platforms.TRY in bad.remedy
    (note,) = checkup._system("darwin", {platforms.TRY: "1"})
    assert note.level is checkup.Level.NOTE and "seen" in note.found and note.remedy
    told = json.loads(on("darwin", tmp_path / "home", "doctor", "--json").out)
    whats = [one["what"] for one in told["findings"]]
    assert "system" in whats and "cgroup" not in whats and "logout" not in whats
    assert not [one for one in told["findings"] if "the check itself broke" in one["found"]]


def receipt(**changed: object) -> Receipt:
    facts: dict[str, object] = {"reason": "stopped", "total_ms": 2400, "steps": [["kill", 1]], "followed": True}
    return receipt_from_facts({**facts, **changed})


@pytest.mark.parametrize("ended", [[], [{"pid": 41190, "name": "x", "step": "kill"}]])
@pytest.mark.parametrize("already", [True, False])
def test_a_stop_report_claims_no_more_than_is_known(ended: list[object], already: bool) -> None:
    first = wording.receipt_lines(receipt(ended=ended, already_ended=already))[0]
    assert "nothing that was seen is left" in first and "ps -x" in first and "macOS" in first
    assert "nothing left running" not in first.lower()
    assert wording.forbidden_in(first) == []
    whole = wording.receipt_lines(receipt(ended=ended, already_ended=already, followed=False))[0]
    assert "Nothing left running." in whole and "macOS" not in whole
    assert "left running" not in wording.stop_step("seen-gone")


def test_what_would_not_die_is_said_as_everywhere() -> None:
    left = [{"pid": 41190, "name": "x", "step": ""}]
    assert "1 process left (41190)" in wording.receipt_lines(receipt(remaining=left))[0]


# ------------------------------------------------------------------------------------------------- the ledger's place


@pytest.mark.parametrize(("kind", "refused"), [("smbfs", True), ("nfs", True), ("afpfs", True), ("apfs", False)])
def test_a_share_is_told_from_a_disk(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, kind: str, refused: bool) -> None:
    share = tmp_path / "a share\\with odd name"
    share.mkdir()
    mounts = "\n".join((place.mount_line("/", "apfs"), place.mount_line(str(share), kind)))
    assert place.file_system_of(share / "data", mounts) == kind
    monkeypatch.setattr(place, "_mounts", lambda: mounts)
    assert (place.check_place(share) is not None) == refused


@pytest.mark.parametrize(("platform", "full"), [("darwin", 1), ("linux", 0)])
def test_the_ledger_is_synced_to_the_disk_itself(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, platform: str, full: int
) -> None:
    path = tmp_path / "x.db"
    path.touch()
    monkeypatch.setattr(sys, "platform", platform)
    conn = opening.connect(path)
    try:
        for pragma in ("fullfsync", "checkpoint_fullfsync"):
            assert conn.execute(f"PRAGMA {pragma}").fetchone() == (full,)
    finally:
        conn.close()


@pytest.mark.parametrize(("length", "fits"), [(20, True), (120, False)])
def test_a_socket_whose_path_is_too_long_is_refused_where_nothing_shortens_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, length: int, fits: bool
) -> None:
    paths = find({"FOOTPLATE_HOME": os.sep + "h" * length})
    assert wiring.sockets_fit(paths) is None, "Linux goes through the folder"
    monkeypatch.setattr(wiring, "kernel", darwin)
    refused = wiring.sockets_fit(paths)
    assert (refused is None) == fits
    if refused is not None:
        assert "103 at most" in wording.sentence(refused)
    monkeypatch.setattr(checkup, "kernel", darwin)
    assert (checkup._sockets(paths).level is checkup.Level.OK) == fits
