"""``rules.toml``: the standing rules that the operator keeps, for one repository or all, for one agent or all.

A run takes from it what is proposed with its terms, and nothing later: a rule holds only once it was agreed to. So the
file is read for each proposal, and what changes in it reaches no run that is held. Adding and removing leave all else
in the file as it is, comments too; what would not read as meant is not written.
"""

import json
import os
import tempfile
from pathlib import Path
from typing import Annotated, Final

import msgspec
from msgspec import Struct

from coordinator import standing, tomlfiles
from coordinator.tomlfiles import invalid
from store.refusal import Refusal
from store.vocab import RefusalReason

_HEAD: Final = "[[rule]]"


class Kept(Struct, frozen=True, kw_only=True):
    text: str
    """The rule, in its one spelling."""
    repository: str = ""
    """Absolute path of its top folder; '': every repository."""
    agent: str = ""
    """Name of a profile; '': every agent."""

    def holds(self, repository: str, agent: str) -> bool:
        return self.repository in ("", repository) and self.agent in ("", agent)


class _Entry(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    is_: Annotated[str, msgspec.Meta(min_length=1)] = msgspec.field(name="is")
    repository: str = ""
    agent: str = ""


def load(path: Path) -> tuple[Kept, ...] | Refusal:
    """All of them, in the file's order; none where there is no file."""
    found = _read(path)
    return found if isinstance(found, Refusal) else found[1]


def of_run(path: Path | None, repository: str, agent: str) -> tuple[str, ...] | Refusal:
    """Those that a new run of this agent in this repository would be proposed with, each once."""
    kept = () if path is None else load(path)
    if isinstance(kept, Refusal):
        return kept
    return tuple(dict.fromkeys(one.text for one in kept if one.holds(repository, agent)))


def add(path: Path, new: Kept) -> bool | Refusal:
    """Whether it was not there before."""
    found = _read(path)
    if isinstance(found, Refusal):
        return found
    text, kept = found
    if new in kept:
        return False
    said = {"is": new.text, "repository": new.repository, "agent": new.agent}
    table = "".join(f"{key} = {json.dumps(value, ensure_ascii=False)}\n" for key, value in said.items() if value)
    before = text if not text or text.endswith("\n") else text + "\n"
    return _write(path, f"{before}{chr(10) if before else ''}{_HEAD}\n{table}", (*kept, new)) or True


def remove(path: Path, number: int) -> Kept | Refusal:
    """Take out the one at this place of ``load``, counted from 1."""
    found = _read(path)
    if isinstance(found, Refusal):
        return found
    text, kept = found
    if not 1 <= number <= len(kept):
        there = f"there are {len(kept)}" if kept else "there are none"
        return Refusal(RefusalReason.RULE_INVALID, {"rule": f"number {number}", "problem": there})
    lines = text.split("\n")
    heads = [place for place, line in enumerate(lines) if line.strip() == _HEAD]
    if len(heads) != len(kept):
        return invalid(path, "", "its tables are not written one below the other; take the rule out by hand")
    begin = heads[number - 1]
    end = heads[number] if number < len(heads) else len(lines)
    # What stands above the next one is the next one's: its comment, and the empty line before that.
    while end > begin + 1 and (not lines[end - 1].strip() or lines[end - 1].lstrip().startswith("#")):
        end -= 1
    left = [*lines[:begin], *lines[end:]]
    return _write(path, "\n".join(left), kept[: number - 1] + kept[number:]) or kept[number - 1]


def _read(path: Path) -> tuple[str, tuple[Kept, ...]] | Refusal:
    """The file as it is written, and as it reads."""
    text = tomlfiles.text_of(path)
    if isinstance(text, Refusal):
        return text
    text = text or ""
    kept = _parse(path, text)
    return kept if isinstance(kept, Refusal) else (text, kept)


def _parse(path: Path, text: str) -> tuple[Kept, ...] | Refusal:
    tables = tomlfiles.tables_of(path, text)
    if isinstance(tables, Refusal):
        return tables
    other = next((key for key in tables if key != "rule"), None)
    if other is not None:
        return invalid(path, other, "there is no such key; each rule is a table [[rule]]")
    found: list[Kept] = []
    listed = tables.get("rule", [])
    for number, table in enumerate(listed if isinstance(listed, list) else [listed], start=1):
        entry = tomlfiles.typed(path, f"rule {number}", table, _Entry)
        if isinstance(entry, Refusal):
            return entry
        rule = standing.parse(entry.is_)
        if isinstance(rule, Refusal):
            return invalid(path, f"rule {number}", str(rule.facts["problem"]))
        try:
            repository = str(Path(entry.repository).expanduser()) if entry.repository else ""
        except RuntimeError:
            return invalid(path, f"rule {number}.repository", "there is no such home folder")
        if repository and not repository.startswith("/"):
            return invalid(path, f"rule {number}.repository", "it must be a whole path, or begin with ~")
        found.append(Kept(text=rule.text, repository=repository, agent=entry.agent))
    return tuple(found)


def _write(path: Path, text: str, meant: tuple[Kept, ...]) -> Refusal | None:
    try:
        data = text.encode()
    except UnicodeEncodeError:
        return invalid(path, "", "a name in it is no text")
    if _parse(path, text) != meant:
        return invalid(path, "", "it would not read as meant afterwards; change it by hand")
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(prefix=".rules-", dir=path.parent)
        with os.fdopen(handle, "wb") as new:
            new.write(data)
        Path(name).replace(path)
    except OSError as problem:
        return invalid(path, "", f"it cannot be written: {(problem.strerror or str(problem)).lower()}")
    return None
