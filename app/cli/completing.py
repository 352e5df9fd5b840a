"""What a shell offers at Tab: commands and options as they are declared, runs, questions and agents as they are now.

The scripts know no word of ours: they hand the line over and show what comes back, so that one which was installed
long ago offers what this version has. Read only, and quick: a person waits for it in the middle of a line.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import typer

BASH: Final = """\
# Kept by: footplate completion bash > ~/.local/share/bash-completion/completions/footplate
_footplate() {
    mapfile -t COMPREPLY < <(footplate completion bash -- "${COMP_WORDS[@]:1:COMP_CWORD}" 2> /dev/null)
}
complete -o bashdefault -o default -F _footplate footplate
"""
ZSH: Final = """\
#compdef footplate
# Kept by: footplate completion zsh > a folder of your $fpath, as _footplate; or in ~/.zshrc behind compinit:
#   source <(footplate completion zsh)
_footplate() {
    local -a found
    found=("${(@f)$(footplate completion zsh -- "${(@)words[2,CURRENT]}" 2> /dev/null)}")
    if [[ -n "${found[1]}" ]]; then
        _describe -V footplate found
    else
        _files
    fi
}
if [[ "${funcstack[1]}" == _footplate ]]; then
    _footplate "$@"
else
    compdef _footplate footplate
fi
"""
FISH: Final = """\
# Kept by: footplate completion fish > ~/.config/fish/completions/footplate.fish
function __footplate_offers
    set -l found (footplate completion fish -- (commandline -opc)[2..-1] (commandline -ct) 2> /dev/null)
    if test (count $found) -gt 0
        printf '%s\\n' $found
    else
        __fish_complete_path (commandline -ct)
    end
end
complete -c footplate -f -k -a '(__footplate_offers)'
"""
SCRIPTS: Final[Mapping[str, str]] = {"bash": BASH, "zsh": ZSH, "fish": FISH}

Offer = tuple[str, str]
"""A word, and what it is in a few others."""
_MOST = 40
"""Runs that are offered, the newest first."""
_ENDED_TOO = frozenset({"continue", "diff", "export", "show", "spend", "sweep", "tree"})
"""Commands whose run may have ended; of the others one that has is no offer."""


def lines(shell: str, words: Sequence[str]) -> list[str]:
    """The offers for the last word of a line, written as that shell reads them.

    ``words``: those after ``footplate``; the last one is the one that is being typed, and may be empty.
    """
    offers = offered(words or [""])
    if shell == "bash":
        return [word for word, _ in offers]
    if shell == "zsh":
        return [f"{word.replace(':', chr(92) + ':')}:{said}" if said else word for word, said in offers]
    return [f"{word}\t{said}" for word, said in offers]


def offered(words: Sequence[str]) -> list[Offer]:
    """Every offer for the last word, in the order in which they are shown."""
    from app.cli.program import PROGRAM

    *before, typed = words
    # Typer's own copy of click has no public names, so what is read of it has no types.
    command: Any = typer.main.get_command(PROGRAM)
    path: list[str] = []
    wanted: Any = None
    position, literal = 0, False
    for word in before:
        if wanted is not None:
            wanted = None
        elif word == "--" and not literal:
            literal = True
        elif word.startswith("-") and len(word) > 1 and not literal:
            wanted = None if "=" in word else _takes_a_value(command, word)
        elif word in getattr(command, "commands", {}):
            command, position = command.commands[word], 0
            path.append(word)
        elif hasattr(command, "commands"):
            return []  # no command is called so
        else:
            position += 1
    return [one for one in _of(command, path, wanted, typed, position, literal) if one[0].startswith(typed)]


def _of(command: Any, path: list[str], wanted: Any, typed: str, position: int, literal: bool) -> list[Offer]:
    if wanted is not None:
        return _values(wanted, path)
    if typed.startswith("-") and not literal:
        return [
            (name, _short(one.help))
            for one in command.params
            if one.param_type_name == "option" and not one.hidden
            for name in (*one.opts, *one.secondary_opts)
            if name.startswith("--")
        ] + [("--help", "show what there is")]
    commands = getattr(command, "commands", {})
    if commands:
        return [(name, _short(one.help)) for name, one in commands.items() if not one.hidden]
    arguments = [one for one in command.params if one.param_type_name == "argument"]
    if position < len(arguments):
        return _values(arguments[position], path)
    return _values(arguments[-1], path) if arguments and arguments[-1].nargs == -1 else []


def _takes_a_value(command: Any, word: str) -> Any:
    """The option that the next word belongs to; None for one that takes none."""
    for one in command.params:
        if word in one.opts:
            return None if getattr(one, "is_flag", False) else one
    return None


def _short(text: str | None) -> str:
    return (text or "").strip().split("\n")[0].rstrip(".")


def _values(wanted: Any, path: list[str]) -> list[Offer]:
    """What can stand there, where that is known; nothing, and the shell offers files."""
    name, metavar = wanted.name, (wanted.metavar or "").strip("[].…")
    by_name: Mapping[str, Callable[[], list[Offer]]] = {
        "agent": _agents,
        "preset": _presets,
        "topic": _topics,
        "shell": lambda: [(shell, "") for shell in SCRIPTS],
    }
    if name in by_name:
        return by_name[name]()
    if metavar.split("|")[0] == "RUN":
        return _runs(ended_too=bool(path) and path[-1] in _ENDED_TOO)
    if path[-1:] == ["answer"] and name == "question":
        return _questions()
    if metavar and "|" in metavar and metavar.replace("|", "").islower():
        return [(one, "") for one in metavar.split("|")]
    return []


def _agents() -> list[Offer]:
    from app.paths import find
    from coordinator import agentsfile
    from store.refusal import Refusal

    loaded = agentsfile.load(find().agents_file)
    return [] if isinstance(loaded, Refusal) else [(one.name, one.title or "") for one in loaded]


def _presets() -> list[Offer]:
    from coordinator.terms import PRESETS

    return [(one.name, "") for one in PRESETS]


def _topics() -> list[Offer]:
    from app.cli.helping import topics
    from app.cli.program import command_names

    return [(one, "a topic") for one in topics()] + [(one, "a command") for one in command_names()]


def _runs(*, ended_too: bool) -> list[Offer]:
    from app.cli import overview
    from app.paths import find

    found = overview.read(find(), live_only=not ended_too, limit=_MOST)
    return [(str(one.run), f"{one.title} ({one.standing})") for one in found]


def _questions() -> list[Offer]:
    from app.cli import overview
    from app.cli.printing import one_line
    from app.paths import find

    return [
        (str(asked.id), one_line(f"{asked.title} {asked.subject}", 60))
        for one in overview.read(find(), live_only=True, limit=_MOST)
        for asked in one.questions
    ]
