"""The console in a browser on this machine: textual-serve's page and websocket, at an address that nobody can guess.

The only file that imports textual-serve, which is an extra. Everything lies under the token, so that no cookie is set
that other servers on this machine would be sent, and a page from elsewhere can neither name the websocket nor be shown
its answers. The page loads nothing from anywhere but here.
"""

import shlex
import socket
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path

from aiohttp import web
from textual_serve.server import Server

PAGE = Path(__file__).parent / "page"
COMMAND = shlex.join([sys.executable, "-P", "-m", "app.serving.bridge"])
_ENDING_SECONDS = 20.0
"""For consoles in open pages to leave what they hold."""

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


class Consoles(Server):
    """textual-serve's server, with our page and without its greeting."""

    def __init__(self, address: str, title: str) -> None:
        super().__init__(COMMAND, title=title, public_url=address, templates_path=PAGE)

    async def on_startup(self, app: web.Application) -> None:
        """Nothing is printed: the command has said where it is."""


async def application(host: str, port: int, token: str, title: str) -> web.Application:
    """Everything that is served. ``host``: as it stands in the address."""
    place = f"{host}:{port}"
    address = f"http://{place}"

    @web.middleware
    async def guard(request: web.Request, handler: Handler) -> web.StreamResponse:
        # A name that somebody else made point to this machine is no address of ours.
        if request.host != place:
            raise web.HTTPForbidden(text="This address is not served here.\n")
        if request.headers.get("Origin", address) != address:
            raise web.HTTPForbidden(text="Only the page itself may ask for this.\n")
        return await handler(request)

    async def head(_request: web.Request, response: web.StreamResponse) -> None:
        response.headers.update(
            {
                "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; "
                f"font-src 'self' data:; img-src 'self' data:; connect-src ws://{place}; "
                "base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
                "Referrer-Policy": "no-referrer",
                "X-Content-Type-Options": "nosniff",
                "Cache-Control": "no-store",
            }
        )

    outer = web.Application(middlewares=[guard])
    outer.on_response_prepare.append(head)
    outer.add_subapp(f"/{token}", await Consoles(address, title)._make_app())
    return outer


def run(listening: socket.socket, host: str, token: str, title: str) -> None:
    """Until ^C or a TERM; consoles in pages that are open are told that their terminal is gone."""
    port = int(listening.getsockname()[1])
    web.run_app(
        application(host, port, token, title),
        sock=listening,
        shutdown_timeout=_ENDING_SECONDS,
        print=None,
        access_log=None,
        handler_cancellation=True,
    )
