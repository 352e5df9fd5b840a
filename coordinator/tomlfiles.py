"""The operator's files in TOML: how one is read, and how a mistake in it is told, with its file and its key.

What stands in a file is its own module's matter (``agentsfile``, ``rulesfile``, ``pricefile``, the application's
``config``); none of them says a mistake in a way of its own.
"""

import os
import re
import stat
import tomllib
from pathlib import Path
from typing import Any, Final, TypeVar

import msgspec

from store.refusal import Refusal
from store.vocab import RefusalReason

T = TypeVar("T")
LARGEST: Final = 1024 * 1024
"""Bytes. Nobody writes as many by hand, and reading them takes a third of a second."""


def text_of(path: Path) -> str | Refusal | None:
    """What is written in it; None where there is no such file. A pipe or a device in its place is not waited for."""
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
        kind = os.fstat(handle).st_mode
        if not stat.S_ISREG(kind):
            os.close(handle)
            return invalid(path, "", "it is a folder" if stat.S_ISDIR(kind) else "it is no file but a pipe or a device")
        with os.fdopen(handle, "rb") as file:
            data = file.read(LARGEST + 1)
        if len(data) > LARGEST:
            return invalid(path, "", f"it has more than {LARGEST} bytes")
        return data.decode("utf-8")
    except FileNotFoundError:
        return None
    except UnicodeDecodeError:
        return invalid(path, "", "it is not UTF-8 text")
    except OSError as problem:
        return invalid(path, "", f"it cannot be read: {(problem.strerror or str(problem)).lower()}")


def tables_of(path: Path, text: str) -> dict[str, Any] | Refusal:
    """The text as TOML."""
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as problem:
        return invalid(path, "", f"it is not TOML: {problem}")


def read(path: Path) -> dict[str, Any] | Refusal:
    """A file's tables; a file that is not there is an empty one."""
    text = text_of(path)
    return text if isinstance(text, Refusal) else tables_of(path, text or "")


def typed(path: Path, key: str, table: object, kind: type[T]) -> T | Refusal:
    """One table as what it is meant for. ``key``: where it stands in the file; '': it is the whole file."""
    try:
        return msgspec.convert(table, kind)
    except msgspec.ValidationError as problem:
        inside, said = _place_and_problem(str(problem))
        return invalid(path, ".".join(part for part in (key, inside) if part), said)


def invalid(path: Path, key: str, problem: str) -> Refusal:
    return Refusal(RefusalReason.CONFIG_INVALID, {"file": str(path), "key": key, "problem": problem})


def _place_and_problem(message: str) -> tuple[str, str]:
    """Take msgspec's ``Expected `int`, got `str` - at `$.a.b``` apart."""
    unknown = re.search(r"unknown field `([^`]+)`", message)
    place = re.search(r" - at `\$\.?([^`]*)`", message)
    inside = place.group(1) if place else ""
    if unknown:
        return ".".join(part for part in (inside, unknown.group(1)) if part), "there is no such key"
    problem = re.sub(r" - at `[^`]*`", "", message).replace("`", "")
    return inside, problem[:1].lower() + problem[1:]
