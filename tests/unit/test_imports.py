"""Every module of ours can be the first that is imported: no circle depends on who came before."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]

EACH = """
import importlib, sys
for name in sys.argv[1:]:
    for known in [known for known in sys.modules if known.split(".")[0] in ("app", "coordinator", "store")]:
        del sys.modules[known]
    try:
        importlib.import_module(name)
    except Exception as problem:
        print(f"{name}: {problem!r}")
"""


def test_each_module_can_come_first() -> None:
    files = [
        *ROOT.glob("coordinator/*.py"),
        *ROOT.glob("store/*.py"),
        *ROOT.glob("app/*.py"),
        *ROOT.glob("app/cli/*.py"),
    ]
    names = [".".join(file.relative_to(ROOT).with_suffix("").parts) for file in files if file.stem != "__init__"]
    assert len(names) > 80
    told = subprocess.run([sys.executable, "-c", EACH, *names], cwd=ROOT, capture_output=True, text=True, check=True)
    assert told.stdout == ""
