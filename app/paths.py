"""Where everything of Footplate lies on this machine, and that those folders are ours alone.

No other module asks platformdirs or reads ``FOOTPLATE_HOME``: two opinions about a folder would be two ledgers. Nothing
here opens a file.
"""

import os
import stat
from collections.abc import Mapping
from pathlib import Path

from msgspec import Struct

from store.refusal import Refusal
from store.vocab import RefusalReason

HOME_VARIABLE = "FOOTPLATE_HOME"
_NAME = "footplate"
_OTHERS = stat.S_IRWXG | stat.S_IRWXO


class Paths(Struct, frozen=True, kw_only=True):
    config_file: Path
    agents_file: Path
    rules_file: Path
    ledger: Path
    spool: Path
    evidence: Path
    worktrees: Path
    runtime: Path
    """Sockets and locks of living consoles. Short on purpose: a socket's path has 107 bytes, no more."""
    logs: Path
    mark: Path
    """``ledger.mark``: the ledger's last head, noted beside it."""
    toured: Path
    """There once the six keys were shown."""
    notices: Path
    """What the operator was told of, so that the next console does not tell it again."""

    def folders(self) -> tuple[Path, ...]:
        """Every folder that must be there before anything is opened, outermost first."""
        return (
            self.config_file.parent,
            self.ledger.parent,
            self.spool,
            self.evidence,
            self.worktrees,
            self.runtime,
            self.logs,
        )

    @property
    def longest_socket(self) -> int:
        """Bytes of the longest path that a socket of ours has: of a keeper, or of a console."""
        return max(
            len(os.fsencode(self.spool)) + len("/") + 12 + len("/s"), len(os.fsencode(self.runtime)) + 1 + 16 + 2
        )

    def ensure(self) -> Refusal | None:
        """Make the folders, 0700 and ours; a ``Refusal`` with what to do when that cannot be."""
        for folder in self.folders():
            refusal = _own(folder)
            if refusal is not None:
                return refusal
        return None


def find(environ: Mapping[str, str] | None = None) -> Paths:
    """The folders for this environment. ``FOOTPLATE_HOME`` moves all of them under itself."""
    home = (os.environ if environ is None else environ).get(HOME_VARIABLE, "")
    if home:
        root = Path(home).expanduser().absolute()
        return _under(config=root, data=root, runtime=root / "run", logs=root / "logs")
    # Only here: with FOOTPLATE_HOME set, the import is not needed, and a quick command should not pay for it.
    import platformdirs

    data = Path(platformdirs.user_data_dir(_NAME))
    # Without a runtime folder of the session platformdirs falls back to a name in /tmp, which anyone may have made.
    session = bool(os.environ.get("XDG_RUNTIME_DIR")) or Path(f"/run/user/{os.getuid()}").is_dir()
    return _under(
        config=Path(platformdirs.user_config_dir(_NAME)),
        data=data,
        runtime=Path(platformdirs.user_runtime_dir(_NAME)) if session else data / "run",
        logs=Path(platformdirs.user_log_dir(_NAME)),
    )


def _under(*, config: Path, data: Path, runtime: Path, logs: Path) -> Paths:
    return Paths(
        config_file=config / "config.toml",
        agents_file=config / "agents.toml",
        rules_file=config / "rules.toml",
        ledger=data / "ledger.db",
        spool=data / "spool",
        evidence=data / "evidence",
        worktrees=data / "worktrees",
        runtime=runtime,
        logs=logs,
        mark=data / "ledger.mark",
        toured=data / "toured",
        notices=data / "notices",
    )


def _own(folder: Path) -> Refusal | None:
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        found = folder.stat()
    except NotADirectoryError:
        return _refused(folder, "something that is no folder is in the way")
    except FileExistsError:
        return _refused(folder, "a file of that name is in the way")
    except OSError as problem:
        return _refused(folder, (problem.strerror or str(problem)).lower())
    if found.st_uid != os.getuid():
        # In a shared temporary folder someone else may have made it first, to read what we put there.
        return _refused(folder, "it belongs to another user")
    if found.st_mode & _OTHERS and _is_ours_alone(folder):
        try:
            folder.chmod(0o700)
        except OSError as problem:
            return _refused(folder, (problem.strerror or str(problem)).lower())
    if not os.access(folder, os.W_OK | os.X_OK):
        return _refused(folder, "it is read-only")
    return None


def _is_ours_alone(folder: Path) -> bool:
    """``FOOTPLATE_HOME`` may name a folder that is the operator's for other things too: its mode is theirs."""
    return folder.name in {_NAME, "spool", "evidence", "worktrees", "run", "logs"}


def _refused(folder: Path, problem: str) -> Refusal:
    return Refusal(RefusalReason.STORAGE, {"path": str(folder), "problem": problem, "what": "folder"})
