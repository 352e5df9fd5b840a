"""One console, opened in a fresh home on a terminal of its own, and what a person does with it: type, paste, press.

How a peer is opened and answered stands in ``peers``, what is measured with it in ``beside_measures``.
"""

import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.bench.outerterminal import OuterTerminal
from tests.bench.peers import Keys, Peer, Place, words
from tests.coordinator.held import repository, script

HELLO, END, AGAIN, AFTER = "NIGHTINGALE", "ZEBRAFINCH", "PARTRIDGE", "WHITETHROAT"
"""Stand nowhere else, each once: where one is seen, all before it was drawn. What is said to an agent is shown too, so
there these and what a tool is recognised by are spelled otherwise."""
PROOF, FIRST, SECOND = "proofmark", "sleep 7411", "sleep 7412"
LIMIT = 120.0
"""Seconds after which a peer has not done it, unless another limit is given."""
OPENS = 60.0
READ = 0.5
"""Seconds without a byte before the answer to what it asks at its start: some take no key sooner."""
CONSIDERED = 1.2
"""Before a key, as a person takes who has read what stands there; some take no key sooner."""
Told = dict[str, Any]


@dataclass(slots=True)
class Scene:
    """One peer in a fresh home, opened."""

    peer: Peer
    given: tuple[str, ...]
    place: Place
    environment: dict[str, str]
    terminal: OuterTerminal
    limit: float = LIMIT
    """Seconds that one deed may take."""
    begun: bool = False
    """Whether a message was sent."""
    said: int = field(default=0)

    def first_frame(self) -> float | None:
        """Milliseconds until its first screen: what can be typed into, or what it asks before."""
        at = self.terminal.seen("|".join((self.peer.ready, *(asked for asked, _ in self.peer.opening))), OPENS)
        return None if at is None else (at - self.terminal.began) * 1000

    def ready(self) -> bool:
        """Whether something can be typed."""
        for question, keys in self.peer.opening:
            if self.terminal.seen(question, 10.0) is not None:
                self.terminal.quiet(READ, 5.0)
                self.terminal.send(keys)
        return self.terminal.seen(self.peer.ready, OPENS) is not None

    def message(self, *steps: Told) -> int:
        """Sent as a paste and the keys that a person presses; where the answer to it begins in the bytes."""
        self.said += 1
        self.terminal.quiet(0.4, 10.0)
        self.terminal.paste(f"message {self.said} {_spelled(script(*steps))}")
        since = self.press(self.peer.send if self.begun else self.peer.begin)
        self.begun = True
        return since

    def press(self, keys: Keys, since: int | None = None) -> int:
        """Each when what it answers stands there, looked for since now or since a place in the bytes; where what
        follows the last begins in them."""
        looked = len(self.terminal.raw) if since is None else since
        for words_before, key in keys:
            if words_before:
                self.terminal.seen(words_before, 20.0, looked)
            time.sleep(CONSIDERED)
            looked = len(self.terminal.raw)
            self.terminal.send(key)
        return looked

    def own(self, line: str) -> bool:
        return not any(part in line for part in self.peer.agents)

    def memory(self) -> float:
        return self.terminal.memory(self.own)

    def failed(self, why: str) -> Told:
        return {"failed": why, "screen": self.terminal.text()}

    def opened(self) -> bool:
        """With a session that has said something."""
        return self.ready() and self.hello()

    def hello(self) -> bool:
        """A first turn, so that the session stands and the agent has been started."""
        since = self.message({"text": "hello", "tail": f" {HELLO}"})
        return self.terminal.seen(HELLO, 60.0, since) is not None


Measure = Callable[[Scene], Told]


def _spelled(directive: str) -> str:
    for word in (HELLO, END, AGAIN, AFTER, PROOF, FIRST, SECOND):
        directive = directive.replace(word, f"{word[:-1]}\\u{ord(word[-1]):04x}")
    return directive


@contextmanager
def scene(
    peer: Peer, given: tuple[str, ...], url: str, variables: dict[str, str], limit: float = LIMIT
) -> Iterator[Scene]:
    with tempfile.TemporaryDirectory(prefix="beside-", ignore_cleanup_errors=True) as folder:
        place = Place(home=Path(folder) / "home", tree=repository(Path(folder) / "tree"), url=url)
        (place.home / "tmp").mkdir(parents=True)
        environment = {**peer.prepare(place), **variables}
        with OuterTerminal(words(peer, given, place), place.tree, environment) as terminal:
            yield Scene(peer, given, place, environment, terminal, limit)


@contextmanager
def pretended_model() -> Iterator[str]:
    """In a process of its own: what it costs to speak is nobody's time here."""
    with subprocess.Popen(
        [sys.executable, "-m", "tests.fakes.loopback_model"], stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        try:
            yield process.stdout.readline().strip()
        finally:
            process.terminate()
