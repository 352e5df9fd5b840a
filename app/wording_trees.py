"""What is said of a run's working tree: why it gets one of its own, what is missing in it, what becomes of it."""

import time
from collections.abc import Sequence

from app.wording_checks import checks_agreed
from app.wording_measures import others_words, plural, short_commit
from coordinator.api import Disposal, Disposed, TreeView
from coordinator.dispositions import Disposition
from coordinator.starttypes import Proposal, TreeReason
from coordinator.terms import TreeKind
from coordinator.treetypes import KEPT


def tree_remarks(proposal: Proposal) -> list[str]:
    """Why it is this tree, what that one will not have, and what is run in it before and after."""
    terms, said = proposal.terms, []
    own = terms.tree_kind is TreeKind.WORKTREE
    match proposal.tree_reason:
        case TreeReason.DIRTY if own:
            changed = plural(proposal.uncommitted, "file")
            said.append(f"on a tree of its own, because changes in {changed} are not committed: it works without them")
        case TreeReason.UNREADABLE if own:
            said.append("on a tree of its own, because it could not be seen whether yours has changes")
        case TreeReason.HELD if own:
            said.append(f"on a tree of its own, because run {proposal.holder} works in the repository itself")
        case TreeReason.BARE:
            said.append("on a tree of its own, because the repository has no files of its own")
        case _ if proposal.uncommitted:
            changed = plural(proposal.uncommitted, "file")
            said.append(f"changes in {changed} that are not committed are not in the new tree")
    if proposal.submodules:
        count = len(proposal.submodules)
        said.append(
            f"{plural(count, 'submodule')} {'stays' if count == 1 else 'stay'} empty in the new tree: "
            f"{in_short(proposal.submodules)}"
        )
    if terms.setup:
        said.append(f"first it runs, in the new tree: {others_words(terms.setup)}")
    if checked := checks_agreed(terms):
        said.append(checked)
    return said


def in_short(names: Sequence[str], most: int = 3) -> str:
    """The first of them, and how many more."""
    told = ", ".join(others_words(name) for name in names[:most])
    return told if len(names) <= most else f"{told} and {len(names) - most} more"


def tree_state(view: TreeView) -> str:
    """How it stands, in a few words."""
    if view.discarded_at is not None and not view.tree and not view.branch:
        return "discarded"
    if not view.tree and not view.branch:
        return "gone"
    if view.landed:
        return f"all of it is in {others_words(view.target)}"
    said = []
    if view.changed:
        said.append("changes not counted" if view.changed < 0 else f"{plural(view.changed, 'file')} changed")
    if view.commits:
        said.append(plural(view.commits, "commit"))
    if view.built_on:
        whose = "" if view.built_on_run is None else f" of run {view.built_on_run}"
        below = f"{view.built_on if said else plural(view.built_on, 'commit')}{whose} that it was built on"
        return f"{', '.join(said)}, and {below}" if said else f"nothing of its own, {below}"
    return ", ".join(said) or "nothing changed"


def tree_lines(view: TreeView) -> list[str]:
    """What there is of a run's tree, and what can be done with it."""
    said = [f"Run {view.run} {others_words(view.title)}: {tree_state(view)}."]
    if view.tree:
        said.append(f"Its tree is {others_words(view.tree)}.")
    if view.branch:
        said.append(f"Its branch is {others_words(view.branch)}.")
    if view.ignored:
        said.append(f"Files there that git ignores: {in_short(view.ignored)}.")
    if view.discarded_at is not None:
        said.append(f"It was discarded and can be restored for 30 days from then: footplate tree {view.run} restore.")
    return said


_ORDERS = {
    Disposal.KEEP: "keeping",
    Disposal.MERGE: "merging",
    Disposal.PICK: "picking",
    Disposal.DISCARD: "discarding",
    Disposal.RESTORE: "restoring",
}


def became_words(one: Disposition) -> str:
    """What was done with a run's tree, when and by whom, as the ledger has it."""
    branch, target = others_words(one.branch), others_words(one.target)
    at = f" at {short_commit(one.commit)}" if one.commit else ""
    on = f" on its branch {branch}" if branch else ""
    if not one.done:
        said = f"{_ORDERS[one.how]} it was asked for, and was refused or cut off"
    else:
        match one.how:
            case Disposal.KEEP:
                said = f"kept{on}{at}"
            case Disposal.MERGE:
                said = f"merged into {target}{at}"
            case Disposal.PICK:
                said = f"its commits are on {target}{at}"
            case Disposal.DISCARD:
                until = time.strftime("%Y-%m-%d", time.localtime((one.at + KEPT) / 1000))
                said = f"discarded; it could be restored until {until}"
            case Disposal.RESTORE:
                said = f"restored{on}{at}"
    return (
        f"{time.strftime('%Y-%m-%d %H:%M:%S', time.localtime(one.at / 1000))}, by {others_words(one.operator)}: {said}"
    )


def disposed_words(done: Disposed) -> str:
    """What came of it, in a sentence."""
    branch, target = others_words(done.branch), others_words(done.target)
    kept = f"; {plural(done.committed, 'file')} that {'was' if done.committed == 1 else 'were'} not committed now "
    kept = f"{kept}{'is' if done.committed == 1 else 'are'}" if done.committed else ""
    at = short_commit(done.commit)
    match done.how:
        case Disposal.KEEP:
            return f"Run {done.run} is kept on its branch {branch}, at {at}{kept}."
        case Disposal.MERGE:
            return f"Run {done.run} is merged into {target}, now at {at}{kept}."
        case Disposal.PICK:
            return f"The commits of run {done.run} are on {target}, now at {at}{kept}."
        case Disposal.DISCARD:
            stays = f"; the branch {others_words(done.left)} has more and stays" if done.left else ""
            return f"Run {done.run} is discarded{stays}; footplate tree {done.run} restore brings it back for 30 days."
        case Disposal.RESTORE:
            tree = f", its tree is {others_words(done.tree)}" if done.tree else ""
            return f"Run {done.run} is back on its branch {branch}{tree}."
