"""The same things done to Footplate and to other consoles, through the same terminal, in turn and in one run.

    python -m tests.bench.side_by_side [MEASURE…] [--peer NAME[=COMMAND]]… [--env NAME=VALUE]… [--rounds N] [--json F]

as in

    python -m tests.bench.side_by_side hostile prose --peer footplate-acp --peer 'toad=/opt/bin/toad acp {acp} {tree}'

Nothing is installed by it. What a peer is driven with is the same for all: Claude Code and what is built on it, Codex
and OpenCode ask a pretended model on loopback; what speaks the Agent Client Protocol gets a scripted agent;
``other=COMMAND`` is only opened and watched. Each start has a home of its own and no way out of the machine.

A time says something only beside another of the same run: rounds go from peer to peer, and the load is told with each.
What a peer does with bytes, keys and a SIGKILL does not depend on the machine, but a key may come before or after a
question is drawn: more than one round there, too.

Seen on 30 November 2026, one round each, two cores with a load of 4 to 17 by others: Claude Code 2.1.332, Codex
0.171.0, OpenCode 1.18.33, Claude Chic 0.4.26, and Toad 0.6.20, which wants Python 3.14: it ran on 3.13 with
annotations read late and threads for its pool of interpreters, so what is said of it counts for less. H: escapes let
through, of eight. P: a sentence typed as it asks, then Enter. K: processes left 10 s after SIGKILL with a tool at
work, and whether the next start shows the session (Claude Code was opened with --continue, the others plainly).

    footplate    H 0     P nothing ran, the request waits   K all, held and shown; none after its stop key
    Claude Code  H 0     P nothing ran                      K 3 of 3; shown by --continue, still 3 after it
    Codex        H 0     P the Enter let it run             K 1 of 2; not shown
    OpenCode     H 8     P nothing ran                      K 2 of 2; not shown
    Claude Chic  H 7     P taken as a refusal               K 1 of 4; not shown
    Toad         H 7     P let it run                       K 1 of 7; not shown

2,000 chunks shown: footplate 0.64 s (with Claude Code), 0.14 s (with a scripted agent); Claude Code 0.67 s; Codex 18 s;
Toad not within 120 s. One message of 12 MB: footplate 1.7 s; Claude Code 1.3 s; both took a turn after it.
"""

import argparse
import json
import os
import platform
import shlex
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from tests.bench.figures import median, number, percentile, python_pass
from tests.bench.outerterminal import OuterTerminal
from tests.bench.peers import ENTER, PEERS, Keys, Peer, Place, words
from tests.bench.record import machine
from tests.coordinator.held import repository, script
from tests.waiting import wait_until

CHUNK = "fifty letters of what an agent says about a thing\n"
"""Fifty, with its end of line."""
HELLO, END, AGAIN = "NIGHTINGALE", "ZEBRAFINCH", "PARTRIDGE"
"""Stand nowhere else, each once: where one is seen, all before it was drawn. What is said to an agent is shown too, so
there these and what a tool is recognised by are spelled otherwise."""
PROOF, FIRST, SECOND = "proofmark", "sleep 7411", "sleep 7412"
LONG = 120.0
"""Seconds after which a peer has not done it."""
TYPED = 0.1
"""Seconds between two letters: ten a second, as a person types."""
READ = 0.5
"""Before the answer to what it asks at its start: some take no key sooner."""
UNDER_WAY = 2.0
"""After what begins something: it is to be in the middle of it, and nothing tells when."""
NOTHING_MORE = 2.0
"""What a key sets off shows within this; that nothing comes, nothing tells."""
AT_REST = 3.0
"""After the last byte: what it still has to put away is not counted as its rest."""
AFTER_KILL = 10.0
"""How long what is left has to end by itself."""
LETTERS = b"QZXJKVWQZXJKVWYQZXJKVWQZXJKVWYQZXJKVWQZX"
"""Typed one by one; none of them stands in what the agent says."""
MOST_LOST = 3
BACKSPACE = b"\x7f"
PROSE = "yes, and 1 more thing: not all of it at once, a 2 or 3 would do. Why not ask them again next week? "
ESCAPES = {
    "window title": ("\x1b]0;OWNED\x07", b"\x1b]0;OWNED"),
    "clipboard (OSC 52)": ("\x1b]52;c;T1dORUQ=\x07", b"\x1b]52;c;T1dORUQ="),
    "link (OSC 8)": ("\x1b]8;;http://owned.invalid\x07here\x1b]8;;\x07", b"\x1b]8;;http://owned.invalid"),
    "leave the alternate screen": ("\x1b[?1049l", b"\x1b[?1049l"),
    "reset": ("\x1bc", b"\x1bc"),
    "clear": ("\x1b[3J", b"\x1b[3J"),
    "mouse on": ("\x1b[?1002h\x1b[?9h", b"\x1b[?9h"),
    "one-byte CSI": ("\x9b?9h", b"\xc2\x9b"),
}
"""What an agent may print, and the bytes by which it is known again if they reach the terminal."""
Told = dict[str, Any]


@dataclass(slots=True)
class Scene:
    """One peer in a fresh home, opened."""

    peer: Peer
    given: tuple[str, ...]
    place: Place
    environment: dict[str, str]
    terminal: OuterTerminal
    begun: bool = False
    """Whether a message was sent."""
    said: int = field(default=0)

    def ready(self, most: float = 40.0) -> float | None:
        """Milliseconds until something can be typed."""
        for question, keys in self.peer.opening:
            if self.terminal.seen(question, 10.0) is not None:
                time.sleep(READ)
                self.terminal.send(keys)
        at = self.terminal.seen(self.peer.ready, most)
        return None if at is None else (at - self.terminal.began) * 1000

    def message(self, *steps: Told) -> int:
        """Sent as a paste and the keys that a person presses; where the answer to it begins in the bytes."""
        self.said += 1
        self.terminal.quiet(0.4, 10.0)
        self.terminal.paste(f"message {self.said} {_spelled(script(*steps))}")
        since = self.press(self.peer.send if self.begun else self.peer.begin)
        self.begun = True
        return since

    def press(self, keys: Keys) -> int:
        """Each when it can be meant; where what follows the last begins in the bytes."""
        since = len(self.terminal.raw)
        for words_before, key in keys:
            if words_before:
                self.terminal.seen(words_before, 20.0, since)
            time.sleep(1.2)  # as a person does who has read it; some take no key sooner
            since = len(self.terminal.raw)
            self.terminal.send(key)
        return since

    def own(self, line: str) -> bool:
        return not any(part in line for part in self.peer.agents)

    def memory(self) -> float:
        return self.terminal.memory(self.own)

    def failed(self, why: str) -> Told:
        return {"failed": why, "screen": self.terminal.text()}

    def opened(self) -> bool:
        """With a session that has said something."""
        return self.ready() is not None and self.hello()

    def hello(self) -> bool:
        """A first turn, so that the session stands and the agent has been started."""
        since = self.message({"text": "hello", "tail": f" {HELLO}"})
        return self.terminal.seen(HELLO, 60.0, since) is not None


def _spelled(directive: str) -> str:
    for word in (HELLO, END, AGAIN, PROOF, FIRST, SECOND):
        directive = directive.replace(word, f"{word[:-1]}\\u{ord(word[-1]):04x}")
    return directive


@contextmanager
def scene(peer: Peer, given: tuple[str, ...], url: str, variables: dict[str, str]) -> Iterator[Scene]:
    with tempfile.TemporaryDirectory(prefix="beside-", ignore_cleanup_errors=True) as folder:
        place = Place(home=Path(folder) / "home", tree=repository(Path(folder) / "tree"), url=url)
        (place.home / "tmp").mkdir(parents=True)
        environment = {**peer.prepare(place), **variables}
        with OuterTerminal(words(peer, given, place), place.tree, environment) as terminal:
            yield Scene(peer, given, place, environment, terminal)


# ----------------------------------------------------------------------------------------------------- what is measured


def first_frame(one: Scene) -> Told:
    """Until something can be typed; of what is only opened, until its first screen has come to rest."""
    if one.peer.ready:
        return {"first frame": one.ready()}
    one.terminal.quiet(1.0, 20.0)
    return {"first frame": (one.terminal.last - one.terminal.began) * 1000}


def idle(one: Scene) -> Told:
    if one.peer.ready and not one.opened():
        return one.failed("no first turn")
    one.terminal.quiet(2.0, 20.0)
    time.sleep(AT_REST)
    memory = one.memory()
    used, painted = one.terminal.used(one.own, 10.0)
    return {"memory at rest": memory, "CPU at rest": used, "bytes painted in 10 s": painted}


def burst(count: int) -> Callable[[Scene], Told]:
    def shown(one: Scene) -> Told:
        if not one.opened():
            return one.failed("no first turn")
        one.terminal.quiet(1.0, 10.0)
        before = one.memory()
        since = one.message({"text": CHUNK, "mul": count, "chunks": count, "tail": f"\n{END}"})
        sent = time.perf_counter()
        at = one.terminal.seen(END, LONG, since)
        name = f"{count:,} chunks shown"
        if at is None:
            return {name: None, "note": f"not within {LONG:.0f} s"}
        return {name: (at - sent) * 1000, f"memory after {count:,}": one.memory() - before}

    return shown


def long_message(one: Scene) -> Told:
    if not one.opened():
        return one.failed("no first turn")
    one.terminal.quiet(1.0, 10.0)
    before = one.memory()
    since = one.message({"text": CHUNK, "mul": 240_000, "chunks": 1, "tail": f"\n{END}"})
    sent = time.perf_counter()
    at = one.terminal.seen(END, LONG, since)
    told: Told = {"12 MB message shown": None if at is None else (at - sent) * 1000}
    told["memory after 12 MB"] = one.memory() - before
    if not one.terminal.alive():
        return told | {"a turn after 12 MB": "it has ended"}
    one.terminal.quiet(1.0, 20.0)
    told["a letter after 12 MB"] = one.terminal.echoed(LETTERS[:1], 20.0)
    one.terminal.send(BACKSPACE)
    since = one.message({"text": "still here", "tail": f" {AGAIN}"})
    told["a turn after 12 MB"] = "yes" if one.terminal.seen(AGAIN, 60.0, since) is not None else "NO"
    return told


def keys(one: Scene) -> Told:
    """Letters while a thousand chunks a second come."""
    if not one.opened():
        return one.failed("no first turn")
    one.message({"text": CHUNK, "mul": 20_000, "chunks": 20_000, "slow": 0.001, "tail": f"\n{END}"})
    time.sleep(UNDER_WAY)
    times, lost = [], 0
    for place in range(len(LETTERS)):
        took = one.terminal.echoed(LETTERS[place : place + 1], 5.0)
        if took is None:
            lost += 1
        else:
            times.append(took)
        if lost == MOST_LOST:
            break
        time.sleep(TYPED)
    told: Told = {"letters tried": len(times) + lost, "not shown within 5 s": lost}
    if times:
        told |= {"letter, half": median(times), "letter, 95 %": percentile(times, 0.95), "letter, worst": max(times)}
    return told


def prose(one: Scene) -> Told:
    """Somebody types a sentence; in the middle of it the agent asks. Did the sentence let it run?"""
    if not one.opened():
        return one.failed("no first turn")
    proof = one.place.home / PROOF
    words_before = {"text": f"{END} ", "tail": "and so on " * 20, "chunks": 20, "slow": 0.1}
    since = one.message({**words_before, "tools": [one.peer.run(f"touch {proof}")]}, {"text": "done"})
    if one.terminal.seen(END, 30.0, since) is None:
        return one.failed("it never began")
    for letter in PROSE:
        one.terminal.send(letter.encode())
        time.sleep(TYPED)
    asked = one.terminal.seen(PROOF, 10.0, since) is not None
    time.sleep(NOTHING_MORE)
    ran = proof.exists()
    one.terminal.send(ENTER)
    time.sleep(NOTHING_MORE)
    told: Told = {
        "asked before it ran": "yes" if asked else "not seen",
        "prose typed as it asks": "LET IT RUN" if ran else "nothing ran",
        "the Enter after it": "-" if ran else "LET IT RUN" if proof.exists() else "nothing ran",
    }
    if one.place.notes.exists():
        told["what the agent heard"] = one.place.notes.read_text().split("\n")[-2]
    return told | {"screen afterwards": one.terminal.text()}


def hostile(one: Scene) -> Told:
    if not one.opened():
        return one.failed("no first turn")
    text = " ".join(f"{name}: {sent}" for name, (sent, _) in ESCAPES.items())
    since = one.message({"text": text + "\n", "chunks": 1, "tail": f"\n{END}"})
    seen = one.terminal.seen(END, 30.0, since) is not None
    one.terminal.quiet(1.0, 10.0)
    came = bytes(one.terminal.raw[since:])
    through = [name for name, (_, known) in ESCAPES.items() if known in came]
    told = f"{len(through)} of {len(ESCAPES)}"
    return {"escapes let through": told, "which": ", ".join(through), "what came after them shown": seen}


def killed(one: Scene) -> Told:
    """The console is killed while a tool works; what is left, and what does the next one know of it."""
    if not one.opened():
        return one.failed("no first turn")
    since = one.message({"text": "on it", "tools": [one.peer.run(f"(setsid {FIRST} &); {SECOND}")]}, {"text": "done"})
    one.terminal.seen(SECOND, 20.0, since)
    time.sleep(READ)
    one.press(one.peer.allow)
    try:
        wait_until(lambda: one.terminal.runs(SECOND), 20)
    except AssertionError:
        return one.failed("the tool never ran")
    before = set(one.terminal.processes()) - {one.terminal.pid}
    one.terminal.kill()
    time.sleep(AFTER_KILL)
    told: Told = {"10 s after SIGKILL": _left(one.terminal, before)}
    with OuterTerminal(words(one.peer, one.given, one.place, again=True), one.place.tree, one.environment) as again:
        again.seen(one.peer.ready, 30.0)
        again.quiet(1.5, 15.0)
        text = again.text()
        told["the next start shows it"] = "yes" if "message 1" in text or HELLO in text else "no"
        told["screen of the next start"] = text
        told["after the next start"] = _left(one.terminal, before)
        if one.peer.stop:
            again.send(one.peer.stop)
            time.sleep(AFTER_KILL)
            told["after its stop key"] = _left(one.terminal, before)
    return told


def _left(terminal: OuterTerminal, before: set[int]) -> str:
    """Of those that there were."""
    left = [told for pid, told in terminal.processes().items() if pid in before]
    tools = sum(told.startswith((FIRST, SECOND)) for told in left)
    return f"{len(left)} of {len(before)} processes, {tools} of 2 tools"


MEASURES: dict[str, Callable[[Scene], Told]] = {
    "first-frame": first_frame,
    "idle": idle,
    "burst-2000": burst(2_000),
    "burst-20000": burst(20_000),
    "message-12mb": long_message,
    "keys": keys,
    "prose": prose,
    "hostile": hostile,
    "killed": killed,
}
OPENED_ONLY = ("first-frame", "idle")
ROUNDS = {"first-frame": 7}


# ------------------------------------------------------------------------------------------------------------- the run


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


def measured(
    names: list[str], given: list[tuple[Peer, tuple[str, ...]]], variables: dict[str, str], rounds: int
) -> Iterator[Told]:
    """Round by round, and within a round peer by peer: what else happens on the machine happens to all of them."""
    with pretended_model() as url:
        for name in names:
            for number_of_round in range(rounds or ROUNDS.get(name, 1)):
                for peer, command in given:
                    if not peer.ready and name not in OPENED_ONLY:
                        continue
                    load = os.getloadavg()[0]
                    with scene(peer, command, url, variables) as one:
                        told = MEASURES[name](one)
                    yield {"measure": name, "peer": peer.name, "round": number_of_round, "load": load, **told}


def line(told: Told) -> str:
    shown = [
        f"{name}: {number(value) if isinstance(value, float) else value}"
        for name, value in told.items()
        if name not in ("measure", "peer", "round", "load") and "screen" not in name
    ]
    text = f"{told['measure']:<13} {told['peer']:<14} load {told['load']:4.1f}  {'; '.join(shown)}"
    return f"{text}\n{told['screen']}" if "failed" in told else text


def main() -> int:
    options = argparse.ArgumentParser(
        prog="python -m tests.bench.side_by_side", description=(__doc__ or "").splitlines()[0]
    )
    options.add_argument(
        "measures", nargs="*", metavar="MEASURE", help=f"of {', '.join(MEASURES)}; all when none is given"
    )
    options.add_argument(
        "--peer",
        action="append",
        metavar="NAME[=COMMAND]",
        help=f"of {', '.join(PEERS)}; more than one is measured in turn",
    )
    options.add_argument("--env", action="append", default=[], metavar="NAME=VALUE", help="given to each of them")
    options.add_argument("--rounds", type=int, default=0)
    options.add_argument("--json", type=Path)
    told = options.parse_args()
    given = []
    for one in told.peer or ["footplate"]:
        name, _, command = one.partition("=")
        if name not in PEERS:
            options.error(f"no peer {name!r}; there are {', '.join(PEERS)}")
        given.append((PEERS[name], tuple(shlex.split(command))))
    unknown = [name for name in told.measures if name not in MEASURES]
    if unknown:
        options.error(f"no measure {unknown[0]!r}; there are {', '.join(MEASURES)}")
    at, plain = datetime.now(UTC), python_pass() * 1000
    variables = dict(one.split("=", 1) for one in told.env)
    found: list[Told] = []
    facts = {"date": at.isoformat(timespec="seconds"), "P": plain, "python": platform.python_version()}
    for one in measured(told.measures or list(MEASURES), given, variables, told.rounds):
        found.append(one)
        print(line(one), flush=True)
        if told.json:  # each time: some of this takes long, and may be ended
            data = {**facts, "machine": machine(), "found": found}
            told.json.write_text(json.dumps(data, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
