"""What becomes of the tree of an ended session: the sheet on which it is chosen, the second key before a discard, the
shell in it. What each does is the coordinator's.
"""

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING

from app.console.lending import lend
from app.console.screens.choose import Choose, Row
from app.console.views.ink import literal, one_line
from app.wording import sentence
from app.wording_trees import disposed_words, in_short, tree_state
from coordinator.api import CheckAgain, Disposal, Disposed, DisposeOfTree, LookAtTree, SessionView, TreeView
from store.refusal import Refusal

if TYPE_CHECKING:
    from app.console.deeds import Deeds
    from app.console.sessiondeeds import SessionAct

SHELL, CHECK = "shell", "check"


def rows_of(view: TreeView) -> tuple[Row, ...]:
    """Every way, those that lead nowhere just now with the reason."""
    if view.discarded_at is not None and not view.tree and not view.branch:
        return (Row(value=Disposal.RESTORE, label="restore its branch and its tree"),)
    branch, target = one_line(view.branch or "its branch"), one_line(view.target)
    gone = "neither is there any more" if not view.tree and not view.branch else None
    onto = gone or (None if target else "the repository is on no branch")
    onto = onto or (f"{target} has all of it" if view.landed else None)
    onto = onto or (None if view.changed or view.commits else "nothing was changed")
    kept = gone or (None if view.changed else "all of it is committed there")
    away = "its tree is not there any more"
    rows = [
        Row(value=Disposal.KEEP, label=f"keep it: commit what is not committed, on {branch}", dead=kept),
        Row(value=Disposal.MERGE, label=f"merge {branch} into {target or 'the branch of the repository'}", dead=onto),
        Row(value=Disposal.PICK, label=f"pick its commits, one by one, onto {target or 'that branch'}", dead=onto),
        Row(value=SHELL, label="a shell in its tree", dead=None if view.tree else away),
        Row(value=CHECK, label="run its checks again", dead=None if view.tree else away),
        Row(value=Disposal.DISCARD, label="discard it; asks again, and it can be restored for 30 days", dead=gone),
    ]
    return tuple(rows)


class Trees:
    def __init__(self, deeds: "Deeds") -> None:
        self._deeds = deeds

    def acts(self) -> "Mapping[str, SessionAct]":
        """By the action's name in the key table."""
        return {"tree": self._open}

    async def _open(self, session: SessionView) -> None:
        reply = await self._deeds.order(LookAtTree(run=session.run))
        if isinstance(reply, Refusal):
            self._deeds.say(sentence(reply))
        elif isinstance(reply, TreeView):
            view = reply
            heading = f"The tree of {view.run}: {one_line(tree_state(view))}"
            self._deeds.app.push_screen(Choose(heading, rows_of(view)), lambda chosen: self._chosen(view, chosen))

    def _chosen(self, view: TreeView, chosen: str | None) -> None:
        match chosen:
            case None:
                return
            case "shell":
                self._deeds.aside(self._shell, view)
            case "check":
                order = CheckAgain(run=view.run)
                said = f"the checks of {view.run} run again"
                self._deeds.aside(self._check, order, said)
            case Disposal.DISCARD:
                self._ask_again(view)
            case _:
                self._deeds.aside(self._dispose, DisposeOfTree(run=view.run, how=Disposal(chosen)))

    def _ask_again(self, view: TreeView) -> None:
        """The row that is lit first discards nothing."""
        rows = [Row(value="back", label="leave it as it is")]
        if view.ignored:
            lost = f"discard it, and for good what git ignores there: {in_short(view.ignored)}"
            rows.append(Row(value="all", label=literal(lost)))
        else:
            rows.append(Row(value="discard", label="discard it: restored for 30 days by this same key"))
        heading = f"Discard what {view.run} left? {one_line(tree_state(view))}"
        self._deeds.app.push_screen(Choose(heading, tuple(rows)), lambda chosen: self._sure(view, chosen))

    def _sure(self, view: TreeView, chosen: str | None) -> None:
        if chosen in ("discard", "all"):
            order = DisposeOfTree(run=view.run, how=Disposal.DISCARD, ignored=chosen == "all")
            self._deeds.aside(self._dispose, order)

    async def _dispose(self, order: DisposeOfTree) -> None:
        reply = await self._deeds.order(order)
        if isinstance(reply, Refusal):
            self._deeds.say(sentence(reply))
        elif isinstance(reply, Disposed):
            self._deeds.drive.say(one_line(disposed_words(reply)), "grey")

    async def _check(self, order: CheckAgain, said: str) -> None:
        await self._deeds.order_and_say(order, said)

    async def _shell(self, view: TreeView) -> None:
        ended = await lend(self._deeds, [os.environ.get("SHELL") or "/bin/sh"], cwd=view.tree)
        if isinstance(ended, str):
            self._deeds.say(ended)
