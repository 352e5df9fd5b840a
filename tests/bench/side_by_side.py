"""The same things done to Footplate and to other consoles, through the same terminal, in turn and in one run.

    python -m tests.bench.side_by_side [MEASURE…] [--peer NAME[=COMMAND]]… [--env NAME=VALUE]… [--rounds N]
                                       [--limit SECONDS] [--json F] [--table]
    python -m tests.bench.side_by_side --table --from F [--from F]…

as in

    python -m tests.bench.side_by_side hostile prose --peer footplate-acp --peer 'toad=/opt/bin/toad acp {acp} {tree}'

Nothing is installed by it. Give the program itself, not a launcher that starts it: what is killed is what was named.
``other=COMMAND`` is only opened and watched; any other name stands in ``peers``, with its keys.

What is the same for all: the terminal (120 × 40, read as fast as it comes), the model (Claude Code and what is built on
it, Codex and OpenCode ask a pretended one on loopback; what speaks the Agent Client Protocol gets a scripted agent),
the messages, the pace of the keys, the limits. No key is sent before what it answers stands on the screen. Each start
has a home of its own and no way out of the machine. After a SIGKILL, each is opened again with the words that it has
for *go on with the last session*; what has none, as Footplate, is opened plainly.

A time says something only beside another of the same run: rounds go from peer to peer, and the load is told with each.
A peer that did not come to an end within the limit is not asked again in later rounds of that measure. What a peer does
with bytes, keys and a SIGKILL hardly depends on the machine, but a key may come before or after a question is drawn:
more than one round there, too, and where rounds differ the table says how many it was. ``asks`` is the control to
``prose``: that the peer asks at all when nobody types, and that its own keys answer.

``--table`` prints, as Markdown, the rows that README has under *Beside other tools*, of this run or of earlier ones.
"""

import argparse
import json
import os
import platform
import shlex
import sys
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from tests.bench.beside_measures import MEASURES, OPENED_ONLY
from tests.bench.beside_scene import LIMIT, Told, pretended_model, scene
from tests.bench.beside_table import table
from tests.bench.figures import number, python_pass
from tests.bench.peers import PEERS, Peer, version
from tests.bench.record import machine, versions

ROUNDS = {"first-frame": 7}
Given = list[tuple[Peer, tuple[str, ...]]]


def measured(
    names: list[str], given: Given, variables: dict[str, str], rounds: int, limit: float = LIMIT
) -> Iterator[Told]:
    """Round by round, and within a round peer by peer: what else happens on the machine happens to all of them."""
    slow: set[tuple[str, str]] = set()
    with pretended_model() as url:
        for name in names:
            for number_of_round in range(rounds or ROUNDS.get(name, 1)):
                for peer, command in given:
                    if (name, peer.name) in slow or (not peer.ready and name not in OPENED_ONLY):
                        continue
                    load = os.getloadavg()[0]
                    with scene(peer, command, url, variables, limit) as one:
                        try:
                            told = MEASURES[name](one)
                        except OSError as problem:  # its terminal has gone: it has ended
                            told = one.failed(f"it has ended ({problem})")
                    if "not within" in told:
                        slow.add((name, peer.name))
                    yield {"measure": name, "peer": peer.name, "round": number_of_round, "load": load, **told}


def line(told: Told) -> str:
    shown = [
        f"{name}: {number(value) if isinstance(value, float) else value}"
        for name, value in told.items()
        if name not in ("measure", "peer", "round", "load") and "screen" not in name
    ]
    text = f"{told['measure']:<13} {told['peer']:<14} load {told['load']:4.1f}  {'; '.join(shown)}"
    return f"{text}\n{told['screen']}" if "failed" in told else text


def chosen(peers: list[str], options: argparse.ArgumentParser) -> Given:
    given = []
    for one in peers:
        name, _, command = one.partition("=")
        if name not in PEERS:
            options.error(f"no peer {name!r}; there are {', '.join(PEERS)}")
        peer, told = PEERS[name], tuple(shlex.split(command))
        if not (told or peer.command):
            options.error(f"{name} needs its command: --peer '{name}=COMMAND'")
        if not peer.ready:
            peer = replace(peer, name=Path(told[0]).name, title=Path(told[0]).name)
        given.append((peer, told))
    return given


def main() -> int:
    options = argparse.ArgumentParser(
        prog="python -m tests.bench.side_by_side", description=(__doc__ or "").splitlines()[0]
    )
    options.add_argument(
        "measures", nargs="*", metavar="MEASURE", help=f"of {', '.join(MEASURES)}; all when none is given"
    )
    options.add_argument(
        "--peer",
        action="append",
        metavar="NAME[=COMMAND]",
        help=f"of {', '.join(PEERS)}; more than one is measured in turn",
    )
    options.add_argument("--env", action="append", default=[], metavar="NAME=VALUE", help="given to each of them")
    options.add_argument("--rounds", type=int, default=0)
    options.add_argument("--limit", type=float, default=LIMIT, metavar="SECONDS", help="for a burst or a long message")
    options.add_argument("--json", type=Path)
    options.add_argument("--table", action="store_true", help="print the rows of README, as Markdown")
    options.add_argument(
        "--from", dest="earlier", type=Path, action="append", default=[], metavar="F", help="of an earlier run"
    )
    told = options.parse_args()
    if told.earlier:
        print("\n".join(table([json.loads(path.read_text(encoding="utf-8")) for path in told.earlier])))
        return 0
    unknown = [name for name in told.measures if name not in MEASURES]
    if unknown:
        options.error(f"no measure {unknown[0]!r}; there are {', '.join(MEASURES)}")
    given = chosen(told.peer or ["footplate"], options)
    variables = dict(one.split("=", 1) for one in told.env)
    data: Told = {
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "P": python_pass() * 1000,
        "python": platform.python_version(),
        "commit": versions()["commit"],
        "machine": machine(),
        "peers": {
            peer.name: {"title": peer.title, "version": version(peer, command), "drives": peer.drives}
            for peer, command in given
        },
        "found": [],
    }
    for one in measured(told.measures or list(MEASURES), given, variables, told.rounds, told.limit):
        data["found"].append(one)
        print(line(one), flush=True)
        if told.json:  # each time: some of this takes long, and may be ended
            told.json.write_text(json.dumps(data, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    if told.table:
        print("\n" + "\n".join(table([data])))
    return 0


if __name__ == "__main__":
    sys.exit(main())
