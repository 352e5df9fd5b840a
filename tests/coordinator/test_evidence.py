"""What is kept of a run's tree: redacted, bounded, and never a reason to fail."""

import hashlib
import os
from pathlib import Path

import pytest

from coordinator import evidence, turntrees
from coordinator.api import ChangedFile
from coordinator.evidence import Piece, gather
from coordinator.githelper import read_config
from coordinator.mailbox import MAILBOX_BYTES, read_mailbox
from coordinator.redaction import MARK, Redactor
from store.vocab import EvidenceKind
from tests.coordinator.repositories import git, repository

SECRET = "hunter2-hunter2"
redact = Redactor([SECRET]).text


def _by_kind(pieces: tuple[Piece, ...]) -> dict[EvidenceKind, Piece]:
    assert len({piece.kind for piece in pieces}) == len(pieces)
    return {piece.kind: piece for piece in pieces}


async def test_diff_status_and_configuration(tmp_path: Path) -> None:
    tree = repository(tmp_path / "r")
    base, before = git(tree, "rev-parse", "HEAD"), read_config(tree)
    (tree / "a.txt").write_text(f"one\npassword = {SECRET}\n")
    (tree / "latin").write_bytes(b"\xe9 " + SECRET.encode() + b"\n")
    git(tree, "config", "core.fsmonitor", f"/tmp/spy --key {SECRET}")
    found = _by_kind(await gather(tree, base, redact=redact, config_before=before))
    assert set(found) == {EvidenceKind.DIFF, EvidenceKind.STATUS, EvidenceKind.FILES, EvidenceKind.GIT_CONFIG}
    assert all(SECRET.encode() not in piece.content for piece in found.values())
    assert f"+password = {MARK}".encode() in found[EvidenceKind.DIFF].content
    assert found[EvidenceKind.STATUS].content == b"M\t1\t1\ta.txt\nA\t1\t0\tlatin\n"
    assert found[EvidenceKind.STATUS].note == "2 files changed"
    hashed = [(tree / name).read_bytes() for name in ("a.txt", "latin")]
    rows = "".join(
        f"100644\t{len(data)}\t{hashlib.sha256(data).hexdigest()}\t{name}\n"
        for data, name in zip(hashed, ("a.txt", "latin"), strict=True)
    )
    assert found[EvidenceKind.FILES].content.decode() == rows
    assert f"+\tfsmonitor = /tmp/spy --key {MARK}".encode() in found[EvidenceKind.GIT_CONFIG].content
    assert ".git/config" in found[EvidenceKind.GIT_CONFIG].note


async def test_what_stands_in_a_changed_file_is_known_by_its_hash(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever lies at the name: nothing is followed, nothing blocks, what is too much says so."""
    tree = repository(tmp_path / "r", {"gone": "x\n", "tool": "#!/bin/sh\n"})
    (tree / "gone").unlink()
    (tree / "tool").chmod(0o755)
    (tree / "link").symlink_to("/etc/passwd")
    (tree / "two\nlines").write_text("y\n")
    (tree / "large").write_bytes(b"x" * 3000)
    monkeypatch.setattr(evidence, "MOST_BYTES", 2000)
    whole = await gather(tree, git(tree, "rev-parse", "HEAD"), redact=redact, config_before=None)
    piece = _by_kind(whole)[EvidenceKind.FILES]
    rows = {row.split("\t")[3]: row.split("\t")[:3] for row in piece.content.decode().splitlines()}
    target = hashlib.sha256(b"/etc/passwd").hexdigest()
    assert rows == {
        "gone": ["-", "-", "-"],
        "tool": ["100755", "10", hashlib.sha256(b"#!/bin/sh\n").hexdigest()],
        "link": ["120000", "11", target],
        "two\\nlines": ["100644", "2", hashlib.sha256(b"y\n").hexdigest()],
        "large": ["100644", "3000", "-"],
    }
    assert piece.note == "5 files; 1 too large to be read for it"
    (tree / "tool").unlink()
    os.mkfifo(tree / "tool")
    piped = _by_kind(await gather(tree, git(tree, "rev-parse", "HEAD"), redact=redact, config_before=None))
    assert "not read" in piped[EvidenceKind.STATUS].note and EvidenceKind.FILES not in piped, "git knows no pipes"


async def test_a_tree_that_was_noted_gives_the_same_evidence(tmp_path: Path) -> None:
    tree, folder = repository(tmp_path / "r", {"a": "1\n", "b": "2\n" * 50, "c": "3\n"}), tmp_path / "run"
    head = git(tree, "rev-parse", "HEAD")
    (tree / "a").write_text("one\n")
    (tree / "b").rename(tree / "moved")
    (tree / "c").unlink()
    (tree / "new").write_text("new\n")
    await turntrees.note(folder, tree, head, turn=1)
    state = evidence.Noted(tree=turntrees.noted(folder)[0].tree, store=turntrees.store_of(folder))
    looked = await gather(tree, head, redact=redact, config_before=None)
    assert await gather(tree, head, redact=redact, config_before=None, noted=state) == looked
    assert {piece.kind for piece in looked} == {EvidenceKind.STATUS, EvidenceKind.DIFF, EvidenceKind.FILES}


async def test_nothing_changed(tmp_path: Path) -> None:
    tree = repository(tmp_path / "r")
    found = await gather(tree, git(tree, "rev-parse", "HEAD"), redact=redact, config_before=read_config(tree))
    assert [(piece.kind, piece.content, piece.note) for piece in found] == [
        (EvidenceKind.STATUS, b"", "0 files changed")
    ]


async def test_a_tree_that_is_gone_is_said(tmp_path: Path) -> None:
    found = _by_kind(await gather(tmp_path / "gone", "0" * 40, redact=redact, config_before=None))
    assert "not read" in found[EvidenceKind.STATUS].note and "not read" in found[EvidenceKind.DIFF].note


async def test_a_large_diff_is_cut(tmp_path: Path) -> None:
    tree = repository(tmp_path / "r")
    (tree / "big").write_text("0123456789\n" * 600_000)
    found = _by_kind(await gather(tree, git(tree, "rev-parse", "HEAD"), redact=redact, config_before=None))
    diff = found[EvidenceKind.DIFF].content
    assert evidence.DIFF_LIMIT - 12 < len(diff) <= evidence.DIFF_LIMIT and diff.endswith(b"\n+0123456789\n")
    assert "cut at" in found[EvidenceKind.DIFF].note
    assert found[EvidenceKind.STATUS].content == b"A\t600000\t0\tbig\n"


def test_a_name_stays_on_its_line() -> None:
    said = evidence.status_text([ChangedFile(path="a\nM\t9\t9\tfake\x1b[2J", status="A", added=None, removed=None)])
    assert said == "A\t-\t-\ta\\nM\\t9\\t9\\tfake\\x1b[2J\n"


def test_notes_are_evidence(tmp_path: Path) -> None:
    box = tmp_path / ".footplate" / "3"
    box.mkdir(parents=True)
    assert evidence.mailbox_pieces(read_mailbox(tmp_path, 3), redact) == ()
    (box / "decision.json").write_bytes(b"{broken \xff " + SECRET.encode())
    (box / "handoff.md").write_text(f"done, with {SECRET}")
    note, handoff = evidence.mailbox_pieces(read_mailbox(tmp_path, 3), redact)
    assert (note.kind, note.note) == (EvidenceKind.MAILBOX, "decision.json")
    assert note.content == f"{{broken \ufffd {MARK}".encode()
    assert (handoff.kind, handoff.note) == (EvidenceKind.HANDOFF, "handoff.md")
    assert handoff.content == f"done, with {MARK}".encode()
    (box / "handoff.md").write_text("h" * (MAILBOX_BYTES + 1))
    _, cut = evidence.mailbox_pieces(read_mailbox(tmp_path, 3), redact)
    assert len(cut.content) == MAILBOX_BYTES and cut.note.startswith("handoff.md is "), "the rest is said to be missing"
