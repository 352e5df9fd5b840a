"""What macOS tells, as bytes of the documented layout: packed here field by field, and read by ``darwin``."""

import ast
import ctypes
import fcntl
import inspect
import os
import socket
import struct
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from coordinator.supervisor import darwin, kernel, linux
from coordinator.supervisor.process import mark

COMM, NAME = b"node", b"node server"


def bsdinfo(*, status: int = 2, pid: int = 4711, parent: int = 812) -> bytes:
    """``struct proc_bsdinfo`` of sys/proc_info.h."""
    ids = struct.pack("=6I", 501, 20, 501, 20, 501, 20)
    head = struct.pack("=5I", 0x4000, status, 0, pid, parent) + ids + struct.pack("=I", 0)
    names = COMM.ljust(16, b"\0") + NAME.ljust(32, b"\0")
    tail = struct.pack("=5I", 9, pid, 1, 0xFFFFFFFF, 0) + struct.pack("=i", -5)
    return head + names + tail + struct.pack("=2Q", 1_790_000_000, 123_456)


def procargs(path: bytes, args: list[bytes], env: list[bytes], *, padding: int = 5) -> bytes:
    """What ``sysctl(KERN_PROCARGS2)`` gives: a count, path, padding, arguments, environment, the kernel's strings."""
    own = [b"", b"ptr_munge=", b"main_stack="]
    strings = b"".join(one + b"\0" for one in [*args, *env, *own])
    return struct.pack("=i", len(args)) + path + b"\0" * padding + strings


def test_the_sizes_are_those_of_the_headers() -> None:
    assert darwin.BSD.size == len(bsdinfo()) == 136
    assert darwin.SHORT.size == 64
    assert darwin.TASK.size == 96
    assert darwin.EVENT.size == 32
    assert darwin.CREDENTIALS.size == 76
    vnode_info = 4 + 2 + 2 + 8 + 4 + 4 + 8 * 8 + 8 + 8 + 4 * 4 + 2 * 8 + 4 + 4 + 8
    assert darwin.FOLDER_PATH.start == vnode_info and 2 * (vnode_info + 1024) == darwin.FOLDERS_BYTES


def test_a_process_is_read_from_its_bytes() -> None:
    facts = darwin.stat_from(bsdinfo(), 4700)
    assert facts is not None
    assert (facts.pid, facts.parent, facts.session, facts.state) == (4711, 812, 4700, "R")
    assert facts.ticks == 1_790_000_000_123_456 and not facts.dead


@pytest.mark.parametrize(("status", "state"), [(1, "I"), (2, "R"), (3, "S"), (4, "T"), (5, "Z")])
def test_its_state_is_a_letter_as_on_linux(status: int, state: str) -> None:
    facts = darwin.stat_from(bsdinfo(status=status), 0)
    assert facts is not None and facts.state == state and facts.dead == (state == "Z")


def test_of_another_users_process_the_start_is_not_told(libc: "Libc") -> None:
    ids = struct.pack("=8I", 0, 0, 0, 0, 0, 0, 0, 0)
    libc.info[4711, 13] = struct.pack("=4I", 4711, 812, 4711, 3) + b"sudo".ljust(16, b"\0") + ids
    facts = darwin.stat(4711)
    assert facts is not None and (facts.pid, facts.parent, facts.ticks, facts.state) == (4711, 812, 0, "S")
    assert darwin.name(4711) == "[sudo]" and not darwin.signal_exactly(4711, 0, (9,))


@pytest.mark.parametrize("cut", [0, 1, 135])
def test_half_an_answer_is_none(cut: int) -> None:
    assert darwin.stat_from(bsdinfo()[:cut], 0) is None


def test_arguments_and_environment_are_told_apart() -> None:
    env = [b"A=1", mark("n"), b"B="]
    path, args, rest = darwin.arguments_from(procargs(b"/opt/bin/node", [b"node", b"", b"-e"], env))
    assert (path, args) == (b"/opt/bin/node", [b"node", b"", b"-e"])
    assert rest[:3] == env and mark("n") in rest


def test_what_is_given_as_an_argument_is_no_environment() -> None:
    """Who looks for the nonce with grep does not carry it."""
    _, args, rest = darwin.arguments_from(procargs(b"/usr/bin/grep", [b"grep", mark("n")], []))
    assert mark("n") in args and mark("n") not in rest


def test_of_apples_own_programs_the_environment_is_left_out() -> None:
    whole = procargs(b"/bin/sleep", [b"sleep", b"600"], [])
    told = whole[: whole.index(b"600\0") + 4]
    assert darwin.arguments_from(told) == (b"/bin/sleep", [b"sleep", b"600"], [])


@pytest.mark.parametrize("raw", [b"", b"\0\0\0", struct.pack("=i", -1) + b"/x\0", struct.pack("=i", 9) + b"/x\0a\0"])
def test_any_bytes_are_read_without_trouble(raw: bytes) -> None:
    darwin.arguments_from(raw)


class Libc:
    """libc and libproc as far as they are called, by tables."""

    def __init__(self) -> None:
        self.info: dict[tuple[int, int], bytes] = {}
        self.pids: dict[tuple[int, int], list[int]] = {}
        self.args: dict[int, bytes] = {}
        self.watched: list[tuple[int, int, int]] = []
        self.gone: set[int] = set()
        self.asked: list[int] = []

    def proc_pidinfo(self, pid: int, flavor: int, arg: Any, buffer: Any, size: int) -> int:
        raw = self.info.get((pid, flavor), b"")
        self.asked.append(arg.value)
        ctypes.memmove(buffer, raw, len(raw))
        return len(raw)

    def proc_listpids(self, kind: int, of: int, buffer: Any, size: int) -> int:
        pids = self.pids.get((kind, of), [])[: size // 4]
        ctypes.memmove(buffer, (ctypes.c_int * len(pids))(*pids), 4 * len(pids))
        return 4 * len(pids)

    def sysctl(self, name: Any, n: int, buffer: Any, size: Any, new: Any, none: Any) -> int:
        assert list(name)[:2] == [1, 49] and n == 3
        raw = self.args.get(name[2])
        if raw is None:
            return -1
        ctypes.memmove(buffer, raw, len(raw))
        size._obj.value = len(raw)
        return 0

    def sysctlbyname(self, name: bytes, buffer: Any, size: Any, new: Any, none: Any) -> int:
        assert name == b"kern.bootsessionuuid"
        buffer.value = b"5F3C-1"
        return 0

    def kqueue(self) -> int:
        return os.eventfd(0)

    def kevent(self, queue: int, change: Any, n: int, events: Any, room: int, wait: Any) -> int:
        if not n:
            return 0
        pid, filter, flags, what, _, _ = struct.unpack("=QhHIqQ", change.raw)
        assert filter == -5 and flags == 0x21
        if pid in self.gone:
            return -1
        self.watched.append((queue, pid, what))
        return 0


@pytest.fixture
def libc(monkeypatch: pytest.MonkeyPatch) -> Libc:
    made = Libc()
    monkeypatch.setattr(darwin, "_libc", made)
    return made


def test_questions_are_asked_as_the_headers_say(libc: Libc) -> None:
    me = os.getpid()
    libc.info[me, 3] = bsdinfo(pid=me)
    libc.info[me, 4] = struct.pack("=6Q12i", 1 << 40, 7 << 20, *[0] * 4, *[0] * 12)
    libc.info[me, 9] = b"\0" * 152 + b"/Users/mara/src".ljust(1024, b"\0") + b"\0" * 1176
    libc.pids[1, 0] = [me, 1, 0]
    libc.pids[6, me] = [77]
    libc.args[me] = procargs(b"/opt/bin/node", [b"node", b"a\x1bb"], [mark("n")])
    facts = darwin.stat(me)
    assert facts is not None and facts.session == os.getsid(me)
    assert libc.asked[-1] == 1, "zombies are to be found too"
    assert darwin.rss_kb(me) == 7 << 10
    assert darwin.working_folder(me) == "/Users/mara/src" and darwin.working_folder(1) == ""
    assert darwin.all_pids() == [me, 1] and darwin.children(me) == [77]
    assert darwin.name(me) == "node a�b" and darwin.called(me) == {"node", "node server"}
    assert mark("n") in darwin.environment(me) and darwin.environment(1) == []
    assert darwin.boot_id() == "5F3C-1"


def test_all_processes_are_listed_however_many_there_are(libc: Libc) -> None:
    libc.pids[1, 0] = list(range(1, 9001))
    assert darwin.all_pids() == list(range(1, 9001))


def test_a_signal_goes_to_exactly_that_one(libc: Libc, monkeypatch: pytest.MonkeyPatch) -> None:
    sent: list[tuple[int, int]] = []
    monkeypatch.setattr(darwin, "os", SimpleNamespace(kill=lambda pid, n: sent.append((pid, n)), getsid=os.getsid))
    libc.info[4711, 3] = bsdinfo()
    libc.args[4711] = procargs(b"/x", [b"x"], [mark("n")])
    ticks = 1_790_000_000_123_456
    assert not darwin.signal_exactly(4711, ticks + 1, (9,)) and not darwin.kill_carrier(4711, "another")
    assert not darwin.signal_exactly(4712, ticks, (9,)) and not sent
    assert darwin.signal_exactly(4711, ticks, (15, 19)) and darwin.kill_carrier(4711, "n")
    assert sent == [(4711, 15), (4711, 19), (4711, 9)]
    libc.info[4711, 3] = bsdinfo(status=5)
    assert not darwin.signal_exactly(4711, ticks, (9,)) and len(sent) == 3


def test_who_has_ended_already_is_told_at_once(libc: Libc) -> None:
    libc.gone = {4711}
    handle = darwin.exit_handle(4711)
    assert os.read(handle, 1) == b"", "at its end: readable for whoever waits"
    os.close(handle)
    other = darwin.exit_handle(4712)
    assert [(pid, what) for _, pid, what in libc.watched] == [(4712, 0x80000000)]
    os.close(other)
    queue = darwin.queue()
    assert darwin.watch(queue, 4713) and not darwin.watch(queue, 4711)
    assert libc.watched[-1] == (queue, 4713, 0xC0000000) and darwin.drain(queue) == 0
    os.close(queue)


def test_the_other_end_of_a_socket() -> None:
    told = {1: struct.pack("=IIh2x16I", 0, 501, 1, 20, *[0] * 15), 2: 4711}

    def getsockopt(level: int, name: int, size: int = 0) -> object:
        assert level == 0
        return told[name]

    assert darwin.peer_of(SimpleNamespace(getsockopt=getsockopt)) == (4711, 501)  # type: ignore[arg-type]
    one, other = socket.socketpair()
    assert darwin.peer_of(one) == (0, -1), "an error is nobody of ours"
    one.close()
    other.close()


@pytest.mark.parametrize(("number", "full", "plain"), [(None, 1, 0), (25, 1, 1), (22, 1, 1)])
def test_a_sync_is_a_full_one_where_there_is_one(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, number: int | None, full: int, plain: int
) -> None:
    did: list[str] = []

    def control(fd: int, what: int) -> int:
        assert what == 51
        did.append("full")
        if number is not None:
            raise OSError(number, "no")
        return 0

    monkeypatch.setattr(darwin, "fcntl", SimpleNamespace(fcntl=control))
    monkeypatch.setattr(darwin, "os", SimpleNamespace(fsync=lambda fd: did.append("plain")))
    darwin.sync(3)
    assert (did.count("full"), did.count("plain")) == (full, plain)
    with pytest.raises(OSError, match="broken"):
        monkeypatch.setattr(darwin, "fcntl", SimpleNamespace(fcntl=_broken))
        darwin.sync(3)


def _broken(fd: int, what: int) -> int:
    raise OSError(5, "broken")


def test_room_is_set_aside_by_writing(tmp_path: Path) -> None:
    fd = os.open(tmp_path / "x", os.O_RDWR | os.O_CREAT)
    darwin.set_aside(fd, 300_000)
    assert os.fstat(fd).st_size == 300_000
    os.close(fd)
    assert fcntl.F_GETFD  # the module itself is there


def test_both_systems_answer_the_same_questions() -> None:
    def public(module: object) -> dict[str, object]:
        ours = {name for name in vars(module) if name.islower() and not name.startswith("_")}
        return {
            name: value
            for name in ours
            if callable(value := getattr(module, name)) and not inspect.isclass(value) and name not in ("mark", "shown")
        }

    for name, answer in public(linux).items():
        other = public(darwin).get(name)
        assert other is not None, name
        if inspect.isfunction(answer):
            assert inspect.signature(answer).parameters.keys() == inspect.signature(other).parameters.keys(), name  # type: ignore[arg-type]
    for name in ("FOLLOWS", "SOCKET_PATH_BYTES", "FOLDER", "SYNC"):
        assert type(getattr(linux, name)) is type(getattr(darwin, name)), name
    assert kernel.kernel is linux


def test_all_that_is_asked_is_answered_by_both() -> None:
    """Every ``kernel.NAME`` in the source is a name of both."""
    root = Path(kernel.__file__).parents[2]
    asked = {
        node.attr
        for part in ("app", "coordinator", "store")
        for file in (root / part).rglob("*.py")
        for node in ast.walk(ast.parse(file.read_text()))
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "kernel"
    }
    only_followed = {"queue", "watch", "drain"}
    assert asked > {"stat", "signal_exactly", "sync"}
    assert not [name for name in asked if not hasattr(darwin, name)]
    assert {name for name in asked if not hasattr(linux, name)} == only_followed
    assert sys.platform == "linux"
