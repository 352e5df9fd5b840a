"""The served console in a real browser: it is drawn, keys of the browser reach it, and nothing is fetched elsewhere."""

import asyncio
import base64
import contextlib
import itertools
import json
import re
import shutil
import subprocess
import warnings
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import aiohttp
import pyte
import pytest

from tests.serving.served import gone, served
from tests.waiting import eventually

pytestmark = pytest.mark.xdist_group("serving")
BROWSER = shutil.which("chromium")


class Browser:
    """One page, over the browser's own protocol: what it asks for, and what comes through its websocket."""

    def __init__(self, socket: aiohttp.ClientWebSocketResponse) -> None:
        self._socket = socket
        self._numbers = itertools.count(1)
        self._answers: dict[int, dict[str, Any]] = {}
        self._grid = pyte.Screen(250, 80)
        self._stream = pyte.ByteStream(self._grid)
        self.asked_for: list[str] = []
        self.complaints: list[str] = []

    async def listen(self) -> None:
        async for message in self._socket:
            told = json.loads(message.data)
            match told.get("method"):
                case "Network.webSocketFrameReceived" if told["params"]["response"]["opcode"] == 2:
                    self._stream.feed(base64.b64decode(told["params"]["response"]["payloadData"]))
                case "Network.requestWillBeSent":
                    self.asked_for.append(told["params"]["request"]["url"])
                case "Network.webSocketCreated":
                    self.asked_for.append(told["params"]["url"])
                case "Runtime.exceptionThrown":
                    self.complaints.append(str(told["params"]))
                case "Log.entryAdded" if told["params"]["entry"]["level"] == "error":
                    self.complaints.append(str(told["params"]["entry"]))
            if "id" in told:
                self._answers[told["id"]] = told

    async def call(self, method: str, **parameters: object) -> dict[str, Any]:
        number = next(self._numbers)
        await self._socket.send_json({"id": number, "method": method, "params": parameters})
        await self.until(lambda: number in self._answers, method)
        answer: dict[str, Any] = self._answers[number].get("result", {})
        return answer

    async def until(self, look: Callable[[], object], what: str, timeout: float = 30.0) -> None:
        try:
            await eventually(look, timeout, what)
        except AssertionError as problem:
            raise AssertionError(f"{problem}\n{self.text()}\n{self.complaints}") from None

    def text(self) -> str:
        return "\n".join(row.rstrip() for row in self._grid.display if row.strip())

    async def shows(self, words: str) -> None:
        await self.until(lambda: re.search(words, self.text()), f"{words!r} is shown")

    async def press(self, key: str, code: int, *, ctrl: bool = False) -> None:
        facts = {"key": key, "windowsVirtualKeyCode": code, "modifiers": 2 if ctrl else 0}
        for kind in ("rawKeyDown", "keyUp"):
            await self.call("Input.dispatchKeyEvent", type=kind, **facts)


@contextlib.asynccontextmanager
async def browser(folder: Path) -> AsyncIterator[Browser]:
    assert BROWSER is not None
    process = subprocess.Popen(  # noqa: ASYNC220  # nothing else runs in this loop yet
        [BROWSER, "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-extensions",
         "--disable-background-networking", "--remote-debugging-port=0", f"--user-data-dir={folder / 'profile'}",
         "--window-size=1100,700", "about:blank"],
        stdout=subprocess.DEVNULL, stderr=(folder / "browser").open("w"),
    )  # fmt: skip
    try:

        def listening_at() -> list[str]:
            assert process.poll() is None, (folder / "browser").read_text()
            return re.findall(r"ws://127\.0\.0\.1:(\d+)/", (folder / "browser").read_text())

        at = await eventually(listening_at, 40, "the browser began")
        async with aiohttp.ClientSession() as session:
            async with session.get(f"http://127.0.0.1:{at[0]}/json") as answer:
                [first, *_] = [one for one in await answer.json() if one["type"] == "page"]
            async with session.ws_connect(first["webSocketDebuggerUrl"], max_msg_size=0) as socket:
                page = Browser(socket)
                listening = asyncio.create_task(page.listen())
                try:
                    for part in ("Network", "Log", "Runtime", "Page"):
                        await page.call(f"{part}.enable")
                    yield page
                finally:
                    listening.cancel()
    finally:
        process.terminate()
        process.wait(20)


async def test_the_console_is_drawn_and_typed_into_and_nothing_is_fetched_elsewhere(tmp_path: Path) -> None:
    if BROWSER is None:
        line = "BROWSER MISSING: the package chromium is not installed; the served console was opened in no browser"
        warnings.warn(line, stacklevel=1)
        pytest.skip(line)
    with served(tmp_path, toured=False) as here:
        async with browser(tmp_path) as page:
            await page.call("Page.navigate", url=here.address)
            await page.shows("1 of 6")
            for kind in ("mousePressed", "mouseReleased"):  # into the page, which then has the keyboard
                await page.call("Input.dispatchMouseEvent", type=kind, x=900, y=60, button="left", clickCount=1)
            await page.call("Input.insertText", text="mend it")
            await page.shows("› mend it")
            await page.press("o", 79, ctrl=True)
            await page.shows("nothing waits|nobody waits|waits for you")
            await page.press("p", 80, ctrl=True)
            await page.shows("Commands")
            picture = base64.b64decode((await page.call("Page.captureScreenshot"))["data"])
            assert picture.startswith(b"\x89PNG") and len(picture) > 10_000
            ours = (here.address, here.address.replace("http:", "ws:"), "data:")
            assert page.asked_for and all(one.startswith(ours) for one in page.asked_for), page.asked_for
            assert page.complaints == []
        gone(here)
