"""The supervisor's first file: ``python -I -S <this file>``, the hold's facts as JSON on stdin.

It gives its own folder the package name ``supervisor`` without touching ``sys.path``: the folder above holds modules
named like the standard library's (``queue``), and nothing of ours but this folder may be importable here.
"""

import importlib.util
import os
import sys


def _load() -> None:
    folder = os.path.dirname(os.path.abspath(__file__))  # noqa: PTH100, PTH120 - pathlib costs a fifth of the start
    spec = importlib.util.spec_from_file_location(
        "supervisor",
        os.path.join(folder, "__init__.py"),  # noqa: PTH118
        submodule_search_locations=[folder],
    )
    assert spec is not None and spec.loader is not None
    package = importlib.util.module_from_spec(spec)
    sys.modules["supervisor"] = package
    spec.loader.exec_module(package)


if __name__ == "__main__":
    _load()
    sys.exit(importlib.import_module("supervisor.birth").main())
