"""The console told to go from outside: TERM, a hangup, a terminal that is gone. Its holds are left, or ended where the
configuration says so (``on_disconnect``).

On a thread of its own, because a screen whose terminal nobody reads stands still for good, and custody must not wait
for it. Ways out that the operator takes at the keyboard are ``app.console.stopping``; what stays held is said by
``opening``, once the terminal is given back.
"""

import contextlib
import os
import select
import signal
import termios
import threading
from collections.abc import Callable
from types import FrameType, TracebackType
from typing import Any, Self

from app.cli.exits import Code, Leave
from app.cli.watchdog import GIVEN_BACK
from app.wording_leaving import stays_held
from coordinator.api import Backend, CloseAll, Closed, LeaveAll, Left

SCREEN_SECONDS = 3.0
"""For a screen that is asked to close; after that the process ends without it."""

SIGNALS = (signal.SIGTERM, signal.SIGHUP)


class Departure:
    """Hears the signals while it is open.

    ``close_screen`` is set while there is a screen; it may be called from any thread, with the exit code. Where there
    is none yet, a signal ends what the main thread does by an exception, and the way out leaves or ends the holds.
    """

    def __init__(self, backend: Backend, *, leave: bool) -> None:
        self.close_screen: Callable[[int], object] | None = None
        self._backend = backend
        self._leave = leave
        self._over = threading.Event()
        self._told = threading.Lock()
        """Taken by the first that says to go, and never given back."""
        self._thread: threading.Thread | None = None
        self._modes = _modes()
        self.code: int | None = None
        """What came of it; None: nobody told it to go."""

    def __enter__(self) -> Self:
        self._before = {
            number: signal.signal(number, self._heard)
            for number in SIGNALS
            # Under nohup a hangup is nobody's wish.
            if signal.getsignal(number) is not signal.SIG_IGN
        }
        return self

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.screen_is_closed()
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def take_interrupts(self) -> None:
        """With a screen ``^C`` comes as a key, and INT is somebody's word to go, as TERM is. Python's own answer, an
        exception wherever it happens to be, would break into giving the terminal back."""
        if signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:
            signal.signal(signal.SIGINT, self._heard)
            # After the screen this process only ends. If the signal ended it, a script that started it would end too.
            self._before[signal.SIGINT] = signal.SIG_IGN

    def screen_is_closed(self) -> None:
        """From here on nobody is waited for; what was begun is brought to its end."""
        if self._thread is None and self._modes is not None and terminal_is_lost():
            # A shell that dies first takes the terminal along without a word to us.
            self.go()
        self._over.set()
        if self._thread is not None:
            self._thread.join()

    def watch_the_terminal(self) -> None:
        """Where a hangup is ignored, or goes to somebody else, only the terminal itself tells that it is gone."""
        if self._modes is not None:
            threading.Thread(target=self._until_hung_up, name="terminal", daemon=True).start()

    def _until_hung_up(self) -> None:
        look = select.poll()
        look.register(0, 0)  # no event is asked for: a hangup is told all the same
        if look.poll() and not self._over.is_set():
            self.go()

    def _heard(self, _number: int, _frame: FrameType | None) -> None:
        if self._over.is_set():
            return
        self.go()
        if self.close_screen is None:
            raise Leave(Code.UNREACHABLE, "")

    def go(self) -> None:
        """Once; a second signal hurries nothing, for nothing is waited for but what becomes of the holds."""
        if self._told.acquire(blocking=False):  # in one step: the next signal may come in the middle of this
            order = LeaveAll() if self._leave else CloseAll()
            self._thread = threading.Thread(target=self._go, args=(order,), name="departure", daemon=True)
            self._thread.start()

    def _go(self, order: LeaveAll | CloseAll) -> None:
        reply = self._backend.submit(order).result()
        self.code = int(Code.UNREACHABLE if isinstance(reply, Closed) and reply.unsettled else Code.DONE)
        close_screen = self.close_screen
        if self._over.is_set() or close_screen is None:
            return
        close_screen(self.code)
        if not self._over.wait(SCREEN_SECONDS):
            self._without_the_screen(reply)
            os._exit(self.code)

    def _without_the_screen(self, reply: object) -> None:
        """It stands still in a write that nobody reads. What can be said without waiting is said."""
        if self._modes is not None:
            with contextlib.suppress(termios.error):  # it went away: nobody is left to type into it
                termios.tcsetattr(0, termios.TCSANOW, self._modes)
        said = stays_held(reply.until, self._backend.snapshot().now) if isinstance(reply, Left) else []
        with contextlib.suppress(OSError):
            # A handle of its own: not to wait is a property of the open file, and that one is shared with the shell.
            handle = os.open(os.ttyname(1), os.O_WRONLY | os.O_NONBLOCK | os.O_NOCTTY)
            os.write(handle, (GIVEN_BACK + "".join(f"{one}\r\n" for one in said)).encode())


def terminal_is_lost() -> bool:
    """Whether the terminal that this process began on has gone away."""
    return _modes() is None


def _modes() -> Any:
    try:
        return termios.tcgetattr(0)
    except (termios.error, OSError, ValueError):
        return None
