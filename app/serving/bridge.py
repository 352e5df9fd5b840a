"""Between the web server and a console: a terminal of its own for the console, its bytes in the packets that
textual-serve speaks.

The console in the browser is the one of every terminal, with its own reading of keys: what keeps a cut sequence from
becoming an answer holds there too. A page that is closed is a terminal that hung up. Nothing is loaded
but the standard library and ``kernel``; one console for each process, which ends with it.
"""

import contextlib
import fcntl
import json
import os
import pty
import select
import signal
import struct
import sys
import termios
from collections.abc import Iterator

from coordinator.supervisor.kernel import kernel

READY = b"__GANGLION__\n"
"""With this line the server knows that packets follow."""
LARGEST = 16 * 1024 * 1024
"""Bytes of a packet; a larger one is no server's of ours."""
_READ = 65_536
_SIDES = (1, 2000)
_PATIENCE_MS = 15_000
"""For a console that was hung up on: it leaves what it holds, and says so in the ledger."""


class Packets:
    """Bytes of the server, cut into packets: a kind, four bytes of length, the rest."""

    def __init__(self) -> None:
        self._held = b""

    def feed(self, data: bytes) -> Iterator[tuple[bytes, bytes]]:
        """
        Raises:
            ValueError: this is no stream of packets.
        """
        self._held += data
        while len(self._held) >= 5:
            size = int.from_bytes(self._held[1:5], "big")
            if size > LARGEST or self._held[:1] not in (b"D", b"M"):
                raise ValueError("not a packet")
            if len(self._held) < 5 + size:
                return
            kind, body, self._held = self._held[:1], self._held[5 : 5 + size], self._held[5 + size :]
            yield kind, body


def packet(kind: bytes, body: bytes) -> bytes:
    """As the server reads it."""
    return kind + len(body).to_bytes(4, "big") + body


def size_of(told: object, columns: int, rows: int) -> tuple[int, int]:
    """Columns and rows as the page told them, where they make sense; else as they were."""
    if not isinstance(told, dict):
        return columns, rows
    wanted = (told.get("width"), told.get("height"))
    low, high = _SIDES
    return tuple(  # type: ignore[return-value]
        value if isinstance(value, int) and low <= value <= high else before
        for value, before in zip(wanted, (columns, rows), strict=True)
    )


def main() -> int:
    """Until the console ends, or the page is closed; the console's exit code."""
    columns, rows = size_of(
        {"width": _number("COLUMNS"), "height": _number("ROWS")},
        80,
        24,
    )
    child, master = pty.fork()
    if child == 0:
        for name in ("TEXTUAL_DRIVER", "TEXTUAL_FPS", "TEXTUAL_COLOR_SYSTEM", "COLUMNS", "ROWS", "LINES"):
            os.environ.pop(name, None)
        os.environ.update(TERM="xterm-256color", COLORTERM="truecolor")
        # -P: a repository with a folder called app must not be taken for ours.
        os.execv(sys.executable, [sys.executable, "-P", "-m", "app.main"])
    _resize(master, columns, rows)
    _write(1, READY)
    _carry(master, columns, rows)
    with contextlib.suppress(OSError):
        os.close(master)  # the terminal hangs up
    code = _ended(child)
    with contextlib.suppress(OSError):
        _write(1, packet(b"M", json.dumps({"type": "exit"}).encode()))
    return code


def _number(name: str) -> int:
    value = os.environ.get(name, "")
    return int(value) if value.isascii() and value.isdigit() and len(value) < 6 else 0


def _resize(master: int, columns: int, rows: int) -> None:
    fcntl.ioctl(master, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))


def _carry(master: int, columns: int, rows: int) -> None:
    packets = Packets()
    while True:
        readable, _, _ = select.select([0, master], [], [])
        if master in readable:
            try:
                said = os.read(master, _READ)
            except OSError:
                return  # the console has ended
            if not said:
                return
            try:
                _write(1, packet(b"D", said))
            except OSError:
                return
        if 0 in readable:
            data = os.read(0, _READ)
            if not data:
                return
            for kind, body in packets.feed(data):
                if kind == b"D":
                    _write(master, body)
                    continue
                told = json.loads(body)
                if told.get("type") == "resize":
                    columns, rows = size_of(told, columns, rows)
                    _resize(master, columns, rows)
                elif told.get("type") == "quit":
                    return


def _write(handle: int, data: bytes) -> None:
    while data:
        data = data[os.write(handle, data) :]


def _ended(child: int) -> int:
    """Its exit code, waited for; one that does not go is killed, and its keepers hold on without it."""
    handle = kernel.exit_handle(child)
    poll = select.poll()
    poll.register(handle, select.POLLIN)
    if not poll.poll(_PATIENCE_MS):
        with contextlib.suppress(ProcessLookupError):
            os.kill(child, signal.SIGKILL)
    os.close(handle)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # ^C in the server's terminal is the server's
    sys.exit(abs(main()))
