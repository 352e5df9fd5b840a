"""Fetching the agents: only what was pinned is installed, whole or not at all, and what is not is said loudly."""

import base64
import hashlib
import io
import subprocess
import tarfile
from pathlib import Path

import pytest

from tests.agents import install
from tests.agents.install import Package, Pinned

PROGRAM = "#!/bin/sh\necho agent 1.2.3\n"


def packed(files: dict[str, str]) -> bytes:
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w:gz") as archive:
        for name, text in files.items():
            entry = tarfile.TarInfo(name)
            entry.size, entry.mode = len(text), 0o644
            archive.addfile(entry, io.BytesIO(text.encode()))
    return made.getvalue()


def pinned(archive: bytes, **more: str) -> Pinned:
    digest = more.pop("digest", base64.b64encode(hashlib.sha512(archive).digest()).decode())
    package = Package(name="agent@1.2.3", digest=digest, leave=("docs/",), into="lib")
    told = {"agent": "agent", "version": "1.2.3", "client": "npm", "program": "lib/run"} | more
    return Pinned(packages=(package,), **told)


@pytest.fixture
def registry(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, bytes]:
    """What a client would bring, by its name."""
    known: dict[str, bytes] = {}

    def bring(command: list[str], folder: Path) -> None:
        if command[-1] not in known:
            raise subprocess.CalledProcessError(1, command, stderr="long words\nno such package\n")
        (folder / "came.tgz").write_bytes(known[command[-1]])

    monkeypatch.setattr(install, "ROOT", tmp_path)
    monkeypatch.setattr(install, "AGENTS", tmp_path / ".agents")
    monkeypatch.setattr(install, "run", bring)
    return known


def test_what_is_pinned_is_there_whole_and_only_fetched_once(
    registry: dict[str, bytes], capsys: pytest.CaptureFixture[str]
) -> None:
    archive = packed({"package/run": PROGRAM, "package/docs/all.md": "long", "elsewhere": "x"})
    registry["agent@1.2.3"] = archive
    agent = pinned(archive)
    assert install.install(agent)
    assert [path.name for path in agent.folder.rglob("*")] == ["lib", "run"]
    registry.clear()
    assert install.install(agent), "it is not fetched again"
    assert [line.partition(": ")[2] for line in capsys.readouterr().out.splitlines()] == ["installed", "already there"]
    assert list(install.AGENTS.iterdir()) == [agent.folder], "nothing else is left there"


@pytest.mark.parametrize(
    ("files", "more", "why"),
    [
        ({"package/run": PROGRAM}, {"digest": "AAAA"}, "another digest"),
        ({"package/run": PROGRAM}, {"version": "1.2.4"}, "does not answer as agent 1.2.4"),
        ({"package/other": PROGRAM}, {}, "could not fetch agent 1.2.3"),
        ({}, {}, "no such package"),
    ],
)
def test_what_is_not_as_pinned_is_not_installed_and_said(
    registry: dict[str, bytes],
    capsys: pytest.CaptureFixture[str],
    files: dict[str, str],
    more: dict[str, str],
    why: str,
) -> None:
    archive = packed(files)
    if files:
        registry["agent@1.2.3"] = archive
    agent = pinned(archive, **more)
    assert not install.install(agent)
    said = capsys.readouterr().err
    assert why in said and f"The tests of {agent} will be skipped." in said
    assert list(install.AGENTS.iterdir()) == []
