"""The console in a browser: for this machine and whoever has the address, and the same console as in a terminal."""

import re
import sys
from collections.abc import Iterator

import aiohttp
import psutil
import pytest

from app.cli import program
from app.cli.exits import Code, Leave
from app.serving import bridge
from tests.fakes import main_job
from tests.fakes.plain_process import run_footplate
from tests.serving.served import Served, gone, opened, served
from tests.waiting import wait_until

pytestmark = pytest.mark.xdist_group("serving")
STREAMING = main_job.directive({"text": "The very first words, and more much later.", "chunks": 5, "slow": 60})


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with served(tmp_path_factory.mktemp("served")) as server:
        yield server


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.168.1.7", "", "example.org", "127.0.0.1.example.org"])
def test_no_address_but_this_machine_s_own_is_served(host: str) -> None:
    with pytest.raises(Leave) as left:
        program.run(["serve", "--host", host, "--port", "0"])
    assert left.value.code is Code.USAGE
    assert "not this machine alone" in left.value.sentence and "ssh -L" in left.value.sentence


def test_without_the_extra_the_command_that_gets_it_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "textual_serve.server", None)
    monkeypatch.delitem(sys.modules, "app.serving.server", raising=False)
    with pytest.raises(Leave) as left:
        program.run(["serve", "--port", "0"])
    assert left.value.code is Code.REFUSED and "pip install textual-serve" in left.value.sentence


def test_a_port_that_is_taken_is_said(here: Served) -> None:
    with pytest.raises(Leave) as left:
        program.run(["serve", "--port", here.origin.rpartition(":")[2]])
    assert left.value.code is Code.REFUSED and "--port 0 takes any that is free" in left.value.sentence


def test_it_listens_on_the_loopback_address_alone(here: Served) -> None:
    listening = [one.laddr.ip for one in psutil.Process(here.pid).net_connections("inet") if one.status == "LISTEN"]
    assert listening == ["127.0.0.1"]


async def test_nothing_is_answered_without_the_token_from_elsewhere_or_under_another_name(here: Served) -> None:
    async def status(address: str, **headers: str) -> int:
        async with aiohttp.ClientSession() as session, session.get(address, headers=headers) as answer:
            return answer.status

    port = here.origin.rpartition(":")[2]
    assert await status(here.address) == 200
    for wrong in (
        f"{here.origin}/",
        f"{here.origin}/ws",
        f"{here.origin}/static/js/textual.js",
        f"{here.origin}/{'x' * 43}/",
    ):
        assert await status(wrong) == 404
    for named in (f"evil.example:{port}", "127.0.0.1", f"localhost:{port}"):
        assert await status(here.address, Host=named) == 403
    for origin in ("https://evil.example", "null", "http://127.0.0.1:1"):
        assert await status(f"{here.address}ws", Origin=origin) == 403
    assert here.consoles() == [], "and no console was started for any of them"


async def test_the_page_loads_nothing_from_anywhere_else(here: Served) -> None:
    async with aiohttp.ClientSession() as session, session.get(here.address) as answer:
        page, policy = await answer.text(), answer.headers["Content-Security-Policy"]
        assert answer.headers["Referrer-Policy"] == "no-referrer"
    named = re.findall(r"(?:src|href|url)\s*[=(]\s*[\"']?([^\"')\s>]+)", page)
    assert len(named) >= 3 and all(
        one.startswith((here.address, here.address.replace("http:", "ws:"), "data:")) for one in named
    ), named
    assert "default-src 'none'" in policy and "frame-ancestors 'none'" in policy


async def test_a_session_is_begun_there_and_stays_held_when_the_page_is_closed(here: Served) -> None:
    async with opened(here) as page:
        await page.shows("Enter show the terms")
        assert len(here.consoles()) >= 2
        await page.type("\x1b[200~speak " + STREAMING + "\x1b[201~")
        await page.shows("› speak")
        await page.resize(90, 28)
        await page.shows(r"(?m)^ ─{88}$")
        await page.enters("START UNDER THESE TERMS")
        await page.enters("   The very")
    gone(here)
    told = run_footplate(here.house, "ls", "--json", cwd=here.tree)
    assert '"outcome": null' in told.out, "it is held"
    async with opened(here) as again:
        await again.shows("   The very")
        await again.type("\x1c")
        await again.shows("Nothing left running")
        await again.type("\x11")
        await again.shows("Nothing left running|^$")
        wait_until(lambda: not here.consoles(), 30, "it quits as in a terminal")


def test_packets_are_read_however_they_are_cut_and_nonsense_is_refused() -> None:
    sent = bridge.packet(b"D", b"keys") + bridge.packet(b"M", b"{}") + bridge.packet(b"D", b"")
    for size in (1, 3, 7, 100):
        packets = bridge.Packets()
        read = [one for at in range(0, len(sent), size) for one in packets.feed(sent[at : at + size])]
        assert read == [(b"D", b"keys"), (b"M", b"{}"), (b"D", b"")]
    for wrong in (b"X\0\0\0\1a", b"D\xff\xff\xff\xff"):
        with pytest.raises(ValueError, match="not a packet"):
            list(bridge.Packets().feed(wrong))


@pytest.mark.parametrize("told", [None, [], {}, {"width": -1, "height": 10**9}, {"width": "80", "height": None}])
def test_a_size_that_makes_no_sense_changes_none(told: object) -> None:
    assert bridge.size_of(told, 80, 24) == (80, 24)
    assert bridge.size_of({"width": 120, "height": 40}, 80, 24) == (120, 40)
