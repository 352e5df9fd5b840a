"""Agents that do what no agent should, one a mode. Standard library only: ``python -I -S misbehaving.py MODE …``.

Each says ``ready`` on stdout once its mischief is done, so that a test never waits for a time.
"""

import fcntl
import json
import os
import signal
import socket
import struct
import sys
import termios
import time
from pathlib import Path


def say(text: str) -> None:
    os.write(1, text.encode() + b"\n")


def forever() -> None:
    while True:
        time.sleep(1000)


def ignore_all() -> None:
    for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
        signal.signal(number, signal.SIG_IGN)


def tell_up(pipe: int) -> None:
    os.write(pipe, b".")


def echo() -> None:
    say("ready")
    for line in sys.stdin:
        if line.strip() == "bye":
            say("farewell heard")
            sys.exit(0)
        say("heard " + line.strip())


def quiet_end() -> None:
    """Ends by itself with a code, leaving a child behind."""
    if os.fork() == 0:
        os.setsid()
        forever()
    say("ready")
    sys.exit(3)


def deaf() -> None:
    """Reads nothing, obeys nothing but KILL."""
    ignore_all()
    say("ready")
    forever()


def daemon() -> None:
    """A tool that leaves: new session, twice forked, environment cleared, its parent gone; the agent goes on."""
    read, write = os.pipe()
    os.set_inheritable(write, True)
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            os.execve(sys.executable, [sys.executable, "-I", "-S", __file__, "up", str(write)], {})
        os._exit(0)
    os.wait()
    os.close(write)
    os.read(read, 1)
    say("ready")
    for _ in sys.stdin:
        pass


def up() -> None:
    """What ``daemon`` leaves behind."""
    ignore_all()
    null = os.open(os.devnull, os.O_RDWR)
    for fd in (0, 1, 2):
        os.dup2(null, fd)
    tell_up(int(sys.argv[2]))
    forever()


def stopped() -> None:
    """A tool that is stopped and would obey TERM if it ran."""
    pid = os.fork()
    if pid == 0:
        os.kill(os.getpid(), signal.SIGSTOP)
        forever()
    os.waitpid(pid, os.WUNTRACED)
    say("ready")
    for _ in sys.stdin:
        pass
    forever()


def wide() -> None:
    read, write = os.pipe()
    n = int(sys.argv[2])
    for _ in range(n):
        if os.fork() == 0:
            os.setsid()
            tell_up(write)
            forever()
    got = 0
    while got < n:
        got += len(os.read(read, n))
    say("ready")
    forever()


def deep() -> None:
    read, write = os.pipe()
    for _ in range(int(sys.argv[2])):
        if os.fork() != 0:
            break
        os.setsid()
    else:
        tell_up(write)
        forever()
    if os.getppid() == int(os.environ["WORKER"]):
        os.read(read, 1)
        say("ready")
    forever()


def breeder() -> None:
    """Forks without pause and leaves the parent each time: no look at it is ever up to date."""
    say("ready")
    if os.fork() == 0:
        while True:
            if os.fork():
                os._exit(0)
            time.sleep(0.0005)  # quicker than any look, slower than the limit of processes
    forever()


def storm() -> None:
    """So many that fork again and again, each child in a session of its own; one whose parent is killed takes over
    from it. Never more than two for each that there were at first."""
    read, write = os.pipe()
    n = int(sys.argv[2])
    for _ in range(n):
        if os.fork() == 0:
            tell_up(write)
            keep_forking()
    got = 0
    while got < n:
        got += len(os.read(read, n))
    say("ready")
    forever()


def keep_forking() -> None:
    ignore_all()
    while True:
        parent = os.getpid()
        pid = os.fork()
        if pid == 0:
            os.setsid()
            time.sleep(0.01)  # its parent leaves first
            if os.getppid() == parent:
                os._exit(0)
        else:
            os.waitpid(pid, 0)


def waiting_on_tty() -> None:
    """Tools at a terminal: one waits for a line that never comes, one was stopped for reading in the background."""
    master, slave = os.openpty()
    read, write = os.pipe()
    leader = os.fork()
    if leader == 0:
        ignore_all()
        os.setsid()
        fcntl.ioctl(slave, termios.TIOCSCTTY, 0)
        background = os.fork()
        if background == 0:
            os.setpgid(0, 0)
            os.read(slave, 1)
            forever()
        os.waitpid(background, os.WUNTRACED)  # the terminal stopped it: it does not belong to the foreground
        tell_up(write)
        os.read(slave, 1)
        forever()
    os.read(read, 1)
    say("ready")
    for _ in sys.stdin:
        pass
    os.read(master, 1)
    forever()


def long_line() -> None:
    say("ready")
    left = int(sys.argv[2])
    block = b"x" * 65536
    while left > 0:
        left -= os.write(1, block[: min(left, 65536)])
    os.write(1, b"\nafter\n")
    forever()


def chatter() -> None:
    """Lines without end."""
    say("ready")
    line = b"y" * 1000 + b"\n"
    while True:
        os.write(1, line * 60)


def count() -> None:
    """So many numbered lines, then an end."""
    for i in range(int(sys.argv[2])):
        os.write(1, b"line %d\n" % i)
    os.write(2, b"done\n")


def inside() -> None:
    """Tries to order its own supervisor about, with the right cookie: each verb that there is, the last one a stop."""
    folder = sys.argv[2]
    cookie = Path(folder, "cookie").read_text()
    sock = socket.socket(socket.AF_UNIX)
    sock.connect(folder + "/s")
    orders: list[dict[str, object]] = [{"verb": "hello", "v": 1, "cookie": cookie}]
    orders += [{"verb": "attach", "epoch": 99, "offset": 0, "upto": 1 << 20}]
    orders += [{"verb": verb, "id": "t", "generation": 2} for verb in sys.argv[3].split(",")]
    for n, order in enumerate(orders):
        head = json.dumps({**order, "n": n}).encode()
        sock.sendall(struct.pack("!II", len(head), 1) + head + b"x")
        say(f"answer to {order['verb']}: {sock.recv(65536)[8:].decode()}")
    more = [socket.socket(socket.AF_UNIX) for _ in range(40)]
    for one in more:  # as many as it can get, so that nobody else gets one
        one.connect(folder + "/s")
    say("asked")
    for _ in sys.stdin:
        head = json.dumps({"verb": "fence", "n": 99, "reason": "stopped"}).encode()
        sock.sendall(struct.pack("!II", len(head), 0) + head)
    forever()


def environment() -> None:
    """Says what it was given."""
    say(json.dumps(dict(os.environ)))
    say(json.dumps({"session": os.getsid(0) == os.getpid(), "group": os.getpgid(0) == os.getpid()}))
    say(json.dumps(sorted(int(fd.name) for fd in Path("/proc/self/fd").iterdir())))
    signals = [int(signal.getsignal(n) == signal.SIG_IGN) for n in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT)]
    say(json.dumps(signals))
    forever()


def terminal() -> None:
    signal.signal(signal.SIGWINCH, lambda *_: say(f"now {os.get_terminal_size(0)}"))
    say(f"tty {os.isatty(0)} {os.get_terminal_size(0)}")
    for line in sys.stdin:
        say("heard " + line.strip())
    say("end of file")


if __name__ == "__main__":
    globals()[sys.argv[1]]()
