"""The operator's own keys: ``[keys]`` of the configuration, action id to key, taken or refused with the reason.

A key that would not arrive everywhere, that would be taken from what is being written, or that has a meaning already
is refused, and the action keeps its own: better a keymap that is not obeyed than a stop key that does nothing.
"""

import re
import unicodedata
from collections.abc import Mapping

from msgspec.structs import replace

from app.console.keys import TABLE, Key, Where, undeliverable, written

_SPELLED = {"esc": "escape", "return": "enter", "pgup": "pageup", "pgdn": "pagedown", "del": "delete", "ins": "insert"}
_WRITING = frozenset({"escape", "enter", "tab", "space", "backspace", "delete", "up", "down", "left", "right"})
"""They move and write; an action of everywhere would take them away from both."""
_NAMED = _WRITING | {"home", "end", "pageup", "pagedown", "insert"} | {f"f{n}" for n in range(1, 25)}
_OTHERWISE = {
    "solidus": "slash",
    "reverse_solidus": "backslash",
    "commercial_at": "at",
    "hyphen_minus": "minus",
    "plus_sign": "plus",
    "low_line": "underscore",
}
"""Where Textual's name for a character is not Unicode's."""
_CHORDS = frozenset({"ctrl", "alt", "shift"})


def key_named(text: str) -> str | None:
    """As Textual names it: ``^E``, ``Ctrl+E``, ``F5``, ``?`` and ``question_mark`` are all understood."""
    if len(text) == 1:
        return _of_character(text)
    *chords, last = ("ctrl+" + text[1:] if text.startswith("^") else text).rsplit("+", 1)
    before = sorted(one.lower() for part in chords for one in part.split("+"))
    if len(last) == 1:
        # Of a letter with Ctrl or Alt the case does not arrive.
        name = _of_character(last.lower() if before else last)
    else:
        low = _SPELLED.get(last.lower(), last.lower())
        name = low if low in _NAMED or low in _CHARACTERS else None
    return "+".join([*before, name]) if name and _CHORDS.issuperset(before) else None


def _of_character(character: str) -> str | None:
    if not character.isprintable():
        return None
    if character.isalnum():
        return character
    name = unicodedata.name(character, "").lower().replace("-", "_").replace(" ", "_")
    return _OTHERWISE.get(name, name) or None


_CHARACTERS = frozenset(filter(None, (_of_character(chr(code)) for code in range(33, 127) if not chr(code).isalnum())))


def why_not(name: str, where: Where) -> str | None:
    """Why a key can not be an action's of this place, whatever else is bound; or None."""
    if (why := undeliverable(name)) is not None:
        return why
    *chords, last = name.split("+")
    if "shift" in chords or len(chords) > 1:
        return "not every terminal sends it"
    letter = len(last) == 1 and last.isascii() and last.isalpha()
    if chords == ["ctrl"] and not letter and last not in ("backslash", "right_square_bracket"):
        return "not every terminal sends it"
    if chords or re.fullmatch(r"f([1-9]|1[0-2])", name):
        return None
    if re.fullmatch(r"f\d+", name):
        return "not every terminal sends it"
    if where is Where.ANYWHERE:
        return "it would be taken from what you write"
    if name.isdigit():
        return "digits only answer"
    return None


def with_keymap(keymap: Mapping[str, str], table: tuple[Key, ...] = TABLE) -> tuple[tuple[Key, ...], tuple[str, ...]]:
    """The table with the operator's own keys, and in words what could not be bound; those keep their own key."""
    wanted: dict[str, str] = {}
    problems: list[str] = []
    for action, text in keymap.items():
        row = next((one for one in table if one.action == action), None)
        name = key_named(text)
        if row is None:
            problems.append(f"keymap: there is no action {action}")
        elif row.inner:
            problems.append(f"keymap: the key of {action} is fixed")
        elif name is None:
            problems.append(f"keymap: no key is called {text}")
        elif (why := why_not(name, row.where)) is not None:
            problems.append(f"keymap: {written(name)} for {action} can not be bound: {why}")
        else:
            wanted[action] = name
    # All at once, so that two may change places; what clashes is taken out again, until nothing does.
    while True:
        made = tuple(_with(row, wanted.get(row.action)) for row in table)
        clash = _clash(made, wanted)
        if clash is None:
            return made, tuple(problems)
        mine, other = clash
        problems.append(f"keymap: {written(wanted.pop(mine.action))} for {mine.action} is already {other.action}")


def _with(row: Key, key: str | None) -> Key:
    return row if key is None else replace(row, keys=(key,), shown="")


def _clash(table: tuple[Key, ...], wanted: Mapping[str, str]) -> tuple[Key, Key] | None:
    """An action with a key of the operator's, and another that has it as well where both are heard."""
    for mine in table:
        if mine.action not in wanted:
            continue
        for other in table:
            together = other.where is mine.where or Where.ANYWHERE in (other.where, mine.where)
            if other is not mine and together and set(mine.keys) & set(other.keys):
                return mine, other
    return None
