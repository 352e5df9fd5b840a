"""The signs of the console, and their ASCII stand-ins for terminals in which the others are two cells wide."""

from msgspec import Struct

from coordinator.api import Group


class Glyphs(Struct, frozen=True, kw_only=True):
    needs: str = "◆"
    move: str = "◇"
    working: str = "●"
    idle: str = "○"
    ended: str = "■"
    done: str = "✓"
    full: str = "━"
    empty: str = "╌"
    bar: str = "▏"
    prompt: str = "›"
    dot: str = "·"
    rule: str = "─"
    minus: str = "−"
    more: str = "▸"
    pin: str = "▴"
    waiting_key: str = "^O"
    """The key to what waits, and to all commands: as this operator has them."""
    commands_key: str = "^P"

    def of(self, group: Group) -> str:
        return {
            Group.NEEDS_YOU: self.needs,
            Group.YOUR_MOVE: self.move,
            Group.WORKING: self.working,
            Group.IDLE: self.idle,
            Group.ENDED: self.ended,
        }[group]


UNICODE = Glyphs()
ASCII = Glyphs(
    needs="!",
    move=">",
    working="*",
    idle="o",
    ended="#",
    done="+",
    full="=",
    empty=".",
    bar="|",
    prompt=">",
    dot="-",
    rule="-",
    minus="-",
    more=">",
    pin="^",
)

INK_OF: dict[Group, str] = {
    Group.NEEDS_YOU: "amber",
    Group.YOUR_MOVE: "amber",
    Group.WORKING: "green",
    Group.IDLE: "grey",
    Group.ENDED: "grey",
}
