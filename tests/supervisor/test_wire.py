"""Who may speak, epochs, long paths, and a console that does not read."""

import asyncio
import json
import os
import socket
import stat
import struct
import sys
import tempfile
import time
from functools import partial
from pathlib import Path

import pytest
from rich.pretty import pretty_repr

from coordinator.custody.client import Supervisor
from coordinator.custody.connection import WINDOW
from coordinator.custody.spoolfile import spool_is_locked
from coordinator.custody.types import RecordKind, SpawnFailure, SpoolRecord, WriteOutcome
from coordinator.supervisor import peers, wireformat
from coordinator.supervisor.kernel import kernel
from tests.supervisor.holding import Holds, agent
from tests.waiting import eventually


async def test_a_higher_epoch_takes_over_and_the_older_one_is_dropped(holds: Holds) -> None:
    hold = await holds.launch()
    await hold.start("echo")
    first = hold.supervisor
    for epoch in (0, 1):
        refused = await Supervisor.attach(hold.spec.folder, cookie=hold.spec.cookie, epoch=epoch, offset=0)
        assert isinstance(refused, SpawnFailure) and refused.what == "epoch"
    assert not first.lost
    second = await hold.attach(7)
    assert await second.write("t", b"new\n") is WriteOutcome.WROTE
    await eventually(lambda: first.lost)
    assert await first.write("t2", b"old\n") is WriteOutcome.LOST
    await hold.until(lambda h: b"heard new\n" in h.stdout())
    refused = await Supervisor.attach(hold.spec.folder, cookie=hold.spec.cookie, epoch=7, offset=0)
    assert isinstance(refused, SpawnFailure)


async def test_unread_bytes_of_the_older_connection_go_with_it(holds: Holds) -> None:
    hold = await holds.launch()
    await hold.start("echo")
    pid = hold.supervisor.identity.pid
    os.kill(pid, 19)  # stopped: what follows lies unread in the socket
    stale = asyncio.create_task(hold.supervisor.write("stale", b"stale\n"))
    fresh = asyncio.create_task(hold.attach(2))
    await asyncio.sleep(0)
    os.kill(pid, 18)
    second = await fresh
    outcome = await stale
    assert await second.write("t", b"new\n") is WriteOutcome.WROTE
    await hold.until(lambda h: b"heard new\n" in h.stdout())
    if outcome is WriteOutcome.LOST:  # else it was read before the attach, and was answered
        assert (b"stale" in hold.stdout()) == ((await second.wrote("stale")).value == "whole")


async def test_attaching_gives_the_same_records_at_the_same_offsets(holds: Holds) -> None:
    hold = await holds.launch()
    await hold.start("count", "2000")
    await hold.until(lambda h: RecordKind.EXIT in h.kinds())
    before = list(hold.records)
    hold.records.clear()
    await hold.attach(2, before[2].offset)
    await hold.until(lambda h: RecordKind.EXIT in h.kinds())
    assert hold.records == before[2:]
    lines = b"".join(r.data for r in before if r.kind is RecordKind.STDOUT).splitlines()
    assert lines == [b"line %d" % i for i in range(2000)]
    assert b"".join(r.data for r in before if r.kind is RecordKind.STDERR) == b"done\n"
    beyond = await Supervisor.attach(hold.spec.folder, cookie=hold.spec.cookie, epoch=3, offset=10**9)
    assert isinstance(beyond, SpawnFailure) and beyond.what == "offset"


async def test_a_wrong_cookie_is_refused(holds: Holds) -> None:
    hold = await holds.launch()
    refused = await Supervisor.attach(hold.spec.folder, cookie="guess", epoch=9, offset=0)
    assert isinstance(refused, SpawnFailure) and refused.what == "cookie"
    assert not hold.supervisor.lost


async def test_the_folder_and_what_is_in_it_are_private(holds: Holds) -> None:
    hold = await holds.launch()
    folder = hold.spec.folder
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    for name in ("spool", "cookie", "s", "reserve"):
        assert stat.S_IMODE((folder / name).stat().st_mode) & 0o077 == 0, name
    pid = hold.supervisor.identity.pid
    for file in ("cmdline", "environ"):
        assert hold.spec.cookie.encode() not in Path(f"/proc/{pid}/{file}").read_bytes()
    assert hold.spec.cookie not in repr(hold.spec) + pretty_repr(hold.spec)
    told = agent("echo", API_KEY="what nobody is to see")
    assert "what nobody is to see" not in repr(told) + pretty_repr(told)


async def test_an_open_folder_is_refused(holds: Holds) -> None:
    spec = holds.spec()
    spec.folder.mkdir(mode=0o755)
    spec.folder.chmod(0o755)
    refused = await Supervisor.launch(spec)
    assert isinstance(refused, SpawnFailure) and refused.what == "bad-folder"
    missing = holds.spec(folder=spec.folder / "no" / "such")
    refused = await Supervisor.launch(missing)
    assert isinstance(refused, SpawnFailure) and refused.what == "bad-folder"


async def test_a_socket_path_of_any_length_works(holds: Holds, tmp_path: Path) -> None:
    deep = tmp_path / ("long-name-" * 12) / ("longer-" * 20)
    deep.mkdir(parents=True)
    hold = await holds.launch(folder=deep / "run")
    assert len(str(hold.spec.folder / "s")) > kernel.SOCKET_PATH_BYTES
    await hold.start("echo")
    await hold.attach(2)
    await hold.supervisor.kill()
    await hold.gone()


async def test_a_peer_from_inside_the_agents_tree_is_refused(holds: Holds) -> None:
    """An agent is never its own operator: it may look and it may stop, with whatever it has read."""
    hold = await holds.launch()
    forbidden = ("write", "wrote", "cancel", "farewell", "start", "hold", "credit", "resize", "end", "nonsense")
    await hold.start("inside", str(hold.spec.folder), ",".join((*forbidden, "status")))
    await hold.until(lambda h: b"asked\n" in h.stdout())
    told = {
        line.split(b": ", 1)[0].removeprefix(b"answer to ").decode(): json.loads(line.split(b": ", 1)[1])
        for line in hold.stdout().splitlines()
        if line.startswith(b"answer to ")
    }
    assert told["hello"]["ok"] is True and told["status"]["generation"] == 1
    for verb in ("attach", *forbidden):
        assert (told[verb]["ok"], told[verb]["why"]) == (False, "inside-a-hold"), verb
    assert RecordKind.FENCE not in hold.kinds() and not hold.supervisor.lost
    assert (
        await hold.supervisor.write("t", b"now\n") is WriteOutcome.WROTE
    )  # what it asked in that id's name is nothing
    # It holds as many connections as it gets; the next console gets one all the same.
    await hold.attach(2)
    await hold.until(lambda h: RecordKind.FENCE in h.kinds())
    assert (await hold.gone()).reason == "stopped"


async def test_another_user_is_refused(holds: Holds) -> None:
    """By whose the process is, even where every door before it stands open and the cookie is right."""
    if os.geteuid() != 0:
        pytest.skip("only root can become another user: the check of the peer's user is not tried")
    with tempfile.TemporaryDirectory(dir="/tmp") as above:
        Path(above).chmod(0o755)
        hold = await holds.launch(folder=Path(above) / "run")
        await hold.start("echo")
        folder = hold.spec.folder
        folder.chmod(0o777)
        for name in ("s", "cookie"):
            (folder / name).chmod(0o777)
        answers = await asyncio.to_thread(_as_nobody, folder, "status", "fence", "kill", "attach")
        assert answers["cookie"] == hold.spec.cookie, "it could read even that"
        assert answers["said"].count("not-ours") == 1 and 'ok": true' not in answers["said"]
        assert RecordKind.FENCE not in hold.kinds() and not hold.supervisor.lost
        assert (await hold.supervisor.status())["epoch"] == 1
        await hold.supervisor.kill()
        await hold.gone()
        await hold.supervisor.end()
        await eventually(lambda: not spool_is_locked(folder))


def _as_nobody(folder: Path, *verbs: str) -> dict[str, str]:
    """Becomes another user, says hello with the right cookie and gives orders; the cookie, and all that is answered."""
    read, write = os.pipe()
    pid = os.fork()
    if pid == 0:
        found = {"cookie": "", "said": ""}
        try:
            os.setgroups([])
            os.setgid(65534)
            os.setuid(65534)
            found["cookie"] = (folder / "cookie").read_text()
            sock = socket.socket(socket.AF_UNIX)
            sock.settimeout(5)
            sock.connect(str(folder / "s"))
            orders = [{"verb": "hello", "n": 0, "v": 1, "cookie": found["cookie"]}]
            orders += [{"verb": verb, "n": 1, "epoch": 9, "offset": 0} for verb in verbs]
            try:
                for order in orders:
                    sock.sendall(wireformat.frame(order, b""))
            except OSError:
                pass  # it was hung up on; what had been said is still to be read
            while data := sock.recv(65536):
                found["said"] += data.decode("utf-8", "replace")
        except OSError as error:
            found["said"] += str(error)
        finally:
            os.write(write, json.dumps(found).encode())
            os._exit(0)
    os.close(write)
    with os.fdopen(read, "rb") as told:
        answer: dict[str, str] = json.loads(told.read())
    os.waitpid(pid, 0)
    return answer


async def test_an_unattached_peer_may_ask_and_stop_but_not_write(holds: Holds) -> None:
    hold = await holds.launch()
    await hold.start("echo")
    sock = socket.socket(socket.AF_UNIX)
    sock.connect(str(hold.spec.folder / "s"))
    sock.setblocking(False)
    loop = asyncio.get_running_loop()
    reader = wireformat.FrameReader()

    async def ask(body: bytes = b"", **head: object) -> dict[str, object]:
        await loop.sock_sendall(sock, wireformat.frame(head, body))
        while True:
            for answer, _ in reader.feed(await loop.sock_recv(sock, 65536)):
                return answer

    assert (await ask(verb="hello", n=1, v=1, cookie=hold.spec.cookie))["ok"] is True
    for verb in ("write", "cancel", "farewell", "start", "hold", "end"):
        assert (await ask(b"x", verb=verb, n=2, id="t"))["why"] == "not-attached"
    assert (await ask(verb="status", n=3))["generation"] == 1
    assert (await ask(verb="attach", n=4, epoch=1, offset=0))["why"] == "epoch"
    assert (await ask(verb="fence", n=5, reason="stopped"))["ok"] is True
    sock.close()
    assert (await hold.gone()).reason == "stopped"


async def test_garbage_closes_the_connection_and_nothing_else(holds: Holds) -> None:
    hold = await holds.launch()
    for rubbish in (b"\xff" * 64, struct.pack("!II", 4, 0) + b"null", struct.pack("!II", 2, 0) + b"{}"):
        sock = socket.socket(socket.AF_UNIX)
        sock.settimeout(5)
        sock.connect(str(hold.spec.folder / "s"))
        sock.sendall(rubbish)
        answers = b""
        while data := await asyncio.to_thread(sock.recv, 4096):
            answers += data
        assert not answers or b"cookie" in answers
        sock.close()
    assert (await hold.supervisor.status())["attached"] is True


async def test_a_consumer_that_stands_still_stalls_neither_supervisor_nor_answers(holds: Holds) -> None:
    spec = holds.spec()
    supervisor = await Supervisor.launch(spec)
    assert isinstance(supervisor, Supervisor)
    records = supervisor.records()
    first: SpoolRecord = await anext(records)
    assert first.kind is RecordKind.HEADER
    assert not isinstance(await supervisor.start(1, agent("long_line", str(6 * WINDOW))), SpawnFailure)

    async def size() -> int:
        return int(str((await supervisor.status())["spool_size"]))

    async with asyncio.timeout(20):
        while await size() < 6 * WINDOW:  # all is in the spool though nobody reads
            pass
    held = supervisor._connection._queued
    assert held <= 2 * WINDOW
    await supervisor.kill()
    total = 0
    async for record in records:
        total += len(record.data)
    assert total == 6 * WINDOW + len(b"ready\n\nafter\n")


async def test_a_peer_that_says_nothing_is_dropped_in_time_and_costs_nobody(holds: Holds) -> None:
    hold = await holds.launch()
    silent = [socket.socket(socket.AF_UNIX) for _ in range(40)]
    for sock in silent:
        sock.connect(str(hold.spec.folder / "s"))
    assert (await hold.supervisor.status())["attached"] is True  # who was there before goes on
    for sock in silent:
        sock.close()
    # The worker sees each of them go when its turn comes; until then a new one may be one too many.
    async with asyncio.timeout(20):
        attach = partial(Supervisor.attach, hold.spec.folder, cookie=hold.spec.cookie, epoch=2, offset=0)
        while isinstance(again := await attach(), SpawnFailure):
            assert again.what == "too-many", again
    hold.supervisor = again


async def test_a_peer_that_stays_and_says_nothing_is_dropped_at_its_time(holds: Holds) -> None:
    hold = await holds.launch()
    sock = socket.socket(socket.AF_UNIX)
    sock.settimeout(peers._HELLO_SECONDS + 15)
    begun = time.monotonic()
    sock.connect(str(hold.spec.folder / "s"))
    assert await asyncio.to_thread(sock.recv, 1) == b"", "dropped, though it never closed"
    assert time.monotonic() - begun > peers._HELLO_SECONDS - 1
    sock.close()


async def test_the_supervisor_runs_alone(holds: Holds) -> None:
    """Standard library only, and nothing of ours but its own folder: seen in what it has mapped and started with."""
    hold = await holds.launch()
    pid = hold.supervisor.identity.pid
    argv = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
    assert argv[:3] == [sys.executable.encode(), b"-I", b"-S"]
    maps = Path(f"/proc/{pid}/maps").read_text()
    assert "site-packages" not in maps and "libcrypto" not in maps
    environ = Path(f"/proc/{pid}/environ").read_bytes()
    assert b"FOOTPLATE" not in environ
