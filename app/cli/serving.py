"""``serve``: the console in a browser, on this machine and for whoever has the address.

It refuses to be reached from anywhere else: a console is a shell in all but name.
"""

from typing import Annotated

import typer

LOOPBACK = {"127.0.0.1": "127.0.0.1", "localhost": "127.0.0.1", "::1": "[::1]"}
"""Addresses that it may have, and as they stand in a link."""


def add_to(program: typer.Typer) -> None:
    program.command("serve")(serve)


def serve(
    port: Annotated[int, typer.Option(min=0, max=65535, help="Where; 0 takes any that is free.")] = 8470,
    host: Annotated[str, typer.Option(help="127.0.0.1 or ::1; no other.")] = "127.0.0.1",
    repo: Annotated[str, typer.Option(metavar="DIR", help="The repository that it opens in.")] = ".",
) -> None:
    """The console in a browser, on this machine alone; needs textual-serve."""
    import os
    import secrets
    import socket

    from app.cli import opening, printing
    from app.cli.exits import Code, Leave, usage
    from app.cli.surroundings import surroundings

    if host not in LOOPBACK:
        raise usage(
            f"--host {host!r} is not this machine alone (127.0.0.1, ::1): who reaches a console can do what you can. "
            f"From elsewhere, go through ssh: ssh -L {port}:127.0.0.1:{port} this-machine."
        )
    try:
        from app.serving import server
    except ImportError as problem:
        raise Leave(
            Code.REFUSED,
            "The console in a browser needs one more package beside Footplate: pip install textual-serve, or "
            "pipx inject footplate textual-serve.",
        ) from problem
    repository = opening.repository_path(repo)
    opening.refuse_inside_a_hold(surroundings(), "open")
    shown = LOOPBACK[host]
    listening = socket.socket(socket.AF_INET6 if ":" in shown else socket.AF_INET)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((shown.strip("[]"), port))
        listening.listen()  # before the address is said: whoever opens it at once is not turned away
    except OSError as problem:
        reason = (problem.strerror or str(problem)).lower()
        raise Leave(Code.REFUSED, f"Port {port} cannot be had: {reason}; --port 0 takes any that is free.") from problem
    os.chdir(repository)
    token = secrets.token_urlsafe(32)
    printing.told(f"http://{shown}:{listening.getsockname()[1]}/{token}/")
    printing.told(
        "Whoever has this address can do here what you can do. ^C ends it; what is held stays held for a while."
    )
    server.run(listening, shown, token, f"footplate {printing.one_line(repository.name, 60)}")
