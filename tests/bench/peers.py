"""Consoles and agents' own screens that Footplate is held against: how each is opened, told and allowed something.

Nothing is installed by this: a peer is measured where its command is given (``side_by_side``). What a kind of peer must
be told to come up without an account, a question or a way out of this machine stands here, and nothing else.
"""

import json
import re
import shlex
import subprocess
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Any

from tests.agents.install import CODEX, OPENCODE, PINNED
from tests.agents.kinds import codex_home, opencode_home
from tests.agents.surroundings import lonely
from tests.bench.bench_start import ROOT, around
from tests.bench.figures import PYTHON

Json = dict[str, Any]
Keys = tuple[tuple[str, bytes], ...]
"""What must stand on the screen, or nothing, and the key then."""
ASKING = ("--permission-mode", "default")
"""Else Claude Code lets a server of its maker decide, which cannot be reached from here."""
ENTER = b"\r"
CLAUDE = f"Claude Code {PINNED[-1].version}"
WITH_CLAUDE = "with Claude Code"
"""Of its own choosing: what is built on the agent's kit brings one along."""
CLAUDE_ASKS = "Do you want"
"""Claude Code's own question."""
SCRIPTED = ROOT / "tests" / "children" / "scripted_acp.py"


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where one start of a peer happens: everything of it is deleted afterwards."""

    home: Path
    tree: Path
    url: str
    """Of the pretended model."""

    @property
    def notes(self) -> Path:
        return self.home / "notes"

    @property
    def acp(self) -> str:
        """The scripted agent, as one word of a command."""
        return shlex.join([PYTHON, str(SCRIPTED), str(self.notes)])


def bash(command: str) -> Json:
    return {"name": "Bash", "input": {"command": command, "description": "run it"}}


@dataclass(frozen=True, slots=True, kw_only=True)
class Peer:
    name: str
    prepare: Callable[[Place], Mapping[str, str]]
    """Writes its configuration; its variables come back."""
    command: tuple[str, ...] = ()
    """What is run where none is given; ``{acp}``, ``{tree}``, ``{home}`` stand for what they say."""
    ready: str = ""
    """Stands on the screen when something can be typed. Empty: it is only opened and watched."""
    opening: Keys = ()
    """Questions on the way there, and the keys that answer them, where they are asked."""
    begin: Keys = (("", ENTER),)
    """What sends the first message."""
    send: Keys = (("", ENTER),)
    allow: Keys = ()
    """What lets the tool run once that it asks about; the first words stand there as long as it asks, and only then."""
    run: Callable[[str], Json] = bash
    """The call with which its model runs a command."""
    agents: tuple[str, ...] = ()
    """Parts of the command lines of what it drives: no part of its own memory and time."""
    stop: bytes = b""
    """Its key that ends the session in view and all below it."""
    again: tuple[str, ...] = ()
    """What is added to its command after it was killed, where it has words that ask for the last session."""
    title: str = ""
    """What it is called in a table."""
    drives: str = ""
    """What it was measured with, where it is not the agent itself."""
    package: str = ""
    """The Python package that it is, whose version counts; else it is asked with ``--version``."""


# ------------------------------------------------------------------------------------------------------------ footplate


def _footplate(place: Place, agent: str, agents_toml: str) -> Mapping[str, str]:
    home = place.home / "footplate"
    home.mkdir(parents=True, exist_ok=True)
    (home / "config.toml").write_text(f'agent = "{agent}"\noperator = "Ada"\n')
    (home / "agents.toml").write_text(agents_toml)
    (home / "toured").touch()
    return {**lonely(place.home), **around(home), "HOME": str(place.home)}


def _footplate_claude(place: Place) -> Mapping[str, str]:
    claude = claude_screen(place)
    table = f"[claude]\nprogram = {json.dumps(str(PINNED[-1].binary))}\n"
    return {**claude, **_footplate(place, "claude", table)}


def _footplate_acp(place: Place) -> Mapping[str, str]:
    program, *arguments = shlex.split(place.acp)
    lines = ["[scripted]", 'driver = "acp"', "version_args = []"]
    lines += [f"program = {json.dumps(program)}", f"args = {json.dumps(arguments)}"]
    table = "\n".join(lines)
    return _footplate(place, "scripted", table)


CONSOLE_KEYS: dict[str, Any] = {
    "command": (PYTHON, "-m", "app.main"),
    "ready": "Enter",
    "begin": (("", ENTER), ("Enter start", ENTER)),
    "allow": (("RUN A COMMAND", b"\x0f"), ("1–. answer", b"1")),
    "stop": b"\x1c",
}


# ---------------------------------------------------------------------------------------------- the agents' own screens


def claude_screen(place: Place) -> Mapping[str, str]:
    folder = place.home / ".claude"
    folder.mkdir(parents=True, exist_ok=True)
    trusted = {"hasTrustDialogAccepted": True, "hasCompletedProjectOnboarding": True, "projectOnboardingSeenCount": 9}
    told = {
        "hasCompletedOnboarding": True,
        "lastOnboardingVersion": "9.9.9",
        "theme": "dark",
        "numStartups": 9,
        "customApiKeyResponses": {"approved": ["dummy"], "rejected": []},
        "projects": {str(place.tree): trusted},
    }
    (folder / ".claude.json").write_text(json.dumps(told))
    return {
        **lonely(place.home),
        "ANTHROPIC_BASE_URL": place.url,
        "ANTHROPIC_API_KEY": "dummy",
        "CLAUDE_CONFIG_DIR": str(folder),
    }


def codex_screen(place: Place) -> Mapping[str, str]:
    told = codex_home(place.home, place.url)
    config = place.home / ".codex" / "config.toml"
    asked = 'approval_policy = "on-request"\nsandbox_mode = "read-only"\n'
    # Else it asks now and then, in the middle of its start, whether a newer model is wanted.
    known = '[notice.model_migrations]\n"gpt-5.5" = "gpt-6-sol"\n'
    trusted = f'[projects."{place.tree}"]\ntrust_level = "trusted"\n'
    config.write_text(asked + config.read_text() + trusted + known)
    return {**lonely(place.home), **told}


def _codex_command(command: str) -> Json:
    """One that wants out of its sandbox: that is what it asks about."""
    wanted = {"sandbox_permissions": "require_escalated", "justification": "May it run?"}
    return {"name": "exec_command", "input": {"cmd": command, "yield_time_ms": 30_000, **wanted}}


def opencode_screen(place: Place) -> Mapping[str, str]:
    told = opencode_home(place.home, place.url)
    config = place.home / ".config" / "opencode" / "opencode.json"
    config.write_text(json.dumps({**json.loads(config.read_text()), "permission": {"bash": "ask", "edit": "ask"}}))
    return {**lonely(place.home), **told}


# ------------------------------------------------------------------------------------------------------ other consoles


def with_claude(place: Place) -> Mapping[str, str]:
    """A console that starts Claude Code from the PATH."""
    told = claude_screen(place)
    return {**told, "PATH": f"{PINNED[-1].binary.parent}:{told['PATH']}"}


def with_claude_screen(place: Place) -> Mapping[str, str]:
    """One that shows Claude Code's own screen and does not say how it is to ask; that it asks, it is told in its
    settings, and it then wonders whether that is meant."""
    told = with_claude(place)
    settings = Path(told["CLAUDE_CONFIG_DIR"]) / "settings.json"
    settings.write_text(json.dumps({"permissions": {"defaultMode": "default"}}))
    return told


PEERS = {
    peer.name: peer
    for peer in (
        Peer(
            name="footplate",
            title="Footplate",
            drives=f"holding {CLAUDE}",
            prepare=_footplate_claude,
            agents=(f"/{PINNED[-1].folder.name}/",),
            **CONSOLE_KEYS,
        ),
        Peer(
            name="footplate-acp",
            title="Footplate",
            drives="holding a scripted agent",
            prepare=_footplate_acp,
            agents=(str(SCRIPTED),),
            **CONSOLE_KEYS,
        ),
        Peer(
            name="claude",
            title="Claude Code",
            prepare=claude_screen,
            command=(str(PINNED[-1].binary), *ASKING),
            ready="shortcuts|❯",
            allow=((CLAUDE_ASKS, b"1"),),
            again=("--continue",),
        ),
        Peer(
            name="codex",
            title="Codex",
            prepare=codex_screen,
            command=(str(CODEX.binary),),
            ready="Ask Codex",
            allow=(("Yes, proceed", b"y"),),
            run=_codex_command,
            again=("resume", "--last"),
        ),
        Peer(
            name="opencode",
            title="OpenCode",
            prepare=opencode_screen,
            command=(str(OPENCODE.binary),),
            ready="Ask anything|commands",
            allow=(("Permission required|△ Always allow", ENTER),),
            run=lambda command: {"name": "bash", "input": {"command": command, "description": "run it"}},
            again=("--continue",),
        ),
        Peer(
            name="toad",
            title="Toad",
            drives="with a scripted agent",
            package="batrachian_toad",
            prepare=lambda place: lonely(place.home),
            command=("toad", "acp", "{acp}", "{tree}"),
            ready="How can I help",
            # An @ opens its list of files, which takes the Enter.
            begin=(("", b"\x1b"), ("", ENTER)),
            send=(("", b"\x1b"), ("", ENTER)),
            allow=(("Allow once", b"a"),),
            agents=(str(SCRIPTED),),
        ),
        Peer(
            name="claudechic",
            title="Claude Chic",
            drives=WITH_CLAUDE,
            package="claudechic",
            prepare=with_claude,
            command=("claudechic",),
            ready="Auto-edit",
            allow=(("Yes, this time only", ENTER),),
            agents=("/claude ",),
            again=("--resume",),
        ),
        Peer(
            name="lazyagent",
            title="lazyagent",
            drives=f"with the screen of {CLAUDE} in it",
            package="lazyagent",
            prepare=with_claude_screen,
            command=("lazyagent", "{tree}"),
            opening=(
                ("Select a worktree", b"\x1b[B\x1b[B"),
                ("upstream", b"s"),
                ("n Normal", b"n"),
                ("Make auto mode", b"\x1b"),
            ),
            ready="shortcuts|❯",
            allow=((CLAUDE_ASKS, b"1"),),
            agents=("claude --name",),
        ),
        Peer(
            name="patchfeld",
            title="Patchfeld",
            drives=WITH_CLAUDE,
            package="patchfeld",
            prepare=with_claude,
            command=("patchfeld",),
            # A click on its field: what Tab reaches depends on what it has drawn by then.
            opening=(("Message orchestrator", b"\x1b[<0;10;37M\x1b[<0;10;37m"),),
            ready="Message orchestrator",
            # Nothing has the focus when it asks.
            allow=(("Permission requested", b"\t"), ("", ENTER)),
            agents=("/claude ",),
        ),
        Peer(name="other", prepare=with_claude),
    )
}
"""``other``: any program at all; it is opened and watched, no more."""


def words(peer: Peer, given: tuple[str, ...], place: Place, *, again: bool = False) -> list[str]:
    """Its command for this place."""
    told = (given or peer.command) + (peer.again if again else ())
    assert told, f"no command was given for {peer.name}"
    return [
        one.replace("{acp}", place.acp).replace("{tree}", str(place.tree)).replace("{home}", str(place.home))
        for one in told
    ]


def version(peer: Peer, given: tuple[str, ...]) -> str:
    """Of the program that is measured, where it tells one; else nothing."""
    program = (given or peer.command)[0]
    if peer.command == CONSOLE_KEYS["command"]:
        return metadata.version("footplate")
    if peer.package:
        found = Path(program).parent.parent.glob(f"lib/python*/site-packages/{peer.package}-*.dist-info")
        return next((folder.name.split("-")[1].removesuffix(".dist") for folder in found), "")
    if not peer.ready:
        return ""
    with tempfile.TemporaryDirectory(prefix="beside-", ignore_cleanup_errors=True) as home:
        told = subprocess.run(
            [program, "--version"],
            env=lonely(Path(home)),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
    number = re.search(r"\d+(\.\d+)+\S*", told.stdout)
    return number[0] if number else ""
