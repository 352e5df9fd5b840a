"""Whether the ledger's file and the place where it lies will do, looked at before SQLite is let near them.

SQLite takes an empty file for a new database and a network share for a disk; both end in a ledger that is
silently wrong.
"""

import os
import sys
from pathlib import Path
from typing import Final

from store.refusal import Fact, Refusal
from store.vocab import RefusalReason

CUT: Final = "it is cut short"
HEADER: Final = b"SQLite format 3\x00"

# WAL needs memory shared between all who open the file; over a network there is none.
NETWORK_FILE_SYSTEMS: Final = frozenset(
    {
        "afpfs", "afs", "beegfs", "ceph", "cifs", "coda", "fuse.glusterfs", "fuse.rclone", "fuse.s3fs", "fuse.sshfs",
        "gfs2", "glusterfs", "gpfs", "lustre", "ncpfs", "nfs", "nfs4", "ocfs2", "smb2", "smb3", "smbfs", "webdav",
    }
)  # fmt: skip


def _unescaped(field: str) -> str:
    """Spaces and the like stand in mountinfo as octal escapes."""
    return field.encode("latin-1", "replace").decode("unicode_escape") if "\\" in field else field


def file_system_of(folder: Path, mounts: str) -> str:
    """The type of the file system that holds a folder, from the text of ``/proc/self/mountinfo``; '' when not told."""
    best, kind = -1, ""
    for line in mounts.splitlines():
        before, _, after = line.partition(" - ")
        fields = before.split(" ")
        if len(fields) < 5 or not after:
            continue
        point = Path(_unescaped(fields[4]))
        # The later of two mounts on one point hides the earlier.
        if (folder == point or point in folder.parents) and len(point.parts) >= best:
            best, kind = len(point.parts), after.split(" ")[0]
    return kind


def _mounts() -> str:
    """As mountinfo has them."""
    if sys.platform == "darwin":
        import psutil  # noqa: PLC0415 - Linux tells it in a file

        return "\n".join(mount_line(one.mountpoint, one.fstype) for one in psutil.disk_partitions(all=True))
    else:
        return Path("/proc/self/mountinfo").read_text(encoding="utf-8", errors="replace")


def mount_line(point: str, kind: str) -> str:
    """One mount as a line of mountinfo, as far as it is read here."""
    escaped = point.replace("\\", "\\134").replace(" ", "\\040").replace("\n", "\\012")
    return f"0 0 0:0 / {escaped} - {kind}"


def check_place(folder: Path) -> Refusal | None:
    try:
        mounts = _mounts()
    except OSError:
        return None  # they are not told: SQLite's own answer must do
    kind = file_system_of(folder.resolve(), mounts)
    if kind in NETWORK_FILE_SYSTEMS:
        return Refusal(RefusalReason.NETWORK_FILE_SYSTEM, {"path": str(folder), "kind": kind})
    return None


def check_file(path: Path) -> Refusal | None:
    """Why a file that is there cannot be a ledger; None also where there is no file."""
    problem = ""
    try:
        if not path.is_file():
            problem = "it is not a file" if path.exists() else ""
        else:
            with path.open("rb") as file:
                head = file.read(100)
                size = os.fstat(file.fileno()).st_size
            problem = _problem(head, size, has_wal=_has_wal(path))
    except OSError as error:
        problem = error.strerror or str(error)
    if problem:
        facts: dict[str, Fact] = {"path": str(path), "problem": problem}
        if problem == CUT:
            facts["damaged"] = True
        return Refusal(RefusalReason.LEDGER_UNREADABLE, facts)
    return None


def _has_wal(path: Path) -> bool:
    wal = path.with_name(f"{path.name}-wal")
    return wal.exists() and wal.stat().st_size > 0


def _problem(head: bytes, size: int, *, has_wal: bool) -> str:
    if size == 0:
        return "it is empty"
    if not head.startswith(HEADER[: len(head)]):
        return "it is not a database"
    if has_wal:
        # A checkpoint writes the first page before it lengthens the file, so a crash in it leaves a short file whose
        # whole content is in the WAL: SQLite recovers that, and must be let.
        return ""
    page = int.from_bytes(head[16:18], "big")
    page = 65536 if page == 1 else page
    if len(head) < 100 or page < 512 or size % page:
        return CUT
    # The header's page count is valid while its two change counters agree.
    pages = int.from_bytes(head[28:32], "big")
    if head[24:28] == head[92:96] and pages * page > size:
        return CUT
    return ""
