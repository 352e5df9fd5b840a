"""Strings that attack a terminal or a layout, a way to put them into every field of a value, and what a screen must
hold whatever they were."""

import re
import typing
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import Enum
from itertools import count
from types import UnionType
from typing import Any, Union, cast

from msgspec import Struct
from msgspec.structs import replace
from rich.cells import cell_len
from textual.screen import Screen

from app.console.app import FootplateApp
from app.console.views.ink import plain
from app.console.widgets.lines import Lines

HOSTILE: dict[str, str] = {
    "title": "\x1b]0;owned\x07",
    "clipboard": "\x1b]52;c;ZXZpbA==\x07",
    "clear": "\x1b[?1049l\x1b[2J\x1b[H",
    "link": "\x1b]8;;http://evil.example\x1b\\click\x1b]8;;\x1b\\",
    "c1": "\x9b31m\x9d0;x\x9c\x90q\x9c\x85",
    "dcs": "\x1bP1;1|17/ab\x1b\\\x1b_x\x1b\\\x1b^y\x1b\\",
    "bidi": "a\u202eb\u2066c\u2069\u200f\u061c",
    "c0": "\x00\x08\x0b\x0c\x0e\x7f\x05",
    "markup": "[bold]x[/bold] [/a0/tests/x] [@click=app.quit]y[/] [[ ]] \\[",
    "surrogate": "\ud800\udc00 \U000e0041",
    "lines": "line\rover\nnext\ttab\u2028end\u2029",
    "zero": "a\u200bb\u200c\u200d\u2060c\ufeff\u00adx\u3164",
    "flood": "e" + "\u0301\u0336\u20dd" * 40 + "x",
    "family": "👩\u200d👩\u200d👧\u200d👦 ❤\ufe0f 🏳\ufe0f\u200d🌈",
    "flags": "🇺🇦🇫🇷🇨 1\ufe0f\u20e3 👍🏽",
    "wide": "翻訳を直す한국어ｆｕｌｌ",
    "long": "x" * 500,
    "long wide": "漢" * 300,
    "words": "word " * 120,
    "format": "{0} {run} %s %(x)s ${HOME} `id` $(id)",
    "nothing": "",
    "blank": " \u00a0\u2003 ",
    "tamil": "நி ก็็็็ ﷽ 𒐫",
}
"""A name for each; everything that text of agents, files and people was seen to hold, and some that it could."""

CONTROL = re.compile(
    "[\x00-\x1f\x7f-\x9f\u200b\u200e\u200f\u061c\u2028-\u202e\u2060-\u2069\ufeff\u00ad\u3164"
    "\U000e0000-\U000e007f\ud800-\udfff]"
)
"""What must not be among the letters that are painted."""

OURS = frozenset({"running", "done", "active", "pending", "failed", "stopped", "default", "plan", "shell", "agent"})
"""Words that decide what is shown: left alone in every second go, as is what is empty (an owner makes a session another
console's), so that what they lead to is tried as well."""


@dataclass
class Spoiler:
    """Puts the next string of the table into each field it comes by; ``first`` says with which it begins, so that in as
    many goes as there are strings every field has had each."""

    first: int = 0
    spare: bool = False
    seen: set[str] = field(default_factory=set)
    """``Class.field`` of every text that was replaced."""

    def __post_init__(self) -> None:
        self._strings = list(HOSTILE.values())
        self._next = count(self.first)

    def spoil(self, value: Any) -> Any:
        return self._of(value, type(value), type(value).__name__)

    def _text(self) -> str:
        return self._strings[next(self._next) % len(self._strings)]

    def _of(self, value: Any, hint: Any, name: str) -> Any:
        if isinstance(value, Enum | bool | int | float):
            return value
        if isinstance(value, str) or (value is None and _may_be_text(hint)):
            self.seen.add(name)
            if _is_id(hint):
                return value
            return value if self.spare and (not value or value in OURS) else self._text()
        if isinstance(value, Struct):
            hints = _hints(type(value))
            changed = {
                one: self._of(getattr(value, one), hints[one], f"{type(value).__name__}.{one}")
                for one in value.__struct_fields__
            }
            return replace(cast(Any, value), **changed)
        if isinstance(value, Mapping):
            return {self._key(key): self._of(one, type(one), name) for key, one in value.items()} | {
                self._text(): self._text()
            }
        if isinstance(value, tuple | list):
            return tuple(self._of(one, _element(hint, at), name) for at, one in enumerate(value))
        return value

    def _key(self, key: str) -> str:
        return key


def _hints(kind: type) -> dict[str, Any]:
    return typing.get_type_hints(kind)


def _is_id(hint: Any) -> bool:
    """Values that find others: made by the ledger, never by an agent."""
    return any(hasattr(one, "__supertype__") for one in (hint, *typing.get_args(hint)))


def _may_be_text(hint: Any) -> bool:
    return typing.get_origin(hint) in (Union, UnionType) and str in typing.get_args(hint)


def _element(hint: Any, at: int) -> Any:
    args = [one for one in typing.get_args(hint) if one is not Ellipsis]
    return args[min(at, len(args) - 1)] if args else str


def texts_of(kind: type, done: frozenset[type] = frozenset()) -> Iterator[str]:
    """``Class.field`` of every field that can hold text, in a Struct and in those it is made of."""
    for name, hint in _hints(kind).items():
        for part in _parts(hint):
            if isinstance(part, type) and issubclass(part, Struct) and part not in done:
                yield from texts_of(cast(type, part), done | {kind})
            elif part is str:
                yield f"{kind.__name__}.{name}"


def _parts(hint: Any) -> Iterator[Any]:
    args = typing.get_args(hint)
    if not args:
        yield hint
    for one in args:
        if one is not Ellipsis:
            yield from _parts(one)


# ---------------------------------------------------------------------------------------------------------- the screen


def widgets_of(app: FootplateApp) -> Iterator[Lines]:
    screens: set[Screen[Any]] = {app.drive, app.screen}
    for screen in screens:
        for widget in screen.query(Lines):
            if widget.display and all(one.display for one in widget.ancestors if hasattr(one, "display")):
                yield widget


def faults(app: FootplateApp) -> list[str]:
    """What is wrong with the rows of our own widgets, by widget: letters that a terminal obeys, and what is wider than
    its place, so that it would vanish without an ellipsis."""
    found: list[str] = []
    for widget in widgets_of(app):
        width = widget.size.width
        name = f"{widget.id or type(widget).__name__}"
        for row in widget.rows:
            said = plain(row)
            if CONTROL.search(said):
                found.append(f"{name}: {said!r}")
            size = cell_len(said.rstrip(" "))
            if width and size > width:
                found.append(f"{name}: {size} in {width}: {said[:200]!r}")
    return found


def screen_rows(app: FootplateApp) -> list[str]:
    """As it is painted, row by row; every one checked to be text, and as wide as the terminal by one library."""
    rows: list[str] = []
    width = app.size.width
    for strip in app.screen._compositor.render_strips():
        for text, style, control in strip:
            assert control is None
            assert style is None or style.link is None, text
            assert not CONTROL.search(text), repr(text)
        row = "".join(text for text, _, _ in strip)
        assert strip.cell_length == width == sum(cell_len(text) for text, _, _ in strip), (strip.cell_length, row)
        rows.append(row)
    assert len(rows) == app.size.height
    return rows
