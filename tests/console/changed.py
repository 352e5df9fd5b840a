"""What a run changed, for pictures and tests: files of every kind, and a diff for each."""

from collections.abc import Awaitable, Callable

from msgspec.structs import replace
from textual.pilot import Pilot

from app.console.app import FootplateApp
from app.console.screens.changes import ChangesSheet
from coordinator.api import (
    Changes,
    ChangesFrom,
    ChangesNote,
    Diff,
    FileChange,
    OperatorCommand,
    ReadChanges,
    ReadDiff,
    Remark,
    TurnSpan,
)
from store.vocab import RunId
from tests.console.driving import alone, settled
from tests.fakes.backend import FakeBackend
from tests.waiting import eventually

Act = Callable[[FootplateApp, "Pilot[int]", FakeBackend], Awaitable[None]]


def file(path: str, status: str = "M", added: int | None = 4, removed: int | None = 1, **more: object) -> FileChange:
    names = (path.encode("utf-8", "surrogateescape"),)
    values: dict[str, object] = {"path": path, "names": names, "status": status, "added": added, "removed": removed}
    return FileChange(**(values | more))  # type: ignore[arg-type]


FILES = (
    file("docs/read me.md", "M", 2, 0, before=True),
    file("img/logo.png", "A", None, None),
    file("src/orders/checkout/old_worker.py", "D", 0, 118),
    file("src/orders/checkout/subscriptions.py", "R", 3, 3, was="src/orders/checkout/subs.py"),
    file("src/orders/checkout/worker.py", "M", 4, 2),
    file("tests/conftest.py", "M", 6, 2),
    file("tests/test_race.py", "A", 31, 0),
    file("翻訳/注文.py", "A", 9, 0),
)
PATCH = """\
diff --git a/src/orders/checkout/worker.py b/src/orders/checkout/worker.py
index 0000001..0000002 100644
--- a/src/orders/checkout/worker.py
+++ b/src/orders/checkout/worker.py
@@ -12,7 +12,8 @@ class Worker:
     def __init__(self, clock: Clock) -> None:
         self.clock = clock
-        self.ready = False
+        # Before anybody can expire anything.
+        self.ready = self.subscribe("expire")

     def expire(self, key: str) -> None:
         if not self.ready:
@@ -40,6 +41,7 @@ class Worker:
         for order in self.orders:
             if order.paid:
                 continue
-            self.cancel(order)
+            self.cancel(order, reason="expired", at=self.clock.now(), told=self.tell(order.owner))
+            log.info("order %s expired", order.id)
         return len(self.orders)
"""


def changes(**more: object) -> Changes:
    values: dict[str, object] = {
        "run": RunId(12),
        "source": ChangesFrom.TREE,
        "tree": "/home/mara/src/orders",
        "base": "a1b2c3d4e5f6",
        "turn": None,
        "files": FILES,
        "turns": (TurnSpan(first=1, last=1), TurnSpan(first=2, last=3), TurnSpan(first=4, last=4, running=True)),
        "remarks": (Remark(what=ChangesNote.BEFORE, count=1), Remark(what=ChangesNote.SUBMODULES)),
    }
    return Changes(**(values | more))  # type: ignore[arg-type]


def answering(backend: FakeBackend, found: Changes, patch: bytes = PATCH.encode()) -> None:
    """The backend tells these changes, of each turn the same, and of each file these lines."""

    def listed(command: OperatorCommand) -> Changes:
        assert isinstance(command, ReadChanges)
        base = found.base if command.turn is None else ""
        return replace(found, turn=command.turn, base=base)

    def lines(command: OperatorCommand) -> Diff:
        assert isinstance(command, ReadDiff)
        return Diff(patch=patch)

    backend.replies[ReadChanges] = listed
    backend.replies[ReadDiff] = lines


NONE_KEPT = {
    "run": RunId(7),
    "source": ChangesFrom.KEPT,
    "files": (),
    "turns": (),
    "remarks": (Remark(what=ChangesNote.NOTHING_KEPT),),
}


def opened_changes(*keys: str, first: str = "escape", **more: object) -> Act:
    """``d``, then keys, each when what the one before asked for is there."""

    async def act(app: FootplateApp, pilot: "Pilot[int]", backend: FakeBackend) -> None:
        answering(backend, changes(**more))
        for key in ("escape", first, "d"):
            await alone(app, pilot, key)
        await lines_there(app)
        for key in keys:
            await alone(app, pilot, key)
            await lines_there(app)
        await settled(pilot)

    return act


async def lines_there(app: FootplateApp) -> None:
    """Until the sheet shows what it asked for."""
    await eventually(lambda: isinstance(app.screen, ChangesSheet) and app.screen.settled)
