"""What is kept of a run beside its conversation: the diff, which files, what happened to git's configuration, notes.

Gathered when a hold ends, for someone who asks months later. Everything is redacted before it is bytes, bounded, and
says itself where something could not be read; gathering never fails and never delays a receipt. Storing it, and
deciding when to gather, is not done here.
"""

import asyncio
import difflib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from coordinator.api import ChangedFile
from coordinator.githelper import ConfigReading, changed_files, diff_text, read_config
from coordinator.mailbox import DECISION, HANDOFF, MailboxRead
from store.refusal import Refusal
from store.vocab import EvidenceKind

DIFF_LIMIT: Final = 4 * 1024 * 1024
_CONFIG_LIMIT: Final = 256 * 1024
Redact = Callable[[str], str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    kind: EvidenceKind
    content: bytes
    note: str = ""


async def gather(tree: Path, base: str, *, redact: Redact, config_before: ConfigReading | None) -> tuple[Piece, ...]:
    """The tree's evidence: which files changed, the diff, and git's configuration where it is another than before."""
    changed, diff, config = await asyncio.gather(
        changed_files(tree, base),
        diff_text(tree, base, limit=DIFF_LIMIT),
        asyncio.to_thread(read_config, tree),
    )
    pieces = [status_piece(changed, redact)]
    if isinstance(diff, Refusal):
        pieces.append(Piece(kind=EvidenceKind.DIFF, content=b"", note=f"not read: {_why(diff)}"))
    elif diff.out:
        note = f"cut at {DIFF_LIMIT} bytes" if diff.cut else ""
        pieces.append(Piece(kind=EvidenceKind.DIFF, content=_redacted(diff.out, redact), note=note))
    if config_before is not None and config != config_before:
        pieces.append(config_piece(config_before, config, redact))
    return tuple(pieces)


def status_piece(changed: Sequence[ChangedFile] | Refusal, redact: Redact) -> Piece:
    if isinstance(changed, Refusal):
        return Piece(kind=EvidenceKind.STATUS, content=b"", note=f"not read: {_why(changed)}")
    content = redact(status_text(changed)).encode()
    return Piece(kind=EvidenceKind.STATUS, content=content, note=f"{len(changed)} files changed")


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
