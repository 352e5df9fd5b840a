"""How many interleavings one run of the tests tries, and how they are spread over its processes.

``make test`` takes ``TAKEN`` examples of the stateful machines, the same ones each time: those of a part hang on its
name alone (Hypothesis makes the seed of a class that has no source of its own from its name). ``make soak`` takes
``SOAKED`` times as many, and new ones.
"""

import os

from hypothesis import Phase, settings as hypothesis_settings
from hypothesis.stateful import RuleBasedStateMachine

TAKEN = {"machine": 2_000, "books": 240, "books on disk": 40, "moves": 260, "queue": 160}
"""Examples of each stateful machine in ``make test``: 2,700, of up to 40 steps, each followed by every invariant."""
SOAKED = 10
SLOW = (Phase.shrink, Phase.explain)


def parts(
    machine: type[RuleBasedStateMachine], name: str, *, into: int, steps: int, shrink: bool = True
) -> dict[str, type[RuleBasedStateMachine.TestCase]]:
    """Test cases by name, each with its share of the examples, so that no process has them all.

    Without ``shrink`` a failure is shown as it was found: where a step is slow, the smaller one would come too late.
    """
    times = SOAKED if os.environ.get("HYPOTHESIS_PROFILE") == "soak" else 1
    made = {}
    for number in range(1, into + 1):
        part = type(f"{machine.__name__}{number}", (machine,), {"__module__": machine.__module__})
        case = part.TestCase
        case.settings = hypothesis_settings(
            max_examples=TAKEN[name] * times // into,
            stateful_step_count=steps,
            phases=[phase for phase in Phase if phase not in ((Phase.explain,) if shrink else SLOW)],
        )
        made[f"Test{part.__name__}"] = case
    return made
