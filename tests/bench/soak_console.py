"""The console that is soaked: ``python -m app.main`` in a terminal, with practice agents that speak turn after turn.

It is driven as a person drives it, by keys; what is said next comes from another process, as by ``footplate say``. Of
what it paints no more is kept than one key needs: an hour of it would be the memory of the bench.
"""

import contextlib
import json
import os
import re
import signal
import sqlite3
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from coordinator.api import Extend, Say
from coordinator.clock import RealClock
from coordinator.commands import ForAnother, asked_body
from coordinator.poke import poke
from store import commands, incarnations
from store.db import write_ledger
from store.vocab import RunId
from tests.bench.bench_start import ROOT, around
from tests.bench.figures import PYTHON
from tests.bench.fromterminal import pieces
from tests.bench.outerterminal import OuterTerminal
from tests.coordinator.held import repository
from tests.waiting import wait_until

SESSIONS = 8
MESSAGES = int(os.environ.get("FOOTPLATE_SOAK_MESSAGES", "40"))
"""Of a turn, which takes about a minute. Of each turn its row, its requests and what is shown of them stay with a run
that is held, some ten kilobytes: with shorter turns, that is what grows."""
LINES, CHUNKS = 60, 150
"""Of a message."""
SLOW = 0.007
"""Seconds between two chunks."""
SIZE = (140, 40)
KEPT = 2_000_000
"""Bytes that were painted last."""
ALONE = 1.0
"""Seconds before a key that must come alone, as one does for which something must have stood on the screen for a while;
and after an Esc, which may begin a sequence."""
PAINTED = 0.3
"""Seconds in which all is painted that a key brings."""
PATIENCE = 10.0
"""Seconds after which a key counts as lost."""
AT_THE_END = 3.0
"""As much, of one that may have nothing to bring."""
ENTER, ESCAPE, NEW, UP, DOWN, PAGE_UP, PAGE_DOWN, BOTTOM = (
    b"\r",
    b"\x1b",
    b"\x0e",
    b"K",
    b"J",
    b"\x1b[5~",
    b"\x1b[6~",
    b"G",
)
TAG = re.compile(rb"s([0-9a-z]+)t(\d{10})\.(\d{4})")
"""Each line that an agent says has one: its session, when its turn began, its number in the turn."""
MARKER = "whereami"
"""The command that each turn begins with; a standing rule answers it. Now and then it changes a file."""
MARKER_TEXT = """#!/bin/sh
now=$(date +%s)
seq 1 12
[ $((now % 4)) -ne 0 ] || echo "changed at $now" >> notes.txt
echo "s$(basename "$PWD" | tr -dc 0-9a-z)t$now"
"""
WORDS = ("reads the file and says `what` it found", "**runs** the tests again", "changes `one` line of it, no more")
FORMS: tuple[Callable[[list[str]], str], ...] = (
    lambda lines: "\n".join(lines),
    lambda lines: "\n".join(f"- {line}" for line in lines),
    lambda lines: "```python\n" + "\n".join(f"# {line}" for line in lines) + "\n```",
)
"""A paragraph, a list, code: each is drawn in another way once it is whole."""
NEWEST_TURNS = """
SELECT custody.run, turns.n, turns.state FROM custody JOIN turns ON turns.run = custody.run
WHERE custody.state = 'open' AND turns.n = (SELECT max(n) FROM turns WHERE run = custody.run)
"""
COUNTS = """
SELECT (SELECT count(*) FROM turns WHERE state = 'settled'),
       (SELECT count(*) FROM decisions WHERE answered_by LIKE 'rule: %'), (SELECT count(*) FROM events)
"""
REFUSED = """
SELECT (SELECT count(*) FROM commands WHERE state = 'refused') + (SELECT count(*) FROM decisions WHERE state = 'open')
"""

Place = tuple[int, int]
"""Of a line in its session: when its turn began, and its number there."""


def story() -> str:
    """The script of the practice agent: what it plays in each of its turns."""
    steps: list[dict[str, object]] = [{"run": f"./{MARKER}", "why": "See where we are", "cost": 0.0001}]
    for message in range(MESSAGES):
        lines = [f"{{output}}.{message * LINES + n:04d} {WORDS[n % len(WORDS)]}" for n in range(LINES)]
        text = FORMS[message % len(FORMS)](lines)
        steps.append({"think": "What is next?", "say": text, "chunks": CHUNKS, "slow": SLOW, "cost": 0.0001})
    # What JSON writes of a text or a number, TOML reads.
    tables = ["[[turn.steps]]\n" + "".join(f"{key} = {json.dumps(step[key])}\n" for key in step) for step in steps]
    return 'about = "Speaks without end"\n\n[[turn]]\ndefault = true\n' + "".join(tables)


def prepared(folder: Path) -> tuple[Path, Path]:
    """A house and a tree in which eight may speak for hours; gives both."""
    home, tree = folder / "home", repository(folder / "tree")
    home.mkdir(mode=0o700)
    (home / "toured").touch()
    # A bench that is killed takes its terminal along: then they are to end too.
    settings = [
        'agent = "practice"',
        'preset = "overnight"',
        'on_disconnect = "stop"',
        f"max_held_sessions = {SESSIONS}",
    ]
    (home / "config.toml").write_text("\n".join(settings) + "\n")
    script = folder / "story.toml"
    script.write_text(story())
    agent = ROOT / "coordinator" / "rehearsal" / "agent.py"
    (home / "agents.toml").write_text(f"[practice]\nargs = {json.dumps(['-I', str(agent), '--script', str(script)])}\n")
    marker = tree / MARKER
    marker.write_text(MARKER_TEXT)
    marker.chmod(0o755)
    who = ["-c", "user.name=T", "-c", "user.email=t@example.invalid"]
    for command in (["add", MARKER], [*who, "commit", "-q", "-m", "where we are"]):
        subprocess.run(["git", *command], cwd=tree, check=True, capture_output=True)
    return home, tree


class Soaked(OuterTerminal):
    """A console with eight sessions in it. Use ``soaked``."""

    def __init__(self, folder: Path) -> None:
        self.home, self.tree = prepared(folder)
        self.environment = around(self.home)
        self.ledger = self.home / "ledger.db"
        self.footplate("rules", "add", f"allow command ./{MARKER}")
        self.painted = 0
        """Bytes in all."""
        self._forgets = threading.Event()
        self._reader: sqlite3.Connection | None = None
        self.left = 0
        """Processes of it that ``finish`` found alive."""
        self._said: dict[int, int] = {}
        self._session = b""
        """In view, as its lines name it."""
        self._upwards = True
        self._newest: Place = (0, 0)
        """Of the session in view, the last line that was seen of it."""
        self._shown: set[Place] = set()
        """Of it, what was painted since the key before."""
        columns, rows = SIZE
        super().__init__([PYTHON, "-m", "app.main"], self.tree, self.environment, columns=columns, rows=rows)

    def _read(self) -> None:
        for got in pieces(self.master):
            with self._came:
                self.painted += len(got)
                self.raw += got
                if self._forgets.is_set():
                    del self.raw[:-KEPT]
                else:
                    self._times.append(time.perf_counter())
                    self._ends.append(len(self.raw))
                self._came.notify_all()

    def footplate(self, *arguments: str) -> None:
        subprocess.run(
            [PYTHON, "-m", "app.main", *arguments],
            cwd=self.tree,
            env=self.environment,
            capture_output=True,
            check=True,
            timeout=120,
        )

    # ------------------------------------------------------------------------------------------------------- beginning

    def begin(self) -> None:
        """All sessions, each by its keys; then the keys are no longer the text's."""
        self._stands("Enter show the terms")
        for number in range(1, SESSIONS + 1):
            if number > 1:
                self._alone(NEW)
                self._stands("Enter show the terms")
            self.paste(f"session {number}: speak without end")
            self._stands(f"session {number}: speak")
            self._alone(ENTER)
            self._stands("START UNDER THESE TERMS")
            self._alone(ENTER)
            self._begun(number)
        for run in self.newest_turns():
            self.ask(Extend(run=RunId(run), turns=1_000_000, seconds=10 * 86_400, working_seconds=10 * 86_400))
        self._alone(ESCAPE)
        pause(ALONE)
        self._forgets.set()

    def _alone(self, key: bytes) -> None:
        pause(ALONE)
        self.send(key)

    def _begun(self, count: int) -> None:
        try:
            wait_until(lambda: len(self.newest_turns()) == count, 60, f"{count} of them have begun")
        except AssertionError as problem:
            raise AssertionError(f"{problem}\n{self.text()}") from None

    def _stands(self, words: str) -> None:
        since = len(self.raw)
        if not re.search(words, self.text()):
            assert self.seen(words, 60.0, since) is not None, f"{words!r} was never seen\n{self.text()}"

    # --------------------------------------------------------------------------------------------------------- speaking

    def newest_turns(self) -> dict[int, tuple[int, str]]:
        """Of each run that is held: the number and the state of its newest turn."""
        return {int(str(run)): (int(str(n)), str(state)) for run, n, state in self.rows(NEWEST_TURNS)}

    def rows(self, query: str) -> list[tuple[object, ...]]:
        """What stands in the ledger now; nothing is held open between two looks."""
        if self._reader is None:
            self._reader = sqlite3.connect(f"file:{self.ledger}?mode=ro", uri=True, isolation_level=None)
        return self._reader.execute(query).fetchall()

    def ask(self, command: ForAnother) -> None:
        """As another process does it: a row in the ledger, and a poke."""
        now = RealClock().now
        verb, run, body = asked_body(command)
        with write_ledger(self.ledger, now=now) as tx:
            commands.ask(tx, run=run, verb=verb, body=body, operator="Ada")
            socket = incarnations.not_ended(tx)[0].socket_path
        poke(socket)

    def go_on(self) -> None:
        """Say the next turn where one has ended."""
        for run, (n, state) in self.newest_turns().items():
            if state == "settled" and self._said.get(run) != n:
                self._said[run] = n
                self.ask(Say(run=RunId(run), text=f"go on, and on: {n + 1}"))

    def counts(self) -> tuple[int, int, int]:
        """Turns that have settled, requests that a rule answered, and events."""
        ((turns, by_rule, events),) = self.rows(COUNTS)
        return int(str(turns)), int(str(by_rule)), int(str(events))

    def refused(self) -> int:
        """Commands that were refused, and requests that wait for a person: there should be neither."""
        ((count,),) = self.rows(REFUSED)
        return int(str(count))

    # ------------------------------------------------------------------------------------------------------------- keys

    def gestures(self) -> Iterator[tuple[str, float | None]]:
        """Without end, a key each: what it was, and the milliseconds to what it was to bring; None: that never came."""
        while True:
            yield "another session", self._switch()
            self._key(PAGE_UP, lambda *_: True)  # out of what streams: from there on it is certain what is in view
            for _ in range(2):
                top = min(self._shown, default=self._newest)
                yield "page up", self._key(PAGE_UP, lambda session, at: session == self._session and at < top)  # noqa: B023
            end = max(self._shown, default=self._newest)
            yield "page down", self._key(PAGE_DOWN, lambda session, at: session == self._session and at > end)  # noqa: B023
            yield "to the end", self._key(BOTTOM, lambda session, at: session == self._session and at >= self._newest)

    def _switch(self) -> float | None:
        """Through the list and back: at its end the key that goes on does nothing, and a turn's end moves a session."""
        was = self._session
        for _ in range(4):
            key = UP if self._upwards else DOWN
            took = self._key(key, lambda session, _: session != was, most=AT_THE_END)
            if took is not None:
                return took
            self._upwards = not self._upwards
        return None

    def _key(self, key: bytes, brings: Callable[[bytes, Place], bool], most: float = PATIENCE) -> float | None:
        """Press it; the milliseconds until a line was painted that it was to bring."""
        took = None
        with self._came:
            since, begun = self.painted, time.perf_counter()
            self.send(key)
            while time.perf_counter() - begun < most:
                if any(brings(*one) for one in self._tags(since)):
                    took = (time.perf_counter() - begun) * 1000
                    break
                self._came.wait(0.05)
        pause(PAINTED)
        with self._came:
            found = self._tags(since)
        if key in (UP, DOWN) and took is not None:
            self._session = [session for session, _ in found if session != self._session][-1]
            self._newest = (0, 0)
        self._shown = {at for session, at in found if session == self._session}
        self._newest = max(self._shown | {self._newest})
        return took

    def _tags(self, since: int) -> list[tuple[bytes, Place]]:
        """Of the lines that were painted since then, as they came."""
        came = self.raw[max(0, len(self.raw) - (self.painted - since)) :]
        return [(session, (int(began), int(number))) for session, began, number in TAG.findall(came)]

    # -------------------------------------------------------------------------------------------------------------- end

    def finish(self) -> None:
        """Stop all that is held while its console is there, then the console."""
        if self._reader is not None:
            self._reader.close()
        with contextlib.suppress(subprocess.SubprocessError):
            self.footplate("stop", "--all")
        if self.alive():
            os.kill(self.pid, signal.SIGTERM)
            with contextlib.suppress(AssertionError):
                wait_until(lambda: not self.alive(), 60.0, "the console's end")
        self.left = len(self.processes())


def pause(seconds: float) -> None:
    """What a hand, or an eye, takes."""
    end = time.monotonic() + seconds
    wait_until(lambda: time.monotonic() > end, seconds + 60)


@contextmanager
def soaked() -> Iterator[Soaked]:
    """Eight that speak in a console; all of it gone afterwards, however it ends."""
    with tempfile.TemporaryDirectory(prefix="footplate-bench-") as folder:
        console = Soaked(Path(folder))
        try:
            console.begin()
            yield console
        finally:
            before = signal.signal(signal.SIGINT, signal.SIG_IGN)  # a second Ctrl-C would leave half of it
            try:
                console.processes()  # known while their parents are there
                console.finish()
            finally:
                console.end()
                signal.signal(signal.SIGINT, before)
