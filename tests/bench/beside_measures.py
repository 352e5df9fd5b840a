"""What is done to each console in turn, and what came of it. Each measure gets a peer that was opened for it alone.

A result is a word or a number under a name; the same name means the same in all peers, and ``beside_table`` counts the
words and takes the middle of the numbers.
"""

import re
import time
from collections.abc import Callable

from tests.bench.beside_scene import AFTER, AGAIN, END, FIRST, HELLO, PROOF, READ, SECOND, Measure, Scene, Told
from tests.bench.figures import median, percentile
from tests.bench.outerterminal import OuterTerminal
from tests.bench.peers import ENTER, words
from tests.waiting import wait_until

CHUNK = "fifty letters of what an agent says about a thing\n"
"""Fifty, with its end of line."""
TYPED = 0.1
"""Seconds between two letters: ten a second, as a person types."""
UNDER_WAY = 2.0
"""After what begins something: it is to be in the middle of it, and nothing tells when."""
NOTHING_MORE = 2.0
"""What a key sets off shows within this; that nothing comes, nothing tells."""
AT_REST = 3.0
"""After the last byte: what it still has to put away is not counted as its rest."""
AFTER_KILL = 10.0
"""How long what is left has to end by itself."""
COMES_BACK = 10.0
"""How long a question may be held back that did not show while somebody typed."""
LETTERS = b"QZXJKVWQZXJKVWYQZXJKVWQZXJKVWYQZXJKVWQZX"
"""Typed one by one; none of them stands in what the agent says."""
SHOWN = 5.0
"""Seconds for a letter: one that is not shown by then counts as long, and after three no more are tried."""
MOST_LOST = 3
STILL_ASKS = "it still asks"
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


def first_frame(one: Scene) -> Told:
    """Until its first screen; of what is only opened, until that has come to rest."""
    if one.peer.ready:
        return {"first frame": one.first_frame()}
    one.terminal.quiet(1.0, 20.0)
    return {"first frame": (one.terminal.last - one.terminal.began) * 1000}


def idle(one: Scene) -> Told:
    if one.peer.ready and not one.opened():
        return one.failed("no first turn")
    one.terminal.quiet(2.0, 20.0)
    time.sleep(AT_REST)
    memory, whole = one.memory(), one.terminal.memory(lambda _: True)
    used, painted = one.terminal.used(one.own, 10.0)
    rest = {"memory at rest": memory, "memory with its agent": whole}
    return {**rest, "CPU at rest": used, "bytes painted in 10 s": painted}


def burst(count: int) -> Measure:
    def shown(one: Scene) -> Told:
        if not one.opened():
            return one.failed("no first turn")
        one.terminal.quiet(1.0, 10.0)
        before = one.memory()
        since = one.message({"text": CHUNK, "mul": count, "chunks": count, "tail": f"\n{END}"})
        sent = time.perf_counter()
        at = one.terminal.seen(END, one.limit, since)
        name = f"{count:,} chunks shown"
        if at is None:
            return {name: None, "not within": one.limit}
        return {name: (at - sent) * 1000, f"memory after {count:,}": one.memory() - before}

    return shown


def long_message(one: Scene) -> Told:
    if not one.opened():
        return one.failed("no first turn")
    one.terminal.quiet(1.0, 10.0)
    before = one.memory()
    since = one.message({"text": CHUNK, "mul": 240_000, "chunks": 1, "tail": f"\n{END}"})
    sent = time.perf_counter()
    at = one.terminal.seen(END, one.limit, since)
    if at is None:
        return {"12 MB message shown": None, "not within": one.limit}
    told: Told = {"12 MB message shown": (at - sent) * 1000, "memory after 12 MB": one.memory() - before}
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
    since = one.message({"text": CHUNK, "mul": 20_000, "chunks": 20_000, "slow": 0.001, "tail": f"\n{END}"})
    time.sleep(UNDER_WAY)
    times: list[float] = []
    lost = 0
    for place in range(len(LETTERS)):
        took = one.terminal.echoed(LETTERS[place : place + 1], SHOWN)
        lost += took is None
        times.append(SHOWN * 1000 if took is None else took)
        if lost == MOST_LOST:
            break
        time.sleep(TYPED)
    pouring = END.encode() not in one.terminal.raw[since:]
    told: Told = {"letters tried": len(times), f"not shown within {SHOWN:.0f} s": lost}
    told["still pouring at the last"] = "yes" if pouring else "NO"
    if lost == len(times):
        return told | {"letter, 95 %": None, "not within": SHOWN}
    return told | {"letter, half": median(times), "letter, 95 %": percentile(times, 0.95), "letter, worst": max(times)}


def asks(one: Scene) -> Told:
    """The control to the next one: nobody types. Does it ask at all, and do its keys answer?"""
    if not one.opened():
        return one.failed("no first turn")
    proof = one.place.tree / PROOF
    since = one.message({"text": "on it", "tools": [one.peer.run(f"touch {proof}")]}, {"text": "done"})
    asked = one.terminal.seen(PROOF, 30.0, since) is not None
    one.terminal.quiet(NOTHING_MORE, 10.0)
    ran, screen = proof.exists(), one.terminal.text()
    one.press(one.peer.allow, since)
    told: Told = {"asked": "yes" if asked else "not seen", "ran unasked": "YES" if ran else "no"}
    told["its keys let it run"] = "yes" if _comes(proof.exists, 10.0) else "NO"
    return told | {"screen of the question": screen}


def prose(one: Scene) -> Told:
    """Somebody types a sentence; in the middle of it the agent asks. Did the sentence let it run?"""
    if not one.opened():
        return one.failed("no first turn")
    proof = one.place.tree / PROOF
    words_before = {"text": f"{END} ", "tail": "and so on " * 20, "chunks": 20, "slow": 0.1}
    tool = one.peer.run(f"touch {proof}")
    since = one.message({**words_before, "tools": [tool]}, {"text": "done", "tail": f" {AFTER}"})
    if one.terminal.seen(END, 30.0, since) is None:
        return one.failed("it never began")
    for letter in PROSE:
        one.terminal.send(letter.encode())
        time.sleep(TYPED)
    typed, at = time.perf_counter(), one.terminal.seen(PROOF, 10.0, since)
    time.sleep(NOTHING_MORE)
    ran = proof.exists()
    one.terminal.send(ENTER)
    time.sleep(NOTHING_MORE)
    if ran or proof.exists():
        outcome = "the sentence let it run" if ran else "the Enter let it run"
    else:
        outcome = f"nothing ran, {_standing(one, since)}"
    asked = "not seen" if at is None else "yes" if at < typed else "AFTER IT"
    told: Told = {"asked in the middle of it": asked, "prose typed as it asks": outcome}
    screen = one.terminal.text()
    if outcome.endswith(STILL_ASKS) and (words := re.search(one.peer.allow[0][0], screen)):
        told["what it asks then"] = words[0]  # it may be a step further
    return told | {"screen afterwards": screen}


def _standing(one: Scene, since: int) -> str:
    """What became of a question under which nothing ran. Some hold it back while somebody types: it is waited for."""
    asks, end = re.compile(one.peer.allow[0][0]), time.monotonic() + COMES_BACK

    def look() -> str:
        text = one.terminal.text()
        if AFTER in text or AFTER.encode() in one.terminal.raw[since:]:
            return "it was taken as a no"
        if asks.search(text):
            return STILL_ASKS
        return "it asks no more" if time.monotonic() > end else ""

    return wait_until(look, COMES_BACK + 5)


def hostile(one: Scene) -> Told:
    if not one.opened():
        return one.failed("no first turn")
    text = " ".join(f"{name}: {sent}" for name, (sent, _) in ESCAPES.items())
    by_itself = [name for name, (_, known) in ESCAPES.items() if known in one.terminal.raw]
    since = one.message({"text": text + "\n", "chunks": 1, "tail": f"\n{END}"})
    seen = one.terminal.seen(END, 30.0, since) is not None
    one.terminal.quiet(1.0, 10.0)
    came = bytes(one.terminal.raw[since:])
    through = [name for name, (_, known) in ESCAPES.items() if known in came]
    told: Told = {"escapes let through": f"{len(through)} of {len(ESCAPES)}", "which": ", ".join(through)}
    told["what came after them shown"] = "yes" if seen else "NO"
    return told | ({"which it also sends by itself": ", ".join(by_itself)} if by_itself else {})


def killed(one: Scene) -> Told:
    """The console is killed while a tool works; what is left, and what does the next one know of it."""
    if not one.opened():
        return one.failed("no first turn")
    since = one.message({"text": "on it", "tools": [one.peer.run(f"(setsid {FIRST} &); {SECOND}")]}, {"text": "done"})
    one.terminal.seen(SECOND, 20.0, since)
    time.sleep(READ)
    one.press(one.peer.allow, since)
    if not _comes(lambda: one.terminal.runs(SECOND), 20.0):
        return one.failed("the tool never ran")
    before = set(one.terminal.processes()) - {one.terminal.pid}
    one.terminal.kill()
    time.sleep(AFTER_KILL)
    told: Told = _left("10 s after SIGKILL", one.terminal, before)
    with OuterTerminal(words(one.peer, one.given, one.place, again=True), one.place.tree, one.environment) as again:
        again.seen(one.peer.ready, 30.0)
        again.quiet(1.5, 15.0)
        text = again.text()
        told["the next start shows it"] = "yes" if "message 1" in text or HELLO in text else "no"
        told["screen of the next start"] = text
        told |= _left("after the next start", one.terminal, before)
        if one.peer.stop:
            again.send(one.peer.stop)
            time.sleep(AFTER_KILL)
            told |= _left("after its stop key", one.terminal, before)
    return told


def _left(when: str, terminal: OuterTerminal, before: set[int]) -> Told:
    """Of those that there were."""
    left = [told for pid, told in terminal.processes().items() if pid in before]
    tools = sum(told.startswith((FIRST, SECOND)) for told in left)
    return {f"processes {when}": f"{len(left)} of {len(before)}", f"tools {when}": f"{tools} of 2"}


def _comes(look: Callable[[], bool], most: float) -> bool:
    try:
        return wait_until(look, most)
    except AssertionError:
        return False


MEASURES: dict[str, Measure] = {
    "first-frame": first_frame,
    "idle": idle,
    "burst-2000": burst(2_000),
    "burst-20000": burst(20_000),
    "message-12mb": long_message,
    "keys": keys,
    "asks": asks,
    "prose": prose,
    "hostile": hostile,
    "killed": killed,
}
OPENED_ONLY = ("first-frame", "idle")
"""What can be measured of a program of which nobody said how it is driven."""
