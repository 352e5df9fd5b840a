"""``tree``: what becomes of the tree of a run that has ended. Works with and without a console; git is asked, held."""

from typing import TYPE_CHECKING, Annotated

import typer

from app.cli.options import Json

if TYPE_CHECKING:
    from app.cli.surroundings import Surroundings
    from coordinator.api import TreeView
    from store.refusal import Refusal
    from store.vocab import RunId

_AT_ONCE = 4
"""Trees looked at side by side: git mostly waits for its files."""
_VERBS = ("keep", "merge", "pick", "check", "shell", "discard", "restore")


def add_to(program: typer.Typer) -> None:
    program.command("tree")(tree)


def tree(
    run: Annotated[str, typer.Argument(metavar="RUN|ls", help="The run's number; ls: all trees there are.")],
    verb: Annotated[
        str,
        typer.Argument(
            metavar="[VERB]", help="keep, merge, pick, check, shell, discard or restore; without: how it is."
        ),
    ] = "",
    ignored: Annotated[
        bool, typer.Option("--ignored", help="With discard: files that git ignores go too, and do not come back.")
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Discard without asking.")] = False,
    json: Json = False,
) -> int:
    """What becomes of an ended run's tree: keep, merge, pick, check, shell, discard, restore."""
    from app.cli.exits import usage
    from app.cli.surroundings import surroundings
    from app.cli.values import run_id

    if run == "ls":
        if verb:
            raise usage("footplate tree ls takes nothing more.")
        return _listing(surroundings(as_json=json), as_json=json)
    number = run_id(run)
    if verb and verb not in _VERBS:
        raise usage(f"There is no {verb!r} for a tree; there are {', '.join(_VERBS)}.")
    here = surroundings(as_json=json)
    if not verb:
        return _show(here, number, as_json=json)
    from app.cli import elsewhere

    elsewhere.refuse_inside_a_hold(here.paths, number, f"tree {verb}", as_json=json)
    if verb == "shell":
        return _shell(here, number, as_json=json)
    if verb == "check":
        from app.cli import checking

        return checking.check(here, number, as_json=json)
    return _dispose(here, number, verb, ignored=ignored, yes=yes, as_json=json)


def _view(here: "Surroundings", run: "RunId") -> "TreeView | Refusal":
    import asyncio

    from app.cli.ledgerbooks import Books
    from coordinator import disposing

    return asyncio.run(disposing.look(Books(here.paths), run))


def _known(here: "Surroundings", run: "RunId", *, as_json: bool) -> "TreeView":
    """
    Raises:
        Leave: there is nothing to be seen of its tree.
    """
    from app.cli.exits import refused
    from store.refusal import Refusal
    from store.vocab import RefusalReason

    if not here.paths.ledger.exists():
        raise refused(Refusal(RefusalReason.NO_SUCH_RUN, {"run": run}), as_json=as_json)
    found = _view(here, run)
    if isinstance(found, Refusal):
        raise refused(found, as_json=as_json)
    return found


def _show(here: "Surroundings", run: "RunId", *, as_json: bool) -> int:
    from app.cli import printing
    from app.cli.exits import Code
    from app.wording_trees import tree_lines

    view = _known(here, run, as_json=as_json)
    if as_json:
        printing.as_json(view)
    else:
        for said in tree_lines(view):
            printing.sentence(printing.one_line(said, 600))
    return Code.DONE


def _listing(here: "Surroundings", *, as_json: bool) -> int:
    """Runs that had a tree of their own and of which something is there, the newest first."""
    import asyncio

    from app.cli import printing
    from app.cli.columns import Column
    from app.cli.exits import Code
    from app.cli.ledgerbooks import Books, own_trees
    from app.wording_trees import tree_state
    from coordinator import disposing
    from coordinator.api import TreeView
    from store.refusal import Refusal
    from store.vocab import RunId

    async def look() -> list[TreeView]:
        books, few = Books(here.paths), asyncio.Semaphore(_AT_ONCE)

        async def one(run: RunId) -> TreeView | Refusal:
            async with few:
                return await disposing.look(books, run)

        seen = await asyncio.gather(*map(one, own_trees(here.paths)))
        return [view for view in seen if isinstance(view, TreeView) and (view.tree or view.branch or view.discarded_at)]

    views = asyncio.run(look())
    if as_json:
        printing.as_json({"trees": views})
    elif not views:
        printing.sentence("No ended run has a tree of its own.")
    else:
        rows = [
            (str(one.run), printing.one_line(one.title, 40), tree_state(one), printing.one_line(one.tree or one.branch))
            for one in views
        ]
        shape = (
            Column(head="run", right=True),
            Column(head="title", least=10),
            Column(head="its tree", least=14),
            Column(head="where", least=16, end=True, goes=1),
        )
        printing.table(rows, shape)
    return Code.DONE


def _shell(here: "Surroundings", run: "RunId", *, as_json: bool) -> int:
    import os
    import subprocess

    from app.cli.exits import Code, refused
    from store.refusal import Refusal
    from store.vocab import RefusalReason

    view = _known(here, run, as_json=as_json)
    if not view.tree:
        raise refused(Refusal(RefusalReason.TREE_GONE, {"run": run}), as_json=as_json)
    code = subprocess.run([os.environ.get("SHELL") or "/bin/sh"], cwd=view.tree, check=False).returncode
    return Code.DONE if code == 0 else Code.REFUSED


def _dispose(here: "Surroundings", run: "RunId", verb: str, *, ignored: bool, yes: bool, as_json: bool) -> int:
    import asyncio
    import sys

    from app.cli import printing
    from app.cli.exits import Code, refused, usage
    from app.cli.ledgerbooks import Books
    from app.wording_trees import disposed_words, tree_lines
    from coordinator import disposing
    from coordinator.api import Disposal
    from coordinator.clock import RealClock
    from store.refusal import Refusal

    view = _known(here, run, as_json=as_json) if verb != "restore" else None
    if verb == "discard" and not yes:
        if as_json or not sys.stdin.isatty():
            raise usage("Discarding asks first, and nobody can be asked here: add --yes.")
        for said in tree_lines(view) if view is not None else ():
            printing.sentence(printing.one_line(said, 600))
        printing.sentence("Discard it? It can be restored for 30 days. y discards it, anything else leaves it.")
        if sys.stdin.readline().strip().lower() not in ("y", "yes"):
            return Code.REFUSED
    done = asyncio.run(
        disposing.dispose(
            Books(here.paths),
            run,
            Disposal(verb),
            operator=here.operator,
            now=RealClock().now,
            ignored=ignored,
        )
    )
    if isinstance(done, Refusal):
        raise refused(done, as_json=as_json)
    if as_json:
        printing.as_json(done)
    else:
        printing.sentence(printing.one_line(disposed_words(done), 800))
    return Code.DONE
