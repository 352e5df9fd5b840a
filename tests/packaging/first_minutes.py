"""What a stranger does in the first minutes with a ``footplate`` that is installed, wherever and however it was."""

import json
import re
import subprocess
from pathlib import Path
from typing import Any

from app.cli.help_text import TOP
from app.main import VERSION
from tests.cli.running import repository
from tests.packaging.installing import operator, run
from tests.terminal.screen import ESCAPE, QUIT, Screen


def play(footplate: Path, folder: Path) -> None:
    """Version, help, the first frame of the console, the demo without a screen to its end; none in the checkout."""
    environment = operator(folder / "home")
    assert run(str(footplate), "--version", cwd=folder, env=environment) == f"footplate {VERSION}\n"
    assert run(str(footplate), "--help", cwd=folder, env=environment) == TOP
    assert "^O" in run(str(footplate), "help", "keys", cwd=folder, env=environment)
    assert "--bundle" in run(str(footplate), "doctor", "--help", cwd=folder, env=environment)
    first_frame(footplate, folder, environment)
    demo(footplate, folder, environment)


def demo(footplate: Path, folder: Path, environment: dict[str, str]) -> None:
    """The whole story: whatever is asked is allowed, whatever ends is gone on from, and the long run is stopped."""
    with subprocess.Popen(
        [footplate, "demo", "--plain", "--json"],
        cwd=folder, env=environment, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    ) as held:  # fmt: skip
        assert held.stdin is not None and held.stdout is not None and held.stderr is not None
        told: list[dict[str, Any]] = []
        for line in held.stdout:
            event = json.loads(line)
            told.append(event)
            name = event.get("event")
            if name == "decision":
                held.stdin.write(f"answer {event['id']} 1\n")
            elif name == "turn" and event["state"] == "settled":
                held.stdin.write("say go on\n")
            elif name == "text" and "It is running." in event["text"]:
                held.stdin.write("stop\n")
            held.stdin.flush()
        held.stdin.close()
        said = held.stderr.read()
        code = held.wait(60)
    names = [event.get("event") for event in told]
    assert names.count("decision") == 5, names
    [ended], [proof] = ([one for one in told if one.get("event") == name] for name in ("ended", "receipt"))
    assert (ended["sentence"], ended["exit"], code) == ("ended: stopped by you", 1, 1)
    assert len(proof["receipt"]["ended"]) >= 2, "the agent, and its command in the background"
    assert said == "", "and nothing was complained of"


def first_frame(footplate: Path, folder: Path, environment: dict[str, str]) -> None:
    tree = repository(folder / "tree")
    with Screen(cwd=tree, environment=environment, program=(str(footplate),), toured=False) as screen:
        screen.shows("1 of 6 .*footplate tour shows it again")
        screen.press(ESCAPE)
        text = screen.shows("Enter show the terms")
        assert re.search("footplate +.*tree", text), text
        screen.press(QUIT)
        assert screen.code() == 0
        assert screen.given_back()
