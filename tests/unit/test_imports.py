"""Every module of ours can be the first that is imported: no circle depends on who came before.

Only who is part of a circle can depend on that, so only those are tried first, one after the other; all others are
imported once.
"""

import ast
import subprocess
import sys
from collections.abc import Iterator
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
ALL = """
import importlib, sys
for name in sys.argv[1:]:
    importlib.import_module(name)
"""


def modules() -> dict[str, Path]:
    found: dict[str, Path] = {}
    for folder in ("app", "coordinator", "store"):
        for file in (ROOT / folder).rglob("*.py"):
            found[".".join(file.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")] = file
    # The supervisor runs apart, from its own folder.
    return {
        name: file
        for name, file in found.items()
        if not name.startswith("coordinator.supervisor.") and file.stem != "__main__"
    }


def at_import(nodes: list[ast.stmt]) -> Iterator[ast.Import | ast.ImportFrom]:
    """What runs when the module is imported."""
    for node in nodes:
        if isinstance(node, ast.Import | ast.ImportFrom):
            yield node
        elif isinstance(node, ast.If) and "TYPE_CHECKING" not in ast.unparse(node.test):
            yield from at_import([*node.body, *node.orelse])
        elif isinstance(node, ast.Try | ast.ClassDef | ast.With):
            yield from at_import(node.body)


def imported_by(file: Path, known: dict[str, Path]) -> set[str]:
    found: set[str] = set()
    for node in at_import(ast.parse(file.read_text("utf-8")).body):
        if isinstance(node, ast.Import):
            found |= {one.name for one in node.names}
        else:
            assert node.level == 0, f"{file}: imports are absolute"
            named = (f"{node.module}.{one.name}" for one in node.names)
            found |= {one if one in known else str(node.module) for one in named}
    return found & known.keys()


def in_circles(imports: dict[str, set[str]]) -> list[str]:
    def reaches_itself(name: str) -> bool:
        ahead, seen = list(imports[name]), set[str]()
        while ahead:
            if (at := ahead.pop()) == name:
                return True
            if at not in seen:
                seen.add(at)
                ahead += imports[at]
        return False

    return sorted(name for name in imports if reaches_itself(name))


def run(code: str, names: list[str]) -> str:
    done = subprocess.run([sys.executable, "-c", code, *names], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_each_module_can_come_first() -> None:
    known = modules()
    assert len(known) > 400
    run(ALL, sorted(known))
    circled = in_circles({name: imported_by(file, known) for name, file in known.items()})
    assert "coordinator.closing" in circled  # how a hold ends and what else an actor does call each other
    assert run(EACH, circled) == ""


def test_a_circle_is_found_and_what_only_leads_to_it_is_not_in_it() -> None:
    assert in_circles({"a": {"b"}, "b": {"c"}, "c": {"b"}, "d": set()}) == ["b", "c"]
