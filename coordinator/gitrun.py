"""One git command, run so that nothing which an agent planted in a repository is run with it.

Fixed settings go through the environment, where they stand above every file, so no race with the agent undoes them.
Programs that a configuration can name under any name (content filters) cannot be switched off as a kind: they are
read from the configuration first and switched off one by one, and whoever compares or writes file contents goes
through ``gitlens`` instead, where that configuration is not read at all. No other module starts git.
"""

import os
import shutil
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Final

from msgspec import Struct

from coordinator import gitfacts, helperprocess
from store.refusal import Refusal
from store.vocab import RefusalReason

LIMIT: Final = 8 * 1024 * 1024
TIMEOUT: Final = 20.0

_SUBCOMMANDS: Final = frozenset(
    {
        "branch",
        "cat-file",
        "check-attr",
        "checkout-index",
        "commit-tree",
        "config",
        "diff",
        "for-each-ref",
        "log",
        "ls-files",
        "ls-tree",
        "merge-base",
        "merge-tree",
        "mktag",
        "read-tree",
        "rev-list",
        "rev-parse",
        "show",
        "status",
        "symbolic-ref",
        "update-index",
        "update-ref",
        "worktree",
        "write-tree",
    }
)
"""A name that is none of git's own could be an alias or any program on the path. Written down so that none slips in."""
_COMPARING: Final = frozenset({"diff", "log", "show"})
_TOUCHING: Final = frozenset({"diff", "read-tree", "status", "worktree"})
"""Commands that may pass file contents through filters."""

_FIXED: Final[tuple[tuple[str, str], ...]] = (
    ("core.hooksPath", "/dev/null"),
    ("core.fsmonitor", "false"),
    ("core.untrackedCache", "false"),
    ("core.pager", "cat"),
    ("core.editor", "false"),
    ("core.askPass", "false"),
    ("core.sshCommand", "false"),
    ("core.gitProxy", ""),
    ("core.alternateRefsCommand", "false"),
    ("core.quotePath", "false"),
    ("credential.helper", ""),
    ("diff.external", ""),
    ("diff.submodule", "short"),
    ("gc.auto", "0"),
    ("maintenance.auto", "false"),
    ("gpg.program", "false"),
    ("log.showSignature", "false"),
    ("advice.detachedHead", "false"),
    ("submodule.recurse", "false"),
    ("protocol.allow", "never"),
    ("checkout.defaultRemote", ""),
)
_SAFE: Final[Mapping[str, str]] = {
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_ATTR_NOSYSTEM": "1",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_NO_REPLACE_OBJECTS": "1",
    # A missing object of a partial clone would be fetched, by a program of the configuration's choice.
    "GIT_ALLOW_PROTOCOL": "none",
    "GIT_PAGER": "cat",
    "GIT_EDITOR": "false",
    "GIT_ASKPASS": "false",
    "LC_ALL": "C",
}
_INHERITED: Final = ("HOME", "PATH", "USER", "LOGNAME", "TMPDIR", "XDG_CONFIG_HOME", "XDG_RUNTIME_DIR")


class GitOutput(Struct, frozen=True, kw_only=True):
    code: int
    out: bytes
    err: bytes
    cut: bool = False
    """More came than was asked for, and was not read."""

    @property
    def line(self) -> str:
        """The whole output without its last line end: a path may have line ends in it."""
        return gitfacts.text(self.out).removesuffix("\n")


async def run_git(
    args: Sequence[str],
    *,
    cwd: Path,
    timeout: float = TIMEOUT,
    limit: int = LIMIT,
    environment: Mapping[str, str] | None = None,
    input: bytes = b"",
    cut_ok: bool = False,
    answers: Collection[int] = (0,),
) -> GitOutput | Refusal:
    """One git command as a held helper. Any exit but those that are ``answers`` is ``git-failed``.

    ``environment`` adds variables (a lens' own folder); the safe settings stand above it. ``cut_ok``:
    output past the limit is no refusal.

    Raises:
        ValueError: the subcommand is not one of those written down here; a bug.
    """
    if args[0] not in _SUBCOMMANDS:
        raise ValueError(f"not one of our git commands: {args[0]}")
    settings = _FIXED
    if args[0] in _TOUCHING and "GIT_DIR" not in (environment or {}):
        listed = await _git(["config", "--list", "-z"], cwd, timeout, limit, _FIXED, {}, b"", False, (0,))
        if isinstance(listed, GitOutput):
            settings += gitfacts.neutralising(gitfacts.parse_config(listed.out))
    return await _git(args, cwd, timeout, limit, settings, environment or {}, input, cut_ok, answers)


async def _git(
    args: Sequence[str],
    cwd: Path,
    timeout: float,
    limit: int,
    settings: Sequence[tuple[str, str]],
    extra: Mapping[str, str],
    input: bytes,
    cut_ok: bool,
    answers: Collection[int],
) -> GitOutput | Refusal:
    program = git_program()
    if program is None:
        return Refusal(RefusalReason.GIT_FAILED, {"command": args[0], "exit": "127", "stderr": "git was not found"})
    whole = [program, args[0], *(("--no-ext-diff", "--no-textconv") if args[0] in _COMPARING else ()), *args[1:]]
    ended = await helperprocess.run(
        whole, cwd=cwd, environment=_environment(settings, extra), timeout=timeout, limit=limit, input=input
    )
    if ended.code in answers and not ended.cut:
        return GitOutput(code=ended.code, out=ended.out, err=ended.err)
    if cut_ok and ended.cut == helperprocess.TOO_MUCH:
        return GitOutput(code=0, out=ended.out, err=ended.err, cut=True)
    said = gitfacts.text(ended.err)[:2000].strip()
    return Refusal(
        RefusalReason.GIT_FAILED,
        {"command": " ".join(args)[:300], "exit": ended.cut or str(ended.code), "stderr": said},
    )


def _environment(settings: Sequence[tuple[str, str]], extra: Mapping[str, str]) -> dict[str, str]:
    out = {name: os.environ[name] for name in _INHERITED if name in os.environ}
    out.update(extra)
    out.update(_SAFE)
    out["GIT_CONFIG_COUNT"] = str(len(settings))
    for n, (key, value) in enumerate(settings):
        out[f"GIT_CONFIG_KEY_{n}"] = key
        out[f"GIT_CONFIG_VALUE_{n}"] = value
    return out


def git_program() -> str | None:
    """Its path, from absolute folders of the path only: a ``.`` in it would be the agent's working tree."""
    folders = [part for part in os.environ.get("PATH", os.defpath).split(os.pathsep) if part.startswith("/")]
    return shutil.which("git", path=os.pathsep.join(folders))
