"""A page on the web before it is opened: its whole address, and its host by itself. An agent wrote it."""

from urllib.parse import urlsplit

from app.console.screens.asking import Asking
from app.console.views.glyphs import Glyphs
from app.console.views.ink import Line, Span, literal, wrap
from store.vocab import Millis

OPTIONS = (("y", "open it in your browser", "yes"), ("Esc", "back", "back"))


class OpenLink(Asking):
    def __init__(self, address: str, glyphs: Glyphs, now: Millis) -> None:
        super().__init__("Open this link? An agent wrote its address.", OPTIONS, glyphs, now)
        self.address = address

    def prepare(self) -> None:
        super().prepare()
        rows: list[Line] = [(Span(row, "bright"),) for row in wrap(literal(self.address), self.room)]
        rows += [(), (Span("on the host ", "grey"), Span(literal(host_of(self.address)), "amber strong"))]
        self.list.put(tuple(rows))


def host_of(address: str) -> str:
    """The host that would be asked: not what stands before an @ to look like one."""
    try:
        return urlsplit(address).hostname or "none"
    except ValueError:
        return "none that can be read"
