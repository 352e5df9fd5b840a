"""``rules``: the standing rules that are kept for later runs. What a run that is held was agreed to stays as it is."""

from typing import TYPE_CHECKING, Annotated

import typer

from app.cli.options import Json

if TYPE_CHECKING:
    from collections.abc import Sequence

    from app.cli.surroundings import Surroundings

_VERBS = ("ls", "add", "rm")


def add_to(program: typer.Typer) -> None:
    program.command("rules")(rules)


def typed(given: "Sequence[str]") -> tuple[str, ...]:
    """Rules as they were typed, each in its one spelling.

    Raises:
        Leave: one of them is none.
    """
    from app.cli.exits import usage
    from app.wording import sentence
    from coordinator.standing import parse_all
    from store.refusal import Refusal

    found = parse_all(tuple(given))
    if isinstance(found, Refusal):
        raise usage(sentence(found))
    return tuple(rule.text for rule in found)


def rules(
    verb: Annotated[str, typer.Argument(metavar="[ls|add|rm]", help="List them, keep one more, take one out.")] = "ls",
    what: Annotated[
        list[str] | None, typer.Argument(metavar="[RULE|NUMBER]", help="In quotes: 'allow command pytest -q'.")
    ] = None,
    repo: Annotated[str, typer.Option(metavar="DIR", help="add: for this repository.")] = ".",
    everywhere: Annotated[bool, typer.Option("--everywhere", help="add: for every repository.")] = False,
    agent: Annotated[str, typer.Option(help="add: for this agent only.")] = "",
    json: Json = False,
) -> None:
    """Standing rules: what is allowed or denied without asking you. A run has those that its terms show.

    allow command pytest -q: commands that begin with these words, and are one plain command.
    deny edit docs/**, allow read **: files in the tree. allow fetch *.python.org: a host. deny tool Task: a tool.
    Deny wins over allow. A rule answers what the agent asks, and cannot stop what it does without asking; of a
    command it says how it begins, and no more.
    """
    from app.cli.exits import usage
    from app.cli.surroundings import surroundings

    if verb not in _VERBS:
        raise usage(f"{verb!r} is not one of {', '.join(_VERBS)}.")
    if bool(what) is (verb == "ls"):
        raise usage({"ls": "ls takes nothing after it.", "add": "add which rule?", "rm": "rm which number?"}[verb])
    here = surroundings(as_json=json)
    match verb:
        case "add":
            _add(here, what or [], repo="" if everywhere else repo, agent=agent, as_json=json)
        case "rm":
            _remove(here, what or [], as_json=json)
        case _:
            _list(here, as_json=json)


def _list(here: "Surroundings", *, as_json: bool) -> None:
    from app.cli import printing
    from app.cli.columns import Column
    from app.cli.exits import refused
    from app.wording import rule_words, short_path
    from coordinator import rulesfile
    from store.refusal import Refusal

    kept = rulesfile.load(here.paths.rules_file)
    if isinstance(kept, Refusal):
        raise refused(kept, as_json=as_json)
    if as_json:
        printing.as_json({"file": str(here.paths.rules_file), "rules": kept})
        return
    if not kept:
        printing.sentence("There are no standing rules; footplate rules add 'allow command pytest' keeps one.")
    rows = [
        (
            str(number),
            printing.one_line(rule_words(one.text)),
            printing.one_line(short_path(one.repository)) if one.repository else "everywhere",
            printing.one_line(one.agent) if one.agent else "every agent",
        )
        for number, one in enumerate(kept, start=1)
    ]
    shape = (
        Column(head="number", right=True),
        Column(head="rule", least=24),
        Column(head="where", least=12, end=True, goes=1),
        Column(head="agent", least=8, goes=2),
    )
    printing.table(rows, shape)


def _add(here: "Surroundings", what: "Sequence[str]", *, repo: str, agent: str, as_json: bool) -> None:
    import asyncio
    import shlex

    from app.cli import elsewhere, opening, printing
    from app.cli.exits import refused, usage
    from app.cli.surroundings import agent_profiles
    from app.wording import rule_words, short_path
    from coordinator import githelper, rulesfile
    from store.refusal import Refusal

    elsewhere.refuse_inside_a_hold(here.paths, None, "rules", as_json=as_json)
    # Typed without quotes around it, its own quotes are gone; the words of a command are still told apart.
    rest = shlex.join(what[2:]) if what[1:2] == ["command"] else " ".join(what[2:])
    (text,) = typed([" ".join([*what[:2], rest]).strip()])
    names = [one.name for one in agent_profiles(here.paths, here.config, as_json=as_json)]
    if agent and agent not in names:
        raise usage(f"--agent {agent!r} is not one of {', '.join(names)}.")
    repository = ""
    if repo:
        facts = asyncio.run(githelper.find_repository(opening.repository_path(repo)))
        if isinstance(facts, Refusal):
            raise refused(facts, as_json=as_json)
        repository = str(facts.top)
    new = rulesfile.Kept(text=text, repository=repository, agent=agent)
    added = rulesfile.add(here.paths.rules_file, new)
    if isinstance(added, Refusal):
        raise refused(added, as_json=as_json)
    if as_json:
        printing.as_json({"added": added, "rule": new})
        return
    where = f"in {short_path(repository)}" if repository else "everywhere"
    whose = f", for {agent}" if agent else ""
    kept = "Kept" if added else "It was kept already"
    printing.sentence(
        printing.one_line(f"{kept}: {rule_words(text)}, {where}{whose}. It holds for runs that begin now.", 600)
    )


def _remove(here: "Surroundings", what: "Sequence[str]", *, as_json: bool) -> None:
    from app.cli import elsewhere, printing
    from app.cli.exits import Code, Leave, refused, usage
    from app.wording import rule_words
    from coordinator import rulesfile
    from store.refusal import Refusal

    elsewhere.refuse_inside_a_hold(here.paths, None, "rules", as_json=as_json)
    if len(what) != 1 or not what[0].isdecimal():
        raise usage("rm takes one number; footplate rules shows them.")
    number = int(what[0])
    kept = rulesfile.load(here.paths.rules_file)
    if isinstance(kept, Refusal):
        raise refused(kept, as_json=as_json)
    if not 1 <= number <= len(kept):
        there = (
            f"footplate rules lists the {len(kept)} there {'is' if len(kept) == 1 else 'are'}"
            if kept
            else ("there are none: footplate rules add 'allow command pytest' keeps one")
        )
        raise Leave(
            Code.REFUSED,
            f"There is no rule {number}; {there}.",
            machine={"refused": "no-such-rule", "facts": {"number": number, "rules": len(kept)}} if as_json else None,
        )
    gone = rulesfile.remove(here.paths.rules_file, number)
    if isinstance(gone, Refusal):
        raise refused(gone, as_json=as_json)
    if as_json:
        printing.as_json({"removed": gone})
        return
    printing.sentence(printing.one_line(f"Taken out: {rule_words(gone.text)}. Runs that are held keep it.", 600))
