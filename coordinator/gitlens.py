"""A lens: a private git folder of ours through which a working tree is compared or filled, and no program of theirs
runs.

It has its own configuration and its own index and borrows only the repository's objects. Attributes in the tree may
name a filter, but the lens knows none, so none runs; nor does an index flag, a replace reference or a forged time
hide a change, because the index is made anew from the commit and files are hashed by reading them. Only settings that
say how files look on disk (line ends, modes) are taken over, as plain words. Nothing but comparing and filling
belongs here.
"""

import asyncio
import contextlib
import os
import re
import stat
from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from pathlib import Path
from typing import Final

from msgspec import Struct

from coordinator import gitfacts
from coordinator.gitrun import LIMIT, TIMEOUT, GitOutput, run_git
from coordinator.lensfolder import lens_folder
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
LISTING: Final = 64 * 1024 * 1024
"""Bytes of a list of all names in a tree, at most."""
BIG: Final = 32 * 1024 * 1024
"""Bytes from which on a file is not compared line by line: git would have all of it, twice, in memory."""
_MOST_NEW: Final = 20_000
"""New files looked at; a tree with more has something in it that belongs into ``.gitignore``."""


class Lens(Struct, kw_only=True):
    tree: Path
    environment: Mapping[str, str]
    objects: Path
    """Where the repository has its objects."""
    sparse: bool
    """A sparse checkout: some of what is tracked is kept off the disk."""
    cone: bool = False
    """Its patterns name whole folders."""
    left_out: frozenset[bytes] = frozenset()
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
        store: Path | None = None,
        answers: Collection[int] = (0,),
        more: Mapping[str, str] | None = None,
    ) -> GitOutput | Refusal:
        """``store``: where the objects that it makes go to stay; None: they go with the lens. ``more``: other
        variables."""
        environment = {**self.environment, **(more or {})}
        if index:
            environment["GIT_INDEX_FILE"] = str(index)
        if store:
            environment["GIT_OBJECT_DIRECTORY"] = str(store)
        return await run_git(
            args,
            cwd=self.tree,
            environment=environment,
            limit=limit,
            timeout=timeout,
            input=input,
            cut_ok=cut_ok,
            answers=answers,
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
        return await self._diff([self.start(base)], how, _EVERYTHING, limit, cut_ok)

    async def differing(self, base: str) -> list[bytes] | Refusal:
        """Names of the files that are not as in this commit, each once."""
        found = await self.compare(base, ["--raw", "-z"], limit=LISTING)
        return (
            found if isinstance(found, Refusal) else await asyncio.to_thread(_changed_names, found.out, self.left_out)
        )

    async def compare_files(
        self, base: str, names: Sequence[bytes], how: Sequence[str], *, limit: int = LIMIT, cut_ok: bool = False
    ) -> GitOutput | Refusal:
        """The same for these files alone: nothing else of the tree is looked at."""
        noted = await self.note_files(base, names)
        if isinstance(noted, Refusal):
            return noted
        return await self._diff([self.start(base)], how, literally(names), limit, cut_ok)

    async def compare_trees(
        self, one: str, other: str, names: Sequence[bytes], how: Sequence[str], *, limit: int, cut_ok: bool = False
    ) -> GitOutput | Refusal:
        """Two trees, whatever is on disk; ``names``: these files alone, none for all."""
        return await self._diff([one, other], how, literally(names) if names else _EVERYTHING, limit, cut_ok)

    async def note_files(self, base: str, names: Sequence[bytes]) -> GitOutput | Refusal:
        """Make the lens' index that of a commit or tree, with these files to be looked at on disk."""
        read = await self.run(["read-tree", base or self.start("")])
        if isinstance(read, Refusal):
            return read
        return await self._note(names) or read

    def start(self, base: str) -> str:
        """What is compared with; the tree without entries for ''."""
        return base or gitfacts.EMPTY_TREE[64 if self.environment["GIT_DEFAULT_HASH"] == "sha256" else 40]

    async def _diff(
        self, between: Sequence[str], how: Sequence[str], where: Sequence[str], limit: int, cut_ok: bool
    ) -> GitOutput | Refusal:
        args = ["diff", *how, "-M", "--ignore-submodules=all", *between, "--", *where]
        return await self.run(args, limit=limit, cut_ok=cut_ok)

    def keep_sparse(self, git_dir: Path) -> None:
        """Files are written as far as this working tree's own patterns go. Never before comparing: what is left out
        would count as unchanged."""
        patterns = _plain_file(git_dir / "info" / "sparse-checkout")
        if self.sparse and patterns:
            folder = Path(self.environment["GIT_DIR"])
            (folder / "info" / "sparse-checkout").write_bytes(patterns)
            cone = "\tsparseCheckoutCone = true\n" if self.cone else ""
            with (folder / "config").open("a") as file:
                file.write(f"[core]\n\tsparseCheckout = true\n{cone}")

    async def fill(self, head: str, index: Path, *, git_dir: Path, timeout: float) -> GitOutput | Refusal:
        """Write a commit's files into a tree that has nothing to lose. ``index`` knows which are there, and which are
        then; ``git_dir`` is the tree's own, for its patterns."""
        self.keep_sparse(git_dir)
        return await self.run(["read-tree", "--reset", "-u", head], index=index, timeout=timeout)

    async def _note_new_files(self) -> GitOutput | Refusal:
        """Into the index, by name only, so that the comparison sees them."""
        ours = await self.run(["ls-files", "-z"], limit=LISTING)
        new = await self.run(["ls-files", "-z", "--others", "--exclude-standard"], limit=LISTING)
        # What they added is theirs even where it is ignored; their flags are looked at for sparse checkouts alone.
        theirs = await run_git(["ls-files", "-z", "-t"], cwd=self.tree, limit=LISTING)
        if isinstance(ours, Refusal):
            return ours
        if isinstance(new, Refusal):
            return new
        flags = theirs.out if isinstance(theirs, GitOutput) else b""
        # Beside the loop: 50,000 names take 20 ms.
        names, away = await asyncio.to_thread(_new_names, ours.out, new.out, flags)
        if self.sparse:
            self.left_out = away
        return await self._note(names) or new

    async def _note(self, names: Sequence[bytes]) -> GitOutput | Refusal | None:
        """Into the index, by name only, those that are on disk; None: there is none."""
        lines = await asyncio.to_thread(_index_lines, self.tree, names, _anything(self.environment))
        if not lines:
            return None
        return await self.run(["update-index", "--add", "--replace", "-z", "--index-info"], input=lines)


def _changed_names(raw: bytes, away: frozenset[bytes]) -> list[bytes]:
    return list(dict.fromkeys(name for change in gitfacts.raw_changes(raw, away) for name in change.names))


def _new_names(ours: bytes, new: bytes, flagged: bytes) -> tuple[list[bytes], frozenset[bytes]]:
    """Names that a comparison would not see, as many as are looked at; and those that a sparse checkout left out."""
    known = set(ours.split(b"\0"))
    entries = [(entry[:1], entry[2:]) for entry in flagged.split(b"\0") if entry]
    names = set(new.split(b"\0")).union(path for _, path in entries if path not in known)
    return sorted(names)[:_MOST_NEW], frozenset(path for tag, path in entries if tag == b"S")


def _index_lines(tree: Path, names: Sequence[bytes], object_name: bytes) -> bytes:
    """What ``update-index`` is told of those that are on disk."""
    lines = []
    for name in names:
        mode = _mode(os.fsencode(tree) + b"/" + name) if name and not gitfacts.of_mailbox(name) else None
        if mode:
            lines.append(b"%s %s 0\t%s\0" % (mode, object_name, name))
    return b"".join(lines)


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


_EVERYTHING: Final = (".", ":(exclude,top).footplate")


def literally(names: Sequence[bytes]) -> list[str]:
    """Names as git takes them for nothing but names."""
    return [f":(top,literal){os.fsdecode(name)}" for name in names]


@contextlib.asynccontextmanager
async def open_lens(tree: Path, beside: Sequence[Path] = ()) -> AsyncIterator[Lens | Refusal]:
    """A lens on a working tree, for as long as the block lasts. A refusal comes out where the tree is none.

    ``beside``: more places where objects are.
    """
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
    with lens_folder() as folder:
        _furnish(folder, (common / "objects", *beside), common, settings)
        yield Lens(
            tree=tree,
            environment={
                "GIT_DIR": str(folder),
                "GIT_WORK_TREE": str(tree),
                "GIT_CONFIG_GLOBAL": "/dev/null",
                "GIT_DEFAULT_HASH": settings.get("extensions.objectformat", "sha1"),
            },
            objects=common / "objects",
            sparse=settings.get("core.sparsecheckout") == "true",
            cone=settings.get("core.sparsecheckoutcone") == "true",
        )


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


def _furnish(folder: Path, objects: Sequence[Path], common: Path, settings: Mapping[str, str]) -> None:
    for name in ("objects/info", "refs", "info"):
        (folder / name).mkdir(parents=True)
    (folder / "HEAD").write_text("ref: refs/heads/none\n")
    (folder / "objects/info/alternates").write_bytes(b"".join(os.fsencode(one) + b"\n" for one in objects))
    for name, added in (("exclude", b"\n/.footplate/\n"), ("attributes", b"\n")):
        with contextlib.suppress(OSError):
            (folder / "info" / name).write_bytes(_plain_file(common / "info" / name) + added)
    lines = ["[core]", "\trepositoryformatversion = 1", "\tbare = false", f"\tbigFileThreshold = {BIG}"]
    for key in sorted(_TAKEN_OVER & settings.keys()):
        lines.append(f"\t{key.removeprefix('core.')} = {settings[key]}")
    if "core.excludesfile" in settings:
        quoted = settings["core.excludesfile"].replace("\\", "\\\\").replace('"', '\\"').replace("\n", "")
        lines.append(f'\texcludesfile = "{quoted}"')
    # A large file is packed only to be hashed: no time is spent on making it smaller.
    lines += ["[pack]", "\tcompression = 0"]
    if settings.get("extensions.objectformat") == "sha256":
        lines += ["[extensions]", "\tobjectformat = sha256"]
    (folder / "config").write_text("\n".join(lines) + "\n")


def _plain_file(path: Path) -> bytes:
    try:
        with os.fdopen(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as file:
            return file.read(1024 * 1024) if stat.S_ISREG(os.fstat(file.fileno()).st_mode) else b""
    except OSError:
        return b""
