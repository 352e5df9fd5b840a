"""How long a task waits before it is tried again: longer each time, never beyond the longest wait. Pure."""

from coordinator.constants import RETRY_FIRST, RETRY_GROWTH, RETRY_MOST


def wait_ms(tried: int) -> int:
    """``tried``: attempts that counted and came to nothing since the task was put in line, this one not among them.

    Milliseconds. Any number will do, also one that was never reached: the power is not worked out past the longest
    wait.
    """
    seconds = RETRY_FIRST
    for _ in range(max(0, tried)):
        if seconds >= RETRY_MOST:
            break
        seconds *= RETRY_GROWTH
    return int(min(seconds, RETRY_MOST) * 1000)
