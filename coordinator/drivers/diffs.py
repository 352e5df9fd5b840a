"""A change to a file as a unified diff, from its text before and after: what every agent's edit is shown as.

Pure, and of no protocol: which field holds the old text is for each driver to know.
"""

import difflib
from typing import Final

_DIFF_LINES: Final = 4_000
"""Matching is quadratic at worst; longer edits are shown as all the old lines, then all the new ones."""


def diff_of(path: str, old: str, new: str) -> str:
    """``old`` or ``new`` empty: the file is made, or removed."""
    if all(not text or text.endswith("\n") for text in (old, new)):
        # The last line end ends a line; it is no empty line more.
        old_lines, new_lines = (text[:-1].split("\n") if text else [] for text in (old, new))
    else:
        old_lines, new_lines = (text.split("\n") if text else [] for text in (old, new))
    if not old_lines or not new_lines or len(old_lines) + len(new_lines) > _DIFF_LINES:
        start_old, start_new = (1 if old_lines else 0), (1 if new_lines else 0)
        return "\n".join(
            [
                f"--- {path}",
                f"+++ {path}",
                f"@@ -{start_old},{len(old_lines)} +{start_new},{len(new_lines)} @@",
                *(f"-{line}" for line in old_lines),
                *(f"+{line}" for line in new_lines),
            ]
        )
    return "\n".join(difflib.unified_diff(old_lines, new_lines, path, path, lineterm="", n=3))
