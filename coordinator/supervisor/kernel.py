"""All that is asked of the system and differs between systems, as one module: ``from .kernel import kernel``.

``linux`` and ``darwin`` answer the same questions by the same names (a test compares them); each is loaded on its own
system only. What follows from the answers (``kin``, ``roll``, ``ending``) knows of neither. Where one of them can
answer less, it says so, and so does what an operator reads.
"""

from __future__ import annotations

import sys

if sys.platform == "darwin":
    from . import darwin as kernel
else:
    from . import linux as kernel

__all__ = ["kernel"]
