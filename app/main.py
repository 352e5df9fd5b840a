"""The door: ``footplate``. What can be answered without loading anything is answered here, before any other import.

Nothing may be imported at the top of this file but ``sys``: half of what a person waits for is imports, and a shell
prompt that asks for ``--version`` should not wait for a console that it does not open.
"""

import sys

VERSION = "0.1.0"


def main() -> None:
    """Run the command line and leave with its exit code."""
    arguments = sys.argv[1:]
    if arguments in (["--version"], ["-V"]):
        _say(f"footplate {VERSION}\n")
    elif arguments in (["--help"], ["-h"], ["help"]):
        from app.cli.help_text import TOP

        _say(TOP)
    elif refused := no_home(sys.platform):
        sys.stderr.write(f"{refused}\n")
        sys.exit(1)
    else:
        if not arguments:
            splash()
        from app.collector import while_importing

        while_importing()
        from app.cli import exits

        exits.leave_with(lambda: _run(arguments))


def no_home(platform: str) -> str:
    """Why nothing of it can run on a system, told before what that system lacks is imported; '' where it can."""
    if platform in ("linux", "darwin"):
        return ""
    return "Footplate runs on Linux, and not on this system; on Windows, install and run it inside WSL 2."


def _run(arguments: list[str]) -> int:
    if not arguments:
        # What is opened most needs no parsing, and so does not wait for the parser.
        from app.cli.opening import open_console_here

        try:
            return open_console_here()
        finally:
            # It stands on the screen that comes back when the console has gone.
            unsplash()
    from app.cli.program import run
    from app.collector import at_work

    at_work()
    return run(arguments)


SPLASH = "footplate is opening…"


def splash() -> None:
    """Show at once that something happens: the console's own first frame is some hundred imports away."""
    if sys.stdin.isatty() and sys.stdout.isatty():
        _say(f"\r{SPLASH}\r")


def unsplash() -> None:
    if sys.stdin.isatty() and sys.stdout.isatty():
        _say(f"\r{' ' * len(SPLASH)}\r")


def _say(text: str) -> None:
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except (OSError, UnicodeEncodeError):
        # Whoever asked has gone, or cannot show it; there is nobody to tell.
        sys.stdout = None  # or the interpreter tries again at its exit, and complains


if __name__ == "__main__":
    main()
