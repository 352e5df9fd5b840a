"""The words of a command, where what is read here is certain to be what a shell would run.

A standing rule looks at words, never at text. So a command is taken apart only if no shell could make other words of
it, or more commands than one: whatever joins, redirects, expands, assigns or escapes is not read, quoted or not. That
is stricter than a shell, on purpose: what is not read is put to the operator. Rules themselves are in ``standing``.
"""

import re
import shlex
from functools import lru_cache
from typing import Final

JOINING: Final = frozenset(";&|<>()$`\\{}*?[]!#^")
"""Characters with which a shell begins something else than a word. Without the backslash and the dollar sign, what is
in quotes stands for itself in every shell, and ``shlex`` reads it as they do."""

LONGEST: Final = 4096
"""Characters of a command that is read: rules are looked at where every stop passes through, and this takes a few
milliseconds. What is longer is no plain command either."""

_EXPANDED: Final = re.compile(r"(?:^|[=:])~|^=|^%")
"""A home folder, a program's place (zsh), a job: a word that becomes another one."""
_ASSIGNS: Final = re.compile(r"^[A-Za-z_][A-Za-z0-9_]*\+?=")
_SHELLS: Final = frozenset({"sh", "bash", "dash", "zsh"})
_FOLDERS: Final = ("/bin", "/usr/bin", "/usr/local/bin")
_ONE_COMMAND: Final = frozenset({"-c", "-lc"})


@lru_cache(maxsize=16)
def words_of(text: str) -> tuple[str, ...] | None:
    """The words of one plain command; None: it is none, or nobody can be certain.

    A shell that is given one command (``bash -lc 'pytest -q'``, as some agents write it) is read as that command.
    """
    words = _plain(text)
    if words is not None and len(words) == 3 and is_shell(words[0]) and words[1] in _ONE_COMMAND:
        return _plain(words[2])
    return words


def is_shell(program: str) -> bool:
    """Whether it is a shell by its name alone, or where shells lie: one of the same name elsewhere is anything."""
    folder, _, name = program.rpartition("/")
    return name in _SHELLS and (name == program or folder in _FOLDERS)


def _plain(text: str) -> tuple[str, ...] | None:
    # No line end, no tab, no character that shows as nothing or as a space.
    if len(text) > LONGEST or not text.isprintable() or JOINING & set(text):
        return None
    try:
        words = tuple(shlex.split(text))
    except ValueError:
        return None
    if not words or not words[0] or _ASSIGNS.match(words[0]) or any(_EXPANDED.search(word) for word in words):
        return None
    return words
