"""Values that the tests of the command line are made of."""

from pathlib import Path

from msgspec.structs import replace

from coordinator.terms import Terms, TreeKind
from store.vocab import Billing, MicroUsd, Millis

NOW = Millis(1_800_000_000_000)


def made_terms(**changes: object) -> Terms:
    terms = Terms(
        instruction="Fix the flaky test.",
        preamble=True,
        agent="claude",
        driver="claude",
        program="/usr/bin/claude",
        agent_version="2.1.332",
        billing=Billing.KEY,
        repository="/srv/orders",
        head="a1b2c3d4e5f6",
        branch="main",
        tree_kind=TreeKind.WORKTREE,
        model=None,
        mode="default",
        budget=MicroUsd(5_000_000),
        max_turns=40,
        working_seconds=None,
        expires_at=Millis(NOW + 7_200_000),
        attendance_seconds=1800,
        machine="m",
        uid=1000,
    )
    return replace(terms, **changes)  # type: ignore[arg-type]


def program(path: Path, text: str) -> Path:
    """A file that can be run."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(0o755)
    return path
