"""What is kept of a run beside its conversation: the diff, which files and the hashes of what is in them, what happened
to git's configuration, notes.

Gathered whenever a run has come to rest and when a hold ends, for someone who asks months later. Everything is redacted
before it is bytes, bounded, and says itself where something could not be read; gathering never fails and never delays
a receipt. Deciding when to gather is not done here.
"""

import asyncio
import difflib
import hashlib
import os
import stat
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

from msgspec import Struct

from coordinator import gitfacts
from coordinator.api import ChangedFile
from coordinator.gitfacts import RawChange
from coordinator.githelper import LISTED, ConfigReading, GitOutput, read_config
from coordinator.gitlens import LISTING, Lens, open_lens
from coordinator.mailbox import DECISION, HANDOFF, MailboxRead
from coordinator.plurals import plural
from store import evidence
from store.refusal import Refusal
from store.tx import Tx
from store.vocab import EvidenceKind, RunId

DIFF_LIMIT: Final = 4 * 1024 * 1024
MOST_FILES: Final = 10_000
"""Of which the hashes are kept."""
MOST_BYTES: Final = 256 * 1024 * 1024
"""Read for hashes in one go."""
BETWEEN: Final = 16 * 1024 * 1024
"""Bytes of one kind that a run may come to while it goes on; then only its end is kept."""
_CONFIG_LIMIT: Final = 256 * 1024
_PATCH: Final = ("--patch", "--no-color")
_FEW: Final = 400
"""Names that a command is given; with more than that all files are compared once more."""
_PIECE: Final = 1024 * 1024
Redact = Callable[[str], str]
_OF_THE_TREE: Final = (EvidenceKind.DIFF, EvidenceKind.FILES, EvidenceKind.GIT_CONFIG)


class Piece(Struct, frozen=True, kw_only=True):
    kind: EvidenceKind
    content: bytes
    note: str = ""


class Noted(Struct, frozen=True, kw_only=True):
    """The tree as it was noted just now (``turntrees``): then nothing of it need be read to compare it."""

    tree: str
    store: Path


async def gather(
    tree: Path, base: str, *, redact: Redact, config_before: ConfigReading | None, noted: Noted | None = None
) -> tuple[Piece, ...]:
    """The tree's evidence: which files changed, the diff, their hashes, and git's configuration where it is another
    than before."""
    beside = () if noted is None else (noted.store,)
    async with open_lens(tree, beside=beside) as lens:
        if isinstance(lens, Refusal):
            differ: GitOutput | Refusal = lens
            patch: GitOutput | Refusal | None = lens
            away = frozenset[bytes]()
        else:
            differ, patch = await _compared(lens, base, "" if noted is None else noted.tree)
            away = lens.left_out
    changes: list[RawChange] | Refusal
    changes = differ if isinstance(differ, Refusal) else await asyncio.to_thread(gitfacts.raw_changes, differ.out, away)
    config = await asyncio.to_thread(read_config, tree)
    return await asyncio.to_thread(_pieces, tree, changes, patch, redact, config_before, config)


async def _compared(lens: Lens, base: str, state: str) -> tuple[GitOutput | Refusal, GitOutput | Refusal | None]:
    """The list of what differs, and the lines; None: there are none."""
    if state:
        start = lens.start(base)
        differ = await lens.compare_trees(start, state, (), LISTED, limit=LISTING)
        if isinstance(differ, Refusal) or not differ.out:
            return differ, None
        return differ, await lens.compare_trees(start, state, (), _PATCH, limit=DIFF_LIMIT, cut_ok=True)
    differ = await lens.compare(base, LISTED, limit=LISTING)
    if isinstance(differ, Refusal):
        return differ, await lens.compare(base, _PATCH, limit=DIFF_LIMIT, cut_ok=True)
    names = [name for one in gitfacts.raw_changes(differ.out, lens.left_out) for name in one.names]
    if not names:
        return differ, None
    if len(names) > _FEW:
        return differ, await lens.compare(base, _PATCH, limit=DIFF_LIMIT, cut_ok=True)
    return differ, await lens.compare_files(base, names, _PATCH, limit=DIFF_LIMIT, cut_ok=True)


def _pieces(
    tree: Path,
    changes: list[RawChange] | Refusal,
    patch: GitOutput | Refusal | None,
    redact: Redact,
    config_before: ConfigReading | None,
    config: ConfigReading,
) -> tuple[Piece, ...]:
    listed = changes if isinstance(changes, Refusal) else gitfacts.as_files(changes)
    pieces = [status_piece(listed, redact)]
    if isinstance(patch, Refusal):
        pieces.append(Piece(kind=EvidenceKind.DIFF, content=b"", note=f"not read: {_why(patch)}"))
    elif patch is not None and patch.out:
        note = f"cut at {DIFF_LIMIT} bytes" if patch.cut else ""
        # Of a line that was cut nobody would know that half a secret stands in it.
        lines = patch.out[: patch.out.rfind(b"\n") + 1] if patch.cut else patch.out
        pieces.append(Piece(kind=EvidenceKind.DIFF, content=_redacted(lines, redact), note=note))
    if not isinstance(changes, Refusal) and changes:
        pieces.append(files_piece(tree, changes, redact))
    if config_before is not None and config != config_before:
        pieces.append(config_piece(config_before, config, redact))
    return tuple(pieces)


def keep(tx: Tx, run: RunId, pieces: Sequence[Piece], *, over: bool = True) -> None:
    """Into the run's chain. The newest of each kind is how it stands, so what is not there any more is said as well.

    ``over``: the run is; while it goes on, no more is kept of a kind than ``BETWEEN``.
    """
    there = {piece.kind for piece in pieces}
    if not any(piece.note.startswith("not read") for piece in pieces):
        newest = {kind: size for _, kind, _, size, *_ in evidence.listing(tx, run)}
        gone = [kind for kind in _OF_THE_TREE if kind not in there and newest.get(kind)]
        pieces = [*pieces, *(Piece(kind=kind, content=b"", note="nothing any more") for kind in gone)]
    for piece in pieces:
        if over or evidence.weight(tx, run, piece.kind) + len(piece.content) <= BETWEEN:
            evidence.add(tx, run=run, kind=piece.kind, content=piece.content, note=piece.note)


def signature(tree: Path, changed: Sequence[ChangedFile], config: ConfigReading) -> object:
    """Equal where nothing can have changed: by the times that a file system gives, which nobody sets back unseen.
    Blocking."""
    seen: list[object] = []
    for file in changed[:MOST_FILES]:
        try:
            found = os.lstat(tree / file.path)
            seen.append((found.st_ino, found.st_mode, found.st_size, found.st_mtime_ns, found.st_ctime_ns))
        except (OSError, ValueError):
            # A name that is no text cannot be asked for: it may have changed each time.
            seen.append(None if file.status == "D" else object())
    return (tuple(changed), tuple(seen), config)


def files_piece(tree: Path, changes: Sequence[RawChange], redact: Redact) -> Piece:
    """Mode, size and sha256 of each changed file as it is on disk; of one that is gone, dashes. Blocking."""
    rows: list[str] = []
    left, short = MOST_BYTES, 0
    for one in sorted(changes, key=lambda one: one.names[0])[:MOST_FILES]:
        found = _hashed(os.fsencode(tree) + b"/" + one.names[0], left)
        if found is None:
            rows.append(f"-\t-\t-\t{as_listed(gitfacts.text(one.names[0]))}\n")
            continue
        mode, size, sha256 = found
        left -= size if sha256 else 0
        short += not sha256
        rows.append(f"{mode}\t{size}\t{sha256 or '-'}\t{as_listed(gitfacts.text(one.names[0]))}\n")
    said = [plural(len(rows), "file")]
    if len(changes) > MOST_FILES:
        said.append(f"{len(changes) - MOST_FILES} more are not listed")
    if short:
        said.append(f"{short} too large to be read for it")
    return Piece(
        kind=EvidenceKind.FILES, content=redact("".join(rows)).encode("utf-8", "replace"), note="; ".join(said)
    )


def _hashed(path: bytes, most: int) -> tuple[str, int, str] | None:
    """Mode as git has it, size, sha256 ('' where it is larger than ``most``); None: no file is there. Never follows a
    name into a device or a pipe."""
    try:
        found = os.lstat(path)
        if stat.S_ISLNK(found.st_mode):
            target = os.readlink(path)  # noqa: PTH115 - a name is bytes
            return "120000", len(target), hashlib.sha256(target).hexdigest()
        mode = "100755" if found.st_mode & stat.S_IXUSR else "100644"
        if not stat.S_ISREG(found.st_mode):
            return None
        if found.st_size > most:
            return mode, found.st_size, ""
        digest, size = hashlib.sha256(), 0
        with os.fdopen(os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as file:
            while size <= most and (piece := file.read(_PIECE)):
                digest.update(piece)
                size += len(piece)
    except OSError:
        return None
    return mode, size, digest.hexdigest() if size <= most else ""


def status_piece(changed: Sequence[ChangedFile] | Refusal, redact: Redact) -> Piece:
    if isinstance(changed, Refusal):
        return Piece(kind=EvidenceKind.STATUS, content=b"", note=f"not read: {_why(changed)}")
    content = redact(status_text(changed)).encode()
    return Piece(kind=EvidenceKind.STATUS, content=content, note=f"{plural(len(changed), 'file')} changed")


def status_text(changed: Sequence[ChangedFile]) -> str:
    """One line a file. A name with a line end in it stays one line."""
    return "".join(
        f"{file.status}\t{_count(file.added)}\t{_count(file.removed)}\t{as_listed(file.path)}\n" for file in changed
    )


def config_piece(before: ConfigReading, after: ConfigReading, redact: Redact) -> Piece:
    """What changed in the files by which git can be made to run something."""
    was, now = dict(before.files), dict(after.files)
    touched = [path for path in sorted(was.keys() | now.keys()) if was.get(path) != now.get(path)]
    parts: list[str] = []
    for path in touched:
        old, new = was.get(path, "").splitlines(), now.get(path, "").splitlines()
        parts += difflib.unified_diff(old, new, f"{path} (before)", f"{path} (after)", lineterm="")
    text = redact("\n".join(parts) + "\n").encode("utf-8", "replace")[:_CONFIG_LIMIT]
    return Piece(kind=EvidenceKind.GIT_CONFIG, content=text, note="changed: " + ", ".join(touched))


def mailbox_pieces(read: MailboxRead, redact: Redact) -> tuple[Piece, ...]:
    """What the agent left for the operator."""
    pieces = []
    if read.decision_bytes:
        content = _redacted(read.decision_bytes, redact)
        pieces.append(Piece(kind=EvidenceKind.MAILBOX, content=content, note=DECISION))
    if read.handoff is not None:
        content = redact(read.handoff).encode("utf-8", "replace")
        note = "; ".join(read.handoff_problems) or HANDOFF
        pieces.append(Piece(kind=EvidenceKind.HANDOFF, content=content, note=note))
    return tuple(pieces)


def _redacted(raw: bytes, redact: Redact) -> bytes:
    """Evidence is text once it is kept: in what is no UTF-8 a secret could not be found."""
    return redact(raw.decode("utf-8", "replace")).encode("utf-8", "replace")


def _why(refusal: Refusal) -> str:
    facts = refusal.facts
    return f"{facts.get('exit', refusal.reason)} {facts.get('stderr', '')}".strip()


def _count(lines: int | None) -> str:
    return "-" if lines is None else str(lines)


def as_listed(path: str) -> str:
    """A path as the list of files that is kept has it: on one line."""
    return path if path.isprintable() else path.encode("unicode_escape").decode("ascii")
