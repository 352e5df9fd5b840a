"""Real repositories for tests, made with plain git, and traps planted in them as an agent would."""

import os
import subprocess
from pathlib import Path

QUIET = {
    "GIT_CONFIG_GLOBAL": "/dev/null",
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_AUTHOR_NAME": "a",
    "GIT_AUTHOR_EMAIL": "a@example.org",
    "GIT_COMMITTER_NAME": "a",
    "GIT_COMMITTER_EMAIL": "a@example.org",
}


def git(tree: Path, *args: str) -> str:
    environment = {**os.environ, **QUIET}
    done = subprocess.run(["git", *args], cwd=tree, check=True, capture_output=True, env=environment)
    return done.stdout.decode("utf-8", "replace").strip()


def try_git(tree: Path, *args: str) -> None:
    """Whatever comes of it."""
    subprocess.run(["git", *args], cwd=tree, capture_output=True, env={**os.environ, **QUIET}, timeout=20)


def repository(folder: Path, files: dict[str, str] | None = None) -> Path:
    """With one commit, or none where ``files`` is empty."""
    folder.mkdir(parents=True)
    git(folder, "init", "-q", "-b", "main")
    for name, text in ({"a.txt": "one\ntwo\n", "b.txt": "b\n"} if files is None else files).items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    if files is None or files:
        git(folder, "add", "-A")
        git(folder, "commit", "-q", "-m", "first")
    return folder


def plant(tree: Path, canary: Path) -> None:
    """Every way we know in which a repository names a program; each writes its name into ``canary``."""
    canary.mkdir(exist_ok=True)

    def trap(name: str, rest: str = "cat") -> str:
        script = canary.parent / f"trap-{name}"
        script.write_text(f'#!/bin/sh\n: > "{canary}/{name}"\n{rest}\n')
        script.chmod(0o755)
        return str(script)

    settings = {
        "core.fsmonitor": trap("fsmonitor", "exit 1"),
        "core.pager": trap("pager"),
        "core.editor": trap("editor", "exit 0"),
        "core.sshCommand": trap("ssh", "exit 1"),
        "core.alternateRefsCommand": trap("alternate", "exit 0"),
        "diff.external": trap("external", "exit 0"),
        "diff.evil.command": trap("driver", "exit 0"),
        "diff.evil.textconv": trap("textconv", 'cat "$1"'),
        "filter.evil.clean": trap("clean"),
        "filter.evil.smudge": trap("smudge"),
        "filter.evil.required": "true",
        "filter.long.process": trap("process", "exit 1"),
        "filter.long.required": "true",
        "merge.evil.driver": trap("merge", "exit 0"),
        "alias.status": f"!{trap('alias')}",
        "alias.rev-parse": f"!{trap('alias2')}",
        "gpg.program": trap("gpg", "exit 1"),
        "log.showSignature": "true",
        "credential.helper": f"!{trap('credential', 'exit 0')}",
        "submodule.recurse": "true",
        "gc.auto": "1",
    }
    for key, value in settings.items():
        git(tree, "config", key, value)
    hooks = tree / "planted-hooks"
    hooks.mkdir(exist_ok=True)
    for hook in ("post-checkout", "post-index-change", "reference-transaction", "pre-auto-gc", "post-merge"):
        for place in (tree / ".git" / "hooks", hooks):
            place.mkdir(exist_ok=True)
            (place / hook).write_text(f'#!/bin/sh\n: > "{canary}/hook-{hook}"\n')
            (place / hook).chmod(0o755)
    git(tree, "config", "core.hooksPath", str(hooks))
    (tree / ".gitattributes").write_text("*.txt filter=evil diff=evil merge=evil\n*.bin filter=long\n")
