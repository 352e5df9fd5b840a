"""A ``footplate serve`` of its own, and a page's websocket as seen by the one who sits before it."""

import asyncio
import contextlib
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import aiohttp
import psutil
import pyte

from tests.cli.running import repository
from tests.fakes.accounts import leave_nothing
from tests.fakes.plain_process import house_environment, run_footplate
from tests.waiting import eventually, wait_until


@dataclass(frozen=True, slots=True, kw_only=True)
class Served:
    address: str
    pid: int
    house: dict[str, str]
    tree: Path

    @property
    def origin(self) -> str:
        return re.match(r"http://[^/]+", self.address)[0]  # type: ignore[index]

    def consoles(self) -> list[int]:
        """Processes below the server: bridges and consoles."""
        return [one.pid for one in psutil.Process(self.pid).children(recursive=True)]


@contextlib.contextmanager
def served(folder: Path, *, toured: bool = True) -> Iterator[Served]:
    house = house_environment(folder / "house")
    # No other agent can be run here, so the practice agent is proposed.
    house["FOOTPLATE_CLAUDE"] = str(folder / "no-such-program")
    home = Path(house["FOOTPLATE_HOME"])
    home.mkdir(mode=0o700)
    if toured:
        (home / "toured").touch()
    tree = repository(folder / "tree")
    (tree / "app").mkdir()
    (tree / "app" / "main.py").write_text("raise SystemExit('what a repository holds was run')\n")
    process = subprocess.Popen(
        [sys.executable, "-P", "-m", "app.main", "serve", "--port", "0", "--repo", str(tree)],
        env=house, cwd=folder, stdout=subprocess.PIPE, stderr=(folder / "err").open("w"), text=True,
    )  # fmt: skip
    try:
        assert process.stdout is not None
        address = process.stdout.readline().strip()
        assert address.startswith("http://127.0.0.1:"), (folder / "err").read_text()
        yield Served(address=address, pid=process.pid, house=house, tree=tree)
        process.terminate()
        assert process.wait(40) == 0, (folder / "err").read_text()
        assert (folder / "err").read_text() == ""
    finally:
        process.kill()
        process.wait()
        run_footplate(house, "stop", "--all", cwd=folder)
        leave_nothing(home)


class Page:
    """What the page's own script does: it sends keys and its size, and draws what comes."""

    def __init__(self, socket: aiohttp.ClientWebSocketResponse, columns: int, rows: int) -> None:
        self._socket = socket
        self._grid = pyte.Screen(columns, rows)
        self._stream = pyte.ByteStream(self._grid)
        self.closed = False

    async def draw(self) -> None:
        async for message in self._socket:
            if message.type is aiohttp.WSMsgType.BINARY:
                self._stream.feed(message.data)
        self.closed = True

    def text(self) -> str:
        return "\n".join(row.rstrip() for row in self._grid.display)

    async def shows(self, words: str, timeout: float = 20.0) -> None:
        try:
            await eventually(lambda: re.search(words, self.text()), timeout, f"{words!r}")
        except AssertionError as problem:
            raise AssertionError(f"{problem}\n{self.text()}") from None

    async def type(self, text: str) -> None:
        await self._socket.send_json(["stdin", text])

    async def enters(self, words: str) -> None:
        """Enter, pressed until it counts: not too soon after something else, and not before the terms have stood."""
        for _ in range(20):
            await self.type("\r")
            with contextlib.suppress(AssertionError):
                await self.shows(words, timeout=1.5)
                return
        await self.shows(words)

    async def resize(self, columns: int, rows: int) -> None:
        self._grid.resize(rows, columns)
        await self._socket.send_json(["resize", {"width": columns, "height": rows}])


@contextlib.asynccontextmanager
async def opened(served: Served, columns: int = 110, rows: int = 32) -> "contextlib.AbstractAsyncContextManager[Page]":  # type: ignore[misc]
    async with aiohttp.ClientSession() as session:
        address = f"{served.address}ws?width={columns}&height={rows}"
        async with session.ws_connect(address, headers={"Origin": served.origin}, max_msg_size=0) as socket:
            page = Page(socket, columns, rows)
            drawing = asyncio.create_task(page.draw())
            try:
                yield page  # type: ignore[misc]
            finally:
                drawing.cancel()


def gone(served: Served) -> None:
    wait_until(lambda: not served.consoles(), 30, "the consoles behind a closed page have ended")
