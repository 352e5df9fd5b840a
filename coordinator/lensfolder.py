"""The scratch folder of a lens, and what to do with those that a killed process left.

A name says whose the folder is (process and when that began), so that the next console can tell what nobody uses any
more from what another process works with just now.
"""

import contextlib
import os
import re
import shutil
import stat
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from coordinator.custody.processes import identity_of
from store.vocab import Millis

_PREFIX: Final = "footplate-git-"
_OLD: Final = 600.0
"""Seconds: longer than git is given for anything. A process that cannot be seen from here (another container with the
same folder) is not taken for gone before."""
_NAME: Final = re.compile(re.escape(_PREFIX) + r"(\d+)-(\d+)-[a-z0-9_]+")


@contextlib.contextmanager
def lens_folder() -> Iterator[Path]:
    """An empty one, gone with the block.

    Raises:
        OSError: there is no room or no right to make it.
    """
    pid = os.getpid()
    own = identity_of(pid)
    folder = Path(tempfile.mkdtemp(prefix=f"{_PREFIX}{pid}-{own.start_ticks if own is not None else 0}-"))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def take_away_left(now: Millis) -> int:
    """Remove those of our own whose process is gone. How many they were."""
    taken, here = 0, Path(tempfile.gettempdir())
    with contextlib.suppress(OSError):
        for folder in list(here.glob(f"{_PREFIX}*")):
            named = _NAME.fullmatch(folder.name)
            facts = folder.lstat()
            ours = stat.S_ISDIR(facts.st_mode) and facts.st_uid == os.getuid()
            if named is None or not ours or now / 1000 - facts.st_mtime < _OLD:
                continue
            living = identity_of(int(named[1]))
            if living is None or living.start_ticks != int(named[2]):
                shutil.rmtree(folder, ignore_errors=True)
                taken += 1
    return taken
