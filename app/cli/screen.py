"""The one place of the command line that loads Textual: from the configuration to the console's options, and run it."""

import os
from collections.abc import Mapping
from pathlib import Path

from app.config import Config
from coordinator.api import Backend
from coordinator.clock import RealClock


def run_console(
    backend: Backend,
    config: Config,
    *,
    repository: Path,
    agent: str | None = None,
    preset: str | None = None,
    brief: str = "",
    environ: Mapping[str, str] | None = None,
) -> int:
    """Until the operator leaves; the exit code."""
    from app.console.app import FootplateApp
    from app.console.options import ConsoleOptions

    around = os.environ if environ is None else environ
    remote = any(around.get(name) for name in ("SSH_TTY", "SSH_CONNECTION"))
    options = ConsoleOptions(
        repository=str(repository),
        ascii=config.ascii,
        theme=config.theme,
        agent=agent or config.agent,
        preset=preset or config.preset,
        brief=brief,
        home=str(Path.home()),
        keymap=config.keys,
        # A slow line tears an escape sequence into two: over it, Esc Esc is no wish of anybody's.
        escape_twice=not remote,
        now=RealClock().now,
    )
    console = FootplateApp(backend, options)
    result = console.run(mouse=config.mouse)
    # run() does not raise when the screen broke; only its return code tells.
    return result if isinstance(result, int) and not console.return_code else console.return_code or 0
