"""How often Python looks for garbage in circles; all other garbage is let go at once."""

import gc


def while_importing() -> None:
    """What imports make is no garbage, and looking for some in it took a sixth of their time (measured)."""
    gc.set_threshold(100_000, 20, 50)


def at_work() -> None:
    """For a process that may go on for days."""
    gc.set_threshold(10_000, 20, 50)


def behind_a_screen() -> None:
    """Half the tail from key to paint is the collector walking what never dies: all that is there by now
    (performance.md)."""
    gc.freeze()
    at_work()
