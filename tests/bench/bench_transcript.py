"""How fast the transcript is. Times are of this machine, memory is what Python allocated.

Beside it what Textual itself offers for a log, given the same burst in the same way.
"""

import asyncio
import gc
import time
import tracemalloc
from collections.abc import Callable

from textual.app import App, ComposeResult
from textual.widgets import Log, RichLog

from app.console.widgets.transcript import Transcript
from coordinator.api import FeedEvent, TranscriptPage
from coordinator.drivers import base
from tests.bench.figures import Figure
from tests.console.transcript.conversation import RUN, Script, session, text, working
from tests.console.transcript.stage import Stage

FOUND: list[Figure] = []


def tell(what: str, value: float, goal: float | None = None, unit: str = "ms") -> None:
    FOUND.append(Figure(name=what, value=value, goal=goal, unit=unit))


async def until(look: Callable[[], bool], most: float = 60.0) -> None:
    end = time.perf_counter() + most
    while not look():
        assert time.perf_counter() < end
        await asyncio.sleep(0)


BEGUN = session().created_at


def delta(words: str, block: str = "live") -> FeedEvent:
    return FeedEvent(run=RUN, turn=None, at=BEGUN, event=base.TextDelta(block=block, text=words), key=None)


def chunk(number: int) -> str:
    words = f"chunk {number:06d} " + "lorem ipsum dolor sit amet consectetur"
    return words[:49] + ("\n" if number % 3 == 2 else " ")


def fresh(view: Transcript) -> None:
    view.action_scroll_end()
    view.show(session(working(1)), TranscriptPage(events=(), more_before=False))
    gc.collect()


async def poured(app: Stage, count: int) -> float:
    """Seconds until the last of so many chunks is on the screen."""
    fresh(app.transcript)
    events = [delta(chunk(number)) for number in range(count)]
    begun = time.perf_counter()
    for start in range(0, count, 50):
        app.transcript.feed(tuple(events[start : start + 50]))
        await asyncio.sleep(0)
    app.transcript.feed((delta("\nTHE END"),))
    await until(lambda: any("THE END" in row for row in app.rows()))
    return time.perf_counter() - begun


async def burst(app: Stage, count: int, goal: float) -> None:
    tell(f"burst of {count:,} chunks of 50 characters shown", await poured(app, count) * 1000, goal * 1000)
    tracemalloc.start()
    await poured(app, count)
    tell("   memory it left", tracemalloc.get_traced_memory()[0] / 1e6, 30, "MB")
    tracemalloc.stop()


class Shelf(App[None]):
    """One of Textual's own widgets for logs, in a screen of the same size."""

    def __init__(self, widget: Log | RichLog) -> None:
        super().__init__()
        self.log_shown = widget

    def compose(self) -> ComposeResult:
        yield self.log_shown

    def rows(self) -> list[str]:
        return [self.log_shown.render_line(y).text for y in range(self.log_shown.size.height)]

    async def poured(self, count: int) -> float:
        """As the transcript's: seconds until the last of so many chunks is on the screen."""
        begun = time.perf_counter()
        for start in range(0, count, 50):
            for number in range(start, start + 50):
                self.log_shown.write(chunk(number))
            await asyncio.sleep(0)
        self.log_shown.write("\nTHE END")
        await until(lambda: any("THE END" in row for row in self.rows()), 600.0)
        return time.perf_counter() - begun


async def textual_own(count: int) -> None:
    """RichLog makes a line of each chunk: it cannot go on with one. It is a floor for what it would need."""
    for name, widget in (("Log", Log()), ("RichLog", RichLog(wrap=True))):
        app = Shelf(widget)
        async with app.run_test(size=(120, 34)):
            tell(f"   the same into Textual's {name}", await app.poured(count) * 1000)


async def key_to_paint(app: Stage, pilot: object) -> None:
    view = app.transcript
    lines = "\n".join(f"line {n} " + "words " * (n % 30) for n in range(1400))
    script = Script().say(*(text(lines, f"old{n}") for n in range(4)))
    view.show(session(working(1)), script.page())
    await asyncio.sleep(0)
    times: list[float] = []
    stop = asyncio.Event()

    async def stream() -> None:
        number = 0
        while not stop.is_set():
            view.feed(tuple(delta(chunk(n), "more") for n in range(number, number + 20)))
            number += 20
            await asyncio.sleep(0.02)  # 20 pieces each time: 1,000 a second

    task = asyncio.create_task(stream(), name="stream")
    for number in range(60):
        way = view.action_page_up if number % 2 == 0 else view.action_page_down
        begun = time.perf_counter()
        way()
        app.rows()
        times.append((time.perf_counter() - begun) * 1000)
        await asyncio.sleep(0.017)  # one frame of a screen
    stop.set()
    await task
    times.sort()
    tell("page key to rows while 1,000 chunks/s come, p50", times[len(times) // 2], 12)
    tell("   p95", times[int(len(times) * 0.95)], 30)


async def longest_step(work: "asyncio.Task[None]") -> float:
    """Longest time for which the loop did nothing else."""
    longest, last = 0.0, time.perf_counter()
    while not work.done():
        await asyncio.sleep(0.001)  # how late this comes back is what is measured
        now = time.perf_counter()
        longest, last = max(longest, now - last), now
    return longest * 1000


async def huge(app: Stage, name: str, whole: str, goal: float, *, tool: bool = False) -> None:
    view = app.transcript
    fresh(view)
    await asyncio.sleep(0.05)  # the flush of what was there before is none of this

    async def work() -> None:
        if tool:
            script = Script().say(base.ToolStarted(call="c", name="Rsync", input={}, title="rsync"))
            script.say(base.ToolFinished(call="c", ok=True, output=whole))
        else:
            script = Script().say(base.TextBlock(block="x", text=whole))
        view.feed(tuple(script.events))
        await until(lambda: not view.model.dirty)
        await asyncio.sleep(0.01)  # the last step of the loop is measured too

    begun = time.perf_counter()
    task = asyncio.create_task(work(), name="work")
    longest = await longest_step(task)
    tell(f"{name}, {len(whole) / 1e6:.0f} MB: longest stop of the loop", longest, goal)
    tell(f"   in all, {len(view.model.lines):,} lines", 1000 * (time.perf_counter() - begun))


async def streamed_huge(app: Stage) -> None:
    view = app.transcript
    fresh(view)

    async def work() -> None:
        part = "".join(chunk(n) for n in range(1300))
        for _ in range(190):
            view.feed((delta(part),))
            await asyncio.sleep(0)
        view.feed((delta("\nTHE END"),))
        await until(lambda: any("THE END" in row for row in app.rows()))

    begun = time.perf_counter()
    longest = await longest_step(asyncio.create_task(work(), name="work"))
    tell("12 MB streamed in 65 kB parts: longest stop of the loop", longest, 100)
    tell(f"   in all, {len(view.model.lines):,} lines", 1000 * (time.perf_counter() - begun))


async def resized(app: Stage, pilot: object) -> None:
    view = app.transcript
    lines = "\n".join(f"line {n} " + "words " * (n % 30) for n in range(1400))
    view.show(session(working(1)), Script().say(*(text(lines, f"old{n}") for n in range(4))).page())
    times: list[float] = []
    for width in (90, 140, 60, 120):
        begun = time.perf_counter()
        await pilot.resize_terminal(width, 34)  # type: ignore[attr-defined]
        view.rewrap(width - 3)
        app.rows()
        times.append((time.perf_counter() - begun) * 1000)
    alone: list[float] = []
    for width in (80, 81, 100, 60):
        begun = time.perf_counter()
        view.rewrap(width)
        app.rows()
        alone.append((time.perf_counter() - begun) * 1000)
    tell(f"resize with {len(view.model.lines):,} lines, until the right rows", max(alone), 50)
    tell("   with all of Textual's own layout", max(times))


async def measured() -> None:
    app = Stage()
    async with app.run_test(size=(120, 34)) as pilot:
        gc.freeze()
        await burst(app, 2_000, 1)
        await burst(app, 20_000, 10)
        await textual_own(20_000)
        await key_to_paint(app, pilot)
        await huge(app, "a message", "".join(chunk(n) for n in range(240_000)), 100)
        await huge(app, "a message of one line", "x" * 12_000_000, 100)
        await huge(app, "a message", "".join(chunk(n) for n in range(1_280_000)), 250)
        progress = "".join(f"\r{n:>10,} bytes  {n % 100}%  12.3MB/s" for n in range(2_900_000))
        await huge(app, "progress lines in a message", progress, 250)
        await huge(app, "progress lines of a tool", progress, 250, tool=True)
        await streamed_huge(app)
        await resized(app, pilot)


def measure() -> list[Figure]:
    FOUND.clear()
    try:
        asyncio.run(measured())
    finally:
        gc.unfreeze()
    return list(FOUND)
