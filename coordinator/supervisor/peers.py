"""The socket: who may speak, frames in and out, and a console that does not read.

Outgoing spool bytes are read from the file when there is room and credit for them, so nothing is queued for a console
that stands still; answers are small, and a peer that lets a megabyte of them lie is dropped. What a verb means is
decided by the worker.
"""

from __future__ import annotations

import os
import socket
import time
from _operator import _compare_digest
from collections.abc import Callable

from . import kin
from .kernel import kernel
from .loop import Loop
from .spool import Spool
from .wireformat import WIRE_VERSION, BrokenFrame, FrameReader, frame

SOCKET = "s"
_BACKLOG = 1 << 20
_SLICE = 256 * 1024
_HELLO_SECONDS = 5.0
_MOST_PEERS = 32
_MOST_INSIDE = 4
"""Of those at most from within the agent's tree: it must not be able to shut its console out."""
_FROM_INSIDE = ("hello", "status", "fence", "kill")
"""An agent is never its own operator: it may look, and it may stop."""

Head = dict[str, object]


def address(folder: int, path: str) -> str:
    """A path that fits in a socket address: the plain one, or through the folder's open handle."""
    plain = f"{path}/{SOCKET}"
    short = len(os.fsencode(plain)) <= kernel.SOCKET_PATH_BYTES
    return plain if short else kernel.below(folder, SOCKET) or plain


class Peer:
    """One connection."""

    def __init__(self, peers: Peers, sock: socket.socket, inside: bool) -> None:
        self._peers = peers
        self.sock = sock
        self.inside = inside
        """From within the agent's tree, or not to be told from such a one."""
        self.frames = FrameReader()
        self.out = bytearray()
        self.greeted = False
        self.version: object = None
        self.attached = False
        self.offset = 0
        self.credit = 0
        self.closed = False
        self.since = time.monotonic()

    def answer(self, n: object, ok: bool, **facts: object) -> None:
        """Answer the request with this number."""
        if not self.closed:
            self.out += frame({"re": n, "ok": ok, **facts})
            self.flush()

    def flush(self) -> None:
        """Send what there is room for."""
        if self.closed:
            return
        try:
            while True:
                if len(self.out) < _SLICE and self.attached:
                    self._refill()
                if not self.out:
                    break
                n = self.sock.send(self.out)
                del self.out[:n]
        except BlockingIOError:
            if len(self.out) > _BACKLOG:
                self.close()
                return
        except OSError:
            self.close()
            return
        self._peers.loop.writer(self.sock.fileno(), self.flush if self.out else None)

    def _refill(self) -> None:
        spool = self._peers.spool
        most = min(_SLICE, self.credit - self.offset)
        if most > 0 and self.offset < spool.good:
            data = spool.read(self.offset, most)
            self.out += frame({"spool": self.offset}, data)
            self.offset += len(data)

    def ready(self) -> None:
        """There is something to read, or the peer is gone."""
        try:
            data = self.sock.recv(_SLICE)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if not data:
            self.close()
            return
        try:
            frames = self.frames.feed(data)
        except BrokenFrame:
            self.close()
            return
        for head, body in frames:
            if self.closed:  # dropped by a higher epoch: its unread bytes go with it
                return
            self._peers.take(self, head, body)

    def close(self) -> None:
        """Drop the connection with all that is unread in it."""
        if self.closed:
            return
        self.closed = True
        self._peers.loop.forget(self.sock.fileno())
        self.sock.close()
        self._peers.left(self)


class Peers:
    """The listener and its connections."""

    def __init__(
        self,
        loop: Loop,
        listener: socket.socket,
        spool: Spool,
        *,
        cookie: str,
        ourselves: frozenset[int],
        nonce: str,
        knows: Callable[[int], bool] | None,
        verb: Callable[[Peer, str, Head, bytes], None],
        detached: Callable[[], None],
    ) -> None:
        """``knows``: whether one is of the agent's tree though none of its ancestors shows it."""
        self.loop = loop
        self.spool = spool
        self._listener = listener
        self._cookie = cookie.encode()
        self._ourselves = ourselves
        self._nonce = nonce
        self._knows = knows
        self._verb = verb
        self._detached = detached
        self._all: set[Peer] = set()
        self.attached: Peer | None = None
        loop.reader(listener.fileno(), self._accept)

    def _accept(self) -> None:
        try:
            sock, _ = self._listener.accept()
        except OSError:
            return
        pid, ours = self._of(sock)
        inside = ours and self._inside(pid)
        if not ours:
            why = "not-ours"
        elif len(self._all) >= _MOST_PEERS or (inside and sum(peer.inside for peer in self._all) >= _MOST_INSIDE):
            why = "too-many"
        else:
            why = None
        sock.setblocking(False)
        if why is not None:
            try:
                sock.send(frame({"re": None, "ok": False, "why": why}))
            except OSError:
                pass
            sock.close()
            return
        peer = Peer(self, sock, inside)
        self._all.add(peer)
        self.loop.reader(sock.fileno(), peer.ready)

    def _of(self, sock: socket.socket) -> tuple[int, bool]:
        """Its pid, and whether it is of our user."""
        pid, uid = kernel.peer_of(sock)
        return pid, uid == os.geteuid()

    def _inside(self, pid: int) -> bool:
        # Whose line cannot be followed may be a child of the agent that has handed the connection on.
        if self._knows is not None and self._knows(pid):
            return True
        return pid <= 0 or kin.descends_from(pid, self._ourselves) is not False or kin.carries(pid, self._nonce)

    def take(self, peer: Peer, head: Head, body: bytes) -> None:
        """A frame came."""
        verb, n = head.get("verb"), head.get("n")
        if peer.inside and verb not in _FROM_INSIDE:
            peer.answer(n, False, why="inside-a-hold")
        elif peer.greeted:
            self._verb(peer, str(verb), head, body)
        elif verb == "hello" and _compare_digest(str(head.get("cookie")).encode(), self._cookie):
            peer.greeted = True
            peer.version = head.get("v")
            peer.answer(n, True, version=WIRE_VERSION)
        else:
            peer.answer(n, False, why="cookie")
            peer.close()

    def attach(self, peer: Peer) -> None:
        """This one now; the one before is dropped before the new one hears of it."""
        before = self.attached
        if before is not None and before is not peer:
            before.close()
        self.attached = peer
        peer.attached = True

    def left(self, peer: Peer) -> None:
        """A connection is gone."""
        self._all.discard(peer)
        if self.attached is peer:
            self.attached = None
            self._detached()

    def pump(self) -> None:
        """New records are in the spool."""
        if self.attached is not None and not self.attached.out:
            self.attached.flush()

    def silent_until(self) -> float | None:
        """When the first that has not said hello is dropped."""
        times = [peer.since + _HELLO_SECONDS for peer in self._all if not peer.greeted]
        return min(times) if times else None

    def drop_silent(self, now: float) -> None:
        """Who has not said hello in time."""
        for peer in list(self._all):
            if not peer.greeted and now >= peer.since + _HELLO_SECONDS:
                peer.close()

    def close(self) -> None:
        """At the end."""
        self.loop.forget(self._listener.fileno())
        self._listener.close()
        for peer in list(self._all):
            peer.flush()
            peer.close()
