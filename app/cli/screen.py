"""The one place of the command line that loads Textual: from the configuration to the console's options, and run it."""

import os
import shutil
from collections.abc import Mapping
from pathlib import Path

from app.cli.departing import Departure
from app.cli.watchdog import Watchdog
from app.config import Config
from app.paths import find
from coordinator import profiles
from coordinator.api import Backend
from coordinator.clock import RealClock
from store.refusal import Refusal
from store.vocab import RunId

ESCAPE_DELAY = "FOOTPLATE_ESCAPE_DELAY"


def tell_escape_delay(config: Config) -> None:
    """Textual reads it once, at its import, which must come after this; ``before_textual`` takes it from here."""
    if config.escape_delay is not None:
        os.environ[ESCAPE_DELAY] = str(config.escape_delay)


def run_console(
    backend: Backend,
    config: Config,
    departure: Departure,
    *,
    repository: Path,
    agent: str | None = None,
    preset: str | None = None,
    brief: str = "",
    run: RunId | None = None,
    tour: bool = False,
    environ: Mapping[str, str] | None = None,
) -> int:
    """Until the operator leaves; the exit code. ``tour``: begin with the six keys."""
    tell_escape_delay(config)
    from app.console.app import FootplateApp
    from app.console.options import ConsoleOptions

    around = os.environ if environ is None else environ
    remote = any(around.get(name) for name in ("SSH_TTY", "SSH_CONNECTION"))
    options = ConsoleOptions(
        repository=str(repository),
        ascii=config.ascii,
        theme=config.theme,
        no_color=bool(around.get("NO_COLOR")),
        agent=agent or config.agent,
        preset=preset or config.preset,
        brief=brief,
        run=run,
        preamble=config.preamble,
        announce=config.announce,
        home=str(Path.home()),
        keymap=config.keys,
        # A slow line tears an escape sequence into two: over it, Esc Esc is no wish of anybody's.
        escape_twice=not remote,
        notify=config.notify,
        told_file=find(around).notices,
        tour=tour,
        toured=find(around).toured,
        to_get=_to_get(around),
        ledger=find(around).ledger,
        spool=find(around).spool,
        now=RealClock().now,
    )
    console = FootplateApp(backend, options)
    departure.close_screen = lambda code: console.call_later(console.exit, code)
    departure.take_interrupts()
    departure.watch_the_terminal()
    try:
        with Watchdog():
            result = console.run(mouse=config.mouse)
    finally:
        departure.screen_is_closed()
    if departure.code is not None:
        return departure.code
    if console.broken is not None:
        # Raised only here, where the terminal is given back: run() itself never raises.
        raise console.broken
    return result if isinstance(result, int) else 0


def _to_get(environ: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    """Agents and the command that gets each, where there is none on this machine. Looks at PATH, and starts nothing."""
    loaded = profiles.load(find(environ).agents_file, environ)
    if isinstance(loaded, Refusal):
        return ()
    path = environ.get("PATH", os.defpath)
    found = tuple((one.title or one.name, one.install) for one in profiles.to_get(loaded, path))
    if found and shutil.which("npm", path=path) is None:
        return (("first npm", "apt install npm, or what your system has for it"), *found)
    return found


def run_review(ledger: Path, config: Config, environ: Mapping[str, str] | None = None) -> tuple[int, Refusal | None]:
    """A review of a ledger until the operator leaves: the exit code, or why there was nothing to look at."""
    tell_escape_delay(config)
    from app.console.options import ConsoleOptions
    from app.console.review.app import ReviewApp

    around = os.environ if environ is None else environ
    options = ConsoleOptions(
        ascii=config.ascii,
        theme=config.theme,
        no_color=bool(around.get("NO_COLOR")),
        home=str(Path.home()),
        keymap=config.keys,
        now=RealClock().now,
    )
    app = ReviewApp(ledger, options)
    with Watchdog():
        result = app.run(mouse=config.mouse)
    if app.broken is not None:
        # Raised only here, where the terminal is given back: run() itself never raises.
        raise app.broken
    return result if isinstance(result, int) else 0, app.refusal
