"""What holds for every test: Hypothesis takes the same examples each time, and new ones only when asked (``make
soak``); signals mean what they mean to somebody at a terminal, though the tests be started where some are ignored
(``nohup``, a job in the background)."""

import os
import signal

from hypothesis import HealthCheck, settings

settings.register_profile(
    "steady", derandomize=True, deadline=None, database=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.register_profile("soak", max_examples=2000, deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "steady"))

for given in (signal.SIGINT, signal.SIGQUIT, signal.SIGHUP):
    # What is ignored here would be ignored by every program that a test starts.
    if signal.getsignal(given) is signal.SIG_IGN:
        signal.signal(given, signal.default_int_handler if given is signal.SIGINT else signal.SIG_DFL)
