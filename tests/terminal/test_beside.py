"""What is measured beside other consoles is told as it was: on a real pty, with consoles that take keys in each way."""

import os
import signal
import sys
from pathlib import Path

import pytest

from tests.bench import beside_measures, beside_scene
from tests.bench.beside_measures import asks, hostile, prose
from tests.bench.beside_scene import scene
from tests.bench.figures import PYTHON
from tests.bench.outerterminal import OuterTerminal
from tests.bench.peers import Peer

CONSOLE = Path(__file__).parents[1] / "children" / "asking_console.py"
STRAY = "import os, sys; os.execve(sys.executable, [sys.executable, '-c', 'print(4711); input()'], {})"


def peer(way: str) -> Peer:
    return Peer(
        name=way,
        title=way,
        prepare=lambda place: {"PATH": os.environ["PATH"], "HOME": str(place.home), "TERM": "xterm"},
        command=(PYTHON, str(CONSOLE), way),
        ready="say something",
        allow=(("May it run", b"\x19"),),
    )


@pytest.fixture(autouse=True)
def hurried(monkeypatch: pytest.MonkeyPatch) -> None:
    """No person reads here."""
    monkeypatch.setattr(beside_scene, "CONSIDERED", 0.05)
    monkeypatch.setattr(beside_measures, "TYPED", 0.03)
    monkeypatch.setattr(beside_measures, "NOTHING_MORE", 0.3)
    monkeypatch.setattr(beside_measures, "COMES_BACK", 2.0)


@pytest.mark.parametrize(
    ("way", "outcome"),
    [
        ("letter", "the sentence let it run"),
        ("enter", "the Enter let it run"),
        ("stays", "nothing ran, it still asks"),
        ("late", "nothing ran, it still asks"),
        ("refused", "nothing ran, it was taken as a no"),
        ("gone", "nothing ran, it asks no more"),
    ],
)
def test_what_became_of_a_question_that_was_typed_over_is_told(way: str, outcome: str) -> None:
    with scene(peer(way), (), "", {}) as one:
        told = prose(one)
    assert told["prose typed as it asks"] == outcome, told
    assert told["asked in the middle of it"] == "yes"


def test_the_control_tells_that_it_asks_and_that_its_keys_answer() -> None:
    with scene(peer("stays"), (), "", {}) as one:
        told = asks(one)
    assert (told["asked"], told["ran unasked"], told["its keys let it run"]) == ("yes", "no", "yes")


def test_escapes_that_come_through_are_counted() -> None:
    with scene(peer("stays"), (), "", {}) as one:
        told = hostile(one)
    assert told["escapes let through"] == "8 of 8" and told["what came after them shown"] == "yes"


def test_a_program_that_has_overwritten_its_environment_is_still_counted_and_ended(tmp_path: Path) -> None:
    with OuterTerminal([sys.executable, "-c", STRAY], tmp_path, dict(os.environ)) as terminal:
        assert terminal.seen("4711", 20.0) is not None
        assert terminal.pid in terminal.processes()
        assert terminal.memory(lambda _: True) > 1
        pid = terminal.pid
    assert not Path(f"/proc/{pid}").exists()


def test_a_program_gets_the_signals_of_a_fresh_terminal_wherever_the_bench_is_run(tmp_path: Path) -> None:
    kept = {one: signal.signal(one, signal.SIG_IGN) for one in (signal.SIGHUP, signal.SIGQUIT)}
    try:
        # Python ignores a closed pipe by itself, so another program is asked.
        look = "grep SigIgn /proc/self/status; echo END; read wait"
        with OuterTerminal(["sh", "-c", look], tmp_path, dict(os.environ)) as terminal:
            assert terminal.seen("END", 20.0) is not None
            words = bytes(terminal.raw).decode().split()
    finally:
        for one, was in kept.items():
            signal.signal(one, was)
    ignored = int(words[words.index("SigIgn:") + 1], 16)
    assert not any(ignored >> one - 1 & 1 for one in (signal.SIGHUP, signal.SIGQUIT, signal.SIGPIPE))
