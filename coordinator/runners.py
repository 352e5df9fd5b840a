"""Programs that run what they are given, and how far a rule must name it. Pure.

A rule says how a command begins. One that begins with such a program and stops there would let everything through; so
would one that stops at its options, because only the program itself knows which of them take the next word. What a
rule on any other program leaves open (options that write a file or run a pager) is said where it is agreed to.
"""

import posixpath
import re
from collections.abc import Sequence
from typing import Final

_READ_A_FILE: Final = frozenset(
    {
        *("sh", "bash", "dash", "zsh", "fish", "ksh", "csh", "tcsh", "source", "."),
        *("python", "pypy", "node", "perl", "ruby", "php", "lua", "rscript", "tclsh", "pwsh"),
    }
)
"""What comes first after them is a program in a file: then it is named."""
_RUN_WORDS: Final = frozenset(
    {
        *("eval", "exec", "command", "builtin", "env", "sudo", "doas", "su", "xargs", "parallel", "ssh", "busybox"),
        *("toybox", "nohup", "nice", "ionice", "timeout", "time", "watch", "setsid", "stdbuf", "strace", "chroot"),
        *("unshare", "flock", "script", "npx", "uvx", "bunx", "pkexec", "runuser", "systemd-run"),
    }
)
"""What comes after them is a command."""
_BY_A_WORD: Final = frozenset(
    {
        *(("uv", "run"), ("uv", "tool"), ("npm", "exec"), ("npm", "x"), ("pnpm", "exec"), ("pnpm", "dlx")),
        *(("yarn", "exec"), ("yarn", "dlx"), ("poetry", "run"), ("pdm", "run"), ("hatch", "run"), ("pipenv", "run")),
        *(("pipx", "run"), ("rye", "run"), ("pixi", "run"), ("conda", "run"), ("bundle", "exec")),
    }
)
"""Programs that do so after this word."""
_ASSIGNS: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*=")
_TIME: Final = re.compile(r"[0-9.]+[smhd]?")
_MODULE: Final = "-m"


def left_open(words: Sequence[str]) -> str:
    """The program in the beginning of a command that would run whatever comes next; '' where there is none."""
    if not words:
        return ""
    program, rest = _name(words[0]), list(words[1:])
    if rest and (program, rest[0]) in _BY_A_WORD:
        program, rest = f"{program} {rest[0]}", rest[1:]
    elif program not in _READ_A_FILE | _RUN_WORDS:
        return ""
    while program == "env" and rest and _ASSIGNS.match(rest[0]):
        del rest[0]
    between = {
        "timeout": bool(rest) and _TIME.fullmatch(rest[0]) is not None,
        "ssh": bool(rest) and not _is_option(rest),
        "python": rest[:1] == [_MODULE],
        "pypy": rest[:1] == [_MODULE],
    }
    if between.get(program, False):
        del rest[0]
    if not rest or _is_option(rest):
        return program
    return "" if program in _READ_A_FILE else left_open(rest)


def _is_option(rest: Sequence[str]) -> bool:
    return bool(rest) and rest[0].startswith("-")


def _name(program: str) -> str:
    """Without its folder, its version and its capitals: on some machines they make no other program."""
    name = posixpath.basename(program).lower()
    return re.sub(r"[0-9.]+$", "", name) or name
