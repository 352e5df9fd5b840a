"""A small repository to rehearse in: a tea shop's blackboard, with one test that truly fails every other time.

The demo script knows these files by name and changes them; a change here is a change there (a test plays one on the
other).
"""

import os
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Final

FILES: Final[Mapping[str, str]] = {
    "README.md": """# Tea shop

What goes on the blackboard each morning. Run the tests with `python3 -m unittest`.
`python3 soak.py` runs them again and again, each time with another hash seed.
""",
    ".gitignore": "__pycache__/\nsoak.log\n",
    "teashop/__init__.py": "",
    "teashop/menu.py": '''"""What the shop serves, and how it is written on the blackboard."""

STEEPING = {"assam": 4, "sencha": 2, "rooibos": 6, "oolong": 3}


def strong_teas(minutes: int) -> str:
    """The teas that steep at least so long, for the blackboard."""
    chosen = {name for name, needed in STEEPING.items() if needed >= minutes}
    return ", ".join(chosen)


def price(cups: int) -> str:
    """What so many cups cost; every sixth is on the house."""
    paid = cups - cups // 6
    return f"{paid * 2.5:.2f}"
''',
    "tests/__init__.py": "",
    "tests/test_menu.py": """import unittest

from teashop.menu import price, strong_teas


class Blackboard(unittest.TestCase):
    def test_strong_teas(self):
        self.assertEqual(strong_teas(4), "assam, rooibos")

    def test_nothing_steeps_that_long(self):
        self.assertEqual(strong_teas(30), "")


class Till(unittest.TestCase):
    def test_a_cup(self):
        self.assertEqual(price(1), "2.50")

    def test_every_sixth_is_on_the_house(self):
        self.assertEqual(price(12), "25.00")


if __name__ == "__main__":
    unittest.main()
""",
    "soak.py": '''"""Run the tests again and again, each time with another hash seed, and count how often they fail."""

import argparse
import os
import subprocess
import sys

arguments = argparse.ArgumentParser(description=__doc__)
arguments.add_argument("--rounds", type=int, default=6)
arguments.add_argument("--log", help="write here instead of to the terminal")
told = arguments.parse_args()
out = open(told.log, "w") if told.log else sys.stdout

failed = 0
for seed in range(told.rounds):
    environment = os.environ | {"PYTHONHASHSEED": str(seed), "PYTHONDONTWRITEBYTECODE": "1"}
    suite = [sys.executable, "-m", "unittest", "-q"]
    code = subprocess.run(suite, env=environment, capture_output=True).returncode
    failed += code != 0
    print(f"seed {seed}: {'FAILED' if code else 'ok'}", file=out, flush=True)
print(f"{failed} of {told.rounds} rounds failed", file=out, flush=True)
sys.exit(1 if failed else 0)
''',
}
COMMIT_DATE: Final = "2026-01-05T09:00:00+00:00"


def make_scratch_repository(folder: Path) -> Path:
    """Write the repository into a folder that is empty or not there yet, with one commit in it."""
    folder.mkdir(parents=True, exist_ok=True)
    if any(folder.iterdir()):
        raise FileExistsError(f"{folder} is not empty")
    for name, text in FILES.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    git(folder, "init", "--quiet", "--initial-branch=main")
    git(folder, "add", "--all")
    git(folder, "commit", "--quiet", "--message=Open the shop")
    return folder


def git(folder: Path, *arguments: str) -> None:
    # The operator's own git configuration must not reach in: hooks, signing and templates are not the rehearsal's.
    who = {"NAME": "Practice", "EMAIL": "practice@localhost", "DATE": COMMIT_DATE}
    identity = {f"GIT_{role}_{key}": value for role in ("AUTHOR", "COMMITTER") for key, value in who.items()}
    inherited = {key: value for key, value in os.environ.items() if not key.startswith("GIT_")}
    environment = inherited | identity | {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull}
    subprocess.run(["git", *arguments], cwd=folder, env=environment, check=True, capture_output=True, timeout=30)
