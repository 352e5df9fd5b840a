"""The supervisor's first file: ``python -I -S <this file>``, the hold's facts as JSON on stdin; the guard's too, with
``guard`` as its first argument.

It gives its own folder the package name ``supervisor`` without touching ``sys.path``: the folder above holds modules
named like the standard library's (``queue``), and nothing of ours but this folder may be importable here.
"""

import os
import sys


def _load() -> int:
    # By hand: importlib.util takes 5 ms, a fifth of the whole start.
    package = type(sys)("supervisor")
    package.__path__ = [os.path.dirname(os.path.abspath(__file__))]  # noqa: PTH100, PTH120 - as does pathlib
    sys.modules["supervisor"] = package
    part = "guard" if sys.argv[1:2] == ["guard"] else "birth"
    return int(__import__(f"supervisor.{part}", fromlist=["main"]).main())


if __name__ == "__main__":
    sys.exit(_load())
