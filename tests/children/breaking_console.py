"""``footplate`` with a screen that breaks when it is asked to draw itself anew (^L)."""

from app.console.deeds import Deeds
from app.main import main

_do = Deeds.do


async def do(self: Deeds, action: str) -> None:
    if action == "redraw":
        secret = "what must be printed nowhere"  # noqa: F841  (a local of the frame that breaks)
        raise ZeroDivisionError("on purpose")
    await _do(self, action)


Deeds.do = do  # type: ignore[method-assign]

if __name__ == "__main__":
    main()
