"""A supervisor that runs on Linux and has no more than macOS would give it: no subreaper, no parent-death signal, no
pidfd, no environment of the system's own shells. ``python -I -S`` this file, as the supervisor's own first file.

What a kqueue tells is played by looking often. It proves nothing of a Mac; it proves that keeper, worker and guard end
what they hold with what is left to them.
"""

import os
import signal
import sys
from collections.abc import Iterable
from pathlib import Path

REAL = Path(__file__).resolve().parents[2] / "coordinator" / "supervisor"
HIDDEN = ("sleep", "sh", "dash", "bash")


def _load() -> int:
    package = type(sys)("supervisor")
    package.__path__ = [str(REAL)]
    sys.modules["supervisor"] = package
    import supervisor.linux as linux  # type: ignore[import-not-found]

    played = type(sys)("supervisor.darwin")
    played.__dict__.update({name: value for name, value in vars(linux).items() if not name.startswith("__")})

    def environment(pid: int) -> list[bytes]:
        return [] if linux.called(pid) & set(HIDDEN) else linux.environment(pid)

    def die_with_parent(number: int, parent: int) -> bool:
        return os.getppid() == parent

    def signal_exactly(pid: int, ticks: int, numbers: Iterable[int]) -> bool:
        facts = linux.stat(pid)
        if facts is None or facts.ticks != ticks or facts.dead:
            return False
        for number in numbers:
            os.kill(pid, number)
        return True

    def kill_carrier(pid: int, nonce: str) -> bool:
        facts = linux.stat(pid)
        if facts is None or linux.mark(nonce) not in environment(pid):
            return False
        return signal_exactly(pid, facts.ticks, (signal.SIGKILL,))

    queues: list[int] = []

    def queue() -> int:
        queues.append(os.eventfd(0))
        return queues[-1]

    played.__dict__.update(
        FOLLOWS=True,
        become_subreaper=lambda: None,
        die_with_parent=die_with_parent,
        environment=environment,
        signal_exactly=signal_exactly,
        kill_carrier=kill_carrier,
        queue=queue,
        watch=lambda queue, pid: True,
        drain=lambda queue: 0,
    )
    seam = type(sys)("supervisor.kernel")
    seam.__dict__["kernel"] = played
    sys.modules.update({"supervisor.darwin": played, "supervisor.kernel": seam})
    package.__dict__.update(darwin=played, kernel=seam)
    import supervisor.follower as follower  # type: ignore[import-not-found]

    follower._LOOK_SECONDS = 0.1
    follower._LAUNCHD = int(os.environ.get("PLAYED_LAUNCHD", "1"))
    part = "guard" if sys.argv[1:2] == ["guard"] else "birth"
    return int(__import__(f"supervisor.{part}", fromlist=["main"]).main())


if __name__ == "__main__":
    sys.exit(_load())
