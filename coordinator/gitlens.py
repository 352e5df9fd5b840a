"""A lens: a private git folder of ours through which a working tree is compared or filled, and no program of theirs
runs.

It has its own configuration and its own index and borrows only the repository's objects. Attributes in the tree may
name a filter, but the lens knows none, so none runs; nor does an index flag, a replace reference or a forged time
hide a change, because the index is made anew from the commit and files are hashed by reading them. Only settings that
say how files look on disk (line ends, modes) are taken over, as plain words. Nothing but comparing and filling
belongs here.
"""

import contextlib
import os
import re
import shutil
import stat
import tempfile
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from coordinator import gitfacts
from coordinator.gitrun import LIMIT, TIMEOUT, GitOutput, run_git
from store.refusal import Refusal
from store.vocab import RefusalReason

_TAKEN_OVER: Final = frozenset(
    {
        "core.autocrlf",
        "core.eol",
        "core.filemode",
        "core.symlinks",
        "core.ignorecase",
        "core.precomposeunicode",
    }
)
_PLAIN: Final = re.compile(r"[A-Za-z0-9]{1,20}")
_LISTING: Final = 64 * 1024 * 1024
_MOST_NEW: Final = 20_000
"""New files looked at; a tree with more has something in it that belongs into ``.gitignore``."""


@dataclass(slots=True, kw_only=True)
class Lens:
    tree: Path
    environment: Mapping[str, str]
    sparse: bool
    left_out: frozenset[bytes] = field(default=frozenset())
    """Tracked files that a sparse checkout keeps off the disk; known after ``compare``."""

    async def run(
        self,
        args: Sequence[str],
        *,
        limit: int = LIMIT,
        timeout: float = TIMEOUT,
        input: bytes = b"",
        index: Path | None = None,
        cut_ok: bool = False,
    ) -> GitOutput | Refusal:
        environment = {**self.environment, "GIT_INDEX_FILE": str(index)} if index else self.environment
        return await run_git(
            args, cwd=self.tree, environment=environment, limit=limit, timeout=timeout, input=input, cut_ok=cut_ok
        )

    async def compare(
        self, base: str, how: Sequence[str], *, limit: int = LIMIT, cut_ok: bool = False
    ) -> GitOutput | Refusal:
        """``git diff`` from a commit ('': from nothing) to the files on disk, new ones included."""
        if base:
            read = await self.run(["read-tree", base])
            if isinstance(read, Refusal):
                return read
        fresh = await self._note_new_files()
        if isinstance(fresh, Refusal):
            return fresh
        start = base or gitfacts.EMPTY_TREE[64 if self.environment["GIT_DEFAULT_HASH"] == "sha256" else 40]
        return await self.run(
            ["diff", *how, "-M", "--ignore-submodules=all", start, "--", ".", ":(exclude,top).footplate"],
            limit=limit,
            cut_ok=cut_ok,
        )

    async def fill(self, head: str, index: Path, *, timeout: float) -> GitOutput | Refusal:
        """Write a commit's files into the (empty) tree, and the tree's own index with them."""
        return await self.run(["read-tree", "--reset", "-u", head], index=index, timeout=timeout)

    async def _note_new_files(self) -> GitOutput | Refusal:
        """Into the index, by name only, so that the comparison sees them."""
        ours = await self.run(["ls-files", "-z"], limit=_LISTING)
        new = await self.run(["ls-files", "-z", "--others", "--exclude-standard"], limit=_LISTING)
        # What they added is theirs even where it is ignored; their flags are looked at for sparse checkouts alone.
        theirs = await run_git(["ls-files", "-z", "-t"], cwd=self.tree, limit=_LISTING)
        if isinstance(ours, Refusal):
            return ours
        if isinstance(new, Refusal):
            return new
        known = set(ours.out.split(b"\0"))
        names = set(new.out.split(b"\0"))
        if isinstance(theirs, GitOutput):
            entries = [(entry[:1], entry[2:]) for entry in theirs.out.split(b"\0") if entry]
            names |= {path for _, path in entries if path not in known}
            if self.sparse:
                self.left_out = frozenset(path for tag, path in entries if tag == b"S")
        lines = []
        for name in sorted(names)[:_MOST_NEW]:
            mode = _mode(os.fsencode(self.tree) + b"/" + name) if name and not gitfacts.of_mailbox(name) else None
            if mode:
                lines.append(b"%s %s 0\t%s\0" % (mode, _anything(self.environment), name))
        if not lines:
            return new
        return await self.run(["update-index", "--add", "--replace", "-z", "--index-info"], input=b"".join(lines))


def _anything(environment: Mapping[str, str]) -> bytes:
    """An object name that is nobody's: the file on disk counts, not the index entry."""
    return b"1" * (64 if environment["GIT_DEFAULT_HASH"] == "sha256" else 40)


def _mode(path: bytes) -> bytes | None:
    try:
        mode = os.lstat(path).st_mode
    except OSError:
        return None
    if stat.S_ISLNK(mode):
        return b"120000"
    if stat.S_ISREG(mode):
        return b"100755" if mode & stat.S_IXUSR else b"100644"
    return None


@contextlib.asynccontextmanager
async def open_lens(tree: Path) -> AsyncIterator[Lens | Refusal]:
    """A lens on a working tree, for as long as the block lasts. A refusal comes out where the tree is none."""
    dirs = gitfacts.dirs_of(tree)
    if dirs is None:
        yield Refusal(RefusalReason.NOT_A_REPOSITORY, {"path": str(tree)})
        return
    common = _whole(dirs[1])
    listed = await run_git(["config", "--list", "-z", "--show-scope"], cwd=tree)
    if isinstance(listed, Refusal):
        yield listed
        return
    settings = _scoped(listed.out)
    folder = Path(tempfile.mkdtemp(prefix="footplate-git-"))
    try:
        _furnish(folder, common, settings)
        yield Lens(
            tree=tree,
            environment={
                "GIT_DIR": str(folder),
                "GIT_WORK_TREE": str(tree),
                "GIT_CONFIG_GLOBAL": "/dev/null",
                "GIT_DEFAULT_HASH": settings.get("extensions.objectformat", "sha1"),
            },
            sparse=settings.get("core.sparsecheckout") == "true",
        )
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _whole(path: Path) -> Path:
    return path.resolve()


def _scoped(raw: bytes) -> dict[str, str]:
    """The settings in force that a lens may take over. A list of files to ignore is taken from the user alone."""
    out: dict[str, str] = {}
    fields = raw.split(b"\0")
    for scope, entry in zip(fields[::2], fields[1::2], strict=False):
        if scope == b"command":  # our own
            continue
        for key, value in gitfacts.parse_config(entry):
            if key == "core.excludesfile":
                if scope == b"global":
                    out[key] = value
            elif _PLAIN.fullmatch(value):
                out[key] = value
    return out


def _furnish(folder: Path, common: Path, settings: Mapping[str, str]) -> None:
    for name in ("objects/info", "refs", "info"):
        (folder / name).mkdir(parents=True)
    (folder / "HEAD").write_text("ref: refs/heads/none\n")
    (folder / "objects/info/alternates").write_bytes(os.fsencode(common / "objects") + b"\n")
    for name, added in (("exclude", b"\n/.footplate/\n"), ("attributes", b"\n")):
        with contextlib.suppress(OSError):
            (folder / "info" / name).write_bytes(_plain_file(common / "info" / name) + added)
    lines = ["[core]", "\trepositoryformatversion = 1", "\tbare = false"]
    for key in sorted(_TAKEN_OVER & settings.keys()):
        lines.append(f"\t{key.removeprefix('core.')} = {settings[key]}")
    if "core.excludesfile" in settings:
        quoted = settings["core.excludesfile"].replace("\\", "\\\\").replace('"', '\\"').replace("\n", "")
        lines.append(f'\texcludesfile = "{quoted}"')
    if settings.get("extensions.objectformat") == "sha256":
        lines += ["[extensions]", "\tobjectformat = sha256"]
    (folder / "config").write_text("\n".join(lines) + "\n")


def _plain_file(path: Path) -> bytes:
    try:
        with os.fdopen(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as file:
            return file.read(1024 * 1024) if stat.S_ISREG(os.fstat(file.fileno()).st_mode) else b""
    except OSError:
        return b""
